//! The libraries of scripts: their results against those of Redis, and properties.

mod differential;
mod golden;
mod properties;

use mlua::{Function, Lua, MultiValue, Result, Value};
use skein_script::libraries::{bit, errors, json, msgpack, struct_format};

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
            let text = lua.create_string(errors::text(&error))?;
            Ok(MultiValue::from_iter([Value::Boolean(false), Value::String(text)]))
        }
    }
}
