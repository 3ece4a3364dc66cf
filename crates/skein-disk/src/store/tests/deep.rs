//! Keys with longer paths, in pages, than the cache.

use std::ops::Bound;

use skein_log::storage::sim::SimStorage;

use super::{DiskStore, open_cached};
use crate::trie::{ScanRequest, TrieShape, WalkDirection};

/// Shapes with long paths: the path of a hash is short.
const DEEP: [TrieShape; 4] = [
    TrieShape::Linked,
    TrieShape::Classical { n: 16 },
    TrieShape::FixedLinked { k: 12 },
    TrieShape::FixedClassical { n: 16 },
];
const CACHE: usize = 16;

fn is_fixed(shape: TrieShape) -> bool {
    matches!(shape, TrieShape::FixedLinked { .. } | TrieShape::FixedClassical { .. })
}

/// Returns the length of the longest key.
fn longest(shape: TrieShape) -> usize {
    if is_fixed(shape) { 1_000 } else { 400 }
}

fn value(shape: TrieShape, len: usize) -> Vec<u8> {
    if is_fixed(shape) { len.to_string().into_bytes() } else { vec![len as u8; 900] }
}

/// Returns a store in which each key is a prefix of the next, and the number of pages on the path
/// of the last key.
fn nested(shape: TrieShape) -> (DiskStore, u64) {
    let storage = &SimStorage::new();
    let store = open_cached(storage, shape, 8_000);
    let step = if is_fixed(shape) { 50 } else { 1 };
    for len in (step..=longest(shape)).step_by(step) {
        store.set(&vec![b'a'; len], &value(shape, len)).unwrap();
    }
    let depth = store.snapshot().unwrap().check().unwrap().page_depth as u64;
    store.close().unwrap();
    assert!(depth > CACHE as u64 * 3 / 2, "{shape:?}: the path has {depth} pages");
    (open_cached(storage, shape, CACHE), depth)
}

/// Pages that were loaded, and all visits of pages.
fn costs(store: &DiskStore) -> (u64, u64) {
    let stats = store.stats().buffer;
    (stats.misses, stats.hits + stats.misses)
}

/// Runs an operation three times, and checks each time its costs: one load of each page of a path,
/// and a few visits. `more` are pages beside those of the path.
fn check_cost(
    store: &DiskStore,
    (what, depth, more): (&str, u64, u64),
    mut operation: impl FnMut(&DiskStore),
) {
    for round in 0..3 {
        let before = costs(store);
        operation(store);
        let after = costs(store);
        let (loads, visits) = (after.0 - before.0, after.1 - before.1);
        println!("{what}, round {round}: {loads} loads, {visits} visits, a path of {depth} pages");
        assert!(loads <= depth + more, "{what}, round {round}: {loads} loads for a path of {depth}");
        let visits_most = 8 * (depth + more) + 2 * longest(store.shape()) as u64;
        assert!(visits <= visits_most, "{what}, round {round}: {visits} visits for a path of {depth}");
    }
}

fn last_keys(keys: usize) -> ScanRequest<'static> {
    ScanRequest { keys, direction: WalkDirection::Backward, ..ScanRequest::default() }
}

/// Incident: a walk restarted from the root for each page that was missing, and searched all pages
/// that the cache had no room for. Consequence: a path of N pages that is longer than the cache
/// took N³ steps: one GET of 8,000 nested keys took 19 s, and the clients of its worker waited for
/// it. With a larger cache it took N² steps. Fix: a walk that uses one page at a time loads pages
/// without a restart, overlapping lookups go on where they stopped, and loaded pages are found by
/// their ids.
#[test]
fn a_read_loads_each_page_of_a_long_path_once() {
    for shape in DEEP {
        let (store, depth) = nested(shape);
        let key = &vec![b'a'; longest(shape)][..];
        let found = Some(value(shape, key.len()));
        let cost = |what| (what, depth, 2);
        check_cost(&store, cost("get"), |store| assert_eq!(store.get(key).unwrap(), found));
        check_cost(&store, cost("get many"), |store| {
            let keys = [key, b"none", &key[..50], &key[..longest(shape) - 50]];
            let all = store.get_many(&keys, usize::MAX).unwrap();
            assert_eq!(all.get(0).map(|found| found.1), found.as_deref());
            assert!(all.get(1).is_none() && all.get(2).is_some() && all.get(3).is_some());
        });
        check_cost(&store, cost("versions"), |store| {
            assert!(store.versions(&[key, b"none"]).unwrap()[0].is_some());
        });
        check_cost(&store, ("range", depth, 20), |store| {
            assert_eq!(store.range(&last_keys(20)).unwrap().entries.len(), 20);
        });
        check_cost(&store, ("cursor", depth, 20), |store| {
            let mut cursor = store.cursor().unwrap();
            assert_eq!(cursor.seek_back(key).unwrap().map(|entry| entry.key), Some(key.to_vec()));
            assert!(cursor.prev().unwrap().is_some());
        });
    }
}

#[test]
fn a_snapshot_loads_each_page_of_a_long_path_once() {
    for shape in DEEP {
        let (store, depth) = nested(shape);
        let key = &vec![b'a'; longest(shape)][..];
        let found = Some(value(shape, key.len()));
        let snapshot = store.snapshot().unwrap();
        for round in ["before a write", "after a write"] {
            let cost = |what| (what, depth, 2);
            println!("{round}");
            check_cost(&store, cost("get"), |_| assert_eq!(snapshot.get(key).unwrap(), found));
            check_cost(&store, cost("get many"), |_| {
                let all = snapshot.get_many(&[key, &key[..50]], usize::MAX).unwrap();
                assert_eq!(all.get(0).map(|found| found.1), found.as_deref());
            });
            check_cost(&store, ("range", depth, 20), |_| {
                assert_eq!(snapshot.range(&last_keys(20)).unwrap().entries.len(), 20);
            });
            store.set(key, b"7").unwrap();
        }
    }
}

#[test]
fn a_write_loads_each_page_of_a_long_path_once() {
    for shape in DEEP {
        let (store, depth) = nested(shape);
        let key = &vec![b'a'; longest(shape)][..];
        // A split or a join looks at neighbours of the page.
        let cost = |what| (what, depth, 8);
        check_cost(&store, cost("set"), |store| _ = store.set(key, b"7").unwrap());
        check_cost(&store, cost("insert and remove"), |store| {
            let mut transaction = store.begin();
            transaction.set(&[key, b"b"].concat(), b"8").unwrap();
            assert!(transaction.remove(&[key, b"b"].concat()).unwrap());
            transaction.commit().unwrap();
        });
        check_cost(&store, ("range removal", 2 * depth, 8), |store| {
            let mut transaction = store.begin();
            transaction.set(&[key, b"b"].concat(), b"8").unwrap();
            transaction.commit().unwrap();
            let mut transaction = store.begin();
            let removed = transaction.remove_range((Bound::Excluded(key), Bound::Unbounded), 10).unwrap();
            assert_eq!(removed.count, 1);
            transaction.commit().unwrap();
        });
        assert_eq!(store.get(key).unwrap(), Some(b"7".to_vec()));
        store.check().unwrap();
    }
}
