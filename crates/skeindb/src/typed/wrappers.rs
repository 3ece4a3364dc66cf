//! `Option` and `Reverse`.

use std::cmp::Reverse;

use super::integers::unknown_tag;
use super::{AsKey, DecodeError, EncodeKey, Key, KeyReader};

const NONE: u8 = 0;
const SOME: u8 = 1;

/// `None` is less than every `Some`.
impl<T: EncodeKey> EncodeKey for Option<T> {
    fn encode_part(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(key) = self {
            key.encode_part(out);
        }
    }

    fn encode_last(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(key) = self {
            key.encode_last(out);
        }
    }
}

impl<K, T: AsKey<K>> AsKey<Option<K>> for Option<T> {}

/// Reads an option, with a function that reads its value.
fn decode_option<T>(
    reader: &mut KeyReader<'_>,
    decode: impl FnOnce(&mut KeyReader<'_>) -> Result<T, DecodeError>,
) -> Result<Option<T>, DecodeError> {
    let position = reader.position();
    match reader.take::<Option<T>, 1>()? {
        [NONE] => Ok(None),
        [SOME] => decode(reader).map(Some),
        [found] => Err(unknown_tag::<Option<T>>(position, found, "0 (None) or 1 (Some)")),
    }
}

impl<T: Key> Key for Option<T> {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        decode_option(reader, T::decode_part)
    }

    fn decode_last(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        decode_option(reader, T::decode_last)
    }
}

/// All bytes are inverted. At the end of a key, too, strings have their own end: without it a
/// string would still be less than the longer ones that begin with it.
impl<T: EncodeKey> EncodeKey for Reverse<T> {
    fn encode_part(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.0.encode_part(out);
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}

impl<K, T: AsKey<K>> AsKey<Reverse<K>> for Reverse<T> {}

impl<T: Key> Key for Reverse<T> {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        reader.inverted(T::decode_part).map(Reverse)
    }
}
