//! Errors as Lua's auxiliary library raises them.
//!
//! Redis's libraries raise errors with `luaL_error` and `luaL_argerror`. Both add the position of
//! the calling Lua function, and the latter the name by which it called. A callback of mlua gets
//! neither, so the functions here look at the call stack.

use std::borrow::Cow;
use std::fmt::Display;

use mlua::{Error, Lua};

/// The level of the callback that is running.
const CALLBACK: usize = 0;
/// The level of the function that called it.
const CALLER: usize = 1;

/// Returns the position of the caller of the running callback, such as `user_script:1: `, or an
/// empty text if the caller is not a Lua function.
///
/// ```
/// use mlua::Lua;
/// use skein_script::libraries::errors::position;
///
/// # fn main() -> mlua::Result<()> {
/// let lua = Lua::new();
/// lua.globals().set("position", lua.create_function(|lua, ()| Ok(position(lua)))?)?;
/// let script = lua.load("\n return position()").set_name("@user_script");
/// assert_eq!(script.eval::<String>()?, "user_script:2: ");
/// # Ok(())
/// # }
/// ```
pub fn position(lua: &Lua) -> String {
    let described = lua.inspect_stack(CALLER, |caller| {
        let line = caller.current_line()?;
        Some(format!("{}:{line}: ", caller.source().short_src?))
    });
    described.flatten().unwrap_or_default()
}

/// Returns an error with the position of the caller, as `luaL_error` raises it.
///
/// ```
/// use mlua::{Error, Lua};
/// use skein_script::libraries::errors;
///
/// # fn main() -> mlua::Result<()> {
/// let lua = Lua::new();
/// let fail = lua.create_function(|lua, ()| Err::<(), Error>(errors::error(lua, "no luck")))?;
/// lua.globals().set("fail", fail)?;
/// let failed = lua.load("local _ = fail()").set_name("@user_script").exec().unwrap_err();
/// assert_eq!(errors::text(&failed), "user_script:1: no luck");
/// # Ok(())
/// # }
/// ```
pub fn error(lua: &Lua, text: impl Display) -> Error {
    Error::RuntimeError(format!("{}{text}", position(lua)))
}

/// Returns the error about argument `number`, counted from 1, as `luaL_argerror` raises it.
///
/// ```
/// use mlua::{Error, Lua};
/// use skein_script::libraries::errors;
///
/// # fn main() -> mlua::Result<()> {
/// let lua = Lua::new();
/// let fail = lua.create_function(|lua, ()| Err::<(), Error>(errors::argument_error(lua, 2, "odd")))?;
/// lua.globals().set("fail", fail)?;
/// let failed = lua.load("local _ = fail()").set_name("@user_script").exec().unwrap_err();
/// assert_eq!(errors::text(&failed), "user_script:1: bad argument #2 to 'fail' (odd)");
/// # Ok(())
/// # }
/// ```
pub fn argument_error(lua: &Lua, number: usize, text: impl Display) -> Error {
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

/// Returns the text of an error as `pcall` in a script returns it: without the words and the trace
/// that mlua adds.
///
/// ```
/// use mlua::Lua;
/// use skein_script::libraries::errors::text;
///
/// let failed = Lua::new().load("error('no luck', 0)").exec().unwrap_err();
/// assert_eq!(text(&failed), "no luck");
/// ```
pub fn text(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => text(cause),
        Error::RuntimeError(text) => {
            text.split_once("\nstack traceback:").map_or(&text[..], |(text, _)| text).to_owned()
        }
        other => other.to_string(),
    }
}
