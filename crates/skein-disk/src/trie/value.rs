//! The encoding of values in the records of nodes.
//!
//! ```text
//!   │ head 1 │ version 3, 4, 6 or 8 │ length 1 or 2 │ bytes           in its node
//!   │ head 1 │ version 3, 4, 6 or 8 │ length 4      │ first page 4    longer than `INLINE_MOST`
//! ```
//!
//! The bytes of a longer value lie in pages of their own (`overflow.rs`).
//!
//! # Invariants
//! 1. While a value is changed, before its version is, the head has the bit [`WRITING`], and the
//!    version counts as [`INVALID`].
//!
//! Source: section 3.2 (a value has a version), section 5 (the value is changed before the version,
//! which is invalid in between).

use super::node::{Result, UnreadBytes};
use super::overflow::OverflowChain;
use crate::page::{PageId, u32_at, u64_at};

/// The version of a value that is being written.
pub(crate) const INVALID: u64 = u64::MAX;
/// The longest value in a node, in bytes.
pub(crate) const INLINE_MOST: usize = 1024;

/// Bytes of a version, by the two lowest bits of the head.
const WIDTHS: [usize; 4] = [3, 4, 6, 8];
const WIDTH: u8 = 3;
const OVERFLOW: u8 = 4;
/// The length has two bytes.
const LONG: u8 = 8;
const WRITING: u8 = 16;

/// The most bytes of a value in a record.
pub(super) const TAKES_MOST: usize = 1 + 8 + 2 + INLINE_MOST;

/// The location of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredValue<'p> {
    Inline(&'p [u8]),
    Overflow(OverflowChain),
}

/// A value with its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VersionedValue<'p> {
    pub(crate) version: u64,
    pub(crate) stored: StoredValue<'p>,
}

/// Decodes a value.
#[inline(always)]
pub(super) fn take<'p>(rest: &mut UnreadBytes<'p>) -> Result<VersionedValue<'p>> {
    let head = rest.take(1)?[0];
    let written = number(rest.take(WIDTHS[usize::from(head & WIDTH)])?);
    let version = if head & WRITING == 0 { written } else { INVALID };
    if head & OVERFLOW != 0 {
        let chain = rest.take(8)?;
        let chain = OverflowChain { len: u32_at(chain, 0), first: PageId(u32_at(chain, 4)) };
        return Ok(VersionedValue { version, stored: StoredValue::Overflow(chain) });
    }
    let len = number(rest.take(if head & LONG == 0 { 1 } else { 2 })?);
    Ok(VersionedValue { version, stored: StoredValue::Inline(rest.take(len as usize)?) })
}

#[inline(always)]
fn number(bytes: &[u8]) -> u64 {
    match bytes.len() {
        1 => bytes[0].into(),
        2 => u16::from_le_bytes([bytes[0], bytes[1]]).into(),
        3 => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]).into(),
        4 => u32_at(bytes, 0).into(),
        6 => u64::from(u32_at(bytes, 0)) | u64::from(u16::from_le_bytes([bytes[4], bytes[5]])) << 32,
        _ => u64_at(bytes, 0),
    }
}

/// Appends an encoded value.
pub(super) fn encode(value: &VersionedValue<'_>, record: &mut Vec<u8>) {
    let is_writing = value.version == INVALID;
    let version = if is_writing { 0 } else { value.version };
    let width = width_of(version);
    let mut head = width | if is_writing { WRITING } else { 0 };
    let at = record.len();
    record.push(0);
    record.extend(&version.to_le_bytes()[..WIDTHS[usize::from(width)]]);
    match value.stored {
        StoredValue::Inline(bytes) => {
            if let Ok(len) = u8::try_from(bytes.len()) {
                record.push(len);
            } else {
                head |= LONG;
                record.extend((bytes.len() as u16).to_le_bytes());
            }
            record.extend(bytes);
        }
        StoredValue::Overflow(chain) => {
            head |= OVERFLOW;
            record.extend(chain.len.to_le_bytes());
            record.extend(chain.first.0.to_le_bytes());
        }
    }
    record[at] = head;
}

