//! The epoch gate: counts the workers inside each epoch, and so knows when an epoch is over.
//!
//! ```text
//!   worker:  enter ──── latch key, read E, change, unlatch ──── append record ──── leave
//!   closer:            E = e + 1 ... wait: no worker that entered at e is inside ... e is closed
//! ```
//!
//! E is the current epoch. Each log has two counters of workers inside, one for even and one for
//! odd epochs.
//!
//! 1. At most one closer runs at a time: the holder of the commit token (`commit/committer.rs`). So
//!    only two epochs are ever open, E and maybe E - 1, and the parity of an epoch selects its
//!    counter.
//! 2. A worker that is counted for epoch e has read E = e again after it was counted. The closer of
//!    e stores E = e + 1 and only then reads the counter, by a read-modify-write. If the worker's
//!    increment is first in the counter's modification order, the closer sees it and waits. If it
//!    is second, the worker's second read returns e + 1, and the worker undoes its increment. So
//!    when `close` returns e, no worker that is counted for an epoch up to e is inside.
//! 3. While a worker counted for e is inside, E is e or e + 1, because closing e + 1 begins after e
//!    is closed. A record takes its epoch from E while its worker is inside, so it never belongs to
//!    a closed epoch.
//! 4. A worker reads E under the latch of the key that it changes, so epochs never decrease along
//!    the versions of one key. If a change saw an earlier change, its epoch is not smaller: a
//!    thread never reads an E older than one that it has read, or that a thread which it
//!    synchronized with has read.
//! 5. A group is counted, in its log's counters, after it has seen the barrier down. The closer
//!    raises the barrier, waits until no group is counted, moves E, and lowers the barrier. By the
//!    argument of 2, with the barrier in the place of E, E does not move between the first and the
//!    last change of a group.
//!
//! No deadlock: a closer waits for groups, then for workers. A running group waits for nothing in
//! the gate. A worker that begins a group waits for the barrier, and the closer lowers the barrier
//! before it waits for workers. Workers never wait for space in a buffer while they are inside
//! (`buffer.rs`).

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use crate::planted_bugs::{self, PlantedBug};

/// Rounds of spinning and yielding before a waiter sleeps: some tens of microseconds.
const TURNS_BEFORE_SLEEP: u32 = 128;
/// The length of one sleep.
const NAP: std::time::Duration = std::time::Duration::from_micros(50);

/// The counters of one log. They take two cache lines because the hardware fetches lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct EpochCounters {
    inside: [AtomicU64; 2],
    groups: AtomicU64,
}

/// E and the barrier. All threads read them; only a closer writes them.
#[derive(Debug)]
#[repr(align(128))]
struct CurrentEpoch {
    epoch: AtomicU64,
    barrier: AtomicBool,
}

/// The gate; see the module head.
#[derive(Debug)]
pub struct EpochGate {
    present: CurrentEpoch,
    counters: Box<[EpochCounters]>,
}

impl EpochGate {
    /// Creates a gate for `logs` logs whose first epoch is `first`.
    pub fn new(logs: usize, first: u64) -> Self {
        let new_counters =
            || EpochCounters { inside: [AtomicU64::new(0), AtomicU64::new(0)], groups: AtomicU64::new(0) };
        Self {
            present: CurrentEpoch { epoch: AtomicU64::new(first), barrier: AtomicBool::new(false) },
            counters: (0..logs).map(|_| new_counters()).collect(),
        }
    }

