//! The gate: makes publishing a write and stamping it one step for every observer.
//!
//! ```text
//!   write:     enter ── read the clock ── publish with that stamp ── leave
//!   snapshot:  close ── wait until no writer is inside ── record the snapshot, clock + 1 ── open
//! ```
//!
//! A snapshot of moment t sees the versions whose stamp is t or less. A writer reads the clock
//! inside the gate, and the clock advances only while no writer is inside. So every write of stamp
//! t is published before the snapshot of moment t is taken, and every write after the snapshot has
//! a greater stamp: the snapshot is one moment in the order in which point writes become visible.
//! Lookups need no stamps.
//!
//! The alternative without waiting (Wei and others 2021) publishes first and stamps afterwards.
//! Then every thread that meets a write without a stamp, even a lookup, must stamp it. Here lookups
//! write nothing, and only a few dozen instructions lie between `enter` and `leave`. Design:
//! `docs/design/skip-list.md`.
//!
//! # Invariants
//! 1. The clock advances, and a newer snapshot is recorded, only while every stripe is closed and
//!    no writer is inside.
//! 2. Inside the gate no thread waits for another.

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use crate::memory::CachePadded;

/// The number of stripes of the gate, a power of two. Each thread passes through one of them.
const STRIPES: usize = if cfg!(skein_loom) { 1 } else { 16 };
/// The bit of a closed stripe. The bits below count the writers inside.
const CLOSED: u64 = 1 << 63;

/// The first moment.
const FIRST: u64 = 1;
/// The number of bits of a slot's number in `newest`.
const SLOT_BITS: u32 = 8;

/// A live snapshot: its moment, and the slot that holds its notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveSnapshot {
    pub(super) moment: u64,
    pub(super) slot: usize,
}

/// The clock and the newest snapshot, as a writer reads them inside the gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatePass {
    /// The stamp of the version that the writer publishes.
    pub(super) stamp: u64,
    newest: Option<LiveSnapshot>,
}

impl GatePass {
    /// For a bare list, which has no gate and no snapshots.
    pub(super) const ALONE: Self = Self { stamp: FIRST, newest: None };

    /// Returns the newest snapshot if it sees a version that was written at `stamp` and is
    /// superseded now.
    #[inline(always)]
    pub(super) fn holder(self, stamp: u64) -> Option<LiveSnapshot> {
        self.newest.filter(|newest| stamp <= newest.moment)
    }
}

/// The gate, with the clock behind it.
#[derive(Debug)]
pub(super) struct SnapshotGate {
    stripes: [CachePadded<AtomicU64>; STRIPES],
    clock: CachePadded<AtomicU64>,
    /// The newest live snapshot, as moment and slot; 0 if no snapshot is live.
    newest: AtomicU64,
}

impl SnapshotGate {
    pub(super) fn new() -> Self {
        Self {
            stripes: std::array::from_fn(|_| CachePadded::new(AtomicU64::new(0))),
            clock: CachePadded::new(AtomicU64::new(FIRST)),
            newest: AtomicU64::new(0),
        }
    }

    /// Runs `publish` inside the gate, at one moment of the clock. `publish` must not wait for
    /// another thread (invariant 2).
    #[inline(always)]
    pub(super) fn pass<R>(&self, thread: usize, publish: impl FnOnce(GatePass) -> R) -> R {
        let stripe = &*self.stripes[thread % STRIPES];
        // Acquire: pairs with the Release in `open`; the clock and the newest snapshot are at least
        // those set before it.
        if stripe.fetch_add(1, Ordering::Acquire) & CLOSED != 0 {
            Self::wait(stripe);
        }
        // Relaxed: neither advances while this thread is inside (invariant 1).
        let stamp = self.clock.load(Ordering::Relaxed);
        let newest = self.newest.load(Ordering::Relaxed);
        // Planted bug: gives an unguarded clock the time to advance (`close`).
        #[cfg(all(feature = "planted-bugs", not(skein_loom)))]
        std::thread::yield_now();
        let done = publish(GatePass { stamp, newest: (newest != 0).then(|| holder_of(newest)) });
        // Release: pairs with the Acquire in `close`; the thread that closes the gate sees the
        // published write.
        stripe.fetch_sub(1, Ordering::Release);
        done
    }

    /// Leaves a closed stripe and enters it again once it is open.
    #[cold]
    #[inline(never)]
    fn wait(stripe: &AtomicU64) {
        let mut backoff = Backoff::new();
        loop {
            stripe.fetch_sub(1, Ordering::Relaxed);
            while stripe.load(Ordering::Relaxed) & CLOSED != 0 {
                backoff.wait();
            }
            // Acquire: as in `pass`.
            if stripe.fetch_add(1, Ordering::Acquire) & CLOSED == 0 {
                return;
            }
        }
    }

    /// Returns the moment that the next snapshot will have.
    pub(super) fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Records a snapshot whose notes are in `slot`, advances the clock, and returns the snapshot's
    /// moment. REQUIRES: one caller at a time.
    pub(super) fn take_moment(&self, slot: usize) -> u64 {
        self.close();
        // Relaxed here and below: no writer is inside, and there is one caller at a time; `open`
        // publishes.
        let moment = self.clock.load(Ordering::Relaxed);
        self.set_newest(Some(LiveSnapshot { moment, slot }));
        self.clock.store(moment + 1, Ordering::Relaxed);
        self.open();
        moment
    }

    /// Records which live snapshot is the newest. REQUIRES: one caller at a time.
    pub(super) fn set_newest(&self, newest: Option<LiveSnapshot>) {
        let word = newest.map_or(0, |holder| holder.moment << SLOT_BITS | holder.slot as u64);
        // Relaxed: `open` publishes a new snapshot. A writer that still sees a dropped one keeps a
        // version that no snapshot needs, and finds that out when it leaves its note
        // (`retained_versions.rs`).
        self.newest.store(word, Ordering::Relaxed);
    }

    #[cfg(not(feature = "planted-bugs"))]
    fn close(&self) {
        for stripe in &self.stripes {
            stripe.fetch_or(CLOSED, Ordering::Relaxed);
        }
        for stripe in &self.stripes {
            let mut backoff = Backoff::new();
            // Acquire: pairs with the Release in `pass`.
            while stripe.load(Ordering::Acquire) != CLOSED {
                backoff.wait();
            }
        }
    }

    /// Planted bug: waits for no writer, so a write may be published with the stamp of a past
    /// moment.
    #[cfg(feature = "planted-bugs")]
    fn close(&self) {
        for stripe in &self.stripes {
            stripe.fetch_or(CLOSED, Ordering::Relaxed);
        }
    }

    fn open(&self) {
        for stripe in &self.stripes {
            // Release: pairs with the Acquire in `pass`.
            stripe.fetch_and(!CLOSED, Ordering::Release);
        }
    }
}

fn holder_of(word: u64) -> LiveSnapshot {
    LiveSnapshot { moment: word >> SLOT_BITS, slot: (word & ((1 << SLOT_BITS) - 1)) as usize }
}

/// The maximum number of slots.
pub(super) const SLOTS: usize = 1 << SLOT_BITS;
