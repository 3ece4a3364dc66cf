//! `crossbeam-skiplist`: with keys in the nodes where they all have 8 bytes, with boxed keys otherwise.

use crossbeam_skiplist::SkipMap;

use super::Contender;

/// `SkipMap<u64, u64>`: keys as big-endian numbers. REQUIRES: keys of 8 bytes.
pub struct SkipListWords(SkipMap<u64, u64>);

fn word(key: &[u8]) -> u64 {
    u64::from_be_bytes(key.try_into().expect("the bench gives this contender keys of 8 bytes"))
}

impl Contender for SkipListWords {
    const NAME: &'static str = "crossbeam-skiplist";
    type Pin<'a> = ();

    fn new() -> Self {
        Self(SkipMap::new())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.insert(word(key), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.0.get(&word(key)).map(|entry| *entry.value())
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        for entry in self.0.range(word(from)..).take(count) {
            each(&entry.key().to_be_bytes(), *entry.value());
        }
    }
}

/// `SkipMap<Box<[u8]>, u64>`.
pub struct SkipListBytes(SkipMap<Box<[u8]>, u64>);

impl Contender for SkipListBytes {
    const NAME: &'static str = "crossbeam-skiplist";
    type Pin<'a> = ();

    fn new() -> Self {
        Self(SkipMap::new())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.insert(key.into(), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.0.get(key).map(|entry| *entry.value())
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        let bounds = (std::ops::Bound::Included(from), std::ops::Bound::Unbounded);
        for entry in self.0.range::<[u8], _>(bounds).take(count) {
            each(entry.key(), *entry.value());
        }
    }
}
