//! Rows as bytes, for an engine that stores them elsewhere: see "Rows" in `docs/format.md`.
//!
//! ```text
//!   kind u8 │ the value                               kind 1
//!   kind u8 │ one table of columns                    kind 2, see `table`
//!   kind u8 │ id u64 │ count u64                      kinds 3 to 5, the head of a sorted set, a
//!                                                     hash or a set, see `collection`
//!   kind u8 │ members                                 kinds 11 to 13, see `PackedMembers`
//!   kind u8 + 0x80 │ expires at u64 │ the same        of a row that expires
//! ```
//!
//! A [`RowBuffer`] holds such a row in the layout of rows in memory, so that readers of rows are
//! the same for all engines. One buffer is used for many rows in turn. Once it is large enough it
//! allocates nothing more; memory above 1 MiB is freed.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::column_table::{self as table, Column, ColumnTable};
use crate::encoding::{ByteReader, EXPIRES, put_kind};
use crate::{CollectionKind, PackedMembers};

use super::age_clock::VERSION_MASK;
use super::collection::{CollectionHead, PACKED_BYTES_MAX, packed_len};
use super::{BODY, BODY_LEN_MAX, RowKind, RowRef, TAG, tag_of};

const VALUE: u8 = 1;
const COLUMNS: u8 = 2;

/// The largest capacity that a buffer keeps for the next row: 1 MiB.
const KEEP_WORDS: usize = 1 << 17;

/// A row that was decoded from bytes.
///
/// ```
/// use skein_model::{RowAllocator, RowBuffer};
///
/// let row = RowAllocator::new().value(&[b"grey"])?;
/// let mut bytes = Vec::new();
/// row.as_ref().encode(&mut bytes);
/// let mut buffer = RowBuffer::default();
/// let read = buffer.read(7, &bytes).expect("it is a row");
/// assert_eq!((read.version(), read.value()), (7, Some(&b"grey"[..])));
/// assert!(buffer.read(8, b"no row").is_none());
/// # Ok::<(), skein_model::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct RowBuffer {
    /// Version, tag and body, as drawn in `row`.
    words: Vec<u64>,
}

impl RowBuffer {
    /// Decodes a row and gives it this version. Returns `None` if the bytes are not a row.
    pub fn read(&mut self, version: u64, bytes: &[u8]) -> Option<RowRef<'_>> {
        let mut reader = ByteReader(bytes);
        let byte = reader.u8()?;
        let expires = reader.expiry(byte)?;
        let body = reader.0;
        let kind = match byte & !EXPIRES {
            VALUE => RowKind::Value,
            COLUMNS => {
                ColumnTable::parse(body).filter(|(_, rest)| rest.is_empty()).map(|_| RowKind::Table)?
            }
            code => {
                let field = match CollectionKind::of_packed_code(code) {
                    Some(kind) if body.len() <= PACKED_BYTES_MAX => {
                        PackedMembers::parse(kind, body).map(|_| packed_len(kind, body.len()))
                    }
                    Some(_) => None,
                    None => CollectionHead::parse(code.into(), body).map(|head| head.code() as usize),
                };
                self.fill(version, tag_of(RowKind::Other, field?, expires), body, expires);
                return Some(self.row());
            }
        };
        if body.len() > BODY_LEN_MAX {
            return None;
        }
        self.fill(version, tag_of(kind, body.len(), expires), body, expires);
        Some(self.row())
    }

    fn row(&mut self) -> RowRef<'_> {
        // Through `&mut`, because the first word of a row is read as an atomic.
        RowRef { start: NonNull::from(&mut self.words[..]).cast(), row: PhantomData }
    }

    fn fill(&mut self, version: u64, tag: u32, body: &[u8], expires: Option<u64>) {
        const { assert!(TAG == 8 && BODY == 12) };
        self.words.clear();
        self.words.shrink_to(KEEP_WORDS);
        self.words.push((version & VERSION_MASK).to_le());
        let mut packer = WordPacker { words: &mut self.words, word: [0; 8], at: 0 };
        packer.extend(&tag.to_ne_bytes());
        packer.extend(body);
        if let Some(expires) = expires {
            packer.extend(&expires.to_ne_bytes());
        }
        packer.finish();
    }
}

/// Packs bytes into words.
struct WordPacker<'w> {
    words: &'w mut Vec<u64>,
    /// The word that is being filled, up to `at`.
    word: [u8; 8],
    at: usize,
}

impl WordPacker<'_> {
    fn extend(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.at == 0 {
                let (whole, rest) = bytes.as_chunks::<8>();
                self.words.extend(whole.iter().map(|word| u64::from_ne_bytes(*word)));
                bytes = rest;
            }
            let (here, rest) = bytes.split_at(bytes.len().min(8 - self.at));
            self.word[self.at..self.at + here.len()].copy_from_slice(here);
            self.at += here.len();
            bytes = rest;
            if self.at == 8 {
                self.push();
            }
        }
    }

    fn push(&mut self) {
        self.words.push(u64::from_ne_bytes(self.word));
        (self.word, self.at) = ([0; 8], 0);
    }

    fn finish(mut self) {
        if self.at > 0 {
            self.push();
        }
    }
}

