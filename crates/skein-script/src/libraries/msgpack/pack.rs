//! `cmsgpack.pack(…)`.
//!
//! Numbers without a fraction are integers, in the shortest form. Other numbers are floats of 4
//! bytes if those are exact. A table with the keys 1 to its length is an array; so is an empty one.
//! Tables below 16 others, and values without a form, become nil.

use mlua::{Lua, LuaString, MultiValue, Result, Value};

use super::format;
use crate::libraries::arguments::Arguments;
use crate::libraries::encoded_bytes::{EncodedBytes, EncodingEnd, EncodingLimits};
use crate::libraries::errors::argument_error;
use crate::libraries::number::truncate_to_i64;
use crate::stack::{Kind, Stack, protected};
use crate::work_meter::WorkMeter;

/// The number of tables that may contain each other.
const MAX_DEPTH: usize = 16;

/// Returns the packed form of the arguments, one after the other.
pub(super) fn pack(lua: &Lua, values: MultiValue) -> Result<LuaString> {
    let mut arguments = Arguments::new(lua, values);
    if arguments.count() == 0 {
        return Err(argument_error(lua, 0, "MessagePack pack needs input."));
    }
    let limits = EncodingLimits::of(lua);
    let mut out = limits.buffer();
    let mut packer =
        Packer { out: &mut out, frames: [Frame::default(); MAX_DEPTH], depth: 0, work: limits.meter() };
    for number in 1..=arguments.count() {
        packer.pack_argument(lua, arguments.take(number), &limits)?;
    }
    limits.finish(lua, &out)
}

type Outcome<T = ()> = std::result::Result<T, EncodingEnd>;

/// A table that is partly packed.
#[derive(Clone, Copy)]
enum Frame {
    /// On the stack: the table.
    Array { length: i32, next: i32 },
    /// On the stack: the table and the last key, nil at first. A key is packed before its value.
    Map,
    /// On the stack: the table, the key, the value, and a copy of the key that is being packed.
    MapKey,
}

impl Default for Frame {
    fn default() -> Self {
        Frame::Array { length: 0, next: 1 }
    }
}

struct Packer<'p> {
    out: &'p mut EncodedBytes,
    frames: [Frame; MAX_DEPTH],
    depth: usize,
    work: WorkMeter<'p>,
}

impl Packer<'_> {
    /// Appends the form of a value.
    fn pack_argument(&mut self, lua: &Lua, value: Value, limits: &EncodingLimits) -> Result<()> {
        // SAFETY: `pack` owns nothing but the packer, which owns nothing that must be dropped.
        let (outcome, ()) = unsafe {
            protected(lua, value, |stack| {
                let outcome = self.pack(stack);
                stack.clear();
                outcome
            })?
        };
        outcome.map_err(|end| limits.error(lua, end))
    }

    /// Packs the value on top of the stack.
    fn pack(&mut self, stack: &mut Stack) -> Outcome {
        loop {
            self.begin_value(stack)?;
            self.out.check()?;
            while self.depth > 0 && !self.next_value(stack) {
                stack.pop(1);
                self.depth -= 1;
            }
            if self.depth == 0 {
                return Ok(());
            }
        }
    }

    /// Packs a value that is not a table and removes it, or opens a table.
    fn begin_value(&mut self, stack: &mut Stack) -> Outcome {
        self.work.spend(stack.bytes(-1).len())?;
        match stack.kind(-1) {
            Kind::Table if self.depth < MAX_DEPTH => return self.begin_table(stack),
            Kind::String => write_string(self.out, stack.bytes(-1)),
            Kind::Number(value) => write_number(self.out, value),
            Kind::Boolean(true) => self.out.push(format::TRUE),
            Kind::Boolean(false) => self.out.push(format::FALSE),
            Kind::Table | Kind::Nil | Kind::Null | Kind::Other(_) => self.out.push(format::NIL),
        }
        stack.pop(1);
        Ok(())
    }

    fn begin_table(&mut self, stack: &mut Stack) -> Outcome {
        // Each table needs its own slot, a key, a value and a copy of the key. The 16 tables fit
        // the limit of Lua, so this succeeds.
        stack.reserve(4);
        let shape = TableShape::of(stack, &mut self.work)?;
        self.frames[self.depth] = if shape.is_array {
            write_array_head(self.out, shape.count);
            Frame::Array { length: shape.count as i32, next: 1 }
        } else {
            write_map_head(self.out, shape.count);
            stack.push_nil();
            Frame::Map
        };
        self.depth += 1;
        Ok(())
    }

    /// Pushes the next value of the innermost table. At its end the table is on top, and the
    /// result is false.
    fn next_value(&mut self, stack: &mut Stack) -> bool {
        let frame = &mut self.frames[self.depth - 1];
        match frame {
            Frame::Array { length, next } => {
                if *next > *length {
                    return false;
                }
                stack.element(*next);
                *next += 1;
                true
            }
            Frame::Map => {
                if !stack.next() {
                    return false;
                }
                stack.push_copy(-2);
                *frame = Frame::MapKey;
                true
            }
            Frame::MapKey => {
                // The value is on top.
                *frame = Frame::Map;
                true
            }
        }
    }
}

