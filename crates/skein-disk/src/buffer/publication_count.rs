//! The count of publications, by which a walk knows whether it saw all of each write.
//!
//! ```text
//!   writer   2n ──► 2n + 1 ── replaces pages ──► 2n + 2
//!   walk         begin ── reads pages ── valid if the count was even and is the same
//! ```
//!
//! The models of the buffer manager run this code (`models.rs`).

use skein_sync::atomic::{AtomicU64, Ordering, fence};

/// Twice the number of publications; odd during a publication.
#[derive(Debug)]
pub(super) struct PublicationCount(AtomicU64);

impl PublicationCount {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Runs `replace`, which replaces pages in the table, as one publication. REQUIRES: the caller
    /// holds the lock `publishing`.
    pub(super) fn publish<T>(&self, replace: impl FnOnce() -> T) -> T {
        // Relaxed, with the fence: a thread that sees one of the new places or frames also sees the
        // odd number.
        self.0.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        let replaced = replace();
        // Release: pairs with the Acquire at the start of a walk.
        self.0.fetch_add(1, Ordering::Release);
        replaced
    }

    /// Returns the count at the start of a walk.
    #[inline]
    pub(super) fn begin_walk(&self) -> u64 {
        // Acquire: pairs with the Release at the end of a publication.
        self.0.load(Ordering::Acquire)
    }

    /// Returns whether a walk that began at `begun` is valid so far.
    #[inline]
    pub(super) fn is_valid_walk(&self, begun: u64) -> bool {
        begun.is_multiple_of(2) && self.is_unchanged_since(begun)
    }

    /// Returns whether the caller's loads since `begun` saw nothing of a later publication.
    #[inline]
    pub(super) fn is_unchanged_since(&self, begun: u64) -> bool {
        // Acquire: orders the caller's loads before the one below; pairs with the Release fence at
        // the start of a publication.
        fence(Ordering::Acquire);
        self.now() == begun
    }

    /// Returns the count. Orders nothing.
    pub(super) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
