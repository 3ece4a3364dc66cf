//! Sets that are not sorted: random writes against a `BTreeSet`, over checkpoints, restarts and
//! snapshots; kinds of keys; groups that are undone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::common::{LEVELS, StoreTestRng, open};
use skein_store::{
    CollectionKind, CollectionReads as _, Durability, Error, MEMBER_BYTES_MAX, RowRef, RowWriter as _,
    SET_SCORE, ScanDirection, Session, SetReader, Store, Writer,
};

type Names = BTreeSet<Vec<u8>>;
type SetsModel = BTreeMap<Vec<u8>, Names>;

/// Returns the members, after checking that they agree by name, by rank and one by one.
fn members_of(set: &SetReader<'_>) -> Names {
    let (mut by_rank, mut by_name) = (Vec::new(), Vec::new());
    set.walk(0, ScanDirection::Forward, |score, member| {
        assert!(score.total_cmp(&SET_SCORE).is_eq());
        by_rank.push(member.to_vec());
        ControlFlow::Continue(())
    });
    set.members_after(None, |member, _| {
        by_name.push(member.to_vec());
        ControlFlow::Continue(())
    });
    assert_eq!(by_rank, by_name);
    assert_eq!(by_rank.len() as u64, set.len());
    for (rank, member) in by_rank.iter().enumerate() {
        assert_eq!((set.score(member), set.rank(SET_SCORE, member)), (Some(SET_SCORE), rank as u64));
    }
    by_name.into_iter().collect()
}

fn read(row: Option<RowRef<'_>>) -> Option<Names> {
    row.map(|row| members_of(&row.set_of(CollectionKind::Set).expect("a set").read()))
}

fn write<R>(session: &mut Session, writes: impl FnOnce(&mut Writer<'_>) -> Result<R, Error>) -> R {
    session.write(writes).unwrap().0.unwrap()
}

fn add(session: &mut Session, key: &[u8], members: &[&[u8]]) -> usize {
    let add_all = |writer: &mut Writer<'_>| {
        writer.change_set_of::<_, Error>(CollectionKind::Set, key, true, |set| {
            let mut added = 0;
            for member in members {
                added += usize::from(set.add(member)?);
            }
            Ok(added)
        })
    };
    write(session, add_all).unwrap_or(0)
}

fn remove(session: &mut Session, key: &[u8], member: &[u8]) -> bool {
    let remove = |writer: &mut Writer<'_>| {
        writer.change_set_of::<_, Error>(CollectionKind::Set, key, false, |set| set.remove(member))
    };
    write(session, remove).flatten().is_some()
}

/// Makes one random write, and the same to the model.
fn step(session: &mut Session, random: &mut StoreTestRng, model: &mut SetsModel) {
    let key = |random: &mut StoreTestRng| vec![b's', random.below(3) as u8];
    let name = |random: &mut StoreTestRng| format!("m{}", random.below(150)).into_bytes();
    let (to, member) = (key(random), name(random));
    match random.below(40) {
        0 => {
            write(session, |writer| writer.remove(&to));
            model.remove(&to);
        }
        1 => {
            let names: Names = (0..random.below(90)).map(|_| name(random)).collect();
            write(session, |writer| {
                writer.replace_set_of::<_, Error>(CollectionKind::Set, &to, None, |set| {
                    names.iter().try_for_each(|name| set.add(name).map(drop))
                })
            });
            model.remove(&to);
            model.extend((!names.is_empty()).then_some((to, names)));
        }
        2 | 3 => {
            let (from, copies) = (key(random), random.below(2) == 0);
            let moved = |writer: &mut Writer<'_>| match copies {
                _ if from == to => Ok(None),
                true => writer.copy(&from, &to, true),
                false => writer.rename(&from, &to, true),
            };
            let is_there = from != to && model.contains_key(&from);
            assert_eq!(write(session, moved), is_there.then_some(true));
            if is_there {
                let names = if copies { model.get(&from).cloned() } else { model.remove(&from) };
                model.extend(names.map(|names| (to, names)));
            }
        }
        4 => {
            let cleared = |writer: &mut Writer<'_>| {
                writer.change_set_of::<_, Error>(CollectionKind::Set, &to, false, |set| {
                    set.clear();
                    set.add(b"after").map(drop)
                })
            };
            let is_there = write(session, cleared).is_some();
            assert_eq!(is_there, model.contains_key(&to));
            if is_there {
                model.insert(to, Names::from([b"after".to_vec()]));
            }
        }
        5..=16 => {
            let names = model.get_mut(&to);
            assert_eq!(remove(session, &to, &member), names.is_some_and(|names| names.remove(&member)));
            model.retain(|_, names| !names.is_empty());
        }
        _ => {
            let other = name(random);
            let names = model.entry(to.clone()).or_default();
            let new = usize::from(names.insert(member.clone())) + usize::from(names.insert(other.clone()));
            assert_eq!(add(session, &to, &[&member, &other]), new);
        }
    }
}