/// The head of a table: its kind and its length.
struct TableShape {
    is_array: bool,
    count: usize,
}

impl TableShape {
    /// Returns the shape of the table on top.
    fn of(stack: &mut Stack, work: &mut WorkMeter<'_>) -> Outcome<Self> {
        let (mut count, mut greatest, mut only_indexes) = (0_usize, 0.0_f64, true);
        stack.push_nil();
        while stack.next() {
            work.spend(0)?;
            count += 1;
            match stack.kind(-2) {
                Kind::Number(key) if key >= 1.0 && key.floor() == key => greatest = greatest.max(key),
                _ => only_indexes = false,
            }
            stack.pop(1);
        }
        Ok(Self { is_array: only_indexes && greatest == count as f64, count })
    }
}

fn write_number(out: &mut EncodedBytes, value: f64) {
    let integer = truncate_to_i64(value);
    if integer as f64 == value {
        return write_integer(out, integer);
    }
    let short = value as f32;
    if f64::from(short) == value {
        out.push(format::FLOAT_32);
        out.extend(&short.to_be_bytes());
    } else {
        out.push(format::FLOAT_64);
        out.extend(&value.to_be_bytes());
    }
}

fn write_integer(out: &mut EncodedBytes, value: i64) {
    let bytes = value.to_be_bytes();
    // The lowest bytes of a negative number are its shorter forms, too.
    let (head, length) = match value {
        -32..=0x7f => return out.push(bytes[7]),
        0x80..=0xff => (format::UINT_8, 1),
        0x100..=0xffff => (format::UINT_16, 2),
        0x1_0000..=0xffff_ffff => (format::UINT_32, 4),
        0x1_0000_0000.. => (format::UINT_64, 8),
        -0x80..=-33 => (format::INT_8, 1),
        -0x8000..=-0x81 => (format::INT_16, 2),
        -0x8000_0000..=-0x8001 => (format::INT_32, 4),
        _ => (format::INT_64, 8),
    };
    out.push(head);
    out.extend(&bytes[8 - length..]);
}

fn write_string(out: &mut EncodedBytes, text: &[u8]) {
    match text.len() {
        length @ 0..=31 => out.push(format::FIXSTR | length as u8),
        length @ 32..=0xff => out.extend(&[format::STR_8, length as u8]),
        length => write_length(out, length, format::STR_16, format::STR_32),
    }
    out.extend(text);
}

fn write_array_head(out: &mut EncodedBytes, length: usize) {
    match length {
        0..=15 => out.push(format::FIXARRAY | length as u8),
        _ => write_length(out, length, format::ARRAY_16, format::ARRAY_32),
    }
}

fn write_map_head(out: &mut EncodedBytes, length: usize) {
    match length {
        0..=15 => out.push(format::FIXMAP | length as u8),
        _ => write_length(out, length, format::MAP_16, format::MAP_32),
    }
}

/// Appends a head with a length of two or four bytes. Lua's values are shorter than 2³².
fn write_length(out: &mut EncodedBytes, length: usize, short: u8, long: u8) {
    if let Ok(length) = u16::try_from(length) {
        out.push(short);
        out.extend(&length.to_be_bytes());
    } else {
        out.push(long);
        out.extend(&(length as u32).to_be_bytes());
    }
}
