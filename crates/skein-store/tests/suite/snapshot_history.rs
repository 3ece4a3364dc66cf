//! Snapshots against a history of maps: random writes of all kinds, with snapshots of several ages
//! that are compared with the contents at their moment.

#![expect(clippy::cast_precision_loss, reason = "scores are small numbers")]

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::{Bound, ControlFlow};

use crate::common::{StoreTestRng, each_index, over};
use skein_store::{
    Batch, CollectionReads as _, Durability, Error, RowRef, RowWriter as _, ScanDirection, Session, Snapshot,
    Store, Writer,
};

/// The contents of a key.
#[derive(Clone, Debug, PartialEq)]
enum ModelValue {
    Value(Vec<u8>),
    Columns(BTreeMap<Vec<u8>, Vec<u8>>),
    Set(BTreeMap<Vec<u8>, f64>),
}

type ModelStore = BTreeMap<Vec<u8>, ModelValue>;

const KEYS: u64 = 40;

fn key(random: &mut StoreTestRng) -> Vec<u8> {
    format!("{:02}", random.below(KEYS)).into_bytes()
}

fn contents(row: RowRef<'_>) -> ModelValue {
    if let Some(value) = row.value() {
        return ModelValue::Value(value.to_vec());
    }
    if let Some(set) = row.sorted_set() {
        let set = set.read();
        let (mut by_score, mut by_name) = (Vec::new(), BTreeMap::new());
        set.walk(0, ScanDirection::Forward, |score, member| {
            by_score.push((score, member.to_vec()));
            ControlFlow::Continue(())
        });
        set.members_after(None, |member, score| {
            assert_eq!(set.score(member), Some(score));
            by_name.insert(member.to_vec(), score);
            ControlFlow::Continue(())
        });
        assert!(by_score.len() == by_name.len() && by_score.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(set.len(), by_name.len() as u64);
        return ModelValue::Set(by_name);
    }
    let columns = row.read_columns().expect("columns are left");
    let all: BTreeMap<_, _> = columns.to_vec().into_iter().collect();
    assert_eq!(columns.len(), all.len());
    for (name, value) in &all {
        assert_eq!(columns.get(name), Some(&value[..]));
    }
    assert_eq!(columns.get(b"no such name"), None);
    ModelValue::Columns(all)
}

fn write(session: &mut Session, writes: impl FnOnce(&mut Writer<'_>) -> Result<(), Error>) {
    session.write(writes).expect("the store is open").0.expect("the write is fine");
}

/// Makes one random write in store and model.
fn step(session: &mut Session, model: &mut ModelStore, random: &mut StoreTestRng, round: u64) {
    let (name, value) = (key(random), format!("value {round}").into_bytes());
    match random.below(10) {
        0 | 1 => {
            write(session, |writer| writer.put(&name, &value).map(drop));
            model.insert(name, ModelValue::Value(value));
        }
        2 => {
            write(session, |writer| writer.remove(&name).map(drop));
            model.remove(&name);
        }
        3 => {
            let other = key(random);
            let mut batch = Batch::new();
            batch.put(name.clone(), value.clone()).remove(other.clone());
            session.apply(&batch).unwrap();
            model.insert(name, ModelValue::Value(value));
            model.remove(&other);
        }
        4 | 5 => put_columns(session, model, random, name, &value),
        6 => {
            let to = key(random);
            write(session, |writer| writer.rename(&name, &to, true).map(drop));
            if let Some(moved) = model.remove(&name) {
                model.insert(to, moved);
            }
        }
        _ => change_set(session, model, random, name, round),
    }
}

/// Puts few or many columns, or removes some, if the key has no other contents.
fn put_columns(
    session: &mut Session,
    model: &mut ModelStore,
    random: &mut StoreTestRng,
    name: Vec<u8>,
    value: &[u8],
) {
    if !matches!(model.get(&name), None | Some(ModelValue::Columns(_))) {
        return;
    }
    let count = if random.below(3) == 0 { 80 } else { 3 };
    let columns: Vec<Vec<u8>> = (0..count).map(|_| random.below(100).to_be_bytes().to_vec()).collect();
    let ModelValue::Columns(mut all) =
        model.remove(&name).unwrap_or_else(|| ModelValue::Columns(BTreeMap::new()))
    else {
        unreachable!("it was looked at");
    };
    if random.below(3) == 0 {
        let gone: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
        write(session, |writer| writer.remove_columns(&name, &gone).map(drop));
        all.retain(|column, _| !gone.contains(&&column[..]));
    } else {
        let set: Vec<(&[u8], &[u8])> = columns.iter().map(|column| (&column[..], value)).collect();
        write(session, |writer| writer.put_columns(&name, &set).map(drop));
        all.extend(columns.iter().map(|column| (column.clone(), value.to_vec())));
    }
    if !all.is_empty() {
        model.insert(name, ModelValue::Columns(all));
    }
}

/// Puts and removes members, or clears the set, if the key has no other contents.
fn change_set(
    session: &mut Session,
    model: &mut ModelStore,
    random: &mut StoreTestRng,
    name: Vec<u8>,
    round: u64,
) {
    let mut set = match model.get(&name) {
        None => BTreeMap::new(),
        Some(ModelValue::Set(set)) => set.clone(),
        Some(_) => return,
    };
    let members: Vec<Vec<u8>> = (0..4).map(|_| vec![b'm', random.below(12) as u8]).collect();
    let what = random.below(8);
    write(session, |writer| {
        writer
            .change_set::<_, Error>(&name, true, |changed| {
                match what {
                    0 => changed.clear(),
                    1..3 => members.iter().try_for_each(|member| changed.remove(member).map(drop))?,
                    _ => members.iter().try_for_each(|member| changed.put(member, round as f64).map(drop))?,
                }
                Ok(())
            })
            .map(drop)
    });
    match what {
        0 => set.clear(),
        1..3 => set.retain(|member, _| !members.contains(member)),
        _ => set.extend(members.into_iter().map(|member| (member, round as f64))),
    }
    if set.is_empty() {
        model.remove(&name);
    } else {
        model.insert(name, ModelValue::Set(set));
    }
}

/// Returns random bounds.
fn bounds(random: &mut StoreTestRng) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let bound = |random: &mut StoreTestRng| match random.below(3) {
        0 => Unbounded,
        1 => Included(key(random)),
        _ => Excluded(key(random)),
    };
    (bound(random), bound(random))
}

/// Compares ranges and single keys of a snapshot with the contents at its moment.
fn check(snapshot: &Snapshot, then: &ModelStore, random: &mut StoreTestRng) {
    for (lower, upper) in [(Unbounded, Unbounded), bounds(random), bounds(random)] {
        let within = |key: &[u8]| {
            (match &lower {
                Unbounded => true,
                Included(lower) => key >= &lower[..],
                Excluded(lower) => key > &lower[..],
            }) && (match &upper {
                Unbounded => true,
                Included(upper) => key <= &upper[..],
                Excluded(upper) => key < &upper[..],
            })
        };
        let mut expected: Vec<(Vec<u8>, ModelValue)> = then
            .iter()
            .filter(|(key, _)| within(key))
            .map(|(key, held)| (key.clone(), held.clone()))
            .collect();
        for direction in [ScanDirection::Forward, ScanDirection::Backward] {
            let mut seen = Vec::new();
            let range = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
            snapshot
                .scan(range, direction, |key, row| {
                    seen.push((key.to_vec(), contents(row)));
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert_eq!(seen, expected, "{direction:?} {lower:?} {upper:?}");
            expected.reverse();
        }
    }
    for _ in 0..5 {
        let key = key(random);
        let seen = snapshot.get_with(&key, |row| row.map(contents)).unwrap();
        assert_eq!(seen.as_ref(), then.get(&key));
    }
}

#[test]
fn snapshots_show_the_history() {
    each_index(|folder, index| {
        for seed in 1..=4 {
            let path = folder.join(seed.to_string());
            let store = Store::open(path, over(index, Durability::Buffered)).unwrap();
            let (mut random, mut model) = (StoreTestRng(seed * 7919), ModelStore::new());
            let mut session = store.session();
            session.spread_columns(true);
            let mut held: Vec<(Snapshot, ModelStore)> = Vec::new();
            for round in 0..1500 {
                step(&mut session, &mut model, &mut random, round);
                match random.below(12) {
                    0 if held.len() < 6 => held.push((store.snapshot().unwrap(), model.clone())),
                    1 if !held.is_empty() => {
                        let at = random.below(held.len() as u64) as usize;
                        let (snapshot, then) = held.swap_remove(at);
                        check(&snapshot, &then, &mut random);
                    }
                    2 if !held.is_empty() => {
                        let (snapshot, then) = &held[random.below(held.len() as u64) as usize];
                        check(snapshot, then, &mut random);
                    }
                    _ => {}
                }
            }
            for (snapshot, then) in held {
                check(&snapshot, &then, &mut random);
            }
            assert_eq!((store.stats().snapshots, store.stats().snapshot_bytes), (0, 0));
            check(&store.snapshot().unwrap(), &model, &mut random);
        }
    });
}
