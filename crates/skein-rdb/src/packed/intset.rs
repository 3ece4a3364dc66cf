//! Sets of integers in order.
//!
//! ```text
//!   u32 bytes of each (2, 4 or 8) │ u32 members │ members, little-endian, the smallest first
//! ```

use super::BlobBytes;
use crate::Result;

/// Calls `each` with the members of an integer set at this offset of the input.
pub(crate) fn read_intset(blob: &[u8], offset: u64, mut each: impl FnMut(i64) -> Result<()>) -> Result<()> {
    let mut bytes = BlobBytes::new(blob, offset, "integer set");
    let width = bytes.u32("the width of the members")? as usize;
    if ![2, 4, 8].contains(&width) {
        return Err(bytes.damaged(&format!("a width of {width}"), "2, 4 or 8 bytes"));
    }
    let count = bytes.u32("the number of members")? as usize;
    if bytes.rest.len() != count.saturating_mul(width) {
        return Err(bytes.damaged("another length", "the length of all members"));
    }
    let mut before = None;
    while !bytes.rest.is_empty() {
        let of_member = bytes;
        let taken = bytes.take(width, "a member")?;
        let mut member = [if taken[width - 1] & 0x80 == 0 { 0 } else { 0xff }; 8];
        member[..width].copy_from_slice(taken);
        let member = i64::from_le_bytes(member);
        if before.is_some_and(|before| before >= member) {
            return Err(of_member.damaged(&member.to_string(), "a member that is larger than the one before"));
        }
        before = Some(member);
        each(member)?;
    }
    Ok(())
}

/// Returns the integer set with these members, which must be in order.
pub fn write_intset(members: &[i64]) -> Vec<u8> {
    let fits = |least: i64, greatest: i64| {
        members.first().is_none_or(|first| *first >= least)
            && members.last().is_none_or(|last| *last <= greatest)
    };
    let width = if fits(i64::from(i16::MIN), i64::from(i16::MAX)) {
        2
    } else if fits(i64::from(i32::MIN), i64::from(i32::MAX)) {
        4
    } else {
        8
    };
    let mut blob = (width as u32).to_le_bytes().to_vec();
    blob.extend_from_slice(&(members.len() as u32).to_le_bytes());
    for member in members {
        blob.extend_from_slice(&member.to_le_bytes()[..width]);
    }
    blob
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(blob: &[u8]) -> Result<Vec<i64>> {
        let mut members = Vec::new();
        read_intset(blob, 0, |member| {
            members.push(member);
            Ok(())
        })?;
        Ok(members)
    }

    #[test]
    fn members_of_every_width_are_read_again() {
        for (all, width) in [
            (vec![], 2),
            (vec![-32768, -1, 0, 32767], 2),
            (vec![-5, 32768], 4),
            (vec![i64::from(i32::MIN), 7], 4),
            (vec![i64::MIN, -1, i64::MAX], 8),
        ] {
            let blob = write_intset(&all);
            assert_eq!(blob.len(), 8 + width * all.len());
            assert_eq!(members(&blob).unwrap(), all);
        }
    }

    #[test]
    fn damage_is_named() {
        for (blob, part) in [
            (&b"\x03\0\0\0\0\0\0\0"[..], "a width of 3"),
            (b"\x02\0\0\0\x02\0\0\0\x01\0", "another length"),
            (b"\x02\0\0\0\x02\0\0\0\x01\0\x01\0", "larger than the one before"),
            (b"\x02\0", "the end of the blob"),
        ] {
            let fault = members(blob).unwrap_err().to_string();
            assert!(fault.contains(part), "{fault}");
        }
    }
}
