//! Sequences: one thread on the simulated storage.

use std::ops::Bound;

use skein_disk::{
    DiskError, DiskStore, DiskTransaction, Durability, Result, ScanRequest, WalkDirection, inspect,
};
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

use crate::oracle::{OracleDelta, OracleMap, StoreOracle, apply};
use crate::plan::SequencePlan;
use crate::random::SplitMixDraw;
use crate::snapshots::{SequenceSnapshots, walk_all};

const FOLDER: &str = "/db";

pub fn run(seed: u64) {
    let mut draw = SplitMixDraw(seed);
    let plan = SequencePlan::draw(&mut draw);
    let storage = SimStorage::new();
    let store = DiskStore::open_on(storage.share(), FOLDER, plan.options.clone()).unwrap();
    let (oracle, snapshots) = (StoreOracle::default(), SequenceSnapshots::default());
    let mut sequence = Sequence { draw, plan, storage, store: Some(store), oracle, snapshots };
    for step in 0..sequence.plan.steps {
        let context = format!("step {step}");
        sequence.arm();
        let done = sequence.step();
        sequence.settle(done, &context);
    }
    sequence.end();
}

struct Sequence {
    draw: SplitMixDraw,
    plan: SequencePlan,
    storage: SimStorage,
    /// `None` only while it is opened again.
    store: Option<DiskStore>,
    oracle: StoreOracle,
    snapshots: SequenceSnapshots,
}

/// A failed step: its error, and the changes that it may have made.
struct FailedStep {
    error: DiskError,
    delta: OracleDelta,
}

impl From<DiskError> for FailedStep {
    fn from(error: DiskError) -> Self {
        Self { error, delta: OracleDelta::new() }
    }
}

type SequenceStep = std::result::Result<(), FailedStep>;

impl Sequence {
    fn store(&self) -> &DiskStore {
        self.store.as_ref().expect("it is open")
    }

    fn is_ordered(&self) -> bool {
        self.plan.options.shape.is_ordered()
    }

    fn is_sync(&self) -> bool {
        self.plan.options.durability == Durability::Sync
    }

    fn key(&mut self) -> Vec<u8> {
        self.draw.key(self.plan.keys)
    }

    /// Returns a key that exists or nearly so, as often as any other key.
    fn known_key(&mut self) -> Vec<u8> {
        let key = self.key();
        let next = self.oracle.now().range(key.clone()..).next().map(|entry| entry.0.clone());
        next.filter(|_| self.draw.one_in(2)).unwrap_or(key)
    }

    fn value(&mut self) -> Vec<u8> {
        if self.plan.options.shape.has_integers_alone() {
            return self.draw.integer();
        }
        self.draw.value((self.plan.options.cache_pages / 4).min(12))
    }

    /// Makes a random operation of the storage fail soon, now and then.
    fn arm(&mut self) {
        if !self.plan.faults || !self.draw.one_in(40) {
            return;
        }
        let at = self.storage.operations() + 1 + self.draw.below(60) as u64;
        match self.draw.below(3) {
            0 => self.storage.cut_power_at(at),
            1 => self.storage.fail_at(at, SimError::Io, self.draw.one_in(2)),
            _ => self.storage.fail_at(at, SimError::NoSpace, self.draw.one_in(2)),
        }
    }

    fn step(&mut self) -> SequenceStep {
        match self.draw.below(100) {
            0..=64 if self.draw.below(65) < self.plan.removals => self.remove(),
            0..=64 => self.set(),
            65..=74 => self.transaction(),
            75 | 76 => self.take_snapshot(),
            77 => Ok(self.snapshots.check_one(&mut self.draw)?),
            78..=81 => self.range(),
            82 | 83 => self.get_many(),
            84..=86 => self.promise_by(DiskStore::checkpoint),
            87 | 88 => self.promise_by(|store| store.compact().map(drop)),
            89 => self.check(),
            90 | 91 => self.remove_range(),
            92 => self.cursor(),
            93 if self.plan.options.durability != Durability::None => self.promise_by(DiskStore::sync),
            94 if self.plan.faults => {
                self.crash();
                Ok(())
            }
            95 if !self.plan.faults => {
                self.promise_by(DiskStore::close)?;
                self.reopen();
                Ok(())
            }
            _ => self.get(),
        }
    }

    fn wrote(&mut self, delta: OracleDelta) {
        self.oracle.write(delta);
        if self.is_sync() {
            self.oracle.promise();
        }
    }

    fn set(&mut self) -> SequenceStep {
        let (key, value) = (self.known_key(), self.value());
        let done = self.store().set(&key, &value);
        let delta = vec![(key, Some(value))];
        self.end_write(done, true, delta)
    }

    fn remove(&mut self) -> SequenceStep {
        let key = self.known_key();
        let was_there = self.oracle.now().contains_key(&key);
        let done = self.store().remove(&key).inspect(|removed| assert_eq!(*removed, was_there, "remove"));
        self.end_write(done, was_there, vec![(key, None)])
    }

