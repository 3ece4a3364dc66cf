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

use mlua::{Lua, Table, Value};

use crate::failure::fault;

/// Reads one reply at the front of `bytes`.
pub(crate) fn read(lua: &Lua, bytes: &[u8]) -> mlua::Result<Value> {
    ReplyReader { lua, rest: bytes }.value()
}

struct ReplyReader<'r> {
    lua: &'r Lua,
    rest: &'r [u8],
}

fn broken() -> mlua::Error {
    fault("the server's reply to a command of the script is not RESP")
}

impl<'r> ReplyReader<'r> {
    /// Returns the type of the next value and the rest of its line.
    fn line(&mut self) -> mlua::Result<(u8, &'r [u8])> {
        let end = self.rest.windows(2).position(|pair| pair == b"\r\n").ok_or_else(broken)?;
        let (line, rest) = self.rest.split_at(end);
        self.rest = &rest[2..];
        let (kind, line) = line.split_first().ok_or_else(broken)?;
        Ok((*kind, line))
    }

    /// Returns the next `len` bytes, which a line break follows.
    fn bytes(&mut self, len: usize) -> mlua::Result<&'r [u8]> {
        if self.rest.len() < len.saturating_add(2) {
            return Err(broken());
        }
        let (bytes, rest) = self.rest.split_at(len);
        self.rest = &rest[2..];
        Ok(bytes)
    }

    fn table_with(&self, key: &str, value: impl mlua::IntoLua) -> mlua::Result<Value> {
        let table = self.lua.create_table_with_capacity(0, 1)?;
        table.raw_set(key, value)?;
        Ok(Value::Table(table))
    }

    fn string(&self, bytes: &[u8]) -> mlua::Result<Value> {
        Ok(Value::String(self.lua.create_string(bytes)?))
    }

    fn value(&mut self) -> mlua::Result<Value> {
        let (kind, line) = self.line()?;
        let value = match kind {
            b':' => number_value(integer(line)?),
            b'$' | b'*' if line == b"-1" => Value::Boolean(false),
            b'$' => {
                let bytes = self.bytes(length(line)?)?;
                self.string(bytes)?
            }
            b'+' => self.table_with("ok", self.string(line)?)?,
            b'-' => self.table_with("err", self.string(line)?)?,
            b'*' => Value::Table(self.array(length(line)?)?),
            b'_' => Value::Nil,
            b'#' => Value::Boolean(line == b"t"),
            b',' => self.table_with("double", double(line)?)?,
            b'(' => self.table_with("big_number", self.string(line)?)?,
            b'%' => {
                let map = self.map(length(line)?)?;
                self.table_with("map", map)?
            }
            b'~' => {
                let set = self.set(length(line)?)?;
                self.table_with("set", set)?
            }
            b'=' => self.verbatim(length(line)?)?,
            // Scripts do not see attributes.
            b'|' => {
                self.map(length(line)?)?;
                self.value()?
            }
            _ => return Err(broken()),
        };
        Ok(value)
    }

    fn array(&mut self, len: usize) -> mlua::Result<Table> {
        // An element takes three bytes at least.
        let table = self.lua.create_table_with_capacity(len.min(self.rest.len() / 3), 0)?;
        for at in 1..=len {
            table.raw_set(at, self.value()?)?;
        }
        Ok(table)
    }

    fn map(&mut self, len: usize) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        for _ in 0..len {
            let key = self.value()?;
            let value = self.value()?;
            if !key.is_nil() {
                table.raw_set(key, value)?;
            }
        }
        Ok(table)
    }

    fn set(&mut self, len: usize) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        for _ in 0..len {
            let member = self.value()?;
            if !member.is_nil() {
                table.raw_set(member, true)?;
            }
        }
        Ok(table)
    }

    fn verbatim(&mut self, len: usize) -> mlua::Result<Value> {
        let bytes = self.bytes(len)?;
        let (format, text) = bytes.split_at_checked(4).ok_or_else(broken)?;
        let parts = self.lua.create_table()?;
        parts.raw_set("string", self.string(text)?)?;
        parts.raw_set("format", self.string(&format[..3])?)?;
        self.table_with("verbatim_string", parts)
    }
}

/// Lua has doubles alone, so an integer beyond 2^53 is rounded, as in Redis.
#[expect(clippy::cast_precision_loss, reason = "Lua's numbers are doubles")]
fn number_value(integer: i64) -> Value {
    Value::Number(integer as f64)
}

fn text(line: &[u8]) -> mlua::Result<&str> {
    str::from_utf8(line).map_err(|_| broken())
}

fn integer(line: &[u8]) -> mlua::Result<i64> {
    text(line)?.parse().map_err(|_| broken())
}

fn length(line: &[u8]) -> mlua::Result<usize> {
    text(line)?.parse().map_err(|_| broken())
}

fn double(line: &[u8]) -> mlua::Result<f64> {
    text(line)?.parse().map_err(|_| broken())
}
