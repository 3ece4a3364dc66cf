//! Plants bugs in the log and shows that the checks of `power_failures.rs` and `inspect.rs` find
//! them. The checks are that an acknowledged write survives a power cut, and that a changed byte is
//! damage.
//!
//! One test, because a planted bug affects the whole process.

mod common;

use common::options;
use skein_log::planted_bugs::{self, PlantedBug};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_store::{Durability, Error, Store, StoreOptions};

fn open(disk: &SimStorage) -> Result<Store, Error> {
    Store::open("/data", StoreOptions { storage: disk.share(), ..options(Durability::Sync) })
}

/// Returns whether some power cut, at any operation, loses an acknowledged write.
fn loses_acknowledged_writes() -> bool {
    (1..120).any(|at| {
        let disk = SimStorage::new();
        disk.cut_power_at(at);
        let mut acknowledged = 0;
        if let Ok(store) = open(&disk) {
            while acknowledged < 10 && store.put(&[acknowledged], b"v").is_ok() {
                acknowledged += 1;
            }
        }
        disk.reboot(at);
        let store = match open(&disk) {
            Ok(store) => store,
            // A mark in the log says that more was durable.
            Err(Error::Damaged { .. }) => return true,
            Err(error) => panic!("not the planted bug's failure: {error}"),
        };
        (0..acknowledged).any(|key| store.get(&[key]).unwrap().is_none())
    })
}

/// Returns whether a changed byte of a value, on a disk at rest, is returned as if it had been
/// written.
fn gives_back_damage() -> bool {
    let disk = SimStorage::new();
    let store = open(&disk).unwrap();
    store.put(b"k", &[7; 1000]).unwrap();
    store.close().unwrap();
    let path = "/data/log/log-0000-00000001.skl";
    let path = [path, "/data/log/log-0001-00000001.skl"]
        .into_iter()
        .map(std::path::Path::new)
        .find(|path| disk.contents(path).windows(100).any(|window| window == [7; 100]))
        .unwrap();
    let at = disk.contents(path).windows(100).position(|window| window == [7; 100]).unwrap();
    disk.damage(path, at as u64, &[1]);
    open(&disk).is_ok_and(|store| store.get(b"k").unwrap().is_some_and(|value| value != [7; 1000]))
}

#[test]
fn planted_mistakes_are_noticed() {
    assert!(!loses_acknowledged_writes() && !gives_back_damage());
    planted_bugs::set(PlantedBug::EarlyAcknowledgement, true);
    // The scheduler decides whether a waiter returns before the failing write: not every round
    // shows it.
    assert!((0..50).any(|_| loses_acknowledged_writes()));
    planted_bugs::set(PlantedBug::EarlyAcknowledgement, false);
    planted_bugs::set(PlantedBug::SkippedCrc, true);
    assert!(gives_back_damage());
    planted_bugs::set(PlantedBug::SkippedCrc, false);
    assert!(!loses_acknowledged_writes() && !gives_back_damage());
}
