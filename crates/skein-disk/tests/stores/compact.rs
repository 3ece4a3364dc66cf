//! Compaction: the file shrinks and keeps its contents, even if the power is cut or an operation
//! fails at any moment.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use skein_disk::{DiskOptions, DiskStore, Durability, PAGE, ReadMode, Result, TrieShape};
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

/// The step of the file's growth, in bytes.
const STEP: u64 = 1024 * PAGE as u64;

fn options() -> DiskOptions {
    DiskOptions {
        durability: Durability::Sync,
        cache_pages: 160,
        checkpoint_bytes: 0,
        segment_bytes: 4 << 20,
        ..DiskOptions::default()
    }
}

fn open(storage: &SimStorage) -> Result<DiskStore> {
    DiskStore::open_on(storage.share(), "/db", options())
}

fn long(number: u8) -> Vec<u8> {
    (0..400_000_u32).map(|at| number ^ (at / 5) as u8).collect()
}

fn short(number: u32) -> Vec<u8> {
    // In a page of its own.
    vec![number as u8; 1_100 + 50 * number as usize % 2_900]
}

/// Returns a store with two steps of the file. Its remaining pages lie at the end of the first step
/// and in the second.
fn sparse(storage: &SimStorage) -> DiskStore {
    let store = open(storage).unwrap();
    for number in 0..11 {
        store.set(&[b'l', number], &long(number)).unwrap();
    }
    store.checkpoint().unwrap();
    for number in 0..60 {
        store.set(format!("key {number}").as_bytes(), &short(number)).unwrap();
    }
    store.checkpoint().unwrap();
    for number in 0..11 {
        assert!(store.remove(&[b'l', number]).unwrap());
    }
    assert_eq!(u64::from(store.stats().buffer.file_pages) * PAGE as u64, 2 * STEP);
    store
}

fn assert_whole(store: &DiskStore, about: &str) {
    assert_eq!(store.check().unwrap().main.keys, 60, "{about}");
    for number in 0..60 {
        let value = store.get(format!("key {number}").as_bytes()).unwrap();
        assert_eq!(value, Some(short(number)), "{about}");
    }
}

#[test]
fn remaining_pages_move_and_the_file_is_cut_off() {
    let storage = SimStorage::new();
    let store = sparse(&storage);
    let report = store.compact().unwrap();
    assert_eq!((report.bytes_before, report.bytes_after), (2 * STEP, STEP));
    assert!(report.pages_moved > 10, "{report:?}");
    assert_eq!(storage.contents("/db/data.skein".as_ref()).len() as u64, STEP);
    assert_whole(&store, "compacted");
    let again = store.compact().unwrap();
    assert_eq!((again.bytes_after, again.pages_moved), (STEP, 0));
    // It grows again like any file.
    store.set(b"long", &long(1)).unwrap();
    (0..10).for_each(|number| _ = store.set(&[b'l', number], &long(number)).unwrap());
    store.close().unwrap();
    let store = open(&storage).unwrap();
    assert_eq!(store.get(b"long").unwrap(), Some(long(1)));
    assert_eq!(store.get(&[b'l', 9]).unwrap(), Some(long(9)));
    assert_eq!(store.check().unwrap().main.keys, 71);
}

const SHAPES: [TrieShape; 3] = [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }];

/// Returns keys with common prefixes in no order.
fn some_key(at: u32) -> Vec<u8> {
    format!("geese/{}/{:08x}", at % 7, at.wrapping_mul(0x9e37_79b9)).into_bytes()
}

fn some_value(at: u32) -> Vec<u8> {
    vec![at as u8; at as usize % 40]
}

fn stays(at: u32) -> bool {
    at.wrapping_mul(0x85eb_ca6b) >> 30 == 0
}

