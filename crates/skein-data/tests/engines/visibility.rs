//! The writes that readers see, and the time when they see them (contract 3, 4, 6, 7, 8 and 9).

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use skein_data::{Engine, EngineError, EngineSession, KeyState, RowView, RowWriter, ScanDirection};
use skein_log::storage::sim::SimStorage;
use skein_store::ExpiryClock;

use crate::contents::{Contents, EVERYTHING, state_in, state_of};
use crate::engines::over_each;

const READERS: usize = 2;
const ROUNDS: u32 = 300;

/// Runs `write` for some rounds, and `read` in other threads meanwhile.
fn beside(
    engine: &Engine,
    mut write: impl FnMut(&mut EngineSession, u32),
    read: impl Fn(&mut EngineSession) + Sync,
) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let mut session = engine.session();
                while !done.load(Ordering::Relaxed) {
                    read(&mut session);
                }
            });
        }
        let mut session = engine.session();
        for round in 0..ROUNDS {
            write(&mut session, round);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_put_of_many_is_visible_as_a_whole() {
    over_each(|kind| {
        let engine = kind.open_fresh();
        let keys: [&[u8]; 3] = [b"a", b"b", b"z"];
        engine.session().keys().put_all(&keys.map(|key| (key, &b"0"[..]))).expect("a put");
        let put = |session: &mut EngineSession, round: u32| {
            let value = round.to_string();
            session.keys().put_all(&keys.map(|key| (key, value.as_bytes()))).expect("a put");
        };
        beside(&engine, put, |session| {
            let mut found = Vec::new();
            let keep = |_: usize, row: Option<skein_data::RowView<'_>>| {
                found.push(row.and_then(|row| row.value().map(<[u8]>::to_vec)).expect("a value"));
            };
            session.keys().get_many_atomic(&keys, usize::MAX, keep).expect("rows");
            assert!(found[0] == found[1] && found[1] == found[2], "{kind}: {found:?}");
        });
    });
}

#[test]
fn a_snapshot_shows_transactions_as_a_whole() {
    over_each(|kind| {
        let engine = kind.open_fresh();
        let total = |state: &crate::contents::State| -> i64 {
            let numbers = state.values().map(|found| match &found.contents {
                Contents::Value(value) => String::from_utf8_lossy(value).parse::<i64>().expect("a number"),
                Contents::Scores(scores) => scores.values().copied().map(i64::from).sum(),
                Contents::Columns(_) | Contents::Members(_) | Contents::List(_) | Contents::Stream(_) => {
                    panic!("no such contents were put")
                }
            });
            numbers.sum()
        };
        let moves = |session: &mut EngineSession, round: u32| {
            let mut keys = session.begin().expect("a transaction");
            let by = i64::from(round % 7);
            let (done, _) = keys.write(|writer| {
                writer.increment(b"from", -by)?;
                writer.increment(b"to", 2 * by)?;
                writer.change_set::<_, EngineError>(b"set", true, |set| Ok(set.put(b"owed", 0.0)?))?;
                writer.increment(b"fee", -by)
            });
            done.expect("a batch").expect("writes");
            keys.commit().expect("a commit");
        };
        beside(&engine, moves, |_| {
            let snapshot = engine.snapshot().expect("a snapshot");
            let first = state_in(&snapshot).expect("a state");
            assert_eq!(total(&first), 0, "{kind}: {first:?}");
            assert_eq!(state_in(&snapshot).expect("a state"), first, "{kind}: it has changed");
        });
    });
}

/// Returns the version of a key and the number of changes of its collection, or zeros if the key is
/// absent.
fn version(session: &mut EngineSession, key: &[u8]) -> (u64, u64) {
    session.keys().get_with(key, |row| {
        row.expect("a row").map_or((0, 0), |row| (row.version(), row.changes().unwrap_or(0)))
    })
}

/// A change that a watching client must see.
type WatchedChange = fn(&mut skein_data::EngineWriter<'_, '_>) -> Result<(), EngineError>;

