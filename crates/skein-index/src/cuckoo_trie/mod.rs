//! The Cuckoo Trie: a trie in a cuckoo hash table, so that the nodes along a key can all be asked for at once.
//!
//! ```text
//!   trie                      table: the nodes by the hash of their names, which are prefixes of keys
//!
//!          (root)             ┌ bucket ─────────────────────────┐
//!          ╱    ╲             │ branch │ leaf │      │ jump     │     one cache line, four entries
//!     branch    jump ▯▯▯      ├─────────────────────────────────┤
//!      ╱  ╲       ╲           │ leaf   │      │ leaf │ branch   │     an entry is in one of two buckets
//!   leaf  leaf   branch       └─────────────────────────────────┘
//!    │     │      ╱  ╲            │
//!    ▼     ▼   leaf  leaf         └─► record: value, key
//! ```
//!
//! Source: Zeitak and Morrison, "Cuckoo Trie: Exploiting Memory-Level Parallelism for Efficient DRAM Indexing" (SOSP 2021), sections 4 and 5.
//! Files are named for what they hold; read `symbol.rs`, `entry.rs`, `bucket.rs`, `table.rs`, then `prefixes.rs`, `search.rs`, `begin.rs`, `steps.rs` and `change.rs`.
//!
//! # Protocol
//! 1. Readers take no lock and write nothing shared. A bucket's version says whether what was read of it belongs together; a parent's version,
//!    whether its child was its child (`bucket.rs`, `search.rs`).
//! 2. Every write is one change of a few buckets: all are locked as they were seen, or none (`change.rs`). What takes the place of a node has
//!    its name; a node in the table is in the trie, so who holds a node's lock needs nothing above it.
//! 3. That a node has no child by a symbol is said by the node itself, never by a bucket where the child was not found: entries move.
//! 4. No operation waits for readers: what they may still see is freed by the collector, past a grace period.
//!
//! # Where we differ from the paper, and why
//! - The table grows and shrinks by single buckets; no entry's hash or color ever changes (`table.rs`, `resize.rs`).
//! - The hash is seeded, so that keys cannot be chosen to collide (`crate::hash::peelable`).
//! - Keys may be any bytes: an end of its own makes no key a prefix of another (`symbol.rs`).
//! - Searches begin below the root, where the key probably has a node; a leaf below says whether it was so (`begin.rs`, `depths.rs`, `hints.rs`).
//! - Scans go from branch to branch, and ask for several children at once; the paper's list of leaves is read one after the other (`cursor.rs`, `walk.rs`).
//! - Keys can be removed, and what they leave behind is put together again (`remove.rs`).

mod batch;
mod bucket;
mod check;
#[cfg(all(test, not(skein_loom)))]
mod collision_attack;
mod cursor;
mod depths;
mod displacement;
mod entry;
mod hints;
mod image;
mod insert;
mod lanes;
mod leaf_walk;
mod lookup;
mod lookup_path;
mod prefixes;
mod remove;
mod resize;
mod search;
mod search_start;
mod separators;
mod short_displacement;
mod symbols;
mod table;
mod teardown;
#[cfg(all(test, not(skein_loom)))]
mod tests;
mod transaction;
pub mod variant;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use skein_sync::reclaim::{Collector, Guard};

pub use check::CuckooTrieShape;
pub use cursor::CuckooTrieCursor;
pub use prefixes::{PREFETCH_DEPTH, PREFETCH_DEPTH_MAX};
use table::CuckooTable;
use variant::{WITHOUT_HUGE_PAGES, has};

use crate::counter::Counter;
use crate::engine::{IndexBase, IndexEngine};
use crate::index::{ComputeAction, Computed, IndexError, OrderedIndex};
use crate::slot::Slot;

