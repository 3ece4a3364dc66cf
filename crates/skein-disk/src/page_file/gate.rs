//! Admits writes and reads of the file, or refuses them after a failed sync or a close.
//!
//! # Invariant
//! When [`FileGate::close`] has returned, no write is in progress and none begins; a read that ends
//! later returns an error. Then another process may own the file, unless it is mapped.

use std::path::Path;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

use skein_sync::atomic::{AtomicBool, Ordering};

use crate::{DiskError, Result};

/// Permits one write while it exists.
#[derive(Debug)]
pub(super) struct FileWritePermit<'g>(#[expect(dead_code, reason = "held")] RwLockReadGuard<'g, ()>);

#[derive(Debug, Default)]
pub(super) struct FileGate {
    /// The failure that stopped writes: after a failed sync the content of the file is unknown.
    stopped: OnceLock<String>,
    closed: AtomicBool,
    /// Held shared by writes, and exclusively by `close`.
    writes: RwLock<()>,
}

impl FileGate {
    /// Begins a write.
    ///
    /// # Errors
    /// A failed sync has stopped writes, or the file is closed.
    pub(super) fn enter(&self, path: &Path) -> Result<FileWritePermit<'_>> {
        let permit = self.writes.read().unwrap_or_else(PoisonError::into_inner);
        self.check_open(path)?;
        match self.stopped(path) {
            Some(stopped) => Err(stopped),
            None => Ok(FileWritePermit(permit)),
        }
    }

    /// Returns the error that stops writes, if there is one.
    pub(super) fn stopped(&self, path: &Path) -> Option<DiskError> {
        let cause = self.stopped.get()?.clone();
        Some(DiskError::Stopped { path: path.to_owned(), cause })
    }

    /// Stops writes permanently if the result is an error.
    pub(super) fn stop_on_error<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| _ = self.stopped.set(error.to_string()))
    }

    /// Refuses all later writes and reads, and waits for the current writes.
    pub(super) fn close(&self) {
        let _writes = self.writes.write().unwrap_or_else(PoisonError::into_inner);
        // Release: pairs with the Acquire in `check_open`. A read that could see another process's
        // write sees the flag.
        self.closed.store(true, Ordering::Release);
    }

    /// Checks that the file is open.
    ///
    /// # Errors
    /// The file is closed.
    #[inline]
    pub(super) fn check_open(&self, path: &Path) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(DiskError::Closed { path: path.to_owned() });
        }
        Ok(())
    }
}
