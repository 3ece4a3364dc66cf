//! `papaya`: a concurrent hash table for many readers. It has no order; it is the upper bound of
//! lookups on several threads.

use hashbrown::DefaultHashBuilder;
use papaya::{HashMap, LocalGuard};

use super::key_repr::{BoxedKeys, IntegerKeys, KeyRepr};
use super::{IndexAbilities, IndexContender, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 2] =
    [RegisteredIndex::shared::<Papaya<IntegerKeys>>(), RegisteredIndex::shared::<Papaya<BoxedKeys>>()];

struct Papaya<K: KeyRepr>(HashMap<K::Owned, u64, DefaultHashBuilder>);

impl<K: KeyRepr> IndexContender for Papaya<K> {
    const NAME: &'static str = "papaya";
    const ABOUT: &'static str = "papaya 0.2, unordered; HashMap<u64, u64> where keys have 8 bytes, \
                                 HashMap<Box<[u8]>, u64> otherwise, hashbrown's hash (foldhash), a \
                                 guard for many operations";
    const CAN: IndexAbilities = IndexAbilities { remove: true, ..IndexAbilities::NOTHING };
    const KEY_BYTES: (usize, usize) = K::KEY_BYTES;
    type Pin<'a> = LocalGuard<'a>;

    fn new(_expected: usize) -> Self {
        Self(HashMap::default())
    }

    fn pin(&self) -> LocalGuard<'_> {
        self.0.guard()
    }

    fn insert<'a>(&'a self, pin: &LocalGuard<'a>, key: &[u8], value: u64) {
        self.0.insert(K::own(key), value, pin);
    }

    fn get<'a>(&'a self, pin: &LocalGuard<'a>, key: &[u8]) -> Option<u64> {
        K::ask(key, |key| self.0.get(key, pin).copied())
    }

    fn remove<'a>(&'a self, pin: &LocalGuard<'a>, key: &[u8]) -> bool {
        K::ask(key, |key| self.0.remove(key, pin).is_some())
    }
}
