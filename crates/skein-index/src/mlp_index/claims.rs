//! Claims: how `compute` keeps a key as it is between a decision to remove it and its removal.
//!
//! ```text
//!   lock the leaf's bucket ─► no claim? ─► ask ─► Remove ─► claim ─► unlock ─► plan the removal, lock all of it, apply ─► end of the claim
//! ```
//!
//! A removal changes the nodes above a leaf, too, and locks are never waited for (`change.rs`). So a writer that holds the leaf alone when its closure
//! decides cannot go on to the removal under that lock. It counts a claim instead, gives the lock back, and removes the key as any removal does; whoever
//! would change the key meanwhile waits. Readers do not: until the removal they see the value that the closure was shown. The paper leaves removal out.
//!
//! A claim is one more in a counter, which keys share by their hash: claiming never waits and never fails, and a key may be waited for in vain.
//!
//! # Invariants
//! 1. A key's value changes, and its leaf goes, only under the lock of the leaf's bucket and after [`check`](Claims::check) under that lock, or by the
//!    claimer. Moves of the leaf to other buckets keep the value, and need no check.
//! 2. A claim is counted under that lock, after a check. So a key has at most one claimer, and the lock's handover shows the claim to all who lock the
//!    leaf's bucket, or the one that it has moved to, later.
//! 3. A claimer waits for no claim, and whoever waits for a claim holds no lock and no claim: there is no deadlock.

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use super::key::ShortKey;
use super::transaction::MlpAbort;
use crate::memory::CachePadded;

/// How many counters there are; a power of two. In models all keys share one.
const STRIPES: usize = if cfg!(skein_loom) { 1 } else { 64 };

/// The claims of an index, 8 KiB of counters.
#[derive(Debug)]
pub(super) struct Claims(Box<[CachePadded<AtomicU64>]>);

impl Claims {
    pub(super) fn new() -> Self {
        Self((0..STRIPES).map(|_| CachePadded::new(AtomicU64::new(0))).collect())
    }

    #[inline(always)]
    fn count(&self, key: ShortKey) -> &AtomicU64 {
        let mixed = (key.bits ^ u64::from(key.len)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[(mixed >> 32) as usize % STRIPES]
    }

    /// Fails if the key may be another writer's. That it is not, and stays so, is known only under the lock of its leaf's bucket.
    #[inline(always)]
    pub(super) fn check(&self, key: ShortKey) -> Result<(), MlpAbort> {
        // Acquire: pairs with the Release in `Claim`'s drop. That a claim is seen is the lock's doing (invariant 2).
        if self.count(key).load(Ordering::Acquire) == 0 { Ok(()) } else { Err(MlpAbort::Changed) }
    }

    /// Waits until nobody has the key. The caller holds no lock: one that is taken again and again to look would keep the claimer from its own.
    #[inline]
    pub(super) fn wait(&self, key: ShortKey) {
        let mut backoff = Backoff::new();
        while self.check(key).is_err() {
            backoff.wait();
        }
    }

    /// Claims a key, whose leaf's bucket the caller has locked before a check.
    pub(super) fn claim(&self, key: ShortKey) -> KeyClaim<'_> {
        let count = self.count(key);
        // Relaxed: giving the lock back publishes it.
        count.fetch_add(1, Ordering::Relaxed);
        KeyClaim(count)
    }
}

/// A key that nobody else changes; dropped, it is anybody's again.
#[derive(Debug)]
pub(super) struct KeyClaim<'i>(&'i AtomicU64);

impl Drop for KeyClaim<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `check`.
        self.0.fetch_sub(1, Ordering::Release);
    }
}
