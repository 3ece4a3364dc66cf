//! The live snapshots of a store, by their moments.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::locks::lock;

/// What the registry knows of a live snapshot.
#[derive(Debug)]
struct LiveSnapshot {
    taken: Instant,
    of_checkpoint: bool,
    ended: Arc<AtomicBool>,
}

/// The number of live snapshots and the age of the oldest.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SnapshotNumbers {
    pub(crate) count: usize,
    pub(crate) oldest: Option<Duration>,
}

/// The registry of live snapshots; see the module head of `snapshot`.
#[derive(Debug, Default)]
pub(super) struct LiveSnapshots {
    by_moment: Mutex<BTreeMap<u64, LiveSnapshot>>,
    /// The moment of the newest one; 0 without one. Written under the lock.
    newest: AtomicU64,
}

impl LiveSnapshots {
    /// Returns the moment of the newest live snapshot; 0 if there is none.
    pub(super) fn newest(&self) -> u64 {
        // Relaxed: a writer that has read a later moment than that of a snapshot has acquired its
        // beginning, and the lock of a shard orders the reader after its end (`KeptRows`).
        self.newest.load(Ordering::Relaxed)
    }

    /// Adds the snapshot of a moment that is still open. Returns its flag, or the number of
    /// snapshots if there are `limit` besides that of a checkpoint.
    pub(super) fn add(
        &self,
        moment: u64,
        of_checkpoint: bool,
        limit: usize,
    ) -> Result<Arc<AtomicBool>, usize> {
        let mut live = lock(&self.by_moment);
        let count = live.values().filter(|snapshot| !snapshot.of_checkpoint).count();
        if !of_checkpoint && count >= limit {
            return Err(count);
        }
        let ended = Arc::new(AtomicBool::new(false));
        live.insert(moment, LiveSnapshot { taken: Instant::now(), of_checkpoint, ended: ended.clone() });
        self.newest.store(moment, Ordering::Relaxed);
        Ok(ended)
    }

    /// Ends a snapshot, unless it has ended. Returns whether no snapshot is live now.
    pub(super) fn end(&self, moment: u64) -> bool {
        let mut live = lock(&self.by_moment);
        if let Some(snapshot) = live.remove(&moment) {
            // Release: pairs with the Acquire of the snapshot's readers, which look at the flag
            // after they have read; the rows are freed after this.
            snapshot.ended.store(true, Ordering::Release);
        }
        let newest = live.last_key_value().map_or(0, |(moment, _)| *moment);
        self.newest.store(newest, Ordering::Relaxed);
        live.is_empty()
    }

    /// Returns the moment of the oldest live snapshot.
    pub(super) fn oldest(&self) -> Option<u64> {
        lock(&self.by_moment).first_key_value().map(|(moment, _)| *moment)
    }

    /// Returns the moments of the live snapshots that are older than `moment`, in order.
    pub(super) fn older_than(&self, moment: u64) -> Vec<u64> {
        lock(&self.by_moment).range(..moment).map(|(moment, _)| *moment).collect()
    }

    pub(super) fn numbers(&self) -> SnapshotNumbers {
        let live = lock(&self.by_moment);
        let oldest = live.values().map(|snapshot| snapshot.taken.elapsed()).max();
        SnapshotNumbers { count: live.len(), oldest }
    }
}
