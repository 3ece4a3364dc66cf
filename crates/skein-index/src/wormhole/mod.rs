//! Wormhole: a list of leaves, and a trie of anchors in a hash table that leads to them in O(log L) steps.
//!
//! ```text
//!   trie in a hash table     ""   "J"   "Ja"   "Jam"   "Jo"   "Jos"   "A"   "Au"
//!                             │            │
//!                  a search: the longest of the key's prefixes that is there, by binary search on its length
//!                             │            │
//!                             ▼            ▼
//!   leaves        [⊥ Aaron ..] ⇄ [Au Austin ..] ⇄ [Jam James ..] ⇄ [Jos Joseph ..]        up to 128 keys each
//!                                                      │
//!   records                                            └─► value, key
//! ```
//!
//! Source: Wu, Ni, Jiang, "Wormhole: A Fast Ordered Index for In-memory Data Management" (EuroSys 2019), sections 2 and 3. Files
//! are named for what they hold; read `leaf/`, `item.rs`, `meta.rs`, then `lookup.rs` and `split.rs`.
//!
//! # Protocol
//! 1. Readers take no lock and write nothing shared. The trie's answer is a guess: it may be out of date, or a tag may have
//!    deceived. A key that a leaf holds is there, whatever led to the leaf; that it is absent is the word of one leaf only, at one version
//!    (`lookup.rs`).
//! 2. Writers change a leaf under its lock. Locks are taken from left to right, the trie's last (`latch.rs`, `meta.rs`).
//! 3. No operation waits for readers: what they may still see is freed by the collector, past a grace period.
//!
//! # Where we differ from the paper, and why
//! - One table, changed in place, instead of two and a wait between (`table.rs`).
//! - Readers of a leaf take no lock; the paper has a reader-writer lock. Records do not change but for the value (`record.rs`).
//! - A leaf's tags are hashed to a cache line of their own instead of sorted (`leaf/`).
//! - An item holds the last leaf of each child, so the search ends with it (`item.rs`).
//! - The terminator of anchors is a symbol that keys do not have, so no leaf is ever too fat to split (`meta.rs`).
//! - A split looks for the cut with the shortest anchor (`split.rs`); scans go down as well as up (`cursor.rs`).
//! - Prefixes or keys that collide more than chance allows are hashed anew, by a keyed hash (`crate::hash`).

mod batch;
mod check;
mod cursor;
mod item;
mod latch;
mod leaf;
mod leaf_view;
mod line;
mod lookup;
mod merge;
mod meta_trie;
mod search;
mod split;
mod table;
mod teardown;
#[cfg(all(test, not(skein_loom)))]
mod tests;
mod value;
pub mod variant;
mod write;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use skein_sync::reclaim::{Collector, Guard};
use skein_sync::version::Version;

pub use check::WormholeStats;
pub use cursor::WormholeCursor;
use leaf::WormholeLeaf;
use meta_trie::MetaTrie;
use variant::{ALONE, WITHOUT_HUGE_PAGES, has, width};

use crate::engine::{IndexBase, IndexEngine};
use crate::hash::PrefixHash;
use crate::index::{ComputeAction, Computed, IndexError, OrderedIndex};
use crate::memory::Arena;
use crate::slot::Slot;

/// An ordered index over byte strings; see the module's head.
///
/// `W` is how many keys a leaf takes, 4 to 128; 128 is the paper's and the one to use ([`variant`] has flags that take away a design
/// feature each, to measure what it is worth). Smaller ones make tests reach every case with few keys.
///
/// ```
/// use skein_index::{Inline, OrderedIndex, Wormhole};
///
/// let index = Wormhole::new();
/// let guard = index.collector().enter();
/// index.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(index.get(b"goose", &guard), Some(1));
/// assert_eq!(index.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::Refused>(())
/// ```
pub struct Wormhole<S: Slot, const W: usize = 128> {
    /// The leaf of the empty anchor; it never goes.
    first: WormholeLeaf,
    meta: MetaTrie,
    /// The hash of tags in leaves, and the one of those whose tags collided.
    plain: PrefixHash,
    keyed: PrefixHash,
    base: IndexBase,
    slots: PhantomData<S>,
}

