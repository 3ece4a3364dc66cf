//! Claims: keep a key unchanged between the decision of `compute` to remove it and its removal.
//!
//! ```text
//!   lock the leaf's bucket ─► no claim? ─► ask ─► Remove ─► claim ─► unlock
//!        ─► plan the removal, lock all of it, apply ─► end of the claim
//! ```
//!
//! A removal also changes nodes above the leaf, and no transaction waits for locks
//! (`transaction.rs`). So a writer that holds only the lock of the leaf when its closure decides
//! cannot continue with the removal under that lock. It counts a claim instead, unlocks, and
//! removes the key like any other removal. Other writers of the key wait meanwhile. Readers do not:
//! until the removal they see the value that the closure saw. The paper has no removal. Design:
//! `docs/design/compute-asks-once.md`.
//!
//! A claim is an increment of a counter, which keys share by their hash. Claiming never waits and
//! never fails. A writer may wait because of another key's claim.
//!
//! # Invariants
//! 1. A key's value is changed, and its leaf removed, only under the lock of the leaf's bucket and
//!    after a [`check`](Claims::check) under that lock, or by the claimer. Moves of the leaf to
//!    another bucket keep the value and need no check.
//! 2. A claim is counted under that lock, after a check. So a key has at most one claimer. Every
//!    writer that locks the leaf's bucket later, or the bucket to which the leaf moved, sees the
//!    claim.
//! 3. A claimer waits for no claim, and a writer that waits for a claim holds no lock and no claim.
//!    So there is no deadlock.

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use super::key::ShortKey;
use super::transaction::MlpAbort;
use crate::memory::CachePadded;

/// The number of counters, a power of two. In models all keys share one.
const STRIPES: usize = if cfg!(skein_loom) { 1 } else { 64 };

/// The claims of an index: 8 KiB of counters.
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

    /// Fails if another writer may have claimed the key. Success is final only under the lock of
    /// the leaf's bucket.
    #[inline(always)]
    pub(super) fn check(&self, key: ShortKey) -> Result<(), MlpAbort> {
        // Acquire: pairs with the Release in the drop of a `KeyClaim`. The lock makes the claim
        // itself visible (invariant 2).
        if self.count(key).load(Ordering::Acquire) == 0 { Ok(()) } else { Err(MlpAbort::Changed) }
    }

    /// Waits until no writer claims the key. The caller must hold no lock: locking again and again
    /// in order to check would keep the claimer from its own lock.
    #[inline]
    pub(super) fn wait(&self, key: ShortKey) {
        let mut backoff = Backoff::new();
        while self.check(key).is_err() {
            backoff.wait();
        }
    }

    /// Claims a key. The caller must have locked its leaf's bucket and then checked it.
    pub(super) fn claim(&self, key: ShortKey) -> KeyClaim<'_> {
        let count = self.count(key);
        // Relaxed: the release of the lock publishes it.
        count.fetch_add(1, Ordering::Relaxed);
        KeyClaim(count)
    }
}

/// The right to change a key alone. Dropping it ends the claim.
#[derive(Debug)]
pub(super) struct KeyClaim<'i>(&'i AtomicU64);

impl Drop for KeyClaim<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `check`.
        self.0.fetch_sub(1, Ordering::Release);
    }
}
