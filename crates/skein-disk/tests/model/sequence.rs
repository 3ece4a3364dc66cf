//! Sequences: one thread on the simulated storage.

use std::ops::Bound;

use skein_disk::{DiskError, DiskStore, DiskTransaction, Durability, KeySpace, Result, Values, inspect};
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

use crate::oracle::{OracleDelta, OracleMap, OracleState, OracleWrite, StoreOracle};
use crate::plan::SequencePlan;
use crate::random::SplitMixDraw;
use crate::snapshots::SequenceSnapshots;

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

pub struct Sequence {
    pub draw: SplitMixDraw,
    plan: SequencePlan,
    storage: SimStorage,
    /// `None` only while it is opened again.
    store: Option<DiskStore>,
    pub oracle: StoreOracle,
    snapshots: SequenceSnapshots,
}

/// A failed step: its error, and the changes that it may have made.
pub struct FailedStep {
    error: DiskError,
    delta: OracleDelta,
}

impl From<DiskError> for FailedStep {
    fn from(error: DiskError) -> Self {
        Self { error, delta: OracleDelta::new() }
    }
}

pub type SequenceStep = std::result::Result<(), FailedStep>;

impl Sequence {
    pub fn store(&self) -> &DiskStore {
        self.store.as_ref().expect("it is open")
    }

    /// Returns the key spaces of the store.
    pub fn spaces(&self) -> &'static [KeySpace] {
        match self.plan.options.values {
            Values::Bytes => &[KeySpace::Main],
            Values::Rows => &[KeySpace::Main, KeySpace::Members],
        }
    }

    pub fn space(&mut self) -> KeySpace {
        self.draw.of(self.spaces())
    }

    pub fn is_ordered(&self, space: KeySpace) -> bool {
        space == KeySpace::Members || self.plan.options.shape.is_ordered()
    }

    /// Returns the rows that a space should have.
    pub fn expected(&self, space: KeySpace) -> &OracleMap {
        self.oracle.now().of(space)
    }

    fn is_sync(&self) -> bool {
        self.plan.options.durability == Durability::Sync
    }

    pub fn key(&mut self) -> Vec<u8> {
        self.draw.key(self.plan.keys)
    }

    /// Returns a key that exists or nearly so, as often as any other key.
    pub fn known_key(&mut self, space: KeySpace) -> Vec<u8> {
        let key = self.key();
        let next = self.expected(space).range(key.clone()..).next().map(|entry| entry.0.clone());
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
        let space = self.space();
        let (key, value) = (self.known_key(space), self.value());
        let done = self.store().write(|transaction| transaction.set_in(space, &key, &value));
        self.end_write(done, true, vec![OracleWrite { space, key, value: Some(value) }])
    }

    fn remove(&mut self) -> SequenceStep {
        let space = self.space();
        let key = self.known_key(space);
        let was_there = self.expected(space).contains_key(&key);
        let done = self.store().write(|transaction| transaction.remove_in(space, &key));
        let done = done.inspect(|removed| assert_eq!(*removed, was_there, "remove"));
        self.end_write(done, was_there, vec![OracleWrite { space, key, value: None }])
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
                let space = self.space();
                let (key, value) = (self.known_key(space), self.value());
                OracleWrite { space, key, value: (!self.draw.one_in(3)).then_some(value) }
            })
            .collect();
        let is_kept = !self.draw.one_in(5);
        let mut written = OracleDelta::new();
        let mut seen = self.oracle.now().clone();
        let store = self.store();
        let done = (|| {
            let (mut transaction, mut value) = (store.begin(), Vec::new());
            for change in writes {
                let found = transaction.get_in(change.space, &change.key, &mut value)?.map(|_| &value);
                let expected = seen.of(change.space).get(&change.key);
                assert_eq!(found, expected, "get of a transaction");
                if write(&mut transaction, &change, expected.is_some())? {
                    written.push(change);
                    seen.apply(&written[written.len() - 1..]);
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
        let (space, lower, most) = (self.space(), self.key(), 1 + self.draw.below(30));
        let first = if self.is_ordered(space) { Bound::Included(&lower[..]) } else { Bound::Unbounded };
        let bounds = (first, Bound::Unbounded);
        let (store, now) = (self.store(), self.expected(space));
        let mut gone = OracleDelta::new();
        let done = (|| {
            let mut transaction = store.begin();
            let removed = transaction.remove_range_in(space, bounds, most)?;
            let within = now.range::<[u8], _>(bounds);
            let keys: Vec<_> = within.map(|entry| entry.0).collect();
            for key in &keys {
                if transaction.get_in(space, key, &mut Vec::new())?.is_none() {
                    gone.push(OracleWrite { space, key: (*key).clone(), value: None });
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

    fn take_snapshot(&mut self) -> SequenceStep {
        let Self { store, oracle, snapshots, draw, .. } = self;
        let store = store.as_ref().expect("it is open");
        Ok(snapshots.take(store, oracle.now().of(KeySpace::Main), draw)?)
    }

    fn check(&mut self) -> SequenceStep {
        let census = self.store().check()?;
        assert_eq!(census.main.keys, self.expected(KeySpace::Main).len(), "keys that a check counts");
        let members = census.members.map_or(0, |census| census.keys);
        assert_eq!(members, self.expected(KeySpace::Members).len(), "members that a check counts");
        assert_eq!(self.store().len(), census.main.keys as u64, "keys of the main space");
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
    fn settle_found(&mut self, found: &OracleState, delta: OracleDelta, context: &str, error: &DiskError) {
        if found == self.oracle.now() {
            return;
        }
        let mut written = self.oracle.now().clone();
        written.apply(&delta);
        assert!(*found == written, "{context}: the store has neither the old nor the new state: {error}");
        self.oracle.write(delta);
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
        self.check().map_err(|failed| failed.error).unwrap();
    }
}

/// Writes in a transaction. Returns false if it was refused.
fn write(transaction: &mut DiskTransaction<'_>, change: &OracleWrite, is_there: bool) -> Result<bool> {
    let OracleWrite { space, key, value } = change;
    let Some(value) = value else {
        let removed = transaction.remove_in(*space, key)?;
        assert_eq!(removed, is_there, "remove");
        return Ok(removed);
    };
    match transaction.set_in(*space, key, value) {
        Ok(_) => Ok(true),
        Err(error) if is_refusal(&error) && !transaction.is_broken() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether a write was refused as invalid and changed nothing.
fn is_refusal(error: &DiskError) -> bool {
    use DiskError as E;
    matches!(error, E::KeyTooLong { .. } | E::ValueTooLong { .. } | E::TransactionTooLong { .. })
}
