//! The plain counts of one worker: connections, requests, bytes and looked-up keys.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The counts of a worker. Only the worker writes them (except `connections`), so plain stores are
/// sufficient. They have their own cache lines, so that workers do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerCounters {
    /// Current connections, including those in the mailbox.
    pub connections: AtomicUsize,
    pub requests: AtomicU64,
    /// The start of the current turn, in nanoseconds since the server's start; 0 between turns.
    pub turn_began: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    /// Calls that read or wrote bytes of a connection.
    pub reads: AtomicU64,
    pub writes: AtomicU64,
    /// Keys that reads found (`hits`), and those that they did not.
    pub hits: AtomicU64,
    pub misses: AtomicU64,
    /// Bytes of the connections and of their buffers.
    pub buffers: AtomicU64,
}

impl WorkerCounters {
    /// Changes the bytes of a connection from `counted` to `bytes`.
    #[inline]
    pub(crate) fn holds(&self, counted: &mut usize, bytes: usize) {
        if *counted != bytes {
            let change = (bytes as u64).wrapping_sub(*counted as u64);
            // Relaxed: as in `add`.
            self.buffers.store(self.buffers.load(Ordering::Relaxed).wrapping_add(change), Ordering::Relaxed);
            *counted = bytes;
        }
    }

    /// Counts looked-up keys.
    #[inline]
    pub(crate) fn count_lookups(&self, lookups: Lookups) {
        if lookups.hits > 0 {
            Self::add(&self.hits, lookups.hits);
        }
        if lookups.misses > 0 {
            Self::add(&self.misses, lookups.misses);
        }
    }

    /// Notes the start of a turn, measured from the server's start.
    #[inline]
    pub(crate) fn set_turn(&self, since_start: Duration) {
        // Relaxed: a statistic, ordered with nothing.
        let nanos = since_start.as_secs() * 1_000_000_000 + u64::from(since_start.subsec_nanos());
        self.turn_began.store(nanos.max(1), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn end_turn(&self) {
        self.turn_began.store(0, Ordering::Relaxed);
    }

    /// Adds to a number that only this thread writes.
    #[inline]
    pub(crate) fn add(counter: &AtomicU64, by: u64) {
        // Relaxed: a statistic, ordered with nothing.
        counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
    }
}

/// Numbers of looked-up keys that existed, and that did not.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Lookups {
    pub hits: u64,
    pub misses: u64,
}

impl Lookups {
    /// Counts one lookup.
    #[inline]
    pub(crate) fn note(&mut self, found: bool) {
        self.count(if found { ReadOutcome::Found } else { ReadOutcome::Missed });
    }

    /// Counts the lookup of a read.
    #[inline]
    pub(crate) fn count(&mut self, outcome: ReadOutcome) {
        self.hits += u64::from(outcome == ReadOutcome::Found);
        self.misses += u64::from(outcome == ReadOutcome::Missed);
    }
}

/// What the read of a key counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    Found,
    Missed,
    /// Neither: Redis refuses the arguments before it looks for the key.
    Refused,
}

impl ReadOutcome {
    /// Returns the outcome of a read that failed with this text. Redis has found the key only if
    /// the text tells of its type.
    #[cold]
    pub(crate) fn of_error(text: &[u8]) -> Self {
        if text.starts_with(b"WRONGTYPE") { Self::Found } else { Self::Refused }
    }
}
