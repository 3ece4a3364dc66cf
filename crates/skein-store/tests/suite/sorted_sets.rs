//! Sorted sets in the store: both indexes, their begin and end, reopening, checkpoints, readers
//! concurrent with writers, power cuts.

#![expect(clippy::cast_precision_loss, reason = "scores are small numbers")]

mod power_cuts;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{LEVELS, StoreTestRng, copy, open};
use skein_store::{
    CollectionReads as _, Durability, Error, MEMBER_BYTES_MAX, RowChange, RowRef, RowWriter as _,
    ScanDirection, Session, SetReader, SetWriter, Store,
};

type SetModel = BTreeMap<Vec<u8>, f64>;

/// Returns the members in the order of their scores.
fn by_score(set: &SetModel) -> Vec<(f64, Vec<u8>)> {
    let mut entries: Vec<(f64, Vec<u8>)> =
        set.iter().map(|(member, score)| (*score, member.clone())).collect();
    entries.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    entries
}

fn entries(set: &SetReader<'_>) -> Vec<(f64, Vec<u8>)> {
    let mut found = Vec::new();
    set.walk(0, ScanDirection::Forward, |score, member| {
        found.push((score, member.to_vec()));
        ControlFlow::Continue(())
    });
    found
}

/// Returns a set of the store, after checking that both indexes match; `None` if the key is absent.
fn read(session: &Session, key: &[u8]) -> Option<SetModel> {
    session.get_with(key, |row| {
        let set = row?.sorted_set().expect("a sorted set").read();
        let found = entries(&set);
        assert_eq!(found.len() as u64, set.len());
        for (rank, (score, member)) in found.iter().enumerate() {
            assert_eq!(set.score(member), Some(*score));
            assert_eq!(set.rank(*score, member), rank as u64);
        }
        Some(found.into_iter().map(|(score, member)| (member, score)).collect())
    })
}

fn put(session: &mut Session, key: &[u8], members: &[(&[u8], f64)]) {
    let (done, _) = session
        .write(|writer| {
            writer.change_set::<_, Error>(key, true, |set| {
                members.iter().try_for_each(|(member, score)| set.put(member, *score).map(drop))
            })
        })
        .unwrap();
    done.unwrap();
}

fn remove(session: &mut Session, key: &[u8], member: &[u8]) -> Option<f64> {
    let (done, _) =
        session.write(|writer| writer.change_set::<_, Error>(key, false, |set| set.remove(member))).unwrap();
    done.unwrap().flatten()
}

#[test]
fn a_set_begins_with_its_first_member_and_ends_with_its_last() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = store.session();
    assert_eq!(remove(&mut session, b"s", b"a"), None);
    assert_eq!(read(&session, b"s"), None);
    put(&mut session, b"s", &[(b"a", 1.0), (b"b", 1.0), (b"a", 2.0), (b"", -0.5)]);
    let expected = SetModel::from([(b"a".to_vec(), 2.0), (b"b".to_vec(), 1.0), (Vec::new(), -0.5)]);
    assert_eq!(read(&session, b"s"), Some(expected));
    assert_eq!(store.len(), 1);
    for (member, score) in [(&b"b"[..], 1.0), (b"", -0.5), (b"a", 2.0)] {
        assert_eq!(remove(&mut session, b"s", member), Some(score));
    }
    assert_eq!((read(&session, b"s"), store.len()), (None, 0));
    // A change that puts nothing makes nothing.
    put(&mut session, b"s", &[]);
    assert_eq!(store.len(), 0);
    put(&mut session, b"s", &[(b"a", 7.0)]);
    assert_eq!(read(&session, b"s"), Some(SetModel::from([(b"a".to_vec(), 7.0)])));
}

