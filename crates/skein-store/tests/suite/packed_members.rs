//! Small collections in the row of their key: they behave as those with members of their own,
//! through growth, checkpoints, recovery, snapshots, refusals and eviction.

use std::ops::ControlFlow;

use crate::common::{open, options};
use skein_store::{
    CollectionKind, CollectionReads as _, Durability, Error, Eviction, ListEnd, RowRef, RowWriter as _,
    ScanDirection, Session, Store, StoreLimits, StoreOptions, Writer,
};

fn packing(store: &Store) -> Session {
    let mut session = store.session();
    session.spread_columns(true);
    session.pack_members(true);
    session
}

fn write<R>(session: &mut Session, write: impl FnOnce(&mut Writer<'_>) -> Result<R, Error>) -> R {
    session.write(write).expect("a log").0.expect("a write")
}

fn name(number: u32) -> Vec<u8> {
    format!("member {number}").into_bytes()
}

fn score(session: &mut Session, key: &[u8], numbers: std::ops::Range<u32>) {
    write(session, |writer| {
        writer.change_set::<_, Error>(key, true, |set| {
            numbers.clone().try_for_each(|number| set.put(&name(number), f64::from(number)).map(drop))
        })
    });
}

/// The scores of a sorted set, and whether it is in the row.
fn scores(session: &Session, key: &[u8]) -> Option<(Vec<f64>, bool)> {
    session.get_with(key, |row| {
        let set = row?.sorted_set()?.read();
        let mut found = Vec::new();
        set.walk(0, ScanDirection::Forward, |score, member| {
            assert_eq!(set.score(&member.to_vec()), Some(score));
            found.push(score);
            ControlFlow::Continue(())
        });
        assert_eq!(found.len() as u64, set.len());
        Some((found, set.in_row()))
    })
}

fn upto(count: u32) -> Vec<f64> {
    (0..count).map(f64::from).collect()
}

/// A collection grows out of its row, once and for all, before and after a checkpoint and a
/// restart.
#[test]
fn members_leave_the_row_when_they_are_too_many_or_too_long() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let store = open(folder.path(), Durability::Sync);
        let mut session = packing(&store);
        if round == 0 {
            score(&mut session, b"z", 0..64);
            assert_eq!(scores(&session, b"z"), Some((upto(64), true)));
            score(&mut session, b"y", 0..10);
            write(&mut session, |writer| writer.expire(b"y", Some(u64::MAX)));
            store.checkpoint().unwrap();
            score(&mut session, b"x", 0..3);
        } else if round == 1 {
            assert_eq!(scores(&session, b"z"), Some((upto(64), true)));
            score(&mut session, b"z", 60..65);
            write(&mut session, |writer| {
                writer.change_set::<_, Error>(b"y", true, |set| set.put(&[b'x'; 950], 10.0))
            });
            score(&mut session, b"x", 3..4);
        }
        if round > 0 {
            assert_eq!(scores(&session, b"z"), Some((upto(65), false)));
            assert_eq!(scores(&session, b"y"), Some((upto(11), false)));
            assert_eq!(session.get_with(b"y", |row| row.and_then(RowRef::expires_at)), Some(u64::MAX));
            assert_eq!(scores(&session, b"x"), Some((upto(4), true)));
        }
        if round == 2 {
            for number in 1..65 {
                write(&mut session, |writer| {
                    writer.change_set::<_, Error>(b"z", false, |set| set.remove(&name(number)))
                });
            }
            assert_eq!(scores(&session, b"z"), Some((upto(1), false)), "it stays as it is");
        }
    }
}

/// Sessions that do not pack members change those that others have packed.
#[test]
fn any_session_changes_packed_members() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    score(&mut packing(&store), b"z", 0..3);
    let mut plain = store.session();
    write(&mut plain, |writer| {
        writer.change_set::<_, Error>(b"z", false, |set| set.remove(&name(2)).map(drop))
    });
    assert_eq!(scores(&plain, b"z"), Some((upto(2), true)));
    score(&mut plain, b"z", 2..3);
    assert_eq!(scores(&plain, b"z"), Some((upto(3), false)), "without packing, a member more leaves the row");
    score(&mut plain, b"new", 0..1);
    assert_eq!(scores(&plain, b"new"), Some((upto(1), false)));
}

fn elements(session: &Session, key: &[u8]) -> Vec<Vec<u8>> {
    session.get_with(key, |row| {
        let mut found = Vec::new();
        let Some(list) = row.and_then(|row| row.set_of(CollectionKind::List)) else { return found };
        let each = &mut |name: &[u8], value: &[u8]| {
            found.extend(skein_store::ChunkElements::of(name, value).map(<[u8]>::to_vec));
            ControlFlow::Continue(())
        };
        list.read().members().walk_names(None, each).unwrap();
        found
    })
}

