//! `string.gsub`, and the text that it builds.

use std::ffi::c_int;
use std::io::Write as _;
use std::ptr::NonNull;

use mlua::ffi;

use super::matcher::{Captures, Extent};
use super::{anchored, as_integer, first_match, push_capture, push_values, raise, text};

/// The argument with the replacement of a match.
const REPLACEMENT: c_int = 3;
/// The slot of the text that is built.
const RESULT: c_int = 5;
/// The least capacity of a text.
const LEAST: usize = 256;
/// The cost of a match besides its steps.
const STEPS_OF_A_MATCH: usize = 8;
/// The most digits of a position.
const DIGITS: usize = 20;

/// A text in a user data of Lua, so that its memory counts and an error of Lua frees it.
struct Text {
    lua: *mut ffi::lua_State,
    bytes: NonNull<u8>,
    len: usize,
    capacity: usize,
}

impl Text {
    /// # Safety
    /// `lua` is the state of the running function, and slot [`RESULT`] is the next one.
    unsafe fn begin(lua: *mut ffi::lua_State) -> Self {
        // SAFETY: guaranteed by the caller.
        let bytes = unsafe { ffi::lua_newuserdata(lua, LEAST) };
        Self {
            lua,
            bytes: NonNull::new(bytes.cast()).unwrap_or(NonNull::dangling()),
            len: 0,
            capacity: LEAST,
        }
    }

    /// Appends bytes.
    ///
    /// # Safety
    /// The function that began the text runs, and slot [`RESULT`] is untouched.
    unsafe fn add(&mut self, bytes: &[u8]) {
        if bytes.len() > self.capacity - self.len {
            // SAFETY: guaranteed by the caller.
            unsafe { self.grow(bytes.len()) };
        }
        // SAFETY: the capacity suffices. `bytes` is memory of another string, or of this function.
        unsafe {
            self.bytes.add(self.len).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        };
        self.len += bytes.len();
    }

    /// # Safety
    /// As for [`Self::add`].
    #[cold]
    unsafe fn grow(&mut self, more: usize) {
        let capacity = self.len.saturating_add(more).max(self.capacity.saturating_mul(2));
        // SAFETY: guaranteed by the caller. The old text is in its slot until the new one replaces
        // it. Running out of memory raises an error.
        unsafe {
            let grown: *mut u8 = ffi::lua_newuserdata(self.lua, capacity).cast();
            self.bytes.as_ptr().copy_to_nonoverlapping(grown, self.len);
            ffi::lua_replace(self.lua, RESULT);
            self.bytes = NonNull::new(grown).unwrap_or(NonNull::dangling());
        }
        self.capacity = capacity;
    }
}

/// `string.gsub(s, pattern, replacement [, n])`
///
/// # Safety
/// Lua calls it, with the upvalue of [`super::add_to`].
pub(super) unsafe extern "C-unwind" fn gsub(lua: *mut ffi::lua_State) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (subject, pattern) = (text(lua, 1), text(lua, 2));
        let kind = ffi::lua_type(lua, REPLACEMENT);
        // An `int` in Lua 5.1.
        let most = ffi::luaL_optinteger(lua, 4, as_integer(subject.len() + 1)) as c_int;
        if !matches!(kind, ffi::LUA_TNUMBER | ffi::LUA_TSTRING | ffi::LUA_TFUNCTION | ffi::LUA_TTABLE) {
            ffi::luaL_argerror(lua, REPLACEMENT, c"string/function/table expected".as_ptr());
        }
        ffi::lua_settop(lua, RESULT - 1);
        let mut result = Text::begin(lua);
        let count = replace_all(lua, &mut result, subject, pattern, most);
        ffi::lua_pushlstring_(lua, result.bytes.as_ptr().cast(), result.len);
        ffi::lua_pushinteger(lua, ffi::lua_Integer::from(count));
    }
    2
}

