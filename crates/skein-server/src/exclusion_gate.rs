//! The gate that lets either all workers run requests side by side, or one worker alone.
//!
//! ```text
//!   worker 0    room ├─ requests of a turn ─┤      room ├─ requests ─┤
//!   worker 1    room ├─ EXEC ┤ all rooms ├─ alone ─┤ room ├─ rest ─┤
//!                            └ waits for the end of worker 0's turn
//! ```
//!
//! Each worker has one of the [`Rooms`]. With one worker there are no rooms.
//!
//! # Invariants
//! 1. A worker that runs requests holds its own room, or all rooms. So while a worker is alone, no
//!    other worker runs requests.
//! 2. No worker waits for a lock while it runs requests: it gives its room back before it asks to
//!    be alone, as `Rooms` requires.
//!
//! Design: `docs/design/server.md`.

use std::sync::MutexGuard;

use skein_sync::rooms::{AllRooms, Rooms};

/// Separates a worker that runs alone from all others.
#[derive(Debug)]
pub(crate) struct ExclusionGate {
    /// Empty with one worker.
    rooms: Rooms<()>,
}

impl ExclusionGate {
    pub(crate) fn new(workers: usize) -> Self {
        let rooms = if workers > 1 { workers } else { 0 };
        Self { rooms: Rooms::new(std::iter::repeat_n((), rooms)) }
    }

    /// Permits a worker to run requests until the returned pass is dropped.
    #[inline]
    pub(crate) fn enter(&self, worker: usize) -> SharedPass<'_> {
        SharedPass { gate: self, worker, room: self.rooms.enter(worker) }
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
        let all = self.gate.rooms.enter_all();
        ExclusivePass { pass: self, all }
    }
}

/// The permission of a worker to run requests alone.
#[derive(Debug)]
pub(crate) struct ExclusivePass<'p, 'g> {
    pass: &'p mut SharedPass<'g>,
    all: AllRooms<'g, ()>,
}

impl Drop for ExclusivePass<'_, '_> {
    /// Returns to running beside others.
    fn drop(&mut self) {
        self.all.leave();
        self.pass.room = self.pass.gate.rooms.enter(self.pass.worker);
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
}