    fn end_write<T>(&mut self, done: Result<T>, changed: bool, delta: OracleDelta) -> SequenceStep {
        match done {
            Ok(_) => {
                if changed {
                    self.wrote(delta);
                }
                Ok(())
            }
            Err(error) => Err(FailedStep { error, delta }),
        }
    }

    fn transaction(&mut self) -> SequenceStep {
        let count = 1 + self.draw.below(12);
        let writes: Vec<_> = (0..count)
            .map(|_| {
                let (key, value) = (self.known_key(), self.value());
                (key, (!self.draw.one_in(3)).then_some(value))
            })
            .collect();
        let is_kept = !self.draw.one_in(5);
        let mut written = OracleDelta::new();
        let mut seen = self.oracle.now().clone();
        let store = self.store();
        let done = (|| {
            let mut transaction = store.begin();
            for (key, value) in writes {
                assert_eq!(transaction.get(&key)?.as_ref(), seen.get(&key), "get of a transaction");
                if write(&mut transaction, &key, value.as_deref(), seen.contains_key(&key))? {
                    written.push((key, value));
                    apply(&mut seen, &written[written.len() - 1..].to_vec());
                }
                if transaction.is_full() {
                    break;
                }
            }
            if !is_kept {
                return Ok(());
            }
            let ticket = transaction.commit()?;
            if store.durability() == Durability::Sync { store.wait_durable(ticket) } else { Ok(()) }
        })();
        let changed = is_kept && !written.is_empty();
        self.end_write(done, changed, written)
    }

    fn remove_range(&mut self) -> SequenceStep {
        let (lower, most) = (self.key(), 1 + self.draw.below(30));
        let first = if self.is_ordered() { Bound::Included(&lower[..]) } else { Bound::Unbounded };
        let bounds = (first, Bound::Unbounded);
        let (store, now) = (self.store(), self.oracle.now());
        let mut gone = OracleDelta::new();
        let done = (|| {
            let mut transaction = store.begin();
            let removed = transaction.remove_range(bounds, most)?;
            let within = now.range::<[u8], _>(bounds);
            let keys: Vec<_> = within.map(|entry| entry.0).collect();
            for key in &keys {
                if transaction.get(key)?.is_none() {
                    gone.push(((*key).clone(), None));
                }
            }
            assert_eq!(gone.len(), removed.count, "removed keys");
            assert_eq!(removed.rest.is_some(), removed.count < keys.len(), "whether keys remain");
            let ticket = transaction.commit()?;
            if store.durability() == Durability::Sync { store.wait_durable(ticket) } else { Ok(()) }
        })();
        let changed = !gone.is_empty();
        self.end_write(done, changed, gone)
    }

    fn get(&mut self) -> SequenceStep {
        let key = self.known_key();
        assert_eq!(self.store().get(&key)?.as_ref(), self.oracle.now().get(&key), "get");
        Ok(())
    }

    fn get_many(&mut self) -> SequenceStep {
        let keys: Vec<_> = (0..=self.draw.below(20)).map(|_| self.known_key()).collect();
        let found =
            self.store().get_many(&keys.iter().map(|key| &key[..]).collect::<Vec<_>>(), usize::MAX)?;
        for (at, key) in keys.iter().enumerate() {
            let expected = self.oracle.now().get(key).map(|value| &value[..]);
            assert_eq!(found.get(at).map(|entry| entry.1), expected, "one of many keys");
        }
        Ok(())
    }

    fn range(&mut self) -> SequenceStep {
        if !self.is_ordered() {
            return self.get();
        }
        let (one, other, keys) = (self.key(), self.key(), 1 + self.draw.below(20));
        let (least, greatest) = if one < other { (&one, &other) } else { (&other, &one) };
        let lower = [Bound::Unbounded, Bound::Included(&least[..]), Bound::Excluded(&least[..])];
        let upper = [Bound::Unbounded, Bound::Included(&greatest[..])];
        let (lower, upper) = (self.draw.of(&lower), self.draw.of(&upper));
        let direction = self.draw.of(&[WalkDirection::Forward, WalkDirection::Backward]);
        if one == other && matches!(lower, Bound::Excluded(_)) {
            return Ok(());
        }
        let found = self.store().range(&ScanRequest {
            lower,
            upper,
            direction,
            keys,
            bytes: 1 << 22,
            values: true,
        })?;
        let mut expected: Vec<_> = self.oracle.now().range::<[u8], _>((lower, upper)).collect();
        if direction == WalkDirection::Backward {
            expected.reverse();
        }
        let entries: Vec<_> = found.entries.iter().map(|entry| (&entry.key, &entry.value)).collect();
        assert!(entries[..] == expected[..entries.len().min(expected.len())], "range");
        assert_eq!(found.more, entries.len() < expected.len(), "whether a range has more keys");
        Ok(())
    }

