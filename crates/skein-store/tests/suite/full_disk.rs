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

/// Puts keys that fill some segments.
fn fill_segments(store: &Store) -> u32 {
    for key in 0..100u32 {
        store.put(&key.to_be_bytes(), &VALUE).unwrap();
        if key % 40 == 39 {
            store.flush().unwrap();
        }
    }
    100
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

/// Incident: with a full log disk a checkpoint was rejected like a write, although it frees the
/// segments that writes wait for. Fix: it runs while no thread writes. After a crash at any time
/// afterwards all acknowledged writes are present.
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

/// Incident: while the disk was full, a checkpoint was written at a standstill, noted, and the log
/// segments before it were removed. A client's SAVE began at the same epoch, failed because the
/// files existed, and its clean-up removed the complete checkpoint. Consequence: all data were
/// lost. Fix: nothing was written since, so the second checkpoint recognizes the first one as its
/// own.
#[test]
fn a_second_checkpoint_on_a_full_disk_keeps_the_first() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let disk = SimStorage::new();
        let store = open(&disk, durability, None);
        let next = fill_segments(&store);
        disk.refuse_new_files(&["log-"]);
        let next = fill(&store, next);
        let first = store.checkpoint().unwrap();
        let second = store.checkpoint().unwrap();
        // At `buffered` the log still commits the acknowledged writes, and that begins another
        // epoch.
        let same_epoch = first.begin_epoch == second.begin_epoch || durability == Durability::Buffered;
        assert!(same_epoch && first.rows == second.rows, "{first:?}, then {second:?}");
        assert!(first.segments_removed > 0 || durability == Durability::Buffered, "{first:?}");
        // A checkpoint of a later epoch may remove what the first one still needed.
        let nothing_left = second.segments_removed == 0 || second.begin_epoch > first.begin_epoch;
        assert!(nothing_left, "{first:?}, then {second:?}");
        disk.refuse_new_files(&[]);
        disk.reboot(u64::from(next));
        drop(store);
        check(&open(&disk, durability, None), next);
    }
}

/// A checkpoint that could not remove the segments before it is complete all the same.
#[test]
fn a_checkpoint_whose_segments_stay_is_kept_by_the_next() {
    let disk = SimStorage::new();
    let store = open(&disk, Durability::Sync, None);
    let next = fill_segments(&store);
    // Without the second name, no segment manifest can be replaced.
    disk.refuse_new_files(&["log-", "log.tmp"]);
    let next = fill(&store, next);
    assert!(store.checkpoint().is_err() && store.checkpoint().is_err());
    disk.refuse_new_files(&["log-"]);
    assert!(store.checkpoint().unwrap().segments_removed > 0);
    disk.refuse_new_files(&[]);
    wait_for_room(&store);
    let next = next + u32::from(store.put(&next.to_be_bytes(), &VALUE).is_ok());
    disk.reboot(3);
    drop(store);
    check(&open(&disk, Durability::Sync, None), next);
}

/// Writes that reached the present epoch after its checkpoint are in the next one. That checkpoint
/// closes the epoch, and so has a name of its own.
#[test]
fn a_checkpoint_has_the_writes_since_the_one_before() {
    let disk = SimStorage::new();
    let store = open(&disk, Durability::Buffered, None);
    let mut next = 0;
    for _ in 0..4 {
        disk.refuse_new_files(&["log-"]);
        next = fill(&store, next);
        let report = store.checkpoint().unwrap();
        assert_eq!(report.rows, u64::from(next));
        disk.refuse_new_files(&[]);
        wait_for_room(&store);
    }
    disk.refuse_new_files(&["log-"]);
    let next = fill(&store, next);
    store.checkpoint().unwrap();
    disk.refuse_new_files(&[]);
    disk.reboot(5);
    drop(store);
    check(&open(&disk, Durability::Buffered, None), next);
}

/// Two checkpoints at a standstill, while the disk fails from some operation on: in the parts, the
/// manifest, the identity, or the removal of outdated files. Nothing acknowledged is lost, whether
/// the process continues, is killed, or the power is cut.
#[test]
fn a_checkpoint_that_fails_anywhere_leaves_one_that_counts() {
    for error in [SimError::NoSpace, SimError::Io, SimError::TooManyFiles] {
        for at in 1.. {
            let disk = SimStorage::new();
            let store = open(&disk, Durability::Sync, None);
            store.put(b"before", b"it").unwrap();
            store.checkpoint().unwrap();
            let next = fill_segments(&store);
            disk.refuse_new_files(&["log-"]);
            let next = fill(&store, next);
            disk.fail_at(disk.operations() + at, error, true);
            let failed = store.checkpoint().is_err();
            let _ = store.checkpoint();
            match at % 3 {
                0 => {
                    disk.no_faults();
                    let _ = store.checkpoint();
                }
                1 => disk.kill(),
                _ => disk.reboot(at),
            }
            disk.no_faults();
            disk.refuse_new_files(&[]);
            if at % 3 > 0 {
                drop(store);
                check(&open(&disk, Durability::Sync, None), next);
            } else {
                check(&store, next);
            }
            // Whatever that process or the opening relied on must be durable.
            disk.reboot(at / 3);
            let again =
                Store::open("/data", StoreOptions { storage: disk.share(), ..options(Durability::Sync) });
            let again = again.unwrap_or_else(|lost| panic!("{error:?} from operation {at} on: {lost}"));
            check(&again, next);
            assert!(again.get(b"before").unwrap().is_some(), "{error:?} from operation {at} on");
            if !failed {
                break;
            }
        }
    }
}
