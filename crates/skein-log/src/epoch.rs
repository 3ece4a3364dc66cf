//! The epoch gate: who is inside, and when an epoch is over.
//!
//! ```text
//!   worker:  enter ──── latch key, read E, change, unlatch ──── append record ──── leave
//!   closer:                    E = e + 1 ... wait: nobody who entered at e is inside ... epoch e is closed
//! ```
//!
//! E is the present epoch. Each log has a desk with two counters of who is inside, for even and odd epochs.
//!
//! 1. At most one closer runs at a time (the commit token of `commit/turns.rs`). So only two epochs are ever
//!    open, E and maybe E - 1, and the parity of an epoch names its counter.
//! 2. A worker that is counted for epoch e re-read E = e after it was counted. The closer of e stores
//!    E = e + 1 and only then looks at the counter, by a read-modify-write. If the worker's increment comes
//!    first in the counter's order, the closer sees it and waits; if it comes second, the worker's
//!    re-read sees e + 1, and it takes itself back. So when `close` returns e, nobody who is counted for an
//!    epoch up to e is inside.
//! 3. While a worker counted for e is inside, E is e or e + 1: closing e + 1 begins after e is closed. A record
//!    takes its epoch from E while its worker is inside, so it is never of a closed epoch.
//! 4. E is read under the latch of the key that changes, so along one key's versions epochs never
//!    decrease, and of two changes of which the later saw the earlier, the later's epoch is not smaller
//!    (a thread never reads an E older than one it, or whoever it synchronized with, has read).
//! 5. A group is counted, at its desk, after it has seen the barrier down. The closer raises the barrier, waits until
//!    no group is counted, moves E, and lowers it; by the argument of 2, with the barrier in the place of
//!    E. So E does not move while a group is between its first and its last change.
//!
//! Deadlock: a closer waits for groups, then for workers. A group under way waits for nothing of the gate. A
//! worker that begins a group waits for the barrier, which the closer lowers before it waits for workers. Workers
//! never wait for room in a buffer while inside (`buffer.rs`).

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use crate::planted_bugs::{self, PlantedBug};

/// Turns of spinning and yielding, some tens of microseconds, before a waiter sleeps.
const TURNS_BEFORE_SLEEP: u32 = 128;
/// How long it sleeps at a time.
const NAP: std::time::Duration = std::time::Duration::from_micros(50);

/// The counters of one log; two cache lines, because the hardware fetches lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct EpochCounters {
    inside: [AtomicU64; 2],
    groups: AtomicU64,
}

/// E and the barrier: read by all, written by a closer only.
#[derive(Debug)]
#[repr(align(128))]
struct CurrentEpoch {
    epoch: AtomicU64,
    barrier: AtomicBool,
}

/// The gate.
#[derive(Debug)]
pub struct EpochGate {
    present: CurrentEpoch,
    desks: Box<[EpochCounters]>,
}

impl EpochGate {
    /// A gate for this many logs whose first epoch is `first`.
    pub fn new(logs: usize, first: u64) -> Self {
        let desk =
            || EpochCounters { inside: [AtomicU64::new(0), AtomicU64::new(0)], groups: AtomicU64::new(0) };
        Self {
            present: CurrentEpoch { epoch: AtomicU64::new(first), barrier: AtomicBool::new(false) },
            desks: (0..logs).map(|_| desk()).collect(),
        }
    }

    /// The present epoch.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // Acquire: pairs with the Release in `close`, so that whoever sees an epoch also sees the end of the
        // groups before it.
        self.present.epoch.load(Ordering::Acquire)
    }

    /// Enters the present epoch, at the desk of `log`; returns the epoch to `leave`.
    #[inline]
    pub fn enter(&self, log: usize) -> u64 {
        let desk = &self.desks[log];
        loop {
            let epoch = self.epoch();
            let counter = &desk.inside[parity(epoch)];
            // Acquire: pairs with the Release in `wait_until_none`; if the closer looked before us, the
            // next load sees the epoch that it moved to (invariant 2).
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
        // Release: pairs with the Acquire in `wait_until_none`; the closer sees all that we appended.
        self.desks[log].inside[parity(entered)].fetch_sub(1, Ordering::Release);
    }

    /// Begins a group, at the desk of `log`; returns its epoch. The caller is inside.
    pub fn begin_group(&self, log: usize) -> u64 {
        let groups = &self.desks[log].groups;
        let mut patience = EpochWait::default();
        loop {
            // Acquire: pairs with the Release in `wait_until_none` (invariant 5).
            groups.fetch_add(1, Ordering::Acquire);
            // Acquire: pairs with the Release that lowers the barrier; we see the epoch it moved to.
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
        // Release: pairs with the Acquire in `wait_until_none`; whoever reads a later epoch sees the group.
        self.desks[log].groups.fetch_sub(1, Ordering::Release);
    }

    /// Moves to the next epoch and waits until the present one is over; returns the one that closed.
    ///
    /// REQUIRES: one caller at a time, and none that is inside.
    pub fn close(&self) -> u64 {
        // Relaxed: only closers write it, and the commit token orders them.
        let epoch = self.present.epoch.load(Ordering::Relaxed);
        self.present.barrier.store(true, Ordering::Relaxed);
        for desk in &self.desks {
            wait_until_none(&desk.groups);
        }
        // Release, both: pair with the Acquires in `epoch` and `begin_group`.
        self.present.epoch.store(epoch + 1, Ordering::Release);
        self.present.barrier.store(false, Ordering::Release);
        for desk in &self.desks {
            wait_until_none(&desk.inside[parity(epoch)]);
        }
        epoch
    }
}

impl EpochGate {
    /// Waits until nobody is inside, in any epoch. REQUIRES: the caller is not, and who enters leaves at once.
    pub fn wait_until_empty(&self) {
        for counter in self.desks.iter().flat_map(|desk| &desk.inside) {
            wait_until_none(counter);
        }
    }
}

/// Waits until everybody who was counted before has gone; who is counted after sees what the caller wrote before.
fn wait_until_none(counter: &AtomicU64) {
    // A read-modify-write, not a load: it has a place among the increments. Release: pairs with the Acquire
    // increments that come after it. Acquire, here and below: pairs with the Release decrements.
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

/// Waits for what is mostly a matter of a microsecond, and may be one of milliseconds: a large batch, or a worker that lost
/// its core.
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
            // The core is worth more to whoever works on it.
            std::thread::sleep(NAP);
        }
    }
}

fn parity(epoch: u64) -> usize {
    (epoch & 1) as usize
}

#[cfg(all(test, skein_loom))]
pub(crate) mod models;