    /// Returns the current epoch.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // Acquire: pairs with the Release in `close`. A thread that sees an epoch also sees the end
        // of the groups before it.
        self.present.epoch.load(Ordering::Acquire)
    }

    /// Enters the current epoch in the counters of `log`. Returns the epoch, which must be passed
    /// to `leave`.
    #[inline]
    pub fn enter(&self, log: usize) -> u64 {
        let log_counters = &self.counters[log];
        loop {
            let epoch = self.epoch();
            let counter = &log_counters.inside[parity(epoch)];
            // Acquire: pairs with the Release in `wait_until_none`. If the closer read the counter
            // before this increment, the next load returns the epoch that it moved to (invariant
            // 2).
            counter.fetch_add(1, Ordering::Acquire);
            if self.epoch() == epoch {
                return epoch;
            }
            counter.fetch_sub(1, Ordering::Release);
        }
    }

    /// Leaves the epoch that `enter` returned.
    #[inline]
    pub fn leave(&self, log: usize, entered: u64) {
        // Release: pairs with the Acquire in `wait_until_none`, so the closer sees all appended
        // records.
        self.counters[log].inside[parity(entered)].fetch_sub(1, Ordering::Release);
    }

    /// Begins a group in the counters of `log` and returns its epoch. The caller must be inside.
    pub fn begin_group(&self, log: usize) -> u64 {
        let groups = &self.counters[log].groups;
        let mut patience = EpochWait::default();
        loop {
            // Acquire: pairs with the Release in `wait_until_none` (invariant 5).
            groups.fetch_add(1, Ordering::Acquire);
            // Acquire: pairs with the Release that lowers the barrier, so `epoch` below returns the
            // epoch after the move.
            if !self.present.barrier.load(Ordering::Acquire) {
                return self.epoch();
            }
            groups.fetch_sub(1, Ordering::Release);
            while self.present.barrier.load(Ordering::Relaxed) {
                patience.wait();
            }
        }
    }

    /// Ends a group.
    pub fn end_group(&self, log: usize) {
        // Release: pairs with the Acquire in `wait_until_none`. A thread that reads a later epoch
        // sees the group.
        self.counters[log].groups.fetch_sub(1, Ordering::Release);
    }

    /// Moves to the next epoch, waits until the old one is over, and returns the old one.
    ///
    /// REQUIRES: only one thread calls this at a time, and the caller is not inside an epoch.
    pub fn close(&self) -> u64 {
        // Relaxed: only closers write it, and the commit token orders them.
        let epoch = self.present.epoch.load(Ordering::Relaxed);
        self.present.barrier.store(true, Ordering::Relaxed);
        for log_counters in &self.counters {
            wait_until_none(&log_counters.groups);
        }
        // Release, both: pair with the Acquires in `epoch` and `begin_group`.
        self.present.epoch.store(epoch + 1, Ordering::Release);
        self.present.barrier.store(false, Ordering::Release);
        for log_counters in &self.counters {
            wait_until_none(&log_counters.inside[parity(epoch)]);
        }
        epoch
    }
}

impl EpochGate {
    /// Waits until no worker is inside any epoch. REQUIRES: the caller is not inside, and a worker
    /// that enters from now on leaves immediately.
    pub fn wait_until_empty(&self) {
        for counter in self.counters.iter().flat_map(|log_counters| &log_counters.inside) {
            wait_until_none(counter);
        }
    }
}

/// Waits until all workers counted so far have left. A worker that is counted later sees all that
/// the caller wrote before.
fn wait_until_none(counter: &AtomicU64) {
    // A read-modify-write, not a load: it has a place in the modification order, among the
    // increments. Release: pairs with the Acquire of later increments. Acquire, here and below:
    // pairs with the Release of the decrements.
    let mut counted = if planted_bugs::is_on(PlantedBug::PlainLook) {
        counter.load(Ordering::Acquire)
    } else {
        counter.fetch_add(0, Ordering::AcqRel)
    };
    let mut patience = EpochWait::default();
    while counted != 0 {
        patience.wait();
        counted = counter.load(Ordering::Acquire);
    }
}

/// A wait that mostly takes a microsecond, but milliseconds if a worker runs a large batch or has
/// lost its core.
#[derive(Default)]
struct EpochWait {
    backoff: Backoff,
    turns: u32,
}

impl EpochWait {
    fn wait(&mut self) {
        self.turns += 1;
        if cfg!(skein_loom) || self.turns < TURNS_BEFORE_SLEEP {
            self.backoff.wait();
        } else {
            // Sleeps, so that a worker can use the core.
            std::thread::sleep(NAP);
        }
    }
}

fn parity(epoch: u64) -> usize {
    (epoch & 1) as usize
}

#[cfg(all(test, skein_loom))]
pub(crate) mod models;
