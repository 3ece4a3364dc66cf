//! The live snapshots of a store, by their moments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_log::Log;
use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::mutex::{Mutex, lock};

/// The part of the epoch gate that snapshots need: the moments, and the writers inside.
pub(super) trait MomentGate {
    /// As [`Log::moment`].
    fn moment(&self) -> u64;

    /// As [`Log::wait_for_operations`].
    fn wait_for_operations(&self);

    /// As [`Log::close_moment`].
    fn close_moment(&self) -> u64;
}

impl MomentGate for Log {
    fn moment(&self) -> u64 {
        Log::moment(self)
    }

    fn wait_for_operations(&self) {
        Log::wait_for_operations(self);
    }

    fn close_moment(&self) -> u64 {
        Log::close_moment(self)
    }
}

/// An entry of the registry for a live snapshot.
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

#[derive(Debug, Default)]
struct Registry {
    by_moment: BTreeMap<u64, LiveSnapshot>,
    /// How many of them are of checkpoints.
    of_checkpoints: usize,
}

/// The registry of live snapshots; see the module head of `snapshot`. Each operation costs the
/// logarithm of their number.
#[derive(Debug, Default)]
pub(super) struct LiveSnapshots {
    registry: Mutex<Registry>,
    /// The moment of the newest one; 0 without one. Written under the lock.
    newest: AtomicU64,
}

impl LiveSnapshots {
    /// Returns the moment of the newest live snapshot, or 0 if no snapshot is live.
    pub(super) fn newest(&self) -> u64 {
        // Relaxed: a writer that has read a later moment than that of a snapshot has acquired its
        // beginning, and the lock of a shard orders the reader after its end (`KeptRows`).
        self.newest.load(Ordering::Relaxed)
    }

    /// Takes a snapshot. Returns its moment and its flag, or the number of snapshots if there are
    /// `limit` besides that of a checkpoint. REQUIRES: the thread is not inside the gate, and no
    /// other thread takes a snapshot.
    pub(super) fn take(
        &self,
        gate: &impl MomentGate,
        of_checkpoint: bool,
        limit: usize,
    ) -> Result<(u64, Arc<AtomicBool>), usize> {
        // Another snapshot may end just before this one is added, so the registry says whether it
        // is the only one.
        let (ended, is_only) = self.add(gate.moment(), of_checkpoint, limit)?;
        if is_only {
            // Invariant 1 of `snapshot`.
            gate.wait_for_operations();
        }
        Ok((gate.close_moment(), ended))
    }

    /// Adds the snapshot of a moment that is still open. Returns its flag and whether it is the
    /// only one, or the number of snapshots if there are `limit` besides that of a checkpoint.
    pub(super) fn add(
        &self,
        moment: u64,
        of_checkpoint: bool,
        limit: usize,
    ) -> Result<(Arc<AtomicBool>, bool), usize> {
        let mut live = lock(&self.registry);
        let count = live.by_moment.len() - live.of_checkpoints;
        if !of_checkpoint && count >= limit {
            return Err(count);
        }
        let (ended, is_only) = (Arc::new(AtomicBool::new(false)), live.by_moment.is_empty());
        live.of_checkpoints += usize::from(of_checkpoint);
        live.by_moment
            .insert(moment, LiveSnapshot { taken: Instant::now(), of_checkpoint, ended: ended.clone() });
        self.newest.store(moment, Ordering::Relaxed);
        Ok((ended, is_only))
    }

    /// Ends a snapshot, unless it has ended. Returns whether no snapshot is live now.
    pub(super) fn end(&self, moment: u64) -> bool {
        let mut live = lock(&self.registry);
        if let Some(snapshot) = live.by_moment.remove(&moment) {
            live.of_checkpoints -= usize::from(snapshot.of_checkpoint);
            // Release: pairs with the Acquire of the snapshot's readers, which look at the flag
            // after they have read; the rows are freed after this.
            snapshot.ended.store(true, Ordering::Release);
        }
        let newest = live.by_moment.last_key_value().map_or(0, |(moment, _)| *moment);
        self.newest.store(newest, Ordering::Relaxed);
        live.by_moment.is_empty()
    }

    /// Returns the moment of the oldest live snapshot.
    pub(super) fn oldest(&self) -> Option<u64> {
        lock(&self.registry).by_moment.first_key_value().map(|(moment, _)| *moment)
    }

    /// Returns the moment of the newest live snapshot that is older than `moment`.
    pub(super) fn newest_before(&self, moment: u64) -> Option<u64> {
        lock(&self.registry).by_moment.range(..moment).next_back().map(|(moment, _)| *moment)
    }

    pub(super) fn numbers(&self) -> SnapshotNumbers {
        let live = lock(&self.registry);
        // Moments rise, so the first one was taken first.
        let oldest = live.by_moment.first_key_value().map(|(_, snapshot)| snapshot.taken.elapsed());
        SnapshotNumbers { count: live.by_moment.len(), oldest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A snapshot that begins after the end of all others must wait for the writers inside.
    #[test]
    fn the_registry_says_whether_a_snapshot_is_the_only_one() {
        let live = LiveSnapshots::default();
        let is_only = |moment| live.add(moment, false, usize::MAX).expect("no limit").1;
        assert!(is_only(1));
        assert!(!is_only(2));
        live.end(1);
        assert!(!is_only(3));
        live.end(2);
        live.end(3);
        assert!(is_only(4));
    }
}
