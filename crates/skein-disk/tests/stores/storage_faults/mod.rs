//! A full or failing disk, a damaged header, a closed store: reads are correct or return an error,
//! and acknowledged writes are there, in all key spaces.

mod closed;
mod faulty;
mod full;
mod headers;
mod matrix;
mod spaces;

use std::collections::BTreeMap;

use skein_disk::{DiskOptions, DiskStore, Durability};

type StorageFaultModel = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(durability: Durability) -> DiskOptions {
    DiskOptions {
        durability,
        cache_pages: 64,
        checkpoint_bytes: 0,
        segment_bytes: 64 << 10,
        ..DiskOptions::default()
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("goose {number}").into_bytes()
}

/// Sets a key of the store and of the model.
fn set(store: &DiskStore, model: &mut StorageFaultModel, number: u32, value: &[u8]) {
    store.set(&key(number), value).unwrap();
    model.insert(key(number), value.to_vec());
}

fn assert_has(store: &DiskStore, model: &StorageFaultModel, about: &str) {
    for (key, value) in model {
        let found = store.get(key).unwrap_or_else(|error| panic!("{about}: {error}"));
        assert!(found.as_ref() == Some(value), "{about}: {}", key.escape_ascii());
    }
}
