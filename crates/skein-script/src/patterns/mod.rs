//! `string.find`, `match`, `gmatch` and `gsub`: Lua 5.1's patterns, with bounded depth and work.
//!
//! The functions replace those of Lua in the sandbox. Their results and errors are the same, except
//! that a pattern with thousands of alternatives is "too complex", as in Lua 5.2. Their work counts
//! as instructions, so [`ScriptHost::tick`](crate::ScriptHost::tick) can stop them.
//!
//! ```text
//!   find, matched, gmatch, gsub    arguments from Lua's stack, results to it
//!          └─► Matcher             one pattern at one position (`matcher`)
//!                 └─► class        characters, classes, sets
//!   gsub ──► Replacement           the text of the result, in memory of Lua (`replacement`)
//! ```
//!
//! # Invariants
//! 1. The functions own nothing that must be dropped: an error of Lua leaves them with `longjmp`.
//! 2. The list of frames is the engine's ([`RunState::frames`]), and one match uses it at a time: a
//!    match calls no function of a script. The hook that may run within a match calls the host
//!    alone.
//! 3. Subject and pattern are strings in the arguments' slots, or upvalues. They live as long as
//!    the call, because no function writes to these slots.

mod class;
mod matcher;
mod replacement;
#[cfg(test)]
mod tests;

use std::ffi::{CStr, c_int};
use std::ops::RangeInclusive;
use std::rc::Rc;

use mlua::{Lua, Table, ffi};

use crate::run_state::RunState;
use matcher::{Capture, Captures, Extent, Matcher, Meter, PatternFault};

pub(crate) use matcher::Frame;

/// Characters that make a text a pattern.
const SPECIAL: &[u8] = b"^$*+?.([%-";
/// Places of the first byte that [`find_plain`] looks at before it prepares a search of linear
/// time.
const CANDIDATES: usize = 32;
/// The upvalue that points to the state of the engine.
const STATE: c_int = 1;
/// The upvalues of the iterator of `gmatch`.
const SUBJECT: c_int = 2;
const PATTERN: c_int = 3;
const POSITION: c_int = 4;

/// Counts steps as instructions.
struct LuaMeter(*mut ffi::lua_State);

impl Meter for LuaMeter {
    fn work(&mut self, steps: usize) {
        // SAFETY: the state is that of the running function, and invariant 1 holds up to it.
        unsafe { skein_lua::work(self.0, steps) }
    }
}

/// Sets the functions in a table. REQUIRES: `state` outlives the Lua state.
pub(crate) fn add_to(lua: &Lua, table: &Table, state: &Rc<RunState>) -> mlua::Result<()> {
    use crate::command_calls::function;
    table.raw_set("find", function(lua, state, find)?)?;
    table.raw_set("match", function(lua, state, matched)?)?;
    table.raw_set("gsub", function(lua, state, replacement::gsub)?)?;
    let iterate = function(lua, state, gmatch)?;
    table.raw_set("gmatch", &iterate)?;
    // The older name, as Lua 5.1 has it.
    table.raw_set("gfind", iterate)
}

/// Returns the bytes of an argument, which may be a number, or raises Lua's error.
///
/// # Safety
/// `lua` is the state of the running function. The bytes are used within the call (invariant 3).
unsafe fn text<'t>(lua: *mut ffi::lua_State, argument: c_int) -> &'t [u8] {
    let mut length = 0;
    // SAFETY: guaranteed by the caller. A number becomes a string in its slot.
    unsafe {
        let bytes = ffi::luaL_checklstring(lua, argument, &raw mut length);
        std::slice::from_raw_parts(bytes.cast(), length)
    }
}

/// Begins a match of a subject and a pattern without `^`.
///
/// # Safety
/// `lua` is the state of the running function, and its first upvalue is the state of the engine. No
/// function of a script is called while the matcher exists (invariant 2).
unsafe fn matcher<'t>(
    lua: *mut ffi::lua_State,
    texts: (&'t [u8], &'t [u8]),
    captures: &'t mut Captures,
) -> Matcher<'t, LuaMeter> {
    // SAFETY: the upvalue is the state of the engine, which outlives all calls. No other match uses
    // the frames (invariant 2).
    let frames = unsafe {
        let state = ffi::lua_touserdata(lua, ffi::lua_upvalueindex(STATE)).cast::<RunState>();
        &mut *(*state).frames.get()
    };
    Matcher::new(texts, captures, frames, LuaMeter(lua))
}