#[test]
fn each_write_gives_a_greater_version() {
    let changes: [WatchedChange; 9] = [
        |writer| writer.put(b"key", b"1"),
        |writer| writer.increment(b"key", 1).map(drop),
        |writer| writer.expire(b"key", Some(u64::MAX / 2)).map(drop),
        |writer| writer.replace_columns(b"key", &[(b"a", b"1")], None),
        |writer| writer.put_columns(b"key", &[(b"b", b"2")]).map(drop),
        |writer| {
            writer.replace_set::<_, EngineError>(b"key", None, |set| {
                set.put(b"m", 1.0).map(drop).map_err(Into::into)
            })
        },
        |writer| writer.change_set::<_, EngineError>(b"key", true, |set| Ok(set.put(b"m", 2.0)?)).map(drop),
        |writer| writer.change_set::<_, EngineError>(b"key", true, |set| Ok(set.put(b"n", 2.0)?)).map(drop),
        |writer| writer.put(b"key", b"2"),
    ];
    over_each(|kind| {
        let engine = kind.open_fresh();
        let mut session = engine.session();
        let mut last = (0, 0);
        for _ in 0..2 {
            for (at, change) in changes.iter().enumerate() {
                session.keys().write(change).0.expect("a batch").expect("a write");
                let now = version(&mut session, b"key");
                assert!(now > last, "{kind}, change {at}: {now:?} after {last:?}");
                last = now;
            }
            session.keys().write(|writer| writer.remove(b"key")).0.expect("a batch").expect("a removal");
        }
    });
}

#[test]
fn an_absent_key_shows_that_it_was_there() {
    over_each(|kind| {
        let engine = kind.open_fresh();
        let (mut watching, mut session) = (engine.session(), engine.session());
        let before = watching.keys().removal_counter(b"key");
        session.keys().write(|writer| writer.put(b"key", b"1")).0.expect("a batch").expect("a put");
        session.keys().write(|writer| writer.remove(b"key")).0.expect("a batch").expect("a removal");
        assert_eq!(version(&mut watching, b"key"), (0, 0));
        assert_ne!(watching.keys().removal_counter(b"key"), before, "{kind}");
    });
}

/// Incident: WATCH found a key absent. Then another client made it, and only then WATCH read the counter
/// of removals, which counted the new row as an expired one. Consequence: EXEC ran although the key had
/// been written and removed. Fix: the counter of a live row is that of its last removal.
#[test]
fn the_removal_of_a_key_that_has_just_appeared_shows() {
    over_each(|kind| {
        let engine = kind.open_fresh();
        let (mut watching, mut session) = (engine.session(), engine.session());
        session.keys().write(|writer| writer.put(b"key", b"1")).0.expect("a batch").expect("a put");
        let appeared = watching.keys().removal_counter(b"key");
        session.keys().write(|writer| writer.remove(b"key")).0.expect("a batch").expect("a removal");
        assert_ne!(watching.keys().removal_counter(b"key"), appeared, "{kind}");
    });
}

