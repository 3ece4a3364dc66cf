//! The versions of buckets: a small array beside the table, each word shared by many buckets.
//!
//! Four slots fill a cache line, so a bucket has no room for a version of its own. The version of a
//! bucket is that of its stripe. Buckets of one stripe are locked together, and a change of one
//! makes readers of the others repeat their reads.
//!
//! ```text
//!   63                                  1      0
//!  ┌─────────────────────────────────────┬────────┐
//!  │ number of changes                   │ locked │
//!  └─────────────────────────────────────┴────────┘
//! ```
//!
//! # Invariants
//! 1. Only the holder of a stripe's lock changes its buckets.
//! 2. Unlocking after a change adds one, even if the bucket itself was not written: other
//!    transactions that relied on the bucket must fail (`transaction.rs`).
//! 3. A reader's copy of a bucket is consistent if the stripe was unlocked before the reads and has
//!    the same version after them.

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use super::table::line_of;
use crate::memory::{Arena, AtomicWords};

/// The number of stripes. Their 16 KiB are half of a core's first-level cache.
const STRIPES: usize = if cfg!(skein_loom) { 4 } else { 2048 };
const LOCKED: u64 = 1;
const ONE: u64 = 2;

pub(super) type VersionStripe = usize;

#[derive(Debug)]
pub(super) struct StripeVersions(AtomicWords);

impl StripeVersions {
    pub(super) fn new(arena: &Arena) -> Self {
        Self(AtomicWords::new(arena, STRIPES, false))
    }

    #[inline(always)]
    pub(super) fn stripe(bucket: u32) -> VersionStripe {
        line_of(bucket) % STRIPES
    }

    #[inline(always)]
    fn word(&self, stripe: VersionStripe) -> &AtomicU64 {
        // The remainder proves to the compiler that the index is in bounds; both are constants.
        &self.0[stripe % STRIPES]
    }

    /// Returns the version of a bucket; waits while the stripe is locked.
    #[inline(always)]
    pub(super) fn stable(&self, bucket: u32) -> u64 {
        let word = self.word(Self::stripe(bucket));
        // Acquire: pairs with the Release in `unlock`.
        let version = word.load(Ordering::Acquire);
        if version & LOCKED == 0 { version } else { Self::wait(word) }
    }

    #[cold]
    #[inline(never)]
    fn wait(word: &AtomicU64) -> u64 {
        let mut backoff = Backoff::new();
        loop {
            backoff.wait();
            // Acquire: as in `stable`.
            let version = word.load(Ordering::Acquire);
            if version & LOCKED == 0 {
                return version;
            }
        }
    }

    /// Returns whether a bucket may have changed since `version`, which must come from
    /// [`Self::stable`].
    #[inline(always)]
    pub(super) fn changed(&self, bucket: u32, version: u64) -> bool {
        // Relaxed: the loads of the bucket's words before this one are Acquire, so this load cannot
        // move before them. If one of them returned a new word, its writer's lock is visible here.
        self.word(Self::stripe(bucket)).load(Ordering::Relaxed) != version
    }

    /// Locks a stripe if its version is still `seen`. Returns whether it did.
    #[inline(always)]
    pub(super) fn lock(&self, stripe: VersionStripe, seen: u64) -> bool {
        // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing is read then.
        self.word(stripe).compare_exchange(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Unlocks a stripe that was locked at version `seen`; with the next version if `changed`.
    #[inline(always)]
    pub(super) fn unlock(&self, stripe: VersionStripe, seen: u64, changed: bool) {
        // Release: pairs with the Acquire in `stable` and `lock`.
        self.word(stripe).store(if changed { seen.wrapping_add(ONE) } else { seen }, Ordering::Release);
    }
}
