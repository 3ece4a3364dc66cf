//! The library `struct`: numbers and strings in the layout of C.
//!
//! ```text
//!  ">!4 b i s"  ──►  Format  ──►  Item, Item, …  ──►  pack, unpack, size
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `format.rs` | reads formats |
//! | `pack.rs` | `struct.pack(format, …)` |
//! | `unpack.rs` | `struct.unpack(format, data [, position])` |

mod format;
mod pack;
mod unpack;

use mlua::{Lua, MultiValue, Result, Table};

use super::arguments::Arguments;
use super::encoded_bytes::EncodingLimits;
use super::errors::argument_error;
use format::{Format, Item};

/// Returns the table of the library.
///
/// # Errors
///
/// If Lua runs out of memory.
///
/// ```
/// use mlua::Lua;
/// use skein_script::libraries::struct_format;
///
/// # fn main() -> mlua::Result<()> {
/// let lua = Lua::new();
/// lua.globals().set("struct", struct_format::table(&lua)?)?;
/// assert_eq!(lua.load("struct.pack('>I2', 258)").eval::<mlua::LuaString>()?, "\x01\x02");
/// assert_eq!(lua.load("struct.unpack('>I2', '\\1\\2')").eval::<(i64, i64)>()?, (258, 3));
/// assert_eq!(lua.load("struct.size('!4bi')").eval::<i64>()?, 8);
/// # Ok(())
/// # }
/// ```
pub fn table(lua: &Lua) -> Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("pack", lua.create_function(pack::pack)?)?;
    table.raw_set("unpack", lua.create_function(unpack::unpack)?)?;
    table.raw_set("size", lua.create_function(size)?)?;
    Ok(table)
}

/// `struct.size(format)`: the length of the result of `pack` for a format without strings.
fn size(lua: &Lua, values: MultiValue) -> Result<f64> {
    let format = Arguments::new(lua, values).string(1)?;
    let bytes = format.as_bytes();
    let limits = EncodingLimits::of(lua);
    limits.spend(lua, bytes.len())?;
    let mut format = Format::new(&bytes, &limits);
    let mut total = 0;
    while let Some(item) = format.next(lua)? {
        let variable = match item {
            Item::Text => Some("s"),
            Item::Characters(0) => Some("c0"),
            _ => None,
        };
        if let Some(option) = variable {
            return Err(argument_error(lua, 1, format_args!("option '{option}' has no fixed size")));
        }
        total += format.padding(total, item) + item.size();
        // Letters and digits without a meaning count as nothing, unlike in the other functions.
        if let Item::Control(option) = item
            && !option.is_ascii_alphanumeric()
        {
            format.control(lua, option)?;
        }
    }
    Ok(total as f64)
}
