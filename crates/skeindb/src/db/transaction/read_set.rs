//! The read set of a transaction, as versions, and the check that it is unchanged.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::ControlFlow;

use skein_data::{EngineBounds, PresentRows, StoredKeyspace};

use super::key_intervals::{KeyIntervals, Position};
use super::planted_bugs::{self, PlantedBug};
use crate::db::range_reader::{OwnedBounds, borrowed};

/// The reads of a transaction.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    /// The version of each key; `None` if it was absent.
    keys: HashMap<Vec<u8>, Option<u64>>,
    /// The parts of each keyspace that were read as ranges. Each row counts once, so a part that is
    /// read many times is checked once.
    ranges: HashMap<StoredKeyspace, KeyIntervals<RangeDigest>>,
}

/// A row that was read within a range.
#[derive(Debug)]
pub(super) struct RowSeen {
    key: Vec<u8>,
    hash: u64,
}

impl RowSeen {
    pub(super) fn new(key: &[u8], version: u64) -> Self {
        #[cfg(test)]
        super::step_count::step();
        Self { key: key.to_vec(), hash: hash_of(key, version) }
    }
}

fn hash_of(key: &[u8], version: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(key);
    hasher.write_u64(version);
    hasher.finish()
}

/// Keys and versions of a range: their number, and hashes of them that do not depend on their
/// order, because a range may be read backward, and in parts, and is checked forward.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct RangeDigest {
    rows: u64,
    sum: u64,
    mixed: u64,
}

impl RangeDigest {
    fn add(&mut self, hash: u64) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(hash);
        // A second sum of a product, so that two rows cannot make up for two others.
        self.mixed = self.mixed.wrapping_add(hash.wrapping_mul(hash | 1));
    }

    /// Returns the digest of the rows of two ranges.
    fn joined(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            sum: self.sum.wrapping_add(other.sum),
            mixed: self.mixed.wrapping_add(other.mixed),
        }
    }
}

impl ReadSet {
    pub(super) fn note_key(&mut self, key: &[u8], version: Option<u64>) {
        if !self.keys.contains_key(key) {
            self.keys.insert(key.to_vec(), version);
        }
    }

    /// Notes a range that was read, with all rows of the snapshot within it.
    pub(super) fn note_range(&mut self, number: StoredKeyspace, bounds: EngineBounds<'_>, rows: &[RowSeen]) {
        let ranges = self.ranges.entry(number).or_default();
        let mut digest = RangeDigest::default();
        for row in rows.iter().filter(|row| !ranges.contains(&row.key)) {
            digest.add(row.hash);
        }
        let (lower, upper) = Position::of(bounds);
        ranges.add(lower, upper, digest, RangeDigest::joined);
    }

    /// Returns whether all keys and ranges have the versions that were read.
    pub(super) fn is_unchanged(&self, present: &mut PresentRows<'_, '_>) -> skein_data::Result<bool> {
        if !planted_bugs::is_on(PlantedBug::UncheckedKeys) {
            for (key, version) in &self.keys {
                if present.version(key)? != *version {
                    return Ok(false);
                }
            }
        }
        if !planted_bugs::is_on(PlantedBug::UncheckedRanges) {
            for (number, ranges) in &self.ranges {
                for (lower, upper, digest) in ranges.iter() {
                    let bounds = Position::bounds(lower.clone(), upper.clone());
                    if !bounds.map_or(Ok(true), |bounds| is_unchanged(*number, &bounds, *digest, present))? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}

/// Returns whether the rows within a range have this digest.
fn is_unchanged(
    number: StoredKeyspace,
    bounds: &OwnedBounds,
    read: RangeDigest,
    present: &mut PresentRows<'_, '_>,
) -> skein_data::Result<bool> {
    let mut digest = RangeDigest::default();
    // More rows than were read cannot be the same.
    let most = usize::try_from(read.rows).unwrap_or(usize::MAX).saturating_add(1);
    for bounds in number.pieces(borrowed(bounds)).into_iter().flatten() {
        present.scan(bounds, most, |key, version| {
            digest.add(hash_of(key, version));
            if digest.rows > read.rows { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    Ok(digest == read)
}
