//! The word that has the version of a bucket, or of several, and its lock.
//!
//! # Invariants
//! 1. Only the holder of the lock changes the words that the version is for.
//! 2. The holder sets a bit of `BUSY` before its first store to them, and clears it with the store
//!    that unlocks. That store changes the version, unless the words are unchanged.
//! 3. A reader's copy of the words is consistent if no bit of `BUSY` was set before the reads and
//!    the version is the same after them.

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::spin::Backoff;

/// The bit that is set while a transaction holds the lock.
pub(crate) const LOCKED: u64 = 1;

/// A version and its lock. Readers wait while a bit of `BUSY` is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionLock<'t, const BUSY: u64>(pub(crate) &'t AtomicU64);

impl<const BUSY: u64> VersionLock<'_, BUSY> {
    /// Returns the word; waits while a bit of `BUSY` is set.
    #[inline(always)]
    pub(crate) fn stable(self) -> u64 {
        // Acquire: pairs with the Release in `unlock`.
        let word = self.0.load(Ordering::Acquire);
        if word & BUSY == 0 { word } else { self.wait() }
    }

    #[cold]
    #[inline(never)]
    fn wait(self) -> u64 {
        let mut backoff = Backoff::new();
        loop {
            backoff.wait();
            // Acquire: as in `stable`.
            let word = self.0.load(Ordering::Acquire);
            if word & BUSY == 0 {
                return word;
            }
        }
    }

    /// Returns the word after the reads of the words that it is for.
    #[inline(always)]
    pub(crate) fn after_reads(self) -> u64 {
        // Relaxed: the loads of those words before this one are Acquire, so this load cannot move
        // before them. If one of them returned a new word, the busy bit that its writer set before
        // is visible here.
        self.0.load(Ordering::Relaxed)
    }

    /// Acquires the lock if the word is still `seen`. Returns whether it did.
    #[inline(always)]
    pub(crate) fn lock(self, seen: u64) -> bool {
        // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing is read then.
        self.0.compare_exchange(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Sets the busy bits of a locked word to those of `word`.
    #[inline(always)]
    pub(crate) fn mark(self, word: u64) {
        // Relaxed: the stores of the words that it is for, which follow, are Release.
        self.0.store(word, Ordering::Relaxed);
    }

    /// Releases the lock: stores `word`, which is neither locked nor busy.
    #[inline(always)]
    pub(crate) fn unlock(self, word: u64) {
        // Release: pairs with the Acquire in `stable` and `lock`.
        self.0.store(word, Ordering::Release);
    }
}
