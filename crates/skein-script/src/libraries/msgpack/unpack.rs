//! `cmsgpack.unpack(data)`, `unpack_one(data [, offset])`, `unpack_limit(data, limit [, offset])`.
//!
//! ```text
//!  data:   array of 2   1   map of 1   "k"  …
//!  stack:  table  index 2   table      "k"
//!  frames: Array            Map { has_key: true }
//! ```
//!
//! Integers beyond 2⁶³ become negative, as in Redis. Byte strings and extensions are bad data.

use mlua::{Lua, LuaString, MultiValue, Result};

use super::format;
use crate::libraries::STACK_SLOTS;
use crate::libraries::arguments::Arguments;
use crate::libraries::errors::error;
use crate::run_state::RunState;
use crate::stack::{Kind, Stack, protected};
use crate::work_meter::{Stopped, WorkMeter, shared_state, stopped_error};

/// Returns all values in the data.
pub(super) fn unpack(lua: &Lua, values: MultiValue) -> Result<MultiValue> {
    let data = Arguments::new(lua, values).string(1)?;
    unpack_range(lua, &data, Range { offset: 0, limit: 0 })
}

/// Returns the offset behind one value, or -1 at the end of the data, and the value.
pub(super) fn unpack_one(lua: &Lua, values: MultiValue) -> Result<MultiValue> {
    let arguments = Arguments::new(lua, values);
    let offset = arguments.integer_or(2, 0)?;
    unpack_range(lua, &arguments.string(1)?, Range { offset, limit: 1 })
}

/// Returns the offset behind up to `limit` values, or -1 at the end of the data, and the values.
pub(super) fn unpack_limit(lua: &Lua, values: MultiValue) -> Result<MultiValue> {
    let arguments = Arguments::new(lua, values);
    let limit = arguments.integer(2)?;
    let offset = arguments.integer_or(3, 0)?;
    unpack_range(lua, &arguments.string(1)?, Range { offset, limit })
}

/// The values to unpack.
#[derive(Clone, Copy)]
struct Range {
    offset: i64,
    limit: i64,
}

/// Stands for the argument on the stack, so that the stack ends where it does in Redis.
const ARGUMENT: bool = true;

fn unpack_range(lua: &Lua, data: &LuaString, range: Range) -> Result<MultiValue> {
    let data = data.as_bytes();
    // Redis prints the lowest 32 bits of these numbers, and the length where it says the limit.
    let (shown, length) = (range.offset as i32, data.len() as i32);
    let (Ok(offset), Ok(limit)) = (usize::try_from(range.offset), usize::try_from(range.limit)) else {
        let text = format!("Invalid request to unpack with offset of {shown} and limit of {length}.");
        return Err(error(lua, text));
    };
    let Some(rest) = data.get(offset..) else {
        return Err(error(lua, format_args!("Start offset {shown} greater than input length {length}.")));
    };
    // Neither a limit nor an offset: all values, without the offset behind them.
    let all = limit == 0 && offset == 0;
    let mut frames = Vec::new();
    let state = shared_state(lua);
    let mut unpacker = Unpacker { rest, frames: &mut frames, work: WorkMeter::new(state.as_deref()) };
    // SAFETY: the closure owns nothing but the unpacker, which owns nothing that must be dropped.
    let unpacked: Result<(_, MultiValue)> = unsafe {
        protected(lua, ARGUMENT, |stack| {
            let mut outcome: Outcome = unpacker.unpack(if all { usize::MAX } else { limit }, stack);
            if outcome.is_ok() {
                let offset = (!all).then(|| data.len() - unpacker.rest.len());
                outcome = finish(offset, unpacker.rest.is_empty(), stack);
            }
            if outcome.is_err() {
                stack.clear();
            }
            outcome
        })
    };
    match unpacked {
        Ok((Ok(()), mut values)) => {
            values.pop_front();
            Ok(values)
        }
        Ok((Err(failure), _)) => Err(failure.into_error(lua, state.as_deref())),
        // mlua keeps the values in slots of another stack, which ends, too.
        Err(mlua::Error::StackError) => Err(Failure::Stack(TOO_MANY_VALUES).into_error(lua, None)),
        Err(error) => Err(error),
    }
}

/// Checks that the values can be returned, and puts the offset behind them before them.
fn finish(offset: Option<usize>, at_end: bool, stack: &mut Stack) -> Outcome {
    let (slots, place) = match offset {
        Some(_) => (1, "in function mp_unpack_full"),
        None => (0, TOO_MANY_VALUES),
    };
    if stack.top() as usize + slots > STACK_SLOTS || !stack.reserve(1) {
        return Err(Failure::Stack(place));
    }
    if let Some(offset) = offset {
        stack.push_number(if at_end { -1.0 } else { offset as f64 });
        stack.insert(2);
    }
    Ok(())
}

type Outcome<T = ()> = std::result::Result<T, Failure>;

