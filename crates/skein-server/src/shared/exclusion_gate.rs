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
//! A script that runs for long would make all other workers wait. So its worker declares the gate
//! busy and gives the rooms back. A worker that enters now sees that, and only answers BUSY
//! (`worker::busy`):
//!
//! ```text
//!   worker 0    room ┤ waits ├─ answers BUSY ─┤ waits ├─ requests ─┤
//!   worker 1    ├─ script, alone ┤ busy ─ script ─┤ alone ├─ room ─┤
//!                           gives rooms back    takes them again
//! ```
//!
//! # Invariants
//! 1. A worker that runs requests holds its own room, or all rooms. So while a worker is alone, no
//!    other worker runs requests.
//! 2. No worker waits for a lock while it runs requests: it gives its room back before it asks to
//!    be alone, as `Rooms` requires.
//! 3. `busy` changes only while all rooms are held. So it does not change while a worker is in its
//!    room, and a worker that runs requests has seen `false`.
//!
//! # Keys of a request
//! The keys of a request are those of the keyspace that its database has at this time, and SWAPDB
//! changes that while its worker is alone. A worker that waits to be alone gives its room back. So
//! keys that were translated before the wait may be those of another database after it. The keys
//! borrow from the pass ([`StableDatabases`]), and [`SharedPass::alone`] needs the pass for itself.
//! So the compiler rejects this mistake.
//!
//! Design: `docs/design/server.md`.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::planted_bugs::{self, PlantedBug};
use skein_sync::rooms::{AllRooms, Rooms};

/// Separates a worker that runs alone from all others.
#[derive(Debug)]
pub(crate) struct ExclusionGate {
    /// Empty with one worker.
    rooms: Rooms<()>,
    /// Whether a script runs beside the workers in their rooms.
    busy: AtomicBool,
}

/// A script keeps the server busy.
#[derive(Debug)]
pub(crate) struct GateBusy;

/// Shows that no other worker swaps databases during `'p`: the worker is in its room, or alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StableDatabases<'p>(PhantomData<&'p ()>);

impl ExclusionGate {
    pub(crate) fn new(workers: usize) -> Self {
        let rooms = if workers > 1 { workers } else { 0 };
        Self { rooms: Rooms::new(std::iter::repeat_n((), rooms)), busy: AtomicBool::new(false) }
    }

    /// Permits a worker to run requests until the returned pass is dropped, or to answer BUSY.
    #[inline]
    pub(crate) fn enter(&self, worker: usize) -> SharedPass<'_> {
        let room = self.rooms.enter(worker);
        SharedPass { gate: self, worker, room, busy: self.is_busy(), has_waited: true }
    }

    /// Returns whether a script keeps the server busy.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        // Relaxed: the locks of the rooms order it (invariant 3).
        self.busy.load(Ordering::Relaxed)
    }
}

/// The permission of a worker to run requests beside others.
#[derive(Debug)]
pub(crate) struct SharedPass<'g> {
    gate: &'g ExclusionGate,
    worker: usize,
    /// `None` with one worker, and while this worker is alone.
    room: Option<MutexGuard<'g, ()>>,
    busy: bool,
    /// Whether other workers may have run requests since [`SharedPass::take_waited`].
    has_waited: bool,
}

impl<'g> SharedPass<'g> {
    /// Returns whether the worker may only answer BUSY.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Returns whether the worker has waited for others since the last call, or never asked. Then
    /// it must read the clock anew: clients may have seen keys expire meanwhile.
    #[inline]
    pub(crate) fn take_waited(&mut self) -> bool {
        std::mem::take(&mut self.has_waited)
    }

    /// Shows that no other worker swaps databases while the worker is in its room.
    #[inline]
    #[expect(clippy::unused_self, reason = "the returned value borrows the pass")]
    pub(crate) fn stable(&self) -> StableDatabases<'_> {
        StableDatabases(PhantomData)
    }

    /// Waits until no other worker runs requests. None runs until the returned value is dropped.
    ///
    /// # Errors
    /// If a script of another worker keeps the server busy.
    pub(crate) fn alone(&mut self) -> Result<ExclusivePass<'_, 'g>, GateBusy> {
        self.room = None;
        let mut all = self.gate.rooms.enter_all();
        if self.gate.is_busy() {
            all.leave();
            self.enter_again();
            return Err(GateBusy);
        }
        Ok(ExclusivePass { pass: self, all: RefCell::new(all) })
    }

    fn enter_again(&mut self) {
        self.room = self.gate.rooms.enter(self.worker);
        self.busy = self.gate.is_busy();
        self.has_waited = true;
    }
}

/// The permission of a worker to run requests alone.
#[derive(Debug)]
pub(crate) struct ExclusivePass<'p, 'g> {
    pass: &'p mut SharedPass<'g>,
    all: RefCell<AllRooms<'g, ()>>,
}

impl ExclusivePass<'_, '_> {
    /// Returns the number of the worker.
    pub(crate) fn worker(&self) -> usize {
        self.pass.worker
    }

    /// Shows that no other worker swaps databases while this one is alone. A worker that answers
    /// BUSY does not swap them either.
    #[inline]
    #[expect(clippy::unused_self, reason = "the returned value borrows the pass")]
    pub(crate) fn stable(&self) -> StableDatabases<'_> {
        StableDatabases(PhantomData)
    }

    /// Lets the other workers run requests, if [`PlantedBug::OpenTransaction`] is on.
    #[inline]
    pub(crate) fn open_if_planted(&self) {
        if planted_bugs::is_on(PlantedBug::OpenTransaction) {
            self.all.borrow_mut().leave();
        }
    }

    /// Lets the other workers answer BUSY while this worker continues.
    pub(crate) fn begin_busy(&self) {
        self.pass.gate.busy.store(true, Ordering::Relaxed);
        self.all.borrow_mut().leave();
    }

    /// Waits until no other worker answers any more, and is alone as before.
    pub(crate) fn end_busy(&self) {
        let gate = self.pass.gate;
        self.all.replace(gate.rooms.enter_all());
        gate.busy.store(false, Ordering::Relaxed);
    }
}

impl Drop for ExclusivePass<'_, '_> {
    /// Returns to running beside others.
    fn drop(&mut self) {
        self.all.get_mut().leave();
        self.pass.enter_again();
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
                                let held = pass.alone().expect("nobody is busy");
                                assert!(!alone.swap(true, Ordering::SeqCst), "two are alone");
                                assert_eq!(running.load(Ordering::SeqCst), 0, "someone runs beside");
                                // This is not an atomic addition: the sum is right only if no other
                                // thread adds at the same time.
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
