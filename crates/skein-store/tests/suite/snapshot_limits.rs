//! The limits of snapshots: their number, and the memory that is kept for them. Their memory is
//! freed, and they are handles of their store.

use std::ops::Bound::Unbounded;

use crate::common::{StoreTestRng, each_index, open, options, over};
use skein_store::{Durability, Error, Eviction, SNAPSHOTS_MAX, Snapshot, Store, StoreLimits, StoreOptions};

fn value(snapshot: &Snapshot) -> Option<Vec<u8>> {
    snapshot.get_entry(b"goose").unwrap().and_then(|entry| entry.value)
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
    let store = Store::open(&path, StoreOptions { limits, ..options(Durability::None) }).unwrap();
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
        let opened = Store::open(&path, StoreOptions { limits, ..options(Durability::None) });
        match (opened, fine) {
            (Ok(store), true) => {
                let live: Vec<_> = (0..snapshots).map(|_| store.snapshot().unwrap()).collect();
                is_refused(&store, snapshots, snapshots);
                store.checkpoint().unwrap();
                drop(live);
                assert_eq!(store.stats().snapshots, 0);
            }
            (Err(Error::BadOption { name: "limits.snapshots", why }), false) => {
                assert!(why.contains(&snapshots.to_string()) && why.contains("1 to 65536"), "{why}");
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
    let store = Store::open(folder.path(), StoreOptions { limits, ..options(Durability::None) }).unwrap();
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

/// Rows that were kept for snapshots are freed when these are dropped, in any order. Rows that no
/// snapshot needs are not kept.
#[test]
fn memory_comes_back_after_the_snapshots() {
    each_index(|folder, index| {
        let store = Store::open(folder, over(index, Durability::None)).unwrap();
        let write = |round: u8| {
            for key in 0..500_u16 {
                store.put(&key.to_be_bytes(), &[round; 1000]).unwrap();
            }
        };
        let kept = || store.stats().snapshot_bytes;
        write(0);
        let mut snapshots = vec![store.snapshot().unwrap()];
        assert_eq!(kept(), 0);
        write(1);
        let one = kept();
        assert!((500 * 1000..500 * 1400).contains(&one), "{one}");
        write(1);
        assert_eq!(kept(), one, "each key is kept once");
        for round in 2..7 {
            snapshots.push(store.snapshot().unwrap());
            write(round);
            write(round);
        }
        assert_eq!(kept(), 6 * one, "six snapshots keep six rows of each key");
        assert!(store.stats().row_bytes >= 7 * 500 * 1000);
        for (place, left) in [(2, 5), (0, 4), (3, 3), (1, 2), (0, 1), (0, 0)] {
            drop(snapshots.remove(place));
            assert_eq!(kept(), left * one);
        }
        // Writes also free waiting memory.
        let shrinks = (0..1000).any(|_| {
            write(9);
            store.stats().row_bytes <= 2 * 500 * 1100
        });
        assert!(shrinks, "{}", store.stats().row_bytes);
    });
}

/// A row that two snapshots see is kept once, and stays until the second one ends.
#[test]
fn snapshots_share_the_rows_that_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::None);
    store.put(b"goose", b"grey").unwrap();
    for newest_first in [true, false] {
        let (first, second) = (store.snapshot().unwrap(), store.snapshot().unwrap());
        let before = value(&first);
        store.put(b"goose", b"bean").unwrap();
        let kept = store.stats().snapshot_bytes;
        store.put(b"swan", b"mute").unwrap();
        store.remove(b"swan").unwrap();
        let (early, late) = if newest_first { (second, first) } else { (first, second) };
        drop(early);
        assert_eq!(value(&late), before);
        assert!(late.get_entry(b"swan").unwrap().is_none());
        assert!(store.stats().snapshot_bytes >= kept && kept > 0);
        drop(late);
        assert_eq!(store.stats().snapshot_bytes, 0);
    }
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
        assert_eq!(store.stats().snapshot_bytes, 0);
    }
    // A dropped release frees its rows at once.
    let snapshot = store.snapshot().unwrap();
    write(20);
    let mut release = snapshot.release();
    assert!(release.step(4) && store.stats().snapshot_bytes > 0);
    drop(release);
    assert_eq!(store.stats().snapshot_bytes, 0);
}