/// A write to the key of a set that ends the set.
type EndSetWrite = fn(&mut skein_store::Writer<'_>) -> Result<(), Error>;

#[test]
fn replacing_or_removing_the_key_ends_the_set() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = store.session();
    let ends: [EndSetWrite; 4] = [
        |writer| writer.put(b"s", b"value").map(drop),
        |writer| writer.remove(b"s").map(drop),
        |writer| {
            writer
                .update::<Error>(b"s", |_, rows| Ok(skein_store::RowChange::Put(rows.value(&[b"v"])?)))
                .map(drop)
        },
        |writer| writer.update::<Error>(b"s", |_, _| Ok(skein_store::RowChange::Remove)).map(drop),
    ];
    for end in ends {
        put(&mut session, b"s", &[(b"a", 1.0), (b"b", 2.0)]);
        let wrong = session.write(|writer| writer.put_columns(b"s", &[(b"c", b"1")])).unwrap().0;
        assert!(matches!(wrong, Err(Error::WrongKind { found: "a sorted set", .. })), "{wrong:?}");
        session.write(end).unwrap().0.unwrap();
        assert!(session.get_with(b"s", |row| row.is_none_or(|row| row.value().is_some())));
        let wrong =
            session.write(|writer| writer.change_set::<_, Error>(b"s", true, |set| set.put(b"c", 1.0)));
        if session.get_with(b"s", |row| row.is_some_and(|row| row.value().is_some())) {
            assert!(matches!(wrong.unwrap().0, Err(Error::WrongKind { .. })));
        } else {
            assert_eq!(
                read(&session, b"s"),
                Some(SetModel::from([(b"c".to_vec(), 1.0)])),
                "nothing of the old set"
            );
        }
        session.write(|writer| writer.remove(b"s")).unwrap().0.unwrap();
    }
    // The members of ended sets are removed.
    put(&mut session, b"t", &[(b"a", 1.0)]);
    let one = store.stats().index_bytes;
    for round in 0..200u32 {
        let members: Vec<[u8; 4]> = (0..300u32).map(|member| (member + round).to_be_bytes()).collect();
        let members: Vec<(&[u8], f64)> = members.iter().map(|member| (&member[..], 1.0)).collect();
        put(&mut session, b"s", &members);
        session.write(|writer| writer.remove(b"s")).unwrap().0.unwrap();
    }
    while store.stats().index_bytes > one + 100_000 {
        std::thread::yield_now();
    }
}

#[test]
fn limits_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = open(folder.path(), Durability::Buffered).session();
    let long = vec![b'x'; MEMBER_BYTES_MAX + 1];
    let mut change = |member: &[u8], score: f64| {
        session
            .write(|writer| writer.change_set::<_, Error>(b"s", true, |set| set.put(member, score)))
            .unwrap()
            .0
    };
    let refused = change(&long, 1.0).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "member of 65528 bytes is longer than the limit of 65527 bytes; shorten it or hash its tail"
    );
    assert!(matches!(change(b"a", f64::NAN), Err(Error::NotANumber)));
    assert_eq!(change(&long[1..], f64::INFINITY).unwrap(), Some(None));
    assert_eq!(read(&session, b"s"), Some(SetModel::from([(long[1..].to_vec(), f64::INFINITY)])));
}

/// Applies random changes to some sets, and the same to a model.
fn churn(
    session: &mut Session,
    random: &mut StoreTestRng,
    model: &mut BTreeMap<Vec<u8>, SetModel>,
    steps: u32,
) {
    for _ in 0..steps {
        let key = vec![b's', random.below(3) as u8];
        let member = format!("member {}", random.below(200)).into_bytes();
        match random.below(40) {
            0 => {
                session.write(|writer| writer.remove(&key)).unwrap().0.unwrap();
                model.remove(&key);
            }
            1 => {
                let cleared = session.write(|writer| {
                    writer.change_set::<_, Error>(&key, false, |set| {
                        set.clear();
                        Ok(())
                    })
                });
                assert_eq!(cleared.unwrap().0.unwrap().is_some(), model.remove(&key).is_some());
            }
            2..=14 => {
                remove(session, &key, &member);
                if let Some(set) = model.get_mut(&key) {
                    set.remove(&member);
                    if set.is_empty() {
                        model.remove(&key);
                    }
                }
            }
            _ => {
                let score = random.below(50) as f64 / 4.0;
                put(session, &key, &[(&member, score)]);
                model.entry(key).or_default().insert(member, score);
            }
        }
    }
}

fn same(session: &Session, model: &BTreeMap<Vec<u8>, SetModel>) {
    for key in 0..3 {
        let key = vec![b's', key];
        let expected = model.get(&key);
        let found = read(session, &key);
        assert_eq!(found.as_ref(), expected);
        assert_eq!(found.as_ref().map(by_score), expected.map(by_score));
    }
}

