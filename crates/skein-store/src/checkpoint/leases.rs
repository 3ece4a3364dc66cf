//! Leases of the folder's files: while a copy of a checkpoint and of the logs since is made,
//! neither is removed.
//!
//! 1. A lease is taken while no checkpoint is written. So the newest checkpoint and all segments
//!    that it needs are present then, and stay.
//! 2. Checkpoints are written meanwhile. They keep all files that they or a lease need, and remove
//!    the others.
//! 3. The end of a lease removes the rest while no checkpoint is written, under the lock of the
//!    leases, and only if the store is not closed. Closing waits for this lock before it releases
//!    the folder. So nothing is removed from a folder that another process may have opened.

use std::sync::Mutex;

use skein_sync::locks::lock;

use super::CheckpointSource;
use crate::Result;

/// The live leases.
#[derive(Debug, Default)]
pub(crate) struct FileLeases {
    /// The begin epochs of the leased checkpoints; 0 for the logs of a store without a checkpoint.
    live: Mutex<Vec<u64>>,
}

impl FileLeases {
    /// Leases the checkpoint that began at `begin`. REQUIRES: it is the newest, and no checkpoint
    /// is written. The caller ends the lease by [`end`](Self::end).
    pub(crate) fn begin(&self, begin: u64) {
        lock(&self.live).push(begin);
    }

    /// Ends a lease. REQUIRES: no checkpoint is written.
    pub(crate) fn end(&self, begin: u64, source: &CheckpointSource<'_>) {
        let mut live = lock(&self.live);
        if let Some(place) = live.iter().position(|leased| *leased == begin) {
            live.swap_remove(place);
        }
        // A store without a checkpoint has nothing to remove.
        let newest = source.folder.checkpoint();
        if newest > 0
            && !source.commit.is_closed()
            && let Err(error) = remove_outdated(source, newest, &live)
        {
            tracing::warn!("outdated files stay, and the next checkpoint removes them: {error}");
        }
    }

    /// Waits until no lease removes files.
    pub(crate) fn wait_for_removals(&self) {
        drop(lock(&self.live));
    }

    /// Removes the files that the checkpoint that began at `newest` replaces and no lease needs.
    /// Returns the number of removed segments. REQUIRES: no other checkpoint is written.
    pub(super) fn remove_outdated(&self, source: &CheckpointSource<'_>, newest: u64) -> Result<usize> {
        // No lease begins meanwhile.
        let live = lock(&self.live).clone();
        remove_outdated(source, newest, &live)
    }
}

fn remove_outdated(source: &CheckpointSource<'_>, newest: u64, leased: &[u64]) -> Result<usize> {
    super::remove_before(&*source.folder.storage, &source.folder.path, newest, leased)?;
    let oldest = leased.iter().copied().fold(newest, u64::min);
    Ok(source.commit.log.release_before(oldest)?)
}
