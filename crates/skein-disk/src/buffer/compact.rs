//! Compaction of the file: pages move from its end to free places, and the file is cut off.
//!
//! ```text
//!   place   0   1   2   3   4   5   6   7   8
//!           h   h   p   ·   p   ·   ·   p   p       before
//!           h   h   p   p   p   p   ·   ·   ·       after: cut off behind the last page
//! ```
//!
//! Pages are named by their ids, so no pointer to a moved page changes. A page moves by being
//! published again with the same bytes, and is then written to the first free place like every
//! changed page. A checkpoint makes the move durable, with all guarantees of checkpoints. The file
//! is cut off behind the last place that has a reason to be kept, for example because the last
//! header leads to it.
//!
//! Design: `docs/design/disk.md`.

use skein_sync::locks::lock;

use super::BufferManager;
use crate::Result;
use crate::page::{PAGE, PageId, PagePlace};
use crate::page_file::GROWTH;

/// The most pages that move in one write. Other writes wait no longer than that.
const BATCH: usize = 64;

impl BufferManager {
    /// Returns the end of the file after a complete compaction, rounded up to the step of growth.
    /// Must be called after a checkpoint, so that places of the previous state are not counted.
    pub(crate) fn compacted_end(&self) -> PagePlace {
        let durable = lock(&self.durable);
        let lists = durable.maps.len() + durable.header.directories.len() + durable.counts.len();
        drop(durable);
        let (pages, free) = lock(&self.places).counts();
        // New maps and directories are written before the old ones are free.
        let needed = pages - free + lists as u32;
        PagePlace(needed.next_multiple_of(GROWTH))
    }

    /// Returns whether any place at or behind this one is in use.
    pub(crate) fn has_pages_from(&self, place: PagePlace) -> bool {
        lock(&self.places).end() > place.0
    }

    /// Publishes all pages at or behind a place again, and returns how many. `moved` is called with
    /// the number of each write. The caller must take a checkpoint afterwards.
    ///
    /// # Errors
    /// A page cannot be read, the cache has no room, or `moved` returned an error. Some pages may
    /// not have moved.
    pub(crate) fn move_pages_from(
        &self,
        place: PagePlace,
        moved: impl Fn(usize) -> Result<()>,
    ) -> Result<usize> {
        let (mut lifted, mut next) = (0, 0);
        while next < self.table.len() {
            let mut writer = self.write();
            let mut batch = 0;
            // All pages of a write are in memory besides those that readers reference.
            while next < self.table.len() && batch < BATCH.min(writer.cache() / 4) {
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
            moved(batch)?;
        }
        Ok(lifted)
    }

    /// Cuts the file off behind the last place in use, rounded up to the step of growth.
    ///
    /// # Errors
    /// A file operation failed. The file has its old or its new length; both are complete.
    pub(crate) fn cut(&self) -> Result<()> {
        lock(&self.places).truncate_file(&self.file)
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        u64::from(lock(&self.places).counts().0) * PAGE as u64
    }
}
