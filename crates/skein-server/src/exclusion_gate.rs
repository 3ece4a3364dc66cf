//! The gate that lets either all workers run requests side by side, or one worker alone.
//!
//! ```text
//!   worker 0    door, room ├─ requests of a turn ─┤      door, room ├─ requests ─┤
//!   worker 1    door, room ├─ EXEC ┤ all doors and rooms ├─ alone ─┤ door, room ├─ rest ─┤
//!                                    └ waits for the end of worker 0's turn
//! ```
//!
//! Each worker has a room with a door: two mutexes on a cache line that no other worker touches
//! while all run side by side. To run requests, a worker locks its door, locks its room, unlocks
//! the door, and keeps the room. To run alone, a worker leaves its own room, then locks the door
//! and the room of every worker in order, and keeps all of them. With one worker there are no
//! rooms.
//!
//! # Invariants
//! 1. A worker that runs requests holds its own room, or all rooms. So while a worker is alone, no
//!    other worker runs requests.
//! 2. No worker waits for a lock while it runs requests: it gives its room back before it asks to
//!    be alone. While it waits to be alone, it holds rooms in the order of the workers, as all
//!    others do. A worker that waits for its own door holds nothing. A worker that has its door
//!    finds its room free, because other workers hold a room only with its door. So there is no
//!    deadlock.
//! 3. A worker that asks to be alone waits for at most one turn of each worker once it has that
//!    worker's door, because the next turn needs the door. For the door itself it competes only for
//!    the time of one free lock. (With one mutex instead of two, a busy worker would retake it
//!    immediately and exclude others for long: such locks are not fair.)
//!
//! Design: `docs/design/server.md`.

use std::sync::{Mutex, MutexGuard};

use skein_sync::locks::lock;

/// The two locks of one worker, on their own cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct WorkerLocks {
    door: Mutex<()>,
    room: Mutex<()>,
}

/// Separates a worker that runs alone from all others.
#[derive(Debug)]
pub(crate) struct ExclusionGate {
    /// Empty with one worker.
    locks: Box<[WorkerLocks]>,
}

impl ExclusionGate {
    pub(crate) fn new(workers: usize) -> Self {
        let pairs = if workers > 1 { workers } else { 0 };
        Self { locks: (0..pairs).map(|_| WorkerLocks::default()).collect() }
    }

    /// Permits a worker to run requests until the returned pass is dropped.
    #[inline]
    pub(crate) fn enter(&self, worker: usize) -> SharedPass<'_> {
        SharedPass { gate: self, worker, room: self.room(worker) }
    }

    fn room(&self, worker: usize) -> Option<MutexGuard<'_, ()>> {
        let own = self.locks.get(worker)?;
        let _door = lock(&own.door);
        Some(lock(&own.room))
    }
}

/// The permission of a worker to run requests beside others.
#[derive(Debug)]
pub(crate) struct SharedPass<'g> {
    gate: &'g ExclusionGate,
    worker: usize,
    /// `None` with one worker, and while this worker is alone.
    room: Option<MutexGuard<'g, ()>>,
}

impl<'g> SharedPass<'g> {
    /// Waits until no other worker runs requests. None runs until the returned value is dropped.
    pub(crate) fn alone(&mut self) -> ExclusivePass<'_, 'g> {
        self.room = None;
        let all = self.gate.locks.iter().map(|locks| (lock(&locks.door), lock(&locks.room))).collect();
        ExclusivePass { pass: self, all }
    }
}

/// The permission of a worker to run requests alone.
#[derive(Debug)]
pub(crate) struct ExclusivePass<'p, 'g> {
    pass: &'p mut SharedPass<'g>,
    all: Vec<(MutexGuard<'g, ()>, MutexGuard<'g, ()>)>,
}

impl Drop for ExclusivePass<'_, '_> {
    /// Returns to running beside others.
    fn drop(&mut self) {
        self.all.clear();
        self.pass.room = self.pass.gate.room(self.pass.worker);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    /// The turns of each worker, and how many of them are alone.
    const TURNS: u64 = 20_000;
    const ALONE: u64 = 50;

    #[test]
    fn no_worker_runs_beside_one_that_is_alone() {
        for workers in [1, 2, 5] {
            let gate = ExclusionGate::new(workers);
            let (running, alone, sum) = (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(0));
            std::thread::scope(|scope| {
                for worker in 0..workers {
                    let (gate, running, alone, sum) = (&gate, &running, &alone, &sum);
                    scope.spawn(move || {
                        for turn in 0..TURNS {
                            let mut pass = gate.enter(worker);
                            running.fetch_add(1, Ordering::SeqCst);
                            assert!(!alone.load(Ordering::SeqCst), "beside one who is alone");
                            running.fetch_sub(1, Ordering::SeqCst);
                            if turn % (TURNS / ALONE) == 0 {
                                let held = pass.alone();
                                assert!(!alone.swap(true, Ordering::SeqCst), "two are alone");
                                assert_eq!(running.load(Ordering::SeqCst), 0, "someone runs beside");
                                // Not an atomic addition: the sum is right only if nobody else adds
                                // at the same time.
                                sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                                alone.store(false, Ordering::SeqCst);
                                drop(held);
                            }
                        }
                    });
                }
            });
            assert_eq!(sum.into_inner(), workers as u64 * ALONE);
        }
    }

    /// A worker that never rests does not prevent others from running alone.
    #[test]
    fn busy_worker_does_not_starve_one_that_asks_to_be_alone() {
        let gate = ExclusionGate::new(2);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _pass = gate.enter(0);
                }
            });
            for _ in 0..1000 {
                let mut pass = gate.enter(1);
                drop(pass.alone());
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
