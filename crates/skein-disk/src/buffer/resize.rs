//! Changes of the cache's capacity while readers and a writer work.
//!
//! ```text
//!   grow     set the capacity; later loads use it
//!   shrink   set the capacity ─► evict the excess, changed pages to their promised places ─► return
//! ```
//!
//! # Invariants
//! 1. After a resize, no thread leaves the cache over its capacity (`cache_room.rs`), except for
//!    the time in which it references a page, and for pages that cannot be written. The next thread
//!    that takes room evicts them.
//! 2. A shrink loses nothing: it evicts as a full cache does (`evict.rs`). If a changed page cannot
//!    be written, it stays, and leaves when it can be written.
//! 3. A resize waits neither for an open write nor for ever. So a transaction may resize the cache
//!    by itself, and a reader that keeps references delays the end of the shrinking, not the
//!    caller. A write keeps the capacity of its begin.
//!
//! Everything that depends on the capacity (references of readers, kept and retired frames) asks
//! for it when it is needed, and never keeps it.

use skein_sync::locks::lock;
use skein_sync::spin::Backoff;

use super::evict::EvictFailure;
use super::{BufferManager, CACHE_LEAST};
use crate::{DiskError, Result};

/// How often a shrink waits for pages in use. They leave later.
const WAITS: usize = 100;

/// Checks a number of pages of a cache.
///
/// # Errors
/// It is too small.
pub(crate) fn check_capacity(pages: usize) -> Result<()> {
    if pages < CACHE_LEAST {
        return Err(DiskError::BadOption {
            name: "cache-pages",
            value: pages.to_string(),
            why: format!("a cache has {CACHE_LEAST} pages at least"),
        });
    }
    Ok(())
}

impl BufferManager {
    /// Returns the number of pages that the cache can hold.
    pub(crate) fn capacity(&self) -> usize {
        self.room.capacity()
    }

    /// Sets the number of pages that the cache can hold, and evicts pages that are too many.
    ///
    /// # Errors
    /// The number is too small, and nothing was changed; or a changed page cannot be written, and
    /// is evicted later.
    pub(crate) fn resize(&self, pages: usize) -> Result<()> {
        check_capacity(pages)?;
        self.file.check_open()?;
        let _resizing = lock(&self.resizing);
        self.room.set_capacity(pages);
        let shrunk = self.shrink_to_capacity().and_then(|()| self.trim_kept());
        lock(&self.policy).resize(pages);
        shrunk
    }

    /// Evicts until the cache is within its capacity. Waits a limited time for pages in use.
    fn shrink_to_capacity(&self) -> Result<()> {
        let mut backoff = Backoff::new();
        for _ in 0..WAITS {
            match self.evict_excess() {
                Ok(()) => break,
                Err(EvictFailure::Failed(error)) => return Err(error),
                Err(EvictFailure::InUse) => backoff.wait(),
            }
        }
        Ok(())
    }
}
