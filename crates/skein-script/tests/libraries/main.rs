//! The libraries of scripts: their results against those of Redis, and properties.

mod differential;
mod golden;
mod properties;

use mlua::{Error, Function, Lua, MultiValue, Result, Value};
use skein_script::libraries::{bit, json, msgpack, struct_format};

/// Returns a Lua state with the libraries, in which `pcall` returns errors as strings.
///
/// mlua's own `pcall` returns its errors as user data.
fn state() -> Lua {
    let lua = Lua::new();
    let prepare = || -> Result<()> {
        let globals = lua.globals();
        globals.set("bit", bit::table(&lua)?)?;
        globals.set("struct", struct_format::table(&lua)?)?;
        globals.set("cjson", json::table(&lua)?)?;
        globals.set("cmsgpack", msgpack::table(&lua)?)?;
        globals.set("pcall", lua.create_function(protected_call)?)
    };
    prepare().expect("a Lua state with the libraries");
    lua
}

fn protected_call(lua: &Lua, (function, arguments): (Function, MultiValue)) -> Result<MultiValue> {
    match function.call::<MultiValue>(arguments) {
        Ok(mut results) => {
            results.push_front(Value::Boolean(true));
            Ok(results)
        }
        Err(error) => {
            let text = lua.create_string(text(&error))?;
            Ok(MultiValue::from_iter([Value::Boolean(false), Value::String(text)]))
        }
    }
}

/// Returns the text of an error, without the trace that mlua adds to those of Lua.
fn text(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } => text(cause),
        Error::RuntimeError(text) => {
            text.split_once("\nstack traceback:").map_or(&text[..], |(text, _)| text).to_owned()
        }
        other => other.to_string(),
    }
}
