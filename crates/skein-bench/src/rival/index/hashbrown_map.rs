//! `hashbrown`: a hash table for one thread. It has no order; it is the upper bound of lookups.

use std::cell::RefCell;

use hashbrown::HashMap;

use super::key_repr::{BoxedKeys, IntegerKeys, KeyRepr};
use super::{IndexAbilities, IndexContender, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 2] =
    [RegisteredIndex::alone::<Hashbrown<IntegerKeys>>(), RegisteredIndex::alone::<Hashbrown<BoxedKeys>>()];

struct Hashbrown<K: KeyRepr>(RefCell<HashMap<K::Owned, u64>>);

impl<K: KeyRepr> IndexContender for Hashbrown<K> {
    const NAME: &'static str = "hashbrown";
    const ABOUT: &'static str = "hashbrown 0.17, unordered, one thread; HashMap<u64, u64> where \
                                 keys have 8 bytes, HashMap<Box<[u8]>, u64> otherwise, its own \
                                 hash (foldhash)";
    const CAN: IndexAbilities = IndexAbilities { remove: true, ..IndexAbilities::NOTHING };
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
}
