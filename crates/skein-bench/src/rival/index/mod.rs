//! Indexes under test: maps from byte strings to 64-bit words.
//!
//! A file here implements [`IndexContender`] and describes it by its `ENTRIES`, which this file
//! lists.
//!
//! A contender in C++ is a class in `cpp/`, which `build.rs` compiles and `cpp_index.rs` calls,
//! plus a file here with its name.
//!
//! The timed loops are compiled for each contender ([`crate::workload::run`]). All other code uses
//! it through [`DynIndex`].
//!
//! Order of reading: this file, `dyn_index.rs`, `btree.rs` as an example, then `ours/mod.rs`. The
//! rivals:
//!
//! - Ordered, in Rust: `bf_tree`, `congee_tree`, `crossbeam_skiplist`, `masstree_crate`,
//!   `scc_tree`, and `binary_tree` (the first steps of Masstree's figure 8).
//! - Ordered, in C++: `std_map`.
//! - Hash tables, as upper bounds: `dense_hash_map`, `libcuckoo` (C++), `hashbrown_map`,
//!   `papaya_map`.
//!
//! `absent` names the rivals that are not measured, with the reasons, and `key_repr` converts keys
//! for foreign maps.

mod absent;
#[cfg(feature = "rivals")]
mod bf_tree;
mod binary_tree;
mod btree;
#[cfg(feature = "rivals")]
mod congee_tree;
#[cfg(have_cpp)]
mod cpp_index;
#[cfg(feature = "rivals")]
mod crossbeam_skiplist;
#[cfg(have_dense_hash_map)]
mod dense_hash_map;
mod dyn_index;
#[cfg(feature = "rivals")]
mod hashbrown_map;
mod key_repr;
#[cfg(have_libcuckoo)]
mod libcuckoo;
#[cfg(feature = "rivals")]
mod masstree_crate;
mod ours;
#[cfg(feature = "rivals")]
mod papaya_map;
#[cfg(feature = "rivals")]
mod scc_tree;
#[cfg(have_cpp)]
mod std_map;
#[cfg(test)]
mod tests;

pub use absent::absent;
pub use btree::WORDS as BTREE_OF_WORDS;
pub use dyn_index::{DynConcurrentIndex, DynIndex};
pub use ours::{
    BARE_SKIP_LIST, BARE_SKIP_LIST_PLAIN, CUCKOO_TRIE, CUCKOO_TRIE_SERIAL, CUCKOO_TRIE_TABLE,
    CUCKOO_TRIE_WITH_ROOM, MASSTREE, MLP_INDEX, MLP_INDEX_ALL_LEVELS, MLP_INDEX_SERIAL, PAGE_TREE, SKIP_LIST,
    SKIP_LIST_AHEAD_4, SKIP_LIST_PLAIN, WORMHOLE, WORMHOLE_FOR_ONE_THREAD, WORMHOLE_TRIE,
};

/// The abilities of a contender beyond inserting and looking up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct IndexAbilities {
    /// It has its own batch lookup.
    pub batches: bool,
    /// It has an order and scans upward.
    pub scan: bool,
    /// It scans downward.
    pub scan_back: bool,
    /// Its scans may start at any byte string: they find the first key at or after it.
    pub lower_bound: bool,
    /// It removes keys.
    pub remove: bool,
}

impl IndexAbilities {
    /// It only inserts and looks up.
    pub const NOTHING: Self =
        Self { batches: false, scan: false, scan_back: false, lower_bound: false, remove: false };
    /// It has an order and removes keys, and has no batch lookup.
    pub const ORDERED: Self =
        Self { batches: false, scan: true, scan_back: true, lower_bound: true, remove: true };
}

/// An index under test.
///
/// The bench never calls methods that [`CAN`](Self::CAN) rules out.
pub trait IndexContender: Sized + 'static {
    /// Its name in reports.
    const NAME: &'static str;
    /// Its version and configuration, for reports.
    const ABOUT: &'static str;
    /// Its abilities.
    const CAN: IndexAbilities;
    /// The least and the greatest length of its keys.
    const KEY_BYTES: (usize, usize) = (0, usize::MAX);

    /// The least and the greatest length of keys on which its scans are correct.
    const SCAN_KEY_BYTES: (usize, usize) = (0, usize::MAX);

    /// A guard that keeps memory from being freed under a reader. Loops renew it every thousand
    /// operations.
    type Pin<'a>
    where
        Self: 'a;

    /// Creates an empty index that will get `expected` keys. Only indexes that cannot grow may use
    /// the number, and their `ABOUT` must say so.
    fn new(expected: usize) -> Self;

    /// Returns a guard.
    fn pin(&self) -> Self::Pin<'_>;

    /// Sets the key to the value.
    fn insert<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8], value: u64);

    /// Returns the key's value.
    fn get<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> Option<u64>;

    /// Looks up several keys, in the contender's fastest way.
    fn get_many<'a>(
        &'a self,
        pin: &Self::Pin<'a>,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Option<u64>),
    ) {
        for (position, key) in keys.iter().enumerate() {
            found(position, self.get(pin, key));
        }
    }

    /// Removes the key; returns whether it was present.
    fn remove<'a>(&'a self, _pin: &Self::Pin<'a>, _key: &[u8]) -> bool {
        unreachable!("{} does not remove keys; see its CAN", Self::NAME)
    }

    /// Visits the first `count` keys at or after `from`, upward.
    fn scan<'a>(&'a self, _pin: &Self::Pin<'a>, _from: &[u8], _count: usize, _each: impl FnMut(&[u8], u64)) {
        unreachable!("{} does not scan; see its CAN", Self::NAME)
    }

    /// Visits the first `count` keys at or before `from`, downward.
    fn scan_back<'a>(
        &'a self,
        _pin: &Self::Pin<'a>,
        _from: &[u8],
        _count: usize,
        _each: impl FnMut(&[u8], u64),
    ) {
        unreachable!("{} does not scan downward; see its CAN", Self::NAME)
    }

    /// Returns, by part, the live bytes that it did not take from the counted allocators.
    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// Returns the live bytes by finer parts, for an index that can tell them only with exclusive
    /// access.
    ///
    /// # Errors
    /// If the index finds itself damaged.
    fn parts(&mut self) -> Result<Vec<(&'static str, usize)>, String> {
        Ok(self.own_bytes())
    }
}

