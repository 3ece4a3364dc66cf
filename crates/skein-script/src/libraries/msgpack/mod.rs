//! The library `cmsgpack`: values in the format `MessagePack`.
//!
//! | file | contents |
//! | --- | --- |
//! | `pack.rs` | `cmsgpack.pack(…)` |
//! | `unpack.rs` | `cmsgpack.unpack(data)`, `unpack_one`, `unpack_limit` |
//! | here | the bytes with which values begin |

mod pack;
mod unpack;

use mlua::{Lua, Result, Table};

/// Returns the table of the library.
///
/// # Errors
///
/// If Lua runs out of memory.
///
/// ```
/// use mlua::Lua;
/// use skein_script::libraries::msgpack;
///
/// # fn main() -> mlua::Result<()> {
/// let lua = Lua::new();
/// lua.globals().set("cmsgpack", msgpack::table(&lua)?)?;
/// assert_eq!(lua.load("cmsgpack.pack({1, 'a'})").eval::<mlua::LuaString>()?, b"\x92\x01\xa1a");
/// assert_eq!(lua.load("cmsgpack.unpack('\\146\\1\\161a')[2]").eval::<String>()?, "a");
/// # Ok(())
/// # }
/// ```
pub fn table(lua: &Lua) -> Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("pack", lua.create_function(pack::pack)?)?;
    table.raw_set("unpack", lua.create_function(unpack::unpack)?)?;
    table.raw_set("unpack_one", lua.create_function(unpack::unpack_one)?)?;
    table.raw_set("unpack_limit", lua.create_function(unpack::unpack_limit)?)?;
    table.raw_set("_NAME", "cmsgpack")?;
    table.raw_set("_VERSION", "lua-cmsgpack 0.4.0")?;
    table.raw_set("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo")?;
    table.raw_set("_DESCRIPTION", "MessagePack C implementation for Lua")?;
    Ok(table)
}

/// The first bytes of values, as the format's specification names them.
mod format {
    pub(super) const FIXMAP: u8 = 0x80;
    pub(super) const FIXARRAY: u8 = 0x90;
    pub(super) const FIXSTR: u8 = 0xa0;
    pub(super) const NIL: u8 = 0xc0;
    pub(super) const FALSE: u8 = 0xc2;
    pub(super) const TRUE: u8 = 0xc3;
    pub(super) const FLOAT_32: u8 = 0xca;
    pub(super) const FLOAT_64: u8 = 0xcb;
    pub(super) const UINT_8: u8 = 0xcc;
    pub(super) const UINT_16: u8 = 0xcd;
    pub(super) const UINT_32: u8 = 0xce;
    pub(super) const UINT_64: u8 = 0xcf;
    pub(super) const INT_8: u8 = 0xd0;
    pub(super) const INT_16: u8 = 0xd1;
    pub(super) const INT_32: u8 = 0xd2;
    pub(super) const INT_64: u8 = 0xd3;
    pub(super) const STR_8: u8 = 0xd9;
    pub(super) const STR_16: u8 = 0xda;
    pub(super) const STR_32: u8 = 0xdb;
    pub(super) const ARRAY_16: u8 = 0xdc;
    pub(super) const ARRAY_32: u8 = 0xdd;
    pub(super) const MAP_16: u8 = 0xde;
    pub(super) const MAP_32: u8 = 0xdf;
    pub(super) const NEGATIVE_FIXINT: u8 = 0xe0;
}