/// Returns a store with a cache of this many pages, after the removal of three in four keys.
/// Returns also the number of pages that the remaining keys take in a fresh store.
fn thinned(storage: &SimStorage, shape: TrieShape, keys: u32, cache_pages: usize) -> (DiskStore, usize) {
    let open = |storage: &SimStorage, cache_pages| {
        let options = DiskOptions { shape, cache_pages, durability: Durability::Buffered, ..options() };
        DiskStore::open_on(storage.share(), "/db", options).unwrap()
    };
    let set = |store: &DiskStore, at| _ = store.set(&some_key(at), &some_value(at)).unwrap();
    let fresh = open(&SimStorage::new(), 4_000);
    (0..keys).filter(|at| stays(*at)).for_each(|at| set(&fresh, at));
    // A removal joins no pages in a transaction that has changed a quarter of the cache.
    let store = open(storage, keys as usize / 22);
    (0..keys).for_each(|at| set(&store, at));
    let removed = store.write(|transaction| {
        (0..keys).filter(|at| !stays(*at)).try_for_each(|at| transaction.remove(&some_key(at)).map(|_| ()))
    });
    removed.unwrap();
    store.close().unwrap();
    (open(storage, cache_pages), fresh.pages_in_use())
}

fn assert_thinned(store: &DiskStore, keys: u32, about: &str) {
    let left = (0..keys).filter(|at| stays(*at)).count();
    assert_eq!(store.check().unwrap().main.keys, left, "{about}");
    for at in 0..keys {
        let value = stays(at).then(|| some_value(at));
        assert_eq!(store.get(&some_key(at)).unwrap(), value, "{about}, key {at}");
    }
}

#[test]
fn sparse_pages_are_merged() {
    for (shape, cache) in SHAPES.into_iter().flat_map(|shape| [(shape, 16), (shape, 17), (shape, 4_000)]) {
        let about = format!("{shape}, {cache} pages of cache");
        let storage = SimStorage::new();
        let (store, fresh) = thinned(&storage, shape, 20_000, cache);
        let before = store.pages_in_use();
        let report = store.compact().unwrap();
        let after = store.pages_in_use();
        println!("{about}: {before} pages, {after} now, {fresh} of a fresh one, {report:?}");
        assert_eq!(before - after, report.pages_merged, "{about}");
        assert!(after * 10 <= fresh * 13, "{about}: {after} pages, {fresh} of a fresh one");
        assert_thinned(&store, 20_000, &about);
        let again = store.compact().unwrap();
        assert!(again.pages_merged * 50 <= after, "{about}: {again:?}");
        // Writes continue as usual.
        (0..2_000).for_each(|at| _ = store.set(&some_key(at), b"again").unwrap());
        store.check().unwrap();
        store.close().unwrap();
    }
}

/// Returns the bytes of a store's file and of its pages in use.
fn file_and_used(store: &DiskStore) -> (usize, usize) {
    (store.stats().buffer.file_pages as usize * PAGE, store.pages_in_use() * PAGE)
}

/// Nine of ten keys are removed: from the first onwards, from the last backwards, or in no order.
/// After `compact` the file and its used part are at most twice those of a store that never had the
/// removed keys.
#[test]
fn a_thinned_file_is_at_most_twice_a_fresh_one() {
    const KEYS: u32 = 40_000;
    let stays = |at: &u32| at % 10 == 3;
    let scattered = |at: &u32| at.wrapping_mul(0x9e37_79b9);
    let filled = |numbers: &mut dyn Iterator<Item = u32>| {
        let options = DiskOptions { cache_pages: 8_000, durability: Durability::Buffered, ..options() };
        let store = DiskStore::open_on(SimStorage::new().share(), "/db", options).unwrap();
        numbers.for_each(|at| _ = store.set(format!("{at:08}").as_bytes(), &[at as u8; 250]).unwrap());
        store.checkpoint().unwrap();
        store
    };
    let fresh = filled(&mut (0..KEYS).filter(stays));
    fresh.compact().unwrap();
    let (fresh_file, fresh_used) = file_and_used(&fresh);
    for order in ["ascending", "descending", "random"] {
        let store = filled(&mut (0..KEYS));
        let full = file_and_used(&store);
        assert!(
            full.0 > 2 * fresh_file && full.1 > 2 * fresh_used,
            "{full:?} bytes are too few for the test"
        );
        let mut goes: Vec<u32> = (0..KEYS).filter(|at| !stays(at)).collect();
        match order {
            "descending" => goes.reverse(),
            "random" => goes.sort_by_key(scattered),
            _ => {}
        }
        for at in &goes {
            assert!(store.remove(format!("{at:08}").as_bytes()).unwrap());
        }
        store.compact().unwrap();
        let (file, used) = file_and_used(&store);
        println!("{order}: {full:?} bytes, now {file} and {used}; fresh {fresh_file} and {fresh_used}");
        assert!(file <= 2 * fresh_file, "{order}: a file of {file} bytes, {fresh_file} of a fresh one");
        assert!(used <= 2 * fresh_used, "{order}: {used} bytes in use, {fresh_used} of a fresh one");
        assert_eq!(store.check().unwrap().main.keys, KEYS as usize / 10);
    }
}

