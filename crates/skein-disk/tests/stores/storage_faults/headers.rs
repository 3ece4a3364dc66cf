//! One of the two headers is damaged at rest.

use std::path::Path;

use skein_disk::{DiskOptions, DiskStore, Durability, PAGE, Values, inspect};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::{StorageFaultModel, assert_has, options, set};

/// Incident: the two headers were written in turn, so the state of a file depended on one page.
/// Consequence: one flipped bit in the newer header silently restored the previous checkpoint: at
/// `none`, where no log has the rest, and also after a clean close. Fix: a checkpoint ends when
/// both headers have its state.
#[test]
fn a_damaged_header_loses_nothing() {
    for (durability, is_closed) in
        [(Durability::None, true), (Durability::None, false), (Durability::Sync, true)]
    {
        for header in [0, PAGE as u64] {
            for checkpoints in 1..4 {
                let storage = SimStorage::new();
                let store = DiskStore::open_on(storage.share(), "/db", options(durability)).unwrap();
                let mut model = StorageFaultModel::new();
                for round in 0..checkpoints {
                    (0..100).for_each(|number| set(&store, &mut model, number, &[round; 300]));
                    store.checkpoint().unwrap();
                }
                if is_closed {
                    set(&store, &mut model, 7, b"the last write");
                    store.close().unwrap();
                } else {
                    storage.cut_power_at(storage.operations() + 1);
                }
                drop(store);
                storage.reboot(header);
                let path = Path::new("/db/data.skein");
                storage.damage(path, header + 40, &[1]);
                let about = format!("{durability:?}, closed {is_closed}, header at {header}");
                let found = inspect("/db", &storage).unwrap();
                assert_eq!(found.unfinished_header, Some(header), "{about}");
                let store = DiskStore::open_on(storage.share(), "/db", options(durability)).unwrap();
                assert_has(&store, &model, &about);
                drop(store);
                assert_eq!(inspect("/db", &storage).unwrap().unfinished_header, None, "{about}: mended");
            }
        }
    }
}

/// Incident: the checksum of a header did not cover the number of the format. Consequence: one
/// flipped bit turned format 3 into 2, and an intact second header did not help against an unknown
/// number. Fix: the checksum covers the number, and is compared first.
#[test]
fn a_damaged_format_is_no_other_format() {
    for values in [Values::Bytes, Values::Rows] {
        for bit in 0..32 {
            let storage = SimStorage::new();
            let open = || {
                let options = DiskOptions { values, ..options(Durability::None) };
                DiskStore::open_on(storage.share(), "/db", options)
            };
            let store = open().unwrap();
            let mut model = StorageFaultModel::new();
            (0..100).for_each(|number| set(&store, &mut model, number, &[7; 300]));
            store.close().unwrap();
            drop(store);
            let mut flip = [0; 4];
            flip[bit / 8] = 1 << (bit % 8);
            storage.damage(Path::new("/db/data.skein"), 8, &flip);
            let store = open().unwrap_or_else(|error| panic!("{values}, bit {bit}: {error}"));
            assert_has(&store, &model, &format!("{values}, bit {bit}"));
        }
    }
}

#[test]
fn two_damaged_headers_are_reported() {
    let storage = SimStorage::new();
    let store = DiskStore::open_on(storage.share(), "/db", options(Durability::None)).unwrap();
    store.close().unwrap();
    for header in [0, PAGE as u64] {
        storage.damage(Path::new("/db/data.skein"), header + 40, &[1]);
    }
    let error = DiskStore::open_on(storage.share(), "/db", options(Durability::None)).unwrap_err();
    assert!(error.to_string().contains("the header's checksum does not match its bytes"), "{error}");
}
