//! `scc::TreeIndex`: a concurrent B+-tree with lock-free lookups.
//!
//! Its backward ranges (version 3.8.8) sometimes miss keys after removals. Out of 400,000 backward
//! reads in a tree of some 200 keys, with as many inserts and removals between them, 31 were wrong;
//! the first was empty, where 43 keys should have been. So the bench does not scan it downward.
//!
//! A range that starts below the least key takes time quadratic in the number of keys: 26 µs with
//! 1,000 random keys, 9.8 ms with 16,000, 160 ms with 64,000, 8.1 s with 256,000. The search finds
//! no key at or below the start, in the first leaf or in any leaf before it. So the search fails,
//! and then tries every child of every inner node, and each try walks the leaves again. If the
//! start is a key, the first leaf holds it. So the bench starts scans only at keys.

use scc::{Guard, TreeIndex};

use super::key_repr::{BoxedKeys, IntegerKeys, KeyRepr, upward};
use super::{IndexAbilities, IndexContender, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 2] =
    [RegisteredIndex::shared::<SccTree<IntegerKeys>>(), RegisteredIndex::shared::<SccTree<BoxedKeys>>()];

struct SccTree<K: KeyRepr>(TreeIndex<K::Owned, u64>);

impl<K: KeyRepr> IndexContender for SccTree<K> {
    const NAME: &'static str = "scc-treeindex";
    const ABOUT: &'static str = "scc 3.8, TreeIndex<u64, u64> where keys have 8 bytes, \
                                 TreeIndex<Box<[u8]>, u64> otherwise; upsert_sync, peek; no scans \
                                 downward (now and then wrong after removals), nor from starts \
                                 that are no keys (below the least key they take time quadratic in \
                                 the number of keys)";
    const CAN: IndexAbilities = IndexAbilities { scan: true, remove: true, ..IndexAbilities::NOTHING };
    const KEY_BYTES: (usize, usize) = K::KEY_BYTES;
    type Pin<'a> = Guard;

    fn new(_expected: usize) -> Self {
        Self(TreeIndex::new())
    }

    fn pin(&self) -> Guard {
        Guard::new()
    }

    fn insert(&self, _pin: &Guard, key: &[u8], value: u64) {
        self.0.upsert_sync(K::own(key), value);
    }

    fn get(&self, pin: &Guard, key: &[u8]) -> Option<u64> {
        K::ask(key, |key| self.0.peek(key, pin).copied())
    }

    fn remove(&self, _pin: &Guard, key: &[u8]) -> bool {
        K::ask(key, |key| self.0.remove_sync(key))
    }

    fn scan(&self, pin: &Guard, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        K::ask(from, |from| {
            for (key, &value) in self.0.range::<K::Seen, _>(upward(from), pin).take(count) {
                K::show(key, |key| each(key, value));
            }
        });
    }
}
