//! The segment allocator: a thread that creates the next segment of every log before it is needed.
//!
//! Creating a segment takes writing zeros (at `sync`), two syncs of the file and one of the folder:
//! tens of milliseconds, for which no commit should wait. A writer waits here only if its log fills
//! a segment before the next one is ready. Then the one after it becomes twice as large, so a burst
//! waits a few times only.
//!
//! If a disk has no room for the next segment, a checkpoint is the way out: it frees whole
//! segments. While attempts go on and fail, the next segment becomes smaller ([`TRIES_FOR_SIZE`]),
//! because a small disk may never have room for a large one. It does not become smaller at once: a
//! log that fills the disk to its end leaves no room for the checkpoint.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::background::{OnPanic, ThreadSignal};
use skein_sync::locks::{lock, wait};

use crate::log_room::LogRoom;
use crate::segment::{self, NewSegment, SegmentHeader};
use crate::segment_manifest::SegmentManifests;
use crate::storage::Storage;
use crate::{LogError, Result};

/// The failed attempts at one size. A log that waits for room tries five times a second, so a
/// checkpoint has two seconds to begin. No attempt is made while one is written at a standstill.
const TRIES_FOR_SIZE: u32 = 10;

/// The allocator's settings for one log.
#[derive(Debug)]
pub struct SegmentOrder {
    /// The folder of the log's segments.
    pub dir: PathBuf,
    /// The number of the first segment to create.
    pub next_number: u64,
    /// The checksum seed of this run.
    pub seed: u32,
    /// Learns which segment is ready.
    pub room: Arc<LogRoom>,
}

#[derive(Debug)]
struct SegmentReserve {
    order: SegmentOrder,
    /// The size of the segment that is made next.
    capacity: u64,
    /// A thread has waited for the segment that is made next.
    is_awaited: bool,
    /// Attempts at this size that failed for lack of space.
    failed_tries: u32,
    /// A segment that was created but could not be added to the manifest for lack of space.
    unlisted: Option<NewSegment>,
    /// Creation failed, and an incomplete file may be left.
    left_over: bool,
    ready: Option<Result<NewSegment>>,
}

#[derive(Debug)]
struct SegmentAllocatorState {
    places: Vec<SegmentReserve>,
    queue: VecDeque<usize>,
    /// The thread has ended, so no further segment will be ready.
    has_ended: bool,
}

/// The allocator for all logs.
#[derive(Debug)]
pub struct SegmentAllocator {
    storage: Arc<dyn Storage>,
    manifests: Arc<SegmentManifests>,
    database: [u8; 16],
    segment_bytes: u64,
    zeroed: bool,
    /// Segments created from now on hold no record up to this epoch.
    durable: AtomicU64,
    state: Mutex<SegmentAllocatorState>,
    /// Notified when a segment is ready, or failed, or the thread has ended.
    changed: Condvar,
    /// Wakes the thread.
    pub thread: Arc<ThreadSignal>,
}

impl SegmentReserve {
    /// Makes the next attempts smaller if there is no room for this size for a while.
    fn note_failure(&mut self, error: &LogError) {
        if error.is_no_room() {
            self.failed_tries += 1;
            if self.failed_tries >= TRIES_FOR_SIZE {
                self.failed_tries = 0;
                self.capacity = segment::smaller_capacity(self.capacity);
            }
        }
    }
}

impl SegmentAllocator {
    /// Creates an allocator. A thread must call [`run`](Self::run).
    pub fn new(
        storage: Arc<dyn Storage>,
        manifests: Arc<SegmentManifests>,
        database: [u8; 16],
        segment_bytes: u64,
        zeroed: bool,
        durable: u64,
        orders: Vec<SegmentOrder>,
    ) -> Self {
        let queue = (0..orders.len()).collect();
        let capacity = segment::next_capacity(0, segment_bytes);
        let places = orders
            .into_iter()
            .map(|order| SegmentReserve {
                order,
                capacity,
                is_awaited: false,
                failed_tries: 0,
                unlisted: None,
                left_over: false,
                ready: None,
            })
            .collect();
        Self {
            storage,
            manifests,
            database,
            segment_bytes,
            zeroed,
            durable: AtomicU64::new(durable),
            state: Mutex::new(SegmentAllocatorState { places, queue, has_ended: false }),
            changed: Condvar::new(),
            thread: Arc::default(),
        }
    }

