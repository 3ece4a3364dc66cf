//! The Cuckoo Trie: a trie whose nodes lie in a cuckoo hash table, so that a search can prefetch
//! several nodes of a key's path at once.
//!
//! ```text
//!   trie                      table: each node lies at the hash of its name, a prefix of keys
//!
//!          (root)             ┌ bucket ─────────────────────────┐
//!          ╱    ╲             │ branch │ leaf │      │ jump     │   one cache line, four entries
//!     branch    jump ▯▯▯      ├─────────────────────────────────┤
//!      ╱  ╲       ╲           │ leaf   │      │ leaf │ branch   │   an entry is in one of two
//!   leaf  leaf   branch       └─────────────────────────────────┘   buckets
//!    │     │      ╱  ╲            │
//!    ▼     ▼   leaf  leaf         └─► record: value, key
//! ```
//!
//! A pointer-based trie reads one node to find the address of the next, so the reads of a search
//! cannot overlap. Here the address of a node follows from the hash of its name, and its name is a
//! prefix of the key. So all addresses are known before the first node is read.
//!
//! Source: Zeitak and Morrison, "Cuckoo Trie: Exploiting Memory-Level Parallelism for Efficient
//! DRAM Indexing" (SOSP 2021), sections 4 and 5. Design: `docs/design/cuckoo-trie.md`.
//!
//! # Where to begin reading
//! 1. The table: `symbols.rs` (keys), `entry.rs` (nodes), `lanes.rs` and `bucket.rs` (four
//!    entries), `table.rs` (all buckets).
//! 2. Reads: `prefixes.rs` and `search.rs` (from the root), `search_start.rs` and `hints.rs` (below
//!    the root), `lookup.rs`, `batch.rs`.
//! 3. Writes: `transaction.rs`, `insert.rs`, `remove.rs`, then room for new entries:
//!    `displacement.rs` and `resize.rs`.
//! 4. Scans: `leaf_walk.rs`, `cursor.rs`.
//!
//! # Protocol
//! 1. Readers acquire no lock and write nothing shared. The version of a bucket tells a reader
//!    whether its reads of the bucket belong to one moment. The version of the parent's bucket
//!    tells it whether parent and child belong together (`bucket.rs`, `search.rs`).
//! 2. Every write is one transaction on a few buckets. It locks each bucket only if the bucket is
//!    unchanged since it was copied, and it locks all of them or applies nothing
//!    (`transaction.rs`). A node that replaces another node has the same name. A node in the table
//!    is always part of the trie, so the holder of a node's lock needs no lock above it.
//! 3. Only the node itself proves that it has no child for a symbol. A bucket in which the child
//!    was not found proves nothing, because entries move.
//! 4. No operation waits for readers. The collector frees memory that readers may still see, after
//!    a grace period.
//!
//! # Where we differ from the paper, and why
//! - The table grows and shrinks by single buckets. The hash and the color of an entry never change
//!   (`table.rs`, `resize.rs`).
//! - The hash is seeded, so that nobody can choose keys that collide (`crate::hash::peelable`).
//! - Keys may contain any bytes. An end symbol keeps a key from being a prefix of another key
//!   (`symbols.rs`).
//! - Searches begin below the root, at a depth where the key probably has a node. A leaf below
//!   verifies the start (`search_start.rs`, `hints.rs`).
//! - Scans walk the branches and read several children at once. The paper links the leaves in a
//!   list, which a scan must read one leaf after the other (`leaf_walk.rs`).
//! - Keys can be removed, and the nodes around a removed leaf are joined again (`remove.rs`).

mod batch;
mod bucket;
mod check;
#[cfg(all(test, not(skein_loom)))]
mod collision_attack;
mod cursor;
mod displacement;
mod entry;
mod hints;
mod insert;
mod lanes;
mod leaf_walk;
mod lookup;
mod prefixes;
mod remove;
mod resize;
mod search;
mod search_start;
mod separators;
mod symbols;
mod table;
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
use entry::CuckooNodeKind;
pub use prefixes::{PREFETCH_DEPTH, PREFETCH_DEPTH_MAX};
use table::CuckooTable;
use variant::{WITHOUT_HUGE_PAGES, has};

