//! Every fault of a disk, in every operation that touches files, with every end of the process.
//!
//! ```text
//!   fill ─► fault ─► the operation twice, with writes ─┬─ it heals ─► writes go on ─┬─► end ─► open
//!                                                      └─ it stays ─────────────────┘
//! ```
//!
//! In each cell: no acknowledged write is lost, a refused write has one of its two values, the file
//! and the log have no damage, and the opened store takes writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use skein_disk::{
    DiskError, DiskOptions, DiskStore, Durability, Result, ScanRequest, WalkDirection, inspect,
};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimError;

use super::faulty::FaultyStorage;
use super::{key, options};

const KEYS: u32 = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiskFault {
    Full,
    NoDescriptors,
    /// Every sync fails. Writes stay stopped until the store is opened again.
    FailedSync,
    Slow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultedOperation {
    Checkpoint,
    BackgroundCheckpoint,
    Compact,
    ShrinkCache,
    GrowCache,
    RemoveAll,
    /// More pages than the cache has, so some are spilled.
    LargeWrite,
    /// The reads of a backup: all keys of a moment, beside writes.
    ReadSnapshot,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessEnd {
    Stop,
    Kill,
    PowerCut,
}

const OPERATIONS: [FaultedOperation; 9] = [
    FaultedOperation::Checkpoint,
    FaultedOperation::BackgroundCheckpoint,
    FaultedOperation::Compact,
    FaultedOperation::ShrinkCache,
    FaultedOperation::GrowCache,
    FaultedOperation::RemoveAll,
    FaultedOperation::LargeWrite,
    FaultedOperation::ReadSnapshot,
    FaultedOperation::Close,
];
const ENDS: [ProcessEnd; 3] = [ProcessEnd::Stop, ProcessEnd::Kill, ProcessEnd::PowerCut];

/// The values that a key may have: one after an acknowledged write, more after a refused one.
/// `None` is a removed key.
type AllowedValues = BTreeSet<Option<Vec<u8>>>;

/// A cell of the matrix: a store on a faulty disk, and its possible contents.
struct MatrixCell {
    name: String,
    storage: FaultyStorage,
    store: DiskStore,
    allowed: BTreeMap<Vec<u8>, AllowedValues>,
    written: u32,
}

fn matrix_options() -> DiskOptions {
    DiskOptions { cache_pages: 24, ..options(Durability::Sync) }
}

fn all_keys() -> ScanRequest<'static> {
    let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
    let direction = WalkDirection::Forward;
    ScanRequest { lower, upper, direction, keys: usize::MAX, bytes: usize::MAX, values: true }
}

impl MatrixCell {
    fn new(name: String) -> Self {
        let storage = FaultyStorage::default();
        let store = DiskStore::open_on(storage.share(), "/db", matrix_options()).unwrap();
        let mut cell = Self { name, storage, store, allowed: BTreeMap::new(), written: 0 };
        cell.write_all(KEYS).unwrap();
        cell.store.checkpoint().unwrap();
        for number in 0..KEYS / 4 {
            cell.set(number).unwrap();
        }
        cell
    }

    fn value(&mut self) -> Vec<u8> {
        self.written += 1;
        let mut value = self.written.to_le_bytes().to_vec();
        value.resize(500, self.written as u8);
        value
    }

    /// Notes the result of a write of a key.
    fn note<T>(&mut self, key: Vec<u8>, value: Option<Vec<u8>>, result: &Result<T>) {
        let allowed = self.allowed.entry(key).or_insert_with(|| BTreeSet::from([None]));
        if result.is_ok() {
            allowed.clear();
        }
        allowed.insert(value);
    }

    fn set(&mut self, number: u32) -> Result<()> {
        let (key, value) = (key(number), self.value());
        let result = self.store.set(&key, &value);
        self.note(key, Some(value), &result);
        result.map(|_| ())
    }

    /// Sets the first keys in one transaction.
    fn write_all(&mut self, keys: u32) -> Result<()> {
        let writes: Vec<_> = (0..keys).map(|number| (key(number), self.value())).collect();
        let result = self.store.write::<_, DiskError>(|transaction| {
            writes.iter().try_for_each(|(key, value)| transaction.set(key, value).map(|_| ()))
        });
        for (key, value) in writes {
            self.note(key, Some(value), &result);
        }
        result
    }

    /// Removes all keys in several transactions, as FLUSHALL does.
    fn remove_all(&mut self) -> Result<()> {
        let mut rest = Some(Bound::Unbounded);
        let mut result = Ok(());
        while let Some(lower) = rest.take() {
            let lower = lower.as_ref().map(|key: &Vec<u8>| &key[..]);
            let removed = self.store.write::<_, DiskError>(|transaction| {
                transaction.remove_range((lower, Bound::Unbounded), 100)
            });
            match removed {
                Ok(removed) => rest = removed.rest,
                Err(error) => result = Err(error),
            }
        }
        let keys: Vec<_> = self.allowed.keys().cloned().collect();
        for key in keys {
            self.note(key, None, &result);
        }
        result
    }

    fn begin(&self, fault: DiskFault) {
        let faults = &self.storage.faults;
        match fault {
            DiskFault::Full => faults.full.store(true, SeqCst),
            DiskFault::NoDescriptors => {
                let inner = &self.storage.inner;
                inner.fail_at(inner.operations() + 1, SimError::TooManyFiles, true);
            }
            DiskFault::FailedSync => faults.all_syncs.store(true, SeqCst),
            DiskFault::Slow => faults.delay_us.store(1_000, SeqCst),
        }
    }

    fn heal(&self) {
        let faults = &self.storage.faults;
        faults.full.store(false, SeqCst);
        faults.all_syncs.store(false, SeqCst);
        faults.delay_us.store(0, SeqCst);
        self.storage.inner.no_faults();
    }

    /// Performs the operation. It may fail.
    fn perform(&mut self, operation: FaultedOperation) {
        let done = match operation {
            FaultedOperation::Checkpoint => self.store.checkpoint(),
            FaultedOperation::BackgroundCheckpoint => {
                self.store.checkpoint_in_background();
                let begun = Instant::now();
                std::thread::sleep(Duration::from_millis(5));
                while self.store.stats().checkpoint_running && begun.elapsed() < Duration::from_secs(10) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            }
            FaultedOperation::Compact => self.store.compact().map(|_| ()),
            FaultedOperation::ShrinkCache => self.store.resize_cache(16),
            FaultedOperation::GrowCache => self.store.resize_cache(200),
            FaultedOperation::RemoveAll => self.remove_all(),
            FaultedOperation::LargeWrite => self.write_all(3 * KEYS),
            FaultedOperation::ReadSnapshot => self.read_snapshot(),
            FaultedOperation::Close => self.store.close(),
        };
        if let Err(error) = done {
            println!("{}: {error}", self.name);
        }
    }

    fn read_snapshot(&mut self) -> Result<()> {
        let snapshot = self.store.snapshot()?;
        let before = snapshot.walk(&all_keys())?;
        _ = self.set(1);
        assert_eq!(snapshot.walk(&all_keys())?, before, "{}", self.name);
        Ok(())
    }

    /// Waits until writes go on by themselves.
    fn wait_for_writes(&mut self) {
        let begun = Instant::now();
        while let Err(error) = self.set(0) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}: {error}", self.name);
            std::thread::sleep(Duration::from_millis(5));
        }
        for number in 0..20 {
            let set = self.set(number);
            assert!(set.is_ok(), "{}: {set:?} after the disk has healed", self.name);
        }
        let stopped = self.store.writes_stopped();
        assert!(stopped.is_none(), "{}: {stopped:?}", self.name);
    }

    /// Ends the process, opens the store, and checks everything.
    fn restart(self, end: ProcessEnd, seed: u64) {
        let Self { name, storage, store, allowed, .. } = self;
        match end {
            ProcessEnd::Stop => _ = store.close(),
            ProcessEnd::Kill => {}
            ProcessEnd::PowerCut => storage.inner.reboot(seed),
        }
        drop(store);
        storage.faults.full.store(false, SeqCst);
        storage.faults.all_syncs.store(false, SeqCst);
        storage.faults.delay_us.store(0, SeqCst);
        storage.inner.no_faults();
        let found = inspect("/db", &storage).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found.damage.is_empty(), "{name}: {:?}", found.damage);
        let store = DiskStore::open_on(storage.share(), "/db", matrix_options())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for (key, allowed) in &allowed {
            let found = store.get(key).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(allowed.contains(&found), "{name}: {} has another value", key.escape_ascii());
        }
        store.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        store.set(b"after", b"the restart").unwrap_or_else(|error| panic!("{name}: {error}"));
        store.close().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn run(fault: DiskFault, operation: FaultedOperation, end: ProcessEnd, heals: bool, seed: u64) {
    let name =
        format!("{fault:?}, {operation:?}, {end:?}, {}", if heals { "heals" } else { "does not heal" });
    let mut cell = MatrixCell::new(name);
    cell.begin(fault);
    // Enough writes for the log to need its next segment.
    for number in 0..KEYS {
        _ = cell.set(number);
    }
    for _ in 0..2 {
        cell.perform(operation);
        for number in 0..10 {
            _ = cell.set(number * 7);
        }
    }
    if heals {
        cell.heal();
        if fault != DiskFault::FailedSync && operation != FaultedOperation::Close {
            cell.wait_for_writes();
        }
    }
    cell.restart(end, seed);
}

fn run_all(fault: DiskFault) {
    let mut cells = 0;
    for operation in OPERATIONS {
        for end in ENDS {
            for heals in [false, true] {
                cells += 1;
                run(fault, operation, end, heals, cells);
            }
        }
    }
    assert_eq!(cells, 54);
}

#[test]
fn a_full_disk_loses_nothing_in_any_operation() {
    run_all(DiskFault::Full);
}

#[test]
fn a_lack_of_descriptors_loses_nothing_in_any_operation() {
    run_all(DiskFault::NoDescriptors);
}

#[test]
fn failed_syncs_lose_nothing_in_any_operation() {
    run_all(DiskFault::FailedSync);
}

#[test]
fn a_slow_disk_loses_nothing_in_any_operation() {
    run_all(DiskFault::Slow);
}