    /// Notes the last durable epoch.
    pub fn set_durable(&self, epoch: u64) {
        // Relaxed: this is a lower bound, and an older value is a valid bound, too.
        self.durable.store(epoch, Ordering::Relaxed);
    }

    /// Returns the next segment of a log that has `held` bytes in its segments. Blocks until it is
    /// ready.
    ///
    /// # Errors
    /// Returns an error if the segment could not be created. After a lack of space, each call tries
    /// once more.
    pub fn take(&self, log: usize, held: u64) -> Result<NewSegment> {
        let mut state = self.when_ready(log)?;
        let place = &mut state.places[log];
        let segment = place.ready.take().unwrap_or(Err(LogError::Closed))?;
        place.order.room.set_next(0);
        // Everybody waits for the first segment of a run.
        let is_awaited = std::mem::take(&mut place.is_awaited) && held > 0;
        let grown = if is_awaited { 2 * segment.capacity } else { 0 };
        place.capacity = segment::next_capacity(held, self.segment_bytes).max(grown.min(self.segment_bytes));
        state.queue.push_back(log);
        self.thread.wake();
        Ok(segment)
    }

    /// Blocks until the next segment of a log is ready.
    ///
    /// # Errors
    /// As of [`take`](Self::take).
    pub fn wait_until_ready(&self, log: usize) -> Result<()> {
        self.when_ready(log).map(drop)
    }

    /// Waits until the next segment of a log is ready, and returns the state with it.
    fn when_ready(&self, log: usize) -> Result<MutexGuard<'_, SegmentAllocatorState>> {
        let mut state = lock(&self.state);
        let mut asked_again = false;
        loop {
            match &state.places[log].ready {
                Some(Ok(_)) => return Ok(state),
                // There may be space now, so try once more.
                Some(Err(error)) if error.is_no_room() && !asked_again => {
                    asked_again = true;
                    state.places[log].ready = None;
                    state.queue.push_back(log);
                    self.thread.wake();
                }
                Some(Err(error)) => return Err(error.clone()),
                None if state.has_ended => return Err(LogError::Closed),
                None => {
                    state.places[log].is_awaited = !asked_again;
                    state = wait(&self.changed, state);
                }
            }
        }
    }

    /// Runs the allocator's thread until it is stopped. Afterwards `take` returns a segment that is
    /// ready, or an error.
    pub fn run(&self, panicked: impl Fn()) {
        let _end = AllocatorEnd(self);
        // Dropped first, so that waiting writers learn the reason.
        let _report = OnPanic(panicked);
        while !self.thread.is_stopped() {
            let next = lock(&self.state).queue.pop_front();
            match next {
                Some(log) => self.make_next(log),
                None => _ = self.thread.wait(),
            }
        }
    }

    /// Makes the next segment of a log ready.
    fn make_next(&self, log: usize) {
        let mut state = lock(&self.state);
        let place = &mut state.places[log];
        let header = SegmentHeader {
            log: log as u32,
            number: place.order.next_number,
            database: self.database,
            first_epoch: self.durable.load(Ordering::Relaxed) + 1,
            seed: place.order.seed,
            capacity: place.capacity,
        };
        let (dir, unlisted) = (place.order.dir.clone(), place.unlisted.take());
        let left_over = std::mem::take(&mut place.left_over);
        drop(state);
        let made = match unlisted {
            Some(segment) => Ok(segment),
            None => self.make(&dir, &header, left_over),
        };
        // The segment must be in the manifest before a record is written to it.
        let listed = made.map(|segment| (self.manifests.add(&segment.path), segment));
        let mut state = lock(&self.state);
        let place = &mut state.places[log];
        place.ready = Some(match listed {
            Ok((Ok(()), segment)) => {
                place.order.next_number += 1;
                place.failed_tries = 0;
                place.order.room.set_next(segment.capacity);
                Ok(segment)
            }
            // The manifest on disk may contain it, so the file must stay.
            Ok((Err(error), segment)) => {
                place.unlisted = Some(segment);
                Err(error)
            }
            Err(error) => {
                place.left_over = true;
                place.note_failure(&error);
                Err(error)
            }
        });
        self.changed.notify_all();
    }

    /// Makes a segment. Removes the rest of an earlier attempt first.
    ///
    /// # Errors
    /// Returns an error if the removal or the creation fails. Then a file may be left again.
    fn make(&self, dir: &Path, header: &SegmentHeader, left_over: bool) -> Result<NewSegment> {
        if left_over {
            let path = dir.join(segment::file_name(header.log, header.number));
            // No manifest contains it, so no recovery misses it.
            match self.storage.remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(LogError::io("remove", &path, &error));
                }
                _ => {}
            }
        }
        segment::make(&*self.storage, dir, header, self.zeroed)
    }

    /// Removes the segments that were created and not used. Must be called after the thread has
    /// ended.
    pub fn remove_unused(&self) {
        let mut state = lock(&self.state);
        let ready = state.places.iter_mut().filter_map(|place| place.ready.take()?.ok());
        let unused: Vec<NewSegment> = ready.collect();
        let paths: Vec<&Path> = unused.iter().map(|segment| segment.path.as_path()).collect();
        // If this fails, the segments stay. They are empty, and the next opening removes them.
        if self.manifests.remove(&paths).is_ok() {
            for path in paths {
                let _ = self.storage.remove(path);
            }
        }
    }
}

