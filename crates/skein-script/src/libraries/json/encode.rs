//! `cjson.encode(value)`.
//!
//! ```text
//!  stack of Lua                      frames
//!  │ {a = {1, 2}}  key "a"        │  Object
//!  │ {1, 2}        element 1      │  Array { length: 2, next: 2 }
//! ```
//!
//! If all keys of a table are positive integers, it is an array; otherwise it is an object. An
//! empty table is an object.

use mlua::{Lua, LuaString, MultiValue, Result};

use super::options::{InvalidNumbers, Options};
use crate::libraries::arguments::Arguments;
use crate::libraries::encoded_bytes::{EncodedBytes, EncodingEnd, EncodingLimits};
use crate::libraries::errors::{argument_error, error};
use crate::libraries::number::{truncate_to_i32, write_g};
use crate::stack::{Kind, Stack, protected};
use crate::work_meter::{Stopped, WorkMeter};

/// Returns the JSON text of the argument.
pub(super) fn encode(lua: &Lua, values: MultiValue, options: &Options) -> Result<LuaString> {
    let mut arguments = Arguments::new(lua, values);
    if arguments.count() != 1 {
        return Err(argument_error(lua, 1, "expected 1 argument"));
    }
    let limits = EncodingLimits::of(lua);
    let (mut out, mut frames) = (limits.buffer(), Vec::new());
    let mut encoder = Encoder { out: &mut out, frames: &mut frames, options, work: limits.meter() };
    // SAFETY: `encode` owns nothing but the encoder, which owns nothing that must be dropped.
    let (outcome, ()) = unsafe {
        protected(lua, arguments.take(1), |stack| {
            let outcome = encoder.encode(stack);
            stack.clear();
            outcome
        })?
    };
    outcome.map_err(|failure| failure.into_error(lua, &limits))?;
    limits.finish(lua, &out)
}

type Outcome<T = ()> = std::result::Result<T, Failure>;

/// Why a value has no text.
#[derive(Clone, Copy)]
enum Failure {
    Value { kind: Kind, reason: &'static str },
    Depth(usize),
    End(EncodingEnd),
}

impl From<Stopped> for Failure {
    fn from(Stopped: Stopped) -> Self {
        Failure::End(EncodingEnd::Stopped)
    }
}

impl Failure {
    fn into_error(self, lua: &Lua, limits: &EncodingLimits) -> mlua::Error {
        match self {
            Failure::Value { kind, reason } => {
                error(lua, format_args!("Cannot serialise {}: {reason}", kind.name()))
            }
            Failure::Depth(depth) => {
                error(lua, format_args!("Cannot serialise, excessive nesting ({depth})"))
            }
            Failure::End(end) => limits.error(lua, end),
        }
    }
}

/// A table that is partly encoded.
#[derive(Clone, Copy)]
enum Frame {
    /// On the stack: the table.
    Array { length: i32, next: i32 },
    /// On the stack: the table and the last key, nil at first.
    Object { first: bool },
}

struct Encoder<'e> {
    out: &'e mut EncodedBytes,
    frames: &'e mut Vec<Frame>,
    options: &'e Options,
    work: WorkMeter<'e>,
}

