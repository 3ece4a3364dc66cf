//! Planted bugs: proves that the checks of the other tests find them.
//!
//! `cargo test -p skein-log --features planted-bugs --test planted`
#![cfg(not(skein_loom))]

mod common;

use std::panic::catch_unwind;
use std::sync::Mutex;

use common::*;
use skein_log::LogError;
use skein_log::planted_bugs::{PlantedBug, set};
use skein_log::storage::sim::SimStorage;

/// A planted bug is switched on for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn with<T>(bug: PlantedBug, on: bool, test: impl FnOnce() -> T) -> T {
    set(bug, on);
    let result = test();
    set(bug, false);
    result
}

/// Cuts the power at several operations. Returns whether the check of `power_cut.rs` finds an
/// error.
fn cutting_finds_something() -> bool {
    (20..200).step_by(3).any(|at| {
        let sim = SimStorage::new();
        let mut written = AcknowledgedWrites::default();
        sim.cut_power_at(at);
        if let Ok((log, _)) = open(&sim, 3) {
            let _ = run(&log, 0, 40, &mut written);
        }
        sim.reboot(at * 4);
        match inspect(&sim) {
            Ok(found) => catch_unwind(|| check_prefix(&found, written, "planted")).is_err(),
            // A mark says that more was durable.
            Err(LogError::Damaged { .. }) => true,
            Err(error) => panic!("not the planted bug's failure: {error}"),
        }
    })
}

/// Damages records at several positions. Returns whether a damaged log was read without an error.
fn damage_goes_unnoticed() -> bool {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 1).unwrap();
    run(&log, 0, 20, &mut AcknowledgedWrites::default()).unwrap();
    log.close().unwrap();
    let path = segment_files(&sim).remove(0);
    (200..4_000).step_by(61).any(|offset| {
        sim.damage(&path, offset, &[0xFF]);
        let read = inspect(&sim);
        sim.damage(&path, offset, &[0xFF]);
        read.is_ok()
    })
}

#[test]
fn an_acknowledgement_before_the_epoch_is_durable_is_found() {
    let _one = ONE_AT_A_TIME.lock().unwrap();
    assert!(
        !with(PlantedBug::EarlyAcknowledgement, false, cutting_finds_something),
        "without the bug the check passes"
    );
    // The scheduler decides whether a waiter returns before the write that then fails, so not every
    // round shows the bug.
    let rounds = || (0..100).any(|_| cutting_finds_something());
    assert!(with(PlantedBug::EarlyAcknowledgement, true, rounds), "the bug was not found");
}

#[test]
fn a_skipped_checksum_is_found() {
    let _one = ONE_AT_A_TIME.lock().unwrap();
    assert!(
        !with(PlantedBug::SkippedCrc, false, damage_goes_unnoticed),
        "without the bug all damage is found"
    );
    assert!(with(PlantedBug::SkippedCrc, true, damage_goes_unnoticed), "the bug was not found");
}

/// Fills a disk at `Buffered`. Returns whether the last acknowledged epoch never becomes durable.
fn filling_leaves_something_in_memory() -> bool {
    let sim = SimStorage::new();
    let log = open_buffered(&sim, 1, 1 << 20);
    sim.limit(std::path::Path::new(FOLDER), Some(20 << 20));
    let (_, epoch) = fill(&log, 1, 20_000);
    !becomes_durable(&log, epoch)
}

#[test]
fn an_entry_without_room_is_found() {
    let _one = ONE_AT_A_TIME.lock().unwrap();
    assert!(
        !with(PlantedBug::EntryWithoutRoom, false, filling_leaves_something_in_memory),
        "without the bug all becomes durable"
    );
    assert!(
        with(PlantedBug::EntryWithoutRoom, true, filling_leaves_something_in_memory),
        "the bug was not found"
    );
}
