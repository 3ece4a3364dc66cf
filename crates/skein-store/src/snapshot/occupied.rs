//! The shards of kept rows that have some: so a snapshot that ends, and a reader, visit only these.
//!
//! ```text
//!   writer    lock shard ─ set the bit ─ which snapshot is the newest? ─ add its note ─ unlock
//!   end       the snapshot is not live any more ─ which bits are set? ─ visit these shards
//! ```
//!
//! # Invariants
//! 1. A bit changes under the lock of its shard. It is cleared only if the shard is empty, so it is
//!    set while the shard has kept rows.
//! 2. A writer sets the bit before it looks for the newest live snapshot. A snapshot stops being
//!    live before its end looks at the bits. Both use read-modify-writes of one word, which have an
//!    order. If the writer is first, the end visits its shard. If it is second, the writer sees
//!    that the snapshot has ended, and adds no note for it.

use skein_sync::atomic::{AtomicU64, Ordering};

/// The largest number of shards.
pub(super) const SHARDS_MAX: usize = u64::BITS as usize;

/// A bit for each shard.
#[derive(Debug, Default)]
pub(super) struct OccupiedShards(AtomicU64);

impl OccupiedShards {
    /// Sets the bit of a shard. REQUIRES: its lock is held, and the caller looks for live snapshots
    /// after this.
    pub(super) fn set(&self, shard: usize) {
        // Acquire: pairs with the Release in `of_ended` (invariant 2). Later changes of the word
        // are read-modify-writes too, so they do not break the pair.
        self.0.fetch_or(1 << shard, Ordering::Acquire);
    }

    /// Clears the bit of a shard. REQUIRES: its lock is held, and it is empty.
    pub(super) fn clear(&self, shard: usize) {
        // Relaxed: a reader that misses it visits an empty shard.
        self.0.fetch_and(!(1 << shard), Ordering::Relaxed);
    }

    /// Returns whether a reader must visit a shard. REQUIRES: it has looked the key up in the index
    /// before.
    pub(super) fn has(&self, shard: usize) -> bool {
        // Relaxed: a reader that has seen a row in the index has acquired the bit of the row that
        // it replaced.
        self.0.load(Ordering::Relaxed) & (1 << shard) != 0
    }

    /// Returns the shards that may have notes of a snapshot. REQUIRES: it has ended.
    pub(super) fn of_ended(&self) -> impl Iterator<Item = usize> + use<> {
        // Release: pairs with the Acquire in `set`, so a writer that is later sees the end. The
        // locks of the shards order everything else.
        let mut bits = self.0.fetch_or(0, Ordering::Release);
        std::iter::from_fn(move || {
            let shard = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(shard)
        })
    }
}
