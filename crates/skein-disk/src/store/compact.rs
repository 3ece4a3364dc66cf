//! Compacting a store (`buffer/compact.rs` has how).

use super::{DiskShared, DiskStore};
use crate::Result;
use crate::trie::{MergeStep, RECORDS_OF_PAGE, SymbolPath};

/// Rounds of moves at most: writes that go on meanwhile take places, too, and one that runs away from us is not followed.
const ROUNDS: usize = 4;

/// Walks over the trie that merge pages, at most: when pages below were merged, theirs may be, too.
const WALKS: usize = 4;
/// A walk that merged less than this part of all pages is the last one.
const WORTH: usize = 64;

/// What a [`DiskStore::compact`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Bytes of the file before.
    pub bytes_before: u64,
    /// Bytes of the file now.
    pub bytes_after: u64,
    /// Pages that were given back, because what they had fitted others.
    pub pages_merged: usize,
    /// Pages that were moved.
    pub pages_moved: usize,
}

impl DiskStore {
    /// Merges pages that have little; then moves pages to free places nearer to the file's begin and cuts the file off behind the last one, in steps of 1,024 pages
    /// (4 MiB). Takes a checkpoint first, and one or more after, in time that grows with the pages of the file and the bytes that move. A page that others are merged
    /// into is written anew, so the file may grow by what is left in it before it gets shorter.
    ///
    /// Reads go on meanwhile. A write may wait until some 64 pages were read. A crash at any moment leaves the store as it was before or after, with all that was
    /// acknowledged. What writes add meanwhile may keep the file longer than it could be; with [`Reading::mapping`](crate::Reading::mapping) so may
    /// pages that were read before, until the store is opened again.
    ///
    /// # Errors
    /// A failed file operation; a page that is damaged; the store was closed, before or meanwhile. Nothing is lost, and what was moved so far is.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore};
    /// # let folder = tempfile::tempdir()?;
    /// let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// let report = store.compact()?;
    /// assert!(report.bytes_after <= report.bytes_before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(&self) -> Result<CompactReport> {
        self.shared.check_open()?;
        self.shared.compact()
    }
}

impl DiskShared {
    fn compact(&self) -> Result<CompactReport> {
        let buffer = &self.buffer;
        let bytes_before = buffer.file_bytes();
        self.checkpoint()?;
        let pages_merged = self.merge()?;
        if pages_merged > 0 {
            // So that places which only the one before needs are free.
            self.checkpoint()?;
        }
        let goal = buffer.compacted_end();
        let mut pages_moved = 0;
        for _ in 0..ROUNDS {
            if !buffer.has_pages_from(goal) {
                break;
            }
            pages_moved += buffer.move_pages_from(goal)?;
            self.checkpoint_moving(Some(goal))?;
        }
        buffer.cut()?;
        Ok(CompactReport { bytes_before, bytes_after: buffer.file_bytes(), pages_merged, pages_moved })
    }

    /// Merges pages that have little; returns how many were given back.
    pub(super) fn merge(&self) -> Result<usize> {
        let most = self.buffer.ids_in_use();
        let mut merged = 0;
        for _ in 0..WALKS {
            let walked = self.merge_walk(most - merged.min(most))?;
            merged += walked;
            if walked * WORTH < most || merged >= most {
                break;
            }
        }
        Ok(merged)
    }

    /// Walks over the trie once, and merges so many pages at most: who splits pages as fast as they are merged is not followed.
    fn merge_walk(&self, most: usize) -> Result<usize> {
        let (mut merged, mut work, mut from) = (0, 0, None);
        loop {
            let step = self.merge_step(from)?;
            merged += step.pages;
            work += step.nodes + 1;
            if step.is_done || merged >= most {
                return Ok(merged);
            }
            if work > self.work_most() {
                // Damaged pages may have paths without end. Otherwise others write as fast as this walks, and are not followed, either.
                self.check()?;
                return Ok(merged);
            }
            from = step.before;
        }
    }

    fn merge_step(&self, from: Option<SymbolPath>) -> Result<MergeStep> {
        let mut writer = self.buffer.write();
        let step = self.trie.merge(&mut writer, from)?;
        if step.is_changed {
            writer.publish()?;
        }
        Ok(step)
    }

    /// Nodes and steps of a walk at most, unless others write as fast as it goes: a step does a node, gives a page back, or moves nodes from one page to another.
    fn work_most(&self) -> usize {
        2 * RECORDS_OF_PAGE * self.buffer.ids()
    }
}