/// Incident: on the disk engine, a transaction failed if the thread removed an expired key while it
/// was watched as absent. Consequence: EXEC failed although no client had written the key. Fix: an
/// expired row counts as removed. A write in its place is noticed as before.
#[test]
fn the_removal_of_an_expired_key_does_not_show() {
    over_each(|kind| {
        let clock = ExpiryClock::manual(1_000_000);
        let engine = kind.open(&SimStorage::new(), &clock).expect("an engine");
        let (mut session, mut watching) = (engine.session(), engine.session());
        let mut expire = |until: u64| {
            session
                .keys()
                .write(|writer| writer.put_until(b"key", b"x", until))
                .0
                .expect("a batch")
                .expect("a put");
            clock.advance(Duration::from_millis(11));
            watching.keys().removal_counter(b"key")
        };
        engine.pause_expiry(true);
        let first = expire(engine.now() + 10);
        let second = expire(engine.now() + 10);
        assert_ne!(first, second, "{kind}: a row took the place of an expired one");
        engine.pause_expiry(false);
        clock.advance(Duration::from_secs(2));
        let since = Instant::now();
        while engine.session().keys().write(|writer| writer.key_state(b"key")).0.expect("a batch")
            != KeyState::Absent
        {
            assert!(since.elapsed() < Duration::from_secs(60), "{kind}: the key stays");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(watching.keys().removal_counter(b"key"), second, "{kind}");
    });
}

#[test]
fn expired_keys_are_hidden_at_once_and_removed_soon() {
    over_each(|kind| {
        let clock = ExpiryClock::manual(1_000_000);
        let engine = kind.open(&SimStorage::new(), &clock).expect("an engine");
        let mut session = engine.session();
        let until = engine.now() + 10;
        let (done, _) = session.keys().write(|writer| {
            writer.put(b"stays", b"x")?;
            writer.put_until(b"value", b"x", until)?;
            writer.replace_columns(b"columns", &[(b"a", b"b")], Some(until))?;
            writer
                .replace_set::<_, EngineError>(b"set", Some(until), |set| Ok(set.put(b"m", 1.0).map(drop)?))
        });
        done.expect("a batch").expect("writes");
        let snapshot = engine.snapshot().expect("a snapshot");
        clock.advance(Duration::from_millis(11));
        assert_eq!(state_of(&mut session.keys()).expect("a state").len(), 1, "{kind}");
        assert_eq!(state_in(&snapshot).expect("a state").len(), 4, "{kind}: a snapshot is of its own time");
        let since = Instant::now();
        while engine.len() > 1 {
            assert!(since.elapsed() < Duration::from_secs(60), "{kind}: {} keys are counted", engine.len());
            // The thread waits by the steady clock of the engine.
            clock.advance(Duration::from_millis(100));
            thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn a_scan_can_stop_and_go_on_beside_writers() {
    over_each(|kind| {
        let engine = kind.open_fresh();
        let stable: Vec<Vec<u8>> = (0..50u8).map(|n| format!("s{n:02}").into_bytes()).collect();
        let pairs: Vec<(&[u8], &[u8])> = stable.iter().map(|key| (&key[..], &b"x"[..])).collect();
        engine.session().keys().put_all(&pairs).expect("a put");
        let churn = |session: &mut EngineSession, round: u32| {
            let key = format!("s{:02}x", round % 50);
            let (done, _) = session.keys().write(|writer| {
                writer.put(key.as_bytes(), b"y")?;
                writer.remove(key.as_bytes())
            });
            done.expect("a batch").expect("writes");
        };
        beside(&engine, churn, |session| {
            let mut found: Vec<Vec<u8>> = Vec::new();
            loop {
                let (mut count, last) = (0, found.last().cloned());
                let lower = last.as_deref().map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                let each = |key: &[u8], _: RowView<'_>| {
                    found.push(key.to_vec());
                    count += 1;
                    if count < 7 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                };
                let bounds = (lower, EVERYTHING.1);
                let scanned = if session.keys().is_ordered() {
                    session.keys().scan_stored(bounds, ScanDirection::Forward, 7, each)
                } else {
                    session.keys().walk_stored(bounds, 7, each)
                };
                scanned.expect("a scan");
                if count == 0 {
                    break;
                }
            }
            if session.keys().is_ordered() {
                assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{kind}: {found:?}");
            }
            found.retain(|key| key.len() == 3);
            if !session.keys().is_ordered() {
                found.sort();
            }
            assert_eq!(found, stable, "{kind}");
        });
    });
}

#[test]
fn a_dropped_transaction_leaves_a_working_engine() {
    over_each(|kind| {
        let engine = kind.open_fresh();
        let mut session = engine.session();
        session.keys().write(|writer| writer.put(b"a", b"1")).0.expect("a batch").expect("a put");
        let mut keys = session.begin().expect("a transaction");
        keys.write(|writer| writer.put(b"b", b"2")).0.expect("a batch").expect("a put");
        drop(keys);
        let undone = session.can_roll_back();
        let found = state_of(&mut session.keys()).expect("a state");
        assert_eq!(found.len(), if undone { 1 } else { 2 }, "{kind}");
        session.keys().write(|writer| writer.put(b"c", b"3")).0.expect("a batch").expect("a put");
        engine.close().expect("a close");
    });
}