/// Returns the smallest width that holds a version, as a number for the head.
fn width_of(version: u64) -> u8 {
    let fits = |width: &usize| *width == 8 || version < 1 << (8 * width);
    WIDTHS.iter().position(fits).unwrap_or(WIDTHS.len() - 1) as u8
}

/// Marks the value at the start of these bytes as being written or not.
pub(super) fn set_writing(bytes: &mut [u8], is_writing: bool) {
    if let Some(head) = bytes.first_mut() {
        *head = if is_writing { *head | WRITING } else { *head & !WRITING };
    }
}

/// Overwrites the value at the start of these bytes, if the new value has the same length and the
/// version fits its width (invariant 1). Returns false and changes nothing otherwise.
pub(super) fn overwrite(bytes: &mut [u8], version: u64, value: &[u8]) -> Result<bool> {
    let StoredValue::Inline(before) = take(&mut UnreadBytes::of(bytes))?.stored else { return Ok(false) };
    let len = before.len();
    let width = WIDTHS[usize::from(bytes[0] & WIDTH)];
    if len != value.len() || WIDTHS[usize::from(width_of(version))] > width {
        return Ok(false);
    }
    let from = 1 + width + if bytes[0] & LONG == 0 { 1 } else { 2 };
    set_writing(bytes, true);
    bytes[from..from + len].copy_from_slice(value);
    bytes[1..=width].copy_from_slice(&version.to_le_bytes()[..width]);
    set_writing(bytes, false);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: &[u8]) -> VersionedValue<'_> {
        take(&mut UnreadBytes::of(bytes)).unwrap()
    }

    #[test]
    fn versions_are_encoded_in_the_least_bytes() {
        let bounds =
            [(0, 3), ((1 << 24) - 1, 3), (1 << 24, 4), (u32::MAX.into(), 4), (1 << 32, 6), (1 << 48, 8)];
        for (version, width) in bounds.into_iter().chain([(INVALID - 1, 8), (INVALID, 3)]) {
            for value in [&b""[..], &[7; 255], &[7; 256], &[7; INLINE_MOST]] {
                let versioned = VersionedValue { version, stored: StoredValue::Inline(value) };
                let mut bytes = Vec::new();
                encode(&versioned, &mut bytes);
                assert_eq!(taken(&bytes), versioned);
                assert_eq!(bytes.len(), 1 + width + value.len() + if value.len() < 256 { 1 } else { 2 });
                assert!(bytes.len() <= TAKES_MOST);
            }
            let chain = VersionedValue {
                version,
                stored: StoredValue::Overflow(OverflowChain { first: PageId(9), len: 1 << 29 }),
            };
            let mut bytes = Vec::new();
            encode(&chain, &mut bytes);
            assert_eq!((taken(&bytes), bytes.len()), (chain, 1 + width + 8));
            assert_eq!(overwrite(&mut bytes, 1, b""), Ok(false));
        }
    }

    #[test]
    fn a_value_of_the_same_length_is_overwritten_in_place() {
        let mut bytes = Vec::new();
        encode(&VersionedValue { version: 1 << 24, stored: StoredValue::Inline(b"value") }, &mut bytes);
        for (version, value, fits) in [
            (5, "other", true),
            (u32::MAX.into(), "third", true),
            (1 << 32, "fourt", false),
            (6, "fifth!", false),
        ] {
            let before = bytes.clone();
            assert_eq!(overwrite(&mut bytes, version, value.as_bytes()), Ok(fits));
            if fits {
                assert_eq!(
                    taken(&bytes),
                    VersionedValue { version, stored: StoredValue::Inline(value.as_bytes()) }
                );
            } else {
                assert_eq!(bytes, before);
            }
        }
        set_writing(&mut bytes, true);
        assert_eq!(taken(&bytes).version, INVALID);
        set_writing(&mut bytes, false);
        assert_eq!(taken(&bytes).version, u32::MAX.into());
    }
}
