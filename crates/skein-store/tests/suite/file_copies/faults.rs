//! Copies under damage, power cuts and failing operations.

use std::path::Path;

use super::{copy_on, rows};
use crate::common::options;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};
use skein_store::{Durability, Error, Store, StoreOptions, inspect, is_data_folder_on};

/// Incident, imagined: an earlier copy is damaged. The damaged file must not be shared, and the
/// damaged logs must not be taken for sealed ones.
#[test]
fn damaged_files_of_an_earlier_copy_are_copied_anew() {
    let disk = SimStorage::new();
    let storage = disk.share();
    let open = |path: &str| {
        let options = StoreOptions { storage: disk.share(), ..options(Durability::Sync) };
        Store::open(path, options).unwrap()
    };
    let store = open("/store");
    for number in 0..600_u32 {
        store.put(&number.to_be_bytes(), &[7; 500]).unwrap();
        if number == 300 {
            store.checkpoint().unwrap();
        }
    }
    copy_on(&store, storage.clone(), Path::new("/1"), None).unwrap();
    let all = copy_on(&store, storage.clone(), Path::new("/2"), Some(Path::new("/1"))).unwrap();
    let part =
        storage.list(Path::new("/1")).unwrap().into_iter().find(|entry| entry.name.starts_with("check"));
    disk.damage(&Path::new("/1").join(part.unwrap().name).join("part-0000"), 5000, &[1]);
    let fewer = copy_on(&store, storage.clone(), Path::new("/3"), Some(Path::new("/1"))).unwrap();
    assert!(0 < fewer.shared_bytes && fewer.shared_bytes < all.shared_bytes, "{fewer:?}, {all:?}");
    let log =
        storage.list(Path::new("/1/log")).unwrap().into_iter().find(|entry| entry.name.ends_with("skl"));
    disk.damage(&Path::new("/1/log").join(log.unwrap().name), 2000, &[1]);
    copy_on(&store, storage.clone(), Path::new("/4"), Some(Path::new("/1"))).unwrap();
    assert!(rows(&open("/4")) == rows(&store));
    disk.damage(Path::new("/2/identity"), 20, &[1]);
    let whole = copy_on(&store, storage.clone(), Path::new("/5"), Some(Path::new("/2"))).unwrap();
    assert_eq!(whole.shared_bytes, 0);
}

/// The marks at the end of a copy's logs prove all records, so a lost end is never taken for a torn
/// tail with records in it.
#[test]
fn no_damage_of_a_copys_logs_loses_a_record_silently() {
    let disk = SimStorage::new();
    let storage = disk.share();
    let store =
        Store::open("/store", StoreOptions { storage: disk.share(), ..options(Durability::Sync) }).unwrap();
    let mut sessions = [store.session(), store.session()];
    for number in 0..200_u32 {
        let session = &mut sessions[number as usize % 2];
        session.write(|writer| writer.put(&number.to_be_bytes(), &[7; 100]).map(drop)).unwrap().0.unwrap();
    }
    copy_on(&store, storage.clone(), Path::new("/1"), None).unwrap();
    let whole = inspect("/1", &*storage).unwrap();
    assert!(whole.damage.is_empty() && whole.log_records == 200);
    let check = |about: &str| {
        let found = inspect("/1", &*storage).unwrap();
        assert!(!found.damage.is_empty() || found.log_records == 200, "{about}: {found:?}");
        usize::from(!found.damage.is_empty())
    };
    let mut noticed = 0;
    for entry in storage.list(Path::new("/1/log")).unwrap() {
        let path = Path::new("/1/log").join(&entry.name);
        if !entry.name.ends_with("skl") {
            continue;
        }
        let bytes = disk.contents(&path);
        for offset in (64..bytes.len() as u64).step_by(61) {
            disk.damage(&path, offset, &[0x55]);
            noticed += check(&format!("{} at {offset}", entry.name));
            disk.damage(&path, offset, &[0x55]);
        }
        for lost in [1, 40, 120, 500, 5000] {
            let file = storage.open(&path, true).unwrap();
            file.set_len(bytes.len() as u64 - lost).unwrap();
            noticed += check(&format!("{} without {lost} bytes", entry.name));
            file.write_at(&bytes, 0).unwrap();
        }
    }
    assert!(noticed > 400, "{noticed}");
}