    fn cursor(&mut self) -> SequenceStep {
        if !self.is_ordered() {
            return self.get();
        }
        let mut cursor = self.store().cursor()?;
        for (key, value) in self.oracle.now() {
            let entry = cursor.next()?.expect("the cursor has one more key");
            assert!((&entry.key, &entry.value) == (key, value), "cursor");
        }
        assert!(cursor.next()?.is_none(), "the cursor has one key more");
        Ok(())
    }

    fn take_snapshot(&mut self) -> SequenceStep {
        let Self { store, oracle, snapshots, draw, .. } = self;
        let store = store.as_ref().expect("it is open");
        Ok(snapshots.take(store, oracle.now(), draw)?)
    }

    fn check(&mut self) -> SequenceStep {
        assert_eq!(self.store().check()?.keys, self.oracle.now().len(), "keys that a check counts");
        Ok(())
    }

    fn promise_by(&mut self, act: impl FnOnce(&DiskStore) -> Result<()>) -> SequenceStep {
        act(self.store())?;
        self.oracle.promise();
        Ok(())
    }

    /// Handles the state after a step, in particular a failed one.
    fn settle(&mut self, done: SequenceStep, context: &str) {
        let Err(FailedStep { error, delta }) = done else { return };
        if is_refusal(&error) {
            return;
        }
        assert!(self.plan.faults, "{context}: {error}");
        // Before the check, because a thread of the store may meet the fault meanwhile.
        self.storage.no_faults();
        if !self.storage.is_on() {
            self.oracle.may_write(delta);
            self.crash();
            return;
        }
        // Reads work even if writes are stopped.
        let found = self
            .read_all()
            .unwrap_or_else(|read| panic!("{context}: after \"{error}\" a read fails: {read}"));
        self.settle_found(&found, delta, context, &error);
        if self.store().writes_stopped().is_some() || self.draw.one_in(3) {
            self.crash();
        }
    }

    /// A failed write has changed nothing or everything.
    fn settle_found(&mut self, found: &OracleMap, delta: OracleDelta, context: &str, error: &DiskError) {
        if found == self.oracle.now() {
            return;
        }
        let mut written = self.oracle.now().clone();
        apply(&mut written, &delta);
        assert!(*found == written, "{context}: the store has neither the old nor the new state: {error}");
        self.oracle.write(delta);
    }

    fn read_all(&self) -> Result<OracleMap> {
        walk_all(|request| self.store().walk(request))
    }

    /// Cuts the power now, or while the store is closed or opened again.
    fn crash(&mut self) {
        let at = self.storage.operations() + 1 + self.draw.below(30) as u64;
        self.storage.cut_power_at(at);
        self.snapshots.clear();
        self.store = None;
        self.storage.reboot(self.draw.next());
        if self.draw.one_in(3) {
            let at = self.storage.operations() + 1 + self.draw.below(40) as u64;
            self.storage.cut_power_at(at);
            _ = DiskStore::open_on(self.storage.share(), FOLDER, self.plan.options.clone());
            self.storage.reboot(self.draw.next());
        }
        self.storage.no_faults();
        self.reopen();
    }

    /// The last check. The power may have been cut in a thread of the store, so that no step has
    /// noticed it.
    fn end(&mut self) {
        self.storage.no_faults();
        if self.storage.is_on() { self.reopen() } else { self.crash() }
    }

    /// Opens the store again, with another cache, and checks that nothing is lost.
    fn reopen(&mut self) {
        self.snapshots.clear();
        self.store = None;
        let seen = inspect(FOLDER, &self.storage).unwrap();
        assert!(seen.damage.is_empty(), "{:?}", seen.damage);
        let cache_pages = self.plan.options.cache_pages + self.draw.below(3);
        let options = skein_disk::DiskOptions { cache_pages, ..self.plan.options.clone() };
        self.store = Some(DiskStore::open_on(self.storage.share(), FOLDER, options).unwrap());
        self.oracle.recover(self.read_all().unwrap());
        let keys = self.oracle.now().len();
        assert_eq!((self.store().check().unwrap().keys, self.store().len()), (keys, keys as u64));
    }
}

/// Writes in a transaction. Returns false if it was refused.
fn write(
    transaction: &mut DiskTransaction<'_>,
    key: &[u8],
    value: Option<&[u8]>,
    is_there: bool,
) -> Result<bool> {
    let Some(value) = value else {
        return transaction.remove(key).inspect(|removed| assert_eq!(*removed, is_there, "remove"));
    };
    match transaction.set(key, value) {
        Ok(_) => Ok(true),
        Err(error) if is_refusal(&error) && !transaction.is_broken() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether a write was refused as invalid and changed nothing.
fn is_refusal(error: &DiskError) -> bool {
    use DiskError as E;
    matches!(
        error,
        E::WriteTooLarge { .. }
            | E::KeyTooLong { .. }
            | E::ValueTooLong { .. }
            | E::TransactionTooLong { .. }
    )
}
