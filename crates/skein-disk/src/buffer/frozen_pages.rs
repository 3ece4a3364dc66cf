//! Long walks: over pages that stand still, because the writer is kept away.
//!
//! A walk of a reader begins anew for each page that is not in memory, and keeps what it has fetched until it has ended (`view.rs`). That is nothing for a key, and too much for a
//! walk over all pages of a large file. This one goes on where it is, and lets pages go behind it. Readers go on meanwhile; writes wait.

use super::{PageWriter, WalkStop};
use crate::page::{PageBytes, PageId};
use crate::{DiskError, Result};

/// Pages that are looked at before what was read past the cache, and frames that have left it, are let go.
const KEPT: usize = 64;

/// All pages, as a write sees them that does nothing meanwhile.
#[derive(Debug)]
pub(crate) struct FrozenPages<'w, 'b> {
    writer: &'w mut PageWriter<'b>,
    looked: usize,
}

impl<'w, 'b> FrozenPages<'w, 'b> {
    /// All pages, as this write sees them.
    pub(crate) fn of(writer: &'w mut PageWriter<'b>) -> Self {
        Self { writer, looked: 0 }
    }

    /// A page.
    pub(crate) fn page(&mut self, id: PageId) -> Result<&PageBytes> {
        self.looked += 1;
        if self.looked.is_multiple_of(KEPT) {
            self.writer.release_reads();
        }
        // Past the cache, if there is no room.
        self.writer.buffer().fetch(id)?;
        self.writer.page(id)
    }

    /// The error for what stopped a walk.
    pub(crate) fn fault(&self, stop: WalkStop) -> DiskError {
        self.writer.fault(stop)
    }
}
