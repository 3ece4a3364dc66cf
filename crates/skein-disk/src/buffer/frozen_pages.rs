//! Long walks over all pages while writes wait.
//!
//! A reader's walk restarts for each missing page and keeps all pages that it has loaded
//! (`page_view.rs`). That is cheap for one key, and too expensive for a walk over all pages of a
//! large file. This walk holds the writer's lock instead: it never restarts, and it releases pages
//! behind it. Readers continue meanwhile; writes wait.

use super::{PageReader, PageWriter, WalkResult, WalkStop};
use crate::DiskError;
use crate::page::{PageBytes, PageId};

/// After this many pages, uncached pages and evicted frames are released.
const KEPT: usize = 64;

/// All pages, as seen by a write that changes nothing.
#[derive(Debug)]
pub(crate) struct FrozenPages<'w, 'b> {
    writer: &'w mut PageWriter<'b>,
    looked: usize,
}

impl<'w, 'b> FrozenPages<'w, 'b> {
    /// Returns the pages as this write sees them.
    pub(crate) fn of(writer: &'w mut PageWriter<'b>) -> Self {
        Self { writer, looked: 0 }
    }

    /// Returns the error for a stopped walk.
    pub(crate) fn fault(&self, stop: WalkStop) -> DiskError {
        self.writer.fault(stop)
    }
}

impl PageReader for FrozenPages<'_, '_> {
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        self.looked += 1;
        if self.looked.is_multiple_of(KEPT) {
            self.writer.release_reads();
        }
        // Without the cache if it has no room.
        self.writer.buffer().fetch(id)?;
        Ok(self.writer.page(id)?)
    }
}