/// Replaces up to `most` matches. Returns their number.
///
/// # Safety
/// As for [`gsub`].
unsafe fn replace_all(
    lua: *mut ffi::lua_State,
    result: &mut Text,
    subject: &[u8],
    pattern: &[u8],
    most: c_int,
) -> c_int {
    let (pattern, is_anchored) = anchored(pattern);
    let last = if is_anchored { 0 } else { subject.len() };
    let mut captures = Captures::new();
    let (mut at, mut count) = (0, 0);
    while count < most && at <= last {
        // SAFETY: guaranteed by the caller. A replacement may run matches of its own: by then this
        // one has ended.
        let found = unsafe {
            skein_lua::work(lua, STEPS_OF_A_MATCH);
            first_match(lua, (subject, pattern), at..=last, &mut captures)
        };
        let Some((start, end)) = found else { break };
        count += 1;
        // After an empty match the next one begins further on.
        let next = if end == start { subject.len().min(end + 1) } else { end };
        // SAFETY: guaranteed by the caller.
        unsafe {
            result.add(&subject[at..start]);
            add_value(lua, result, (subject, &captures), (start, end));
            result.add(&subject[end..next]);
        }
        at = next;
        if end == subject.len() && start == end {
            break;
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { result.add(&subject[at..]) };
    count
}

/// Adds the replacement of a match.
///
/// # Safety
/// As for [`gsub`].
unsafe fn add_value(
    lua: *mut ffi::lua_State,
    result: &mut Text,
    (subject, captures): (&[u8], &Captures),
    whole: (usize, usize),
) {
    // SAFETY: guaranteed by the caller. Pushed values are removed, so `RESULT` keeps its place.
    unsafe {
        match ffi::lua_type(lua, REPLACEMENT) {
            ffi::LUA_TFUNCTION => {
                ffi::lua_pushvalue(lua, REPLACEMENT);
                let arguments = push_values(lua, subject, captures, whole);
                ffi::lua_call(lua, arguments, 1);
            }
            ffi::LUA_TTABLE => {
                match captures.value(0, whole) {
                    Ok(capture) => push_capture(lua, subject, capture),
                    Err(fault) => raise(lua, fault),
                }
                ffi::lua_gettable_(lua, REPLACEMENT);
            }
            _ => return add_template(lua, result, (subject, captures), whole),
        }
        if ffi::lua_toboolean(lua, -1) == 0 {
            result.add(&subject[whole.0..whole.1]);
        } else if ffi::lua_isstring(lua, -1) == 0 {
            ffi::luaL_error(lua, c"invalid replacement value (a %s)".as_ptr(), ffi::luaL_typename(lua, -1));
        } else {
            // While the text grows, it is on top for a moment. The value stays below.
            let mut length = 0;
            let bytes = ffi::lua_tolstring(lua, -1, &raw mut length);
            result.add(std::slice::from_raw_parts(bytes.cast(), length));
        }
        ffi::lua_settop(lua, RESULT);
    }
}

/// Adds a text with `%0` to `%9` replaced by the match and its captures.
///
/// # Safety
/// As for [`gsub`].
unsafe fn add_template(
    lua: *mut ffi::lua_State,
    result: &mut Text,
    (subject, captures): (&[u8], &Captures),
    whole: (usize, usize),
) {
    // SAFETY: guaranteed by the caller. The argument is a string or a number.
    unsafe {
        let mut rest = text(lua, REPLACEMENT);
        skein_lua::work(lua, rest.len() >> 4);
        while let Some(escape) = memchr::memchr(b'%', rest) {
            result.add(&rest[..escape]);
            // As in Lua 5.1, the zero byte behind the text follows a last `%`.
            let escaped = rest.get(escape + 1).copied().unwrap_or(0);
            rest = rest.get(escape + 2..).unwrap_or_default();
            match escaped {
                b'0' => result.add(&subject[whole.0..whole.1]),
                digit @ b'1'..=b'9' => match captures.value(usize::from(digit - b'1'), whole) {
                    Err(fault) => raise(lua, fault),
                    Ok(capture) => match capture.extent {
                        Extent::Bytes(len) => result.add(&subject[capture.start..][..len]),
                        Extent::Position | Extent::Open => result.add_position(capture.start + 1),
                    },
                },
                other => result.add(&[other]),
            }
        }
        result.add(rest);
    }
}

impl Text {
    /// # Safety
    /// As for [`Self::add`].
    unsafe fn add_position(&mut self, position: usize) {
        let mut digits = [0; DIGITS];
        let mut rest = &mut digits[..];
        // There is room for every number.
        let _ = write!(rest, "{position}");
        let len = DIGITS - rest.len();
        // SAFETY: guaranteed by the caller.
        unsafe { self.add(&digits[..len]) };
    }
}