impl Encoder<'_> {
    /// Encodes the value on top of the stack.
    fn encode(&mut self, stack: &mut Stack) -> Outcome {
        loop {
            self.begin_value(stack)?;
            loop {
                match self.frames.last_mut() {
                    None => return Ok(()),
                    Some(frame) => {
                        if Self::next_value(frame, self.out, self.options, stack)? {
                            break;
                        }
                    }
                }
                self.frames.pop();
                stack.pop(1);
            }
        }
    }

    /// Encodes a value that is not a table and removes it, or opens a table.
    fn begin_value(&mut self, stack: &mut Stack) -> Outcome {
        self.out.check().map_err(Failure::End)?;
        self.work.spend(stack.bytes(-1).len())?;
        let kind = stack.kind(-1);
        match kind {
            Kind::Table => return self.begin_table(stack),
            Kind::String => write_string(self.out, stack.bytes(-1)),
            Kind::Number(value) => write_number(self.out, value, self.options)?,
            Kind::Boolean(true) => self.out.extend(b"true"),
            Kind::Boolean(false) => self.out.extend(b"false"),
            Kind::Nil | Kind::Null => self.out.extend(b"null"),
            Kind::Other(_) => return Err(Failure::Value { kind, reason: "type not supported" }),
        }
        stack.pop(1);
        Ok(())
    }

    fn begin_table(&mut self, stack: &mut Stack) -> Outcome {
        let depth = self.frames.len() + 1;
        let within_limit = i32::try_from(depth).is_ok_and(|depth| depth <= self.options.encode_max_depth);
        if !within_limit || !stack.reserve(3) {
            return Err(Failure::Depth(depth));
        }
        let frame = if let Some(length) = self.array_length(stack)? {
            self.out.push(b'[');
            Frame::Array { length, next: 1 }
        } else {
            self.out.push(b'{');
            stack.push_nil();
            Frame::Object { first: true }
        };
        self.frames.push(frame);
        Ok(())
    }

    /// Returns the length of the table on top if it is an array.
    fn array_length(&mut self, stack: &mut Stack) -> Outcome<Option<i32>> {
        let (mut length, mut elements) = (0, 0_i32);
        stack.push_nil();
        while stack.next() {
            self.work.spend(0)?;
            match stack.kind(-2) {
                Kind::Number(key) if key >= 1.0 && key.floor() == key => {
                    // Keys beyond C's `int` become the smallest one, as in Redis.
                    if key > f64::from(length) {
                        length = truncate_to_i32(key);
                    }
                    elements = elements.wrapping_add(1);
                }
                _ => {
                    stack.pop(2);
                    return Ok(None);
                }
            }
            stack.pop(1);
        }
        let options = self.options;
        let sparse = options.sparse_ratio > 0
            && length > elements.wrapping_mul(options.sparse_ratio)
            && length > options.sparse_safe_length;
        match sparse {
            true if options.sparse_arrays_become_objects => Ok(None),
            true => Err(Failure::Value { kind: Kind::Table, reason: "excessively sparse array" }),
            false => Ok(Some(length).filter(|&length| length > 0)),
        }
    }

    /// Pushes the next value of a table and encodes the bytes before it. At the end it closes the
    /// table, which is on top then, and returns false.
    fn next_value(
        frame: &mut Frame,
        out: &mut EncodedBytes,
        options: &Options,
        stack: &mut Stack,
    ) -> Outcome<bool> {
        match frame {
            Frame::Array { length, next } if *next > *length => {
                out.push(b']');
                Ok(false)
            }
            Frame::Array { next, .. } => {
                if *next > 1 {
                    out.push(b',');
                }
                stack.element(*next);
                *next += 1;
                Ok(true)
            }
            Frame::Object { first } => {
                if !stack.next() {
                    out.push(b'}');
                    return Ok(false);
                }
                if !std::mem::replace(first, false) {
                    out.push(b',');
                }
                write_key(out, stack, options)?;
                Ok(true)
            }
        }
    }
}

/// Appends the key below the topmost value.
fn write_key(out: &mut EncodedBytes, stack: &Stack, options: &Options) -> Outcome {
    match stack.kind(-2) {
        Kind::String => write_string(out, stack.bytes(-2)),
        Kind::Number(key) => {
            out.push(b'"');
            write_number(out, key, options)?;
            out.push(b'"');
        }
        kind => return Err(Failure::Value { kind, reason: "table key must be a number or string" }),
    }
    out.push(b':');
    Ok(())
}

fn write_number(out: &mut EncodedBytes, value: f64, options: &Options) -> Outcome {
    if value.is_finite() {
        out.number(|out| write_g(out, value, options.number_precision.unsigned_abs() as usize));
        return Ok(());
    }
    match options.encode_invalid_numbers {
        InvalidNumbers::Rejected => {
            let kind = Kind::Number(value);
            return Err(Failure::Value { kind, reason: "must not be NaN or Inf" });
        }
        InvalidNumbers::Null => out.extend(b"null"),
        // Unlike C, without the sign.
        InvalidNumbers::Printed if value.is_nan() => out.extend(b"nan"),
        InvalidNumbers::Printed => out.number(|out| write_g(out, value, 1)),
    }
    Ok(())
}

/// Appends a string with its escapes. Runs without them are copied at once.
fn write_string(out: &mut EncodedBytes, mut text: &[u8]) {
    out.push(b'"');
    while let Some(plain) = text.iter().position(|&byte| ESCAPED[usize::from(byte)]) {
        out.extend(&text[..plain]);
        write_escape(out, text[plain]);
        text = &text[plain + 1..];
    }
    out.extend(text);
    out.push(b'"');
}

/// Whether a byte has an escape.
const ESCAPED: [bool; 256] = {
    let mut escaped = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        escaped[byte] = true;
        byte += 1;
    }
    escaped[b'"' as usize] = true;
    escaped[b'\\' as usize] = true;
    escaped[b'/' as usize] = true;
    escaped[0x7f] = true;
    escaped
};

fn write_escape(out: &mut EncodedBytes, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' | b'/' => byte,
        8 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        12 => b'f',
        b'\r' => b'r',
        _ => {
            let digits = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
            out.extend(b"\\u00");
            out.extend(&digits);
            return;
        }
    };
    out.extend(&[b'\\', short]);
}
