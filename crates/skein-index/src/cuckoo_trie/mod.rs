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
//! 3. Writes: `crate::buckets`, `transaction.rs`, `insert.rs`, `remove.rs`, then room for new
//!    entries: `displacement.rs` and `resize.rs`.
//! 4. Scans: `leaf_walk.rs`, `cursor.rs`.
//! 5. `check.rs` verifies every invariant, `separators.rs` divides the keys into parts,
//!    `variant.rs` has the variants for measurements, `collision_attack.rs` the tests with chosen
//!    keys.
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
//! - The hash is seeded, so that no user can choose keys that collide (`crate::hash::peelable`).
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
#[cfg(not(feature = "paper"))]
mod variant;
#[cfg(feature = "paper")]
pub mod variant;

use skein_sync::reclaim::Guard;

pub use check::CuckooTrieShape;
pub use cursor::CuckooTrieCursor;
use entry::CuckooNodeKind;
pub use prefixes::{PREFETCH_DEPTH, PREFETCH_DEPTH_MAX};
use table::CuckooTable;
use variant::{CuckooSettings, CuckooStandard, CuckooTrieVariant};

use crate::byte_index::ByteIndex;
use crate::counter::Counter;
use crate::engine::{IndexBase, IndexEngine, StandardEngine};
use crate::index::{ComputeAction, Computed, IndexError};
use crate::memory::MemoryPart;
use crate::slot::Slot;

/// An ordered index over byte strings; see the head of the module.
///
/// The table holds at most about 860 million entries: one and a quarter for each random key, and
/// more for keys with long shared prefixes. Writes beyond that limit are refused.
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
pub type CuckooTrie<S> = ByteIndex<S, CuckooEngine<CuckooStandard>>;

/// The fields of a [`CuckooTrie`] beside those that all indexes have.
#[derive(Debug)]
pub struct CuckooEngine<V: CuckooSettings> {
    table: CuckooTable<V>,
    entries: Counter,
}

impl<S: Slot> StandardEngine<S> for CuckooEngine<CuckooStandard> {}

impl<S: Slot, V: CuckooSettings> CuckooTrieVariant<S, V> {
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
        self.engine.table.ahead = depth.clamp(1, PREFETCH_DEPTH_MAX);
        self
    }
}

impl<S: Slot, V: CuckooSettings> IndexEngine<S> for CuckooEngine<V> {
    type EngineCursor<'g, G: Guard + 'g>
        = CuckooTrieCursor<'g, S, G, V>
    where
        Self: 'g;

    const NAME: &'static str = "CuckooTrie";

    fn new(base: &IndexBase) -> Self {
        Self { table: CuckooTable::new(&base.arena), entries: Counter::new() }
    }

    #[inline(always)]
    fn lookup(index: &CuckooTrieVariant<S, V>, key: &[u8]) -> Option<u64> {
        index.lookup(key)
    }

    #[inline(always)]
    fn lookup_many(index: &CuckooTrieVariant<S, V>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        index.lookup_many(keys, found);
    }

    #[inline(always)]
    fn write<'g, G: Guard>(
        index: &'g CuckooTrieVariant<S, V>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        index.write(key, change, guard)
    }

    #[inline(always)]
    fn remove<'g, G: Guard>(
        index: &'g CuckooTrieVariant<S, V>,
        key: &[u8],
        guard: &'g G,
    ) -> Option<S::Ref<'g>> {
        index.take_out(key, guard)
    }

    #[inline(always)]
    fn cursor<'g, G: Guard>(
        index: &'g CuckooTrieVariant<S, V>,
        guard: &'g G,
    ) -> CuckooTrieCursor<'g, S, G, V> {
        CuckooTrieCursor::new(index, guard)
    }

    fn separators(index: &CuckooTrieVariant<S, V>, parts: usize) -> Vec<Vec<u8>> {
        index.separators(parts)
    }

    unsafe fn free_all(index: &mut CuckooTrieVariant<S, V>) {
        index.engine.table.each(|_, _, entry| {
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
