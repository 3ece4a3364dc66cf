//! Compiles texts of Lua in pieces, so that a long one is interruptible.
//!
//! The compiler asks for a piece when it has read the last one, and the reader counts work then.
//! Lists of jumps make some texts cost the square of their length (`a and a and …`). The work of a
//! text has a bound in proportion to its length, so these are refused.
//!
//! # Invariant
//! 1. The reader may leave the compiler with `longjmp`, like any error of Lua. Neither it nor the
//!    work that calls the compiler owns a value.

use std::ffi::{CStr, c_char, c_int, c_void};

use mlua::{Function, Lua, Table, ffi};

/// The bytes of a piece.
const PIECE: usize = 4096;
/// The count of a piece: five of them make a tick.
const WORK: usize = 20_000;
/// The work that any text may take: some tenths of a second.
const MOST_WORK: usize = 64_000_000;
/// The work that a byte adds to this. Ordinary texts take a third of it.
const MOST_WORK_OF_BYTE: usize = 20;
/// The first byte of compiled chunks, which can break Lua itself.
const SIGNATURE: u8 = 0x1b;

const TOO_LONG: &CStr = c"the text takes too long to compile: split its longest expressions and loops";

/// The rest of a text.
struct Pieces<'t> {
    rest: &'t [u8],
    most_work: usize,
    /// The work of the thread when the compiler began.
    begun: usize,
}

/// Compiles a text. Its functions run in `environment`, or in the globals of scripts.
///
/// # Errors
/// If the text is not Lua, or a compiled chunk, or the script was stopped.
pub(crate) fn text(
    lua: &Lua,
    code: &[u8],
    name: &[u8],
    environment: Option<Table>,
) -> mlua::Result<Function> {
    if code.first() == Some(&SIGNATURE) {
        return Err(mlua::Error::RuntimeError("attempt to load a binary chunk (mode is 't')".into()));
    }
    // As in C, the name ends before its first zero byte.
    let name: Vec<u8> = name.iter().copied().take_while(|byte| *byte != 0).chain([0]).collect();
    let most_work = code.len().saturating_mul(MOST_WORK_OF_BYTE).saturating_add(MOST_WORK);
    let mut pieces = Pieces { rest: code, most_work, begun: 0 };
    // SAFETY: the work owns nothing (invariant 1). The name and the pieces outlive it.
    unsafe { lua.exec_raw(environment, |state| load(state, &mut pieces, name.as_ptr().cast())) }
}

/// Leaves the compiled function on the stack, or raises the compiler's error.
///
/// # Safety
/// `state` is that of a protected call, with the environment or nil as its only value.
unsafe fn load(state: *mut ffi::lua_State, pieces: &mut Pieces<'_>, name: *const c_char) {
    // SAFETY: guaranteed by the caller. A protected call has 20 slots.
    unsafe {
        pieces.begun = skein_lua::worked(state);
        if ffi::lua_load(state, next_piece, (&raw mut *pieces).cast(), name) != ffi::LUA_OK {
            ffi::lua_error(state);
        }
        ffi::lua_insert(state, 1);
        if ffi::lua_type(state, ENVIRONMENT) == ffi::LUA_TTABLE {
            ffi::lua_setfenv(state, 1);
        }
        ffi::lua_settop(state, 1);
    }
}

/// The slot of the environment, once the function is below it.
const ENVIRONMENT: c_int = 2;

/// Returns the next piece.
///
/// # Safety
/// The compiler calls it with the [`Pieces`] of [`load`].
unsafe extern "C-unwind" fn next_piece(
    state: *mut ffi::lua_State,
    pieces: *mut c_void,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: guaranteed by the caller.
    unsafe {
        skein_lua::work(state, WORK);
        let pieces = &mut *pieces.cast::<Pieces<'_>>();
        if skein_lua::worked(state).wrapping_sub(pieces.begun) > pieces.most_work {
            ffi::luaL_error(state, TOO_LONG.as_ptr());
        }
        let (piece, rest) = pieces.rest.split_at(PIECE.min(pieces.rest.len()));
        pieces.rest = rest;
        *length = piece.len();
        piece.as_ptr().cast()
    }
}