// SAFETY: leaves, items and records are reached through atomics, changed as the protocol says, and freed past a grace period;
// values are `Send` and `Sync` by the contract of `Slot`.
unsafe impl<S: Slot, const W: usize> Send for Wormhole<S, W> {}
// SAFETY: as above.
unsafe impl<S: Slot, const W: usize> Sync for Wormhole<S, W> {}

impl<S: Slot> Wormhole<S> {
    /// An empty index with a collector of its own.
    pub fn new() -> Self {
        Self::with_collector(Arc::new(Collector::new()))
    }

    /// An empty index that shares a collector, and so guards, with others.
    pub fn with_collector(collector: Arc<Collector>) -> Self {
        Self::with_variant(collector)
    }
}

impl<S: Slot> Wormhole<S, { 128 | ALONE }> {
    /// An empty index for one thread, without locks and versions (the paper's *Wormhole-unsafe*): what it gains is what concurrency
    /// costs.
    ///
    /// # Safety
    /// From now on one thread at a time uses the index, and nothing is written while a cursor is in use.
    pub unsafe fn single_threaded(collector: Arc<Collector>) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Self::single_threaded_in(Arena::new(), collector) }
    }
}

impl<S: Slot, const W: usize> Wormhole<S, W> {
    /// An empty index for one thread, as [`alone`](Wormhole::alone) makes it, with its memory in
    /// `arena`.
    ///
    /// Inserts of new keys are fastest with `W` at seven eighths of 128: lines of a leaf that is
    /// nearly full send most records on.
    ///
    /// # Safety
    /// As for `alone`. Nothing else of the arena is in use when the index is dropped, and none of
    /// its objects is used after that.
    pub unsafe fn single_threaded_in(arena: Arena, collector: Arc<Collector>) -> Self {
        const { assert!(has(W, ALONE), "an index for one thread is of a variant that has `ALONE`") };
        Self::build(IndexBase::with_arena(arena, collector))
    }

    /// An empty index of the variant that its type says.
    pub fn with_variant(collector: Arc<Collector>) -> Self {
        const { assert!(!has(W, ALONE), "an index for one thread is made by `alone`") };
        Self::build(IndexBase::new(collector, !has(W, WITHOUT_HUGE_PAGES)))
    }

    fn build(base: IndexBase) -> Self {
        const { assert!(width(W) >= 4 && width(W) <= leaf::SLOTS, "a leaf takes 4 to 128 keys") };
        const { assert!(size_of::<usize>() == 8, "addresses have 48 of 64 bits") };
        let huge = !has(W, WITHOUT_HUGE_PAGES);
        let first = WormholeLeaf::new(&base.arena, Version::BORDER, b"");
        let keyed = PrefixHash::keyed();
        Self {
            first,
            meta: MetaTrie::new(&base.arena, first, keyed, huge),
            plain: PrefixHash::crc32c(),
            keyed,
            base,
            slots: PhantomData,
        }
    }

    /// This index, refusing writes once its memory is at `budget` bytes; counted in whole spans of the arena, so the precision is 64
    /// KiB.
    #[must_use]
    pub fn with_budget(mut self, budget: usize) -> Self {
        self.base.budget = budget;
        self
    }
}

impl<S: Slot, const W: usize> IndexEngine<S> for Wormhole<S, W> {
    type EngineCursor<'g, G: Guard + 'g>
        = WormholeCursor<'g, S, G, W>
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
        Ok(self.write(key, change, guard))
    }

    fn bytes_at_once(&self, key: &[u8]) -> usize {
        self.meta.table().growth(key.len())
    }

    #[inline(always)]
    fn new_cursor<'g, G: Guard>(&'g self, guard: &'g G) -> WormholeCursor<'g, S, G, W> {
        WormholeCursor::new(self, guard)
    }

    fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        let anchors: Vec<&[u8]> =
            std::iter::successors(self.first.next(), |leaf| leaf.next()).map(WormholeLeaf::anchor).collect();
        let parts = parts.clamp(1, anchors.len() + 1);
        (1..parts).map(|part| anchors[part * (anchors.len() + 1) / parts - 1].to_vec()).collect()
    }
}

impl<S: Slot> Default for Wormhole<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Slot, const W: usize> fmt::Debug for Wormhole<S, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wormhole").field("len", &self.len()).field("width", &width(W)).finish_non_exhaustive()
    }
}
