//! What a transaction has read, as versions, and the check that it is unchanged.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::{Bound, ControlFlow};

use skein_data::{PresentRows, ScanDirection};

use super::planted_bugs::{self, PlantedBug};
use crate::db::physical_key::KeyspaceNumber;
use crate::db::range_reader::{ChunkRequest, OwnedBounds, borrowed};

/// The reads of a transaction.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    /// The version of each key; `None` if it was absent.
    keys: HashMap<Vec<u8>, Option<u64>>,
    ranges: Vec<RangeRead>,
}

/// A part of a range that was read.
#[derive(Debug)]
struct RangeRead {
    number: KeyspaceNumber,
    bounds: OwnedBounds,
    digest: RangeDigest,
}

/// Keys and versions of a range: their number, and hashes of them that do not depend on their
/// order, because a range may be read backward and checked forward.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct RangeDigest {
    rows: u64,
    sum: u64,
    mixed: u64,
}

impl RangeDigest {
    pub(super) fn add(&mut self, key: &[u8], version: u64) {
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        hasher.write_u64(version);
        let hash = hasher.finish();
        self.rows += 1;
        self.sum = self.sum.wrapping_add(hash);
        // A second sum of a product, so that two rows cannot make up for two others.
        self.mixed = self.mixed.wrapping_add(hash.wrapping_mul(hash | 1));
    }
}

impl ReadSet {
    pub(super) fn note_key(&mut self, key: &[u8], version: Option<u64>) {
        if !self.keys.contains_key(key) {
            self.keys.insert(key.to_vec(), version);
        }
    }

    /// Notes a chunk that ended behind the key `last`, or with the whole range.
    pub(super) fn note_range(
        &mut self,
        request: &ChunkRequest<'_>,
        last: Option<&[u8]>,
        digest: RangeDigest,
    ) {
        let (mut lower, mut upper) = request.bounds;
        if let Some(last) = last {
            match request.direction {
                ScanDirection::Forward => upper = Bound::Included(last),
                ScanDirection::Backward => lower = Bound::Included(last),
            }
        }
        let bounds = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        self.ranges.push(RangeRead { number: request.number, bounds, digest });
    }

    /// Returns whether all keys and ranges have the versions that were read.
    pub(super) fn is_unchanged(&self, present: &mut PresentRows<'_, '_>) -> skein_data::Result<bool> {
        let keys = self.keys.iter().filter(|_| !planted_bugs::is_on(PlantedBug::UncheckedKeys));
        for (key, version) in keys {
            if present.version(key)? != *version {
                return Ok(false);
            }
        }
        let ranges = self.ranges.iter().filter(|_| !planted_bugs::is_on(PlantedBug::UncheckedRanges));
        for range in ranges {
            if !range.is_unchanged(present)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl RangeRead {
    fn is_unchanged(&self, present: &mut PresentRows<'_, '_>) -> skein_data::Result<bool> {
        let mut digest = RangeDigest::default();
        // More rows than were read cannot be the same.
        let most = usize::try_from(self.digest.rows).unwrap_or(usize::MAX).saturating_add(1);
        for bounds in KeyspaceNumber::parts(borrowed(&self.bounds), self.number).into_iter().flatten() {
            present.scan(bounds, most, |key, version| {
                digest.add(key, version);
                if digest.rows > self.digest.rows {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
        }
        Ok(digest == self.digest)
    }
}