/// An ordered index over byte strings; see the module's head.
///
/// `V` chooses a variant; [`variant::DEFAULT`] is the one to use. Its table ends at some 860 million entries, one and a
/// quarter for each random key and more where keys share much; writes beyond are refused.
///
/// ```
/// use skein_index::{CuckooTrie, Inline, OrderedIndex};
///
/// let index = CuckooTrie::new();
/// let guard = index.collector().enter();
/// index.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(index.get(b"goose", &guard), Some(1));
/// assert_eq!(index.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::Refused>(())
/// ```
pub struct CuckooTrie<S: Slot, const V: usize = { variant::DEFAULT }> {
    table: CuckooTable<V>,
    /// How many entries the table has.
    entries: Counter,
    base: IndexBase,
    slots: PhantomData<S>,
}

// SAFETY: entries and records are reached through atomics, changed as the protocol says, and freed past a grace period;
// values are `Send` and `Sync` by the contract of `Slot`.
unsafe impl<S: Slot, const V: usize> Send for CuckooTrie<S, V> {}
// SAFETY: as above.
unsafe impl<S: Slot, const V: usize> Sync for CuckooTrie<S, V> {}

impl<S: Slot> CuckooTrie<S> {
    /// An empty index with a collector of its own.
    pub fn new() -> Self {
        Self::with_collector(Arc::new(Collector::new()))
    }

    /// An empty index that shares a collector, and so guards, with others.
    pub fn with_collector(collector: Arc<Collector>) -> Self {
        Self::with_variant(collector)
    }
}

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// An empty index of the variant that its type says.
    pub fn with_variant(collector: Arc<Collector>) -> Self {
        let base = IndexBase::new(collector, !has(V, WITHOUT_HUGE_PAGES));
        Self { table: CuckooTable::new(&base.arena), entries: Counter::new(), base, slots: PhantomData }
    }

    /// This index, refusing writes once its memory is at `budget` bytes; records are counted in whole spans of the arena, so the precision is
    /// 64 KiB.
    #[must_use]
    pub fn with_budget(mut self, budget: usize) -> Self {
        self.base.budget = budget;
        self
    }

    /// This index, asking for the buckets of so many nodes ahead of a search: 1 to [`PREFETCH_DEPTH_MAX`], and the nearest of those otherwise.
    /// Batches ask for none ahead, since their keys take turns, nor do lookups that begin a node or two above their leaf, as those of random keys do.
    /// The best is about half of the reads that the processor keeps in flight; `skein probe` says how many that are. [`PREFETCH_DEPTH`] if not called.
    ///
    /// ```
    /// use skein_index::{CuckooTrie, Inline, OrderedIndex};
    ///
    /// let index = CuckooTrie::new().with_prefetch_depth(10);
    /// index.insert(b"goose", Inline(1_u64), &index.collector().enter())?;
    /// # Ok::<(), skein_index::Refused>(())
    /// ```
    #[must_use]
    pub fn with_prefetch_depth(mut self, depth: u32) -> Self {
        self.table.ahead = depth.clamp(1, PREFETCH_DEPTH_MAX);
        self
    }

    /// What a write gets that the table has no place for.
    fn full(&self) -> IndexError {
        IndexError::Full { keys: self.base.len.sum() }
    }
}

impl<S: Slot, const V: usize> IndexEngine<S> for CuckooTrie<S, V> {
    type EngineCursor<'g, G: Guard + 'g>
        = CuckooTrieCursor<'g, S, G, V>
    where
        Self: 'g;

    #[inline(always)]
    fn base(&self) -> &IndexBase {
        &self.base
    }

    #[inline(always)]
    fn lookup(&self, key: &[u8]) -> Option<u64> {
        self.lookup(key)
    }

    #[inline(always)]
    fn lookup_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        self.lookup_many(keys, found);
    }

    #[inline(always)]
    fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        self.write(key, change, guard)
    }

    #[inline(always)]
    fn remove_present<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        self.take_out(key, guard)
    }

    #[inline(always)]
    fn new_cursor<'g, G: Guard>(&'g self, guard: &'g G) -> CuckooTrieCursor<'g, S, G, V> {
        CuckooTrieCursor::new(self, guard)
    }

    fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        self.separators(parts)
    }
}

impl<S: Slot> Default for CuckooTrie<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Slot, const V: usize> fmt::Debug for CuckooTrie<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CuckooTrie").field("len", &self.len()).finish_non_exhaustive()
    }
}