use crate::counter::Counter;
use crate::engine::{IndexBase, IndexEngine};
use crate::index::{ComputeAction, Computed, IndexError, OrderedIndex};
use crate::memory::MemoryPart;
use crate::slot::Slot;

/// An ordered index over byte strings; see the head of the module.
///
/// `V` selects a variant; use [`variant::DEFAULT`]. The table holds at most about 860 million
/// entries: one and a quarter for each random key, and more for keys with long shared prefixes.
/// Writes beyond that limit are refused.
///
/// ```
/// use skein_index::{CuckooTrie, Inline, OrderedIndex};
///
/// let index = CuckooTrie::new();
/// let guard = index.collector().enter();
/// index.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(index.get(b"goose", &guard), Some(1));
/// assert_eq!(index.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::IndexError>(())
/// ```
pub struct CuckooTrie<S: Slot, const V: usize = { variant::DEFAULT }> {
    table: CuckooTable<V>,
    entries: Counter,
    base: IndexBase,
    slots: PhantomData<S>,
}

// SAFETY: threads reach entries and records through atomics, change them by the protocol above, and
// free them after a grace period. Values are `Send` and `Sync` by the contract of `Slot`.
unsafe impl<S: Slot, const V: usize> Send for CuckooTrie<S, V> {}
// SAFETY: as above.
unsafe impl<S: Slot, const V: usize> Sync for CuckooTrie<S, V> {}

impl<S: Slot> CuckooTrie<S> {
    /// Creates an empty index with its own collector.
    pub fn new() -> Self {
        Self::with_collector(Arc::new(Collector::new()))
    }

    /// Creates an empty index that shares a collector, and so its guards, with other indexes.
    pub fn with_collector(collector: Arc<Collector>) -> Self {
        Self::with_variant(collector)
    }
}

impl<S: Slot, const V: usize> CuckooTrie<S, V> {
    /// Creates an empty index of the variant `V`.
    pub fn with_variant(collector: Arc<Collector>) -> Self {
        let base = IndexBase::new(collector, !has(V, WITHOUT_HUGE_PAGES));
        Self { table: CuckooTable::new(&base.arena), entries: Counter::new(), base, slots: PhantomData }
    }

    /// Sets the memory budget: writes are refused while the index uses `budget` bytes or more.
    /// Records are counted in whole spans of the arena, so the limit is exact to 64 KiB.
    #[must_use]
    pub fn with_budget(mut self, budget: usize) -> Self {
        self.base.budget = budget;
        self
    }

    /// Sets for how many nodes ahead a search prefetches buckets, by default [`PREFETCH_DEPTH`].
    /// Values outside 1 to [`PREFETCH_DEPTH_MAX`] are clamped.
    ///
    /// Two kinds of lookups prefetch no node ahead. In a batch, the reads of different lookups
    /// overlap. Lookups of random keys begin only one or two nodes above their leaf. The best value
    /// is about half of the reads that the processor keeps in flight, a figure that `skein probe`
    /// measures.
    ///
    /// ```
    /// use skein_index::{CuckooTrie, Inline, OrderedIndex};
    ///
    /// let index = CuckooTrie::new().with_prefetch_depth(10);
    /// index.insert(b"goose", Inline(1_u64), &index.collector().enter())?;
    /// # Ok::<(), skein_index::IndexError>(())
    /// ```
    #[must_use]
    pub fn with_prefetch_depth(mut self, depth: u32) -> Self {
        self.table.ahead = depth.clamp(1, PREFETCH_DEPTH_MAX);
        self
    }

    /// Returns the error of a write for which the table has no room.
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

impl<S: Slot, const V: usize> Drop for CuckooTrie<S, V> {
    fn drop(&mut self) {
        if self.base.frees_all_at_once::<S>() {
            // SAFETY: the index is borrowed mutably, so no object of the arena is in use any more.
            // The table is not in the arena.
            unsafe { self.base.arena.clone().discard() };
            return;
        }
        self.table.each(|_, _, entry| {
            if entry.kind() != CuckooNodeKind::Leaf {
                return;
            }
            // SAFETY: the index is borrowed mutably, so no other thread reaches the record, and
            // each record has one leaf.
            unsafe {
                if let Some(record) = entry.record() {
                    drop(S::from_word(record.value()));
                    record.free::<true>(MemoryPart::Keys);
                }
            }
        });
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
