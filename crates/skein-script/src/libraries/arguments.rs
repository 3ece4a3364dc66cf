//! The arguments of a call, with the checks and conversions of Lua's auxiliary library.

use mlua::{Lua, LuaString, MultiValue, Result, Value};

use super::errors::argument_error;
use super::number::truncate_to_i64;

/// The arguments of a call. They are counted from 1, as in the error texts.
pub(super) struct Arguments<'l> {
    lua: &'l Lua,
    values: MultiValue,
}

impl<'l> Arguments<'l> {
    pub(super) fn new(lua: &'l Lua, values: MultiValue) -> Self {
        Self { lua, values }
    }

    /// Returns the number of arguments.
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    /// Appends an argument, which makes a missing last argument an explicit one.
    pub(super) fn append(&mut self, value: Value) {
        self.values.push_back(value);
    }

    /// Returns an argument, or `None` if the call has fewer.
    pub(super) fn get(&self, number: usize) -> Option<&Value> {
        self.values.get(number.checked_sub(1)?)
    }

    /// Takes an argument out; it is nil afterwards. Returns nil if the call has fewer.
    pub(super) fn take(&mut self, number: usize) -> Value {
        number.checked_sub(1).and_then(|at| self.values.get_mut(at)).map_or(Value::Nil, std::mem::take)
    }

    /// Whether an argument is missing or nil, so that its default applies.
    pub(super) fn is_default(&self, number: usize) -> bool {
        self.get(number).is_none_or(Value::is_nil)
    }

    /// Returns a number or a string that Lua converts to one, as `luaL_checknumber` does.
    pub(super) fn number(&self, number: usize) -> Result<f64> {
        match self.get(number) {
            Some(&Value::Integer(value)) => Ok(value as f64),
            Some(&Value::Number(value)) => Ok(value),
            Some(text @ Value::String(_)) => {
                self.lua.coerce_number(text.clone())?.ok_or_else(|| self.type_error(number, "number"))
            }
            _ => Err(self.type_error(number, "number")),
        }
    }

    /// Returns a number without its fraction, as `luaL_checkinteger` does.
    pub(super) fn integer(&self, number: usize) -> Result<i64> {
        self.number(number).map(truncate_to_i64)
    }

    /// Returns an integer, or `default` for a missing argument, as `luaL_optinteger` does.
    pub(super) fn integer_or(&self, number: usize, default: i64) -> Result<i64> {
        if self.is_default(number) { Ok(default) } else { self.integer(number) }
    }

    /// Returns a string, or the text of a number, as `luaL_checklstring` does.
    pub(super) fn string(&self, number: usize) -> Result<LuaString> {
        match self.get(number) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(value @ (Value::Integer(_) | Value::Number(_))) => {
                let text = self.lua.coerce_string(value.clone())?;
                text.ok_or_else(|| self.type_error(number, "string"))
            }
            _ => Err(self.type_error(number, "string")),
        }
    }

    /// Returns the error for an argument of the wrong type, as `luaL_typerror` raises it.
    fn type_error(&self, number: usize, expected: &str) -> mlua::Error {
        let actual = self.get(number).map_or("no value", type_name);
        argument_error(self.lua, number, format_args!("{expected} expected, got {actual}"))
    }
}

/// Returns the name of a value's type in Lua, which knows one kind of number and of user data.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "number",
        Value::LightUserData(_) | Value::Error(_) => "userdata",
        other => other.type_name(),
    }
}