#[test]
fn sets_survive_a_restart() {
    for durability in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let (mut random, mut model) = (StoreTestRng(7), BTreeMap::new());
        for round in 0..6 {
            let store = open(folder.path(), durability);
            let mut session = store.session();
            same(&session, &model);
            churn(&mut session, &mut random, &mut model, 400);
            if round % 3 == 1 {
                store.checkpoint().unwrap();
            }
            churn(&mut session, &mut random, &mut model, 200);
            same(&session, &model);
            assert_eq!(store.len(), model.len());
        }
    }
}

#[test]
fn ids_are_not_used_again() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let store = open(folder.path(), Durability::Buffered);
        let mut session = store.session();
        put(&mut session, b"s", &[(format!("of round {round}").as_bytes(), 1.0)]);
        assert_eq!(read(&session, b"s").unwrap().len(), 1);
        session.write(|writer| writer.remove(b"s")).unwrap().0.unwrap();
        put(&mut session, b"t", &[(format!("of round {round}").as_bytes(), 1.0)]);
        assert_eq!(read(&session, b"t").unwrap().len(), round + 1);
    }
}

#[test]
fn a_copy_made_beside_a_writer_opens_with_whole_sets() {
    let (folder, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(folder.path(), Durability::Buffered);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = store.session();
            // Each command moves one from one member to the other, so the sum is constant.
            put(&mut session, b"s", &[(b"a", 1000.0), (b"b", 0.0)]);
            for step in 0.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let a = f64::from(step % 1000);
                put(&mut session, b"s", &[(b"a", a), (b"b", 1000.0 - a)]);
            }
        });
        for round in 0..8 {
            let to = copied.path().join(round.to_string());
            store.flush().unwrap();
            if round % 2 == 0 {
                store.checkpoint().unwrap();
            }
            copy(folder.path(), &to);
            let session = open(&to, Durability::Buffered).session();
            if let Some(set) = read(&session, b"s") {
                assert_eq!(set.values().map(|score| *score as i64).sum::<i64>(), 1000);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn readers_never_see_the_indexes_differ() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2u64 {
            let (store, stop) = (&store, &stop);
            scope.spawn(move || {
                let (mut session, mut random) = (store.session(), StoreTestRng(writer + 1));
                while !stop.load(Ordering::Relaxed) {
                    let key = [b's', random.below(2) as u8];
                    let (one, two) = (random.below(90).to_string(), random.below(90).to_string());
                    match random.below(30) {
                        0 => drop(session.write(|writer| writer.remove(&key)).unwrap().0.unwrap()),
                        1..=9 => drop(remove(&mut session, &key, one.as_bytes())),
                        _ => put(
                            &mut session,
                            &key,
                            &[(one.as_bytes(), random.below(9) as f64), (two.as_bytes(), 4.0)],
                        ),
                    }
                }
            });
        }
        let session = store.session();
        let mut seen = 0;
        while seen < 3_000 {
            seen += usize::from(read(&session, &[b's', seen as u8 % 2]).is_some_and(|set| set.len() > 1));
        }
        stop.store(true, Ordering::Relaxed);
    });
    // A restart finds the same contents.
    let before: Vec<_> = (0..2).map(|key| read(&store.session(), &[b's', key])).collect();
    drop(store);
    let session = open(folder.path(), Durability::Buffered).session();
    let after: Vec<_> = (0..2).map(|key| read(&session, &[b's', key])).collect();
    assert_eq!(before, after);
}

#[test]
fn a_set_may_expire_and_keeps_its_members_when_its_time_changes() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = store.session();
    put(&mut session, b"s", &[(b"a", 1.0)]);
    let later = session.now() + 1_000_000;
    for expires in [Some(later), None, Some(later)] {
        assert!(session.write(|writer| writer.expire(b"s", expires)).unwrap().0.unwrap());
        put(&mut session, b"s", &[(b"b", 2.0)]);
        assert_eq!(read(&session, b"s").map(|set| set.len()), Some(2));
    }
    drop((session, store));
    let store = open(folder.path(), Durability::Buffered);
    let mut session = store.session();
    assert_eq!(session.get_with(b"s", |row| row.unwrap().expires_at()), Some(later));
    assert_eq!(read(&session, b"s").map(|set| set.len()), Some(2));
    session.write(|writer| writer.expire(b"s", Some(1))).unwrap().0.unwrap();
    assert_eq!(read(&session, b"s"), None);
    put(&mut session, b"s", &[(b"c", 3.0)]);
    assert_eq!(read(&session, b"s"), Some(SetModel::from([(b"c".to_vec(), 3.0)])));
}

