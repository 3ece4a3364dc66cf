//! An error at every operation of the disk, once or for good: no panic, nothing acknowledged is
//! lost, and once the fault has ended a restart works (contract 5).

use skein_data::{Engine, Keyspace};
use skein_log::storage::sim::{SimError, SimStorage};
use skein_store::ExpiryClock;

use crate::contents::{State, state_of};
use crate::engines::{EngineKind, over_each};
use crate::power_cuts::{StateHistory, assert_recovers, run, work};

/// Does the work with a fault, and then reads what the engine still shows.
fn run_and_read(kind: EngineKind, disk: &SimStorage, history: &mut StateHistory) -> Option<State> {
    let engine: Engine = kind.open(disk, &ExpiryClock::manual(1_000_000)).ok()?;
    history.states.push(State::new());
    let _ = work(&engine, history);
    let mut session = engine.session();
    let found = state_of(&mut Keyspace::Session(&mut session)).ok();
    drop(session);
    let _ = engine.close();
    found
}

fn fail_everywhere(error: SimError, lasting: bool) {
    over_each(|kind| {
        let disk = SimStorage::new();
        run(kind, &disk, &mut StateHistory::default()).expect("work without a fault");
        for at in 1..=disk.operations() {
            let (disk, mut history) = (SimStorage::new(), StateHistory::default());
            disk.fail_at(at, error, lasting);
            let found = run_and_read(kind, &disk, &mut history);
            let about = format!("{error:?} at {at}, lasting: {lasting}");
            let may_show = found.as_ref().is_none_or(|found| history.allows_after_error(kind, found));
            assert!(may_show, "{kind}, {about}: a state that never was: {found:?}");
            disk.reboot(at * 31);
            assert_recovers(kind, &disk, &history, &about);
        }
    });
}

#[test]
fn one_error_of_the_disk_loses_nothing() {
    fail_everywhere(SimError::Io, false);
}

#[test]
fn a_broken_disk_loses_nothing() {
    fail_everywhere(SimError::Io, true);
}

#[test]
fn a_full_disk_loses_nothing() {
    fail_everywhere(SimError::NoSpace, true);
}
