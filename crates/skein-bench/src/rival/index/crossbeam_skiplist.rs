//! `crossbeam-skiplist`: a lock-free skip list.

use crossbeam_skiplist::SkipMap;

use super::key_repr::{BoxedKeys, IntegerKeys, KeyRepr, downward, upward};
use super::{IndexAbilities, IndexContender, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 2] = [
    RegisteredIndex::shared::<CrossbeamSkipList<IntegerKeys>>(),
    RegisteredIndex::shared::<CrossbeamSkipList<BoxedKeys>>(),
];

struct CrossbeamSkipList<K: KeyRepr>(SkipMap<K::Owned, u64>);

impl<K: KeyRepr> IndexContender for CrossbeamSkipList<K> {
    const NAME: &'static str = "crossbeam-skiplist";
    const ABOUT: &'static str = "crossbeam-skiplist 0.1, SkipMap<u64, u64> where keys have 8 \
                                 bytes, SkipMap<Box<[u8]>, u64> otherwise";
    const CAN: IndexAbilities = IndexAbilities::ORDERED;
    const KEY_BYTES: (usize, usize) = K::KEY_BYTES;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        Self(SkipMap::new())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.insert(K::own(key), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        K::ask(key, |key| self.0.get(key).map(|entry| *entry.value()))
    }

    fn remove(&self, _pin: &(), key: &[u8]) -> bool {
        K::ask(key, |key| self.0.remove(key).is_some())
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        K::ask(from, |from| {
            for entry in self.0.range::<K::Seen, _>(upward(from)).take(count) {
                K::show(entry.key(), |key| each(key, *entry.value()));
            }
        });
    }

    fn scan_back(&self, _pin: &(), from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        K::ask(from, |from| {
            for entry in self.0.range::<K::Seen, _>(downward(from)).rev().take(count) {
                K::show(entry.key(), |key| each(key, *entry.value()));
            }
        });
    }
}