impl RowRef<'_> {
    /// Appends the row as bytes for [`RowBuffer::read`].
    pub fn encode(self, out: &mut Vec<u8>) {
        if let Some(value) = self.value() {
            return encode_value(value, self.expires_at(), out);
        }
        if let Some((packed, code)) = self.packed_with_code() {
            put_kind(out, code, self.expires_at());
            return out.extend_from_slice(packed.as_bytes());
        }
        if let Some(head) = self.stored_collection() {
            put_kind(out, head.code() as u8, self.expires_at());
            return out.extend_from_slice(&head.to_bytes());
        }
        put_kind(out, COLUMNS, self.expires_at());
        let columns: Vec<Column<'_>> = self.columns().collect();
        let start = out.len();
        out.resize(start + table::size(&columns), 0);
        table::write(&columns, &mut out[start..]);
    }
}

/// Appends the bytes of a row with one value that expires at `expires` (milliseconds since 1970),
/// if given.
pub fn encode_value(value: &[u8], expires: Option<u64>, out: &mut Vec<u8>) {
    out.reserve(1 + size_of::<u64>() + value.len());
    put_kind(out, VALUE, expires);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CollectionKind;
    use crate::RowAllocator;
    use crate::row::collection::HEAD;
    use crate::row::{Row, TABLE_BYTES_MAX};

    fn bytes_of(row: &Row) -> Vec<u8> {
        let mut bytes = Vec::new();
        row.as_ref().encode(&mut bytes);
        bytes
    }

    #[test]
    fn values_of_all_lengths_are_decoded() {
        let (rows, mut buffer) = (RowAllocator::new(), RowBuffer::default());
        for len in (0..40).rev().chain([0, 7, 100_000]) {
            let value: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let bytes = bytes_of(&rows.value(&[&value]).unwrap());
            assert_eq!(bytes.len(), len + 1);
            let row = buffer.read(len as u64, &bytes).unwrap();
            assert_eq!((row.version(), row.value(), row.expires_at()), (len as u64, Some(&value[..]), None));
            let bytes = bytes_of(&rows.value_until(&[&value], Some(u64::MAX - len as u64)).unwrap());
            assert_eq!(bytes.len(), len + 9);
            let row = buffer.read(1, &bytes).unwrap();
            assert_eq!((row.value(), row.expires_at()), (Some(&value[..]), Some(u64::MAX - len as u64)));
            assert!(!row.has_columns() && row.column(b"a").is_none() && row.content_len() == len);
        }
    }

    #[test]
    fn decoded_columns_can_be_merged_into() {
        let (rows, mut buffer) = (RowAllocator::new(), RowBuffer::default());
        for count in [1, 2, 5, 500] {
            let names: Vec<[u8; 2]> = (0..count).map(u16::to_be_bytes).collect();
            let columns: Vec<Column<'_>> = names.iter().map(|name| (&name[..], &b"some value"[..])).collect();
            let row = rows.columns(&columns).unwrap().unwrap();
            assert_eq!(row.as_ref().is_large(), table::size(&columns) > TABLE_BYTES_MAX);
            let bytes = bytes_of(&row);
            let read = buffer.read(3, &bytes).unwrap();
            assert!(read.columns().eq(row.as_ref().columns()) && read.column_count() == columns.len());
            assert_eq!((read.value(), read.column(&names[0])), (None, Some(&b"some value"[..])));
            let set: &[Column<'_>] = &[(b"new", b"1")];
            let merged = rows.merged(Some(read), set, &[&names[0]]).unwrap().unwrap();
            let expected = rows.merged(Some(row.as_ref()), set, &[&names[0]]).unwrap().unwrap();
            assert!(merged.as_ref().columns().eq(expected.as_ref().columns()));
            let expiring = bytes_of(&rows.until(row.as_ref(), Some(9)));
            let read = buffer.read(3, &expiring).unwrap();
            assert!(read.expires_at() == Some(9) && read.columns().eq(row.as_ref().columns()));
        }
    }

    #[test]
    fn heads_of_stored_collections_are_decoded() {
        let (rows, mut buffer) = (RowAllocator::new(), RowBuffer::default());
        for kind in CollectionKind::ALL {
            for expires in [None, Some(9)] {
                let head = CollectionHead { kind, id: u64::MAX - 1, len: 7 };
                let row = rows.stored_collection(head, expires);
                let bytes = bytes_of(&row);
                assert_eq!(bytes.len(), 1 + HEAD + expires.map_or(0, |_| 8));
                for row in [row.as_ref(), buffer.read(3, &bytes).unwrap()] {
                    assert_eq!((row.stored_collection(), row.expires_at()), (Some(head), expires));
                    assert_eq!(row.collection_kind(), Some(kind));
                    assert!(row.value().is_none() && !row.has_columns() && row.changes().is_none());
                    let later = rows.until(row, Some(11));
                    assert_eq!(
                        (later.as_ref().stored_collection(), later.as_ref().expires_at()),
                        (Some(head), Some(11))
                    );
                }
                assert!(buffer.read(3, &bytes[..bytes.len() - 1]).is_none());
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn garbage_is_a_row_or_none(kind in 0u8..7, expires: bool, body: Vec<u8>) {
            let kind = if expires { kind | EXPIRES } else { kind };
            let bytes = [&[kind][..], &body].concat();
            let mut buffer = RowBuffer::default();
            if let Some(row) = buffer.read(1, &bytes) {
                let mut again = Vec::new();
                row.encode(&mut again);
                proptest::prop_assert_eq!(again, bytes);
            }
        }
    }
}