/// Tells waiting writers that no further segment will be ready, however the thread ends.
struct AllocatorEnd<'a>(&'a SegmentAllocator);

impl Drop for AllocatorEnd<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).has_ended = true;
        self.0.changed.notify_all();
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::slice;

    use super::*;
    use crate::storage::sim::{SimError, SimStorage};

    /// Incident: a disk failed while a segment was made, and again when the incomplete file was
    /// removed. The next attempt ignored that, and found the name taken. Consequence: writes were
    /// stopped for good although the disk worked again. Fix: a failed removal is an attempt that
    /// failed, and the next one removes the file first.
    #[test]
    fn an_incomplete_segment_that_cannot_be_removed_is_removed_later() {
        let (disk, dir) = (SimStorage::new(), PathBuf::from("/logs"));
        disk.create_dir_all(&dir).unwrap();
        let storage: Arc<dyn Storage> = disk.share();
        let manifests =
            SegmentManifests::reconcile(storage.clone(), slice::from_ref(&dir), vec![None], [7; 16], &[])
                .unwrap();
        let order = SegmentOrder { dir, next_number: 1, seed: 3, room: Arc::new(LogRoom::new(true)) };
        let allocator =
            SegmentAllocator::new(storage, Arc::new(manifests), [7; 16], 64 << 10, false, 0, vec![order]);

        // The file is created, and neither filled nor removed.
        disk.fail_at(disk.operations() + 2, SimError::NoSpace, true);
        allocator.make_next(0);
        // Its removal fails once more.
        disk.fail_at(disk.operations() + 1, SimError::NoSpace, false);
        allocator.make_next(0);
        assert!(matches!(&lock(&allocator.state).places[0].ready, Some(Err(error)) if error.is_no_room()));
        disk.no_faults();
        allocator.make_next(0);
        assert_eq!(allocator.take(0, 0).unwrap().number, 1);
    }
}
