//! Random operations give the same answers and the same contents in an engine and in a map.

use std::ops::Bound;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use skein_data::{Engine, EngineSnapshot, IndexKind};
use skein_disk::TrieShape;
use skein_log::storage::sim::SimStorage;
use skein_store::ExpiryClock;

use crate::contents::{EVERYTHING, State, Text, assert_contents, state_in};
use crate::engines::{EngineKind, over_each};
use crate::operations::{KeyWrite, apply, bounds, expire, key_write, name, write, write_in};
use crate::stream_operations::stream_write;

type OwnedBounds = (Bound<Text>, Bound<Text>);

/// One step of a random history.
#[derive(Debug, Clone)]
enum Step {
    One(KeyWrite),
    /// Single-key writes with one append to the log.
    Batch(Vec<KeyWrite>),
    /// Writes that form one group; each sees the ones before.
    Transaction(Vec<KeyWrite>, OwnedBounds),
    PutAll(Vec<(Text, Text)>),
    RemoveRange(OwnedBounds),
    Advance(u16),
    Checkpoint,
    Reopen,
    TakeSnapshot,
    DropSnapshot,
}

fn step() -> impl Strategy<Value = Step> {
    let writes = || prop::collection::vec(key_write(), 1..8);
    let pair = (name(), prop::collection::vec(any::<u8>(), 0..50).prop_map(Text));
    prop_oneof![
        20 => key_write().prop_map(Step::One),
        4 => writes().prop_map(Step::Batch),
        4 => (writes(), bounds()).prop_map(|(writes, bounds)| Step::Transaction(writes, bounds)),
        3 => prop::collection::vec(pair, 1..5).prop_map(Step::PutAll),
        2 => bounds().prop_map(Step::RemoveRange),
        2 => (0..2000u16).prop_map(Step::Advance),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
        2 => Just(Step::TakeSnapshot),
        1 => Just(Step::DropSnapshot),
    ]
}

/// An engine and the map that it must equal.
struct EngineHistory {
    kind: EngineKind,
    disk: SimStorage,
    clock: ExpiryClock,
    /// `None` while it is closed.
    engine: Option<Engine>,
    state: State,
    snapshots: Vec<(EngineSnapshot, State)>,
    /// Whether a key has had an expiry time.
    has_expired: bool,
}

impl EngineHistory {
    fn new(kind: EngineKind) -> Self {
        let (disk, clock) = (SimStorage::new(), ExpiryClock::manual(1_000_000));
        let engine = Some(kind.open(&disk, &clock).expect("an engine"));
        Self { kind, disk, clock, engine, state: State::new(), snapshots: Vec::new(), has_expired: false }
    }

    fn engine(&self) -> Engine {
        self.engine.clone().expect("an open engine")
    }

    fn step(&mut self, step: &Step) {
        let engine = self.engine();
        let now = engine.now();
        expire(&mut self.state, now);
        let mut session = engine.session();
        session.freeze();
        match step {
            Step::One(one) => {
                let expected = apply(&mut self.state, one, now);
                let (done, _) = write_in(&mut session.keys(), one).expect("a write");
                assert_eq!(done, expected, "{one:?}");
            }
            Step::Batch(writes) => {
                let expected: Vec<_> = writes.iter().map(|one| apply(&mut self.state, one, now)).collect();
                let (done, _) = session.keys().write(|writer| {
                    let mut done = Vec::new();
                    for one in writes {
                        done.push(write(writer, one).expect("a write"));
                        writer.publish_if_many().expect("a publication");
                    }
                    done
                });
                assert_eq!(done.expect("a batch"), expected);
            }
            Step::Transaction(writes, bounds) => {
                let mut keys = session.begin().expect("a transaction");
                for one in writes {
                    let expected = apply(&mut self.state, one, now);
                    let (done, _) = write_in(&mut keys, one).expect("a write");
                    assert_eq!(done, expected, "{one:?}");
                }
                assert_contents(&mut keys, &self.state, borrowed(bounds));
                keys.commit().expect("a commit");
            }
            Step::PutAll(pairs) => {
                let slices: Vec<_> = pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
                session.keys().put_all(&slices).expect("a put of all");
                for (key, value) in pairs {
                    let _ = apply(&mut self.state, &KeyWrite::Put(key.clone(), value.clone()), now);
                }
            }
            Step::RemoveRange(bounds) if !session.keys().is_ordered() && borrowed(bounds) != EVERYTHING => {
                session.keys().remove_stored(borrowed(bounds)).expect_err("there is no order");
            }
            Step::RemoveRange(bounds) => {
                let mut rest = Some(bounds.0.as_ref().map(|name| name.to_vec()));
                while let Some(lower) = rest {
                    let from = lower.as_ref().map(Vec::as_slice);
                    rest = session.keys().remove_stored((from, borrowed(bounds).1)).expect("a removal").rest;
                }
                let within = borrowed(bounds);
                self.state.retain(|key, _| !std::ops::RangeBounds::<[u8]>::contains(&within, &key[..]));
            }
            Step::Advance(by) => self.clock.advance(Duration::from_millis(u64::from(*by))),
            Step::Checkpoint => engine.checkpoint().expect("a checkpoint"),
            Step::Reopen => {
                drop((session, engine));
                return self.reopen();
            }
            Step::TakeSnapshot => {
                let snapshot = engine.snapshot().expect("a snapshot");
                self.snapshots.push((snapshot, self.state.clone()));
            }
            Step::DropSnapshot => drop((!self.snapshots.is_empty()).then(|| self.snapshots.remove(0))),
        }
        self.has_expired |= self.state.values().any(|found| found.expires.is_some());
    }

