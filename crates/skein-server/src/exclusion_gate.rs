//! The gate: the workers run requests side by side, or one of them alone.
//!
//! ```text
//!   worker 0    door, room ├─ requests of a turn ─┤     door, room ├─ requests ─┤
//!   worker 1    door, room ├─ ... EXEC ┤ door 0, room 0, door 1, room 1 ├─ alone ─┤ door, room ├─ the rest ─┤
//!                                              └ waits for the end of worker 0's turn
//! ```
//!
//! Each worker has a room with a door, two mutexes on a cache line that nobody else touches while all run side by side. A worker locks its door, then its room,
//! and unlocks the door; it keeps the room while it runs requests. Who wants to be alone leaves its own room, and takes door and room of every worker, in their
//! order, and keeps both. With one worker there are no rooms.
//!
//! # Invariants
//! 1. Who runs requests holds its worker's room, or all rooms. So while a worker is alone, nobody else runs any.
//! 2. Nobody waits for a lock while it runs requests: a worker gives its room back before it asks to be alone. While it waits to be alone it holds rooms
//!    in the order of the workers, as all others do; a worker that waits for its own door holds nothing; and a worker that has its door finds its room free,
//!    since all others hold a room only with its door. So there is no deadlock.
//! 3. Who wants to be alone waits for one turn of each worker at most once it has the worker's door: the next turn needs that door. For the door it
//!    competes with a worker that holds it for the time of one free lock. (One mutex for both would let a busy worker, which takes it again at once, keep others
//!    out for long: such locks are not fair.)

use std::sync::{Mutex, MutexGuard};

use skein_sync::locks::lock;

/// One worker's; on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct WorkerLocks {
    door: Mutex<()>,
    room: Mutex<()>,
}

/// Keeps the workers apart, when one of them wants to be alone.
#[derive(Debug)]
pub(crate) struct ExclusionGate {
    /// Empty with one worker.
    lanes: Box<[WorkerLocks]>,
}

impl ExclusionGate {
    pub(crate) fn new(workers: usize) -> Self {
        let lanes = if workers > 1 { workers } else { 0 };
        Self { lanes: (0..lanes).map(|_| WorkerLocks::default()).collect() }
    }

    /// A worker begins to run requests; it does until the pass is dropped.
    #[inline]
    pub(crate) fn enter(&self, worker: usize) -> SharedPass<'_> {
        SharedPass { gate: self, worker, room: self.room(worker) }
    }

    fn room(&self, worker: usize) -> Option<MutexGuard<'_, ()>> {
        let lane = self.lanes.get(worker)?;
        let _door = lock(&lane.door);
        Some(lock(&lane.room))
    }
}

/// A worker may run requests, beside others.
#[derive(Debug)]
pub(crate) struct SharedPass<'g> {
    gate: &'g ExclusionGate,
    worker: usize,
    /// `None` with one worker, and while this one is alone.
    room: Option<MutexGuard<'g, ()>>,
}

impl<'g> SharedPass<'g> {
    /// Waits until no other worker runs requests; none does until the answer is dropped.
    pub(crate) fn alone(&mut self) -> ExclusivePass<'_, 'g> {
        self.room = None;
        let all = self.gate.lanes.iter().map(|lane| (lock(&lane.door), lock(&lane.room))).collect();
        ExclusivePass { pass: self, all }
    }
}

/// This worker alone runs requests.
#[derive(Debug)]
pub(crate) struct ExclusivePass<'p, 'g> {
    pass: &'p mut SharedPass<'g>,
    all: Vec<(MutexGuard<'g, ()>, MutexGuard<'g, ()>)>,
}

impl Drop for ExclusivePass<'_, '_> {
    /// It runs beside others again.
    fn drop(&mut self) {
        self.all.clear();
        self.pass.room = self.pass.gate.room(self.pass.worker);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    /// Turns of each worker, and of them those in which it wants to be alone.
    const TURNS: u64 = 20_000;
    const ALONE: u64 = 50;

    #[test]
    fn nobody_runs_beside_who_is_alone() {
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
                                // Not an addition in one step: it is right only if nobody else adds meanwhile.
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

    /// A worker that never rests does not keep others from being alone.
    #[test]
    fn a_busy_worker_lets_others_be_alone() {
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
