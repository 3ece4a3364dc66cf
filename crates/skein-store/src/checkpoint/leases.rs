//! Leases of the folder's files: while a copy of them is made, no checkpoint and no log segment is
//! removed.
//!
//! 1. A lease is taken while no checkpoint is written. So the newest checkpoint and all segments that
//!    it needs are present then, and stay.
//! 2. Checkpoints are written meanwhile. They leave the removal of older files to the last lease.
//! 3. The last lease removes them while no checkpoint is written, under the lock of the counter, and
//!    only if the store is not closed. Closing waits for this lock before it releases the folder. So
//!    nothing is removed from a folder that another process may have opened.

use std::sync::Mutex;

use skein_sync::locks::lock;

use super::CheckpointSource;
use crate::Result;

/// The live leases.
#[derive(Debug, Default)]
pub(crate) struct FileLeases {
    live: Mutex<usize>,
}

impl FileLeases {
    /// Adds a lease. REQUIRES: no checkpoint is written. The caller ends it by
    /// [`end`](Self::end).
    pub(crate) fn begin(&self) {
        *lock(&self.live) += 1;
    }

    /// Ends a lease. REQUIRES: no checkpoint is written.
    pub(crate) fn end(&self, source: &CheckpointSource<'_>) {
        let mut live = lock(&self.live);
        *live -= 1;
        let newest = source.folder.checkpoint();
        // A store without a checkpoint has removed nothing.
        if *live == 0
            && newest > 0
            && !source.commit.is_closed()
            && let Err(error) = super::remove_outdated(source, newest)
        {
            tracing::warn!("outdated files stay, and the next checkpoint removes them: {error}");
        }
    }

    /// Waits until no lease removes files.
    pub(crate) fn wait_for_removals(&self) {
        drop(lock(&self.live));
    }

    /// Removes what the checkpoint that began at `newest` replaces, and returns the number of
    /// segments. Removes nothing while there are leases.
    pub(super) fn remove_outdated(&self, source: &CheckpointSource<'_>, newest: u64) -> Result<usize> {
        // No lease begins meanwhile, because a checkpoint is written.
        let is_leased = *lock(&self.live) > 0;
        if is_leased { Ok(0) } else { super::remove_outdated(source, newest) }
    }
}