/// Raises an error with the position of the caller.
///
/// # Safety
/// `lua` is the state of the running function (invariant 1).
unsafe fn raise(lua: *mut ffi::lua_State, fault: PatternFault) -> ! {
    let text = fault.text();
    // SAFETY: guaranteed by the caller. There is room: a function has 20 slots.
    unsafe {
        ffi::luaL_where(lua, 1);
        ffi::lua_pushlstring_(lua, text.as_ptr().cast(), text.len());
        ffi::lua_concat(lua, 2);
        ffi::lua_error(lua)
    }
}

/// Splits `^` off a pattern.
fn anchored(pattern: &[u8]) -> (&[u8], bool) {
    pattern.strip_prefix(b"^").map_or((pattern, false), |rest| (rest, true))
}

fn as_integer(value: usize) -> ffi::lua_Integer {
    ffi::lua_Integer::try_from(value).unwrap_or(ffi::lua_Integer::MAX)
}

/// `string.find(s, pattern [, init [, plain]])`
///
/// # Safety
/// Lua calls it, with the upvalue of [`add_to`].
unsafe extern "C-unwind" fn find(lua: *mut ffi::lua_State) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (subject, pattern) = (text(lua, 1), text(lua, 2));
        let start = first_position(lua, subject.len());
        let is_plain = ffi::lua_toboolean(lua, 4) != 0 || !has_special(pattern);
        if !is_plain {
            return search(lua, subject, pattern, start, true);
        }
        skein_lua::work(lua, (subject.len() - start) >> 4);
        let Some(at) = find_plain(&subject[start..], pattern) else {
            ffi::lua_pushnil(lua);
            return 1;
        };
        ffi::lua_pushinteger(lua, as_integer(start + at + 1));
        ffi::lua_pushinteger(lua, as_integer(start + at + pattern.len()));
        2
    }
}

/// Returns where a text occurs first.
fn find_plain(subject: &[u8], searched: &[u8]) -> Option<usize> {
    let Some((first, rest)) = searched.split_first() else { return Some(0) };
    let mut at = 0;
    for _ in 0..CANDIDATES {
        let start = at + memchr::memchr(*first, &subject[at..])?;
        at = start + 1;
        if subject[at..].starts_with(rest) {
            return Some(start);
        }
    }
    memchr::memmem::find(&subject[at..], searched).map(|found| at + found)
}

/// `string.match(s, pattern [, init])`
///
/// # Safety
/// As for [`find`].
unsafe extern "C-unwind" fn matched(lua: *mut ffi::lua_State) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (subject, pattern) = (text(lua, 1), text(lua, 2));
        search(lua, subject, pattern, first_position(lua, subject.len()), false)
    }
}

/// Returns whether a text is a pattern. As in Lua 5.1, bytes behind a zero byte do not count.
fn has_special(pattern: &[u8]) -> bool {
    let end = memchr::memchr(0, pattern).unwrap_or(pattern.len());
    pattern[..end].iter().any(|byte| SPECIAL.contains(byte))
}

/// Returns the position of the argument `init`, from 0. A negative one counts from the end.
///
/// # Safety
/// As for [`find`].
unsafe fn first_position(lua: *mut ffi::lua_State, len: usize) -> usize {
    // SAFETY: guaranteed by the caller.
    let init = unsafe { ffi::luaL_optinteger(lua, 3, 1) };
    let from_start = if init < 0 { init.saturating_add(as_integer(len)) + 1 } else { init };
    usize::try_from(from_start).unwrap_or(0).saturating_sub(1).min(len)
}

/// Searches a pattern from a position on, and pushes the places and captures of its first match.
///
/// # Safety
/// As for [`find`].
unsafe fn search(
    lua: *mut ffi::lua_State,
    subject: &[u8],
    pattern: &[u8],
    start: usize,
    places: bool,
) -> c_int {
    let (pattern, is_anchored) = anchored(pattern);
    let last = if is_anchored { start } else { subject.len() };
    let mut captures = Captures::new();
    // SAFETY: guaranteed by the caller.
    unsafe {
        let Some((at, end)) = first_match(lua, (subject, pattern), start..=last, &mut captures) else {
            ffi::lua_pushnil(lua);
            return 1;
        };
        if !places {
            return push_values(lua, subject, &captures, (at, end));
        }
        ffi::lua_pushinteger(lua, as_integer(at + 1));
        ffi::lua_pushinteger(lua, as_integer(end));
        let has_captures = !captures.list().is_empty();
        2 + if has_captures { push_values(lua, subject, &captures, (at, end)) } else { 0 }
    }
}

/// Returns the byte with which every match begins, if the pattern says so.
fn first_byte(pattern: &[u8]) -> Option<u8> {
    let may_be_absent = matches!(pattern.get(1), Some(b'*' | b'?' | b'-'));
    let first = *pattern.first()?;
    let is_literal = first != 0 && first != b')' && !SPECIAL.contains(&first);
    (is_literal && !may_be_absent).then_some(first)
}

