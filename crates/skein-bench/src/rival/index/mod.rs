//! Indexes under test: byte strings to 64-bit words.
//!
//! A file here implements [`Contender`] and registers it:
//!
//! ```ignore
//! #[distributed_slice(ENTRIES)]
//! static ENTRY: Entry = Entry::shared::<SkipList>(20);
//! ```
//!
//! One in C++ is a class in `cpp/`, which `build.rs` compiles and `cpp_index.rs` calls, and a file here with its name.
//!
//! The loops that time it are compiled for each contender ([`crate::workload::run`]); past that its type is forgotten.

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

use linkme::distributed_slice;

pub use absent::absent;
pub use btree::WORDS as BTREE_OF_WORDS;
pub use dyn_index::{DynConcurrentIndex, DynIndex};
pub use ours::{
    BARE_SKIP_LIST, BARE_SKIP_LIST_PLAIN, CUCKOO_TRIE, CUCKOO_TRIE_SERIAL, CUCKOO_TRIE_TABLE,
    CUCKOO_TRIE_WITH_ROOM, MASSTREE, MLP_INDEX, MLP_INDEX_ALL_LEVELS, MLP_INDEX_SERIAL, SKIP_LIST,
    SKIP_LIST_AHEAD_4, SKIP_LIST_PLAIN, WORMHOLE, WORMHOLE_FOR_ONE_THREAD, WORMHOLE_TRIE,
};

/// What a contender can do beside inserting and looking up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct IndexAbilities {
    /// It has a batch lookup of its own.
    pub batches: bool,
    /// It has an order, and scans upward.
    pub scan: bool,
    /// It scans downward.
    pub scan_back: bool,
    /// Its scans may start at a key that it has not: it finds the first key at or after any.
    pub lower_bound: bool,
    /// It removes.
    pub remove: bool,
}

impl IndexAbilities {
    /// Inserting and looking up alone.
    pub const NOTHING: Self =
        Self { batches: false, scan: false, scan_back: false, lower_bound: false, remove: false };
}

/// An index under test.
///
/// Methods that [`CAN`](Self::CAN) denies are never called.
pub trait IndexContender: Sized + 'static {
    /// Its name in reports.
    const NAME: &'static str;
    /// Its version and how it is configured, for reports.
    const ABOUT: &'static str;
    /// What it can do.
    const CAN: IndexAbilities;
    /// The least and the greatest length of its keys.
    const KEY_BYTES: (usize, usize) = (0, usize::MAX);

    /// The least and the greatest length of keys on which its scans are right.
    const SCAN_KEY_BYTES: (usize, usize) = (0, usize::MAX);

    /// What keeps memory from being freed under a reader; renewed every thousand operations.
    type Pin<'a>
    where
        Self: 'a;

    /// An empty one. `expected` keys are going to come; only those that cannot grow may use it, and say so in `ABOUT`.
    fn new(expected: usize) -> Self;

    /// Pins.
    fn pin(&self) -> Self::Pin<'_>;

    /// Sets the key to the value.
    fn insert<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8], value: u64);

    /// Finds the key's value.
    fn get<'a>(&'a self, pin: &Self::Pin<'a>, key: &[u8]) -> Option<u64>;

    /// Finds many, by the best way it has.
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

    /// Removes the key; returns whether it was there.
    fn remove<'a>(&'a self, _pin: &Self::Pin<'a>, _key: &[u8]) -> bool {
        unreachable!("{} does not remove, says its CAN", Self::NAME)
    }

    /// Visits the first `count` keys at or after `from`, upward.
    fn scan<'a>(&'a self, _pin: &Self::Pin<'a>, _from: &[u8], _count: usize, _each: impl FnMut(&[u8], u64)) {
        unreachable!("{} does not scan, says its CAN", Self::NAME)
    }

    /// Visits the first `count` keys at or before `from`, downward.
    fn scan_back<'a>(
        &'a self,
        _pin: &Self::Pin<'a>,
        _from: &[u8],
        _count: usize,
        _each: impl FnMut(&[u8], u64),
    ) {
        unreachable!("{} does not scan downward, says its CAN", Self::NAME)
    }

    /// Live bytes that it did not take from the allocators that are counted, by part.
    fn own_bytes(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// The same by finer parts, for one that tells them only when nobody else uses it.
    ///
    /// # Errors
    /// If it finds itself damaged on the way.
    fn parts(&mut self) -> Result<Vec<(&'static str, usize)>, String> {
        Ok(self.own_bytes())
    }
}

/// A contender, known by name.
#[derive(Debug)]
pub struct RegisteredIndex {
    /// Its name in reports.
    pub name: &'static str,
    /// Its version and configuration.
    pub about: &'static str,
    /// What it can do.
    pub can: IndexAbilities,
    /// The least and the greatest length of its keys.
    pub key_bytes: (usize, usize),
    /// The least and the greatest length of keys on which its scans are right.
    pub scan_key_bytes: (usize, usize),
    /// Where it stands in reports and whose turn it is: ours first.
    pub rank: u32,
    /// Makes an empty one for so many keys.
    pub make: fn(usize) -> Box<dyn DynIndex>,
    /// Whether several threads may use it at once.
    pub threads: bool,
    /// What it is for.
    pub role: IndexRole,
}

/// What an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexRole {
    /// Comparisons.
    Contender,
    /// An experiment that takes a structure apart, the contender of this name, of which it is a step.
    Step(&'static str),
    /// The experiment that measures one structure under two names, of which it is the second.
    Twin,
}

/// What registers here; use [`all`], which sorts.
#[distributed_slice]
pub static ENTRIES: [RegisteredIndex];

/// The rank of the first contender that is not ours.
const RIVALS: u32 = 10;

impl RegisteredIndex {
    /// Whether it is one of our indexes, as it comes.
    pub fn ours(&self) -> bool {
        self.rank < RIVALS && self.role == IndexRole::Contender
    }

    /// Whether it is a contender that is not ours.
    pub fn rival(&self) -> bool {
        self.rank >= RIVALS && self.role == IndexRole::Contender
    }
}

/// The contenders of this build, ours first. Where two have the same name, a run takes the one that is made for the
/// lengths of its keys.
pub fn all() -> Vec<&'static RegisteredIndex> {
    let mut all: Vec<_> = ENTRIES.iter().collect();
    all.sort_by_key(|entry| (entry.rank, entry.name));
    all
}

/// The names of all contenders of this build, each once.
pub fn names() -> Vec<&'static str> {
    let contenders = all().into_iter().filter(|entry| entry.role == IndexRole::Contender);
    let mut names: Vec<_> = contenders.map(|entry| entry.name).collect();
    names.dedup();
    names
}

/// What a step of this name is a step of; none if it is none.
pub fn parent_of_step(step: &str) -> Option<&'static str> {
    ENTRIES.iter().find(|entry| entry.name == step).and_then(|entry| match entry.role {
        IndexRole::Step(whole) => Some(whole),
        IndexRole::Contender | IndexRole::Twin => None,
    })
}

/// Where several entries have one name, keeps the one that takes the fewest lengths of keys: it is made for them.
pub fn keep_most_specialised(entries: &mut Vec<&'static RegisteredIndex>) {
    let width = |entry: &RegisteredIndex| entry.key_bytes.1 - entry.key_bytes.0;
    let best: Vec<_> = entries
        .iter()
        .map(|entry| entries.iter().filter(|other| other.name == entry.name).map(|other| width(other)).min())
        .collect();
    let mut best = best.into_iter();
    entries.retain(|entry| best.next().flatten() == Some(width(entry)));
}
