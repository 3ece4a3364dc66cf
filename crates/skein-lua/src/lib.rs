//! Lua 5.1.5 for scripts of strangers: the sources of the crate `lua-src`, with corrections.
//!
//! ```text
//!   lua-src (C, from PUC-Rio) ─► build.rs: checked, corrected ─► mlua-sys, mlua ─► skein-script
//! ```
//!
//! Plain Lua 5.1.5 lacks the fixes that Redis and Valkey made to their copies.
//! `build/corrections.rs` lists the fixes that this crate applies. The rest of the crate counts
//! work: a count hook runs after so many instructions, and functions that may take long add their
//! work as instructions. See [`work`].
//!
//! No Lua is in the repository. The build fails if `lua-src` brings other sources than the reviewed
//! ones, which `docs/security.md` describes.

use mlua_sys::lua_State;

/// The sources that were reviewed: the version of the crate `lua-src`.
pub const SOURCES: &str = "551.0.2";

unsafe extern "C-unwind" {
    fn skein_lua_charge(state: *mut lua_State, units: usize);
    fn skein_lua_work(state: *mut lua_State, units: usize);
    fn skein_lua_worked(state: *const lua_State) -> usize;
}

/// Counts work without an interruption: the hook, if it is due, runs before the next instruction. A
/// unit is about as much as an instruction, some nanoseconds.
///
/// # Safety
/// `state` is a valid state of Lua, and this thread may use it.
#[inline]
pub unsafe fn charge(state: *mut lua_State, units: usize) {
    // SAFETY: guaranteed by the caller. The function changes one number of the state.
    unsafe { skein_lua_charge(state, units) }
}

/// Counts work, and runs the count hook if it is due. So this may raise an error of Lua.
///
/// # Safety
/// `state` is that of the function which Lua has called and which calls this. No frame between them
/// owns a value that must be dropped, because an error leaves them with `longjmp`.
#[inline]
pub unsafe fn work(state: *mut lua_State, units: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { skein_lua_work(state, units) }
}

/// Returns the work that functions of a thread have counted since it began. Instructions are not in
/// it.
///
/// # Safety
/// As for [`charge`].
#[inline]
pub unsafe fn worked(state: *mut lua_State) -> usize {
    // SAFETY: guaranteed by the caller. The function reads one number of the state.
    unsafe { skein_lua_worked(state) }
}
