//! The gate: what makes a write and the moment that it is stamped with one step, for all who look.
//!
//! ```text
//!   write:     enter ── read the clock ── publish, stamped with it ── leave
//!   snapshot:  close ── wait until nobody is inside ── note it, clock + 1 ── open
//! ```
//!
//! A snapshot of moment t sees what is stamped t or less. While the clock stands at t, nobody closes the gate over a write that has read it;
//! when it goes on, no such write is under way. So every write of stamp t is published before the snapshot of moment t is taken, and every
//! write after it has a greater stamp: the snapshot is one moment of the order in which point writes are seen. Lookups need no stamps.
//!
//! The alternative that waits for nobody (Wei and others 2021) publishes first and stamps afterwards, so whoever meets a write
//! without a stamp, a lookup too, has to stamp it. Here lookups write nothing, and what is between `enter` and `leave` is a few dozen instructions.
//!
//! # Invariants
//! 1. The clock, and that a snapshot is live where none newer was, change only while every stripe is closed and nobody is inside.
//! 2. Inside, nobody waits for another thread.

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use crate::memory::CachePadded;

/// How many parts the gate has; a power of two. A thread goes through its own.
const STRIPES: usize = if cfg!(skein_loom) { 1 } else { 16 };
/// A stripe that is closed; below, how many are inside.
const CLOSED: u64 = 1 << 63;

/// The first moment.
const FIRST: u64 = 1;
/// Bits of a slot's number in `newest`.
const SLOT_BITS: u32 = 8;

/// A live snapshot: its moment, and the slot where notes for it are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveSnapshot {
    pub(super) moment: u64,
    pub(super) slot: usize,
}

/// What a write finds inside the gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct GatePass {
    /// The stamp of what it publishes.
    pub(super) stamp: u64,
    newest: Option<LiveSnapshot>,
}

impl GatePass {
    /// Where there is no gate, and no snapshot.
    pub(super) const ALONE: Self = Self { stamp: FIRST, newest: None };

    /// The newest snapshot, if that sees what was written at `stamp` and is superseded now.
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
    /// The newest live snapshot, as moment and slot; 0 if there is none.
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

    /// Lets `publish` run at one moment. It waits for nobody (invariant 2).
    #[inline(always)]
    pub(super) fn pass<R>(&self, thread: usize, publish: impl FnOnce(GatePass) -> R) -> R {
        let stripe = &*self.stripes[thread % STRIPES];
        // Acquire: pairs with the Release in `open`; the clock and the newest snapshot are at least those set then.
        if stripe.fetch_add(1, Ordering::Acquire) & CLOSED != 0 {
            Self::wait(stripe);
        }
        // Relaxed: neither goes up while we are inside (invariant 1).
        let stamp = self.clock.load(Ordering::Relaxed);
        let newest = self.newest.load(Ordering::Relaxed);
        // Planted: long enough for a clock that nobody keeps from going on (`close`).
        #[cfg(all(feature = "planted-bugs", not(skein_loom)))]
        std::thread::yield_now();
        let done = publish(GatePass { stamp, newest: (newest != 0).then(|| holder_of(newest)) });
        // Release: pairs with the Acquire in `close`; who closes the gate sees what was published.
        stripe.fetch_sub(1, Ordering::Release);
        done
    }

    /// Steps back from a closed stripe until it is open.
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

    /// The moment that the next snapshot takes.
    pub(super) fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Takes a moment: notes a snapshot of it that keeps its notes in `slot`. One caller at a time.
    pub(super) fn take_moment(&self, slot: usize) -> u64 {
        self.close();
        // Relaxed here and below: nobody is inside, and one caller at a time comes here; `open` publishes.
        let moment = self.clock.load(Ordering::Relaxed);
        self.set_newest(Some(LiveSnapshot { moment, slot }));
        self.clock.store(moment + 1, Ordering::Relaxed);
        self.open();
        moment
    }

    /// Says which live snapshot is the newest. One caller at a time.
    pub(super) fn set_newest(&self, newest: Option<LiveSnapshot>) {
        let word = newest.map_or(0, |holder| holder.moment << SLOT_BITS | holder.slot as u64);
        // Relaxed: a new snapshot is published by `open`. Who does not see yet that one is gone keeps what nobody needs, and finds
        // that out when he leaves a note (`kept.rs`).
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

    /// Planted: nobody is waited for, so a write may publish with a stamp of a moment that has passed.
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

/// How many slots there may be.
pub(super) const SLOTS: usize = 1 << SLOT_BITS;