/// Returns the first match that begins in a range.
///
/// # Safety
/// As for [`find`].
unsafe fn first_match(
    lua: *mut ffi::lua_State,
    (subject, pattern): (&[u8], &[u8]),
    starts: RangeInclusive<usize>,
    captures: &mut Captures,
) -> Option<(usize, usize)> {
    let (first, mut at) = (first_byte(pattern), *starts.start());
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut matcher = matcher(lua, (subject, pattern), captures);
        let mut found = None;
        while found.is_none() {
            if let Some(first) = first {
                let Some(skipped) = memchr::memchr(first, &subject[at.min(subject.len())..]) else {
                    at = subject.len();
                    break;
                };
                at += skipped;
            }
            if at > *starts.end() {
                break;
            }
            found = match matcher.match_at(at) {
                Ok(end) => end.map(|end| (at, end)),
                Err(fault) => raise(lua, fault),
            };
            at += 1;
        }
        skein_lua::charge(lua, matcher.steps_left() + (at.saturating_sub(*starts.start()) >> 6));
        found
    }
}

/// Pushes the captures of a match, or the whole match if the pattern has no captures. Returns their
/// number.
///
/// # Safety
/// As for [`find`].
unsafe fn push_values(
    lua: *mut ffi::lua_State,
    subject: &[u8],
    captures: &Captures,
    whole: (usize, usize),
) -> c_int {
    let count = captures.values();
    let slots = c_int::try_from(count).unwrap_or(c_int::MAX);
    // SAFETY: guaranteed by the caller.
    unsafe {
        ffi::luaL_checkstack_(lua, slots, TOO_MANY.as_ptr());
        for number in 0..count {
            match captures.value(number, whole) {
                Ok(capture) => push_capture(lua, subject, capture),
                Err(fault) => raise(lua, fault),
            }
        }
    }
    slots
}

const TOO_MANY: &CStr = c"too many captures";

/// # Safety
/// As for [`find`]. A slot is reserved.
unsafe fn push_capture(lua: *mut ffi::lua_State, subject: &[u8], capture: Capture) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match capture.extent {
            Extent::Bytes(len) => {
                let bytes = &subject[capture.start..capture.start + len];
                ffi::lua_pushlstring_(lua, bytes.as_ptr().cast(), len);
            }
            Extent::Position | Extent::Open => ffi::lua_pushinteger(lua, as_integer(capture.start + 1)),
        }
    }
}

/// `string.gmatch(s, pattern)`
///
/// # Safety
/// As for [`find`].
unsafe extern "C-unwind" fn gmatch(lua: *mut ffi::lua_State) -> c_int {
    // SAFETY: guaranteed by the caller. The upvalues are those that `next_match` expects.
    unsafe {
        text(lua, 1);
        text(lua, 2);
        ffi::lua_settop(lua, 2);
        ffi::lua_pushvalue(lua, ffi::lua_upvalueindex(STATE));
        ffi::lua_insert(lua, 1);
        ffi::lua_pushinteger(lua, 0);
        ffi::lua_pushcclosure(lua, next_match, POSITION);
    }
    1
}

/// The iterator of `gmatch`. As in Lua 5.1, `^` stands for itself.
///
/// # Safety
/// Lua calls it, with the upvalues of [`gmatch`].
unsafe extern "C-unwind" fn next_match(lua: *mut ffi::lua_State) -> c_int {
    // SAFETY: guaranteed by the caller. The upvalues are strings, so they are not converted.
    unsafe {
        let (subject, pattern) = (upvalue_text(lua, SUBJECT), upvalue_text(lua, PATTERN));
        let start = ffi::lua_tointeger(lua, ffi::lua_upvalueindex(POSITION));
        let start = usize::try_from(start).unwrap_or(0);
        let mut captures = Captures::new();
        let Some((at, end)) = first_match(lua, (subject, pattern), start..=subject.len(), &mut captures)
        else {
            return 0;
        };
        // After an empty match the next one begins further on.
        let next = if end == at { end + 1 } else { end };
        ffi::lua_pushinteger(lua, as_integer(next));
        ffi::lua_replace(lua, ffi::lua_upvalueindex(POSITION));
        push_values(lua, subject, &captures, (at, end))
    }
}

/// # Safety
/// As for [`next_match`]. The bytes are used within the call.
unsafe fn upvalue_text<'t>(lua: *mut ffi::lua_State, upvalue: c_int) -> &'t [u8] {
    let mut length = 0;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let bytes = ffi::lua_tolstring(lua, ffi::lua_upvalueindex(upvalue), &raw mut length);
        std::slice::from_raw_parts(bytes.cast(), length)
    }
}
