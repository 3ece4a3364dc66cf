//! The meaning of a record's fields, behind its key.
//!
//! ```text
//!   a value              value                                     value  time  (empty)
//!   columns              name  value  name  value ...              name  value ...  time
//!   a sorted set         member  score  member  score ...  zset    member  score ...  zset:time
//!   a set                member  (empty)  member ...       set     member  (empty) ...  set:time
//!   a list               element (empty)  element ...      list    element (empty) ...  list:time
//!   a stream             see `streams`                     stream  ...                  stream:time
//! ```
//!
//! The right column is for a key that expires. Times are milliseconds since 1970. Counted with the
//! key, two fields are a value, and an odd number from three up is columns. If the number is even,
//! the last field tells the type.

use skein_server::{parse_double, write_double};

use super::{RecordBody, TextRecord, streams};

/// The last field of a sorted set, of a set, of a list, and of a stream.
const SORTED_SET: &[u8] = b"zset";
const SET: &[u8] = b"set";
const LIST: &[u8] = b"list";
const STREAM: &[u8] = b"stream";

/// Returns the record of these fields, which include the key.
///
/// # Errors
/// Returns the mistake in the fields.
pub(super) fn parse(line: u64, fields: Vec<Vec<u8>>) -> Result<TextRecord, String> {
    let mut fields = fields;
    let key = if fields.is_empty() { Vec::new() } else { fields.remove(0) };
    let (body, expires) = match &fields[..] {
        [] => return Err("a key without a value; use --format lines for keys alone".to_owned()),
        [_] => (RecordBody::Value(fields.swap_remove(0)), None),
        [_, time, end] if end.is_empty() => {
            let expires = time_of(time).ok_or_else(|| neither(fields.len()))?;
            (RecordBody::Value(fields.swap_remove(0)), Some(expires))
        }
        [.., end] if fields.len() % 2 == 1 => {
            let word = [SORTED_SET, SET, LIST, STREAM].into_iter().find(|word| end.starts_with(word));
            let expires = match word {
                Some(word) => typed_time(end, word)?,
                None => Some(time_of(end).ok_or_else(|| neither(fields.len()))?),
            };
            fields.pop();
            let body = match word {
                Some(SORTED_SET) => RecordBody::Members(members(fields)?),
                Some(SET) => RecordBody::Set(alone(fields, "member", "set")?),
                Some(LIST) => RecordBody::List(alone(fields, "element", "list")?),
                Some(_) => RecordBody::Stream(streams::parse(pairs(fields))?),
                None => RecordBody::Columns(pairs(fields)),
            };
            (body, expires)
        }
        _ => (RecordBody::Columns(pairs(fields)), None),
    };
    Ok(TextRecord { line, key, body, expires, replaces: false })
}

/// Passes the fields of a body, and the key's expiry time, to `add`.
pub(super) fn write(body: &RecordBody, expires: Option<u64>, add: &mut impl FnMut(&[u8])) {
    let time = expires.map(|time| time.to_string());
    let last_field = |word: &[u8]| {
        let colon: &[u8] = if time.is_some() { b":" } else { b"" };
        [word, colon, time.as_deref().unwrap_or_default().as_bytes()].concat()
    };
    match body {
        RecordBody::Value(value) => add(value),
        RecordBody::Columns(columns) => add_pairs(columns, add),
        RecordBody::Stream(part) => {
            streams::write(part, add);
            return add(&last_field(STREAM));
        }
        RecordBody::Members(members) => {
            let mut text = Vec::new();
            for (member, score) in members {
                add(member);
                text.clear();
                write_double(&mut text, *score);
                add(&text);
            }
            return add(&last_field(SORTED_SET));
        }
        RecordBody::Set(members) | RecordBody::List(members) => {
            for member in members {
                add(member);
                add(b"");
            }
            return add(&last_field(if let RecordBody::List(_) = body { LIST } else { SET }));
        }
    }
    if let Some(time) = time {
        add(time.as_bytes());
        if matches!(body, RecordBody::Value(_)) {
            add(b"");
        }
    }
}

fn add_pairs(pairs: &[(Vec<u8>, Vec<u8>)], add: &mut impl FnMut(&[u8])) {
    for (name, value) in pairs {
        add(name);
        add(value);
    }
}

fn time_of(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Parses the last field of a set, a sorted set or a list: its word, and a colon and a time if it
/// expires.
fn typed_time(field: &[u8], word: &[u8]) -> Result<Option<u64>, String> {
    if field == word {
        return Ok(None);
    }
    let time = field.strip_prefix(word).and_then(|rest| rest.strip_prefix(b":")).and_then(time_of);
    time.map(Some).ok_or_else(|| {
        let (field, word) = (field.escape_ascii(), word.escape_ascii());
        format!(
            "a last field of \"{field}\"; such a key ends in {word} or, if it expires, in {word}: and a time in milliseconds"
        )
    })
}

fn neither(fields: usize) -> String {
    format!(
        "{} fields without a time in milliseconds at the end; write a key and a value, or a key and name-value pairs of \
         columns, or a key, member-score pairs and zset, or a key, members with an empty field behind each, and set, or \
         a key, elements with an empty field behind each, and list, or a key, a part of a stream and stream; a key that expires needs its time at the end, and for a value \
         an empty field behind it",
        fields + 1
    )
}

fn pairs(fields: Vec<Vec<u8>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = Vec::with_capacity(fields.len() / 2);
    let mut fields = fields.into_iter();
    while let (Some(first), Some(second)) = (fields.next(), fields.next()) {
        pairs.push((first, second));
    }
    pairs
}

/// Returns the members of a set or the elements of a list. In the fields each is followed by an
/// empty field. `item` and `kind` are the words for the message.
fn alone(fields: Vec<Vec<u8>>, item: &str, kind: &str) -> Result<Vec<Vec<u8>>, String> {
    let member = |(member, empty): (Vec<u8>, Vec<u8>)| {
        if empty.is_empty() {
            return Ok(member);
        }
        let (empty, member) = (empty.escape_ascii(), member.escape_ascii());
        Err(format!(
            "\"{empty}\" behind the {item} \"{member}\" of a {kind}; an empty field follows each {item}"
        ))
    };
    pairs(fields).into_iter().map(member).collect()
}

fn members(fields: Vec<Vec<u8>>) -> Result<Vec<(Vec<u8>, f64)>, String> {
    let score = |text: &[u8]| {
        parse_double(text).ok_or_else(|| {
            format!(
                "the score \"{}\" is not a number; a sorted set is a key, member-score pairs and zset",
                text.escape_ascii()
            )
        })
    };
    pairs(fields).into_iter().map(|(member, text)| Ok((member, score(&text)?))).collect()
}
