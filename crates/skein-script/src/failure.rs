//! Errors that functions of the sandbox raise, and their form in a script.
//!
//! The functions are Rust, and the crate `mlua` carries their errors through Lua as an opaque
//! value. `pcall`, `xpcall` and `coroutine.resume` of the sandbox turn it into the value that Redis
//! raises: a table with the field `err`, or a string.

use std::fmt;

use mlua::{Lua, Value};

/// An error with a code, as a command replies it. Scripts see `{err = text}`.
#[derive(Debug, Clone)]
pub(crate) struct CodedError(pub(crate) Vec<u8>);

impl fmt::Display for CodedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(f)
    }
}

impl std::error::Error for CodedError {}

/// Returns the error of a function of the library `redis`, with the code `ERR`.
pub(crate) fn fault(text: &str) -> mlua::Error {
    coded(format!("ERR {text}").into_bytes())
}

/// Returns an error with a text that begins with its code.
pub(crate) fn coded(text: Vec<u8>) -> mlua::Error {
    mlua::Error::external(CodedError(text))
}

/// Returns the innermost cause of an error: callbacks wrap it with a traceback.
pub(crate) fn cause(error: &mlua::Error) -> &mlua::Error {
    match error {
        mlua::Error::CallbackError { cause: inner, .. } => cause(inner),
        _ => error,
    }
}

/// Returns the text of an error for a script, without tracebacks.
pub(crate) fn text_of(error: &mlua::Error) -> String {
    match cause(error) {
        mlua::Error::RuntimeError(text) | mlua::Error::MemoryError(text) => first_part(text).to_owned(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

/// Removes the traceback that may follow a text.
fn first_part(text: &str) -> &str {
    text.split("\nstack traceback:").next().unwrap_or(text)
}

/// Returns the form of a raised value in a script: `{err = text}` for a [`CodedError`], and a
/// string for other errors of Rust. Every other value stays as it is.
pub(crate) fn visible(lua: &Lua, raised: Value) -> mlua::Result<Value> {
    let Value::Error(error) = &raised else { return Ok(raised) };
    let cause = cause(error);
    let coded = match cause {
        mlua::Error::ExternalError(inner) => inner.downcast_ref::<CodedError>(),
        _ => None,
    };
    let Some(CodedError(text)) = coded else {
        return Ok(Value::String(lua.create_string(text_of(cause))?));
    };
    let table = lua.create_table()?;
    table.raw_set("err", lua.create_string(text)?)?;
    table.raw_set("ignore_error_stats_update", true)?;
    Ok(Value::Table(table))
}
