//! Errors as Lua's auxiliary library raises them.
//!
//! Redis's libraries raise errors with `luaL_error` and `luaL_argerror`. Both add the position of
//! the calling Lua function, and the latter also the name that the caller used. A callback of mlua
//! gets neither, so the functions here look at the call stack.

use std::borrow::Cow;
use std::fmt::Display;

use mlua::{Error, Lua};

/// The level of the callback that is running.
const CALLBACK: usize = 0;
/// The level of the function that called it.
const CALLER: usize = 1;

/// Returns the position of the caller of the running callback, such as `user_script:1: `, or an
/// empty text if the caller is not a Lua function.
pub(crate) fn position(lua: &Lua) -> String {
    let described = lua.inspect_stack(CALLER, |caller| {
        let line = caller.current_line()?;
        Some(format!("{}:{line}: ", caller.source().short_src?))
    });
    described.flatten().unwrap_or_default()
}

/// Returns an error with the position of the caller, as `luaL_error` raises it.
pub(crate) fn error(lua: &Lua, text: impl Display) -> Error {
    Error::RuntimeError(format!("{}{text}", position(lua)))
}

/// Returns the error about argument `number`, counted from 1, as `luaL_argerror` raises it.
pub(crate) fn argument_error(lua: &Lua, number: usize, text: impl Display) -> Error {
    let called = lua.inspect_stack(CALLBACK, |callback| {
        let names = callback.names();
        (names.name.map(Cow::into_owned), names.name_what == Some("method"))
    });
    let (name, method) = called.unwrap_or_default();
    let name = name.as_deref().unwrap_or("?");
    // `library:function(…)` passes the library as the first argument, which scripts do not count.
    match number.checked_sub(usize::from(method)) {
        Some(0) if method => error(lua, format_args!("calling '{name}' on bad self ({text})")),
        shown => {
            let shown = shown.unwrap_or_default();
            error(lua, format_args!("bad argument #{shown} to '{name}' ({text})"))
        }
    }
}