const SEEDS: u64 = 3;

/// Runs a workload of two copies under the name of a partial folder, each renamed when it is whole.
fn copies_on(disk: &SimStorage) -> Result<(), Error> {
    let storage = disk.share();
    let options = StoreOptions { storage: disk.share(), ..options(Durability::Sync) };
    let store = Store::open("/store", options)?;
    let rename = |name: &str| {
        let (from, to) = (format!("/{name}.partial"), format!("/{name}"));
        storage.rename(Path::new(&from), Path::new(&to)).and_then(|()| storage.sync_dir(Path::new("/")))
    };
    for number in 0..300_u32 {
        store.put(&number.to_be_bytes(), &[1; 500])?;
        if number == 20 {
            store.checkpoint()?;
        }
    }
    copy_on(&store, storage.clone(), Path::new("/1.partial"), None)?;
    rename("1").map_err(|error| Error::BadOption { name: "rename", why: error.to_string() })?;
    store.put(b"second", b"2")?;
    copy_on(&store, storage.clone(), Path::new("/2.partial"), Some(Path::new("/1")))?;
    rename("2").map_err(|error| Error::BadOption { name: "rename", why: error.to_string() })?;
    store.close().map(drop)
}

/// Checks that each copy is absent or has all of its moment.
fn check_copies(disk: &SimStorage, about: &str) {
    let storage = disk.share();
    for (name, keys) in [("/1", 300), ("/2", 301)] {
        if !is_data_folder_on(&*storage, name) {
            assert!(
                !storage.list(Path::new(name)).is_ok_and(|found| !found.is_empty()),
                "{about}: {name} in part"
            );
            continue;
        }
        let found = inspect(name, &*storage).unwrap();
        assert!(found.damage.is_empty(), "{about}: {:?}", found.damage);
        let options = StoreOptions { storage: disk.share(), ..options(Durability::Sync) };
        let copied = Store::open(name, options).unwrap_or_else(|error| panic!("{about}: {name}: {error}"));
        assert_eq!(copied.len(), keys, "{about}: {name}");
        copied.put(b"goes on", b"1").unwrap();
        copied.remove(b"goes on").unwrap();
        copied.close().unwrap();
    }
}

#[test]
fn a_power_cut_leaves_a_whole_copy_or_none() {
    let disk = SimStorage::new();
    copies_on(&disk).unwrap();
    let last = disk.operations();
    check_copies(&disk, "no cut");
    for at in (1..=last).rev() {
        for seed in 0..SEEDS {
            let disk = SimStorage::new();
            disk.cut_power_at(at);
            let ended = copies_on(&disk);
            disk.reboot(at * 31 + seed);
            check_copies(&disk, &format!("cut at {at} of {last}, seed {seed}, {ended:?}"));
        }
    }
}

#[test]
fn a_failed_operation_leaves_a_whole_copy_or_none() {
    let disk = SimStorage::new();
    copies_on(&disk).unwrap();
    let last = disk.operations();
    for at in 1..=last {
        let errors = [(SimError::Io, false), (SimError::Io, true), (SimError::NoSpace, false)];
        for ((error, lasting), turn) in errors.into_iter().zip(at..) {
            let disk = SimStorage::new();
            disk.fail_at(at, error, lasting);
            let ended = copies_on(&disk);
            disk.no_faults();
            // Half of the failures are followed by a power cut.
            if turn % 2 == 0 {
                disk.reboot(at);
            }
            check_copies(&disk, &format!("{error:?} at {at} of {last}, {ended:?}"));
        }
    }
}
