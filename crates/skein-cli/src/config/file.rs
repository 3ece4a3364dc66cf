//! A configuration file as a list of entries: TOML whose keys are at the top level. This module
//! does not know the meaning of the keys.

use std::fmt;
use std::io;
use std::path::Path;

use skein_server::read_at_most;
use toml::de::{DeTable, DeValue};
use toml_writer::{ToTomlValue, TomlStringBuilder};

/// An entry of the file.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The option's long name.
    pub key: String,
    /// Its line, from 1.
    pub line: usize,
    /// The value.
    pub value: ConfigValue,
}

/// An option's value.
#[derive(Debug, PartialEq, Eq)]
pub enum ConfigValue {
    /// `true` or `false`.
    Switch(bool),
    /// A text or a number.
    One(String),
    /// A list of them.
    Many(Vec<String>),
}

/// A mistake in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Its line, from 1.
    pub line: usize,
    /// The mistake, and the correct form.
    pub what: String,
}

impl fmt::Display for ConfigValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => on.fmt(out),
            Self::One(text) => write!(out, "{text:?}"),
            Self::Many(texts) => write!(out, "{texts:?}"),
        }
    }
}

/// The longest file, in bytes: some hundred times all options with their comments.
pub const BYTES_MAX: u64 = 1 << 20;

/// Reads a file's text.
///
/// # Errors
/// Errors if the system does, if the file is longer than [`BYTES_MAX`], or if it is not text.
pub fn read(path: &Path) -> io::Result<String> {
    let bytes = read_at_most(path, BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns a text as a TOML value, on one line.
pub fn quoted(text: &str) -> String {
    TomlStringBuilder::new(text).as_basic().to_toml_value()
}

/// Returns the entries of a file, in the order of its lines. Takes time linear in its length.
///
/// # Errors
/// Errors if the text is not TOML, has tables, or has a value that no option can have.
pub fn parse(text: &str) -> Result<Vec<ConfigEntry>, ConfigProblem> {
    let line = |at: usize| text.as_bytes()[..at.min(text.len())].split(|byte| *byte == b'\n').count();
    let table = DeTable::parse(text).map_err(|error| ConfigProblem {
        line: line(error.span().map_or(0, |span| span.start)),
        what: error.message().to_owned(),
    })?;
    let mut entries = Vec::new();
    for (key, value) in table.into_inner() {
        let line = line(key.span().start);
        let key = key.into_inner().into_owned();
        let value = value_of(value.get_ref())
            .map_err(|what| ConfigProblem { line, what: format!("{key} is {what}") })?;
        entries.push(ConfigEntry { key, line, value });
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

fn value_of(value: &DeValue<'_>) -> Result<ConfigValue, String> {
    match value {
        DeValue::Boolean(on) => Ok(ConfigValue::Switch(*on)),
        DeValue::Array(items) => {
            let items: Result<_, String> = items.iter().map(|item| one(item.get_ref())).collect();
            Ok(ConfigValue::Many(items.map_err(|what| format!("a list with {what} in it"))?))
        }
        DeValue::Table(_) => Err("a table; options have no groups: write all keys at the top".to_owned()),
        other => one(other).map(ConfigValue::One),
    }
}

fn one(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) if text.contains('\0') => Err("a text with a null character".to_owned()),
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => {
            // The parser does not check the characters between the digits.
            let digits = number.as_str().trim_start_matches(['+', '-']);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("not a whole number: {:?}", number.as_str()));
            }
            Ok(number.as_str().to_owned())
        }
        other => {
            Err(format!("a value of type {}; write a text, a whole number, true or false", other.type_str()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_with_their_lines() {
        let text = "# a comment\nb = 5\n\na = \"x\"  # more\nlist = [\"p\", 1_000]\non = true\n";
        let entry = |key: &str, line, value| ConfigEntry { key: key.to_owned(), line, value };
        let expected = [
            entry("b", 2, ConfigValue::One("5".to_owned())),
            entry("a", 4, ConfigValue::One("x".to_owned())),
            entry("list", 5, ConfigValue::Many(vec!["p".to_owned(), "1000".to_owned()])),
            entry("on", 6, ConfigValue::Switch(true)),
        ];
        assert_eq!(parse(text).expect("entries"), expected);
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn wrong_values_are_named_with_their_line() {
        for (text, line, words) in [
            ("a = 1\nb = ", 2, ""),
            ("a = 1\na = 2", 2, "duplicate key"),
            ("\n[server]\na = 1", 2, "server is a table; options have no groups"),
            ("a = 1.5", 1, "a is a value of type float; write a text"),
            ("a = 0x10", 1, "a is a value of type integer"),
            ("a = 2020-01-01", 1, "datetime"),
            ("a = [1, true]", 1, "a is a list with a value of type boolean"),
            ("a = [[1]]", 1, "a is a list with a value of type array"),
            ("a = \"\\u0000\"", 1, "null character"),
            // Fuzzing found that null characters within a number were accepted.
            ("a = 1_00\x00\x000", 1, "a is not a whole number: \"100"),
        ] {
            let problem = parse(text).expect_err(text);
            assert!(problem.line == line && problem.what.contains(words), "{text}: {problem:?}");
        }
    }
}
