//! Reads continue while writes cannot.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use skein_disk::{DiskError, DiskStore, Durability};
use skein_log::storage::Storage;

use super::faulty::FaultyStorage;
use super::{StorageFaultModel, assert_has, key, options, set};

const KEYS: u32 = 3_000;

/// Returns a store with more pages than its cache, all of them in the file.
fn filled(storage: &FaultyStorage, durability: Durability) -> (DiskStore, StorageFaultModel) {
    let store = DiskStore::open_on(storage.share(), "/db", options(durability)).unwrap();
    let mut model = StorageFaultModel::new();
    for number in 0..KEYS {
        set(&store, &mut model, number, &[number as u8; 600]);
    }
    store.checkpoint().unwrap();
    (store, model)
}

/// Writes until the cache has only changed pages, and more. Returns how many writes were refused.
fn write_much(store: &DiskStore, model: &mut StorageFaultModel) -> usize {
    let mut refused = 0;
    for step in 0..600_u32 {
        let key = key(step * 97 % KEYS);
        match store.set(&key, &[step as u8; 600]) {
            Ok(_) => _ = model.insert(key, vec![step as u8; 600]),
            // The log is written after the pages, so the write may have been applied.
            Err(DiskError::Log(_)) => {
                refused += 1;
                let found = store.get(&key).unwrap().unwrap();
                assert!(found == model[&key] || found == [step as u8; 600]);
                model.insert(key, found);
            }
            Err(_) => refused += 1,
        }
    }
    refused
}

/// Waits until the log has noticed that there is room again.
fn wait_for_room(store: &DiskStore, model: &mut StorageFaultModel) {
    let begun = Instant::now();
    while let Err(error) = store.set(&key(0), b"there is room") {
        assert!(begun.elapsed() < Duration::from_secs(120), "{error}");
        std::thread::sleep(Duration::from_millis(10));
    }
    model.insert(key(0), b"there is room".to_vec());
}

/// Incident: the disk was full, so changed pages could not be evicted, and a read that needed room
/// failed. Consequence: 1,728 of 2,000 reads of intact pages returned an error. Fix: if no page can
/// be evicted, a reader reads without the cache.
#[test]
fn reads_continue_while_the_disk_is_full() {
    for durability in [Durability::Sync, Durability::None] {
        let storage = FaultyStorage::default();
        let (store, mut model) = filled(&storage, durability);
        storage.faults.full.store(true, SeqCst);
        assert!(write_much(&store, &mut model) > 0);
        let stopped = store.writes_stopped().expect("a full disk is reported").to_string();
        assert!(stopped.contains("No space left"), "{stopped}");
        assert_has(&store, &model, "while the disk is full");
        assert_eq!(store.check().unwrap().main.keys, model.len());
        storage.faults.full.store(false, SeqCst);
        wait_for_room(&store, &mut model);
        assert_eq!(write_much(&store, &mut model), 0, "writes continue when there is room");
        assert!(store.writes_stopped().is_none());
        assert_has(&store, &model, "with room again");
        store.close().unwrap();
        let store = DiskStore::open_on(storage.share(), "/db", options(durability)).unwrap();
        assert_has(&store, &model, "opened again");
    }
}

/// Incident: after a failed sync of the page file reads failed as above, and `writes_stopped`
/// returned nothing. A page that had been written by an eviction was read back from the system.
/// Linux may drop such pages after a failed write-back and read the previous bytes from the disk.
/// Consequence: an old version of a page with a correct checksum would have been taken for the
/// current one. Fix: reads work without the cache. Pages written since the last sync are known by
/// their checksums, and another version is an error. `writes_stopped` includes the page file, and
/// writes are refused.
#[test]
fn after_a_failed_sync_reads_return_no_old_page() {
    for durability in [Durability::Sync, Durability::None] {
        let storage = FaultyStorage::default();
        let (store, mut model) = filled(&storage, durability);
        let before = model.clone();
        assert_eq!(write_much(&store, &mut model), 0);
        storage.faults.sync_of_pages.store(true, SeqCst);
        assert!(store.checkpoint().unwrap_err().to_string().contains("Input/output error"));
        let stopped = store.writes_stopped().expect("the page file's failure is reported");
        assert!(matches!(stopped, DiskError::Stopped { .. }), "{stopped}");
        let refused = store.set(&key(1), b"lost").unwrap_err();
        assert!(matches!(refused, DiskError::Stopped { .. }), "{refused}");
        let (mut right, mut reported) = (0, 0);
        for (key, value) in &model {
            match store.get(key) {
                Ok(found) => {
                    assert!(found.as_ref() == Some(value), "{}", key.escape_ascii());
                    right += usize::from(before[key] != *value);
                }
                Err(error) => {
                    assert!(error.to_string().contains("a sync of the file failed"), "{error}");
                    reported += 1;
                }
            }
        }
        assert!(right > 10 && reported > 10, "{right} right and {reported} reported");
        store.close().unwrap_err();
    }
}

/// Incident: the log filled the disk. A checkpoint, which would have freed segments, first waited
/// for the log to be durable, which needed room; and changed pages had no place in a file that
/// could not grow. Consequence: the store stayed full until somebody freed space by hand. Fix:
/// without room in the log, a checkpoint records the last durable epoch as the first one with later
/// writes, although it has them; and each changed page has a promised place from its publication
/// onwards.
#[test]
fn a_checkpoint_frees_space_on_a_full_disk() {
    for then_power_fails in [false, true] {
        let storage = FaultyStorage::default();
        let (store, mut model) = filled(&storage, Durability::Sync);
        // Room for a file of 2,048 pages, which these keys need at most, and for some segments of
        // 64 KiB.
        storage.faults.quota.store((8 << 20) + (1 << 20), SeqCst);
        let mut refused = 0;
        for step in 0..4_000_u32 {
            let key = key(step * 97 % KEYS);
            refused += usize::from(store.set(&key, &[step as u8; 600]).is_err());
            // A write that the log refused may have been applied.
            let found = store.get(&key).unwrap().unwrap();
            assert!(found == model[&key] || found == [step as u8; 600]);
            model.insert(key, found);
        }
        assert!(refused > 0 && store.writes_stopped().is_some(), "{refused}");
        store.checkpoint().unwrap();
        if then_power_fails {
            storage.inner.reboot(3);
            drop(store);
            let store = DiskStore::open_on(storage.share(), "/db", options(Durability::Sync)).unwrap();
            assert_has(&store, &model, "after the power failed");
            store.check().unwrap();
            continue;
        }
        wait_for_room(&store, &mut model);
        assert_eq!(write_much(&store, &mut model), 0, "writes continue");
        assert_has(&store, &model, "with room that a checkpoint made");
        storage.inner.reboot(4);
        drop(store);
        let store = DiskStore::open_on(storage.share(), "/db", options(Durability::Sync)).unwrap();
        assert_has(&store, &model, "opened again");
        store.check().unwrap();
    }
}
