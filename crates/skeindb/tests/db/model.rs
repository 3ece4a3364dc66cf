//! Random operations against a map in order.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use skeindb::{Db, Keyspace, Snapshot};

use crate::common::{KINDS, Kind};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

#[derive(Debug, Clone)]
enum Op {
    Write(bool, Write),
    Transaction(Vec<(bool, Write)>, Ending),
    RemoveRange(bool, Range),
    Pop(bool, bool),
    Walk(bool, Range, Vec<Step>),
    Snapshot,
    Reopen,
}

#[derive(Debug, Clone)]
enum Write {
    Insert(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    Append(Vec<u8>),
    Swap(Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>),
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Commit,
    Drop,
    /// Roll back to a savepoint behind so many writes, and commit.
    RollBack(usize),
}

#[derive(Debug, Clone)]
enum Step {
    Next,
    Back,
    Seek(Vec<u8>),
    SeekBack(Vec<u8>),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let short = vec(prop_oneof![Just(0), Just(b'a'), Just(b'b'), Just(0xff)], 0..4);
    prop_oneof![8 => short, 1 => vec(Just(b'a'), 60..70)]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![9 => vec(any::<u8>(), 0..6), 1 => vec(Just(7), 3000..5000)]
}

fn range() -> impl Strategy<Value = Range> {
    let bound = || {
        prop_oneof![
            2 => Just(Bound::Unbounded),
            1 => key().prop_map(Bound::Included),
            1 => key().prop_map(Bound::Excluded)
        ]
    };
    (bound(), bound())
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        4 => (key(), value()).prop_map(|(key, value)| Write::Insert(key, value)),
        2 => key().prop_map(Write::Remove),
        1 => key().prop_map(Write::Append),
        1 => (key(), proptest::option::of(Just(vec![1])), proptest::option::of(Just(vec![1])))
            .prop_map(|(key, old, new)| Write::Swap(key, old, new)),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let step = prop_oneof![
        4 => Just(Step::Next),
        4 => Just(Step::Back),
        1 => key().prop_map(Step::Seek),
        1 => key().prop_map(Step::SeekBack)
    ];
    let ending =
        prop_oneof![Just(Ending::Commit), Just(Ending::Drop), (0..6usize).prop_map(Ending::RollBack)];
    prop_oneof![
        8 => (any::<bool>(), write()).prop_map(|(which, write)| Op::Write(which, write)),
        3 => (vec((any::<bool>(), write()), 0..8), ending).prop_map(|(writes, end)| Op::Transaction(writes, end)),
        1 => (any::<bool>(), range()).prop_map(|(which, range)| Op::RemoveRange(which, range)),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(which, last)| Op::Pop(which, last)),
        4 => (any::<bool>(), range(), vec(step, 0..12)).prop_map(|(which, range, steps)| Op::Walk(which, range, steps)),
        1 => Just(Op::Snapshot),
        1 => Just(Op::Reopen),
    ]
}

/// Returns a key's value after a write.
fn applied(old: Option<&Vec<u8>>, write: &Write) -> Option<Vec<u8>> {
    match write {
        Write::Insert(_, value) => Some(value.clone()),
        Write::Remove(_) => None,
        Write::Append(_) => Some([old.map_or(&[][..], Vec::as_slice), b"+"].concat()),
        Write::Swap(_, expected, new) if old == expected.as_ref() => new.clone(),
        Write::Swap(..) => old.cloned(),
    }
}

fn key_of(write: &Write) -> &Vec<u8> {
    match write {
        Write::Insert(key, _) | Write::Remove(key) | Write::Append(key) | Write::Swap(key, ..) => key,
    }
}

fn apply(map: &mut Map, write: &Write) {
    match applied(map.get(key_of(write)), write) {
        Some(value) => _ = map.insert(key_of(write).clone(), value),
        None => _ = map.remove(key_of(write)),
    }
}

