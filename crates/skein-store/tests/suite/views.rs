//! Views of collections show one moment, whatever writers do between two steps.

#![expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "scores are small numbers")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{StoreTestRng, open};
use skein_store::{
    CollectionReads as _, Durability, Error, MembersView, RowRef, RowWriter as _, ScanDirection,
    ScoreRangeView, Session, Writer,
};

/// Members and their scores: few scores, so that many are equal.
const MEMBERS: u64 = 60;
const SCORES: u64 = 5;

fn member(random: &mut StoreTestRng) -> Vec<u8> {
    format!("goose:{:02}", random.below(MEMBERS)).into_bytes()
}

fn write(session: &mut Session, writes: impl FnOnce(&mut Writer<'_>) -> Result<(), Error>) {
    session.write(writes).expect("the store is open").0.expect("the write is fine");
}

/// Writes to the set: mostly to one member, and sometimes ends the set.
fn change_set(session: &mut Session, key: &[u8], random: &mut StoreTestRng) {
    let (name, score) = (member(random), random.below(SCORES) as f64);
    write(session, |writer| match random.below(200) {
        0 => writer.remove(key).map(drop),
        1 => writer.put(key, b"something else").and_then(|_| writer.remove(key)).map(drop),
        2..120 => writer.change_set(key, true, |set| set.put(&name, score).map(drop)).map(drop),
        _ => writer.change_set(key, false, |set| set.remove(&name).map(drop)).map(drop),
    });
}

fn members_of(session: &Session, key: &[u8]) -> Vec<(f64, Vec<u8>)> {
    let mut found = Vec::new();
    session.get_with(key, |row| {
        if let Some(set) = row.and_then(RowRef::sorted_set) {
            set.read().walk(0, ScanDirection::Forward, |score, member| {
                found.push((score, member.to_vec()));
                ControlFlow::Continue(())
            });
        }
    });
    found
}

/// A name and a value.
type OwnedColumn = (Vec<u8>, Vec<u8>);

/// A view that is being read, and the entries that it must show.
struct ViewReading<V, E> {
    view: V,
    wanted: Vec<E>,
    shown: Vec<E>,
}

fn step_order(reading: &mut ViewReading<ScoreRangeView, (f64, Vec<u8>)>, most: usize) -> bool {
    let ViewReading { view, shown, .. } = reading;
    view.step(most, |score, member| {
        shown.push((score, member.to_vec()));
        ControlFlow::Continue(())
    })
}

fn step_members(reading: &mut ViewReading<MembersView, OwnedColumn>, most: usize) -> bool {
    let ViewReading { view, shown, .. } = reading;
    view.step(most, |name, value| {
        shown.push((name.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
}

fn order_view(
    session: &Session,
    key: &[u8],
    random: &mut StoreTestRng,
) -> Option<ViewReading<ScoreRangeView, (f64, Vec<u8>)>> {
    let all = members_of(session, key);
    let len = all.len() as u64;
    if len == 0 {
        return None;
    }
    let (first, count) = (random.below(len), random.below(len + 10));
    let backward = random.below(2) == 0;
    let direction = if backward { ScanDirection::Backward } else { ScanDirection::Forward };
    let view = session.get_with(key, |row| row?.sorted_set()?.read().view(first, count, direction))?;
    let first = usize::try_from(first).expect("small");
    let count = usize::try_from(count).expect("small");
    let wanted = if backward {
        all[..=first].iter().rev().take(count).cloned().collect()
    } else {
        all[first..].iter().take(count).cloned().collect()
    };
    Some(ViewReading { view, wanted, shown: Vec::new() })
}

/// Many views of one set, taken and read while it is written to, dies and begins again: each shows
/// the entries of its moment.
#[test]
fn a_view_of_a_set_is_of_one_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), Durability::Buffered);
    let (mut session, mut random) = (store.session(), StoreTestRng(7));
    let mut readings = Vec::new();
    let mut finished = 0;
    for _ in 0..40_000 {
        match random.below(20) {
            0 if readings.len() < 8 => readings.extend(order_view(&session, b"geese", &mut random)),
            0..4 if !readings.is_empty() => {
                let at = random.below(readings.len() as u64) as usize;
                let most = 1 + random.below(9) as usize;
                if !step_order(&mut readings[at], most) {
                    let done = readings.swap_remove(at);
                    assert_eq!(done.shown, done.wanted);
                    finished += 1;
                }
            }
            _ => change_set(&mut session, b"geese", &mut random),
        }
    }
    assert!(finished > 100, "{finished} views were read to their end");
}

/// The same by name, with lookups in the view.
#[test]
fn members_are_looked_up_as_of_one_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), Durability::Buffered);
    let (mut session, mut random) = (store.session(), StoreTestRng(8));
    for _ in 0..300 {
        let at_once = members_of(&session, b"geese");
        let view = session.get_with(b"geese", |row| row?.sorted_set()?.read().view_members());
        let mut walked = session.get_with(b"geese", |row| row?.sorted_set()?.read().view_members());
        for _ in 0..random.below(80) {
            change_set(&mut session, b"geese", &mut random);
        }
        let (Some(view), Some(walked)) = (view, walked.as_mut()) else { continue };
        let wanted: BTreeMap<Vec<u8>, f64> = at_once.into_iter().map(|(score, name)| (name, score)).collect();
        for goose in 0..MEMBERS {
            let name = format!("goose:{goose:02}").into_bytes();
            assert_eq!(view.score(&name), wanted.get(&name).copied());
        }
        let mut shown = BTreeMap::new();
        while walked.step(7, |name, score| {
            let score = f64::from_le_bytes(score.try_into().expect("8 bytes"));
            assert!(shown.insert(name.to_vec(), score).is_none(), "shown twice");
            ControlFlow::Continue(())
        }) {
            change_set(&mut session, b"geese", &mut random);
        }
        assert_eq!(shown, wanted);
    }
}

