//! Ids in requests.

use crate::commands::{CommandError, CommandResult};
use skein_data::StreamId;
use skein_syntax::number::parse_i64;

const INVALID: CommandError =
    CommandError::text("ERR Invalid stream ID specified as stream command argument");
const INVALID_START: CommandError = CommandError::text("ERR invalid start ID for the interval");
const INVALID_END: CommandError = CommandError::text("ERR invalid end ID for the interval");

/// The longest id that Redis reads, in bytes.
const LONGEST: usize = 127;

/// An id with a number that may be left to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenId {
    /// `1-2`, or `1`, which is `1-0`.
    Exact(StreamId),
    /// `1-*`
    Within(u64),
}

/// Parses an unsigned number. As Redis, which falls back on C's `strtoull`, it accepts spaces and a
/// plus sign before it, and leading zeros.
fn parse_unsigned(text: &[u8]) -> Option<u64> {
    if let Some(number) = parse_i64(text) {
        return u64::try_from(number).ok();
    }
    let spaces = text.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
    let text = &text[spaces..];
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits
        .iter()
        .try_fold(0_u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

fn parse(text: &[u8], missing: u64, may_be_open: bool) -> CommandResult<GivenId> {
    if text.len() > LONGEST {
        return Err(INVALID);
    }
    let (ms, seq) = match text.iter().position(|byte| *byte == b'-') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let ms = parse_unsigned(ms).ok_or(INVALID)?;
    match seq {
        None => Ok(GivenId::Exact(StreamId { ms, seq: missing })),
        Some(b"*") if may_be_open => Ok(GivenId::Within(ms)),
        Some(seq) => Ok(GivenId::Exact(StreamId { ms, seq: parse_unsigned(seq).ok_or(INVALID)? })),
    }
}

/// Parses an id with a number that may be `*`.
pub(super) fn parse_given(text: &[u8]) -> CommandResult<GivenId> {
    parse(text, 0, true)
}

/// Parses an id. Without a number it has number 0.
pub(super) fn parse_id(text: &[u8]) -> CommandResult<StreamId> {
    parse_with(text, 0)
}

fn parse_with(text: &[u8], missing: u64) -> CommandResult<StreamId> {
    match parse(text, missing, false)? {
        GivenId::Exact(id) => Ok(id),
        GivenId::Within(_) => Err(INVALID),
    }
}

/// Parses an id, `-` for the least one or `+` for the greatest one.
pub(super) fn parse_id_or_edge(text: &[u8]) -> CommandResult<StreamId> {
    parse_edge(text, 0)
}

fn parse_edge(text: &[u8], missing: u64) -> CommandResult<StreamId> {
    match text {
        b"-" => Ok(StreamId::MIN),
        b"+" => Ok(StreamId::MAX),
        text => parse_with(text, missing),
    }
}

/// Returns the text behind the `(` of an exclusive bound.
fn exclusive(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"(").filter(|rest| !rest.is_empty())
}

/// Parses the first id of a range.
pub(super) fn parse_start(text: &[u8]) -> CommandResult<StreamId> {
    match exclusive(text) {
        Some(text) => parse_with(text, 0)?.next().ok_or(INVALID_START),
        None => parse_edge(text, 0),
    }
}

/// Parses the last id of a range. Without a number it has the greatest one.
pub(super) fn parse_end(text: &[u8]) -> CommandResult<StreamId> {
    match exclusive(text) {
        Some(text) => parse_with(text, u64::MAX)?.previous().ok_or(INVALID_END),
        None => parse_edge(text, u64::MAX),
    }
}

/// Parses several ids.
pub(super) fn parse_ids<'a>(texts: impl Iterator<Item = &'a [u8]>) -> CommandResult<Vec<StreamId>> {
    texts.map(parse_id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: u64, seq: u64) -> StreamId {
        StreamId { ms, seq }
    }

    #[test]
    fn ids_are_those_of_redis() {
        for (text, read) in [
            ("1-2", Some(id(1, 2))),
            ("1", Some(id(1, 0))),
            ("007-+5", Some(id(7, 5))),
            (" 1- 2", Some(id(1, 2))),
            ("18446744073709551615-18446744073709551615", Some(StreamId::MAX)),
            ("18446744073709551616-1", None),
            ("-1", None),
            ("1-", None),
            ("1-2-3", None),
            ("-", None),
            ("+", None),
            ("1-*", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(parse_id(text.as_bytes()).ok(), read, "{text}");
        }
        assert_eq!(parse_given(b"5-*").unwrap(), GivenId::Within(5));
        assert!(parse_id(&[b'1'; 128]).is_err());
    }

    #[test]
    fn bounds_of_ranges_are_those_of_redis() {
        assert_eq!(parse_start(b"-").unwrap(), StreamId::MIN);
        assert_eq!(parse_start(b"(1-2").unwrap(), id(1, 3));
        assert_eq!(parse_start(b"(1").unwrap(), id(1, 1));
        assert_eq!(parse_end(b"1").unwrap(), id(1, u64::MAX));
        assert_eq!(parse_end(b"(1").unwrap(), id(1, u64::MAX - 1));
        assert_eq!(parse_end(b"(1-0").unwrap(), id(0, u64::MAX));
        assert!(parse_end(b"(0-0").is_err());
        assert!(parse_start(b"(18446744073709551615-18446744073709551615").is_err());
        assert!(parse_start(b"(-").is_err() && parse_start(b"(").is_err());
    }
}
