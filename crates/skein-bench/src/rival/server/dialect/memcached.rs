//! memcached's text protocol. A row is one value, all columns one after the other.

use super::{Dialect, Request, push};

/// The protocol.
pub static MEMCACHED: Memcached = Memcached;

/// The protocol.
#[derive(Debug)]
pub struct Memcached;

impl Dialect for Memcached {
    fn ask(&self, request: Request<'_>, out: &mut Vec<u8>, expected: &mut Vec<u8>) {
        match request {
            Request::Get(key, value) => get(key, value, out, expected),
            Request::GetRow(key, columns) => get(key, columns.as_flattened(), out, expected),
            Request::Set(key, value) => set(key, value, out, expected),
            Request::AddRow(key, columns) => set(key, columns.as_flattened(), out, expected),
            Request::Ping | Request::SetColumn(..) | Request::Range(_) => {
                unreachable!("memcached cannot do this, says its entry")
            }
        }
    }
}

fn get(key: &[u8], value: &[u8], out: &mut Vec<u8>, expected: &mut Vec<u8>) {
    out.extend_from_slice(b"get ");
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
    expected.extend_from_slice(b"VALUE ");
    expected.extend_from_slice(key);
    push(expected, format_args!(" 0 {}\r\n", value.len()));
    expected.extend_from_slice(value);
    expected.extend_from_slice(b"\r\nEND\r\n");
}

fn set(key: &[u8], value: &[u8], out: &mut Vec<u8>, expected: &mut Vec<u8>) {
    out.extend_from_slice(b"set ");
    out.extend_from_slice(key);
    push(out, format_args!(" 0 0 {}\r\n", value.len()));
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
    expected.extend_from_slice(b"STORED\r\n");
}
