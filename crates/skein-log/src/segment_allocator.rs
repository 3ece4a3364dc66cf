//! The segment maker: a thread that has the next segment of every log ready before it is needed.
//!
//! Making one means writing zeros (at `sync`), two syncs and a folder's sync: tens of milliseconds that no commit should
//! wait for. Only when a log fills its segment faster than the maker makes the next does a writer wait here.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::locks::{lock, wait};

use crate::segment::{self, NewSegment, SegmentHeader};
use crate::segment_manifest::SegmentManifests;
use crate::storage::Storage;
use crate::{LogError, Result};

/// What the maker needs to know of one log.
#[derive(Debug)]
pub struct SegmentOrder {
    /// The folder of the log's segments.
    pub dir: PathBuf,
    /// The number of the first one to make.
    pub next_number: u64,
    /// The seed of this run.
    pub seed: u32,
}

#[derive(Debug)]
struct SegmentReserve {
    order: SegmentOrder,
    capacity: u64,
    /// Made, and not on the roster yet, for want of room.
    unlisted: Option<NewSegment>,
    /// Making it failed, and something of it may be left.
    left_over: bool,
    ready: Option<Result<NewSegment>>,
}

#[derive(Debug)]
struct SegmentAllocatorState {
    places: Vec<SegmentReserve>,
    queue: VecDeque<usize>,
    stopped: bool,
}

/// The maker; one for all logs.
#[derive(Debug)]
pub struct SegmentAllocator {
    storage: Arc<dyn Storage>,
    rosters: Arc<SegmentManifests>,
    database: [u8; 16],
    segment_bytes: u64,
    zeroed: bool,
    /// Segments made from now on hold nothing up to this epoch.
    durable: AtomicU64,
    state: Mutex<SegmentAllocatorState>,
    changed: Condvar,
}

impl SegmentAllocator {
    /// A maker that has yet to be [`run`](Self::run).
    pub fn new(
        (storage, rosters): (Arc<dyn Storage>, Arc<SegmentManifests>),
        database: [u8; 16],
        segment_bytes: u64,
        zeroed: bool,
        durable: u64,
        orders: Vec<SegmentOrder>,
    ) -> Self {
        let queue = (0..orders.len()).collect();
        let places = orders
            .into_iter()
            .map(|order| SegmentReserve { order, capacity: 0, unlisted: None, left_over: false, ready: None })
            .collect();
        Self {
            storage,
            rosters,
            database,
            segment_bytes,
            zeroed,
            durable: AtomicU64::new(durable),
            state: Mutex::new(SegmentAllocatorState { places, queue, stopped: false }),
            changed: Condvar::new(),
        }
    }

    /// Tells how far the logs are durable.
    pub fn set_durable(&self, epoch: u64) {
        // Relaxed: a lower bound, and an old one is as true.
        self.durable.store(epoch, Ordering::Relaxed);
    }

    /// The next segment of a log; waits while it is being made.
    ///
    /// # Errors
    /// It could not be made. For want of room it is tried again, once for each call.
    pub fn take(&self, log: usize) -> Result<NewSegment> {
        let mut state = lock(&self.state);
        let mut asked_again = false;
        loop {
            match state.places[log].ready.take() {
                Some(Ok(segment)) => {
                    state.queue.push_back(log);
                    self.changed.notify_all();
                    return Ok(segment);
                }
                // There may be room by now.
                Some(Err(error)) if error.is_no_room() && !asked_again => {
                    asked_again = true;
                    state.queue.push_back(log);
                    self.changed.notify_all();
                }
                Some(Err(error)) => {
                    state.places[log].ready = Some(Err(error.clone()));
                    return Err(error);
                }
                None if state.stopped => return Err(LogError::Closed),
                None => state = wait(&self.changed, state),
            }
        }
    }

    /// The maker's thread.
    pub fn run(&self) {
        let mut state = lock(&self.state);
        while !state.stopped {
            let Some(log) = state.queue.pop_front() else {
                state = wait(&self.changed, state);
                continue;
            };
            let place = &mut state.places[log];
            let capacity = segment::next_capacity(place.capacity, self.segment_bytes);
            let header = SegmentHeader {
                log: log as u32,
                number: place.order.next_number,
                database: self.database,
                first_epoch: self.durable.load(Ordering::Relaxed) + 1,
                seed: place.order.seed,
            };
            let (dir, unlisted) = (place.order.dir.clone(), place.unlisted.take());
            let left_over = std::mem::take(&mut place.left_over);
            drop(state);
            if left_over {
                // On no roster, so nobody misses it.
                let _ = self.storage.remove(&dir.join(segment::file_name(header.log, header.number)));
            }
            let made = match unlisted {
                Some(segment) => Ok(segment),
                None => segment::make(&*self.storage, &dir, &header, capacity, self.zeroed),
            };
            // On the roster before anybody writes to it.
            let listed = made.map(|segment| (self.rosters.add(&segment.path), segment));
            state = lock(&self.state);
            let place = &mut state.places[log];
            place.ready = Some(match listed {
                Ok((Ok(()), segment)) => {
                    place.order.next_number += 1;
                    place.capacity = capacity;
                    Ok(segment)
                }
                // The roster on disk may name it: the file stays.
                Ok((Err(error), segment)) => {
                    place.unlisted = Some(segment);
                    Err(error)
                }
                Err(error) => {
                    place.left_over = true;
                    Err(error)
                }
            });
            self.changed.notify_all();
        }
    }

    /// Ends the thread; `take` answers with what is ready, then with an error.
    pub fn stop(&self) {
        lock(&self.state).stopped = true;
        self.changed.notify_all();
    }

    /// Removes the segments that were made and not used. After the thread has ended.
    pub fn remove_unused(&self) {
        let mut state = lock(&self.state);
        let ready = state.places.iter_mut().filter_map(|place| place.ready.take()?.ok());
        let unused: Vec<NewSegment> = ready.collect();
        let paths: Vec<&Path> = unused.iter().map(|segment| segment.path.as_path()).collect();
        // Left behind, they are empty, and the next opening removes them.
        if self.rosters.remove(&paths).is_ok() {
            for path in paths {
                let _ = self.storage.remove(path);
            }
        }
    }
}
