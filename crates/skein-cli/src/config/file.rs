//! A configuration file as a list of entries: TOML whose keys are at the top level. This module
//! does not know the meaning of the keys.

use std::fmt;
use std::io;
use std::path::Path;

use skein_server::read_at_most;

use super::redis_options;
use toml::de::{DeTable, DeValue};
use toml_writer::{ToTomlValue, TomlStringBuilder};

/// An entry of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The option's long name.
    pub key: String,
    /// Its line, from 1.
    pub line: usize,
    /// The value.
    pub value: ConfigValue,
}

/// An option's value.
#[derive(Debug, Clone, PartialEq, Eq)]
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
/// The first mistake: the text is not TOML, has tables, or has a value that no option can have.
pub fn parse(text: &str) -> Result<Vec<ConfigEntry>, ConfigProblem> {
    let (entries, problems) = parse_all(text);
    problems.into_iter().next().map_or(Ok(entries), Err)
}

/// Returns the entries that can be read, and all mistakes, in the order of their lines.
pub fn parse_all(text: &str) -> (Vec<ConfigEntry>, Vec<ConfigProblem>) {
    let line = |at: usize| text.as_bytes()[..at.min(text.len())].split(|byte| *byte == b'\n').count();
    if let Some(problem) = other_syntax(text) {
        return (Vec::new(), vec![problem]);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<ConfigProblem> = errors
        .iter()
        .map(|error| ConfigProblem {
            line: line(error.span().map_or(0, |span| span.start)),
            what: error.message().to_owned(),
        })
        .collect();
    let mut entries = Vec::new();
    for (key, value) in table.into_inner() {
        let line = line(key.span().start);
        // After a mistake the parser guesses the rest of the line.
        if problems.iter().any(|problem| problem.line == line) {
            continue;
        }
        let key = key.into_inner().into_owned();
        match value_of(value.get_ref()) {
            Ok(value) => entries.push(ConfigEntry { key, line, value }),
            Err(what) => problems.push(ConfigProblem { line, what: format!("{key} is {what}") }),
        }
    }
    entries.sort_by_key(|entry| entry.line);
    problems.sort_by_key(|problem| problem.line);
    // One mistake may have several errors of the parser, and the first one tells.
    problems.dedup_by_key(|problem| problem.line);
    (entries, problems)
}

/// Returns the mistake of a file whose first line has the form of a `redis.conf`: a name, a space
/// and a value.
fn other_syntax(text: &str) -> Option<ConfigProblem> {
    let (at, first) = text
        .lines()
        .map(str::trim)
        .enumerate()
        .find(|(_, line)| !line.is_empty() && !line.starts_with('#'))?;
    let (name, value) = first.split_once([' ', '\t'])?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'));
    let value = value.trim();
    if !is_name || value.is_empty() || value.starts_with('=') {
        return None;
    }
    let what = format!(
        "`{first}` has the form of a redis.conf, and this file is TOML, as in `max-clients = 100`; the options have \
         names of their own: `skein config` prints a file with all of them{}",
        redis_options::hint(name).map_or_else(String::new, |hint| format!(". For {name}: {hint}"))
    );
    Some(ConfigProblem { line: at + 1, what })
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
            ("# of Redis\n\nbind 127.0.0.1 -::1\nport 6379", 3, "form of a redis.conf"),
            ("port 6379", 1, "For port: use --port"),
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
