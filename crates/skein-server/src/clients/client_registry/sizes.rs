//! The memory of a client, as other threads see it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long the greatest number of waiting bytes is remembered, as in Redis.
const PEAK_TIME_S: usize = 5;

/// Bytes of a client's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ClientBytes {
    /// Received, and not done yet; room for more.
    pub query: usize,
    pub query_free: usize,
    /// Requests queued since MULTI.
    pub multi: usize,
    /// The buffer of replies, and the replies in it that wait to be sent.
    pub replies: usize,
    pub waiting: usize,
    /// All of the client.
    pub total: usize,
}

/// The same, written by the client's worker once a turn.
#[derive(Debug, Default)]
pub(crate) struct ClientSizes {
    query: AtomicUsize,
    query_free: AtomicUsize,
    multi: AtomicUsize,
    replies: AtomicUsize,
    waiting: AtomicUsize,
    total: AtomicUsize,
    /// The most waiting bytes since this second.
    peak: AtomicUsize,
    peak_since_s: AtomicUsize,
}

impl ClientSizes {
    /// Notes how many bytes wait before some are sent. `now` is measured from the server's start.
    #[inline]
    pub(crate) fn note_waiting(&self, waiting: usize, now: Duration) {
        // Relaxed, like all here: only one worker writes, and the numbers are ordered with nothing.
        let now_s = now.as_secs() as usize;
        if now_s >= self.peak_since_s.load(Ordering::Relaxed) + PEAK_TIME_S {
            self.peak_since_s.store(now_s, Ordering::Relaxed);
            self.peak.store(waiting, Ordering::Relaxed);
        } else if waiting > self.peak.load(Ordering::Relaxed) {
            self.peak.store(waiting, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn set(&self, bytes: ClientBytes) {
        for (place, value) in [
            (&self.query, bytes.query),
            (&self.query_free, bytes.query_free),
            (&self.multi, bytes.multi),
            (&self.replies, bytes.replies),
            (&self.waiting, bytes.waiting),
            (&self.total, bytes.total),
        ] {
            place.store(value, Ordering::Relaxed);
        }
    }

    pub(crate) fn get(&self) -> ClientBytes {
        let of = |place: &AtomicUsize| place.load(Ordering::Relaxed);
        ClientBytes {
            query: of(&self.query),
            query_free: of(&self.query_free),
            multi: of(&self.multi),
            replies: of(&self.replies),
            waiting: of(&self.waiting),
            total: of(&self.total),
        }
    }

    pub(crate) fn total(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that have waited lately.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }
}
