//! Records of the log: what a write did, so that it can be done again.
//!
//! ```text
//!   0          8      9            13
//!   │ sequence │ kind │ key length │ key │ value, if it is a set
//! ```
//!
//! What a record sets is what came of the write, never how: a `cas` or an `inc` is a set of its result. So doing it again does the same.

use crate::page::{u32_at, u64_at};

const SET: u8 = 1;
const REMOVE: u8 = 2;
const HEAD: usize = 13;

/// A write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'r> {
    pub(super) sequence: u64,
    pub(super) key: &'r [u8],
    /// None if the key is removed.
    pub(super) value: Option<&'r [u8]>,
}

impl<'r> Record<'r> {
    /// Appends its bytes.
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        out.extend(self.sequence.to_le_bytes());
        out.push(if self.value.is_some() { SET } else { REMOVE });
        out.extend((self.key.len() as u32).to_le_bytes());
        out.extend(self.key);
        out.extend(self.value.unwrap_or_default());
    }

    /// How many bytes it has.
    pub(super) fn len(&self) -> usize {
        HEAD + self.key.len() + self.value.map_or(0, <[u8]>::len)
    }

    /// The record of these bytes; none if they are not one.
    pub(super) fn parse(bytes: &'r [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let (key, value) = rest.split_at_checked(u32_at(head, 9) as usize)?;
        let value = match head[8] {
            SET => Some(value),
            REMOVE if value.is_empty() => None,
            _ => return None,
        };
        Some(Self { sequence: u64_at(head, 0), key, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_from_its_bytes_and_nothing_else_does() {
        for (key, value) in [(&b"goose"[..], Some(&b"honks"[..])), (b"", Some(b"")), (b"geese", None)] {
            let record = Record { sequence: 1 << 40, key, value };
            let mut bytes = Vec::new();
            record.append(&mut bytes);
            assert_eq!(bytes.len(), record.len());
            assert_eq!(Record::parse(&bytes), Some(record));
            assert_eq!(Record::parse(&bytes[..HEAD - 1]), None);
            bytes[8] = 3;
            assert_eq!(Record::parse(&bytes), None);
        }
        let mut bytes = Vec::new();
        Record { sequence: 1, key: b"geese", value: None }.append(&mut bytes);
        bytes.push(0);
        assert_eq!(Record::parse(&bytes), None, "a removal has no value");
        assert_eq!(Record::parse(&bytes[..15]), None, "the key is cut off");
    }
}
