//! The store under crashes and failures, against a model. Writes: `transactions`, `groups`,
//! `reserved`. Folders: `replay`, `parts`, `formats`. Limits of a cache: `deep`, `long`,
//! `members`. Spaces: `spaces`. Snapshots: `snapshots`. Damage: `damage`, `shared`.

mod damage;
mod deep;
mod formats;
mod groups;
mod long;
mod members;
mod parts;
mod replay;
mod reserved;
mod shared;
mod snapshots;
mod spaces;
mod transactions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};
use skein_log::{Durability, LogError, OpenProgress};

use super::{DiskOptions, DiskStore, DiskTransaction};
use crate::trie::TrieShape;
use crate::{DiskError, Result};

const FOLDER: &str = "/db";
const SHAPES: [TrieShape; 3] = [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }];

fn open_options(shape: TrieShape, durability: Durability) -> DiskOptions {
    DiskOptions {
        shape,
        durability,
        cache_pages: 24,
        checkpoint_bytes: 0,
        segment_bytes: 64 << 10,
        ..DiskOptions::default()
    }
}

fn open_as(storage: &SimStorage, shape: TrieShape, durability: Durability) -> Result<DiskStore> {
    DiskStore::open_on(storage.share(), FOLDER, open_options(shape, durability))
}

fn open(storage: &SimStorage) -> Result<DiskStore> {
    open_as(storage, TrieShape::Linked, Durability::Sync)
}

/// Returns the options of a store with a cache of this many pages.
fn cached_options(shape: TrieShape, cache_pages: usize) -> DiskOptions {
    DiskOptions { cache_pages, segment_bytes: 1 << 20, ..open_options(shape, Durability::Buffered) }
}

fn open_cached(storage: &SimStorage, shape: TrieShape, cache_pages: usize) -> DiskStore {
    DiskStore::open_on(storage.share(), FOLDER, cached_options(shape, cache_pages)).unwrap()
}

/// Incident: opening a store reported nothing before it was done, and only killing the process
/// ended it. Consequence: nobody knew whether to wait. Fix: it counts the log's records, and after
/// each it asks whether to continue. A cancelled opening loses nothing.
#[test]
fn opening_reports_progress_and_can_be_cancelled() {
    let storage = SimStorage::new();
    let reopen = |progress: OpenProgress| {
        let progress = Arc::new(progress);
        let options =
            DiskOptions { progress: progress.clone(), checkpoint_bytes: 0, ..DiskOptions::default() };
        (DiskStore::open_on(storage.share(), FOLDER, options), progress)
    };
    let store = reopen(OpenProgress::default()).0.unwrap();
    for n in 0..1000 {
        store.set(format!("key:{n}").as_bytes(), b"value").unwrap();
    }
    store.sync().unwrap();
    // A close would take a checkpoint, and leave no record to replay.
    storage.reboot(1);
    drop(store);
    let (ended, progress) = reopen(OpenProgress::watched(|progress| {
        if progress.seen().records >= 10 {
            progress.cancel();
        }
    }));
    assert!(matches!(ended, Err(DiskError::Log(LogError::Cancelled))), "{ended:?}");
    assert_eq!(progress.seen().records, 10);
    let (store, progress) = reopen(OpenProgress::default());
    let store = store.unwrap();
    assert_eq!((store.len(), progress.seen().records, progress.seen().percent()), (1000, 1000, 100));
    store.close().unwrap();
}

type StoreModel = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(number: usize) -> Vec<u8> {
    format!("n_view_{}", number % 40).into_bytes()
}

fn contents(store: &DiskStore) -> Result<StoreModel> {
    let mut cursor = store.cursor()?;
    let mut all = StoreModel::new();
    while let Some(entry) = cursor.next()? {
        all.insert(entry.key, entry.value);
    }
    Ok(all)
}

#[derive(Clone, Debug)]
enum StoreStep {
    Set(usize, Vec<u8>),
    Inc(usize, i64),
    Cas(usize, bool),
    Remove(usize),
    Get(usize),
    Checkpoint,
    Crash(u64),
    Close,
}

