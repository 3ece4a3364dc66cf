//! Strings and byte strings, and `u8`, because slices of it are byte strings.
//!
//! At the end of a key they are raw. Elsewhere the bytes 0 and 1 are escaped, and a byte of 0 ends
//! the string:
//!
//! ```text
//! byte     0       1       other   end
//! written  01 01   01 02   itself  00
//! ```
//!
//! A string that another one begins with is less, as its end is less than every other byte. Escapes
//! begin with 1, so they are less than all other bytes, and keep their own order.

use super::{AsKey, DecodeError, EncodeKey, Key, KeyPrefix, KeyReader};

const END: u8 = 0;
const ESCAPE: u8 = 1;

/// Appends a byte string that other parts may follow.
fn escape(string: &[u8], out: &mut Vec<u8>) {
    for run in string.split_inclusive(|&byte| byte <= ESCAPE) {
        match run.split_last() {
            Some((&last, plain)) if last <= ESCAPE => {
                out.extend(plain);
                out.extend([ESCAPE, last + 1]);
            }
            _ => out.extend(run),
        }
    }
    out.push(END);
}

/// Reads a byte string of [`escape`], as a part of type `T`.
fn unescape<T: ?Sized>(reader: &mut KeyReader<'_>) -> Result<Vec<u8>, DecodeError> {
    let start = reader.position();
    let mut string = Vec::new();
    while reader.take_run::<T>(start, &mut string)? == ESCAPE {
        let position = reader.position();
        match reader.take::<T, 1>()? {
            [escaped @ 1..=2] => string.push(escaped - 1),
            [found] => {
                let found =
                    format!("the byte 0x{found:02x} behind an escape at byte {position}, instead of 1 or 2");
                return Err(DecodeError::in_key::<T>(start, found));
            }
        }
    }
    Ok(string)
}

impl EncodeKey for u8 {
    fn encode_part(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl AsKey<u8> for u8 {}

impl Key for u8 {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        reader.take::<Self, 1>().map(|[byte]| byte)
    }

    fn encode_slice_part(items: &[Self], out: &mut Vec<u8>) {
        escape(items, out);
    }

    fn encode_slice_last(items: &[Self], out: &mut Vec<u8>) {
        out.extend(items);
    }

    fn encode_slice_prefix(items: &[Self], out: &mut Vec<u8>) {
        out.extend(items);
    }

    fn decode_vec_part(reader: &mut KeyReader<'_>) -> Result<Vec<Self>, DecodeError> {
        unescape::<Vec<u8>>(reader)
    }

    fn decode_vec_last(reader: &mut KeyReader<'_>) -> Result<Vec<Self>, DecodeError> {
        Ok(reader.take_rest())
    }
}

impl EncodeKey for str {
    fn encode_part(&self, out: &mut Vec<u8>) {
        escape(self.as_bytes(), out);
    }

    fn encode_last(&self, out: &mut Vec<u8>) {
        out.extend(self.as_bytes());
    }
}

impl EncodeKey for String {
    fn encode_part(&self, out: &mut Vec<u8>) {
        self.as_str().encode_part(out);
    }

    fn encode_last(&self, out: &mut Vec<u8>) {
        self.as_str().encode_last(out);
    }
}

impl AsKey<String> for str {}
impl AsKey<String> for String {}

impl Key for String {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let position = reader.position();
        text(position, unescape::<String>(reader)?)
    }

    fn decode_last(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let position = reader.position();
        text(position, reader.take_rest())
    }
}

/// Returns the string with these bytes, which begins at this position.
fn text(position: usize, bytes: Vec<u8>) -> Result<String, DecodeError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[valid];
        DecodeError::in_key::<String>(
            position,
            format!("the byte 0x{byte:02x} behind {valid} bytes of UTF-8"),
        )
    })
}

impl KeyPrefix<String> for str {
    fn encode_prefix(&self, out: &mut Vec<u8>) {
        out.extend(self.as_bytes());
    }
}

impl KeyPrefix<String> for String {
    fn encode_prefix(&self, out: &mut Vec<u8>) {
        self.as_str().encode_prefix(out);
    }
}
