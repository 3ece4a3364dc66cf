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
//! Each word is a [`VersionLock`], with its invariants. Readers wait while a stripe is locked.
//! 1. Unlocking after a change adds one, even if the bucket itself was not written: other
//!    transactions that relied on the bucket must fail (`transaction.rs`).

use super::table::line_of;
use crate::buckets::{LOCKED, VersionLock};
use crate::memory::{Arena, AtomicWords};

/// The number of stripes. Their 16 KiB are half of a core's first-level cache.
const STRIPES: usize = if cfg!(skein_loom) { 4 } else { 2048 };
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
    fn version_lock(&self, stripe: VersionStripe) -> VersionLock<'_, LOCKED> {
        // The remainder proves to the compiler that the index is in bounds; both are constants.
        VersionLock(&self.0[stripe % STRIPES])
    }

    /// Returns the version of a bucket; waits while the stripe is locked.
    #[inline(always)]
    pub(super) fn stable(&self, bucket: u32) -> u64 {
        self.version_lock(Self::stripe(bucket)).stable()
    }

    /// Returns whether a bucket may have changed since `version`, which must come from
    /// [`Self::stable`].
    #[inline(always)]
    pub(super) fn changed(&self, bucket: u32, version: u64) -> bool {
        self.version_lock(Self::stripe(bucket)).after_reads() != version
    }

    /// Locks a stripe if its version is still `seen`. Returns whether it did.
    #[inline(always)]
    pub(super) fn lock(&self, stripe: VersionStripe, seen: u64) -> bool {
        self.version_lock(stripe).lock(seen)
    }

    /// Unlocks a stripe that was locked at version `seen`; with the next version if `changed`.
    #[inline(always)]
    pub(super) fn unlock(&self, stripe: VersionStripe, seen: u64, changed: bool) {
        self.version_lock(stripe).unlock(if changed { seen.wrapping_add(ONE) } else { seen });
    }
}
