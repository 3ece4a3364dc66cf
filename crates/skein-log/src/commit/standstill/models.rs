//! The standstill's protocol under `loom`: earlier writes are visible, and no thread writes during
//! it.
//!
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-log --lib --release standstill

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loom::cell::UnsafeCell;
use loom::thread;

use super::{AtomicWriteState, WriteState, stands_still};
use crate::epoch::EpochGate;
use crate::epoch::models::model;

/// The gate and state of a log, and a row per worker without a lock. `loom` reports a write that
/// races with the standstill.
struct StandstillModel {
    gate: EpochGate,
    state: AtomicWriteState,
    rows: [UnsafeCell<u64>; 2],
}

// SAFETY: the model checks that no thread reads a row while its worker writes; `loom` reports a
// violation.
unsafe impl Sync for StandstillModel {}

impl StandstillModel {
    fn new() -> Arc<Self> {
        let rows = [UnsafeCell::new(0), UnsafeCell::new(0)];
        Arc::new(Self { gate: EpochGate::new(1, 1), state: AtomicWriteState::new(), rows })
    }

    /// Runs a worker's operation, in the steps of `Log::enter`.
    fn write(&self, worker: usize) {
        let entered = self.gate.enter(0);
        if self.state.get() == WriteState::Running {
            // SAFETY: see `StandstillModel`.
            self.rows[worker].with_mut(|row| unsafe { *row += 1 });
        }
        self.gate.leave(0, entered);
    }

    fn run_out_of_room(&self) {
        self.state.change(WriteState::Running, WriteState::NoRoom).expect("nobody else changes it");
    }

    /// Reads all rows at a standstill, if there is one.
    fn picture(&self) -> Option<[u64; 2]> {
        // SAFETY: see `StandstillModel`.
        let read = |row: &UnsafeCell<u64>| row.with(|row| unsafe { *row });
        stands_still(&self.gate, &self.state).then(|| self.rows.each_ref().map(read))
    }
}

/// Counts how the explored orders ended, to show that the model has met each end.
#[derive(Default)]
struct StandstillTally {
    no_standstill: AtomicU64,
    before: AtomicU64,
    refused: AtomicU64,
}

impl StandstillTally {
    fn count(&self, picture: Option<[u64; 2]>) {
        let count = match picture {
            None => &self.no_standstill,
            Some([0, 0]) => &self.refused,
            Some(_) => &self.before,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> [u64; 3] {
        [&self.no_standstill, &self.before, &self.refused].map(|count| count.load(Ordering::Relaxed))
    }
}

/// The log runs out of space beside a worker, and a third thread asks for the standstill.
fn a_write_beside_a_standstill(tally: &StandstillTally) {
    let log = StandstillModel::new();
    let (worker, committer) = (Arc::clone(&log), Arc::clone(&log));
    let threads =
        [thread::spawn(move || worker.write(0)), thread::spawn(move || committer.run_out_of_room())];
    tally.count(log.picture());
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn nobody_writes_at_a_standstill() {
    let tally = Arc::new(StandstillTally::default());
    let ends = Arc::clone(&tally);
    model(move || a_write_beside_a_standstill(&ends));
    let counts = tally.counts();
    assert!(counts.iter().all(|&count| count > 0), "some end was never met: {counts:?}");
}

/// The epoch closes before the log finds the disk full, so workers are inside at both parities.
#[test]
fn a_standstill_waits_for_both_parities() {
    let tally = Arc::new(StandstillTally::default());
    let ends = Arc::clone(&tally);
    model(move || {
        let log = StandstillModel::new();
        let workers = [0, 1].map(|worker| {
            let log = Arc::clone(&log);
            thread::spawn(move || log.write(worker))
        });
        assert_eq!(log.gate.close(), 1);
        log.run_out_of_room();
        ends.count(log.picture());
        for worker in workers {
            worker.join().unwrap();
        }
    });
    let counts = tally.counts();
    assert!(counts[0] == 0 && counts[1] > 0 && counts[2] > 0, "some end was never met: {counts:?}");
}

/// A plain load of the counters: if it misses a worker's increment, that worker has read a state
/// from before.
#[test]
#[cfg(feature = "planted-bugs")]
fn a_look_out_of_order_is_noticed() {
    use crate::epoch::models::model_with;
    use crate::planted_bugs::PlantedBug;

    let run =
        || model_with(PlantedBug::PlainLook, || a_write_beside_a_standstill(&StandstillTally::default()));
    let panic = std::panic::catch_unwind(run).expect_err("the planted bug went unnoticed");
    let said = panic.downcast_ref::<String>().map_or("", String::as_str);
    assert!(said.contains("Causality violation"), "not the planted bug's failure: {said}");
}
