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
    let unary: [(&str, fn(u32) -> u32); 3] =
        [("tobit", |bits| bits), ("bnot", |bits| !bits), ("bswap", u32::swap_bytes)];
    for (name, operation) in unary {
        let function = lua.create_function(move |lua, values: MultiValue| {
            Ok(operation(bits(&Arguments::new(lua, values), 1)?) as i32)
        })?;
        table.raw_set(name, function)?;
    }
    let folds: [(&str, fn(u32, u32) -> u32); 3] =
        [("band", |a, b| a & b), ("bor", |a, b| a | b), ("bxor", |a, b| a ^ b)];
    for (name, operation) in folds {
        let function = lua.create_function(move |lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            let first = bits(&arguments, 1)?;
            let rest = 2..=arguments.count();
            let folded = rest
                .map(|number| bits(&arguments, number))
                .try_fold(first, |all, bits| Ok(operation(all, bits?)));
            folded.map(|bits: u32| bits as i32)
        })?;
        table.raw_set(name, function)?;
    }
    // Shifts take the lowest five bits of the distance.
    let shifts: [(&str, fn(u32, u32) -> u32); 5] = [
        ("lshift", u32::wrapping_shl),
        ("rshift", u32::wrapping_shr),
        ("arshift", |bits, by| (bits as i32).wrapping_shr(by) as u32),
        ("rol", |bits, by| bits.rotate_left(by % 32)),
        ("ror", |bits, by| bits.rotate_right(by % 32)),
    ];
    for (name, operation) in shifts {
        let function = lua.create_function(move |lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            Ok(operation(bits(&arguments, 1)?, bits(&arguments, 2)?) as i32)
        })?;
        table.raw_set(name, function)?;
    }
    table.raw_set("tohex", lua.create_function(to_hexadecimal)?)?;
    Ok(table)
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