fn columns_of(session: &Session) -> Vec<OwnedColumn> {
    session.get_with(b"flock", |row| {
        row.and_then(RowRef::read_columns).map(|columns| columns.to_vec()).unwrap_or_default()
    })
}

#[test]
fn a_view_of_columns_is_of_one_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), Durability::Buffered);
    let (mut session, mut random) = (store.session(), StoreTestRng(9));
    session.spread_columns(true);
    let mut readings: Vec<ViewReading<MembersView, OwnedColumn>> = Vec::new();
    let mut finished = 0;
    for turn in 0..20_000u32 {
        match random.below(20) {
            0 if readings.len() < 8 => {
                let view = session.get_with(b"flock", |row| row?.read_columns()?.view());
                let wanted = columns_of(&session);
                readings.extend(view.map(|view| ViewReading { view, wanted, shown: Vec::new() }));
            }
            0..6 if !readings.is_empty() => {
                let at = random.below(readings.len() as u64) as usize;
                if !step_members(&mut readings[at], 1 + random.below(20) as usize) {
                    let done = readings.swap_remove(at);
                    assert_eq!(done.shown, done.wanted);
                    finished += 1;
                }
            }
            _ => {
                let name = format!("column:{:03}", random.below(200)).into_bytes();
                let value = turn.to_string().into_bytes();
                write(&mut session, |writer| match random.below(1000) {
                    0 => writer.remove(b"flock").map(drop),
                    1..700 => writer.put_columns(b"flock", &[(&name, &value)]).map(drop),
                    _ => writer.remove_columns(b"flock", &[&name]).map(drop),
                });
            }
        }
    }
    assert!(finished > 50, "{finished} views were read to their end");
}

/// A step waits for a writer and never shows half of a write: two members rise together.
#[test]
fn a_view_has_each_write_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), Durability::Buffered);
    let both = |session: &mut Session, score: u64| {
        write(session, |writer| {
            let pair = |set: &mut skein_store::SetWriter<'_>| {
                set.put(b"a", score as f64)?;
                (0..20).try_for_each(|at| set.put(format!("b{at}").as_bytes(), score as f64).map(drop))
            };
            writer.change_set::<_, Error>(b"pairs", true, pair).map(drop)
        });
    };
    let mut session = store.session();
    both(&mut session, 0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = store.session();
            for score in 1.. {
                both(&mut session, score % 7);
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for _ in 0..500 {
            let view = session
                .get_with(b"pairs", |row| row?.sorted_set()?.read().view(0, 21, ScanDirection::Forward));
            let mut reading =
                ViewReading { view: view.expect("it is there"), wanted: Vec::new(), shown: Vec::new() };
            while step_order(&mut reading, 2) {}
            let scores: Vec<f64> = reading.shown.iter().map(|(score, _)| *score).collect();
            assert_eq!(scores.len(), 21);
            assert!(scores.windows(2).all(|pair| pair[0] == pair[1]), "{scores:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Incident: a view that was taken of a set that had just died showed one of its members.
#[test]
fn a_view_of_a_dead_set_shows_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), Durability::Buffered);
    let mut session = store.session();
    write(&mut session, |writer| {
        writer.change_set(b"geese", true, |set| {
            (0..20_000_u32).try_for_each(|member| set.put(&member.to_be_bytes(), 1.0).map(drop))
        })?;
        Ok(())
    });
    session.get_with(b"geese", |row| {
        let set = row.and_then(RowRef::sorted_set).expect("it is there");
        store.remove(b"geese").expect("it is there");
        let mut view = set.read().view_members().expect("it stood for its key");
        assert_eq!(view.get(&0_u32.to_be_bytes()), None);
        let mut shown = 0;
        assert!(!view.step(10, |_, _| {
            shown += 1;
            ControlFlow::Continue(())
        }));
        assert_eq!(shown, 0);
    });
}
