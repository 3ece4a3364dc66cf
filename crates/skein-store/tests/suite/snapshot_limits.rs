//! The limits of snapshots: their number, and the indexes that support them. Their memory is freed,
//! and they are handles of their store.
//!
//! All tests run over the index with snapshots, whichever index other tests use.

use std::ops::Bound::Unbounded;

use crate::common::{StoreTestRng, options, skip_list};
use skein_store::{Durability, Error, IndexKind, SNAPSHOTS_MAX, Snapshot, Store, StoreLimits, StoreOptions};

fn open(path: &std::path::Path, durability: Durability) -> Store {
    Store::open(path, skip_list(durability)).unwrap()
}

fn value(snapshot: &Snapshot) -> Option<Vec<u8>> {
    snapshot.get_entry(b"goose").and_then(|entry| entry.value)
}

#[track_caller]
fn is_refused(store: &Store, live: usize, limit: usize) {
    let refused = store.snapshot().unwrap_err();
    let expected = (live, limit);
    assert!(
        matches!(refused, Error::TooManySnapshots { live, limit } if (live, limit) == expected),
        "{refused}"
    );
}

#[test]
fn too_many_snapshots_are_refused_and_a_checkpoint_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits { snapshots: 2, ..StoreLimits::default() };
    let path = folder.path().join("two");
    let store = Store::open(&path, StoreOptions { limits, ..skip_list(Durability::None) }).unwrap();
    store.put(b"goose", b"grey").unwrap();
    assert_eq!((store.stats().snapshots, store.stats().oldest_snapshot), (0, None));
    let (first, second) = (store.snapshot().unwrap(), store.snapshot().unwrap());
    is_refused(&store, 2, 2);
    store.put(b"goose", b"bean").unwrap();
    assert_eq!(store.checkpoint().unwrap().rows, 1);
    assert!(store.stats().snapshots == 2 && store.stats().oldest_snapshot.is_some());
    drop(second);
    let third = store.snapshot().unwrap();
    is_refused(&store, 2, 2);
    assert_eq!((value(&first), value(&third)), (Some(b"grey".to_vec()), Some(b"bean".to_vec())));
    drop((first, third));
    assert_eq!((store.stats().snapshots, store.stats().oldest_snapshot), (0, None));

    for (snapshots, fine) in [(0, false), (1, true), (SNAPSHOTS_MAX, true), (SNAPSHOTS_MAX + 1, false)] {
        let limits = StoreLimits { snapshots, ..StoreLimits::default() };
        let path = folder.path().join(snapshots.to_string());
        let opened = Store::open(&path, StoreOptions { limits, ..skip_list(Durability::None) });
        match (opened, fine) {
            (Ok(store), true) => {
                let live: Vec<_> = (0..snapshots).map(|_| store.snapshot().unwrap()).collect();
                is_refused(&store, snapshots, snapshots);
                store.checkpoint().unwrap();
                drop(live);
                assert_eq!(store.stats().snapshots, 0);
            }
            (Err(Error::BadOption { name: "limits.snapshots", why }), false) => {
                assert!(why.contains(&snapshots.to_string()) && why.contains("1 to 255"), "{why}");
            }
            (opened, _) => panic!("{snapshots}: {opened:?}"),
        }
    }
}

/// Many threads take more snapshots than allowed: the count is correct, and no snapshot remains.
#[test]
fn the_limit_holds_for_many_threads() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits { snapshots: 3, ..StoreLimits::default() };
    let store = Store::open(folder.path(), StoreOptions { limits, ..skip_list(Durability::None) }).unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=6 {
            let store = &store;
            scope.spawn(move || {
                let mut random = StoreTestRng(thread);
                let mut held = Vec::new();
                for _ in 0..500 {
                    match store.snapshot() {
                        Ok(snapshot) => held.push(snapshot),
                        Err(Error::TooManySnapshots { live: 3, limit: 3 }) => held.clear(),
                        Err(error) => panic!("{error}"),
                    }
                    if random.below(2) == 0 {
                        held.pop();
                    }
                    assert!(store.stats().snapshots <= 3);
                }
            });
        }
    });
    assert_eq!(store.stats().snapshots, 0);
    let live: Vec<_> = (0..3).map(|_| store.snapshot().unwrap()).collect();
    is_refused(&store, 3, 3);
    drop(live);
}

