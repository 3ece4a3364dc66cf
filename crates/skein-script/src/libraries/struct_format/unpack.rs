//! `struct.unpack(format, data [, position])`.

use mlua::{Error, Lua, MultiValue, Result, Value};

use super::format::{Format, Item};
use crate::libraries::STACK_SLOTS;
use crate::libraries::arguments::Arguments;
use crate::libraries::encoded_bytes::EncodingLimits;
use crate::libraries::errors::{argument_error, error};
use crate::libraries::number::truncate_to_u64;

/// Returns the values in `data`, and the position behind them.
pub(super) fn unpack(lua: &Lua, values: MultiValue) -> Result<MultiValue> {
    let arguments = Arguments::new(lua, values);
    let (format, data) = (arguments.string(1)?, arguments.string(2)?);
    let position = arguments.integer_or(3, 1)?;
    if position == 0 {
        return Err(argument_error(lua, 3, "offset must be 1 or greater"));
    }
    let (format, data) = (format.as_bytes(), data.as_bytes());
    // Negative positions are far behind the data.
    let limits = EncodingLimits::of(lua);
    let mut reader =
        Reader { lua, limits: &limits, data: &data, position: (position as usize).wrapping_sub(1) };
    limits.spend(lua, format.len())?;
    let mut format = Format::new(&format, &limits);
    let mut results = MultiValue::new();
    while let Some(item) = format.next(lua)? {
        reader.align(format.padding(reader.position, item), item)?;
        // Redis reserves two slots for each item.
        if arguments.count() + results.len() + 2 > STACK_SLOTS {
            return Err(too_many_results(lua));
        }
        let big_endian = format.big_endian();
        let result = match item {
            Item::Control(option) => {
                format.control(lua, option)?;
                continue;
            }
            Item::Padding => {
                reader.take(1)?;
                continue;
            }
            Item::Integer { size, signed } => Value::Number(integer(reader.take(size)?, signed, big_endian)),
            Item::Float => Value::Number(f32::from_le_bytes(reader.take_array(big_endian)?).into()),
            Item::Double => Value::Number(f64::from_le_bytes(reader.take_array(big_endian)?)),
            Item::Text => string(lua, reader.take_text()?)?,
            Item::Characters(0) => {
                let size = previous_size(lua, &mut results)?;
                string(lua, reader.take(size)?)?
            }
            Item::Characters(size) => string(lua, reader.take(size)?)?,
        };
        results.push_back(result);
    }
    results.push_back(Value::Number(reader.position.wrapping_add(1) as i64 as f64));
    Ok(results)
}

fn too_many_results(lua: &Lua) -> Error {
    error(lua, "stack overflow (too many results)")
}

/// Returns a string. mlua keeps the strings of a call in slots of another stack, which ends, too.
fn string(lua: &Lua, bytes: &[u8]) -> Result<Value> {
    match lua.create_string(bytes) {
        Err(Error::StackError) => Err(too_many_results(lua)),
        string => string.map(Value::String),
    }
}

/// Takes the last result, which is the size of the string that follows.
fn previous_size(lua: &Lua, results: &mut MultiValue) -> Result<usize> {
    let last = results.pop_back().unwrap_or_default();
    match lua.coerce_number(last)? {
        Some(size) => Ok(truncate_to_u64(size) as usize),
        None => Err(error(lua, "format 'c0' needs a previous size")),
    }
}

/// The data, and the position of the next byte.
struct Reader<'d> {
    lua: &'d Lua,
    limits: &'d EncodingLimits,
    data: &'d [u8],
    position: usize,
}

impl<'d> Reader<'d> {
    /// Skips the padding before an item. Fails if the data ends before the item does.
    fn align(&mut self, padding: usize, item: Item) -> Result<()> {
        self.position = self.position.saturating_add(padding);
        self.rest()?.get(..item.size()).map(|_| ()).ok_or_else(|| self.too_short())
    }

    /// Returns the rest of the data.
    fn rest(&self) -> Result<&'d [u8]> {
        self.data.get(self.position..).ok_or_else(|| self.too_short())
    }

    fn take(&mut self, size: usize) -> Result<&'d [u8]> {
        let taken = self.rest()?.get(..size).ok_or_else(|| self.too_short())?;
        self.limits.spend(self.lua, size)?;
        self.position += size;
        Ok(taken)
    }

    /// Returns the next bytes in little-endian order.
    fn take_array<const N: usize>(&mut self, big_endian: bool) -> Result<[u8; N]> {
        let mut bytes: [u8; N] = self.take(N)?.try_into().map_err(|_| self.too_short())?;
        if big_endian {
            bytes.reverse();
        }
        Ok(bytes)
    }

    /// Returns the bytes before the next zero byte, and skips both.
    fn take_text(&mut self) -> Result<&'d [u8]> {
        let rest = self.rest()?;
        let end = rest.iter().position(|&byte| byte == 0);
        self.limits.spend(self.lua, end.unwrap_or(rest.len()))?;
        match end {
            Some(length) => {
                self.position += length + 1;
                Ok(&rest[..length])
            }
            None => Err(error(self.lua, "unfinished string in data")),
        }
    }

    fn too_short(&self) -> Error {
        argument_error(self.lua, 2, "data string too short")
    }
}

/// Returns an integer of any size. Only the lowest eight bytes count.
fn integer(bytes: &[u8], signed: bool, big_endian: bool) -> f64 {
    let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) };
    if !signed {
        return value as f64;
    }
    // Redis shifts by the number of the sign bit, and x86-64 uses only the lowest six bits of it.
    // So in an integer of nine bytes the sign is the highest bit of the lowest byte.
    let sign_bit = (bytes.len() as u32 * 8).wrapping_sub(1);
    let mask = u64::MAX.wrapping_shl(sign_bit);
    let extended = if value & mask == 0 { value } else { value | mask };
    extended as i64 as f64
}