fn steps() -> impl Strategy<Value = Vec<StoreStep>> {
    let value = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (1_500..20_000_usize).prop_map(|len| vec![7; len]),
    ];
    let step = prop_oneof![
        6 => (any::<usize>(), value).prop_map(|(at, value)| StoreStep::Set(at, value)),
        2 => (any::<usize>(), any::<i64>()).prop_map(|(at, by)| StoreStep::Inc(at, by)),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(at, right)| StoreStep::Cas(at, right)),
        2 => any::<usize>().prop_map(StoreStep::Remove),
        3 => any::<usize>().prop_map(StoreStep::Get),
        1 => Just(StoreStep::Checkpoint),
        1 => any::<u64>().prop_map(StoreStep::Crash),
        1 => Just(StoreStep::Close),
    ];
    prop::collection::vec(step, 1..120)
}

/// Applies a step to the store and to the model.
fn step(
    store: &DiskStore,
    model: &mut StoreModel,
    step: &StoreStep,
) -> std::result::Result<(), TestCaseError> {
    match step {
        StoreStep::Set(at, value) => {
            store.set(&key(*at), value).unwrap();
            model.insert(key(*at), value.clone());
        }
        StoreStep::Inc(at, by) => {
            // As Redis writes an integer: the form in which it would be printed.
            let printed = |value: &[u8]| {
                let number: i64 = str::from_utf8(value).ok()?.parse().ok()?;
                (number.to_string().as_bytes() == value).then_some(number)
            };
            let before = model.get(&key(*at)).map_or(Some(0), |value| printed(value));
            let sum = before.and_then(|before: i64| before.checked_add(*by));
            match (store.inc(&key(*at), *by), sum) {
                (Ok(is), Some(sum)) => {
                    prop_assert_eq!(is, sum);
                    model.insert(key(*at), sum.to_string().into_bytes());
                }
                (Err(DiskError::NotAnInteger { .. }), None) => prop_assert!(before.is_none()),
                (Err(DiskError::Overflow { value, .. }), None) => prop_assert_eq!(Some(value), before),
                (other, sum) => prop_assert!(false, "{:?} and {:?}", other, sum),
            }
        }
        StoreStep::Cas(at, right) => {
            let version = store.get_entry(&key(*at)).unwrap().map(|(version, _)| version);
            let expected = if *right { version } else { Some(version.unwrap_or(1) + 1_000_000) };
            match store.cas(&key(*at), expected, b"swapped") {
                Ok(new) => {
                    prop_assert!(*right && Some(new) > version);
                    model.insert(key(*at), b"swapped".to_vec());
                }
                Err(DiskError::VersionDiffers { found, .. }) => prop_assert!(!*right && found == version),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
        StoreStep::Remove(at) => {
            prop_assert_eq!(store.remove(&key(*at)).unwrap(), model.remove(&key(*at)).is_some());
        }
        StoreStep::Get(at) => prop_assert_eq!(store.get(&key(*at)).unwrap(), model.get(&key(*at)).cloned()),
        StoreStep::Checkpoint => store.checkpoint().unwrap(),
        StoreStep::Crash(_) | StoreStep::Close => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn acknowledged_writes_survive_any_crash(steps in steps(), which in 0..SHAPES.len()) {
        let storage = SimStorage::new();
        let open = || open_as(&storage, SHAPES[which], Durability::Sync).unwrap();
        let mut store = open();
        let mut model = StoreModel::new();
        for each in &steps {
            match each {
                StoreStep::Crash(seed) => {
                    storage.reboot(*seed);
                    drop(store);
                    store = open();
                }
                StoreStep::Close => {
                    store.close().unwrap();
                    store = open();
                }
                other => step(&store, &mut model, other)?,
            }
        }
        let census = store.check().unwrap().main;
        prop_assert_eq!(census.keys, model.len());
        prop_assert_eq!(store.len(), model.len() as u64);
        for at in 0..40 {
            prop_assert_eq!(store.get(&key(at)).unwrap(), model.get(&key(at)).cloned());
        }
        if which < 2 {
            prop_assert_eq!(contents(&store).unwrap(), model);
        }
    }
}

/// Runs a script that ends with `all` acknowledged writes on new stores. The power is cut at each
/// `step`th operation, and once more during recovery. Then calls `check` with the store and the
/// number of acknowledged writes. Returns the number of operations of the script.
fn cut_power_at_each(
    (step, all): (usize, usize),
    open: impl Fn(&SimStorage) -> Result<DiskStore>,
    script: impl Fn(&DiskStore) -> usize,
    check: impl Fn(&DiskStore, usize, &str),
) -> u64 {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    let begin = storage.operations();
    assert_eq!((script(&store), store.stats().snapshots), (all, 0));
    let operations = storage.operations() - begin;
    drop(store);
    for cut in (1..operations + 10).step_by(step) {
        let storage = SimStorage::new();
        let store = open(&storage).unwrap();
        storage.cut_power_at(storage.operations() + cut);
        let acknowledged = script(&store);
        drop(store);
        storage.reboot(cut);
        storage.cut_power_at(storage.operations() + 1 + cut % 40);
        drop(open(&storage));
        storage.reboot(cut + 1);
        check(&open(&storage).unwrap(), acknowledged, &format!("cut at {cut} of {operations}"));
    }
    operations
}

/// Runs a script on new stores, in each of which another operation fails. Then opens the store
/// again, and calls `check` as [`cut_power_at_each`] does.
fn fail_at_each(
    operations: &(impl Iterator<Item = u64> + Clone),
    script: impl Fn(&DiskStore) -> usize,
    check: impl Fn(&DiskStore, usize, &str),
) {
    for error in [SimError::Io, SimError::NoSpace] {
        for at in operations.clone() {
            let storage = SimStorage::new();
            let store = open(&storage).unwrap();
            storage.fail_at(storage.operations() + at, error, at % 3 == 0);
            let acknowledged = script(&store);
            drop(store);
            storage.no_faults();
            storage.reboot(at);
            check(&open(&storage).unwrap(), acknowledged, &format!("{error:?} at {at}"));
        }
    }
}

/// Writes, takes a checkpoint, and writes more. Returns the number of acknowledged writes.
fn script(store: &DiskStore) -> usize {
    for number in 0..30 {
        if store.set(&key(number), &vec![number as u8; 10 + 200 * (number % 9)]).is_err() {
            return number;
        }
        if number == 12 {
            // A failed checkpoint is not a failed write.
            _ = store.checkpoint();
        }
    }
    30
}

fn assert_prefix(store: &DiskStore, acknowledged: usize, about: &str) {
    let found = contents(store).unwrap();
    let is_prefix = |len: usize| {
        let values = (0..len).map(|number| (key(number), vec![number as u8; 10 + 200 * (number % 9)]));
        found == values.collect::<StoreModel>()
    };
    // The write in progress may be there.
    assert!(is_prefix(acknowledged) || is_prefix(acknowledged + 1), "{about}: {} keys", found.len());
}

#[test]
fn a_power_cut_loses_no_acknowledged_write() {
    cut_power_at_each((1, 30), open, script, |store, acknowledged, about| {
        assert_prefix(store, acknowledged, about);
        store.check().unwrap();
    });
}

#[test]
fn an_error_is_reported_and_loses_no_acknowledged_write() {
    fail_at_each(&(1..120).step_by(2), script, assert_prefix);
}

#[test]
fn concurrent_increments_add_up() {
    let storage = SimStorage::new();
    let store = open_as(&storage, TrieShape::Linked, Durability::Buffered).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_i64 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..500 {
                    store.inc(b"total", thread).unwrap();
                    loop {
                        let entry = store.get_entry(b"compared").unwrap();
                        let count: u64 = entry
                            .as_ref()
                            .map_or(0, |(_, value)| str::from_utf8(value).unwrap().parse().unwrap());
                        let next = (count + 1).to_string();
                        match store.cas(b"compared", entry.map(|(version, _)| version), next.as_bytes()) {
                            Ok(_) => break,
                            Err(DiskError::VersionDiffers { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                    if round % 100 == 0 {
                        store.checkpoint().unwrap();
                    }
                }
            });
        }
    });
    let assert_sums = |store: &DiskStore| {
        assert_eq!(store.get(b"total").unwrap(), Some(b"3000".to_vec()));
        assert_eq!(store.get(b"compared").unwrap(), Some(b"2000".to_vec()));
    };
    assert_sums(&store);
    store.close().unwrap();
    let store = open_as(&storage, TrieShape::Linked, Durability::Buffered).unwrap();
    assert_sums(&store);
    assert_eq!(store.stats().replayed, 0, "a closed store has all in its file");
    store.set(b"last", b"write").unwrap();
    store.sync().unwrap();
    storage.reboot(1);
    let store = open_as(&storage, TrieShape::Linked, Durability::Buffered).unwrap();
    assert_eq!(store.stats().replayed, 1);
}

#[test]
fn a_store_takes_checkpoints_as_its_log_grows() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        DiskOptions { checkpoint_bytes: 100_000, segment_bytes: 64 << 10, ..DiskOptions::default() };
    let store = DiskStore::open(folder.path(), options.clone()).unwrap();
    for number in 0..20_000_u32 {
        store.set(format!("key {number}").as_bytes(), &number.to_le_bytes()).unwrap();
    }
    while store.stats().checkpoints < 2 {
        std::thread::yield_now();
    }
    drop(store);
    let store = DiskStore::open(folder.path(), options).unwrap();
    assert_eq!(store.check().unwrap().main.keys, 20_000);
    let refused = DiskStore::open(folder.path(), DiskOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("in use by this process"), "{refused}");
    store.close().unwrap();
    let other = DiskOptions { shape: TrieShape::Hash { n: 16 }, ..DiskOptions::default() };
    let refused = DiskStore::open(folder.path(), other).unwrap_err().to_string();
    assert!(refused.contains("is a linked trie, but was opened as a hash trie of 16 children"), "{refused}");
}

/// Incident: a checkpoint was requested when the log grew beyond its limit. After a crash, more
/// than that was replayed, so the log never grew beyond it again. Consequence: the server took no
/// checkpoint until its end, and a log of gigabytes had to be replayed. Fix: each further part of
/// the log of that size requests a checkpoint.
#[test]
fn a_store_takes_checkpoints_after_a_long_replay() {
    let storage = SimStorage::new();
    let open_with = |checkpoint_bytes| {
        let options =
            DiskOptions { durability: Durability::Sync, checkpoint_bytes, ..DiskOptions::default() };
        DiskStore::open_on(storage.share(), FOLDER, options).unwrap()
    };
    let fill = |store: &DiskStore| {
        let set = |transaction: &mut DiskTransaction<'_>| {
            (0..150_u8).try_for_each(|number| transaction.set(&[number], &[7; 1_000]).map(drop))
        };
        store.write::<_, DiskError>(set).unwrap();
    };
    let store = open_with(0);
    fill(&store);
    storage.reboot(1);
    drop(store);
    let store = open_with(100_000);
    assert_eq!((store.stats().replayed, store.stats().checkpoints), (150, 0));
    let begun = Instant::now();
    while store.stats().checkpoints == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", store.stats());
        fill(&store);
    }
}

/// Incident: SAVE right after BGSAVE returned while the checkpoint of BGSAVE was still to be taken
/// or had just begun. Consequence: a following BGREWRITEAOF was refused as if one were in progress,
/// and there were two checkpoints instead of one. Fix: the next checkpoint to begin fulfils the
/// request.
#[test]
fn a_checkpoint_replaces_a_requested_one() {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    for number in 0..50_u8 {
        store.set(b"key", &[number]).unwrap();
        assert!(store.checkpoint_in_background(), "{number}");
        store.checkpoint().unwrap();
    }
    assert!(store.stats().checkpoints <= 100);
}
