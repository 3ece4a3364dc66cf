//! Wormhole: a list of leaves, and a hashed trie of anchors that finds a leaf in O(log L) steps for
//! a key of L bytes.
//!
//! ```text
//!   trie in a hash table     ""   "J"   "Ja"   "Jam"   "Jo"   "Jos"   "A"   "Au"
//!                             │            │
//!                  a search: the longest prefix of the key that the table holds,
//!                            by binary search on its length
//!                             │            │
//!                             ▼            ▼
//!   leaves     [⊥ Aaron ..] ⇄ [Au Austin ..] ⇄ [Jam James ..] ⇄ [Jos Joseph ..]
//!              up to 128 keys each                   │
//!   records                                          └─► value, key
//! ```
//!
//! An *anchor* is the lower bound of a leaf's keys. The trie holds all prefixes of all anchors.
//! Reading order: `leaf/`, `item.rs` and `table.rs` (the structures), `meta_trie.rs` (changes of
//! the trie), `lookup.rs`, `write.rs`, `split.rs`, `merge.rs`, then `leaf_view.rs` and `cursor.rs`
//! (scans), `batch.rs`. Beside these: `teardown.rs` (drop), `check.rs` (all invariants),
//! `variant.rs` and `one_thread.rs` (for measurements).
//!
//! Source: Wu, Ni, Jiang, "Wormhole: A Fast Ordered Index for In-memory Data Management" (EuroSys
//! 2019), sections 2 and 3. Design: `docs/design/wormhole.md`.
//!
//! # Protocol
//! 1. Readers acquire no lock and write nothing shared. The trie returns a guess: it may be out of
//!    date, or two prefixes may have the same tag. A key that a reader finds in a leaf is present,
//!    whatever path led to the leaf. Only the right leaf, read at one version, proves that a key is
//!    absent (`lookup.rs`).
//! 2. Writers change a leaf under its lock. Leaf locks are acquired from left to right, the trie's
//!    lock last (`latch.rs`, `meta_trie.rs`).
//! 3. No operation waits for readers. Memory that they may still see is freed by the collector,
//!    after a grace period.
//!
//! # Where we differ from the paper, and why
//! - There is one table, changed in place. The paper has two, and waits for readers between
//!   changing them (`table.rs`).
//! - Readers of a leaf acquire no lock; the paper has a reader-writer lock. A record never changes,
//!   except for its value (`record.rs`).
//! - A tag in a leaf hashes to a cache line; the paper sorts the tags (`leaf/`).
//! - An item holds the last leaf of each child, so a search ends at the item (`item.rs`).
//! - The terminator of anchors is a symbol that no key contains, so every leaf can be split
//!   (`meta_trie.rs`).
//! - A split looks for the cut with the shortest anchor (`split.rs`). Scans run in both directions
//!   (`cursor.rs`).
//! - If more prefixes or keys collide than chance explains, they are hashed again by a keyed hash
//!   (`crate::hash`).

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
#[cfg(feature = "paper")]
mod one_thread;
mod search;
mod split;
mod table;
mod teardown;
#[cfg(all(test, not(skein_loom)))]
mod tests;
mod value;
#[cfg(not(feature = "paper"))]
mod variant;
#[cfg(feature = "paper")]
pub mod variant;
mod write;

use std::marker::PhantomData;

use skein_sync::reclaim::Guard;
use skein_sync::version::Version;

pub use check::WormholeStats;
pub use cursor::WormholeCursor;
use leaf::WormholeLeaf;
use meta_trie::MetaTrie;
use variant::{WormholeSettings, WormholeStandard, WormholeVariant};

use crate::byte_index::ByteIndex;
use crate::engine::{IndexBase, IndexEngine, StandardEngine};
use crate::hash::PrefixHash;
use crate::index::{ComputeAction, Computed, IndexError};
use crate::slot::Slot;

