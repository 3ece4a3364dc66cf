//! The options of a table `cjson`, and the functions that set and return them.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Lua, MultiValue, Result, Table, Value};

use crate::libraries::arguments::Arguments;
use crate::libraries::errors::argument_error;

/// How numbers that JSON does not have are encoded.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum InvalidNumbers {
    Rejected,
    /// As C prints them.
    Printed,
    Null,
}

/// The options of a table.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Whether excessively sparse arrays become objects.
    pub(super) sparse_arrays_become_objects: bool,
    /// An array is excessively sparse if its length is more than this times its elements…
    pub(super) sparse_ratio: i32,
    /// …and greater than this.
    pub(super) sparse_safe_length: i32,
    pub(super) encode_max_depth: i32,
    pub(super) decode_max_depth: i32,
    pub(super) encode_invalid_numbers: InvalidNumbers,
    pub(super) decode_invalid_numbers: bool,
    pub(super) number_precision: i32,
    /// Has no effect here: each call has a buffer of its own.
    keep_buffer: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sparse_arrays_become_objects: false,
            sparse_ratio: 2,
            sparse_safe_length: 10,
            encode_max_depth: 1000,
            decode_max_depth: 1000,
            encode_invalid_numbers: InvalidNumbers::Rejected,
            decode_invalid_numbers: true,
            number_precision: 14,
            keep_buffer: true,
        }
    }
}

/// The options that the functions of a table share.
#[derive(Clone, Default)]
pub(super) struct SharedOptions(Arc<Mutex<Options>>);

impl SharedOptions {
    pub(super) fn get(&self) -> Options {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reset(&self) {
        self.set(Options::default());
    }

    fn set(&self, options: Options) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = options;
    }
}

/// Adds the functions that set the options to a table.
pub(super) fn add_functions(lua: &Lua, table: &Table, options: &SharedOptions) -> Result<()> {
    let add = |name: &str, most: usize, set: fn(&mut Setter<'_>) -> Result<MultiValue>| {
        let shared = options.clone();
        let function = lua.create_function(move |lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            if arguments.count() > most {
                return Err(argument_error(lua, most + 1, "found too many arguments"));
            }
            let mut setter = Setter { lua, arguments, options: shared.get() };
            let results = set(&mut setter);
            // Arguments before a wrong one have their effect.
            shared.set(setter.options);
            results
        })?;
        table.raw_set(name, function)
    };
    add("encode_max_depth", 1, |setter| {
        let depth = setter.integer(1, setter.options.encode_max_depth, 1..=i32::MAX)?;
        setter.options.encode_max_depth = depth;
        Ok(results([Value::Integer(depth.into())]))
    })?;
    add("decode_max_depth", 1, |setter| {
        let depth = setter.integer(1, setter.options.decode_max_depth, 1..=i32::MAX)?;
        setter.options.decode_max_depth = depth;
        Ok(results([Value::Integer(depth.into())]))
    })?;
    add("encode_number_precision", 1, |setter| {
        let digits = setter.integer(1, setter.options.number_precision, 1..=14)?;
        setter.options.number_precision = digits;
        Ok(results([Value::Integer(digits.into())]))
    })?;
    add("encode_keep_buffer", 1, |setter| {
        setter.options.keep_buffer = setter.switch(setter.options.keep_buffer)?;
        Ok(results([Value::Boolean(setter.options.keep_buffer)]))
    })?;
    add("decode_invalid_numbers", 1, |setter| {
        setter.options.decode_invalid_numbers = setter.switch(setter.options.decode_invalid_numbers)?;
        Ok(results([Value::Boolean(setter.options.decode_invalid_numbers)]))
    })?;
    add("encode_invalid_numbers", 1, encode_invalid_numbers)?;
    add("encode_sparse_array", 3, encode_sparse_array)
}

fn results<const N: usize>(values: [Value; N]) -> MultiValue {
    MultiValue::from_iter(values)
}

/// A call of one of the functions.
struct Setter<'l> {
    lua: &'l Lua,
    arguments: Arguments<'l>,
    options: Options,
}

impl Setter<'_> {
    /// Returns an integer in `range`, or the current value for a missing argument.
    fn integer(&self, number: usize, current: i32, range: RangeInclusive<i32>) -> Result<i32> {
        if self.arguments.is_default(number) {
            return Ok(current);
        }
        let value = self.arguments.integer(number)? as i32;
        if range.contains(&value) {
            return Ok(value);
        }
        let (least, most) = range.into_inner();
        // Redis says the first argument, whichever it is.
        Err(argument_error(self.lua, 1, format_args!("expected integer between {least} and {most}")))
    }

    /// Returns the index of the first argument in `words`.
    fn choice(&self, words: &[&str]) -> Result<usize> {
        let text = self.arguments.string(1)?;
        words.iter().position(|word| text == *word).ok_or_else(|| {
            argument_error(self.lua, 1, format_args!("invalid option '{}'", text.to_string_lossy()))
        })
    }

    /// Returns the first argument as a boolean, or the current value if it is missing.
    fn switch(&self, current: bool) -> Result<bool> {
        match self.arguments.get(1) {
            None | Some(Value::Nil) => Ok(current),
            Some(&Value::Boolean(value)) => Ok(value),
            Some(_) => Ok(self.choice(&["off", "on"])? == 1),
        }
    }
}

fn encode_invalid_numbers(setter: &mut Setter<'_>) -> Result<MultiValue> {
    setter.options.encode_invalid_numbers = match setter.arguments.get(1) {
        None | Some(Value::Nil) => setter.options.encode_invalid_numbers,
        Some(Value::Boolean(false)) => InvalidNumbers::Rejected,
        Some(Value::Boolean(true)) => InvalidNumbers::Printed,
        Some(_) => {
            let choices = [InvalidNumbers::Rejected, InvalidNumbers::Printed, InvalidNumbers::Null];
            choices[setter.choice(&["off", "on", "null"])?]
        }
    };
    let current = match setter.options.encode_invalid_numbers {
        InvalidNumbers::Rejected => Value::Boolean(false),
        InvalidNumbers::Printed => Value::Boolean(true),
        InvalidNumbers::Null => Value::String(setter.lua.create_string("null")?),
    };
    Ok(results([current]))
}

fn encode_sparse_array(setter: &mut Setter<'_>) -> Result<MultiValue> {
    setter.options.sparse_arrays_become_objects =
        setter.switch(setter.options.sparse_arrays_become_objects)?;
    setter.options.sparse_ratio = setter.integer(2, setter.options.sparse_ratio, 0..=i32::MAX)?;
    setter.options.sparse_safe_length = setter.integer(3, setter.options.sparse_safe_length, 0..=i32::MAX)?;
    Ok(results([
        Value::Boolean(setter.options.sparse_arrays_become_objects),
        Value::Integer(setter.options.sparse_ratio.into()),
        Value::Integer(setter.options.sparse_safe_length.into()),
    ]))
}
