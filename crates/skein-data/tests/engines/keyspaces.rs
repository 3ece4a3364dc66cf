//! Keyspaces: ranges, walks and removals within one. The numbers of keys that the engine keeps for
//! each are compared with a map after random writes, expiry, transactions and reopenings.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use skein_data::{
    DATABASES_KEY, Engine, EngineKeys, EngineSession, FUNCTIONS_KEY, IndexKind, KeyspaceStats, RowWriter,
    ScanDirection, StoredKeyspace,
};
use skein_log::storage::sim::SimStorage;
use skein_store::ExpiryClock;

use crate::contents::EVERYTHING;
use crate::engines::{EngineKind, all};

/// The databases of the test. The key `\xffT` of database 0 is behind all reserved keys.
const DATABASES: u32 = 4;
const NAMES: [&[u8]; 6] = [b"", b"a", b"a\0", b"goose", b"\xff", b"\xffT"];

/// The names of each database, with the times at which they expire.
type Model = BTreeMap<(u32, &'static [u8]), Option<u64>>;

#[derive(Debug, Clone)]
enum KeyspaceStep {
    Put(u32, usize),
    PutUntil(u32, usize, u64),
    Remove(u32, usize),
    Rename((u32, usize), (u32, usize)),
    /// Some puts and removals in a transaction, which is committed or dropped.
    Transaction(Vec<(bool, u32, usize)>, bool),
    /// All keys of a database, or the keys behind a name.
    RemoveRange(u32, Option<usize>),
    PutOwnRow,
    Advance(u64),
    Checkpoint,
    Reopen,
}

fn step() -> impl Strategy<Value = KeyspaceStep> {
    use KeyspaceStep as S;
    let key = || (0..DATABASES, 0..NAMES.len());
    let writes = prop::collection::vec((any::<bool>(), 0..DATABASES, 0..NAMES.len()), 1..6);
    prop_oneof![
        6 => key().prop_map(|(database, name)| S::Put(database, name)),
        3 => (key(), 1..3000_u64).prop_map(|((database, name), ms)| S::PutUntil(database, name, ms)),
        3 => key().prop_map(|(database, name)| S::Remove(database, name)),
        2 => (key(), key()).prop_map(|(from, to)| S::Rename(from, to)),
        2 => (writes, any::<bool>()).prop_map(|(writes, commits)| S::Transaction(writes, commits)),
        1 => (0..DATABASES, prop::option::of(0..NAMES.len())).prop_map(|(of, name)| S::RemoveRange(of, name)),
        1 => Just(S::PutOwnRow),
        1 => (1..2000_u64).prop_map(S::Advance),
        1 => Just(S::Checkpoint),
        1 => Just(S::Reopen),
    ]
}

fn keyspace(database: u32) -> StoredKeyspace {
    StoredKeyspace::of_database(database)
}

struct KeyspaceHistory {
    kind: EngineKind,
    disk: SimStorage,
    clock: ExpiryClock,
    engine: Engine,
    model: Model,
}

impl KeyspaceHistory {
    fn new(kind: EngineKind) -> Self {
        let (disk, clock) = (SimStorage::new(), ExpiryClock::manual(1_000_000));
        let engine = kind.open(&disk, &clock).expect("an engine");
        Self { kind, disk, clock, engine, model: Model::new() }
    }

    fn step(&mut self, step: &KeyspaceStep) {
        let mut session = self.engine.session();
        session.freeze();
        let now = session.keys().now();
        self.model.retain(|_, expires| expires.is_none_or(|at| at >= now));
        match step {
            KeyspaceStep::Put(of, name) => {
                let (written, _) =
                    session.keys().write(|writer| writer.put(&keyspace(*of).stored(NAMES[*name]), b"v"));
                written.expect("a write").expect("a put");
                self.model.insert((*of, NAMES[*name]), None);
            }
            KeyspaceStep::PutUntil(of, name, ms) => {
                let key = keyspace(*of).stored(NAMES[*name]);
                let (written, _) = session.keys().write(|writer| writer.put_until(&key, b"v", now + ms));
                written.expect("a write").expect("a put");
                self.model.insert((*of, NAMES[*name]), Some(now + ms));
            }
            KeyspaceStep::Remove(of, name) => {
                let (removed, _) =
                    session.keys().write(|writer| writer.remove(&keyspace(*of).stored(NAMES[*name])));
                let existed = self.model.remove(&(*of, NAMES[*name])).is_some();
                assert_eq!(removed.expect("a write").expect("a removal"), existed);
            }
            KeyspaceStep::Rename((of, name), (to, new)) => {
                let (from, target) = (keyspace(*of).stored(NAMES[*name]), keyspace(*to).stored(NAMES[*new]));
                let (renamed, _) = session.keys().write(|writer| writer.rename(&from, &target, true));
                let moved = self.model.remove(&(*of, NAMES[*name]));
                assert_eq!(renamed.expect("a write").expect("a rename"), moved.map(|_| true));
                moved.map(|expires| self.model.insert((*to, NAMES[*new]), expires));
            }
            KeyspaceStep::Transaction(writes, commits) => self.transaction(&mut session, writes, *commits),
            KeyspaceStep::RemoveRange(of, after) => self.remove_range(&mut session, *of, *after),
            KeyspaceStep::PutOwnRow => {
                for key in [FUNCTIONS_KEY, DATABASES_KEY] {
                    session.keys().write(|writer| writer.put(key, b"")).0.expect("a write").expect("a put");
                }
            }
            KeyspaceStep::Advance(ms) => self.clock.advance(Duration::from_millis(*ms)),
            KeyspaceStep::Checkpoint => self.engine.checkpoint().expect("a checkpoint"),
            KeyspaceStep::Reopen => {
                drop(session);
                self.engine.close().expect("a close");
                self.engine = self.kind.open(&self.disk, &self.clock).expect("the engine again");
            }
        }
    }

    fn transaction(&mut self, session: &mut EngineSession, writes: &[(bool, u32, usize)], commits: bool) {
        let undone = !commits && session.can_roll_back();
        let before = self.model.clone();
        let mut keys = session.begin().expect("a transaction");
        for (puts, of, name) in writes {
            let key = keyspace(*of).stored(NAMES[*name]);
            if *puts {
                keys.write(|writer| writer.put(&key, b"w")).0.expect("a write").expect("a put");
                self.model.insert((*of, NAMES[*name]), None);
            } else {
                keys.write(|writer| writer.remove(&key)).0.expect("a write").expect("a removal");
                self.model.remove(&(*of, NAMES[*name]));
            }
        }
        check_numbers(&mut keys, &self.model);
        if commits {
            keys.commit().expect("a commit");
        } else {
            drop(keys);
        }
        if undone {
            self.model = before;
        }
    }

    fn remove_range(&mut self, session: &mut EngineSession, of: u32, after: Option<usize>) {
        let after = after.filter(|_| session.keys().is_ordered());
        let mut keys = session.keys();
        let first = after.map_or(Bound::Unbounded, |name| Bound::Excluded(NAMES[name].to_vec()));
        let (mut rest, mut count) = (Some(first.clone()), 0);
        while let Some(lower) = rest {
            let from = lower.as_ref().map(Vec::as_slice);
            let step = keys.remove_some(keyspace(of), (from, Bound::Unbounded)).expect("a removal");
            (rest, count) = (step.rest, count + step.count);
        }
        let before = self.model.len();
        let stays = |name: &[u8]| matches!(&first, Bound::Excluded(first) if name <= &first[..]);
        self.model.retain(|(database, name), _| *database != of || stays(name));
        // Keys that have expired and are not removed yet are removed and counted, too.
        assert!(count >= before - self.model.len(), "{count} keys");
    }

    fn check(&mut self) {
        let mut session = self.engine.session();
        session.freeze();
        let now = session.keys().now();
        self.model.retain(|_, expires| expires.is_none_or(|at| at >= now));
        let is_ordered = session.keys().is_ordered();
        let mut keys = session.keys();
        for database in 0..DATABASES {
            let expected = names_of(&self.model, database);
            let mut walked = Vec::new();
            let go_on = |found: &mut Vec<Vec<u8>>, name: &[u8]| {
                found.push(name.to_vec());
                ControlFlow::Continue(())
            };
            keys.walk(keyspace(database), EVERYTHING, usize::MAX, |name, _| go_on(&mut walked, name))
                .expect("a walk");
            if !is_ordered {
                walked.sort();
            }
            assert_eq!(walked, expected, "database {database}");
            if is_ordered {
                check_ranges(&mut keys, &self.engine, database, &expected);
            }
        }
        check_numbers(&mut keys, &self.model);
    }
}

fn names_of(model: &Model, database: u32) -> Vec<Vec<u8>> {
    model.keys().filter(|(of, _)| *of == database).map(|(_, name)| name.to_vec()).collect()
}

/// Scans a database in both directions, in a snapshot too, and counts it in pages.
fn check_ranges(keys: &mut EngineKeys<'_>, engine: &Engine, database: u32, expected: &[Vec<u8>]) {
    let keyspace = keyspace(database);
    let mut found = Vec::new();
    let mut backward = expected.to_vec();
    backward.reverse();
    keys.scan(keyspace, EVERYTHING, ScanDirection::Backward, usize::MAX, |name, _| {
        found.push(name.to_vec());
        ControlFlow::Continue(())
    })
    .expect("a scan");
    assert_eq!(found, backward, "database {database}");
    let snapshot = engine.snapshot().expect("a snapshot");
    found.clear();
    let scanned =
        snapshot.scan_keyspace(keyspace, EVERYTHING, ScanDirection::Forward, usize::MAX, |name, _| {
            found.push(name.to_vec());
            ControlFlow::Continue(())
        });
    scanned.expect("a scan");
    assert_eq!(found, expected, "database {database}");
    let (mut count, mut lower) = (0, Bound::Unbounded);
    loop {
        let from = lower.as_ref().map(Vec::as_slice);
        let (some, last) = keys.count_first(keyspace, (from, Bound::Unbounded), 2).expect("a count");
        count += some;
        let Some(last) = last else { break };
        lower = Bound::Excluded(last);
    }
    assert_eq!(count, expected.len(), "database {database}");
}

/// Compares the numbers that the engine keeps with the map.
fn check_numbers(keys: &mut EngineKeys<'_>, model: &Model) {
    for database in 0..DATABASES {
        let KeyspaceStats { keys: count, expires, .. } = keys.keyspace_stats(keyspace(database));
        let of: Vec<_> = model.iter().filter(|((of, _), _)| *of == database).collect();
        let expiring = of.iter().filter(|(_, at)| at.is_some()).count();
        assert_eq!((count, expires), (of.len(), expiring), "database {database}");
    }
}

/// Returns the engines that allow keys longer than a prefix.
fn with_databases() -> impl Iterator<Item = EngineKind> {
    all().into_iter().filter(|kind| *kind != EngineKind::Memory(IndexKind::Mlp))
}

#[test]
fn numbers_of_databases_equal_a_scan() {
    for kind in with_databases() {
        let mut config = Config { source_file: Some(file!()), ..Config::default() };
        config.cases /= 8;
        TestRunner::new(config)
            .run(&prop::collection::vec(step(), 1..40), |steps| {
                let mut history = KeyspaceHistory::new(kind);
                for step in &steps {
                    history.step(step);
                    history.check();
                }
                history.step(&KeyspaceStep::Reopen);
                history.check();
                Ok(())
            })
            .unwrap_or_else(|error| panic!("over {kind}: {error}"));
    }
}

#[test]
fn averages_of_remaining_times_are_of_one_database() {
    for kind in with_databases() {
        let engine = kind.open_fresh();
        let (now, mut session) = (engine.now(), engine.session());
        for (database, name, ms) in [(1, b"a", 10_000), (1, b"b", 20_000), (2, b"a", 50_000), (0, b"a", 1000)]
        {
            let key = keyspace(database).stored(name);
            session
                .keys()
                .write(|writer| writer.put_until(&key, b"v", now + ms))
                .0
                .expect("a write")
                .expect("a put");
        }
        let average = |database| engine.keyspace_stats(keyspace(database)).average_ttl_ms;
        assert_eq!([average(0), average(1), average(2), average(3)], [1000, 15_000, 50_000, 0], "{kind}");
    }
}

/// A library's keyspaces are not databases, and not counted in database 0.
#[test]
fn keys_of_other_keyspaces_are_in_no_database() {
    for kind in with_databases() {
        let engine = kind.open_fresh();
        let mut session = engine.session();
        for key in [&*StoredKeyspace::of_number(7).stored(b"k"), b"\xffSK\0\0\0\0\0name", b"k"] {
            session.keys().write(|writer| writer.put(key, b"v")).0.expect("a write").expect("a put");
        }
        assert_eq!(engine.keyspace_stats(StoredKeyspace::DEFAULT).keys, 1, "{kind}");
        let mut keys = session.keys();
        let removed = keys.remove_some(StoredKeyspace::DEFAULT, EVERYTHING).expect("a removal");
        assert_eq!(removed.count, 1, "{kind}");
        for key in [&*StoredKeyspace::of_number(7).stored(b"k"), b"\xffSK\0\0\0\0\0name"] {
            assert!(keys.get_with(key, |row| row.expect("a row").is_some()), "{kind}");
        }
    }
}
