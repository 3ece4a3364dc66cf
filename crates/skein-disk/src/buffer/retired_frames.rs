//! Retired frames: they are out of the table, and a walk that found them before may still read them.
//!
//! ```text
//!   evicted, superseded, freed ─► retired ── BATCH of them ─► collector ── all walks that began before have ended ─► dropped
//! ```
//!
//! # Invariants
//! 1. A guard of the collector is held by walks over memory alone, never across a file operation and never between two
//!    calls of a transaction: those pin the one frame that they look at. So a retired frame waits for walks, not for the
//!    disk and not for a user.
//! 2. Retired frames are counted from their retirement to their drop. At [`Retired::most`] of them a reader evicts no
//!    page and reads past the cache, and a writer gives walks time to end before it publishes.
//! 3. Frames reach the collector in batches, so that none lies in the batch of a thread that never comes again.

use std::sync::{Arc, Mutex};

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::lock;
use skein_sync::reclaim::{Collector, GracePeriod, Guard};
use skein_sync::spin::Backoff;

use super::frame::PageFrame;

/// Frames that the collector gets at once.
const BATCH: usize = 64;

/// There may be so many retired frames however small the cache is.
const LEAST: usize = 1024;

/// How often a writer lets walks go on before it publishes although too many frames are retired: a thread that was
/// stopped in the midst of a walk is not to stop writes.
const WAITS: usize = 1000;

/// Counts one retired frame.
#[derive(Debug)]
pub(super) struct RetiredFrameCount(Arc<AtomicUsize>);

impl Drop for RetiredFrameCount {
    fn drop(&mut self) {
        // Relaxed: a count, which nothing else is published by.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The frames that wait.
#[derive(Debug)]
pub(super) struct RetiredFrames {
    next_batch: Mutex<Vec<Arc<PageFrame>>>,
    count: Arc<AtomicUsize>,
    most: usize,
}

impl RetiredFrames {
    /// For a cache of so many pages.
    pub(super) fn new(cache: usize) -> Self {
        let (next_batch, count) = (Mutex::default(), Arc::default());
        Self { next_batch, count, most: cache.max(LEAST) }
    }

    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether there are as many as there may be.
    pub(super) fn is_full(&self) -> bool {
        self.count() >= self.most
    }

    /// Drops a frame that is out of the table past all walks that may have found it there.
    pub(super) fn retire(&self, frame: Arc<PageFrame>, collector: &Collector) {
        self.count.fetch_add(1, Ordering::Relaxed);
        frame.count_as_retired(RetiredFrameCount(self.count.clone()));
        let mut next = lock(&self.next_batch);
        next.push(frame);
        if next.len() >= BATCH {
            let batch = std::mem::take(&mut *next);
            drop(next);
            hand_over(batch, collector);
        }
    }

    /// Lets walks end, if too many frames are retired. The caller holds no guard.
    pub(super) fn wait_for_walks(&self, collector: &Collector) {
        let mut backoff = Backoff::new();
        for _ in 0..WAITS {
            if !self.is_full() {
                return;
            }
            hand_over(std::mem::take(&mut *lock(&self.next_batch)), collector);
            backoff.wait();
        }
    }
}

fn hand_over(batch: Vec<Arc<PageFrame>>, collector: &Collector) {
    unsafe fn give_back(frame: *mut PageFrame, _: &GracePeriod) {
        // SAFETY: the collector gives what it was given below: one count of the frame, from `Arc::into_raw`.
        drop(unsafe { Arc::from_raw(frame.cast_const()) });
    }
    let guard = collector.enter();
    for frame in batch {
        // SAFETY: the frame is out of the table, so no walk that begins from now on finds it, and `retire` is called
        // once for it, with the count that the table had.
        unsafe { guard.defer_retire(Arc::into_raw(frame).cast_mut(), give_back) };
    }
    guard.flush();
}
