//! Our own indexes, through the trait that all of them implement.
//!
//! To add one: write a file here that implements [`OurIndexKind`] and has its `ENTRIES`, as
//! `masstree.rs` does, and add its `mod` line and its line in [`super::ENTRIES`]. Its name must be
//! `skein-` followed by the name of its `IndexKind`, so that the servers on each index have the
//! same names.
//!
//! `cuckoo_trie`, `mlp_index`, `skip_list` and `wormhole` also have variants, which lack an idea of
//! their paper or of ours. `page_tree` is a prototype, and no store uses it.

pub mod cuckoo_trie;
pub mod masstree;
pub mod mlp_index;
pub mod page_tree;
pub mod skip_list;
pub mod wormhole;

use skein_index::{Cursor, Inline, LocalGuard, MemoryUsage, OrderedIndex};

use super::{IndexAbilities, IndexContender, IndexRole, RegisteredIndex};

pub use cuckoo_trie::{
    NAME as CUCKOO_TRIE, ROOM as CUCKOO_TRIE_WITH_ROOM, SERIAL as CUCKOO_TRIE_SERIAL,
    TABLE as CUCKOO_TRIE_TABLE,
};
pub use masstree::NAME as MASSTREE;
pub use mlp_index::{LEVELS as MLP_INDEX_ALL_LEVELS, NAME as MLP_INDEX, SERIAL as MLP_INDEX_SERIAL};
pub use page_tree::NAME as PAGE_TREE;
pub use skip_list::{
    AHEAD_4 as SKIP_LIST_AHEAD_4, BARE as BARE_SKIP_LIST, BARE_PLAIN as BARE_SKIP_LIST_PLAIN,
    NAME as SKIP_LIST, PLAIN as SKIP_LIST_PLAIN,
};
pub use wormhole::{FOR_ONE_THREAD as WORMHOLE_FOR_ONE_THREAD, NAME as WORMHOLE, TRIE as WORMHOLE_TRIE};

/// One of our indexes, as the bench configures it.
trait OurIndexKind: 'static {
    type Index: OrderedIndex<Inline<u64>> + 'static;
    /// The name of the index in its default configuration.
    const NAME: &'static str;
    const ABOUT: &'static str;
    /// The least and the greatest length of its keys.
    const KEY_BYTES: (usize, usize) = (0, skein_index::index::MAX_KEY_LEN);

    fn empty() -> Self::Index;

    /// Creates an empty index that will get `expected` keys at first.
    fn expecting(_expected: usize) -> Self::Index {
        Self::empty()
    }

    /// Returns the bytes that it holds, by part. An index that tells more parts than [`two_parts`]
    /// may verify itself during the call.
    fn parts(index: &mut Self::Index) -> Result<Vec<(&'static str, usize)>, String> {
        Ok(two_parts(index.memory()))
    }
}

/// Returns the entry of one of our indexes.
const fn whole<N: OurIndexKind>() -> RegisteredIndex {
    RegisteredIndex { role: IndexRole::Ours, ..RegisteredIndex::shared::<OurIndex<N>>() }
}

/// Returns the entry of a variant of one of our indexes.
const fn step<N: OurIndexKind>(name: &'static str) -> RegisteredIndex {
    whole::<N>().as_step_of(N::NAME, name)
}

/// One of our indexes as a contender.
struct OurIndex<N: OurIndexKind>(N::Index);

impl<N: OurIndexKind> IndexContender for OurIndex<N> {
    const NAME: &'static str = N::NAME;
    const ABOUT: &'static str = N::ABOUT;
    const CAN: IndexAbilities =
        IndexAbilities { batches: true, scan: true, scan_back: true, lower_bound: true, remove: true };
    const KEY_BYTES: (usize, usize) = N::KEY_BYTES;
    type Pin<'a> = LocalGuard<'a>;

    fn new(expected: usize) -> Self {
        Self(N::expecting(expected))
    }

    fn pin(&self) -> Self::Pin<'_> {
        self.0.collector().enter()
    }

    #[inline(always)]
    fn insert<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8], value: u64) {
        self.0.insert(key, Inline(value), pin).expect("the bench's keys are short enough");
    }

    #[inline(always)]
    fn get<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> Option<u64> {
        self.0.get(key, pin)
    }

    #[inline(always)]
    fn get_many<'a>(&'a self, pin: &Self::Pin<'a>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        self.0.get_many(keys, pin, found);
    }

    #[inline(always)]
    fn remove<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> bool {
        self.0.remove(key, pin).is_some()
    }

    fn scan<'a>(&'a self, pin: &Self::Pin<'a>, from: &[u8], count: usize, mut each: impl FnMut(&[u8], u64)) {
        let mut cursor = self.0.cursor(pin);
        let mut there = cursor.seek(from);
        for left in (0..count).rev() {
            let (true, Some(key), Some(value)) = (there, cursor.key(), cursor.value()) else { return };
            each(key, value);
            there = left > 0 && cursor.next();
        }
    }

    fn scan_back<'a>(
        &'a self,
        pin: &Self::Pin<'a>,
        from: &[u8],
        count: usize,
        mut each: impl FnMut(&[u8], u64),
    ) {
        let mut cursor = self.0.cursor(pin);
        let mut there = cursor.seek_back(from);
        for left in (0..count).rev() {
            let (true, Some(key), Some(value)) = (there, cursor.key(), cursor.value()) else { return };
            each(key, value);
            there = left > 0 && cursor.prev();
        }
    }

    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        two_parts(self.0.memory())
    }

    fn parts(&mut self) -> Result<Vec<(&'static str, usize)>, String> {
        N::parts(&mut self.0)
    }
}

/// Returns the two parts that every index tells apart.
fn two_parts(memory: MemoryUsage) -> Vec<(&'static str, usize)> {
    vec![("nodes", memory.nodes), ("keys", memory.keys)]
}
