//! Integers, `bool`, `char` and `()`, each of a fixed width.
//!
//! [`bytes`](super::bytes) has `u8`.

use super::{AsKey, DecodeError, EncodeKey, Key, KeyReader};

/// Implements the traits for unsigned integers: big-endian.
macro_rules! unsigned_keys {
    ($($t:ty),*) => {$(
        impl EncodeKey for $t {
            fn encode_part(&self, out: &mut Vec<u8>) {
                out.extend(self.to_be_bytes());
            }
        }

        impl AsKey<$t> for $t {}

        impl Key for $t {
            fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
                reader.take::<Self, { size_of::<$t>() }>().map(Self::from_be_bytes)
            }
        }
    )*};
}
unsigned_keys!(u16, u32, u64, u128);

/// Implements the traits for signed integers: big-endian with the sign bit inverted, so negative
/// numbers are less.
macro_rules! signed_keys {
    ($($t:ty),*) => {$(
        impl EncodeKey for $t {
            fn encode_part(&self, out: &mut Vec<u8>) {
                out.extend((self ^ Self::MIN).to_be_bytes());
            }
        }

        impl AsKey<$t> for $t {}

        impl Key for $t {
            fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
                reader.take::<Self, { size_of::<$t>() }>().map(|bytes| Self::from_be_bytes(bytes) ^ Self::MIN)
            }
        }
    )*};
}
signed_keys!(i8, i16, i32, i64, i128);

impl EncodeKey for bool {
    fn encode_part(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl AsKey<bool> for bool {}

impl Key for bool {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let position = reader.position();
        match reader.take::<Self, 1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [found] => Err(unknown_tag::<Self>(position, found, "0 or 1")),
        }
    }
}

impl EncodeKey for char {
    fn encode_part(&self, out: &mut Vec<u8>) {
        u32::from(*self).encode_part(out);
    }
}

impl AsKey<char> for char {}

impl Key for char {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        let position = reader.position();
        let code = u32::from_be_bytes(reader.take::<Self, 4>()?);
        char::from_u32(code).ok_or_else(|| {
            DecodeError::in_key::<Self>(position, format!("0x{code:08x}, which is no Unicode scalar value"))
        })
    }
}

impl EncodeKey for () {
    fn encode_part(&self, _out: &mut Vec<u8>) {}
}

impl AsKey<()> for () {}

impl Key for () {
    fn decode_part(_reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

/// Returns the error of a first byte that selects no variant of `T`.
pub(super) fn unknown_tag<T>(position: usize, found: u8, expected: &str) -> DecodeError {
    DecodeError::in_key::<T>(position, format!("the tag 0x{found:02x} instead of {expected}"))
}