/// An ordered index over byte strings; see the [module](self).
///
/// ```
/// use skein_index::{Inline, OrderedIndex, Wormhole};
///
/// let index = Wormhole::new();
/// let guard = index.collector().enter();
/// index.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(index.get(b"goose", &guard), Some(1));
/// assert_eq!(index.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::IndexError>(())
/// ```
pub type Wormhole<S> = ByteIndex<S, WormholeEngine<WormholeStandard>>;

/// The fields of a [`Wormhole`] beside those that all indexes have.
#[derive(Debug)]
pub struct WormholeEngine<V: WormholeSettings> {
    /// The leaf with the empty anchor. It is never removed.
    first: WormholeLeaf,
    meta: MetaTrie,
    /// The hash of the tags in leaves, and the hash for leaves in which tags have collided.
    plain: PrefixHash,
    keyed: PrefixHash,
    variant: PhantomData<V>,
}

impl<S: Slot> StandardEngine<S> for WormholeEngine<WormholeStandard> {}

// SAFETY: leaves, items and records are accessed through atomics, changed as the protocol above
// requires, and freed after a grace period; values are `Send` and `Sync` by the contract of `Slot`.
unsafe impl<V: WormholeSettings> Send for WormholeEngine<V> {}
// SAFETY: as above.
unsafe impl<V: WormholeSettings> Sync for WormholeEngine<V> {}

impl<S: Slot, V: WormholeSettings> IndexEngine<S> for WormholeEngine<V> {
    type EngineCursor<'g, G: Guard + 'g>
        = WormholeCursor<'g, S, G, V>
    where
        Self: 'g;

    const NAME: &'static str = "Wormhole";
    const HUGE_PAGES: bool = V::HUGE_PAGES;
    const ONE_THREAD: bool = V::ONE_THREAD;

    fn new(base: &IndexBase) -> Self {
        const { assert!(V::WIDTH >= 4 && V::WIDTH <= leaf::SLOTS, "a leaf takes 4 to 128 keys") };
        const { assert!(size_of::<usize>() == 8, "a pointer must have 64 bits") };
        let first = WormholeLeaf::new(&base.arena, Version::BORDER, b"");
        let keyed = PrefixHash::keyed();
        let meta = MetaTrie::new(&base.arena, first, keyed, V::HUGE_PAGES);
        Self { first, meta, plain: PrefixHash::crc32c(), keyed, variant: PhantomData }
    }

    #[inline(always)]
    fn lookup(index: &WormholeVariant<S, V>, key: &[u8]) -> Option<u64> {
        index.lookup(key)
    }

    #[inline(always)]
    fn lookup_many(index: &WormholeVariant<S, V>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        index.lookup_many(keys, found);
    }

    #[inline(always)]
    fn write<'g, G: Guard>(
        index: &'g WormholeVariant<S, V>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        Ok(index.write(key, change, guard))
    }

    fn bytes_at_once(&self, key: &[u8]) -> usize {
        self.meta.table().growth(key.len())
    }

    #[inline(always)]
    fn cursor<'g, G: Guard>(index: &'g WormholeVariant<S, V>, guard: &'g G) -> WormholeCursor<'g, S, G, V> {
        WormholeCursor::new(index, guard)
    }

    fn separators(index: &WormholeVariant<S, V>, parts: usize) -> Vec<Vec<u8>> {
        let anchors: Vec<&[u8]> = std::iter::successors(index.engine.first.next(), |leaf| leaf.next())
            .map(WormholeLeaf::anchor)
            .collect();
        let parts = parts.clamp(1, anchors.len() + 1);
        (1..parts).map(|part| anchors[part * (anchors.len() + 1) / parts - 1].to_vec()).collect()
    }

    unsafe fn free_outside_arena(&mut self) {
        // SAFETY: the caller's promise. That needs only the items' own words.
        unsafe { self.meta.free() };
    }

    unsafe fn free_all(index: &mut WormholeVariant<S, V>) {
        // SAFETY: the caller's promise.
        unsafe { teardown::free_all(index) };
    }
}
