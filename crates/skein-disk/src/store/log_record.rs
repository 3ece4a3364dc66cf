//! Records of the log: the writes of a transaction, for replay.
//!
//! ```text
//!   0                 8      9            13             17
//!   │ first's number  │ kind │ key length │ value length │ key │ value │ kind │ ...
//! ```
//!
//! The kind has the operation in its low four bits and the number of the key space in its high four
//! bits. The main space has the number 0, so a record without other spaces has the bytes that older
//! programs wrote.
//!
//! A record has the result of each write. For example, a `cas` or an `inc` is logged as a set. So a
//! replay always has the same result.

use crate::KeySpace;
use crate::page::{u32_at, u64_at};

const SET: u8 = 1;
const REMOVE: u8 = 2;
/// The bits of a kind that are the operation.
const OPERATION: u8 = 15;
/// The first bit of a kind that belongs to the space.
const SPACE: u32 = 4;
/// The number of the first write.
const NUMBER: usize = 8;
/// Bytes before a write's key.
const HEAD: usize = 9;

/// A write to a key of a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoggedWrite<'r> {
    pub(super) space: KeySpace,
    pub(super) key: &'r [u8],
    /// `None` for a removal.
    pub(super) value: Option<&'r [u8]>,
}

impl<'r> LoggedWrite<'r> {
    /// Returns its length in a record.
    pub(super) fn len(&self) -> usize {
        HEAD + self.key.len() + self.value.map_or(0, <[u8]>::len)
    }

    fn append(&self, out: &mut Vec<u8>) {
        let value = self.value.unwrap_or_default();
        let operation = if self.value.is_some() { SET } else { REMOVE };
        out.push(operation | self.space.number() << SPACE);
        out.extend((self.key.len() as u32).to_le_bytes());
        out.extend((value.len() as u32).to_le_bytes());
        out.extend(self.key);
        out.extend(value);
    }

    /// Decodes a write at the start of `bytes`. Returns it with the remaining bytes, or `None` if
    /// there is no valid write.
    fn parse(bytes: &'r [u8]) -> Option<(Self, &'r [u8])> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let (key, rest) = rest.split_at_checked(u32_at(head, 1) as usize)?;
        let (value, rest) = rest.split_at_checked(u32_at(head, 5) as usize)?;
        let space = KeySpace::of_number(head[0] >> SPACE)?;
        let value = match head[0] & OPERATION {
            SET => Some(value),
            REMOVE if value.is_empty() => None,
            _ => return None,
        };
        Some((Self { space, key, value }, rest))
    }
}

/// Appends a write to a record, which must be empty before the first write. `number` is the number
/// of the write.
pub(super) fn append(record: &mut Vec<u8>, number: u64, write: &LoggedWrite<'_>) {
    if record.is_empty() {
        record.extend(number.to_le_bytes());
    }
    write.append(record);
}

/// Decodes a record. Returns the number of its first write and all writes, or `None` if the bytes
/// are not a record.
pub(super) fn parse(record: &[u8]) -> Option<(u64, Vec<LoggedWrite<'_>>)> {
    let (number, mut rest) = record.split_at_checked(NUMBER)?;
    let mut writes = Vec::new();
    while !rest.is_empty() {
        let (write, after) = LoggedWrite::parse(rest)?;
        writes.push(write);
        rest = after;
    }
    (!writes.is_empty()).then(|| (u64_at(number, 0), writes))
}

/// Returns whether a record must be replayed after the write `last`. Returns false if the file has
/// it already, because the file's last write is `in_file`.
///
/// # Errors
/// The record neither follows `last` nor is in the file: writes are missing or duplicated.
pub(super) fn is_after(first: u64, last: u64, in_file: u64) -> Result<bool, String> {
    if first <= in_file {
        return Ok(false);
    }
    if first == last + 1 {
        return Ok(true);
    }
    Err(format!("write {first} follows write {last}, but write {} should", last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write<'r>(space: KeySpace, key: &'r [u8], value: Option<&'r [u8]>) -> LoggedWrite<'r> {
        LoggedWrite { space, key, value }
    }

    #[test]
    fn only_encoded_records_are_decoded() {
        let writes = [
            write(KeySpace::Main, b"goose", Some(b"honks")),
            write(KeySpace::Members, b"", Some(b"")),
            write(KeySpace::Members, b"geese", None),
        ];
        let mut record = Vec::new();
        for (write, number) in writes.iter().zip(1 << 40..) {
            append(&mut record, number, write);
        }
        assert_eq!(record.len(), NUMBER + writes.iter().map(LoggedWrite::len).sum::<usize>());
        assert_eq!(parse(&record), Some((1 << 40, writes.to_vec())));
        let ends = [NUMBER, NUMBER + writes[0].len(), NUMBER + writes[0].len() + writes[1].len()];
        for len in (0..record.len()).filter(|len| !ends[1..].contains(len)) {
            assert_eq!(parse(&record[..len]), None, "cut to {len} bytes");
        }
        for end in ends {
            for kind in [0, 3, SET | 4 << SPACE, REMOVE | 15 << SPACE] {
                let mut wrong = record.clone();
                wrong[end] = kind;
                assert_eq!(parse(&wrong), None, "a write of the unknown kind {kind}");
            }
        }
    }

    #[test]
    fn the_bytes_of_a_record_stay_what_they_are() {
        let writes = [write(KeySpace::Main, b"k", Some(b"vv")), write(KeySpace::Main, b"k", None)];
        let mut record = Vec::new();
        writes.iter().zip(7..).for_each(|(write, number)| append(&mut record, number, write));
        assert_eq!(record, b"\x07\0\0\0\0\0\0\0\x01\x01\0\0\0\x02\0\0\0kvv\x02\x01\0\0\0\0\0\0\0k");
        assert_eq!(parse(&record), Some((7, writes.to_vec())));
        record.clear();
        append(&mut record, 7, &write(KeySpace::Members, b"k", Some(b"vv")));
        assert_eq!(record[NUMBER], 0x11, "the space is in the high bits");
    }

    #[test]
    fn a_removal_has_no_value() {
        let mut record = Vec::new();
        append(&mut record, 1, &write(KeySpace::Main, b"goose", Some(b"honks")));
        record[NUMBER] = REMOVE;
        assert_eq!(parse(&record), None);
    }
}
