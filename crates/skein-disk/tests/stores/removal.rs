//! Removals give pages back without a compaction, and the file's free places are used again.

use skein_disk::{DiskError, DiskOptions, DiskStore, Durability, KeySpace, TrieShape, Values};
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;

const SHAPES: [TrieShape; 3] = [TrieShape::Linked, TrieShape::Classical { n: 16 }, TrieShape::Hash { n: 16 }];
const KEYS: u32 = 20_000;
/// Writes of a transaction.
const BATCH: usize = 20;

fn open(storage: &SimStorage, shape: TrieShape) -> DiskStore {
    let options = DiskOptions {
        shape,
        values: Values::Rows,
        cache_pages: 300,
        durability: Durability::Buffered,
        checkpoint_bytes: 0,
        ..DiskOptions::default()
    };
    DiskStore::open_on(storage.share(), "/db", options).unwrap()
}

/// Returns keys with common prefixes, in no order.
fn key(at: u32) -> Vec<u8> {
    format!("geese/{}/{:08x}", at % 7, at.wrapping_mul(0x9e37_79b9)).into_bytes()
}

fn value(at: u32) -> Vec<u8> {
    vec![at as u8; at as usize % 40]
}

/// Sets a key of a trie, or inserts it into a set of keys.
fn add(store: &DiskStore, space: KeySpace, keys: impl Iterator<Item = u32>) {
    let keys: Vec<u32> = keys.collect();
    for batch in keys.chunks(BATCH) {
        let added = store.write(|transaction| {
            for at in batch.iter().copied() {
                match space {
                    KeySpace::Scores | KeySpace::Expiry => transaction.insert_key(space, &key(at))?,
                    _ => _ = transaction.set_in(space, &key(at), &value(at))?,
                }
            }
            Ok::<_, DiskError>(())
        });
        added.unwrap();
    }
}

fn remove(store: &DiskStore, space: KeySpace, keys: impl Iterator<Item = u32>) {
    let keys: Vec<u32> = keys.collect();
    for batch in keys.chunks(BATCH) {
        let removed = store.write(|transaction| {
            for at in batch.iter().copied() {
                match space {
                    KeySpace::Scores | KeySpace::Expiry => transaction.remove_key(space, &key(at))?,
                    _ => assert!(transaction.remove_in(space, &key(at))?),
                }
            }
            Ok::<_, DiskError>(())
        });
        removed.unwrap();
    }
}

/// Removes some keys of a full store. Returns its pages in percent of those of a store that only
/// ever had the others.
fn percent_of_a_fresh_store(shape: TrieShape, space: KeySpace, stays: impl Fn(u32) -> bool) -> usize {
    let fresh = open(&SimStorage::new(), shape);
    add(&fresh, space, (0..KEYS).filter(|at| stays(*at)));
    let storage = SimStorage::new();
    let store = open(&storage, shape);
    add(&store, space, 0..KEYS);
    store.checkpoint().unwrap();
    let full = store.pages_in_use();
    remove(&store, space, (0..KEYS).filter(|at| !stays(*at)));
    store.check().unwrap();
    let (left, expected) = (store.pages_in_use(), fresh.pages_in_use());
    // The first checkpoint frees the places of the former state.
    store.checkpoint().unwrap();
    store.checkpoint().unwrap();
    let free = store.stats().buffer.free_pages as usize;
    assert!(free >= full - left, "{shape}, {space}: {free} places are free, {full} pages before, {left} now");
    println!("{shape}, {space}: {left} pages, {expected} of a fresh store, {full} before");
    100 * left / expected
}

fn is_one_of_four(at: u32) -> bool {
    at.wrapping_mul(0x85eb_ca6b) >> 30 == 0
}

#[test]
fn removals_at_random_give_pages_back() {
    for shape in SHAPES {
        let percent = percent_of_a_fresh_store(shape, KeySpace::Main, is_one_of_four);
        assert!(percent <= 140, "{shape}: {percent} percent of a fresh store's pages");
    }
    for space in [KeySpace::Members, KeySpace::Scores, KeySpace::Expiry] {
        let percent = percent_of_a_fresh_store(TrieShape::Linked, space, is_one_of_four);
        assert!(percent <= 140, "{space}: {percent} percent of a fresh store's pages");
    }
}

#[test]
fn the_removal_of_a_prefix_gives_its_pages_back() {
    for space in [KeySpace::Main, KeySpace::Members, KeySpace::Scores] {
        let percent = percent_of_a_fresh_store(TrieShape::Linked, space, |at| at % 7 != 3);
        assert!(percent <= 115, "{space}: {percent} percent of a fresh store's pages");
    }
}

#[test]
fn free_places_are_used_again() {
    let store = open(&SimStorage::new(), TrieShape::Linked);
    let mut lengths = Vec::new();
    for _ in 0..4 {
        for first in (0..KEYS).step_by(2_000) {
            add(&store, KeySpace::Main, first..first + 2_000);
            store.checkpoint().unwrap();
        }
        for first in (0..KEYS).step_by(2_000) {
            remove(&store, KeySpace::Main, first..first + 2_000);
            store.checkpoint().unwrap();
        }
        lengths.push(store.stats().buffer.file_pages);
        assert!(store.pages_in_use() < 10, "{} pages without keys", store.pages_in_use());
    }
    assert!(lengths[1..].iter().all(|length| *length == lengths[0]), "{lengths:?}");
    store.check().unwrap();
}
