//! The numbers of reserved keys, against a count of the keys.

use std::collections::BTreeMap;

use skein_log::Durability;
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

use super::{FOLDER, SHAPES};
use crate::store::{DiskOptions, DiskStore, ReservedCount};
use crate::test_fixtures::random_numbers;
use crate::trie::{ScanRequest, TrieShape, WalkDirection};
use crate::{DiskError, KeySpace, Result, Values};

const DATABASE: u32 = 0xffff_0000;

fn open(storage: &SimStorage, shape: TrieShape) -> Result<DiskStore> {
    let options = DiskOptions {
        shape,
        values: Values::Rows,
        durability: Durability::Sync,
        cache_pages: 32,
        checkpoint_bytes: 0,
        segment_bytes: 64 << 10,
        ..DiskOptions::default()
    };
    DiskStore::open_on(storage.share(), FOLDER, options)
}

/// Returns a key of a number, or one that is not reserved.
fn key(number: Option<u32>, name: u64) -> Vec<u8> {
    let name = name.to_string().into_bytes();
    number.map_or(name.clone(), |number| [&b"\xffSK\0"[..], &number.to_be_bytes(), &name].concat())
}

fn expiry_key(key: &[u8]) -> Vec<u8> {
    [&(key.len() as u64 * 1_000).to_be_bytes()[..], key].concat()
}

/// Counts the keys of the main space, and the entries of the expiry index, by visiting them.
fn counted(store: &DiskStore) -> BTreeMap<u32, ReservedCount> {
    let mut counts: BTreeMap<u32, ReservedCount> = BTreeMap::new();
    let number = |key: &[u8]| {
        let rest = key.strip_prefix(b"\xffSK\0")?;
        let number = u32::from_be_bytes(*rest.first_chunk()?);
        Some(if number < DATABASE { 0 } else { number })
    };
    let request = ScanRequest { bytes: usize::MAX, values: false, ..ScanRequest::default() };
    for entry in store.walk(&request).unwrap().entries {
        let Some(number) = number(&entry.key) else { continue };
        counts.entry(number).or_default().keys += 1;
    }
    for entry in store.keys_from(KeySpace::Expiry, 0, WalkDirection::Forward, usize::MAX).unwrap() {
        let (time, key) = entry.split_first_chunk().unwrap();
        let Some(number) = number(key) else { continue };
        let count = counts.entry(number).or_default();
        (count.expiring, count.times) =
            (count.expiring + 1, count.times + i128::from(u64::from_be_bytes(*time)));
    }
    counts
}

fn assert_counts(store: &DiskStore, about: &str) {
    let (counts, mut all) = (counted(store), ReservedCount::default());
    for count in counts.values() {
        all.keys += count.keys;
        all.expiring += count.expiring;
        all.times += count.times;
    }
    assert_eq!(store.reserved_count(None), all, "{about}");
    for number in [0, DATABASE + 1, DATABASE + 2, DATABASE + 3] {
        let expected = counts.get(&number).copied().unwrap_or_default();
        assert_eq!(store.reserved_count(Some(number)), expected, "{about}: number {number:x}");
    }
}

/// Writes or removes some keys at random, each with its entry in the expiry index or without.
fn write(store: &DiskStore, next: &mut impl FnMut(u64) -> u64) -> Result<()> {
    let numbers = [None, Some(1), Some(DATABASE + 1), Some(DATABASE + 2)];
    let (writes, is_kept) = (1 + next(5), next(8) > 0);
    let mut transaction = store.begin();
    for _ in 0..writes {
        let key = key(numbers[next(4) as usize], next(20));
        let entry = expiry_key(&key);
        match next(4) {
            0 => {
                transaction.remove(&key)?;
                transaction.remove_key(KeySpace::Expiry, &entry)?;
            }
            1 => {
                transaction.set(&key, b"row")?;
                transaction.insert_key(KeySpace::Expiry, &entry)?;
            }
            _ => _ = transaction.set(&key, &[7; 100])?,
        }
    }
    if is_kept {
        let ticket = transaction.commit()?;
        store.wait_durable(ticket)?;
    }
    Ok(())
}

/// The power is cut at a random moment, again and again.
#[test]
fn reserved_counts_are_exact_after_crashes() {
    for (shape, seed) in SHAPES.into_iter().cycle().zip(1..=12) {
        let (storage, mut next) = (SimStorage::new(), random_numbers(2 * seed));
        for round in 0..8 {
            let about = format!("{shape:?}, seed {seed}, round {round}");
            let store = open(&storage, shape).unwrap();
            assert_counts(&store, &about);
            if round < 7 {
                storage.cut_power_at(storage.operations() + 20 + next(150));
            }
            for step in 0..60 {
                let done = write(&store, &mut next)
                    .and_then(|()| if step % 20 == 19 { store.checkpoint() } else { Ok(()) });
                if done.is_err() {
                    break;
                }
            }
            if storage.is_on() {
                assert_counts(&store, &about);
            }
            drop(store);
            storage.no_faults();
            storage.reboot(seed * 10 + round);
        }
    }
}

/// Incident: opening a store visited all reserved keys to count them. Consequence: a million rows
/// in a named keyspace took 6 s of processor time and read the whole file. Fix: each checkpoint has
/// the counts, and replay adds the changes of later writes.
#[test]
fn opening_visits_no_keys_to_count_them() {
    for shape in SHAPES {
        let storage = SimStorage::new();
        let store = open(&storage, shape).unwrap();
        store
            .write::<_, DiskError>(|transaction| {
                for at in 0..3_000 {
                    transaction.set(&key(Some(DATABASE + 1 + at as u32 % 2), at), &[1; 100])?;
                }
                Ok(())
            })
            .unwrap();
        let pages = store.pages_in_use() as u64;
        store.close().unwrap();
        let store = open(&storage, shape).unwrap();
        let loads = store.stats().buffer.misses;
        assert!(pages > 50 && loads < 10, "{shape:?}: {loads} of {pages} pages were read");
        assert_eq!(store.reserved_count(Some(DATABASE + 1)).keys, 1_500);
        assert_counts(&store, "opened");
    }
}

/// A checkpoint has the counts of more numbers than one page holds.
#[test]
fn counts_of_many_databases_are_kept() {
    let storage = SimStorage::new();
    let store = open(&storage, SHAPES[0]).unwrap();
    for at in 1..=1_023 {
        store.set(&key(Some(DATABASE + at), 1), b"row").unwrap();
        if at % 400 == 0 {
            store.checkpoint().unwrap();
        }
    }
    let free = |store: &DiskStore| store.stats().buffer.free_pages;
    store.checkpoint().unwrap();
    let before = free(&store);
    for _ in 0..10 {
        store.checkpoint().unwrap();
    }
    assert_eq!(free(&store), before, "former pages of counts are free again");
    store.close().unwrap();
    let store = open(&storage, SHAPES[0]).unwrap();
    assert_eq!(store.reserved_count(None).keys, 1_023);
    assert!((1..=1_023).all(|at| store.reserved_count(Some(DATABASE + at)).keys == 1));
    assert_counts(&store, "opened");
}