/// A registered contender.
#[derive(Debug)]
pub struct RegisteredIndex {
    /// Its name in reports.
    pub name: &'static str,
    /// Its version and configuration.
    pub about: &'static str,
    /// Its abilities.
    pub can: IndexAbilities,
    /// The least and the greatest length of its keys.
    pub key_bytes: (usize, usize),
    /// The least and the greatest length of keys on which its scans are correct.
    pub scan_key_bytes: (usize, usize),
    /// Creates an empty index for this many keys.
    pub make: fn(usize) -> Box<dyn DynIndex>,
    /// Whether several threads may use it at once.
    pub threads: bool,
    /// Its purpose.
    pub role: IndexRole,
}

impl RegisteredIndex {
    /// Returns whether it is a rival that has an order and supports several threads.
    fn is_peer(&self) -> bool {
        self.role == IndexRole::Rival && self.threads && self.can.scan
    }
}

/// The purpose of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexRole {
    /// One of our indexes in its default configuration.
    Ours,
    /// A contender that is not ours.
    Rival,
    /// A step in an experiment that takes apart the contender of this name.
    Step(&'static str),
    /// The second name of an index in the experiment that compares it with itself.
    Twin,
}

impl IndexRole {
    /// Returns whether the entry is a contender in comparisons.
    pub fn is_contender(self) -> bool {
        matches!(self, Self::Ours | Self::Rival)
    }
}

/// The entries of this build, by file. The steps of Masstree begin with `binary_tree`.
static ENTRIES: &[&[RegisteredIndex]] = &[
    &binary_tree::ENTRIES,
    &ours::masstree::ENTRIES,
    &ours::wormhole::ENTRIES,
    &ours::page_tree::ENTRIES,
    &ours::cuckoo_trie::ENTRIES,
    &ours::skip_list::ENTRIES,
    &ours::mlp_index::ENTRIES,
    #[cfg(feature = "rivals")]
    &masstree_crate::ENTRIES,
    #[cfg(feature = "rivals")]
    &crossbeam_skiplist::ENTRIES,
    #[cfg(feature = "rivals")]
    &congee_tree::ENTRIES,
    #[cfg(feature = "rivals")]
    &scc_tree::ENTRIES,
    #[cfg(feature = "rivals")]
    &bf_tree::ENTRIES,
    &btree::ENTRIES,
    #[cfg(have_cpp)]
    &std_map::ENTRIES,
    #[cfg(feature = "rivals")]
    &hashbrown_map::ENTRIES,
    #[cfg(feature = "rivals")]
    &papaya_map::ENTRIES,
    #[cfg(have_dense_hash_map)]
    &dense_hash_map::ENTRIES,
    #[cfg(have_libcuckoo)]
    &libcuckoo::ENTRIES,
];

/// Returns the contenders of this build in the order of reports and of turns: ours, the others, and
/// the steps. If two have the same name, a run selects the one that is made for the lengths of its
/// keys.
pub fn all() -> Vec<&'static RegisteredIndex> {
    let mut all: Vec<_> = ENTRIES.iter().copied().flatten().collect();
    all.sort_by_key(|entry| matches!(entry.role, IndexRole::Step(_)));
    all
}

/// Returns the names of all contenders of this build, each once.
pub fn names() -> Vec<&'static str> {
    let contenders = all().into_iter().filter(|entry| entry.role.is_contender());
    let mut names: Vec<_> = contenders.map(|entry| entry.name).collect();
    names.dedup();
    names
}

/// Returns the names of the peers of our indexes, each once: the rivals that have an order and
/// support several threads, as all of ours do.
pub fn peers() -> Vec<&'static str> {
    let peers = all().into_iter().filter(|entry| entry.is_peer());
    let mut names: Vec<_> = peers.map(|entry| entry.name).collect();
    names.dedup();
    names
}

/// Returns the contender that the step of this name belongs to; `None` if it is not a step.
pub fn parent_of_step(step: &str) -> Option<&'static str> {
    all().into_iter().find(|entry| entry.name == step).and_then(|entry| match entry.role {
        IndexRole::Step(whole) => Some(whole),
        _ => None,
    })
}

/// If several entries share a name, keeps the one with the narrowest range of key lengths, since it
/// is made for them.
pub fn keep_most_specialised(entries: &mut Vec<&'static RegisteredIndex>) {
    let width = |entry: &RegisteredIndex| entry.key_bytes.1 - entry.key_bytes.0;
    let best: Vec<_> = entries
        .iter()
        .map(|entry| entries.iter().filter(|other| other.name == entry.name).map(|other| width(other)).min())
        .collect();
    let mut best = best.into_iter();
    entries.retain(|entry| best.next().flatten() == Some(width(entry)));
}