#[test]
fn a_power_cut_during_a_compaction_loses_nothing() {
    let storage = SimStorage::new();
    let store = sparse(&storage);
    let begin = storage.operations();
    store.compact().unwrap();
    let operations = storage.operations() - begin;
    assert!(operations > 40, "{operations}");
    drop(store);
    let mut cuts = 0;
    for cut in 1..=operations {
        let storage = SimStorage::new();
        let store = sparse(&storage);
        storage.cut_power_at(storage.operations() + cut);
        // A thread of the log makes a segment, some forty operations, meanwhile or before.
        cuts += u64::from(store.compact().is_err());
        drop(store);
        storage.reboot(cut);
        // Once more while it recovers and compacts again.
        storage.cut_power_at(storage.operations() + 1 + cut * 3 % 90);
        drop(open(&storage).and_then(|store| store.compact()));
        storage.reboot(cut + 1);
        let store = open(&storage).unwrap();
        assert_whole(&store, &format!("cut at {cut}"));
        assert_eq!(store.compact().unwrap().bytes_after, STEP, "cut at {cut}");
        assert_whole(&store, &format!("cut at {cut}, then compacted"));
    }
    assert!(cuts * 2 > operations, "{cuts} cuts at {operations} operations");
}

#[test]
fn a_power_cut_during_a_merge_loses_nothing() {
    const KEYS: u32 = 1_500;
    for shape in SHAPES {
        let storage = SimStorage::new();
        let (store, _) = thinned(&storage, shape, KEYS, 16);
        let begin = storage.operations();
        assert!(store.compact().unwrap().pages_merged > 2, "{shape}");
        let operations = storage.operations() - begin;
        drop(store);
        let mut cuts = 0;
        for cut in (1..=operations).step_by(2) {
            let about = format!("{shape}, cut at {cut} of {operations}");
            let storage = SimStorage::new();
            let (store, _) = thinned(&storage, shape, KEYS, 16);
            storage.cut_power_at(storage.operations() + cut);
            // Hashes differ between stores, and so do the operations.
            cuts += u64::from(store.compact().is_err());
            drop(store);
            storage.reboot(cut);
            let options = DiskOptions { shape, cache_pages: 16, ..options() };
            let store = DiskStore::open_on(storage.share(), "/db", options).unwrap();
            assert_thinned(&store, KEYS, &about);
            store.compact().unwrap();
            assert_thinned(&store, KEYS, &format!("{about}, then compacted"));
        }
        assert!(cuts > 5, "{shape}: {cuts} of {operations}");
    }
}

#[test]
fn an_error_during_a_compaction_loses_nothing() {
    for (error, step) in [(SimError::Io, 3), (SimError::NoSpace, 4)] {
        for at in (1..70).step_by(step) {
            let storage = SimStorage::new();
            let store = sparse(&storage);
            storage.fail_at(storage.operations() + at, error, at % 2 == 0);
            let failed = store.compact().is_err();
            storage.no_faults();
            assert_whole(&store, &format!("{error:?} at {at}"));
            // A failed operation may be repeated, unless it was a sync.
            let again = store.compact();
            assert!(again.is_ok() || failed, "{again:?}");
            drop(store);
            storage.reboot(at);
            let store = open(&storage).unwrap();
            assert_whole(&store, &format!("{error:?} at {at}, opened again"));
            assert_eq!(store.compact().unwrap().bytes_after, STEP);
        }
    }
}

/// Tells threads to stop, even if the test fails.
struct CompactTestEnd<'d>(&'d AtomicBool);

impl Drop for CompactTestEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn mapping() -> ReadMode {
    // SAFETY: the test's own folder.
    unsafe { ReadMode::mapping() }
}

