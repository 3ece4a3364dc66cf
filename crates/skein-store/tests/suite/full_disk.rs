//! Disks and tables that are full for a while: writes wait, reads continue, and no acknowledged
//! write is lost.

use std::path::Path;
use std::time::Duration;

use crate::common::options;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};
use skein_store::{Durability, Error, Store, StoreOptions};

const VALUE: [u8; 2_000] = [7; 2_000];

/// The logs have their own disk.
fn open(disk: &SimStorage, durability: Durability, checkpoints: Option<Duration>) -> Store {
    let options = StoreOptions {
        storage: disk.share(),
        log_folders: vec!["/logs".into()],
        checkpoint_interval: checkpoints,
        ..options(durability)
    };
    Store::open("/data", options).unwrap()
}

/// Puts keys from `from` on until writes stop for lack of space. Returns the first key that was not
/// acknowledged.
fn fill(store: &Store, from: u32) -> u32 {
    for key in from.. {
        match store.put(&key.to_be_bytes(), &VALUE) {
            Ok(_) => {}
            Err(Error::NoRoomOnDisk { .. }) => return key,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the disk has an end")
}

/// Waits until writes continue.
fn wait_for_room(store: &Store) {
    while store.writes_stopped().is_some() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn check(store: &Store, keys: u32) {
    for key in 0..keys {
        assert_eq!(store.get(&key.to_be_bytes()).unwrap().as_deref(), Some(&VALUE[..]), "key {key}");
    }
}

/// Incident: with a full log disk a checkpoint was rejected like a write, although the segments
/// that it frees are the space that writes wait for. Fix: it runs while no thread writes. After a
/// crash at any time afterwards all acknowledged writes are present.
#[test]
fn a_checkpoint_makes_room_on_a_full_log_disk() {
    for seed in 0..24 {
        let disk = SimStorage::new();
        let store = open(&disk, Durability::Sync, None);
        disk.limit(Path::new("/logs"), Some(400 << 10));
        let first = fill(&store, 0);
        check(&store, first);
        let report = store.checkpoint().unwrap();
        assert!(report.segments_removed > 0 && report.rows >= u64::from(first), "{report:?}");
        let mut acknowledged = first;
        if seed % 3 > 0 {
            wait_for_room(&store);
            acknowledged = fill(&store, first);
            assert!(acknowledged > first + 20, "writes continued: {first}, then {acknowledged}");
            if seed % 3 > 1 {
                store.checkpoint().unwrap();
            }
        }
        disk.limit(Path::new("/logs"), None);
        disk.reboot(seed);
        drop(store);
        let store = open(&disk, Durability::Sync, None);
        check(&store, acknowledged);
        store.put(b"after", b"it").unwrap();
        store.close().unwrap();
        let store = open(&disk, Durability::Sync, None);
        check(&store, acknowledged);
        assert!(store.get(b"after").unwrap().is_some());
    }
}

/// Incident: no checkpoint began without a request either, so a full log disk stayed full.
#[test]
fn a_full_log_disk_is_a_reason_for_a_checkpoint() {
    let disk = SimStorage::new();
    let store = open(&disk, Durability::Sync, Some(Duration::from_secs(60 * 60)));
    disk.limit(Path::new("/logs"), Some(400 << 10));
    let mut next = 0;
    for _ in 0..3 {
        next = fill(&store, next);
        wait_for_room(&store);
    }
    assert!(store.stats().checkpoints >= 3);
    check(&store, next);
    store.close().unwrap();
}

/// A checkpoint that finds no space is rejected, and writes continue when there is some.
#[test]
fn a_checkpoint_without_room_leaves_all_as_it_was() {
    let disk = SimStorage::new();
    let store = open(&disk, Durability::Sync, None);
    disk.limit(Path::new("/"), Some(400 << 10));
    let next = fill(&store, 0);
    assert!(store.checkpoint().is_err());
    disk.limit(Path::new("/"), None);
    wait_for_room(&store);
    store.put(b"after", b"it").unwrap();
    check(&store, next);
    store.checkpoint().unwrap();
    disk.reboot(7);
    drop(store);
    check(&open(&disk, Durability::Sync, None), next);
}

/// Incident: without a file descriptor for the next segment the log was poisoned, and acknowledged
/// writes at `buffered` were missing after a restart. Fix: writes wait, reads continue, and a
/// checkpoint fails without harm.
#[test]
fn too_many_open_files_are_waited_for() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let disk = SimStorage::new();
        let store = open(&disk, durability, None);
        disk.fail_at(disk.operations() + 1, SimError::TooManyFiles, true);
        let next = fill(&store, 0);
        check(&store, next);
        let refused = store.checkpoint().unwrap_err();
        assert!(refused.to_string().contains("Too many open files"), "{refused}");
        disk.no_faults();
        wait_for_room(&store);
        store.put(b"after", b"it").unwrap();
        store.flush().unwrap();
        store.checkpoint().unwrap();
        disk.reboot(u64::from(next));
        drop(store);
        let store = open(&disk, durability, None);
        check(&store, next);
        assert!(store.get(b"after").unwrap().is_some());
    }
}
