//! memcached's text protocol. A row is one value: all its columns in sequence. Consecutive gets are
//! sent as one get of many keys, as memcached's client libraries batch them.

use super::{Dialect, DialectRequest, push};

/// The protocol.
pub static MEMCACHED: MemcachedDialect = MemcachedDialect;

/// The protocol.
#[derive(Debug)]
pub struct MemcachedDialect;

impl Dialect for MemcachedDialect {
    fn ask(&self, request: DialectRequest<'_>, out: &mut Vec<u8>, expected: &mut Vec<u8>) {
        match request {
            DialectRequest::Get(key, value) => get(key, value, out, expected),
            DialectRequest::GetRow(key, columns) => get(key, columns.as_flattened(), out, expected),
            DialectRequest::Add(key, value) | DialectRequest::Set(key, value) => {
                set(key, value, out, expected);
            }
            DialectRequest::AddRow(key, columns) => set(key, columns.as_flattened(), out, expected),
            DialectRequest::Ping
            | DialectRequest::SetColumn(..)
            | DialectRequest::Range(_)
            | DialectRequest::Keys(_)
            | DialectRequest::GetMany(_)
            | DialectRequest::SetMany(_) => {
                unreachable!("memcached does not support this request; see its entry")
            }
        }
    }
}

/// The end of the reply to a get; no other reply ends with it.
const END: &[u8] = b"END\r\n";

fn get(key: &[u8], value: &[u8], out: &mut Vec<u8>, expected: &mut Vec<u8>) {
    if expected.ends_with(END) {
        // The last request was a get too, so this key joins it.
        out.truncate(out.len() - b"\r\n".len());
        expected.truncate(expected.len() - END.len());
        out.push(b' ');
    } else {
        out.extend_from_slice(b"get ");
    }
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
    expected.extend_from_slice(b"VALUE ");
    expected.extend_from_slice(key);
    push(expected, format_args!(" 0 {}\r\n", value.len()));
    expected.extend_from_slice(value);
    expected.extend_from_slice(b"\r\n");
    expected.extend_from_slice(END);
}

fn set(key: &[u8], value: &[u8], out: &mut Vec<u8>, expected: &mut Vec<u8>) {
    out.extend_from_slice(b"set ");
    out.extend_from_slice(key);
    push(out, format_args!(" 0 0 {}\r\n", value.len()));
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
    expected.extend_from_slice(b"STORED\r\n");
}
