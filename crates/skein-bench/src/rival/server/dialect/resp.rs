//! RESP2, the protocol of Redis and SkeinDB.

use crate::rival::server::ANY_DIGITS;

use super::{COLUMN_BYTES, COLUMNS, Dialect, DialectRequest, NeighbourKeys, NeighbourRows, push};

/// Rows as hashes, with the column numbers as fields.
pub static HASHES: RespDialect = RespDialect { rows: RespRowType::Hashes };

/// Rows as strings: all columns in sequence.
pub static VALUES: RespDialect = RespDialect { rows: RespRowType::Strings };

/// The column names: their numbers (Masstree, section 7).
const NAMES: [&[u8]; COLUMNS] = [b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9"];

/// The protocol, with a representation of rows.
#[derive(Debug)]
pub struct RespDialect {
    rows: RespRowType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RespRowType {
    Hashes,
    Strings,
}

/// Appends a bulk string.
pub fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        // The client's own time counts, and short words are the most frequent, so they skip the
        // formatting.
        len @ 0..10 => out.extend_from_slice(&[b'$', b'0' + len as u8, b'\r', b'\n']),
        len => push(out, format_args!("${len}\r\n")),
    }
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends a command with its arguments.
pub fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    push(out, format_args!("*{}\r\n", words.len()));
    for word in words {
        bulk(out, word);
    }
}

/// Appends a number.
pub fn number(out: &mut Vec<u8>, number: usize) {
    push(out, format_args!(":{number}\r\n"));
}

/// Appends the pattern of any identifier of a stream's entry.
pub fn any_id(expected: &mut Vec<u8>) {
    expected.extend_from_slice(&[b'$', ANY_DIGITS, b'\r', b'\n']);
    expected.extend_from_slice(&[ANY_DIGITS, b'-', ANY_DIGITS, b'\r', b'\n']);
}

impl Dialect for RespDialect {
    fn ask(&self, request: DialectRequest<'_>, out: &mut Vec<u8>, expected: &mut Vec<u8>) {
        match (request, self.rows) {
            (DialectRequest::Ping, _) => {
                command(out, &[b"PING"]);
                expected.extend_from_slice(b"+PONG\r\n");
            }
            (DialectRequest::Get(key, value), _) => {
                command(out, &[b"GET", key]);
                bulk(expected, value);
            }
            (DialectRequest::Add(key, value) | DialectRequest::Set(key, value), _) => {
                command(out, &[b"SET", key, value]);
                expected.extend_from_slice(b"+OK\r\n");
            }
            (DialectRequest::AddRow(key, columns), RespRowType::Strings) => {
                command(out, &[b"SET", key, columns.as_flattened()]);
                expected.extend_from_slice(b"+OK\r\n");
            }
            (DialectRequest::AddRow(key, columns), RespRowType::Hashes) => {
                let mut words: Vec<&[u8]> = vec![b"HSET", key];
                words.extend(NAMES.iter().zip(columns).flat_map(|(name, column)| [*name, &column[..]]));
                command(out, &words);
                number(expected, COLUMNS);
            }
            (DialectRequest::GetRow(key, columns), RespRowType::Strings) => {
                command(out, &[b"GET", key]);
                bulk(expected, columns.as_flattened());
            }
            (DialectRequest::GetRow(key, columns), RespRowType::Hashes) => {
                command(out, &[b"HGETALL", key]);
                push(expected, format_args!("*{}\r\n", 2 * COLUMNS));
                for (name, column) in NAMES.iter().zip(columns) {
                    bulk(expected, name);
                    bulk(expected, column);
                }
            }
            (DialectRequest::SetColumn(key, column, value), RespRowType::Strings) => {
                let at = (column * COLUMN_BYTES).to_string();
                command(out, &[b"SETRANGE", key, at.as_bytes(), value]);
                number(expected, COLUMNS * COLUMN_BYTES);
            }
            (DialectRequest::SetColumn(key, column, value), RespRowType::Hashes) => {
                command(out, &[b"HSET", key, NAMES[column], value]);
                expected.extend_from_slice(b":0\r\n");
            }
            (DialectRequest::Range(range), _) => ask_range(range, out, expected),
            (DialectRequest::GetMany(pairs), _) => {
                let mut words: Vec<&[u8]> = vec![b"MGET"];
                words.extend(pairs.iter().map(|(key, _)| *key));
                command(out, &words);
                push(expected, format_args!("*{}\r\n", pairs.len()));
                for (_, value) in pairs {
                    bulk(expected, value);
                }
            }
            (DialectRequest::SetMany(pairs), _) => {
                let mut words: Vec<&[u8]> = vec![b"MSET"];
                words.extend(pairs.iter().flat_map(|(key, value)| [*key, &value[..]]));
                command(out, &words);
                expected.extend_from_slice(b"+OK\r\n");
            }
            (DialectRequest::Keys(mut range), _) => {
                let (from, count) = bounds(&range);
                command(out, &[b"SK.RANGE", &from, b"+", b"LIMIT", count.as_bytes(), b"NOVALUES"]);
                expect_keys(&mut range, expected);
            }
        }
    }
}

/// Returns the start of a key range as ZRANGEBYLEX writes it, and the greatest number of keys.
pub(super) fn bounds(range: &NeighbourKeys<'_>) -> (Vec<u8>, String) {
    ([b"[", range.from].concat(), range.count.to_string())
}

/// Appends an array of the keys of a range.
pub(super) fn expect_keys(range: &mut NeighbourKeys<'_>, expected: &mut Vec<u8>) {
    push(expected, format_args!("*{}\r\n", range.found));
    range.keys.for_each(|key| bulk(expected, key));
}

/// Appends a range request of SkeinDB and its reply.
fn ask_range(range: NeighbourRows<'_>, out: &mut Vec<u8>, expected: &mut Vec<u8>) {
    let (from, count) = ([b"[", range.from].concat(), range.count.to_string());
    command(
        out,
        &[b"SK.RANGE", &from, b"+", b"LIMIT", count.as_bytes(), b"COLUMNS", b"1", NAMES[range.column]],
    );
    push(expected, format_args!("*{}\r\n", 2 * range.found));
    for (key, column) in range.rows {
        bulk(expected, key);
        expected.extend_from_slice(b"*1\r\n");
        bulk(expected, &column);
    }
}