#[test]
fn other_indexes_say_which_one_has_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    for index in IndexKind::ALL.into_iter().filter(|kind| !kind.has_snapshots()) {
        let path = folder.path().join(index.name());
        let store = Store::open(&path, StoreOptions { index, ..options(Durability::None) }).unwrap();
        let refused = store.snapshot().unwrap_err();
        assert!(matches!(refused, Error::NoSnapshots { index: kind } if kind == index));
        let text = refused.to_string();
        assert!(
            text.contains(&format!("index {index} has no")) && text.contains("one that has (skip-list)"),
            "{text}"
        );
        store.put(b"goose", b"grey").unwrap();
        assert_eq!(store.checkpoint().unwrap().rows, 1);
        assert_eq!((store.stats().snapshots, store.stats().oldest_snapshot), (0, None));
    }
}

/// Rows that were kept for snapshots are freed when these are dropped, in any order. Rows that no
/// snapshot needs are not kept.
#[test]
fn memory_comes_back_after_the_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::None);
    let write = |round: u8| {
        for key in 0..500_u16 {
            store.put(&key.to_be_bytes(), &[round; 1000]).unwrap();
        }
    };
    // Writes also free waiting memory, so some are made while the test checks it.
    let shrinks_to = |bytes: usize| {
        (0..1000).any(|_| {
            write(9);
            store.stats().row_bytes <= bytes
        })
    };
    write(0);
    let one = store.stats().row_bytes;
    assert!(shrinks_to(one + one / 2), "{} of {one}", store.stats().row_bytes);
    let mut snapshots = Vec::new();
    for round in 0..6 {
        snapshots.push(store.snapshot().unwrap());
        write(round);
        write(round);
    }
    let kept = store.stats().row_bytes;
    assert!(kept >= one * 7, "six snapshots keep six rows of each key: {kept} of {one}");
    assert!(shrinks_to(one * 8), "and no more, however often they are written");
    for (place, most) in [(2, 7), (0, 6), (3, 5), (1, 4), (0, 3), (0, 2)] {
        drop(snapshots.remove(place));
        assert!(
            shrinks_to(one * most - one / 2),
            "{} of {one} with {}",
            store.stats().row_bytes,
            snapshots.len()
        );
    }
    let nodes = store.stats().index_bytes;
    store.remove_range((Unbounded, Unbounded)).unwrap();
    let left = store.stats();
    assert!(left.keys == 0 && left.index_bytes < nodes / 4, "{left:?}");
}

#[test]
fn a_release_frees_rows_in_steps() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::None);
    let write = |keys: u8| (0..keys).for_each(|key| assert!(store.put(&[key], b"value").is_ok()));
    write(20);
    for (written, steps) in [(0, 1), (10, 3), (20, 5)] {
        let snapshot = store.snapshot().unwrap();
        write(written);
        // Once for each key, however often it is written.
        write(written);
        let mut release = snapshot.release();
        assert_eq!(store.stats().snapshots, 0, "it has ended");
        assert_eq!((1..10).find(|_| !release.step(4)), Some(steps), "{written} of 4 at a time");
        assert!(!release.step(4), "nothing is left");
    }
    // A dropped release frees its rows at once.
    let snapshot = store.snapshot().unwrap();
    write(20);
    let mut release = snapshot.release();
    assert!(release.step(4));
    let nodes = store.stats().index_bytes;
    drop(release);
    assert!(store.stats().index_bytes < nodes, "no version was freed");
}

/// A snapshot is a handle: it keeps the store open and can be read after a close, and the folder is
/// free when it is dropped.
#[test]
fn a_snapshot_outlives_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Sync);
    store.put(b"goose", b"grey").unwrap();
    let snapshot = store.snapshot().unwrap();
    drop(store);
    let locked = Store::open(folder.path(), skip_list(Durability::Sync)).unwrap_err();
    assert!(matches!(locked, Error::Locked { .. }), "{locked}");
    snapshot.store().put(b"goose", b"bean").unwrap();
    let seen = std::thread::spawn(move || {
        snapshot.store().close().unwrap();
        let later = snapshot.store().snapshot().unwrap();
        (value(&snapshot), value(&later))
    });
    assert_eq!(seen.join().unwrap(), (Some(b"grey".to_vec()), Some(b"bean".to_vec())));
    assert_eq!(open(folder.path(), Durability::Sync).get(b"goose").unwrap(), Some(b"bean".to_vec()));
}
