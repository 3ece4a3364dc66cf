//! Bounds on walks over damaged pages.
//!
//! ```text
//!   root ═a,b═► 1 ═a,b═► 2 ═a,b═► ... ═a,b═► 60          61 records, and 2^60 paths to the last one
//! ```
//!
//! In a trie one pointer leads to each record. If two do, in pages whose checksums are right, there are more paths than any
//! walk ends with, and a walk sees nothing else that is wrong: every node of such a path leads to a key.
//!
//! A walk over one moment remembers the records that it has come to, and names the one that it meets again. A scan that goes
//! on portion by portion, while others write, cannot: records move. It counts, and once it has come to more keys than there
//! can be, `check` looks at all of the trie and names the record.

use std::collections::HashSet;

use super::core::damaged_record;
use crate::record::{BODY, RecordId, SLOT, WalkResult};

/// Records that a walk comes to before it remembers them: a short one costs no memory. One without end meets some record
/// again, wherever it begins to remember.
const FREE: usize = 4_096;

/// Records of a page at most.
pub(crate) const RECORDS_OF_PAGE: usize = BODY / SLOT;

/// Keys of a page at most: a leaf takes 10 bytes.
pub(crate) const KEYS_OF_PAGE: usize = BODY / 10;

/// The records that a walk over one moment has come to.
#[derive(Debug, Default)]
pub(super) struct VisitedRecords {
    count: usize,
    records: HashSet<RecordId>,
}

impl VisitedRecords {
    /// Notes a record that a pointer leads to.
    ///
    /// # Errors
    /// The walk has come to it before.
    #[inline]
    pub(super) fn note(&mut self, id: RecordId) -> WalkResult<()> {
        self.count += 1;
        if self.count <= FREE || self.records.insert(id) {
            return Ok(());
        }
        Err(damaged_record(id, "two pointers lead to it"))
    }
}

/// Whether a scan that had come to `before` keys, and has come to `now`, has passed what `pages` can hold: for the first
/// time, or twice as much as the last time. So what is done about it costs no more than the scan.
pub(crate) fn is_beyond(pages: usize, before: u64, now: u64) -> bool {
    let most = (pages.max(1) * KEYS_OF_PAGE) as u64;
    let times = |keys: u64| (keys / most + 1).ilog2();
    times(now) > times(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_looked_at_each_time_that_it_doubles() {
        let most = 3 * KEYS_OF_PAGE as u64;
        let looks = (1..=100).filter(|at| is_beyond(3, (at - 1) * most / 4, at * most / 4));
        assert_eq!(looks.collect::<Vec<_>>(), [4, 12, 28, 60]);
    }
}
