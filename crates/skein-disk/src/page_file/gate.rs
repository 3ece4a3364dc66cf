//! Whether the file may be written, and read.
//!
//! # Invariant
//! Once [`Gate::close`] has returned no write is under way, and none begins; a read that ends later is told so. Then another process may have
//! the file, unless it is mapped.

use std::path::Path;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

use skein_sync::atomic::{AtomicBool, Ordering};

use crate::{DiskError, Result};

/// A write is under way.
#[derive(Debug)]
pub(super) struct FileWritePermit<'g>(#[expect(dead_code, reason = "held")] RwLockReadGuard<'g, ()>);

#[derive(Debug, Default)]
pub(super) struct FileGate {
    /// Why nothing is written any more, if so: after a failed sync nobody knows what the file holds.
    stopped: OnceLock<String>,
    closed: AtomicBool,
    /// Held by writes, and by who closes.
    writes: RwLock<()>,
}

impl FileGate {
    /// Begins a write.
    ///
    /// # Errors
    /// A failed sync has stopped writes; the file was closed.
    pub(super) fn enter(&self, path: &Path) -> Result<FileWritePermit<'_>> {
        let entered = self.writes.read().unwrap_or_else(PoisonError::into_inner);
        self.check_open(path)?;
        match self.stopped(path) {
            Some(stopped) => Err(stopped),
            None => Ok(FileWritePermit(entered)),
        }
    }

    /// Why writes are stopped, if they are.
    pub(super) fn stopped(&self, path: &Path) -> Option<DiskError> {
        let cause = self.stopped.get()?.clone();
        Some(DiskError::Stopped { path: path.to_owned(), cause })
    }

    /// Stops writes for good, if this has failed.
    pub(super) fn or_stop<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| _ = self.stopped.set(error.to_string()))
    }

    /// Lets no write and no read pass any more; waits for the writes under way.
    pub(super) fn close(&self) {
        let _writes = self.writes.write().unwrap_or_else(PoisonError::into_inner);
        // Release: pairs with the Acquire in `check_open`, so a read that another process's write could reach sees it.
        self.closed.store(true, Ordering::Release);
    }

    /// # Errors
    /// The file was closed.
    #[inline]
    pub(super) fn check_open(&self, path: &Path) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(DiskError::Closed { path: path.to_owned() });
        }
        Ok(())
    }
}
