//! Replies of commands as Lua values.
//!
//! | reply                    | Lua                                        |
//! | ------------------------ | ------------------------------------------ |
//! | integer, bulk string     | number, string                             |
//! | status, error            | `{ok = text}`, `{err = text}`              |
//! | null of RESP2            | `false`                                    |
//! | null of RESP3            | `nil`                                      |
//! | array                    | array                                      |
//! | map, set                 | `{map = {…}}`, `{set = {[member] = true}}` |
//! | boolean                  | boolean                                    |
//! | double                   | `{double = number}`                        |
//! | big number               | `{big_number = digits}`                    |
//! | verbatim string          | `{verbatim_string = {string =, format =}}` |
//! | attributes of a value    | the value                                  |

use crate::stack::{Kind, Stack};
use crate::work_meter::{Stopped, WorkMeter};

/// Pushes the value of the reply at the front of `bytes`. After an error, the topmost values are
/// undefined.
pub(crate) fn push_reply(stack: &mut Stack, bytes: &[u8], work: WorkMeter<'_>) -> Result<(), NoValue> {
    ReplyReader { stack, rest: bytes, depth: 0, work }.push_value()
}

/// Levels of arrays in arrays: a limit for the thread's stack. No command's reply has ten.
const DEPTH_MOST: usize = 500;

/// Why a reply has no value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoValue {
    /// The reply is not RESP, or too deep.
    Broken,
    /// The host has stopped the script.
    Stopped,
}

use NoValue::Broken;

impl From<Stopped> for NoValue {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}

/// Pushes the values of a reply.
struct ReplyReader<'r, 's> {
    stack: &'s mut Stack,
    rest: &'r [u8],
    depth: usize,
    work: WorkMeter<'s>,
}

impl<'r> ReplyReader<'r, '_> {
    /// Returns the type of the next value and the rest of its line.
    fn line(&mut self) -> Result<(u8, &'r [u8]), NoValue> {
        let end = self.rest.windows(2).position(|pair| pair == b"\r\n").ok_or(Broken)?;
        let (line, rest) = self.rest.split_at(end);
        self.rest = &rest[2..];
        let (kind, line) = line.split_first().ok_or(Broken)?;
        Ok((*kind, line))
    }

    /// Returns the next `len` bytes, which a line break follows.
    fn bytes(&mut self, len: usize) -> Result<&'r [u8], NoValue> {
        if self.rest.len() < len.saturating_add(2) {
            return Err(Broken);
        }
        let (bytes, rest) = self.rest.split_at(len);
        self.rest = &rest[2..];
        Ok(bytes)
    }

    /// Pushes a table with one field. `push` pushes the field's value.
    fn push_table_with(
        &mut self,
        key: &str,
        push: impl FnOnce(&mut Self) -> Result<(), NoValue>,
    ) -> Result<(), NoValue> {
        self.stack.push_table();
        self.stack.push_bytes(key.as_bytes());
        push(self)?;
        self.stack.set();
        Ok(())
    }

    fn push_text_table(&mut self, key: &str, text: &[u8]) -> Result<(), NoValue> {
        self.push_table_with(key, |reader| {
            reader.stack.push_bytes(text);
            Ok(())
        })
    }

    fn push_value(&mut self) -> Result<(), NoValue> {
        self.work.spend(0)?;
        // A table, a key and a value for each level.
        if self.depth == DEPTH_MOST || !self.stack.reserve(8) {
            return Err(Broken);
        }
        self.depth += 1;
        self.push_next()?;
        self.depth -= 1;
        Ok(())
    }

    fn push_next(&mut self) -> Result<(), NoValue> {
        let (kind, line) = self.line()?;
        match kind {
            b':' => self.stack.push_number(integer(line)?),
            b'$' | b'*' if line == b"-1" => self.stack.push_boolean(false),
            b'$' => {
                let bytes = self.bytes(length(line)?)?;
                self.stack.push_bytes(bytes);
            }
            b'+' => self.push_text_table("ok", line)?,
            b'-' => self.push_text_table("err", line)?,
            b'*' => self.push_array(length(line)?)?,
            b'_' => self.stack.push_nil(),
            b'#' => self.stack.push_boolean(line == b"t"),
            b',' => {
                let number = double(line)?;
                self.push_table_with("double", |reader| {
                    reader.stack.push_number(number);
                    Ok(())
                })?;
            }
            b'(' => self.push_text_table("big_number", line)?,
            b'%' => {
                let pairs = length(line)?;
                self.push_table_with("map", |reader| reader.push_map(pairs))?;
            }
            b'~' => {
                let len = length(line)?;
                self.push_table_with("set", |reader| reader.push_set(len))?;
            }
            b'=' => self.push_verbatim(length(line)?)?,
            // Scripts do not see attributes.
            b'|' => {
                self.push_map(length(line)?)?;
                self.stack.pop(1);
                self.push_value()?;
            }
            _ => return Err(Broken),
        }
        Ok(())
    }

    fn push_array(&mut self, len: usize) -> Result<(), NoValue> {
        // An element takes three bytes at least.
        self.stack.push_table_for(len.min(self.rest.len() / 3));
        for index in (1..).take(len) {
            self.push_value()?;
            self.stack.set_element(index);
        }
        Ok(())
    }

    fn push_map(&mut self, pairs: usize) -> Result<(), NoValue> {
        self.stack.push_table();
        for _ in 0..pairs {
            self.push_value()?;
            let is_nil = self.stack.kind(-1) == Kind::Nil;
            self.push_value()?;
            if is_nil { self.stack.pop(2) } else { self.stack.set() }
        }
        Ok(())
    }

    fn push_set(&mut self, len: usize) -> Result<(), NoValue> {
        self.stack.push_table();
        for _ in 0..len {
            self.push_value()?;
            if self.stack.kind(-1) == Kind::Nil {
                self.stack.pop(1);
            } else {
                self.stack.push_boolean(true);
                self.stack.set();
            }
        }
        Ok(())
    }

    fn push_verbatim(&mut self, len: usize) -> Result<(), NoValue> {
        let (format, text) = self.bytes(len)?.split_at_checked(4).ok_or(Broken)?;
        self.push_table_with("verbatim_string", |reader| {
            reader.push_text_table("string", text)?;
            reader.stack.push_bytes(b"format");
            reader.stack.push_bytes(&format[..3]);
            reader.stack.set();
            Ok(())
        })
    }
}

/// Lua has doubles alone, so an integer beyond 2^53 is rounded, as in Redis.
#[expect(clippy::cast_precision_loss, reason = "Lua's numbers are doubles")]
fn integer(line: &[u8]) -> Result<f64, NoValue> {
    text(line)?.parse::<i64>().map(|integer| integer as f64).map_err(|_| Broken)
}

fn text(line: &[u8]) -> Result<&str, NoValue> {
    str::from_utf8(line).map_err(|_| Broken)
}

fn length(line: &[u8]) -> Result<usize, NoValue> {
    text(line)?.parse().map_err(|_| Broken)
}

fn double(line: &[u8]) -> Result<f64, NoValue> {
    text(line)?.parse().map_err(|_| Broken)
}
