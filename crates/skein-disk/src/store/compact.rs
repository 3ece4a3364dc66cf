//! Compaction of a store: packs and merges pages (`trie/merge.rs`), then moves pages
//! (`buffer/compact.rs`).

use skein_log::OpenProgress;

use super::{DiskShared, DiskStore, tell_pages};
use crate::Result;
use crate::trie::{DiskTrie, MergeStep, RECORDS_OF_PAGE, SymbolPath};

/// The most rounds of moves. Concurrent writes take places, too, and a fast writer is not chased
/// forever.
const ROUNDS: usize = 4;

/// The most walks that merge pages. After pages below were merged, those of their parents may be
/// mergeable.
const WALKS: usize = 4;
/// A walk that freed less than one page in this many is the last one.
const WORTHWHILE_SHARE: usize = 64;

/// Steps of a walk that are reported to the progress together.
const STEPS_TOLD_TOGETHER: usize = 64;

/// The result of a [`DiskStore::compact`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Bytes of the file before.
    pub bytes_before: u64,
    /// Bytes of the file afterwards.
    pub bytes_after: u64,
    /// Pages that were freed, because their records fitted into other pages.
    pub pages_merged: usize,
    /// Pages that were moved.
    pub pages_moved: usize,
}

impl DiskStore {
    /// Packs the contents into fewer pages, moves pages to free places near the start of the file,
    /// and cuts the file off behind the last one, in steps of 1,024 pages (4 MiB). Takes a
    /// checkpoint before, and one or more afterwards. The time grows with the pages of the file and
    /// the bytes that move. Merged pages are written again, so the file may grow before it shrinks.
    ///
    /// Reads continue. A write may wait until a few hundred pages were read. A crash at any moment
    /// leaves the store as it was before or after, with all acknowledged writes. The file may stay
    /// longer than necessary because of concurrent writes and live snapshots; with
    /// [`ReadMode::mapping`](crate::ReadMode::mapping) also because of earlier reads, until the
    /// store is opened again.
    ///
    /// # Errors
    /// A file operation failed, a page is damaged, or the store is closed. Nothing is lost, and
    /// earlier moves remain.
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
        self.compact_with(&OpenProgress::default())
    }

    /// Does the same, and counts the bytes of pages that are merged or moved. `progress` may cancel
    /// it: between two steps, and not during a checkpoint.
    ///
    /// # Errors
    /// As for [`compact`](Self::compact), and
    /// [`LogError::Cancelled`](skein_log::LogError::Cancelled).
    pub fn compact_with(&self, progress: &OpenProgress) -> Result<CompactReport> {
        self.shared.check_open()?;
        self.shared.compact(progress)
    }
}

impl DiskShared {
    fn compact(&self, progress: &OpenProgress) -> Result<CompactReport> {
        let buffer = &self.buffer;
        let bytes_before = buffer.file_bytes();
        self.checkpoint()?;
        let pages_merged = self.merge(progress)?;
        if pages_merged > 0 {
            // Frees the places that only the state before needs.
            self.checkpoint()?;
        }
        let goal = buffer.compacted_end();
        let mut pages_moved = 0;
        for _ in 0..ROUNDS {
            if !buffer.has_pages_from(goal) {
                break;
            }
            let moved = buffer.move_pages_from(goal, |pages| tell_pages(progress, pages as u64))?;
            self.checkpoint_moving(Some(goal))?;
            pages_moved += moved;
            if moved == 0 {
                // The places behind the goal are kept for snapshots or readers.
                break;
            }
        }
        buffer.cut()?;
        Ok(CompactReport { bytes_before, bytes_after: buffer.file_bytes(), pages_merged, pages_moved })
    }

    /// Packs and merges the pages of all spaces. Returns the number of freed pages.
    pub(super) fn merge(&self, progress: &OpenProgress) -> Result<usize> {
        self.spaces.tries().map(|(_, trie)| self.merge_trie(trie, progress)).sum()
    }

    fn merge_trie(&self, trie: &DiskTrie, progress: &OpenProgress) -> Result<usize> {
        let most = self.buffer.ids_in_use();
        let mut merged = 0;
        for _ in 0..WALKS {
            let walked = self.merge_walk(trie, most - merged.min(most), progress)?;
            merged += walked;
            if walked * WORTHWHILE_SHARE < most || merged >= most {
                break;
            }
        }
        Ok(merged)
    }

    /// Walks over a trie once and frees at most `most` pages, so that concurrent splits do not
    /// keep it going forever.
    fn merge_walk(&self, trie: &DiskTrie, most: usize, progress: &OpenProgress) -> Result<usize> {
        let (mut merged, mut told, mut steps, mut work, mut from) = (0, 0, 0_usize, 0, None);
        loop {
            let step = self.merge_step(trie, from)?;
            merged += step.pages;
            steps += 1;
            if step.is_done || steps.is_multiple_of(STEPS_TOLD_TOGETHER) {
                tell_pages(progress, (merged - std::mem::replace(&mut told, merged)) as u64)?;
            }
            work += step.nodes + 1;
            if step.is_done || merged >= most {
                return Ok(merged);
            }
            if work > self.work_most() {
                // Paths in damaged pages may be endless. Otherwise, other threads write as fast as
                // this walk proceeds, and are not chased.
                self.check()?;
                return Ok(merged);
            }
            from = step.before;
        }
    }

    fn merge_step(&self, trie: &DiskTrie, from: Option<SymbolPath>) -> Result<MergeStep> {
        let mut writer = self.buffer.write();
        let step = trie.merge(&mut writer, from)?;
        if step.is_changed {
            writer.publish()?;
        }
        Ok(step)
    }

    /// Returns an upper bound on the steps of a walk without concurrent writes. Each step finishes
    /// a node, frees a page, or moves nodes from one page to another.
    fn work_most(&self) -> usize {
        2 * RECORDS_OF_PAGE * self.buffer.ids()
    }
}
