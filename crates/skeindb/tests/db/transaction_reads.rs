//! Ranges in a transaction with many writes of its own, against a map in order.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;
use skeindb::{Db, Error, Keyspace, Savepoint, Transaction};

use crate::common::on_every_kind;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone)]
enum Op {
    Insert(u8),
    Remove(u8),
    /// Removes so many rows from the begin or the end, as a queue does.
    Pop(usize, bool),
    /// Reads so many rows of a range, forward or backward.
    Read(Bound<u8>, Bound<u8>, usize, bool),
    Savepoint,
    RollBack,
}

fn op() -> impl Strategy<Value = Op> {
    let bound = || {
        prop_oneof![
            Just(Bound::Unbounded),
            any::<u8>().prop_map(Bound::Included),
            any::<u8>().prop_map(Bound::Excluded)
        ]
    };
    prop_oneof![
        4 => any::<u8>().prop_map(Op::Insert),
        3 => any::<u8>().prop_map(Op::Remove),
        3 => (1..40usize, any::<bool>()).prop_map(|(count, last)| Op::Pop(count, last)),
        6 => (bound(), bound(), 1..60usize, any::<bool>()).prop_map(|(a, b, rows, back)| Op::Read(a, b, rows, back)),
        1 => Just(Op::Savepoint),
        1 => Just(Op::RollBack),
    ]
}

/// A key: around those of named keyspaces, so that the default one has keys on both sides.
fn key(number: u8) -> Vec<u8> {
    if number < 128 { vec![number] } else { vec![0xff, b'T', number] }
}

fn bounds((lower, upper): (Bound<u8>, Bound<u8>)) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    (lower.map(key), upper.map(key))
}

fn is_within(key: &Vec<u8>, (lower, upper): &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> bool {
    let behind = match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    };
    behind
        && match upper {
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
            Bound::Unbounded => true,
        }
}

struct Tested {
    tx: Transaction,
    rows: Keyspace,
    map: Map,
    savepoint: Option<(Savepoint, Map)>,
}

impl Tested {
    fn apply(&mut self, op: &Op) -> skeindb::Result<()> {
        let Self { tx, rows, map, savepoint } = self;
        match op {
            Op::Insert(number) => {
                tx.insert(rows, key(*number), "new")?;
                map.insert(key(*number), b"new".into());
            }
            Op::Remove(number) => {
                assert_eq!(tx.remove(rows, key(*number))?, map.remove(&key(*number)).is_some());
            }
            Op::Pop(count, last) => {
                for _ in 0..*count {
                    let found = if *last { tx.last(rows)? } else { tx.first(rows)? };
                    let expected = if *last { map.pop_last() } else { map.pop_first() };
                    assert_eq!(found, expected);
                    let Some((key, _)) = found else { break };
                    assert!(tx.remove(rows, key)?);
                }
            }
            Op::Read(lower, upper, most, back) => {
                let range = bounds((*lower, *upper));
                let within =
                    map.iter().filter(|(key, _)| is_within(key, &range)).map(|(k, v)| (k.clone(), v.clone()));
                let read = tx.range(rows, range.clone()).chunk_rows(3);
                let (read, expected): (Vec<_>, Vec<_>) = if *back {
                    (
                        read.rev().take(*most).collect::<skeindb::Result<_>>()?,
                        within.rev().take(*most).collect(),
                    )
                } else {
                    (read.take(*most).collect::<skeindb::Result<_>>()?, within.take(*most).collect())
                };
                assert_eq!(read, expected);
            }
            Op::Savepoint => *savepoint = Some((tx.savepoint(), map.clone())),
            Op::RollBack => {
                if let Some((place, before)) = savepoint {
                    tx.rollback_to(*place)?;
                    map.clone_from(before);
                }
            }
        }
        Ok(())
    }
}

/// Runs operations in a transaction on a keyspace, and commits it.
fn run(db: &Db, rows: &Keyspace, ops: &[Op]) -> skeindb::Result<()> {
    let other = db.keyspace("between the default keyspace's keys")?;
    let mut map = Map::new();
    for number in 0..=255 {
        if number % 3 != 0 {
            rows.insert(key(number), "old")?;
            map.insert(key(number), b"old".into());
        }
    }
    let mut tx = db.begin()?;
    for number in 0..20u8 {
        tx.insert(&other, [number], "of another keyspace")?;
    }
    let mut tested = Tested { tx, rows: rows.clone(), map, savepoint: None };
    for op in ops {
        tested.apply(op)?;
    }
    let Tested { tx, map, .. } = tested;
    tx.commit()?;
    assert_eq!(rows.iter().collect::<skeindb::Result<Map>>()?, map);
    Ok(())
}

proptest! {
    #[test]
    fn reads_see_the_snapshot_with_own_writes(ops in vec(op(), 1..40), named in any::<bool>()) {
        let db = Db::in_memory().expect("it opens");
        let rows = if named { db.keyspace("rows").expect("a keyspace") } else { db.default_keyspace() };
        run(&db, &rows, &ops).expect("it runs, and nobody else writes");
    }
}

fn conflicts(done: &skeindb::Result<()>) -> bool {
    matches!(done, Err(Error::Conflict { .. }))
}

/// A row of the snapshot that a chunk has read ahead, and own rows have kept out of the answer, was
/// not read.
#[test]
fn rows_behind_the_answer_do_not_conflict() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        rows.insert("m", "")?;
        let mut tx = db.begin()?;
        for key in ["a", "b", "c", "x", "y", "z"] {
            tx.insert(&rows, key, "own")?;
        }
        assert_eq!(tx.first(&rows)?.expect("a row").0, b"a");
        assert_eq!(tx.last(&rows)?.expect("a row").0, b"z");
        assert_eq!(tx.range(&rows, "b"..).chunk_rows(1).next().expect("a row")?.0, b"b");
        rows.insert("m", "changed")?;
        rows.insert("n", "came")?;
        tx.commit()?;
        Ok(())
    });
}

/// Each row of a range counts once, whichever parts of the range were read how often, and each
/// change of it is a conflict.
#[test]
fn ranges_that_overlap_are_checked_as_one() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        let names: Vec<String> = (10..90).map(|number| number.to_string()).collect();
        for name in &names {
            rows.insert(name, "")?;
        }
        for (changed, expected) in
            [(None, false), (Some("15"), true), (Some("60"), true), (Some("85"), false)]
        {
            let mut tx = db.begin()?;
            for (lower, upper) in [("10", "30"), ("20", "40"), ("60", "70"), ("25", "28"), ("40", "65")] {
                tx.range(&rows, lower..upper).for_each(drop);
                tx.range(&rows, lower..upper).rev().for_each(drop);
            }
            tx.insert(&rows, "z", "")?;
            if let Some(changed) = changed {
                rows.insert(changed, "changed")?;
            }
            assert_eq!(conflicts(&tx.commit()), expected, "{changed:?}");
        }
        Ok(())
    });
}

/// A hidden run that a search steps over was read, so a row that is inserted into it is a conflict.
#[test]
fn a_phantom_within_a_hidden_run_is_a_conflict() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        for last in [false, true] {
            for number in 0..40u8 {
                rows.insert([number], "")?;
            }
            let mut tx = db.begin()?;
            for _ in 0..20 {
                let row = if last { tx.last(&rows)? } else { tx.first(&rows)? };
                tx.remove(&rows, row.expect("a row").0)?;
            }
            rows.insert([if last { 30 } else { 10 }, 0], "a phantom")?;
            assert!(conflicts(&tx.commit()), "last: {last}");
            rows.clear()?;
        }
        Ok(())
    });
}