/// A list of every length up to some hundred elements, pushed at both ends, is the same as a
/// vector, also after a restart.
#[test]
fn lists_grow_out_of_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = std::collections::VecDeque::new();
    for round in 0..4_u32 {
        let store = open(folder.path(), Durability::Buffered);
        let mut session = packing(&store);
        assert!(elements(&session, b"list").iter().eq(model.iter()));
        for number in 0..40 {
            let element = name(100 * round + number);
            let end = if number % 3 == 0 { ListEnd::Front } else { ListEnd::Back };
            let len = write(&mut session, |writer| {
                writer.change_list::<_, Error>(b"list", true, |list| {
                    list.push(end, std::iter::once(&element[..]))?;
                    list.len()
                })
            });
            match end {
                ListEnd::Front => model.push_front(element),
                ListEnd::Back => model.push_back(element),
            }
            assert_eq!(len, Some(model.len() as u64));
        }
        assert!(elements(&session, b"list").iter().eq(model.iter()));
        let in_row = session.get_with(b"list", |row| row.is_some_and(|row| row.packed().is_some()));
        assert_eq!(in_row, round == 0);
    }
}

/// A group that is refused leaves packed members as they were, and so does one that moved them to a
/// collection.
#[test]
fn a_refused_group_restores_packed_members() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = packing(&store);
    score(&mut session, b"small", 0..3);
    score(&mut session, b"large", 0..64);
    for key in [&b"small"[..], b"large"] {
        let before = scores(&session, key);
        let (refused, _) = session
            .write(|writer| {
                writer.change_set::<(), Error>(key, true, |set| {
                    set.remove(&name(1))?;
                    (100..170).try_for_each(|number| set.put(&name(number), 1.0).map(drop))?;
                    set.put(b"nan", f64::NAN).map(drop)
                })
            })
            .unwrap();
        assert!(matches!(refused, Err(Error::NotANumber)), "{refused:?}");
        assert_eq!(scores(&session, key), before);
    }
    // A store that is opened again finds the same.
    drop((session, store));
    let store = open(folder.path(), Durability::Buffered);
    assert_eq!(scores(&store.session(), b"small"), Some((upto(3), true)));
    assert_eq!(scores(&store.session(), b"large"), Some((upto(64), true)));
}

#[test]
fn rows_with_members_are_evicted_copied_and_renamed_as_values_are() {
    let folder = tempfile::tempdir().unwrap();
    let limits =
        StoreLimits { memory_bytes: Some(8 << 20), eviction: Eviction::Lru, ..StoreLimits::default() };
    let store =
        Store::open(folder.path(), StoreOptions { limits, ..options(Durability::None) }).expect("a store");
    let mut session = packing(&store);
    score(&mut session, b"z", 0..3);
    assert_eq!(write(&mut session, |writer| writer.copy(b"z", b"twin", false)), Some(true));
    assert_eq!(write(&mut session, |writer| writer.rename(b"z", b"moved", false)), Some(true));
    for key in [&b"twin"[..], b"moved"] {
        assert_eq!(scores(&session, key), Some((upto(3), true)));
    }
    assert!(!write(&mut session, |writer| {
        writer.move_member(CollectionKind::SortedSet, b"none", b"twin", &name(1))
    }));
    assert!(write(&mut session, |writer| {
        writer.move_member(CollectionKind::SortedSet, b"moved", b"other", &name(1))
    }));
    assert_eq!(scores(&session, b"other"), Some((vec![1.0], true)));
    for number in 0..40_000_u32 {
        score(&mut session, &number.to_be_bytes(), 0..20);
    }
    assert!(store.stats().evicted > 0, "{:?}", store.stats().memory);
    assert!(store.len() > 1_000 && store.len() < 40_000, "{} keys", store.len());
}

/// A set of ten members takes little more than a value of their bytes.
#[test]
fn ten_members_take_the_memory_of_one_row() {
    let (one, packed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let used = |folder: &std::path::Path, packs: bool| {
        let store = open(folder, Durability::None);
        let mut session = store.session();
        session.pack_members(packs);
        (0..2_000_u32).for_each(|number| score(&mut session, &number.to_be_bytes(), 0..10));
        store.stats().memory.total()
    };
    let (apart, together) = (used(one.path(), false), used(packed.path(), true));
    assert!(4 * together < apart, "{together} bytes in rows, {apart} apart");
}
