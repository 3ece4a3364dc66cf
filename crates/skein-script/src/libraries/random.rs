//! `math.random` and `math.randomseed`: Redis's generator, the same on every machine.
//!
//! It is that of C's `lrand48`: X ← aX + c modulo 2⁴⁸, and the upper 31 bits of X are the number.
//! So a script that seeds it gets the same sequence as from Redis.

use std::cell::Cell;
use std::rc::Rc;

use mlua::{Lua, MultiValue, Result, Table, Value};

use super::arguments::Arguments;
use super::errors::{argument_error, error};

const MULTIPLIER: u64 = 0x0005_deec_e66d;
const INCREMENT: u64 = 0xb;
const MODULUS_BITS: u32 = 48;
/// The lowest bits of a seeded state.
const SEED_LOW: u64 = 0x330e;
/// The number of values that Redis divides by.
const RANGE: u64 = i32::MAX as u64;

#[derive(Clone, Default)]
struct Generator(Rc<Cell<u64>>);

impl Generator {
    fn seed(&self, seed: i32) {
        self.0.set(u64::from(seed.cast_unsigned()) << 16 | SEED_LOW);
    }

    /// Returns the next number, from 0 to below 1.
    fn next(&self) -> f64 {
        let state = self.0.get().wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & ((1 << MODULUS_BITS) - 1);
        self.0.set(state);
        ((state >> (MODULUS_BITS - 31)) % RANGE) as f64 / RANGE as f64
    }
}

/// Returns a table with `random` and `randomseed`. The generator starts from this seed.
pub(crate) fn table(lua: &Lua, seed: i32) -> Result<Table> {
    let generator = Generator::default();
    generator.seed(seed);
    let table = lua.create_table()?;
    let drawn = generator.clone();
    table.raw_set("random", lua.create_function(move |lua, values| random(lua, values, &drawn))?)?;
    let seed = lua.create_function(move |lua, values: MultiValue| {
        generator.seed(Arguments::new(lua, values).integer(1)? as i32);
        Ok(())
    })?;
    table.raw_set("randomseed", seed)?;
    Ok(table)
}

/// `math.random([[from,] to])`. As in Redis, bounds are 32 bits and wrap.
fn random(lua: &Lua, values: MultiValue, generator: &Generator) -> Result<Value> {
    // As in Redis, a call with wrong arguments draws a number, too.
    let drawn = generator.next();
    let arguments = Arguments::new(lua, values);
    let (from, to) = match arguments.count() {
        0 => return Ok(Value::Number(drawn)),
        1 => (1, arguments.integer(1)? as i32),
        2 => (arguments.integer(1)? as i32, arguments.integer(2)? as i32),
        _ => return Err(error(lua, "wrong number of arguments")),
    };
    if from > to {
        return Err(argument_error(lua, arguments.count(), "interval is empty"));
    }
    let width = to.wrapping_sub(from).wrapping_add(1);
    Ok(Value::Number((drawn * f64::from(width)).floor() + f64::from(from)))
}
