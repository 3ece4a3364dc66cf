//! Compacting a store (`buffer/compact.rs` has how).

use super::{DiskStore, Shared};
use crate::Result;

/// Rounds of moves at most: writes that go on meanwhile take places, too, and one that runs away from us is not followed.
const ROUNDS: usize = 4;

/// What a [`DiskStore::compact`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Bytes of the file before.
    pub bytes_before: u64,
    /// Bytes of the file now.
    pub bytes_after: u64,
    /// Pages that were moved.
    pub pages_moved: usize,
}

impl DiskStore {
    /// Moves pages to free places nearer to the file's begin and cuts the file off behind the last one, in steps of 1,024 pages (4 MiB). Takes a checkpoint first, and
    /// one or more after, in time that grows with the pages of the file and the bytes that move.
    ///
    /// Reads go on meanwhile. A write may wait until 64 pages were read. A crash at any moment leaves the store as it was before or after, with all that was
    /// acknowledged. What writes add meanwhile may keep the file longer than it could be; with [`Reading::Mapping`](crate::Reading::Mapping) so may
    /// pages that were read before, until the store is opened again.
    ///
    /// # Errors
    /// A failed file operation; a page that is damaged. Nothing is lost, and what was moved so far is.
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
        self.shared.compact()
    }
}

impl Shared {
    fn compact(&self) -> Result<CompactReport> {
        let buffer = &self.buffer;
        let bytes_before = buffer.file_bytes();
        self.checkpoint()?;
        let goal = buffer.goal();
        let mut pages_moved = 0;
        for _ in 0..ROUNDS {
            if !buffer.has_pages_from(goal) {
                break;
            }
            pages_moved += buffer.lift_from(goal)?;
            self.checkpoint_moving(Some(goal))?;
        }
        buffer.cut()?;
        Ok(CompactReport { bytes_before, bytes_after: buffer.file_bytes(), pages_moved })
    }
}
