//! Writes lengths, strings and plain collections, as Redis 7.0 does.
//!
//! The values of small collections are strings too: blobs of `packed`.

use skein_syntax::number::parse_i64;

use crate::input::LZF;
use crate::{ValueType, lzf};

/// Redis compresses strings that are longer than this.
const COMPRESSED_FROM: usize = 21;
/// Longer strings are written as they are, because compression takes long. Redis reads either.
const COMPRESSED_TO: usize = 4 << 20;
/// The longest text of a number that is written in place of its digits: `-2147483648`.
const INTEGER_DIGITS: usize = 11;

/// Appends the type that begins a value.
pub fn write_type(out: &mut Vec<u8>, kind: ValueType) {
    out.push(kind as u8);
}

/// Appends a length, or another number in its form.
pub fn write_length(out: &mut Vec<u8>, len: u64) {
    if len < 1 << 6 {
        out.push(len as u8);
    } else if len < 1 << 14 {
        out.extend_from_slice(&(0x4000 | len as u16).to_be_bytes());
    } else if let Ok(len) = u32::try_from(len) {
        out.push(0x80);
        out.extend_from_slice(&len.to_be_bytes());
    } else {
        out.push(0x81);
        out.extend_from_slice(&len.to_be_bytes());
    }
}

/// Appends a string: as a number, compressed, or as it is.
pub fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    if text.len() <= INTEGER_DIGITS
        && let Some(number) = parse_i64(text).and_then(|number| i32::try_from(number).ok())
    {
        return write_integer(out, number);
    }
    if (COMPRESSED_FROM..=COMPRESSED_TO).contains(&text.len())
        && let Some(compressed) = lzf::compress(text, text.len() - 4)
    {
        out.push(LZF);
        write_length(out, compressed.len() as u64);
        write_length(out, text.len() as u64);
        out.extend_from_slice(&compressed);
        return;
    }
    write_plain_string(out, text);
}

/// Appends a string as it is.
pub fn write_plain_string(out: &mut Vec<u8>, text: &[u8]) {
    write_length(out, text.len() as u64);
    out.extend_from_slice(text);
}

fn write_integer(out: &mut Vec<u8>, number: i32) {
    let bytes = number.to_le_bytes();
    let (head, width) = if i8::try_from(number).is_ok() {
        (0xc0, 1)
    } else if i16::try_from(number).is_ok() {
        (0xc1, 2)
    } else {
        (0xc2, 4)
    };
    out.push(head);
    out.extend_from_slice(&bytes[..width]);
}

/// Appends a member and its score, as sorted sets that are not packed have them.
pub fn write_scored(out: &mut Vec<u8>, member: &[u8], score: f64) {
    write_string(out, member);
    out.extend_from_slice(&score.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write_string(&mut out, text);
        out
    }

    /// The bytes are from DUMP of Redis 7.0.15.
    #[test]
    fn strings_have_the_bytes_of_redis() {
        for (text, bytes) in [
            (&b"hello"[..], &b"\x05hello"[..]),
            (b"", b"\0"),
            (b"10", b"\xc0\x0a"),
            (b"-300", b"\xc1\xd4\xfe"),
            (b"100000", b"\xc2\xa0\x86\x01\0"),
            (b"9999999999", b"\x0a9999999999"),
            (&[b'a'; 20], b"\x14aaaaaaaaaaaaaaaaaaaa"),
            (&[b'a'; 30], b"\xc3\x09\x1e\x01aa\xe0\x11\x00\x01aa"),
        ] {
            assert_eq!(written(text), bytes, "{}", String::from_utf8_lossy(text));
        }
    }
}
