//! Transactions over two key spaces change both or neither, whatever the disk does.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, KeySpace, TrieShape, Values};
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

use super::faulty::FaultyStorage;
use super::{key, options};

const PADDING: usize = 1_000;

fn row_options(durability: Durability) -> DiskOptions {
    DiskOptions { shape: TrieShape::Hash { n: 16 }, values: Values::Rows, ..options(durability) }
}

fn open(storage: &impl Storage, durability: Durability) -> DiskStore {
    DiskStore::open_on(storage.share(), "/db", row_options(durability)).unwrap()
}

fn value(number: u32) -> Vec<u8> {
    let mut value = format!("{number} ").into_bytes();
    value.resize(PADDING, number as u8);
    value
}

/// Sets a key and its member to a number. Now and then removes the member of another key with it.
fn set_both(store: &DiskStore, at: u32, number: u32) -> Result<(), DiskError> {
    store.write(|transaction| {
        transaction.set(&key(at), &value(number))?;
        transaction.set_in(KeySpace::Members, &key(at), &value(number))?;
        if number.is_multiple_of(5) {
            let other = key(at + 1);
            let removed = transaction.remove(&other)?;
            assert_eq!(transaction.remove_in(KeySpace::Members, &other)?, removed);
        }
        Ok(())
    })
}

/// Checks that each key has its member. Returns their number.
fn assert_pairs(store: &DiskStore, keys: u32, about: &str) -> u64 {
    let members = store.space(KeySpace::Members).unwrap();
    let mut pairs = 0;
    for at in 0..keys {
        let found = (store.get(&key(at)).unwrap(), members.get(&key(at)).unwrap());
        assert!(found.0 == found.1, "{about}: key {at} and its member differ");
        pairs += u64::from(found.0.is_some());
    }
    assert_eq!(store.len(), pairs, "{about}");
    let census = store.check().unwrap();
    assert_eq!(census.members.unwrap().keys as u64, pairs, "{about}");
    pairs
}

/// Returns a store with some keys of the main space, each with a member of the same name.
fn filled(storage: &impl Storage, durability: Durability, keys: u32) -> DiskStore {
    let store = open(storage, durability);
    (0..keys).for_each(|at| set_both(&store, at, 1).unwrap());
    store.checkpoint().unwrap();
    store
}

#[test]
fn a_full_disk_leaves_keys_with_their_members() {
    const KEYS: u32 = 1_200;
    for durability in [Durability::Sync, Durability::None] {
        let storage = FaultyStorage::default();
        let store = filled(&storage, durability, KEYS);
        storage.faults.full.store(true, SeqCst);
        let refused = (0..1_000).filter(|step| set_both(&store, step * 97 % KEYS, step + 2).is_err()).count();
        assert!(refused > 0);
        assert_pairs(&store, KEYS, "while the disk is full");
        storage.faults.full.store(false, SeqCst);
        let begun = Instant::now();
        while let Err(error) = set_both(&store, 0, 7) {
            assert!(begun.elapsed() < Duration::from_secs(120), "{error}");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_pairs(&store, KEYS, "with room again");
        store.close().unwrap();
        assert_pairs(&open(&storage, durability), KEYS, "opened again");
    }
}

/// The power is cut, or an operation fails, during writes, checkpoints and the next recovery.
#[test]
fn faults_leave_keys_with_their_members() {
    const KEYS: u32 = 200;
    const STEPS: u32 = 60;
    for fault in [None, Some(SimError::Io), Some(SimError::NoSpace)] {
        for round in 0..40 {
            let storage = SimStorage::new();
            let store = filled(&storage, Durability::Sync, KEYS);
            let at = storage.operations() + 1 + round * 7;
            match fault {
                None => storage.cut_power_at(at),
                Some(error) => storage.fail_at(at, error, round % 2 == 0),
            }
            let mut acknowledged = 0;
            for step in 0..STEPS {
                if set_both(&store, step * 13 % KEYS, step + 2).is_err() {
                    break;
                }
                acknowledged = step + 1;
                if step % 20 == 10 {
                    // A failed checkpoint is not a failed write.
                    _ = store.checkpoint();
                }
            }
            drop(store);
            storage.no_faults();
            storage.reboot(round);
            storage.cut_power_at(storage.operations() + 1 + round * 3 % 40);
            drop(DiskStore::open_on(storage.share(), "/db", row_options(Durability::Sync)));
            storage.reboot(round + 1);
            let about = format!("{fault:?} at {at}");
            let store = open(&storage, Durability::Sync);
            assert_pairs(&store, KEYS, &about);
            if let Some(last) = acknowledged.checked_sub(1) {
                let found = store.get(&key(last * 13 % KEYS)).unwrap();
                assert_eq!(found, Some(value(last + 2)), "{about}: an acknowledged write");
            }
        }
    }
}
