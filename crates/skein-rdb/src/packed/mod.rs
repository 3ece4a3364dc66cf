//! Blobs of many elements, with which Redis writes small collections.
//!
//! | blob       | elements                                   | written by              |
//! | ---------- | ------------------------------------------ | ----------------------- |
//! | listpack   | texts and numbers                          | Redis 5 (streams), 7.0  |
//! | ziplist    | texts and numbers, with links to the front | Redis before 7.0        |
//! | zipmap     | names and values                           | Redis before 2.6        |
//! | intset     | numbers in order                           | Redis 2.2 and later     |
//!
//! A list has several blobs in a row (`quicklist`).
//!
//! A blob is a string of the dump, so it is in memory when it is read. Its elements are read one by
//! one, and nothing but the bytes of the blob decides where one ends.

mod intset;
mod listpack;
mod quicklist;
mod ziplist;
mod zipmap;

use std::borrow::Cow;

pub(crate) use intset::read_intset;
pub use intset::write_intset;
pub use listpack::ListpackWriter;
pub(crate) use listpack::read_listpack;
pub use quicklist::QuicklistWriter;
pub(crate) use ziplist::read_ziplist;
pub(crate) use zipmap::read_zipmap;

use crate::{RdbError, Result};

/// An element of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PackedElement<'b> {
    Text(&'b [u8]),
    Number(i64),
}

impl<'b> PackedElement<'b> {
    /// Returns the element as a text.
    pub(crate) fn text(self) -> Cow<'b, [u8]> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Number(number) => Cow::Owned(number.to_string().into_bytes()),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.text().into_owned()
    }
}

/// The bytes of a blob that are still to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlobBytes<'b> {
    rest: &'b [u8],
    /// The length of the whole blob.
    len: usize,
    /// The position of the blob in the input.
    offset: u64,
    name: &'static str,
}

impl<'b> BlobBytes<'b> {
    pub(crate) fn new(blob: &'b [u8], offset: u64, name: &'static str) -> Self {
        Self { rest: blob, len: blob.len(), offset, name }
    }

    /// Returns the position of the next byte in the blob.
    fn at(&self) -> usize {
        self.len - self.rest.len()
    }

    fn take(&mut self, len: usize, expected: &'static str) -> Result<&'b [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.damaged("the end of the blob", expected));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.damaged("the end of the blob", expected));
        };
        self.rest = rest;
        Ok(*taken)
    }

    fn byte(&mut self, expected: &'static str) -> Result<u8> {
        self.array(expected).map(|[byte]| byte)
    }

    fn u32(&mut self, expected: &'static str) -> Result<u32> {
        self.array(expected).map(u32::from_le_bytes)
    }

    /// Reads a number of 3 bytes.
    fn i24(&mut self, expected: &'static str) -> Result<i64> {
        let [a, b, c] = self.array(expected)?;
        Ok(i64::from(i32::from_le_bytes([0, a, b, c]) >> 8))
    }

    /// Returns the error for the next bytes.
    pub(crate) fn damaged(&self, found: &str, expected: &'static str) -> RdbError {
        let (name, at) = (self.name, self.at());
        RdbError::damaged(self.offset, format!("{found} at byte {at} of a {name}"), expected)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_blob_panics(blob: Vec<u8>, count: u16) {
            let whole = {
                let mut whole = (blob.len() as u32 + 7).to_le_bytes().to_vec();
                whole.extend_from_slice(&count.to_le_bytes());
                whole.extend_from_slice(&blob);
                whole.push(0xff);
                whole
            };
            for blob in [&blob, &whole] {
                let _ = read_listpack(blob, 0, |_| Ok(()));
                let _ = read_ziplist(blob, 0, |_| Ok(()));
                let _ = read_zipmap(blob, 0, |_, _| Ok(()));
                let _ = read_intset(blob, 0, |_| Ok(()));
            }
        }
    }
}
