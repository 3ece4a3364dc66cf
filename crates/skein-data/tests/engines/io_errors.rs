//! An error at every operation of the disk, once or for good, causes no panic and loses no
//! acknowledged write. Once the fault has ended, a restart works (contract 5).

use skein_data::{CollectionKind, Engine, EngineError, RowWriter};
use skein_log::storage::sim::{SimError, SimStorage};
use skein_store::ExpiryClock;

use crate::contents::{State, state_of};
use crate::engines::{EngineKind, on_disk, over_each};
use crate::power_cuts::{StateHistory, assert_recovers, run, work};

/// Does the work with a fault, and then reads the contents that the engine still shows.
fn run_and_read(kind: EngineKind, disk: &SimStorage, history: &mut StateHistory) -> Option<State> {
    let engine: Engine = kind.open(disk, &ExpiryClock::manual(1_000_000)).ok()?;
    history.states.push(State::new());
    let _ = work(&engine, history);
    let mut session = engine.session();
    let found = state_of(&mut session.keys()).ok();
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

fn set_member(number: u64) -> Vec<u8> {
    format!("{number:05}").into_bytes()
}

/// Fills two sets of many pages.
fn fill_sets(engine: &Engine) {
    let mut session = engine.session();
    for (key, first) in [(b"from", 0), (b"into", 10_000)] {
        for chunk in (first..first + 3000).step_by(50) {
            let (done, _) = session.keys().write(|writer| {
                writer.change_set_of::<_, EngineError>(CollectionKind::Set, key, true, |set| {
                    (chunk..chunk + 50).try_for_each(|number| set.add(&set_member(number)).map(drop))?;
                    Ok(())
                })
            });
            done.expect("a batch").expect("small writes");
        }
    }
    engine.close().expect("a close");
}

fn has_member(engine: &Engine, key: &[u8], member: &[u8]) -> bool {
    engine.session().keys().get_with(key, |row| {
        let row = row.expect("a row").expect("a set");
        row.set_of(CollectionKind::Set, |set| set.score(member).is_some()).expect("a read").expect("a set")
    })
}

/// A move reads and writes two sets. Whichever page it cannot read, it moves the member or nothing.
#[test]
fn a_move_that_cannot_read_a_page_moves_nothing() {
    for kind in on_disk() {
        let (disk, clock) = (SimStorage::new(), ExpiryClock::manual(1_000_000));
        fill_sets(&kind.open(&disk, &clock).expect("an engine"));
        let mut refused = 0;
        for at in 1..=20 {
            // Its cache is empty.
            let engine = kind.open(&disk, &clock).expect("an engine");
            let member = set_member(at * 97);
            // The error is for good: threads of the engine read and write, too, and would take a
            // single error.
            disk.fail_at(disk.operations() + at, SimError::Io, true);
            let (done, _) = engine
                .session()
                .keys()
                .write(|writer| writer.move_member(CollectionKind::Set, b"from", b"into", &member));
            disk.no_faults();
            let moved = matches!(done, Ok(Ok(true)));
            refused += u32::from(!moved);
            let found = [&b"from"[..], b"into"].map(|key| has_member(&engine, key, &member));
            assert_eq!(found, [!moved, moved], "{kind}, error at {at}: {done:?}");
            let _ = engine.close();
            disk.reboot(at);
        }
        assert!(refused >= 5, "{kind}: {refused} moves were refused");
    }
}