fn contents(session: &Session) -> SetsModel {
    let keys = (0..3).map(|key| vec![b's', key]);
    keys.filter_map(|key| session.get_with(&key, read).map(|names| (key, names))).collect()
}

#[test]
fn random_writes_agree_with_a_model() {
    for (durability, packs) in LEVELS.into_iter().flat_map(|level| [(level, false), (level, true)]) {
        let folder = tempfile::tempdir().unwrap();
        let (mut random, mut model) = (StoreTestRng(11), SetsModel::new());
        for round in 0..6 {
            let store = open(folder.path(), durability);
            let mut session = store.session();
            session.pack_members(packs);
            assert_eq!(contents(&session), model);
            for _ in 0..300 {
                step(&mut session, &mut random, &mut model);
            }
            if round % 3 == 1 {
                store.checkpoint().unwrap();
            }
            for _ in 0..150 {
                step(&mut session, &mut random, &mut model);
            }
            assert_eq!(contents(&session), model);
            assert_eq!(store.len(), model.len());
        }
    }
}

#[test]
fn a_snapshot_shows_the_members_of_its_moment() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let Ok(first) = store.snapshot() else { return };
    drop(first);
    let (mut session, mut random, mut model) = (store.session(), StoreTestRng(5), SetsModel::new());
    for round in 0..20 {
        session.pack_members(round >= 10);
        (0..100).for_each(|_| step(&mut session, &mut random, &mut model));
        let (snapshot, then) = (store.snapshot().unwrap(), model.clone());
        (0..100).for_each(|_| step(&mut session, &mut random, &mut model));
        for key in (0..3).map(|key| vec![b's', key]) {
            assert_eq!(snapshot.get_with(&key, read).unwrap(), then.get(&key).cloned());
        }
    }
}

/// Writes that need another type of contents, or replace it.
#[test]
fn a_set_is_neither_a_sorted_set_nor_columns() {
    [false, true].into_iter().for_each(is_of_one_kind);
}

fn is_of_one_kind(packs: bool) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = store.session();
    session.pack_members(packs);
    assert_eq!(add(&mut session, b"s", &[b"a", b"b", b"a"]), 2);
    let found = |wrong: Result<(), Error>| match wrong {
        Err(Error::WrongKind { found, needed }) => (found, needed),
        other => panic!("{other:?}"),
    };
    let sorted = |writer: &mut Writer<'_>| {
        writer.change_set::<_, Error>(b"s", true, |set| set.put(b"c", 1.0)).map(drop)
    };
    assert_eq!(found(session.write(sorted).unwrap().0), ("a set", "a sorted set"));
    let columns = |writer: &mut Writer<'_>| writer.put_columns(b"s", &[(b"c", b"1")]).map(drop);
    assert_eq!(found(session.write(columns).unwrap().0), ("a set", "columns"));
    let number = |writer: &mut Writer<'_>| writer.increment(b"s", 1).map(drop);
    assert_eq!(found(session.write(number).unwrap().0), ("a set", "a value"));
    let is_set = |row: Option<RowRef<'_>>| {
        row.map(|row| (row.collection_kind(), row.sorted_set().is_none(), row.read_columns().is_none()))
    };
    assert_eq!(session.get_with(b"s", is_set), Some((Some(CollectionKind::Set), true, true)));
    write(&mut session, |writer| writer.change_set::<_, Error>(b"z", true, |set| set.put(b"m", 2.0)));
    let add_to_sorted = |writer: &mut Writer<'_>| {
        writer.change_set_of::<_, Error>(CollectionKind::Set, b"z", true, |set| set.add(b"c")).map(drop)
    };
    assert_eq!(found(session.write(add_to_sorted).unwrap().0), ("a sorted set", "a set"));
    write(&mut session, |writer| writer.put(b"s", b"value").map(drop));
    write(&mut session, |writer| writer.remove(b"s").map(drop));
    assert_eq!(add(&mut session, b"s", &[b"c"]), 1, "nothing of the old set");
}

#[test]
fn a_rejected_member_leaves_the_set_as_it_was() {
    [false, true].into_iter().for_each(survives_a_rejected_member);
}

fn survives_a_rejected_member(packs: bool) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = store.session();
    session.pack_members(packs);
    add(&mut session, b"s", &[b"a", b"b"]);
    let long = vec![b'x'; MEMBER_BYTES_MAX + 1];
    let change = |writer: &mut Writer<'_>| {
        writer.change_set_of::<_, Error>(CollectionKind::Set, b"s", true, |set| {
            set.add(b"c")?;
            set.remove(b"a")?;
            set.add(&long)
        })
    };
    let refused = session.write(change).unwrap().0;
    assert!(matches!(refused, Err(Error::MemberTooLong { .. })), "{refused:?}");
    assert_eq!(session.get_with(b"s", read), Some(Names::from([b"a".to_vec(), b"b".to_vec()])));
    assert_eq!(add(&mut session, b"s", &[&long[1..]]), 1);
    drop(session);
    drop(store);
    let store: Store = open(folder.path(), Durability::Buffered);
    assert_eq!(store.session().get_with(b"s", read).map(|names| names.len()), Some(3));
}
