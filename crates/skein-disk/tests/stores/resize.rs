//! Changes of the cache's size while the store is open.

use std::collections::BTreeMap;

use skein_disk::{CACHE_LEAST, DiskError, DiskOptions, DiskStore, Durability, ReplacementPolicy};
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

const POLICIES: [ReplacementPolicy; 2] = [ReplacementPolicy::Lru, ReplacementPolicy::S3Fifo];
const KEYS: u32 = 2_000;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(storage: &SimStorage, cache_pages: usize, policy: ReplacementPolicy) -> DiskStore {
    let durability = Durability::Sync;
    let options =
        DiskOptions { cache_pages, policy, durability, checkpoint_bytes: 0, ..DiskOptions::default() };
    DiskStore::open_on(storage.share(), "/db", options).unwrap()
}

/// Sets all keys in few transactions.
fn fill(store: &DiskStore, round: u8) -> Model {
    let mut model = Model::new();
    for first in (0..KEYS).step_by(50) {
        let set = store.write(|transaction| {
            for number in first..first + 50 {
                let (key, value) = (format!("goose {number}").into_bytes(), vec![round; 500]);
                transaction.set(&key, &value)?;
                model.insert(key, value);
            }
            Ok::<_, DiskError>(())
        });
        set.unwrap();
    }
    model
}

fn assert_has(store: &DiskStore, model: &Model) {
    for (key, value) in model {
        assert_eq!(store.get(key).unwrap().as_ref(), Some(value), "{}", key.escape_ascii());
    }
}

#[test]
fn a_smaller_cache_keeps_changed_pages_and_a_larger_one_is_used() {
    for policy in POLICIES {
        let storage = SimStorage::new();
        let store = open(&storage, 1_000, policy);
        let model = fill(&store, 1);
        let before = store.stats().buffer;
        assert!(before.resident > 250, "{before:?}");
        store.resize_cache(CACHE_LEAST).unwrap();
        let small = store.stats().buffer;
        assert_eq!((small.capacity, small.resident), (CACHE_LEAST, CACHE_LEAST), "{policy:?}");
        // Only the pages of the opening were in the file before.
        assert!(small.writes > 250, "{policy:?}: {small:?}");
        assert!(small.policy_entries <= 3 * CACHE_LEAST, "{policy:?}: {small:?}");
        assert_has(&store, &model);
        assert_eq!(store.stats().buffer.resident, CACHE_LEAST);
        store.resize_cache(2_000).unwrap();
        assert_has(&store, &model);
        let loaded = store.stats().buffer;
        assert_has(&store, &model);
        let large = store.stats().buffer;
        assert_eq!(large.misses, loaded.misses, "{policy:?}: all pages fit");
        assert!(large.resident > 250, "{policy:?}: {large:?}");
        store.check().unwrap();
        store.close().unwrap();
        assert_has(&open(&storage, CACHE_LEAST, policy), &model);
    }
}

#[test]
fn the_least_size_is_named() {
    let store = open(&SimStorage::new(), 100, ReplacementPolicy::Lru);
    let error = store.resize_cache(CACHE_LEAST - 1).unwrap_err().to_string();
    assert!(error.contains("cannot be 15: a cache has 16 pages at least"), "{error}");
    assert_eq!(store.cache_pages(), 100);
    store.close().unwrap();
    assert!(matches!(store.resize_cache(50), Err(DiskError::Closed { .. })));
}

/// Changed pages have promised places, so a full disk does not keep them in memory.
#[test]
fn a_cache_shrinks_on_a_full_disk() {
    let storage = SimStorage::new();
    let store = open(&storage, 1_000, ReplacementPolicy::S3Fifo);
    let model = fill(&store, 1);
    storage.fail_at(storage.operations() + 1, SimError::NoSpace, true);
    let shrunk = store.resize_cache(20);
    storage.no_faults();
    // The simulated disk refuses writes to places that the file has, too.
    assert!(matches!(shrunk, Err(DiskError::Io { .. })), "{shrunk:?}");
    assert_eq!(store.cache_pages(), 20);
    assert_has(&store, &model);
    store.set(b"goose 0", &model[&b"goose 0"[..]]).unwrap();
    let after = store.stats().buffer;
    assert!(after.resident <= 20, "the excess has left by the next publication: {after:?}");
    store.check().unwrap();
}

#[test]
fn an_open_transaction_keeps_the_size_of_its_begin() {
    let store = open(&SimStorage::new(), 400, ReplacementPolicy::S3Fifo);
    let mut model = fill(&store, 1);
    let mut transaction = store.begin();
    for number in 0..KEYS / 4 {
        let (key, value) = (format!("goose {number}").into_bytes(), vec![9; 500]);
        transaction.set(&key, &value).unwrap();
        model.insert(key, value);
    }
    // In the middle of the transaction and by its own thread: this must not wait for its end.
    store.resize_cache(CACHE_LEAST).unwrap();
    store.wait_durable(transaction.commit().unwrap()).unwrap();
    // The evictor may have been at work during the resize, and have evicted more.
    let resident = store.stats().buffer.resident;
    assert!(resident <= CACHE_LEAST, "{resident}");
    assert_has(&store, &model);
    store.check().unwrap();
}
