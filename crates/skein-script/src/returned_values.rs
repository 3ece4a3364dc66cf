//! What a script returns, as a reply. The rules of `reply_values`, the other way round.
//!
//! A number loses its fraction, and an array ends before its first `nil`. Metatables are not asked.

use mlua::{Table, Value};

use crate::host::{ReplySink, RespVersion};

/// Levels of tables in tables. Deeper ones become an error within the reply.
const DEPTH_MOST: usize = 500;

/// Writes a returned value.
pub(crate) fn write(value: &Value, version: RespVersion, reply: &mut dyn ReplySink) {
    ReturnedValues { version, reply }.value(value, 0);
}

struct ReturnedValues<'r> {
    version: RespVersion,
    reply: &'r mut dyn ReplySink,
}

impl ReturnedValues<'_> {
    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) => self.reply.bulk(&text.as_bytes()),
            Value::Integer(number) => self.reply.integer(*number),
            Value::Number(number) => self.reply.integer(truncated(*number)),
            Value::Boolean(value) if self.version == RespVersion::Resp3 => self.reply.boolean(*value),
            Value::Boolean(true) => self.reply.integer(1),
            Value::Table(_) if depth == DEPTH_MOST => self.reply.error(b"ERR reached lua stack limit"),
            Value::Table(table) => self.table(table, depth),
            _ => self.reply.null(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the number was a double")]
    fn table(&mut self, table: &Table, depth: usize) {
        let field = |name: &str| table.raw_get::<Value>(name).unwrap_or(Value::Nil);
        if let Value::String(text) = field("err") {
            return self.reply.error(&text.as_bytes());
        }
        if let Value::String(text) = field("ok") {
            return self.reply.status(&text.as_bytes());
        }
        match field("double") {
            Value::Number(number) => return self.reply.double(number),
            // Lua's numbers are doubles; the crate `mlua` calls some of them integers.
            Value::Integer(number) => return self.reply.double(number as f64),
            _ => {}
        }
        if let Value::Table(map) = field("map") {
            return self.map(&map, depth);
        }
        if let Value::Table(set) = field("set") {
            return self.set(&set, depth);
        }
        if let Value::String(digits) = field("big_number") {
            return self.reply.big_number(&digits.as_bytes());
        }
        if let Value::Table(parts) = field("verbatim_string")
            && let (Ok(Value::String(text)), Ok(Value::String(format))) =
                (parts.raw_get("string"), parts.raw_get("format"))
        {
            return self.reply.verbatim(&format.as_bytes(), &text.as_bytes());
        }
        self.array(table, depth);
    }

    fn array(&mut self, table: &Table, depth: usize) {
        let element = |at: usize| table.raw_get::<Value>(at).unwrap_or(Value::Nil);
        let len = (1..=usize::MAX).take_while(|at| !element(*at).is_nil()).count();
        self.reply.array(len);
        for at in 1..=len {
            self.value(&element(at), depth + 1);
        }
    }

    fn map(&mut self, map: &Table, depth: usize) {
        self.reply.map(map.pairs::<Value, Value>().count());
        for (key, value) in map.pairs::<Value, Value>().flatten() {
            self.value(&key, depth + 1);
            self.value(&value, depth + 1);
        }
    }

    fn set(&mut self, set: &Table, depth: usize) {
        self.reply.set(set.pairs::<Value, Value>().count());
        for (member, _) in set.pairs::<Value, Value>().flatten() {
            self.value(&member, depth + 1);
        }
    }
}

/// Returns a number without its fraction. One out of range becomes the least integer, as C's
/// conversion does on this platform, and so Redis.
fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}
