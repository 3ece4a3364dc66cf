//! The library `cjson`: JSON.
//!
//! ```text
//!  value ──► encode ──► text ──► tokens ──► decode ──► value
//!               ▲                              ▲
//!               └────────── options ───────────┘
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `options.rs` | the options, and the functions that set them |
//! | `encode.rs` | `cjson.encode(value)` |
//! | `decode.rs` | `cjson.decode(text)` |
//! | `tokens.rs` | the tokens of a text |
//!
//! Each table has options of its own, which its functions share. [`table`] remembers those of its
//! table in the Lua state, and [`reset`] restores their defaults. The tables that `cjson.new()`
//! makes belong to the script that made them, and are not remembered.

mod decode;
mod encode;
mod options;
mod tokens;

use mlua::{Lua, MultiValue, Result, Table, Value};

use options::SharedOptions;

/// Returns the table of the library.
///
/// # Errors
///
/// If Lua runs out of memory.
///
/// ```
/// use mlua::Lua;
/// use skein_script::libraries::json;
///
/// # fn main() -> mlua::Result<()> {
/// let lua = Lua::new();
/// lua.globals().set("cjson", json::table(&lua)?)?;
/// assert_eq!(lua.load("cjson.encode({1, 'a/b', {}})").eval::<String>()?, r#"[1,"a\/b",{}]"#);
/// assert_eq!(lua.load(r#"cjson.decode('{"n": [1, 2]}').n[2]"#).eval::<i64>()?, 2);
/// # Ok(())
/// # }
/// ```
pub fn table(lua: &Lua) -> Result<Table> {
    let options = SharedOptions::default();
    lua.set_app_data(options.clone());
    table_with(lua, &options)
}

/// Restores the default options of the state's table. Call it between scripts.
///
/// ```
/// use mlua::Lua;
/// use skein_script::libraries::json;
///
/// # fn main() -> mlua::Result<()> {
/// let lua = Lua::new();
/// lua.globals().set("cjson", json::table(&lua)?)?;
/// lua.load("cjson.encode_number_precision(3)").exec()?;
/// json::reset(&lua);
/// assert_eq!(lua.load("cjson.encode(0.1234)").eval::<String>()?, "0.1234");
/// # Ok(())
/// # }
/// ```
pub fn reset(lua: &Lua) {
    if let Some(options) = lua.app_data_ref::<SharedOptions>() {
        options.reset();
    }
}

fn table_with(lua: &Lua, options: &SharedOptions) -> Result<Table> {
    let table = lua.create_table()?;
    let (encoded, decoded) = (options.clone(), options.clone());
    let encode = lua.create_function(move |lua, values| encode::encode(lua, values, &encoded.get()))?;
    let decode = lua.create_function(move |lua, values| decode::decode(lua, values, &decoded.get()))?;
    table.raw_set("encode", encode)?;
    table.raw_set("decode", decode)?;
    options::add_functions(lua, &table, options)?;
    let new = lua.create_function(|lua, _: MultiValue| table_with(lua, &SharedOptions::default()))?;
    table.raw_set("new", new)?;
    table.raw_set("null", Value::NULL)?;
    table.raw_set("_NAME", "cjson")?;
    table.raw_set("_VERSION", "2.1.0")?;
    Ok(table)
}