    fn close(&mut self) {
        self.snapshots.clear();
        self.engine.take().expect("an open engine").close().expect("a close");
    }

    fn reopen(&mut self) {
        self.close();
        self.engine = Some(self.kind.open(&self.disk, &self.clock).expect("the engine again"));
    }

    /// Compares the engine with the map, in every way of reading.
    fn check(&mut self, bounds: &OwnedBounds) {
        let engine = self.engine();
        expire(&mut self.state, engine.now());
        let mut session = engine.session();
        session.freeze();
        assert_contents(&mut session.keys(), &self.state, borrowed(bounds));
        // Keys that have expired are counted until the thread removes them.
        let (len, expected) = (engine.len(), self.state.len());
        assert!(len == expected || self.has_expired && len > expected, "{len} keys, not {expected}");
        for (snapshot, state) in &self.snapshots {
            assert_eq!(state_in(snapshot).expect("a snapshot"), *state);
        }
    }
}

fn borrowed(bounds: &OwnedBounds) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (bounds.0.as_ref().map(|name| &name[..]), bounds.1.as_ref().map(|name| &name[..]))
}

fn run(kind: EngineKind, steps: &[(Step, OwnedBounds)]) {
    let mut history = EngineHistory::new(kind);
    for (step, bounds) in steps {
        history.step(step);
        history.check(bounds);
    }
    history.reopen();
    history.check(&(Bound::Unbounded, Bound::Unbounded));
    history.close();
}

#[test]
fn every_engine_equals_a_map() {
    over_each(|kind| {
        let mut config = Config { source_file: Some(file!()), ..Config::default() };
        // An eighth of PROPTEST_CASES, so 32: each case is a history of up to 40 steps.
        config.cases /= 8;
        let steps = prop::collection::vec((step(), bounds()), 1..40);
        TestRunner::new(config)
            .run(&steps, |steps| {
                run(kind, &steps);
                Ok(())
            })
            .unwrap_or_else(|error| panic!("over {kind}: {error}"));
    });
}

/// Guards the numbers of pending entries, which a group and each consumer keep beside the entries.
/// It takes many writes to one group until an entry passes from one consumer to another.
#[test]
fn one_stream_with_groups_equals_a_map() {
    for kind in [EngineKind::Memory(IndexKind::default()), EngineKind::Disk(TrieShape::Linked)] {
        let mut config = Config { source_file: Some(file!()), ..Config::default() };
        // As above, but each case has more writes.
        config.cases /= 16;
        let write = stream_write().prop_map(|write| KeyWrite::Stream(Text::from("s"), write));
        // The contents are read after each batch, which takes most of the time.
        let batch = prop::collection::vec(write, 4..20).prop_map(Step::Batch);
        let everything = (Just(Bound::Unbounded), Just(Bound::Unbounded));
        TestRunner::new(config)
            .run(&prop::collection::vec((batch, everything), 2..8), |steps| {
                run(kind, &steps);
                Ok(())
            })
            .unwrap_or_else(|error| panic!("over {kind}: {error}"));
    }
}
