//! Compacting: pages move from the file's end to free places before it, and the file is cut off behind the last one.
//!
//! ```text
//!   place   0   1   2   3   4   5   6   7   8                 goal: as many places as all that there is needs
//!           h   h   p   ·   p   ·   ·   p   p    ─►    h   h   p   p   p   p   ·   ·   ·    ─►    cut off
//! ```
//!
//! A page is named by its id, so that nothing which refers to it changes. It is published once more with the bytes that it has, and goes where every page that changes
//! goes: to the first free place. So a checkpoint makes the move count, and all that is said of checkpoints holds for it. The file is cut off where no reason to
//! keep a place is left; what the last header leads to is one.

use skein_sync::locks::lock;

use super::BufferManager;
use crate::Result;
use crate::page::{PAGE, PageId, PagePlace};
use crate::page_file::GROWTH;

/// Pages that move under one lock of the writer's at most, so that writes wait for no more.
const BATCH: usize = 64;

impl BufferManager {
    /// The places that all there is needs, in steps in which the file grows. Called after a checkpoint, so that what was is not counted.
    pub(crate) fn compacted_end(&self) -> PagePlace {
        let durable = lock(&self.durable);
        let lists = durable.maps.len() + durable.header.directories.len();
        drop(durable);
        let (pages, free) = lock(&self.places).counts();
        // Maps and directories are written anew before the old ones are free.
        let needed = pages - free + lists as u32;
        PagePlace(needed.next_multiple_of(GROWTH))
    }

    /// Whether a place from here on has a reason to be kept.
    pub(crate) fn has_pages_from(&self, place: PagePlace) -> bool {
        lock(&self.places).end() > place.0
    }

    /// Publishes the pages that lie from a place on once more; returns how many. A checkpoint has to follow.
    ///
    /// # Errors
    /// A page that cannot be read; a cache that is in use. The pages stay where they are then.
    pub(crate) fn move_pages_from(&self, place: PagePlace) -> Result<usize> {
        let (mut lifted, mut next) = (0, 0);
        while next < self.table.len() {
            let mut writer = self.write();
            let mut batch = 0;
            // Fewer than the cache has: they are in memory at once, beside what readers refer to.
            while next < self.table.len() && batch < BATCH.min(self.cache / 4) {
                let id = PageId(next);
                next += 1;
                let lies_at = self.table.get(id).and_then(super::page_table::PageTableEntry::place);
                if lies_at.is_some_and(|at| at >= place) {
                    writer.page_mut(id)?;
                    batch += 1;
                }
            }
            writer.publish()?;
            lifted += batch;
        }
        Ok(lifted)
    }

    /// Cuts the file off behind the last place that is kept, in steps in which it grows.
    ///
    /// # Errors
    /// A failed file operation. The file is as long as it was, or cut off; either holds all.
    pub(crate) fn cut(&self) -> Result<()> {
        lock(&self.places).truncate_file(&self.file)
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        u64::from(lock(&self.places).counts().0) * PAGE as u64
    }
}
