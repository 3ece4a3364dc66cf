//! Bounds on walks over damaged pages.
//!
//! ```text
//!   root ═a,b═► 1 ═a,b═► 2 ═a,b═► ... ═a,b═► 60        61 records, 2^60 paths to the last one
//! ```
//!
//! In a valid trie one pointer leads to each record. If two pointers lead to a record, in pages
//! with correct checksums, there may be more paths than any walk can finish. The walk notices
//! nothing else, because every node on such a path leads to a key.
//!
//! So a walk over one version of the pages remembers the records that it has visited, and reports
//! the first that it meets again. A scan in several requests cannot do that, because records move
//! between the requests. It counts its keys. If it has returned more keys than the pages can hold,
//! `check` walks over the whole trie and finds the record.

use std::collections::HashSet;

use super::core::damaged_record;
use crate::record::{BODY, RecordId, SLOT, WalkResult};

/// Records that a walk visits before it remembers any, so that a short walk needs no memory. An
/// endless walk meets some record again wherever it starts to remember.
const FREE: usize = 4_096;

/// The most records of a page.
pub(crate) const RECORDS_OF_PAGE: usize = BODY / SLOT;

/// The most keys of a page: a leaf takes 10 bytes.
pub(crate) const KEYS_OF_PAGE: usize = BODY / 10;

/// The records that a walk has visited.
#[derive(Debug, Default)]
pub(super) struct VisitedRecords {
    count: usize,
    records: HashSet<RecordId>,
}

impl VisitedRecords {
    /// Notes a visited record.
    ///
    /// # Errors
    /// The walk has visited it before.
    #[inline]
    pub(super) fn note(&mut self, id: RecordId) -> WalkResult<()> {
        self.count += 1;
        if self.count <= FREE || self.records.insert(id) {
            return Ok(());
        }
        Err(damaged_record(id, "two pointers lead to it"))
    }
}

/// Returns whether a scan that continues from `before` keys to `now` keys exceeds what `pages` can
/// hold: for the first time, or twice as much as the last time. So checks cost no more than the
/// scan.
pub(crate) fn exceeds_capacity(pages: usize, before: u64, now: u64) -> bool {
    let most = (pages.max(1) * KEYS_OF_PAGE) as u64;
    let times = |keys: u64| (keys / most + 1).ilog2();
    times(now) > times(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_checked_each_time_that_it_doubles() {
        let most = 3 * KEYS_OF_PAGE as u64;
        let looks = (1..=100).filter(|at| exceeds_capacity(3, (at - 1) * most / 4, at * most / 4));
        assert_eq!(looks.collect::<Vec<_>>(), [4, 12, 28, 60]);
    }
}
