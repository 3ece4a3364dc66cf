//! `std`'s `BTreeMap`, plain and behind a lock: the map that a program has without any crate.
//!
//! Its nodes are from the global allocator. In the program `skein` that is mimalloc, which asks the
//! system for huge pages for all its memory. So under the settings `madvise` and `always` the nodes
//! lie on huge pages, as our indexes do.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::key_repr::{BoxedKeys, IntegerKeys, KeyRepr, downward, upward};
use super::{IndexAbilities, IndexContender, RegisteredIndex};

/// The name in reports of the map with integer keys. It has a name of its own because the map with
/// boxed keys takes part beside it.
pub const WORDS: &str = "btree-u64";

pub static ENTRIES: [RegisteredIndex; 3] = [
    RegisteredIndex::alone::<PlainBTreeMap<BoxedKeys>>(),
    RegisteredIndex::shared::<LockedBTreeMap>(),
    RegisteredIndex::alone::<PlainBTreeMap<IntegerKeys>>(),
];

type KeyedBTreeMap<K> = BTreeMap<<K as KeyRepr>::Owned, u64>;

fn scan<K: KeyRepr>(map: &KeyedBTreeMap<K>, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
    K::ask(from, |from| {
        for (key, &value) in map.range::<K::Seen, _>(upward(from)).take(count) {
            K::show(key, |key| each(key, value));
        }
    });
}

fn scan_back<K: KeyRepr>(
    map: &KeyedBTreeMap<K>,
    from: &[u8],
    count: usize,
    mut each: impl FnMut(&[u8], u64),
) {
    K::ask(from, |from| {
        for (key, &value) in map.range::<K::Seen, _>(downward(from)).rev().take(count) {
            K::show(key, |key| each(key, value));
        }
    });
}

/// The map without a lock, for one thread.
struct PlainBTreeMap<K: KeyRepr>(RefCell<KeyedBTreeMap<K>>);

impl<K: KeyRepr> IndexContender for PlainBTreeMap<K> {
    const NAME: &'static str = if K::WORDS { WORDS } else { "btreemap" };
    const ABOUT: &'static str = if K::WORDS {
        "std's BTreeMap<u64, u64>, one thread; keys of 8 bytes only"
    } else {
        "std's BTreeMap<Box<[u8]>, u64>, one thread"
    };
    const CAN: IndexAbilities = IndexAbilities::ORDERED;
    const KEY_BYTES: (usize, usize) = K::KEY_BYTES;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        Self(RefCell::default())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.borrow_mut().insert(K::own(key), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        K::ask(key, |key| self.0.borrow().get(key).copied())
    }

    fn remove(&self, _pin: &(), key: &[u8]) -> bool {
        K::ask(key, |key| self.0.borrow_mut().remove(key).is_some())
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        scan::<K>(&self.0.borrow(), from, count, each);
    }

    fn scan_back(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        scan_back::<K>(&self.0.borrow(), from, count, each);
    }
}

/// The map behind a lock, which each operation acquires.
struct LockedBTreeMap(RwLock<KeyedBTreeMap<BoxedKeys>>);

impl LockedBTreeMap {
    fn read(&self) -> impl std::ops::Deref<Target = KeyedBTreeMap<BoxedKeys>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> impl std::ops::DerefMut<Target = KeyedBTreeMap<BoxedKeys>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexContender for LockedBTreeMap {
    const NAME: &'static str = "btreemap-rwlock";
    const ABOUT: &'static str = "std's RwLock<BTreeMap<Box<[u8]>, u64>>, the lock taken for each operation";
    const CAN: IndexAbilities = IndexAbilities::ORDERED;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        Self(RwLock::default())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.write().insert(key.into(), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.read().get(key).copied()
    }

    fn remove(&self, _pin: &(), key: &[u8]) -> bool {
        self.write().remove(key).is_some()
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        scan::<BoxedKeys>(&self.read(), from, count, each);
    }

    fn scan_back(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        scan_back::<BoxedKeys>(&self.read(), from, count, each);
    }
}
