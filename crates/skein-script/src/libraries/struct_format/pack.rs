//! `struct.pack(format, …)`.

use mlua::{Lua, LuaString, MultiValue, Result, Value};

use super::format::{Format, Item, MAX_INTEGER_SIZE};
use crate::libraries::arguments::Arguments;
use crate::libraries::encoded_bytes::{EncodedBytes, EncodingLimits};
use crate::libraries::errors::argument_error;
use crate::libraries::number::{truncate_to_i64, truncate_to_u64};

/// Returns the arguments in the layout of the format.
pub(super) fn pack(lua: &Lua, values: MultiValue) -> Result<LuaString> {
    let mut arguments = Arguments::new(lua, values);
    let format = arguments.string(1)?;
    // Error texts call the argument after the last one nil, not missing.
    arguments.append(Value::Nil);
    let bytes = format.as_bytes();
    let limits = EncodingLimits::of(lua);
    limits.spend(lua, bytes.len())?;
    let mut format = Format::new(&bytes, &limits);
    let (mut out, mut argument) = (limits.buffer(), 2);
    while let Some(item) = format.next(lua)? {
        out.check().map_err(|end| limits.error(lua, end))?;
        out.extend_zeros(format.padding(out.len(), item));
        match item {
            Item::Padding => {
                out.push(0);
                continue;
            }
            Item::Control(option) => {
                format.control(lua, option)?;
                continue;
            }
            Item::Integer { size, .. } => {
                append_integer(&mut out, arguments.number(argument)?, size, format.big_endian());
            }
            Item::Float => {
                let value = arguments.number(argument)? as f32;
                append(&mut out, value.to_le_bytes(), format.big_endian());
            }
            Item::Double => append(&mut out, arguments.number(argument)?.to_le_bytes(), format.big_endian()),
            Item::Text => {
                let text = arguments.string(argument)?;
                limits.spend(lua, text.as_bytes().len())?;
                out.extend(&text.as_bytes());
                out.push(0);
            }
            Item::Characters(size) => {
                let text = arguments.string(argument)?;
                let text = text.as_bytes();
                let size = if size == 0 { text.len() } else { size };
                limits.spend(lua, size)?;
                let Some(text) = text.get(..size) else {
                    return Err(argument_error(lua, argument + 1, "string too short"));
                };
                out.extend(text);
            }
        }
        argument += 1;
    }
    limits.finish(lua, &out)
}

fn append<const N: usize>(out: &mut EncodedBytes, mut little_endian: [u8; N], big_endian: bool) {
    if big_endian {
        little_endian.reverse();
    }
    out.extend(&little_endian);
}

/// Appends the lowest bytes of an integer. Bytes beyond the eighth are zero, even for negative
/// ones.
fn append_integer(out: &mut EncodedBytes, value: f64, size: usize, big_endian: bool) {
    let integer = if value < 0.0 { truncate_to_i64(value) as u64 } else { truncate_to_u64(value) };
    let mut bytes = [0; MAX_INTEGER_SIZE];
    let shown = size.min(8);
    bytes[..shown].copy_from_slice(&integer.to_le_bytes()[..shown]);
    let bytes = &mut bytes[..size];
    if big_endian {
        bytes.reverse();
    }
    out.extend(bytes);
}