#[test]
fn reads_and_writes_continue_during_a_compaction() {
    for reading in [ReadMode::Calls, mapping()] {
        let folder = tempfile::tempdir().unwrap();
        let options = DiskOptions { reading, durability: Durability::Buffered, ..options() };
        let store = DiskStore::open(folder.path(), options.clone()).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _done = CompactTestEnd(&done);
            scope.spawn(|| {
                let mut sum = 0;
                while !done.load(Ordering::Relaxed) {
                    let at = store.inc(b"sum", 1).unwrap();
                    sum += 1;
                    assert_eq!(at, sum);
                    store
                        .set(format!("key {}", at % 500).as_bytes(), &short(u32::try_from(at % 500).unwrap()))
                        .unwrap();
                }
            });
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for number in 0..500 {
                        if let Some(value) = store.get(format!("key {number}").as_bytes()).unwrap() {
                            assert_eq!(value, short(number));
                        }
                    }
                }
            });
            for round in 0..8 {
                (0..10).for_each(|number| _ = store.set(&[b'l', number], &long(number)).unwrap());
                assert_eq!(store.get(&[b'l', 3]).unwrap(), Some(long(3)));
                (0..10).for_each(|number| assert!(store.remove(&[b'l', number]).unwrap()));
                let report = store.compact().unwrap();
                assert!(report.bytes_after <= 4 * STEP, "round {round}: {report:?}");
            }
        });
        let sum = store.get(b"sum").unwrap();
        store.close().unwrap();
        // Opened again, because a mapping keeps the places of pages that were read until they are
        // reclaimed, and the folder until the store is dropped.
        drop(store);
        let store = DiskStore::open(folder.path(), options).unwrap();
        let report = store.compact().unwrap();
        assert_eq!(report.bytes_after, STEP, "{report:?}");
        assert_eq!(std::fs::metadata(folder.path().join("data.skein")).unwrap().len(), STEP);
        assert_eq!(store.get(b"sum").unwrap(), sum);
        store.check().unwrap();
    }
}

#[test]
fn keys_are_changed_and_read_during_a_merge() {
    const KEYS: u32 = 4_000;
    for shape in SHAPES {
        let storage = SimStorage::new();
        let (store, _) = thinned(&storage, shape, KEYS, 24);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // The remaining keys are always there; others are added and removed.
            scope.spawn(|| {
                for at in (0..KEYS).filter(|at| stays(*at)).cycle() {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    assert_eq!(store.get(&some_key(at)).unwrap(), Some(some_value(at)));
                }
            });
            scope.spawn(|| {
                for (at, round) in (0..KEYS).filter(|at| !stays(*at)).cycle().zip(0_u32..) {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    match round / 500 % 2 {
                        0 => _ = store.set(&some_key(at), &some_value(at)).unwrap(),
                        _ => _ = store.remove(&some_key(at)).unwrap(),
                    }
                }
            });
            let _done = CompactTestEnd(&done);
            let merged: usize = (0..20).map(|_| store.compact().unwrap().pages_merged).sum();
            assert!(merged > 0, "{shape}");
        });
        (0..KEYS).filter(|at| !stays(*at)).for_each(|at| _ = store.remove(&some_key(at)).unwrap());
        store.compact().unwrap();
        assert_thinned(&store, KEYS, &shape.to_string());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn a_regularly_compacted_store_is_a_map(
        steps in prop::collection::vec((0_usize..9, 0_u8..20, any::<u64>()), 1..60),
        which in 0_usize..2,
    ) {
        let shape = [TrieShape::Linked, TrieShape::Hash { n: 16 }][which];
        let storage = SimStorage::new();
        let open = || DiskStore::open_on(storage.share(), "/db", DiskOptions { shape, ..options() }).unwrap();
        let mut store = open();
        let mut model = BTreeMap::new();
        for (what, at, seed) in steps {
            match what {
                0..=3 => {
                    let value = if what == 0 { long(at) } else { short(at.into()) };
                    store.set(&[at], &value).unwrap();
                    model.insert(at, value);
                }
                4..=5 => prop_assert_eq!(store.remove(&[at]).unwrap(), model.remove(&at).is_some()),
                6..=7 => _ = store.compact().unwrap(),
                _ => {
                    storage.reboot(seed);
                    drop(store);
                    store = open();
                }
            }
        }
        store.compact().unwrap();
        for at in 0..20 {
            prop_assert_eq!(store.get(&[at]).unwrap(), model.get(&at).cloned());
        }
        let pages = store.stats().buffer;
        prop_assert!(pages.free_pages <= 1024 + 16, "{:?}", pages);
    }
}
