//! Retired frames: they are out of the table, but walks that found them before may still read them.
//!
//! ```text
//!   evicted, replaced, freed ─► retired ── BATCH frames ─► collector ── older walks end ─► dropped
//! ```
//!
//! # Invariants
//! 1. Only walks in memory hold a guard of the collector. No guard is held across a file operation
//!    or between two calls of a transaction; those pin the one frame that they need. So a retired
//!    frame waits for walks, never for the disk or for a user.
//! 2. Retired frames are counted until they are dropped. If there are as many of them as pages of
//!    the cache, or [`LEAST`], a reader evicts no page and reads without the cache, and a writer
//!    waits a limited time for walks before it publishes.
//! 3. Frames are passed to the collector in batches. So no frame waits in the batch of a thread
//!    that never calls the collector again.

use std::sync::{Arc, Mutex};

use skein_sync::atomic::{AtomicUsize, Ordering};
use skein_sync::locks::lock;
use skein_sync::reclaim::{Collector, GracePeriod, Guard};
use skein_sync::spin::Backoff;

use super::frame::PageFrame;

/// Frames that are passed to the collector at once.
const BATCH: usize = 64;

/// The limit of retired frames for a small cache.
const LEAST: usize = 1024;

/// How often a writer waits for walks before it publishes despite too many retired frames. A thread
/// that is suspended in the middle of a walk must not stop all writes.
const WAITS: usize = 1000;

/// Counts one retired frame until it is dropped.
#[derive(Debug)]
pub(super) struct RetiredFrameCount(Arc<AtomicUsize>);

impl Drop for RetiredFrameCount {
    fn drop(&mut self) {
        // Relaxed: a count that publishes nothing else.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
pub(super) struct RetiredFrames {
    next_batch: Mutex<Vec<Arc<PageFrame>>>,
    count: Arc<AtomicUsize>,
}

impl RetiredFrames {
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns whether the limit for a cache of so many pages is reached.
    pub(super) fn is_full(&self, cache: usize) -> bool {
        self.count() >= cache.max(LEAST)
    }

    /// Drops a frame that is out of the table after all walks that may have found it.
    pub(super) fn retire(&self, frame: Arc<PageFrame>, collector: &Collector) {
        self.count.fetch_add(1, Ordering::Relaxed);
        frame.count_as_retired(RetiredFrameCount(self.count.clone()));
        self.release(frame, collector);
    }

    /// Releases one count of a frame after all walks that may have found it. The frame is not
    /// counted as retired, because another holder still keeps it.
    pub(super) fn release(&self, frame: Arc<PageFrame>, collector: &Collector) {
        let mut next = lock(&self.next_batch);
        next.push(frame);
        if next.len() >= BATCH {
            let batch = std::mem::take(&mut *next);
            drop(next);
            hand_over(batch, collector);
        }
    }

    /// Waits a limited time for walks to end if too many frames are retired for a cache of so many
    /// pages. The caller must not hold a guard.
    pub(super) fn wait_for_walks(&self, cache: usize, collector: &Collector) {
        let mut backoff = Backoff::new();
        for _ in 0..WAITS {
            if !self.is_full(cache) {
                return;
            }
            hand_over(std::mem::take(&mut *lock(&self.next_batch)), collector);
            backoff.wait();
        }
    }
}

fn hand_over(batch: Vec<Arc<PageFrame>>, collector: &Collector) {
    unsafe fn give_back(frame: *mut PageFrame, _: &GracePeriod) {
        // SAFETY: the collector passes the pointer that it was given below: one count of the frame,
        // from `Arc::into_raw`.
        drop(unsafe { Arc::from_raw(frame.cast_const()) });
    }
    let guard = collector.enter();
    for frame in batch {
        // SAFETY: the frame is out of the table or of the kept versions, so no later walk finds it
        // there, and `release` is called once for it, with the count that was held there.
        unsafe { guard.defer_retire(Arc::into_raw(frame).cast_mut(), give_back) };
    }
    guard.flush();
}
