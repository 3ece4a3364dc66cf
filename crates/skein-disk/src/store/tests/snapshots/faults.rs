//! Snapshots beside power cuts and failing operations.

use skein_log::Durability;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

use super::{ModelSnapshot, contents, options};
use crate::Result;
use crate::store::tests::{FOLDER, StoreModel, cut_power_at_each, key};
use crate::store::{DiskOptions, DiskStore};
use crate::trie::TrieShape;

/// Writes, with snapshots of different ages, checkpoints and a compaction. Returns the number of
/// acknowledged writes. Each snapshot must show its moment, or report an error.
fn script(store: &DiskStore) -> usize {
    let value = |number: usize| vec![number as u8; 10 + 300 * (number % 9)];
    let mut model = StoreModel::new();
    let mut snapshots: Vec<ModelSnapshot> = Vec::new();
    for number in 0..60 {
        // Failures of these are not failures of a write.
        match number {
            12 | 24 | 40 => _ = store.checkpoint(),
            32 => _ = store.compact(),
            28 | 50 => _ = snapshots.remove(0),
            _ => {}
        }
        if number % 10 == 5
            && let Ok(snapshot) = store.snapshot()
        {
            snapshots.push(ModelSnapshot { snapshot, model: model.clone(), is_ordered: true });
        }
        if store.set(&key(number), &value(number)).is_err() {
            return number;
        }
        model.insert(key(number), value(number));
        if number % 4 == 0 {
            for ModelSnapshot { snapshot, model, .. } in &snapshots {
                if let Ok(shown) = contents(snapshot, true) {
                    assert_eq!(shown, *model, "after write {number}");
                }
            }
        }
    }
    60
}

fn assert_script(store: &DiskStore, acknowledged: usize, about: &str) {
    let found = crate::store::tests::contents(store).unwrap();
    let is_prefix = |len: usize| {
        let values = (0..len).map(|number| (key(number), vec![number as u8; 10 + 300 * (number % 9)]));
        found == values.collect::<StoreModel>()
    };
    // The write in progress may be there.
    assert!(is_prefix(acknowledged) || is_prefix(acknowledged + 1), "{about}: {} keys", found.len());
    store.check().unwrap();
    store.shared.buffer.check_places();
}

fn open_synced(storage: &SimStorage) -> Result<DiskStore> {
    let options = DiskOptions { durability: Durability::Sync, ..options(TrieShape::Linked, 16) };
    DiskStore::open_on(storage.share(), FOLDER, options)
}

#[test]
fn a_power_cut_beside_snapshots_loses_no_acknowledged_write() {
    let operations = cut_power_at_each((2, 60), open_synced, script, assert_script);
    assert!(operations > 200, "{operations}");
}

#[test]
fn an_error_beside_snapshots_loses_nothing() {
    for error in [SimError::Io, SimError::NoSpace] {
        for at in (1..400).step_by(3) {
            let storage = SimStorage::new();
            let store = open_synced(&storage).unwrap();
            storage.fail_at(storage.operations() + at, error, at % 2 == 0);
            let acknowledged = script(&store);
            storage.no_faults();
            let about = format!("{error:?} at {at}");
            if store.writes_stopped().is_none() {
                store.checkpoint().unwrap();
                store.shared.buffer.check_places();
            }
            drop(store);
            storage.reboot(at);
            assert_script(&open_synced(&storage).unwrap(), acknowledged, &about);
        }
    }
}
