//! The epoch gate: counts the workers inside each epoch, and so knows when an epoch is over.
//!
//! ```text
//!   worker:  enter ──── latch key, read E, change, unlatch ──── append record ──── leave
//!   closer:            E = e + 1 ... wait: no worker that entered at e is inside ... e is closed
//! ```
//!
//! E is the current epoch, M the current moment. A *moment* divides time as an epoch does, but
//! nothing is written to disk when it closes: snapshots of memory use it. A *period* is the time
//! between two closes of any kind. Each log has two counters of workers inside, one for each side:
//! the side changes with every period.
//!
//! 1. At most one closer runs at a time: it holds `closing`. So only two periods are ever open, the
//!    current one and maybe the one before, and the side of a period selects its counter.
//! 2. A worker that is counted for a period has read the same epoch and side again after it was
//!    counted. The closer stores the next epoch or side and only then reads the counter, by a
//!    read-modify-write. If the worker's increment is first in the counter's modification order,
//!    the closer sees it and waits. If it is second, the worker's second read returns the next
//!    period, and the worker undoes its increment. So when `close` returns e, no worker that is
//!    counted for an epoch up to e is inside, and the same holds for moments.
//! 3. While a worker counted for epoch e and moment m is inside, E is e or e + 1, and M is m or
//!    m + 1, because the next close begins only after the worker's period is closed. A record takes
//!    its epoch from E while its worker is inside, so it never belongs to a closed epoch.
//! 4. A worker reads E, or M, under the latch of the key that it changes, so neither ever decreases
//!    along the versions of one key. If a change saw an earlier change, its epoch is not smaller: a
//!    thread never reads an E older than one that it has read, or that a thread which it
//!    synchronized with has read.
//! 5. A group is counted, in its log's counters, after it has seen the barrier down. The closer
//!    raises the barrier, waits until no group is counted, moves E or M, and lowers the barrier. By
//!    the argument of 2, with the barrier in the place of E, neither moves between the first and
//!    the last change of a group.
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

/// The lowest bit of [`CurrentEpoch::word`] is the side, the rest is the epoch.
const SIDE: u64 = 1;

/// E, M and the barrier. All threads read them; only a closer writes them.
#[derive(Debug)]
#[repr(align(128))]
struct CurrentEpoch {
    /// E, and the side of the current period.
    word: AtomicU64,
    moment: AtomicU64,
    barrier: AtomicBool,
    /// Held by the closer.
    closing: AtomicBool,
}

/// The gate; see the module head.
#[derive(Debug)]
pub struct EpochGate {
    present: CurrentEpoch,
    counters: Box<[EpochCounters]>,
}

impl EpochGate {
    /// Creates a gate for `logs` logs, with `first` as the first epoch. The first moment is 1.
    pub fn new(logs: usize, first: u64) -> Self {
        let new_counters =
            || EpochCounters { inside: [AtomicU64::new(0), AtomicU64::new(0)], groups: AtomicU64::new(0) };
        Self {
            present: CurrentEpoch {
                word: AtomicU64::new(first << 1),
                moment: AtomicU64::new(1),
                barrier: AtomicBool::new(false),
                closing: AtomicBool::new(false),
            },
            counters: (0..logs).map(|_| new_counters()).collect(),
        }
    }

    /// Returns the current epoch.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.word() >> 1
    }

    #[inline]
    fn word(&self) -> u64 {
        // Acquire: pairs with the Release in `end_period`. A thread that sees an epoch also sees
        // the end of the groups before it.
        self.present.word.load(Ordering::Acquire)
    }

    /// Returns the current moment.
    #[inline]
    pub fn moment(&self) -> u64 {
        // Acquire: pairs with the Release in `close_moment`, as for the epoch.
        self.present.moment.load(Ordering::Acquire)
    }

    /// Enters the current period in the counters of `log`. Returns the period, which must be passed
    /// to `leave`.
    #[inline]
    pub fn enter(&self, log: usize) -> u64 {
        let log_counters = &self.counters[log];
        loop {
            let period = self.word();
            let counter = &log_counters.inside[side(period)];
            // Acquire: pairs with the Release in `wait_until_none`. If the closer read the counter
            // before this increment, the next load returns the period that it moved to (invariant
            // 2).
            counter.fetch_add(1, Ordering::Acquire);
            if self.word() == period {
                return period;
            }
            counter.fetch_sub(1, Ordering::Release);
        }
    }

    /// Leaves the period that `enter` returned.
    #[inline]
    pub fn leave(&self, log: usize, entered: u64) {
        // Release: pairs with the Acquire in `wait_until_none`, so the closer sees all appended
        // records.
        self.counters[log].inside[side(entered)].fetch_sub(1, Ordering::Release);
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
    /// REQUIRES: the caller is not inside an epoch.
    pub fn close(&self) -> u64 {
        let _closer = self.closer();
        // Relaxed: only closers write it, and `closing` orders them.
        let epoch = self.present.word.load(Ordering::Relaxed) >> 1;
        self.end_period(epoch + 1, None);
        epoch
    }

    /// Moves to the next moment, waits until the old one is over, and returns the old one. The
    /// epoch stays.
    ///
    /// REQUIRES: the caller is not inside an epoch.
    pub fn close_moment(&self) -> u64 {
        let _closer = self.closer();
        // Relaxed, both: as in `close`.
        let epoch = self.present.word.load(Ordering::Relaxed) >> 1;
        let moment = self.present.moment.load(Ordering::Relaxed);
        self.end_period(epoch, Some(moment + 1));
        moment
    }

    /// Waits until all workers that are inside now have left. Epoch and moment stay.
    ///
    /// REQUIRES: the caller is not inside an epoch.
    pub fn wait_until_left(&self) {
        let _closer = self.closer();
        // Relaxed: as in `close`.
        let epoch = self.present.word.load(Ordering::Relaxed) >> 1;
        self.end_period(epoch, None);
    }

    /// Begins the next period, with this epoch, and with this moment if it moves. Waits until the
    /// old period is over. REQUIRES: the caller is the closer.
    fn end_period(&self, epoch: u64, moment: Option<u64>) {
        // Relaxed: only closers write it, and `closing` orders them.
        let old = self.present.word.load(Ordering::Relaxed);
        self.present.barrier.store(true, Ordering::Relaxed);
        for log_counters in &self.counters {
            wait_until_none(&log_counters.groups);
        }
        // Release, all three: pair with the Acquires in `moment`, `word` and `begin_group`. The
        // moment is first, so a worker that enters the new period reads the new moment.
        if let Some(moment) = moment {
            self.present.moment.store(moment, Ordering::Release);
        }
        self.present.word.store((epoch << 1) | (!old & SIDE), Ordering::Release);
        self.present.barrier.store(false, Ordering::Release);
        for log_counters in &self.counters {
            wait_until_none(&log_counters.inside[side(old)]);
        }
    }

    /// Waits until no other closer runs.
    fn closer(&self) -> EpochCloser<'_> {
        let mut patience = EpochWait::default();
        // Acquire: pairs with the Release of the last closer's drop.
        while self.present.closing.swap(true, Ordering::Acquire) {
            patience.wait();
        }
        EpochCloser(self)
    }
}

/// The right to close, returned on drop.
struct EpochCloser<'g>(&'g EpochGate);

impl Drop for EpochCloser<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `closer`.
        self.0.present.closing.store(false, Ordering::Release);
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

/// Returns the side of a period.
fn side(period: u64) -> usize {
    (period & SIDE) as usize
}

#[cfg(all(test, skein_loom))]
pub(crate) mod models;