fn within(map: &Map, (lower, upper): &Range) -> Vec<(Vec<u8>, Vec<u8>)> {
    let above = |key: &Vec<u8>| match lower {
        Bound::Unbounded => true,
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
    };
    let below = |key: &Vec<u8>| match upper {
        Bound::Unbounded => true,
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
    };
    let rows = map.iter().filter(|(key, _)| above(key) && below(key));
    rows.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The rows of a range as an iterator's ends see them: positions in the list of all.
struct ModelIter {
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    front: usize,
    back: usize,
}

impl ModelIter {
    /// Does a step. A seek shows no row.
    fn step(&mut self, step: &Step) -> Option<(Vec<u8>, Vec<u8>)> {
        match step {
            Step::Next => {
                let row = (self.front < self.back).then(|| self.rows[self.front].clone());
                self.front += usize::from(row.is_some());
                row
            }
            Step::Back => {
                let row = (self.front < self.back).then(|| self.rows[self.back - 1].clone());
                self.back -= usize::from(row.is_some());
                row
            }
            Step::Seek(key) => {
                self.front = self.rows.partition_point(|row| row.0 < *key);
                None
            }
            Step::SeekBack(key) => {
                self.back = self.rows.partition_point(|row| row.0 <= *key);
                None
            }
        }
    }
}

struct Tested {
    db: Db,
    keyspaces: [Keyspace; 2],
    maps: [Map; 2],
    snapshots: Vec<(Snapshot, [Map; 2])>,
}

impl Tested {
    fn open(kind: Kind, path: &Path, maps: [Map; 2]) -> skeindb::Result<Self> {
        let db = match kind {
            Kind::Classical if path.exists() => Db::open(path)?,
            kind => kind.builder(path).open()?,
        };
        let keyspaces = [db.default_keyspace(), db.keyspace("named")?];
        Ok(Self { db, keyspaces, maps, snapshots: Vec::new() })
    }

    fn write(&mut self, which: usize, write: &Write) -> skeindb::Result<()> {
        let (keyspace, old) = (&self.keyspaces[which], self.maps[which].get(key_of(write)));
        match write {
            Write::Insert(key, value) => keyspace.insert(key, value)?,
            Write::Remove(key) => assert_eq!(keyspace.remove(key)?, old.is_some()),
            Write::Append(key) => {
                let new = keyspace.update(key, |old| Some([old.unwrap_or_default(), b"+"].concat()))?;
                assert_eq!(new, applied(old, write));
            }
            Write::Swap(key, expected, new) => {
                let done = keyspace.compare_and_swap(key, expected.as_deref(), new.as_deref())?;
                match done {
                    Ok(()) => assert_eq!(old, expected.as_ref()),
                    Err(refused) => assert_eq!(refused.current.as_ref(), old),
                }
            }
        }
        apply(&mut self.maps[which], write);
        Ok(())
    }

    fn transaction(&mut self, writes: &[(bool, Write)], ending: Ending) -> skeindb::Result<()> {
        let (mut tx, mut maps, mut at_savepoint) = (self.db.begin()?, self.maps.clone(), None);
        for (number, (which, write)) in writes.iter().enumerate() {
            if matches!(ending, Ending::RollBack(at) if at == number) {
                at_savepoint = Some((tx.savepoint(), maps.clone()));
            }
            let which = usize::from(*which);
            let keyspace = &self.keyspaces[which];
            match write {
                Write::Insert(key, value) => tx.insert(keyspace, key, value.clone())?,
                Write::Remove(key) => assert_eq!(tx.remove(keyspace, key)?, maps[which].contains_key(key)),
                _ => {
                    let old = tx.get(keyspace, key_of(write))?;
                    assert_eq!(old.as_ref(), maps[which].get(key_of(write)));
                    tx.update(keyspace, key_of(write), |_| applied(old.as_ref(), write))?;
                }
            }
            apply(&mut maps[which], write);
            let rows: Vec<_> = tx.iter(keyspace).rev().collect::<skeindb::Result<_>>()?;
            assert!(rows.iter().rev().map(|(key, value)| (key, value)).eq(maps[which].iter()));
        }
        if let Some((savepoint, before)) = at_savepoint {
            tx.rollback_to(savepoint)?;
            maps = before;
        }
        if !matches!(ending, Ending::Drop) {
            tx.commit()?;
            self.maps = maps;
        }
        Ok(())
    }

    fn walk(&self, which: usize, range: &Range, steps: &[Step]) -> skeindb::Result<()> {
        let rows = within(&self.maps[which], range);
        assert_eq!(self.keyspaces[which].count(range.clone())?, rows.len() as u64);
        let mut model = ModelIter { front: 0, back: rows.len(), rows };
        let mut iter = self.keyspaces[which].range(range.clone());
        for step in steps {
            let expected = model.step(step);
            match step {
                Step::Next => assert_eq!(iter.next().transpose()?, expected),
                Step::Back => assert_eq!(iter.next_back().transpose()?, expected),
                Step::Seek(key) => iter.seek(key),
                Step::SeekBack(key) => iter.seek_back(key),
            }
        }
        let rest: Vec<_> = iter.collect::<skeindb::Result<_>>()?;
        assert_eq!(rest, model.rows.get(model.front..model.back).unwrap_or_default());
        Ok(())
    }

    fn check(&self) -> skeindb::Result<()> {
        for (keyspace, map) in self.keyspaces.iter().zip(&self.maps) {
            let rows: Vec<_> = keyspace.iter().collect::<skeindb::Result<_>>()?;
            assert!(rows.iter().map(|(key, value)| (key, value)).eq(map.iter()), "{keyspace:?}");
            assert_eq!(keyspace.len()?, map.len() as u64);
            assert_eq!(keyspace.first()?.as_ref().map(|row| &row.0), map.keys().next());
            assert_eq!(keyspace.last()?.as_ref().map(|row| &row.0), map.keys().next_back());
        }
        for (snapshot, maps) in &self.snapshots {
            for (keyspace, map) in self.keyspaces.iter().zip(maps) {
                let rows: Vec<_> = snapshot.iter(keyspace).collect::<skeindb::Result<_>>()?;
                assert!(rows.iter().map(|(key, value)| (key, value)).eq(map.iter()));
            }
        }
        Ok(())
    }
}

fn run(kind: Kind, ops: &[Op]) -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    let mut tested = Tested::open(kind, &path, [Map::new(), Map::new()])?;
    for op in ops {
        match op {
            Op::Write(which, write) => tested.write(usize::from(*which), write)?,
            Op::Transaction(writes, ending) => tested.transaction(writes, *ending)?,
            Op::RemoveRange(which, range) => {
                let which = usize::from(*which);
                let rows = within(&tested.maps[which], range);
                assert_eq!(tested.keyspaces[which].remove_range(range.clone())?, rows.len() as u64);
                for (key, _) in rows {
                    tested.maps[which].remove(&key);
                }
            }
            Op::Pop(which, last) => {
                let (keyspace, map) =
                    (&tested.keyspaces[usize::from(*which)], &mut tested.maps[usize::from(*which)]);
                let (found, expected) = match last {
                    true => (keyspace.pop_last()?, map.pop_last()),
                    false => (keyspace.pop_first()?, map.pop_first()),
                };
                assert_eq!(found, expected);
            }
            Op::Walk(which, range, steps) => tested.walk(usize::from(*which), range, steps)?,
            Op::Snapshot => {
                let snapshot = tested.db.snapshot()?;
                tested.snapshots.push((snapshot, tested.maps.clone()));
            }
            Op::Reopen => {
                tested.snapshots.clear();
                tested.db.close()?;
                tested = Tested::open(kind, &path, tested.maps)?;
            }
        }
        tested.check()?;
    }
    tested.db.close()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_database_equals_maps_in_order(ops in vec(op(), 1..40), which in 0..KINDS.len()) {
        run(KINDS[which], &ops).expect("no operation fails");
    }
}