/// Why data has no values.
#[derive(Clone, Copy)]
enum Failure {
    MissingBytes,
    BadFormat,
    /// The values do not fit the stack of Lua. Redis says where.
    Stack(&'static str),
    /// Lua's own error, which has no position.
    Key(&'static str),
    Stopped,
}

impl From<Stopped> for Failure {
    fn from(Stopped: Stopped) -> Self {
        Failure::Stopped
    }
}

impl Failure {
    fn into_error(self, lua: &Lua, state: Option<&RunState>) -> mlua::Error {
        match self {
            Failure::Stopped => stopped_error(state),
            Failure::MissingBytes => error(lua, "Missing bytes in input."),
            Failure::BadFormat => error(lua, "Bad data format in input."),
            Failure::Stack(place) => error(lua, format_args!("stack overflow ({place})")),
            Failure::Key(problem) => mlua::Error::RuntimeError(format!("table index is {problem}")),
        }
    }
}

const TOO_MANY_VALUES: &str = "too many return values at once; use unpack_one or unpack_limit instead.";

/// A table that is partly unpacked.
#[derive(Clone, Copy)]
enum Frame {
    /// On the stack: the table and the index of the element.
    Array { length: u32, index: u32 },
    /// On the stack: the table, and the key if there is one.
    Map { left: u32, has_key: bool },
}

struct Unpacker<'u> {
    rest: &'u [u8],
    frames: &'u mut Vec<Frame>,
    work: WorkMeter<'u>,
}

impl Unpacker<'_> {
    /// Pushes up to `limit` values.
    fn unpack(&mut self, limit: usize, stack: &mut Stack) -> Outcome {
        for _ in 0..limit {
            if self.rest.is_empty() {
                break;
            }
            self.value(stack)?;
        }
        Ok(())
    }

    /// Pushes one value.
    fn value(&mut self, stack: &mut Stack) -> Outcome {
        loop {
            self.begin_value(stack)?;
            loop {
                match self.frames.last_mut() {
                    None => return Ok(()),
                    Some(frame) => {
                        if expects_value(frame, stack) {
                            break;
                        }
                    }
                }
                self.frames.pop();
                if let Some(frame) = self.frames.last_mut() {
                    add_value(frame, stack)?;
                }
            }
        }
    }

    fn take(&mut self, count: usize) -> Outcome<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Failure::MissingBytes)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Failure::MissingBytes)
    }

    /// Pushes a value that is complete and adds it to its table, or opens a table.
    fn begin_value(&mut self, stack: &mut Stack) -> Outcome {
        if !stack.reserve(1) {
            return Err(Failure::Stack(TOO_MANY_VALUES));
        }
        self.work.spend(0)?;
        let [head] = self.array()?;
        let number = match head {
            0..=0x7f => f64::from(head),
            format::NEGATIVE_FIXINT.. => f64::from(head as i8),
            format::UINT_8 => f64::from(u8::from_be_bytes(self.array()?)),
            format::UINT_16 => f64::from(u16::from_be_bytes(self.array()?)),
            format::UINT_32 => f64::from(u32::from_be_bytes(self.array()?)),
            format::INT_8 => f64::from(i8::from_be_bytes(self.array()?)),
            format::INT_16 => f64::from(i16::from_be_bytes(self.array()?)),
            format::INT_32 => f64::from(i32::from_be_bytes(self.array()?)),
            format::UINT_64 | format::INT_64 => i64::from_be_bytes(self.array()?) as f64,
            format::FLOAT_32 => f64::from(f32::from_be_bytes(self.array()?)),
            format::FLOAT_64 => f64::from_be_bytes(self.array()?),
            _ => return self.begin_other(head, stack),
        };
        stack.push_number(number);
        self.end_value(stack)
    }

    /// Like `begin_value`, for all kinds but numbers.
    fn begin_other(&mut self, head: u8, stack: &mut Stack) -> Outcome {
        let length = match head {
            format::NIL => {
                stack.push_nil();
                return self.end_value(stack);
            }
            format::FALSE | format::TRUE => {
                stack.push_boolean(head == format::TRUE);
                return self.end_value(stack);
            }
            format::FIXMAP..format::FIXSTR => u32::from(head & 0x0f),
            format::FIXSTR..format::NIL => u32::from(head & 0x1f),
            format::STR_8 => u8::from_be_bytes(self.array()?).into(),
            format::STR_16 | format::ARRAY_16 | format::MAP_16 => u16::from_be_bytes(self.array()?).into(),
            format::STR_32 | format::ARRAY_32 | format::MAP_32 => u32::from_be_bytes(self.array()?),
            _ => return Err(Failure::BadFormat),
        };
        match head {
            format::FIXARRAY..format::FIXSTR | format::ARRAY_16 | format::ARRAY_32 => {
                stack.push_table();
                if !stack.reserve(1) {
                    return Err(Failure::Stack("in function mp_decode_to_lua_array"));
                }
                self.frames.push(Frame::Array { length, index: 0 });
                Ok(())
            }
            format::FIXMAP..format::FIXARRAY | format::MAP_16 | format::MAP_32 => {
                stack.push_table();
                self.frames.push(Frame::Map { left: length, has_key: false });
                Ok(())
            }
            _ => {
                let text = self.take(length as usize)?;
                stack.push_bytes(text);
                self.end_value(stack)
            }
        }
    }

    fn end_value(&mut self, stack: &mut Stack) -> Outcome {
        self.frames.last_mut().map_or(Ok(()), |frame| add_value(frame, stack))
    }
}

/// Whether a table expects another value. Pushes the index of an element that follows.
fn expects_value(frame: &mut Frame, stack: &mut Stack) -> bool {
    match frame {
        Frame::Array { length, index } => {
            if index == length {
                return false;
            }
            *index += 1;
            stack.push_number(f64::from(*index));
            true
        }
        Frame::Map { left, .. } => *left > 0,
    }
}

/// Adds the value on top to its table, or leaves it there if it is a key.
fn add_value(frame: &mut Frame, stack: &mut Stack) -> Outcome {
    if let Frame::Map { left, has_key } = frame {
        *has_key = !*has_key;
        if *has_key {
            return Ok(());
        }
        *left -= 1;
        match stack.kind(-2) {
            Kind::Nil => return Err(Failure::Key("nil")),
            Kind::Number(key) if key.is_nan() => return Err(Failure::Key("NaN")),
            _ => {}
        }
    }
    stack.set();
    Ok(())
}