/// Over the limit of kept bytes the oldest snapshot ends: its reads return an error, and its memory
/// is freed. Later snapshots continue.
#[test]
fn the_oldest_snapshot_ends_at_the_limit_of_kept_bytes() {
    each_index(|folder, index| {
        let limits = StoreLimits { snapshot_bytes: Some(300_000), ..StoreLimits::default() };
        let store = Store::open(folder, StoreOptions { limits, ..over(index, Durability::None) }).unwrap();
        store.put(b"goose", b"grey").unwrap();
        let write = |from: u16, to: u16, round: u8| {
            for key in from..to {
                store.put(&key.to_be_bytes(), &[round; 1000]).unwrap();
            }
        };
        write(0, 400, 0);
        let first = store.snapshot().unwrap();
        write(0, 150, 1);
        let second = store.snapshot().unwrap();
        assert_eq!(value(&first), Some(b"grey".to_vec()));
        write(0, 50, 2);
        assert!(first.check().is_ok());
        write(150, 400, 2);
        let is_ended = |ended: Error| {
            let text = ended.to_string();
            assert!(matches!(ended, Error::SnapshotEnded { limit: 300_000 }), "{text}");
            assert!(text.contains("300000 bytes") && text.contains("raise `max_snapshot_memory`"), "{text}");
        };
        is_ended(first.check().unwrap_err());
        is_ended(first.get_entry(b"goose").unwrap_err());
        is_ended(first.range((Unbounded, Unbounded), skein_store::ScanDirection::Forward, 1).unwrap_err());
        assert!(store.stats().snapshot_bytes <= 300_000 + 2000, "{}", store.stats().snapshot_bytes);
        // The second one keeps more than the limit by itself, so it has ended, too.
        is_ended(second.check().unwrap_err());
        assert_eq!(store.stats().snapshots, 0);
        let third = store.snapshot().unwrap();
        write(0, 100, 3);
        assert_eq!(third.get_entry(&7_u16.to_be_bytes()).unwrap().unwrap().value.unwrap(), [2; 1000]);
        drop((first, second, third));
        assert_eq!(store.stats().snapshot_bytes, 0);
    });
}

/// If the snapshot of a checkpoint without a log ends, the checkpoint is written nevertheless, each
/// row as it is.
#[test]
fn a_checkpoint_whose_snapshot_ends_is_still_written() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits { snapshot_bytes: Some(1), ..StoreLimits::default() };
    let path = folder.path().join("store");
    let options = StoreOptions { limits, ..options(Durability::None) };
    let store = Store::open(&path, options.clone()).unwrap();
    let write = || {
        for key in 0..20_000_u16 {
            store.put(&key.to_be_bytes(), b"value").unwrap();
        }
    };
    write();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                write();
            }
        });
        for _ in 0..5 {
            assert_eq!(store.checkpoint().unwrap().rows, 20_000);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!((store.stats().snapshots, store.stats().snapshot_bytes), (0, 0));
    let copied = folder.path().join("copied");
    crate::common::copy(&path, &copied);
    assert_eq!(Store::open(&copied, options).unwrap().len(), 20_000);
}

/// Keys that are evicted stay in a snapshot, and their memory does not make the store evict more.
#[test]
fn evicted_keys_stay_in_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits {
        memory_bytes: Some(4 << 20),
        eviction: Eviction::Lru,
        snapshot_bytes: Some(3 << 20),
        ..StoreLimits::default()
    };
    let store = Store::open(folder.path(), StoreOptions { limits, ..options(Durability::None) }).unwrap();
    if crate::common::skipped("it starts with much memory") {
        return;
    }
    for key in 0..2000_u16 {
        store.put(&key.to_be_bytes(), &[7; 1000]).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    let present = snapshot.range((Unbounded, Unbounded), skein_store::ScanDirection::Forward, 5000).unwrap();
    for key in 2000..4500_u16 {
        store.put(&key.to_be_bytes(), &[7; 1000]).unwrap();
    }
    assert!(store.stats().evicted > 0 && store.len() > 1000, "{:?}", store.stats());
    let again = snapshot.range((Unbounded, Unbounded), skein_store::ScanDirection::Forward, 5000).unwrap();
    assert!(present == again);
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
    let locked = Store::open(folder.path(), options(Durability::Sync)).unwrap_err();
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
