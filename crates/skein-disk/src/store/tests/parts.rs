//! Folders that have lost a part, or have parts of two stores.

use std::path::{Path, PathBuf};

use skein_log::Durability;
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::{FOLDER, SHAPES, key};
use crate::store::{DiskOptions, DiskStore, FILE, LOG, inspect};
use crate::{DiskError, Result};

const IN_FILE: usize = 20;
const IN_LOG: usize = 30;

fn options() -> DiskOptions {
    DiskOptions {
        shape: SHAPES[0],
        durability: Durability::Sync,
        checkpoint_bytes: 0,
        segment_bytes: 64 << 10,
        ..DiskOptions::default()
    }
}

fn open(storage: &SimStorage) -> Result<DiskStore> {
    DiskStore::open_on(storage.share(), FOLDER, options())
}

/// Returns the folder of a killed store, with some writes in its log alone.
fn killed() -> SimStorage {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    for number in 0..IN_FILE + IN_LOG {
        store.set(&key(number), b"value").unwrap();
        if number + 1 == IN_FILE {
            store.checkpoint().unwrap();
        }
    }
    storage.cut_power_at(storage.operations() + 1);
    drop(store);
    storage.no_faults();
    storage.reboot(1);
    storage
}

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

fn log_files(storage: &SimStorage) -> Vec<PathBuf> {
    let names = storage.list(&path(LOG)).unwrap();
    names.into_iter().map(|entry| path(LOG).join(entry.name)).collect()
}

/// Checks that opening reports the damage and changes nothing, and that an inspection reports it.
fn expect_damage(storage: &SimStorage, is_it: impl Fn(&DiskError) -> bool) {
    for _ in 0..2 {
        let error = open(storage).unwrap_err();
        assert!(is_it(&error), "{error}");
        let found = inspect(FOLDER, storage);
        let found = found.map_or_else(|error| vec![error], |found| found.damage);
        assert!(found.iter().any(&is_it), "{found:?}");
    }
}

/// Incident: a folder `log` that was lost, or lost its list of segments, was made anew.
/// Consequence: the store started with the state of its last checkpoint: acknowledged writes were
/// gone, and old values were back. Fix: a file with a checkpoint must have a log.
#[test]
fn a_lost_log_is_damage() {
    for is_whole in [true, false] {
        let storage = killed();
        for file in log_files(&storage) {
            if is_whole || file.ends_with("log.roster") {
                storage.remove(&file).unwrap();
            }
        }
        expect_damage(&storage, |error| {
            matches!(error, DiskError::LogMissing { path, sequence, .. }
                if path.ends_with("log/log.roster") && *sequence == IN_FILE as u64 + 1)
        });
        let gives_up = DiskOptions { give_up_log: true, ..options() };
        let store = DiskStore::open_on(storage.share(), FOLDER, gives_up).unwrap();
        assert_eq!(store.len(), if is_whole { IN_FILE as u64 } else { 40 });
        store.set(b"after", b"it").unwrap();
        drop(store);
        assert_eq!(open(&storage).unwrap().get(b"after").unwrap().as_deref(), Some(&b"it"[..]));
    }
}

#[test]
fn a_lost_page_file_is_damage() {
    let storage = killed();
    storage.remove(&path(FILE)).unwrap();
    expect_damage(&storage, |error| matches!(error, DiskError::FileMissing { .. }));
    assert!(storage.open(&path(FILE), false).is_err(), "no new file is made");
}

/// Incident: `data.skein` of another store in the folder passed `check`. Consequence: a file that
/// was put back into the wrong folder looked whole, and no server started with it. Fix: the ids of
/// the file and of the log's list of segments are compared.
#[test]
fn a_page_file_of_another_store_is_damage() {
    let (storage, other) = (killed(), killed());
    let copy = other.open(&path(FILE), false).unwrap();
    let mut bytes = vec![0; copy.len().unwrap() as usize];
    assert_eq!(copy.read_at(&mut bytes, 0).unwrap(), bytes.len());
    storage.open(&path(FILE), true).unwrap().write_at(&bytes, 0).unwrap();
    expect_damage(
        &storage,
        |error| matches!(error, DiskError::TwoStores { file_store, log_store, .. } if file_store != log_store),
    );
}
