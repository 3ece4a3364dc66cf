//! Records of the log: the writes of a transaction, for replay.
//!
//! ```text
//!   0                 8      9            13             17
//!   │ first's number  │ kind │ key length │ value length │ key │ value │ kind │ ...
//! ```
//!
//! A record has the result of each write. For example, a `cas` or an `inc` is logged as a set. So a
//! replay always has the same result.

use crate::page::{u32_at, u64_at};

const SET: u8 = 1;
const REMOVE: u8 = 2;
/// The number of the first write.
const NUMBER: usize = 8;
/// Bytes before a write's key.
const HEAD: usize = 9;

/// A write to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoggedWrite<'r> {
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
        out.push(if self.value.is_some() { SET } else { REMOVE });
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
        let value = match head[0] {
            SET => Some(value),
            REMOVE if value.is_empty() => None,
            _ => return None,
        };
        Some((Self { key, value }, rest))
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

    #[test]
    fn only_encoded_records_are_decoded() {
        let writes = [(&b"goose"[..], Some(&b"honks"[..])), (b"", Some(b"")), (b"geese", None)];
        let writes = writes.map(|(key, value)| LoggedWrite { key, value });
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
            let mut wrong = record.clone();
            wrong[end] = 3;
            assert_eq!(parse(&wrong), None, "a write of an unknown kind");
        }
    }

    #[test]
    fn a_removal_has_no_value() {
        let mut record = Vec::new();
        append(&mut record, 1, &LoggedWrite { key: b"goose", value: Some(b"honks") });
        record[NUMBER] = REMOVE;
        assert_eq!(parse(&record), None);
    }
}
