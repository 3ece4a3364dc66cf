//! The value of a script, as a reply. The rules of `reply_values`, the other way round.
//!
//! A number loses its fraction, and an array ends before its first `nil`. Metatables are not asked.
//!
//! A table may contain a table many times, so a small value may have an endless reply. Each element
//! counts as work, at which the host may stop it, and the [`ReplySink`] limits the length.

use mlua::{Lua, Value};

use crate::host::{ReplySink, RespVersion};
use crate::run_state::RunState;
use crate::stack::{Kind, Stack, protected};
use crate::work_meter::{Stopped, WorkMeter};

/// Levels of tables in tables. Deeper ones become an error within the reply.
const DEPTH_MOST: usize = 500;
/// The slots that a level needs: a table, a field, a key, a value and its copy, with some to spare.
const LEVEL_SLOTS: i32 = 8;
const TOO_DEEP: &[u8] = b"ERR reached lua stack limit";

/// The reason why a reply ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyEnd {
    /// The reply admits no more.
    TooLong,
    /// The host has stopped the script.
    Stopped,
}

impl From<Stopped> for ReplyEnd {
    fn from(Stopped: Stopped) -> Self {
        ReplyEnd::Stopped
    }
}

type Outcome<T = ()> = Result<T, ReplyEnd>;

/// Writes a returned value. After an error, a part of the reply is written.
pub(crate) fn write(lua: &Lua, value: &Value, state: &RunState, reply: &mut dyn ReplySink) -> Outcome {
    let mut values =
        ReturnedValues { version: state.version.get(), reply, work: WorkMeter::new(Some(state)) };
    // Names of fields need a little memory, and a script has ended that may have used all of it.
    let written = state.memory.without(|| {
        // SAFETY: the work owns nothing but references.
        unsafe { protected(lua, value, |stack| values.value(stack, 0)) }
    });
    // Without a limit, nothing in it raises an error.
    written.map_or(Err(ReplyEnd::Stopped), |(outcome, ())| outcome)
}

struct ReturnedValues<'r> {
    version: RespVersion,
    reply: &'r mut dyn ReplySink,
    work: WorkMeter<'r>,
}

impl ReturnedValues<'_> {
    /// Counts an element with a text of so many bytes.
    fn spend(&mut self, bytes: usize) -> Outcome {
        self.work.spend(bytes)?;
        if self.reply.admits(bytes) { Ok(()) } else { Err(ReplyEnd::TooLong) }
    }

    /// Writes the value on top of the stack, and removes it.
    fn value(&mut self, stack: &mut Stack, depth: usize) -> Outcome {
        self.spend(stack.bytes(-1).len())?;
        match stack.kind(-1) {
            Kind::String => self.reply.bulk(stack.bytes(-1)),
            Kind::Number(number) => self.reply.integer(truncated(number)),
            Kind::Boolean(value) if self.version == RespVersion::Resp3 => self.reply.boolean(value),
            Kind::Boolean(true) => self.reply.integer(1),
            Kind::Table if depth == DEPTH_MOST || !stack.reserve(LEVEL_SLOTS) => self.reply.error(TOO_DEEP),
            Kind::Table => self.table(stack, depth)?,
            _ => self.reply.null(),
        }
        stack.pop(1);
        Ok(())
    }

    /// Writes the table on top of the stack.
    fn table(&mut self, stack: &mut Stack, depth: usize) -> Outcome {
        if self.text_field(stack, b"err", |reply, text| reply.error(text))?
            || self.text_field(stack, b"ok", |reply, text| reply.status(text))?
        {
            return Ok(());
        }
        stack.field(b"double");
        let double = stack.kind(-1);
        stack.pop(1);
        if let Kind::Number(number) = double {
            self.reply.double(number);
            return Ok(());
        }
        for (name, is_map) in [(&b"map"[..], true), (b"set", false)] {
            stack.field(name);
            let is_table = stack.kind(-1) == Kind::Table;
            if is_table {
                self.pairs(stack, depth, is_map)?;
            }
            stack.pop(1);
            if is_table {
                return Ok(());
            }
        }
        if self.text_field(stack, b"big_number", |reply, digits| reply.big_number(digits))?
            || self.verbatim(stack)?
        {
            return Ok(());
        }
        self.array(stack, depth)
    }

    /// Writes the text of a field of the table on top. Returns `false` if the field has no text.
    fn text_field(
        &mut self,
        stack: &mut Stack,
        name: &[u8],
        write: fn(&mut dyn ReplySink, &[u8]),
    ) -> Outcome<bool> {
        stack.field(name);
        let is_text = stack.kind(-1) == Kind::String;
        if is_text {
            self.spend(stack.bytes(-1).len())?;
            write(self.reply, stack.bytes(-1));
        }
        stack.pop(1);
        Ok(is_text)
    }

    /// Writes the verbatim string of the table on top. Returns `false` if the table does not have
    /// one.
    fn verbatim(&mut self, stack: &mut Stack) -> Outcome<bool> {
        stack.field(b"verbatim_string");
        if stack.kind(-1) != Kind::Table {
            stack.pop(1);
            return Ok(false);
        }
        stack.field(b"string");
        stack.push_copy(-2);
        stack.field(b"format");
        let is_verbatim = stack.kind(-1) == Kind::String && stack.kind(-3) == Kind::String;
        if is_verbatim {
            self.spend(stack.bytes(-3).len() + stack.bytes(-1).len())?;
            self.reply.verbatim(stack.bytes(-1), stack.bytes(-3));
        }
        stack.pop(4);
        Ok(is_verbatim)
    }

    fn array(&mut self, stack: &mut Stack, depth: usize) -> Outcome {
        let mut len = 0;
        loop {
            self.work.spend(0)?;
            stack.element(len + 1);
            let is_end = stack.kind(-1) == Kind::Nil;
            stack.pop(1);
            if is_end {
                break;
            }
            len += 1;
        }
        self.reply.array(usize::try_from(len).unwrap_or_default());
        for at in 1..=len {
            stack.element(at);
            self.value(stack, depth + 1)?;
        }
        Ok(())
    }

    /// Writes the table on top as a map, or its keys as a set.
    fn pairs(&mut self, stack: &mut Stack, depth: usize, is_map: bool) -> Outcome {
        let mut count = 0;
        stack.push_nil();
        while stack.next() {
            self.work.spend(0)?;
            stack.pop(1);
            count += 1;
        }
        if is_map {
            self.reply.map(count);
        } else {
            self.reply.set(count);
        }
        stack.push_nil();
        while stack.next() {
            stack.push_copy(-2);
            self.value(stack, depth + 1)?;
            if is_map { self.value(stack, depth + 1)? } else { stack.pop(1) }
        }
        Ok(())
    }
}

/// Returns a number without its fraction. One out of range becomes the least integer, as C's
/// conversion does on this platform, and so Redis.
fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}
