//! The numbers of reserved keys, which a server or a library sets apart from the others.
//!
//! ```text
//!   main     ff 53 4b 00 │ number u32 │ name        a reserved key
//!   expiry   time u64 │ key of `main`               that expires
//!
//!   write ─► changes of the transaction ─ publication ─► counts ─ checkpoint ─► pages of counts
//! ```
//!
//! They are counted by the number, if it is that of a database, and all together. So neither an
//! opening nor a request for the number of keys has to visit the keys.
//!
//! # Invariants
//! 1. The counts change with a publication, before another write, a checkpoint or a snapshot
//!    begins. So those of a checkpoint are of its moment, and replay adds the changes of later
//!    writes.

use std::collections::BTreeMap;

use super::{DiskShared, DiskStore};
use crate::page::{u32_at, u64_at};
use crate::{DiskTransaction, KeySpace};

/// The first bytes of reserved keys.
const RESERVED: [u8; 4] = *b"\xffSK\0";
/// The least number that is counted by itself. The others are counted under 0.
const DATABASES: u32 = 0xffff_0000;
/// Bytes of the counts of a number in a checkpoint.
pub(crate) const COUNT_BYTES: usize = 40;

/// Numbers of reserved keys, or the change of such numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReservedCount {
    /// Keys.
    pub keys: i64,
    /// Keys that expire.
    pub expiring: i64,
    /// The sum of the times when they expire, in milliseconds since 1970.
    pub times: i128,
}

impl ReservedCount {
    fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.expiring += other.expiring;
        self.times += other.times;
    }
}

/// The numbers of reserved keys by their number, and of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReservedCounts {
    all: ReservedCount,
    by_number: BTreeMap<u32, ReservedCount>,
}

impl ReservedCounts {
    /// Returns the counts of a number, or of all keys with `None`.
    fn of(&self, number: Option<u32>) -> ReservedCount {
        match number {
            None => self.all,
            Some(number) => self.by_number.get(&number).copied().unwrap_or_default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    fn add_to(&mut self, number: u32, change: ReservedCount) {
        self.all.add(change);
        let count = self.by_number.entry(number).or_default();
        count.add(change);
        if *count == ReservedCount::default() {
            self.by_number.remove(&number);
        }
    }

    /// Adds the changes of a transaction.
    pub(super) fn add(&mut self, changes: &Self) {
        for (number, change) in &changes.by_number {
            self.add_to(*number, *change);
        }
    }

    /// Notes that a write has added a key to a space, or has removed it.
    pub(super) fn note(&mut self, space: KeySpace, key: &[u8], change: i64) {
        match space {
            KeySpace::Main => {
                if let Some(number) = number_of(key) {
                    self.add_to(number, ReservedCount { keys: change, ..ReservedCount::default() });
                }
            }
            KeySpace::Expiry => {
                let Some((time, key)) = key.split_first_chunk() else { return };
                if let Some(number) = number_of(key) {
                    let times = i128::from(u64::from_be_bytes(*time)) * i128::from(change);
                    self.add_to(number, ReservedCount { keys: 0, expiring: change, times });
                }
            }
            KeySpace::Members | KeySpace::Scores => {}
        }
    }

    /// Returns the counts as bytes for a checkpoint, [`COUNT_BYTES`] for each number.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.by_number.len() * COUNT_BYTES);
        for (number, count) in &self.by_number {
            bytes.extend(number.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(count.keys.to_le_bytes());
            bytes.extend(count.expiring.to_le_bytes());
            bytes.extend(count.times.to_le_bytes());
        }
        bytes
    }

    /// Decodes the counts of a checkpoint.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let mut counts = Self::default();
        for entry in bytes.chunks_exact(COUNT_BYTES) {
            let times = u128::from(u64_at(entry, 24)) | u128::from(u64_at(entry, 32)) << 64;
            let count = ReservedCount {
                keys: u64_at(entry, 8).cast_signed(),
                expiring: u64_at(entry, 16).cast_signed(),
                times: times.cast_signed(),
            };
            counts.add_to(u32_at(entry, 0), count);
        }
        counts
    }
}

/// Returns the number under which a reserved key is counted, or `None` for another key.
#[inline]
fn number_of(key: &[u8]) -> Option<u32> {
    let rest = key.strip_prefix(&RESERVED)?;
    let number = rest.first_chunk().map_or(0, |number| u32::from_be_bytes(*number));
    Some(if number >= DATABASES { number } else { 0 })
}

impl DiskShared {
    /// Adds the changes of a write that is being published.
    pub(super) fn add_reserved(&self, changes: &ReservedCounts) {
        if !changes.is_empty() {
            self.lock_reserved().add(changes);
        }
    }
}

impl DiskStore {
    /// Returns the numbers of reserved keys with this number, or of all reserved keys. A key of the
    /// main space is reserved if it begins with `ff 53 4b 00`; the next four bytes are its number,
    /// big-endian. Numbers from `ffff0000` on are counted by themselves, the others under 0. Stores
    /// of plain bytes count nothing.
    ///
    /// ```
    /// use skein_disk::{DiskOptions, DiskStore, Values};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let options = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
    /// let store = DiskStore::open(folder.path(), options)?;
    /// store.set(b"\xffSK\0\xff\xff\0\x03goose", b"honks")?;
    /// assert_eq!(store.reserved_count(Some(0xffff_0003)).keys, 1);
    /// assert_eq!(store.reserved_count(None).keys, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserved_count(&self, number: Option<u32>) -> ReservedCount {
        self.shared.lock_reserved().of(number)
    }
}

impl DiskTransaction<'_> {
    /// Returns the numbers of reserved keys, including the transaction's own writes; see
    /// [`DiskStore::reserved_count`].
    pub fn reserved_count(&self, number: Option<u32>) -> ReservedCount {
        let mut count = self.shared.lock_reserved().of(number);
        count.add(self.reserved.of(number));
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_their_encoding() {
        let mut counts = ReservedCounts::default();
        for (at, number) in [1, 0xffff_0000, 0xffff_03ff_u32].into_iter().enumerate() {
            let key = [&RESERVED[..], &number.to_be_bytes(), b"name"].concat();
            (0..=at).for_each(|_| counts.note(KeySpace::Main, &key, 1));
            counts.note(KeySpace::Expiry, &[&u64::MAX.to_be_bytes()[..], &key].concat(), 1);
        }
        counts.note(KeySpace::Main, b"\xffSK\0", 1);
        counts.note(KeySpace::Main, b"\xffSK", 1);
        counts.note(KeySpace::Expiry, &[255], 1);
        assert_eq!(counts.all, ReservedCount { keys: 7, expiring: 3, times: 3 * i128::from(u64::MAX) });
        assert_eq!((counts.of(Some(0)).keys, counts.of(Some(0xffff_03ff)).keys), (2, 3));
        assert_eq!(ReservedCounts::of_bytes(&counts.bytes()), counts);
        let mut undone = counts.clone();
        for (number, count) in &counts.by_number {
            let change = ReservedCount { keys: -count.keys, expiring: -count.expiring, times: -count.times };
            undone.add_to(*number, change);
        }
        assert_eq!(undone, ReservedCounts::default());
    }
}
