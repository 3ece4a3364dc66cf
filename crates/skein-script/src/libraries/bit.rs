//! The library `bit`: operations on numbers of 32 bits.
//!
//! A number is rounded to the nearest integer, wrapped to 32 bits, and returned as a signed one.

use mlua::{Lua, MultiValue, Result, Table};

use super::arguments::Arguments;

/// The digits of a number of 32 bits in hexadecimal.
const HEXADECIMAL_DIGITS: usize = 8;

/// Returns the table of the library.
///
/// # Errors
///
/// If Lua runs out of memory.
///
/// ```
/// use mlua::Lua;
/// use skein_script::libraries::bit;
///
/// # fn main() -> mlua::Result<()> {
/// let lua = Lua::new();
/// lua.globals().set("bit", bit::table(&lua)?)?;
/// assert_eq!(lua.load("bit.band(0xffff, -2)").eval::<i64>()?, 0xfffe);
/// assert_eq!(lua.load("bit.tohex(255, 4)").eval::<String>()?, "00ff");
/// # Ok(())
/// # }
/// ```
pub fn table(lua: &Lua) -> Result<Table> {
    let table = lua.create_table()?;
    add_unary(lua, &table, "tobit", |bits| bits)?;
    add_unary(lua, &table, "bnot", |bits| !bits)?;
    add_unary(lua, &table, "bswap", u32::swap_bytes)?;
    add_fold(lua, &table, "band", |a, b| a & b)?;
    add_fold(lua, &table, "bor", |a, b| a | b)?;
    add_fold(lua, &table, "bxor", |a, b| a ^ b)?;
    // Shifts take the lowest five bits of the distance.
    add_shift(lua, &table, "lshift", u32::wrapping_shl)?;
    add_shift(lua, &table, "rshift", u32::wrapping_shr)?;
    add_shift(lua, &table, "arshift", |bits, by| (bits as i32).wrapping_shr(by) as u32)?;
    add_shift(lua, &table, "rol", |bits, by| bits.rotate_left(by % 32))?;
    add_shift(lua, &table, "ror", |bits, by| bits.rotate_right(by % 32))?;
    table.raw_set("tohex", lua.create_function(to_hexadecimal)?)?;
    Ok(table)
}

/// Adds a function of one number.
fn add_unary(lua: &Lua, table: &Table, name: &str, operation: fn(u32) -> u32) -> Result<()> {
    let function = lua.create_function(move |lua, values: MultiValue| {
        Ok(operation(bits(&Arguments::new(lua, values), 1)?) as i32)
    })?;
    table.raw_set(name, function)
}

/// Adds a function of one number or more.
fn add_fold(lua: &Lua, table: &Table, name: &str, operation: fn(u32, u32) -> u32) -> Result<()> {
    let function = lua.create_function(move |lua, values: MultiValue| {
        let arguments = Arguments::new(lua, values);
        let mut folded = bits(&arguments, 1)?;
        // From the last to the second, as Redis checks them.
        for number in (2..=arguments.count()).rev() {
            folded = operation(folded, bits(&arguments, number)?);
        }
        Ok(folded as i32)
    })?;
    table.raw_set(name, function)
}

/// Adds a function of a number and a distance.
fn add_shift(lua: &Lua, table: &Table, name: &str, operation: fn(u32, u32) -> u32) -> Result<()> {
    let function = lua.create_function(move |lua, values: MultiValue| {
        let arguments = Arguments::new(lua, values);
        Ok(operation(bits(&arguments, 1)?, bits(&arguments, 2)?) as i32)
    })?;
    table.raw_set(name, function)
}

/// Returns an argument as 32 bits.
fn bits(arguments: &Arguments<'_>, number: usize) -> Result<u32> {
    // The sum has an exponent at which the lowest bit of the mantissa counts as one. So the
    // addition rounds, and the lowest bits are the integer in two's complement.
    const ROUNDS_TO_INTEGER: f64 = (1_u64 << 52) as f64 * 1.5;
    arguments.number(number).map(|value| (value + ROUNDS_TO_INTEGER).to_bits() as u32)
}

/// `bit.tohex(x [, digits])`. A negative number of digits asks for capital letters.
fn to_hexadecimal(lua: &Lua, values: MultiValue) -> Result<String> {
    let arguments = Arguments::new(lua, values);
    let bits = bits(&arguments, 1)?;
    let asked = match arguments.get(2) {
        None => HEXADECIMAL_DIGITS as i32,
        Some(_) => self::bits(&arguments, 2)? as i32,
    };
    let text = if asked < 0 { format!("{bits:08X}") } else { format!("{bits:08x}") };
    let digits = HEXADECIMAL_DIGITS.min(asked.unsigned_abs() as usize);
    Ok(text[HEXADECIMAL_DIGITS - digits..].to_owned())
}
