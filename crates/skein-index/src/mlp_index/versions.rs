//! Versions of buckets, each shared by many: a small array beside the table.
//!
//! Four slots fill a cache line, so a bucket has no place for a version of its own. A bucket's version is that of its stripe; buckets that share
//! one are locked together, and a reader of one may have to read again because of another.
//!
//! ```text
//!   63                                  1      0
//!  ┌─────────────────────────────────────┬────────┐
//!  │ how many changes there were         │ locked │
//!  └─────────────────────────────────────┴────────┘
//! ```
//!
//! # Invariants
//! 1. Only the holder of a stripe's lock changes its buckets.
//! 2. Unlocking after a change adds one, also if nothing was written: who relied on the bucket is not to be relied on any more (`change.rs`).
//! 3. What a reader took from a bucket whose stripe was not locked, and is the same afterwards, was there at one moment.

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use super::table::line_of;
use crate::memory::{Arena, AtomicWords};

/// How many stripes there are: 16 KiB of them, half of a core's first cache.
const STRIPES: usize = if cfg!(skein_loom) { 4 } else { 2048 };
const LOCKED: u64 = 1;
const ONE: u64 = 2;

/// A stripe.
pub(super) type VersionStripe = usize;

/// The versions.
#[derive(Debug)]
pub(super) struct StripeVersions(AtomicWords);

impl StripeVersions {
    pub(super) fn new(arena: &Arena) -> Self {
        Self(AtomicWords::new(arena, STRIPES, false))
    }

    /// The stripe of a bucket.
    #[inline(always)]
    pub(super) fn stripe(bucket: u32) -> VersionStripe {
        line_of(bucket) % STRIPES
    }

    #[inline(always)]
    fn word(&self, stripe: VersionStripe) -> &AtomicU64 {
        // The remainder tells the compiler that it is in the array; both are constants.
        &self.0[stripe % STRIPES]
    }

    /// A bucket's version, once nobody has it locked.
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

    /// Whether a bucket may not be what it was at a version, which came from [`Self::stable`].
    #[inline(always)]
    pub(super) fn changed(&self, bucket: u32, version: u64) -> bool {
        // The loads of the bucket's words are Acquire, so this one comes after them; whoever wrote what they saw had locked the stripe.
        self.word(Self::stripe(bucket)).load(Ordering::Relaxed) != version
    }

    /// Locks a stripe if its version is still `seen`.
    #[inline(always)]
    pub(super) fn lock(&self, stripe: VersionStripe, seen: u64) -> bool {
        // Acquire: pairs with the Release in `unlock`. Relaxed on failure: nothing is read then.
        self.word(stripe).compare_exchange(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Unlocks a stripe that was locked at a version, with the next one if it is `changed`.
    #[inline(always)]
    pub(super) fn unlock(&self, stripe: VersionStripe, seen: u64, changed: bool) {
        // Release: pairs with the Acquire in `stable` and `lock`.
        self.word(stripe).store(if changed { seen.wrapping_add(ONE) } else { seen }, Ordering::Release);
    }
}