/// All sets and values of a store.
type SetsByKey = BTreeMap<Vec<u8>, Option<SetModel>>;

/// Incident: if a change had cleared a set and then put members, the next change of the set removed
/// it.
#[test]
fn members_put_after_a_clear_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Buffered);
    let mut session = store.session();
    let mut change = |key: &[u8], change: &dyn Fn(&mut SetWriter<'_>) -> Result<(), Error>| {
        session.write(|writer| writer.change_set(key, true, |set| change(set))).unwrap().0.unwrap();
        session.get_with(key, |row| row.and_then(RowRef::sorted_set).map_or(0, |set| set.read().len()))
    };
    let put = |set: &mut SetWriter<'_>, member: &[u8]| set.put(member, 1.0).map(drop);
    let new = change(b"new", &|set| {
        set.clear();
        put(set, b"goose")
    });
    assert_eq!((new, change(b"new", &|set| put(set, b"duck"))), (1, 2));
    let old = change(b"new", &|set| {
        set.clear();
        put(set, b"goose")
    });
    assert_eq!((old, change(b"new", &|set| put(set, b"duck"))), (1, 2));
    let none = change(b"none", &|set| {
        put(set, b"goose")?;
        set.clear();
        Ok(())
    });
    assert_eq!((none, change(b"none", &|set| put(set, b"duck"))), (0, 1));
}

/// Incident: a row that stands for a sorted set could be put to a second key, of this store or of
/// another. Two keys showed one set, and after reopening the store only one of them had its
/// members, or none. Fix: such a put is rejected; `rename` moves the set.
#[test]
fn a_set_belongs_to_one_key_of_one_store() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let stores = [open(folders[0].path(), Durability::Sync), open(folders[1].path(), Durability::Sync)];
    for store in &stores {
        let mut session = store.session();
        session.spread_columns(true);
        let names: Vec<[u8; 1]> = (0..100_u8).map(|name| [name]).collect();
        let columns: Vec<(&[u8], &[u8])> = names.iter().map(|name| (&name[..], &b"grey"[..])).collect();
        let (done, ticket) = session
            .write(|writer| {
                writer.put_columns(b"flock", &columns)?;
                writer.change_set::<_, Error>(b"geese", true, |set| set.put(b"grey", 1.0))
            })
            .unwrap();
        done.unwrap();
        store.wait_durable(ticket).unwrap();
    }
    // Within a store, and between two stores that each have a set with that id.
    for (from, to) in [(&stores[0], &stores[0]), (&stores[0], &stores[1])] {
        for (key, other) in
            [(b"geese", &b"copy"[..]), (b"flock", b"copy"), (b"geese", b"flock"), (b"flock", b"geese")]
        {
            let mut session = to.session();
            let (done, _) = session
                .write(|writer| {
                    from.session().get_with(key, |row| {
                        let row = row.expect("it was put");
                        writer.update::<Error>(other, |_, rows| {
                            Ok(RowChange::Put(rows.until(row, Some(u64::MAX / 4))))
                        })
                    })
                })
                .unwrap();
            assert!(matches!(done, Err(Error::OfAnotherKey)), "{done:?}");
        }
    }
    let [store, _] = stores;
    let (moved, ticket) = store
        .session()
        .write(|writer| {
            assert_eq!(writer.rename(b"absent", b"copy", true)?, None);
            assert_eq!(writer.rename(b"geese", b"flock", false)?, Some(false), "that name is taken");
            writer.rename(b"geese", b"swans", false)?;
            writer.rename(b"flock", b"herd", true)
        })
        .unwrap();
    assert_eq!(moved.unwrap(), Some(true));
    store.wait_durable(ticket).unwrap();
    let check = |store: &Store| {
        assert_eq!((store.len(), store.get_columns(b"herd", None).unwrap().len()), (2, 100));
        let score = store.session().get_with(b"swans", |row| row?.sorted_set()?.read().score(b"grey"));
        assert_eq!(score, Some(1.0));
    };
    check(&store);
    store.close().unwrap();
    check(&open(folders[0].path(), Durability::Sync));
}
