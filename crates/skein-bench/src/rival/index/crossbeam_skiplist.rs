//! `crossbeam-skiplist`: with keys in the nodes where they all have 8 bytes, with boxed keys otherwise.

use std::ops::Bound;

use crossbeam_skiplist::SkipMap;
use linkme::distributed_slice;

use super::{Can, Contender, ENTRIES, Entry};

#[distributed_slice(ENTRIES)]
static WORDS: Entry = Entry::shared::<Words>(20);

#[distributed_slice(ENTRIES)]
static BYTES: Entry = Entry::shared::<Bytes>(20);

const CAN: Can = Can { batches: false, scan: true, scan_back: true, remove: true };

/// Keys as big-endian numbers.
struct Words(SkipMap<u64, u64>);

fn word(key: &[u8]) -> u64 {
    u64::from_be_bytes(key.try_into().expect("the bench gives this contender keys of 8 bytes"))
}

impl Contender for Words {
    const NAME: &'static str = "crossbeam-skiplist";
    const ABOUT: &'static str = "crossbeam-skiplist 0.1, SkipMap<u64, u64>";
    const CAN: Can = CAN;
    const KEY_BYTES: (usize, usize) = (8, 8);
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        Self(SkipMap::new())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.insert(word(key), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.0.get(&word(key)).map(|entry| *entry.value())
    }

    fn remove(&self, _pin: &(), key: &[u8]) -> bool {
        self.0.remove(&word(key)).is_some()
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        for entry in self.0.range(word(from)..).take(count) {
            each(&entry.key().to_be_bytes(), *entry.value());
        }
    }

    fn scan_back(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        for entry in self.0.range(..=word(from)).rev().take(count) {
            each(&entry.key().to_be_bytes(), *entry.value());
        }
    }
}

/// Keys in boxes.
struct Bytes(SkipMap<Box<[u8]>, u64>);

impl Contender for Bytes {
    const NAME: &'static str = "crossbeam-skiplist";
    const ABOUT: &'static str = "crossbeam-skiplist 0.1, SkipMap<Box<[u8]>, u64>";
    const CAN: Can = CAN;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        Self(SkipMap::new())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.insert(key.into(), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.0.get(key).map(|entry| *entry.value())
    }

    fn remove(&self, _pin: &(), key: &[u8]) -> bool {
        self.0.remove(key).is_some()
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        for entry in self.0.range::<[u8], _>((Bound::Included(from), Bound::Unbounded)).take(count) {
            each(entry.key(), *entry.value());
        }
    }

    fn scan_back(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        for entry in self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(from))).rev().take(count) {
            each(entry.key(), *entry.value());
        }
    }
}
