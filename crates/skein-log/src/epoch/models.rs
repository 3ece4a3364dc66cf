//! The gate's protocol under `loom`: every interleaving, and every outcome that the memory
//! orderings allow.
//!
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-log --lib --release

#[cfg(feature = "planted-bugs")]
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::Mutex;
use loom::thread;
use skein_sync::locks::lock;

use super::EpochGate;
#[cfg(feature = "planted-bugs")]
use crate::planted_bugs;

/// A planted bug is switched on for the whole process.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Runs `run` in every order and with every outcome of its loads.
pub(crate) fn model(run: impl Fn() + Sync + Send + 'static) {
    let _one = lock(&ONE_AT_A_TIME);
    explore(run);
}

/// Like [`model`], with a planted bug.
#[cfg(feature = "planted-bugs")]
pub(crate) fn model_with(bug: planted_bugs::PlantedBug, run: impl Fn() + Sync + Send + 'static) {
    let _one = lock(&ONE_AT_A_TIME);
    planted_bugs::set(bug, true);
    let ended = catch_unwind(AssertUnwindSafe(|| explore(run)));
    planted_bugs::set(bug, false);
    ended.unwrap_or_else(|panic| resume_unwind(panic));
}

fn explore(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    // Enough for three threads. Without a bound, the spinning closer makes the space of orders
    // infinite.
    builder.preemption_bound = Some(3);
    builder.check(run);
}

fn parity(epoch: u64) -> usize {
    (epoch & 1) as usize
}

/// A slot for each parity, without a lock. `loom` reports it if the gate lets two threads use one
/// slot together.
struct ParitySlots([UnsafeCell<Vec<u64>>; 2]);

// SAFETY: the model checks that only one thread at a time uses a cell; `loom` reports a violation.
unsafe impl Sync for ParitySlots {}

/// The closer sees all that a worker wrote before it left, and the worker writes nothing after that
/// (invariants 2 and 3).
#[test]
fn a_closed_epoch_is_over() {
    model(|| {
        let gate = Arc::new(EpochGate::new(1, 1));
        let slots = Arc::new(ParitySlots([UnsafeCell::new(Vec::new()), UnsafeCell::new(Vec::new())]));
        let worker = {
            let (gate, slots) = (gate.clone(), slots.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    let entered = gate.enter(0);
                    let epoch = gate.epoch();
                    assert!(epoch == entered >> 1 || epoch == (entered >> 1) + 1);
                    // SAFETY: see `ParitySlots`.
                    slots.0[parity(epoch)].with_mut(|slot| unsafe { (*slot).push(epoch) });
                    gate.leave(0, entered);
                }
            })
        };
        let mut taken = 0;
        for _ in 0..2 {
            let epoch = gate.close();
            // SAFETY: see `ParitySlots`.
            let records = slots.0[parity(epoch)].with_mut(|slot| unsafe { std::mem::take(&mut *slot) });
            assert!(records.iter().all(|record| *record == epoch), "{records:?} in epoch {epoch}");
            taken += records.len();
        }
        worker.join().unwrap();
        let left: usize = (0..2).map(|slot| slots.0[slot].with(|slot| unsafe { (*slot).len() })).sum();
        assert_eq!(taken + left, 2);
    });
}

/// Two workers use the counters of two logs, and a closer waits for both.
#[test]
fn the_closer_waits_for_all_logs() {
    model(|| {
        let gate = Arc::new(EpochGate::new(2, 1));
        let closed = Arc::new(Mutex::new(0));
        let workers: Vec<_> = (0..2)
            .map(|log| {
                let (gate, closed) = (gate.clone(), closed.clone());
                thread::spawn(move || {
                    let entered = gate.enter(log);
                    let epoch = gate.epoch();
                    assert!(epoch > *closed.lock().unwrap(), "a record of a closed epoch");
                    gate.leave(log, entered);
                })
            })
            .collect();
        let epoch = gate.close();
        *closed.lock().unwrap() = epoch;
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// Epochs never decrease along the versions of one key (invariant 4).
#[test]
fn epochs_never_decrease_under_a_latch() {
    model(|| {
        let gate = Arc::new(EpochGate::new(2, 1));
        let key = Arc::new(Mutex::new(0));
        let worker = |log| {
            let (gate, key) = (gate.clone(), key.clone());
            move || {
                let entered = gate.enter(log);
                let mut last = key.lock().unwrap();
                let epoch = gate.epoch();
                assert!(epoch >= *last, "epoch {epoch} after a later one");
                *last = epoch;
                drop(last);
                gate.leave(log, entered);
            }
        };
        let other = thread::spawn(worker(1));
        let closer = {
            let gate = gate.clone();
            thread::spawn(move || gate.close())
        };
        worker(0)();
        other.join().unwrap();
        assert_eq!(closer.join().unwrap(), 1);
    });
}

/// The epoch does not move during a group (invariant 5), even if it is closed twice.
#[test]
fn a_group_has_one_epoch() {
    model(|| {
        let gate = Arc::new(EpochGate::new(1, 1));
        let worker = {
            let gate = gate.clone();
            thread::spawn(move || {
                let entered = gate.enter(0);
                let epoch = gate.begin_group(0);
                assert!(epoch >= entered >> 1);
                assert_eq!(gate.epoch(), epoch, "after the first change");
                assert_eq!(gate.epoch(), epoch, "before the last change");
                gate.end_group(0);
                gate.leave(0, entered);
            })
        };
        gate.close();
        gate.close();
        worker.join().unwrap();
    });
}

/// When a moment is closed, no worker writes in it any more, also while epochs close; the epoch
/// stays (invariants 1 to 3). (Two closers would wait for each other in a loop, which `loom` does
/// not end.)
#[test]
fn a_closed_moment_is_over() {
    model(|| {
        let gate = Arc::new(EpochGate::new(1, 1));
        let closed = Arc::new(Mutex::new((0, 0)));
        let worker = {
            let (gate, closed) = (gate.clone(), closed.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    let entered = gate.enter(0);
                    let (epoch, moment) = (gate.epoch(), gate.moment());
                    let (closed_epoch, closed_moment) = *closed.lock().unwrap();
                    assert!(epoch > closed_epoch && moment > closed_moment, "a write in a closed moment");
                    gate.leave(0, entered);
                }
            })
        };
        let epoch = gate.close();
        closed.lock().unwrap().0 = epoch;
        let moment = gate.close_moment();
        closed.lock().unwrap().1 = moment;
        worker.join().unwrap();
        assert_eq!((epoch, moment, gate.epoch(), gate.moment()), (1, 1, 2, 2));
    });
}

/// A group has one moment, and a wait for the workers inside moves nothing.
#[test]
fn a_group_has_one_moment() {
    model(|| {
        let gate = Arc::new(EpochGate::new(1, 1));
        let worker = {
            let gate = gate.clone();
            thread::spawn(move || {
                let entered = gate.enter(0);
                gate.begin_group(0);
                let moment = gate.moment();
                assert_eq!(gate.moment(), moment);
                gate.end_group(0);
                gate.leave(0, entered);
            })
        };
        gate.wait_until_left();
        assert_eq!((gate.moment(), gate.epoch()), (1, 1));
        gate.close_moment();
        worker.join().unwrap();
    });
}
