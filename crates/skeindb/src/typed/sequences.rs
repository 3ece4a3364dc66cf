//! Slices, vectors and arrays of keys.
//!
//! A vector has a byte of 1 before each item and a byte of 0 behind the last one. So a sequence
//! that another one begins with is less. An array has its items alone. [`bytes`](super::bytes)
//! overrides the functions for vectors of `u8`.

use arrayvec::ArrayVec;

use super::integers::unknown_tag;
use super::{AsKey, DecodeError, EncodeKey, Key, KeyPrefix, KeyReader};

const END: u8 = 0;
const ITEM: u8 = 1;

/// Appends a sequence.
pub(super) fn encode<T: Key>(items: &[T], out: &mut Vec<u8>) {
    encode_items(items, out);
    out.push(END);
}

/// Appends a sequence without its end.
pub(super) fn encode_items<T: Key>(items: &[T], out: &mut Vec<u8>) {
    for item in items {
        out.push(ITEM);
        item.encode_part(out);
    }
}

/// Reads a sequence.
pub(super) fn decode<T: Key>(reader: &mut KeyReader<'_>) -> Result<Vec<T>, DecodeError> {
    reader.nested(|reader| {
        let mut items = Vec::new();
        loop {
            let position = reader.position();
            match reader.take::<Vec<T>, 1>()? {
                [END] => return Ok(items),
                [ITEM] => items.push(T::decode_part(reader)?),
                [found] => return Err(unknown_tag::<Vec<T>>(position, found, "0 (end) or 1 (item)")),
            }
        }
    })
}

impl<T: Key> EncodeKey for [T] {
    fn encode_part(&self, out: &mut Vec<u8>) {
        T::encode_slice_part(self, out);
    }

    fn encode_last(&self, out: &mut Vec<u8>) {
        T::encode_slice_last(self, out);
    }
}

impl<T: Key> EncodeKey for Vec<T> {
    fn encode_part(&self, out: &mut Vec<u8>) {
        self.as_slice().encode_part(out);
    }

    fn encode_last(&self, out: &mut Vec<u8>) {
        self.as_slice().encode_last(out);
    }
}

impl<T: Key> AsKey<Vec<T>> for [T] {}
impl<T: Key> AsKey<Vec<T>> for Vec<T> {}

impl<T: Key> Key for Vec<T> {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        T::decode_vec_part(reader)
    }

    fn decode_last(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        T::decode_vec_last(reader)
    }
}

impl<T: Key> KeyPrefix<Vec<T>> for [T] {
    fn encode_prefix(&self, out: &mut Vec<u8>) {
        T::encode_slice_prefix(self, out);
    }
}

impl<T: Key> KeyPrefix<Vec<T>> for Vec<T> {
    fn encode_prefix(&self, out: &mut Vec<u8>) {
        self.as_slice().encode_prefix(out);
    }
}

impl<T: Key, const N: usize> KeyPrefix<Vec<T>> for [T; N] {
    fn encode_prefix(&self, out: &mut Vec<u8>) {
        self.as_slice().encode_prefix(out);
    }
}

impl<T: EncodeKey, const N: usize> EncodeKey for [T; N] {
    fn encode_part(&self, out: &mut Vec<u8>) {
        for item in self {
            item.encode_part(out);
        }
    }

    fn encode_last(&self, out: &mut Vec<u8>) {
        if let [first @ .., last] = self.as_slice() {
            for item in first {
                item.encode_part(out);
            }
            last.encode_last(out);
        }
    }
}

impl<K, T: AsKey<K>, const N: usize> AsKey<[K; N]> for [T; N] {}

impl<T: Key, const N: usize> Key for [T; N] {
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        collect((0..N).map(|_| T::decode_part(reader)))
    }

    fn decode_last(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        collect((1..=N).map(|count| if count == N { T::decode_last(reader) } else { T::decode_part(reader) }))
    }
}

/// Collects `N` items into an array.
fn collect<T, const N: usize>(
    items: impl Iterator<Item = Result<T, DecodeError>>,
) -> Result<[T; N], DecodeError> {
    let items = items.collect::<Result<ArrayVec<T, N>, _>>()?;
    Ok(items.into_inner().unwrap_or_else(|_| unreachable!("the caller has {N} items")))
}
