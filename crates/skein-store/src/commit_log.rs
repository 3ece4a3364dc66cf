//! The log of a store, with two facts that its users must know together with it: whether it still
//! accepts writes, and whether anything was written since the last checkpoint.

use skein_log::{Durability, Log, LogOperation};
use skein_sync::atomic::{AtomicBool, Ordering};

use crate::{Error, Result};

/// The log of a store, and the state of the writes to it.
pub(crate) struct CommitLog {
    pub(crate) log: Log,
    pub(crate) durability: Durability,
    /// Set once, by `close`. Afterwards no write begins.
    closed: AtomicBool,
    /// Whether anything was written since the last checkpoint began.
    dirty: AtomicBool,
}

impl CommitLog {
    pub(crate) fn new(log: Log, durability: Durability) -> Self {
        Self { log, durability, closed: AtomicBool::new(false), dirty: AtomicBool::new(false) }
    }

    /// Enters the present epoch, for writes to one of the logs.
    #[inline]
    pub(crate) fn enter(&self, log_shard: usize) -> Result<LogOperation<'_>> {
        let operation = self.log.enter(log_shard)?;
        // The flag is read inside the epoch. The store closes an epoch after it has set the flag,
        // so it waits for every writer that did not see it. SeqCst: pairs with the swap in
        // `close_to_writes`.
        if self.is_closed() { Err(Error::Closed) } else { Ok(operation) }
    }

    /// Returns the present epoch. A write reads it under the latch of its key.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.log.epoch()
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Lets no further write begin.
    ///
    /// # Errors
    /// `Closed` if this was done before.
    pub(crate) fn close_to_writes(&self) -> Result<()> {
        // SeqCst: pairs with the load in `enter`.
        if self.closed.swap(true, Ordering::SeqCst) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Notes a write.
    #[inline]
    pub(crate) fn written(&self) {
        // Relaxed, and read before it is written, so that the cache line stays shared. The thread
        // that reads it has closed an epoch first.
        if !self.dirty.load(Ordering::Relaxed) {
            self.dirty.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether anything was written since the last checkpoint began.
    pub(crate) fn is_written(&self) -> bool {
        // Relaxed: a hint, except after an epoch was closed.
        self.dirty.load(Ordering::Relaxed)
    }

    /// Notes that a checkpoint begins, which contains all writes so far.
    pub(crate) fn begin_checkpoint(&self) {
        // Relaxed: the checkpoint closes an epoch afterwards.
        self.dirty.store(false, Ordering::Relaxed);
    }
}
