//! Masstree: a trie of B+-trees, with optimistic readers and one lock per node.
//!
//! ```text
//!   layer 0: B+-tree over key bytes 0..8
//!     interior ── border ─► value             the key has at most 8 bytes
//!                   │
//!                   ├─► suffix block          one key with this slice: the rest and the value
//!                   │
//!                   └─► layer 1: B+-tree      several keys with this slice
//!                       over bytes 8..16 ─► ...
//! ```
//!
//! A *slice* is the eight bytes of a key that one layer compares. Reading order: `node.rs`
//! (layout), `lookup.rs`, `write.rs`, then `split.rs`, `merge.rs`, `layer.rs` and
//! `layer_cleanup.rs` (changes of the structure), `cursor.rs` with `frame.rs` and `path.rs`,
//! `batch.rs`. Beside these: `search.rs` (within a node), `remove.rs` (after a removal),
//! `partition.rs` (parts for parallel scans), `teardown.rs` (drop), `check.rs` (all invariants),
//! `variant.rs` (for measurements).
//!
//! Source: Mao, Kohler, Morris, "Cache Craftiness for Fast Multicore Key-Value Storage" (2012),
//! sections 4.1 to 4.8. Design: `docs/design/masstree.md`.
//!
//! # Protocol
//! 1. Readers acquire no lock and write nothing shared. A value that a reader loads from a node
//!    counts only if the node's version did not change during the read (`lookup.rs`).
//! 2. Writers change a node under its lock. Locks are acquired in upper layers before deeper
//!    layers; within a layer, children before parents and left before right (`latch.rs`).
//! 3. A link between layers, and the root that it leads to, change only under the lock of the upper
//!    border node. So when a node is retired, no link to it remains and no link to it can be made.
//! 4. Memory that readers may still see is freed by the collector, after a grace period.
//!
//! # Memory
//! Each tree has its own arena for nodes and suffix blocks. Unlinked memory is handed to the
//! collector in batches per thread and freed when no guard can see it; `guard.flush()` hands over a
//! batch that is not full. When all keys are removed, one empty border node remains.
//!
//! # Where we differ from the paper, and why
//! - The kind and the address of a slot's link are one tagged word, so there is no UNSTABLE state
//!   (`link.rs`).
//! - The key lengths of a node are packed in one word. A store of this word inserts or removes a
//!   key, so lookups do not read the permutation (`key_lengths.rs`).
//! - A layer starts as a solo border node of adaptive width (`node.rs`).
//! - Suffixes always lie outside the node, in blocks of exact size (`suffix.rs`).
//! - Version counters have 56 bits instead of 32 - 8 (`skein_sync::version`).
//! - Low keys are stored. The paper reads them from a slot, which then must never be reused
//!   (`node.rs`).
//! - Sparse neighbours merge. The paper frees a border node when it is empty (`merge.rs`).

mod batch;
mod border;
mod check;
mod cursor;
mod frame;
mod key;
mod key_lengths;
mod latch;
mod layer;
mod layer_cleanup;
mod link;
mod lookup;
mod merge;
mod node;
#[expect(clippy::cast_precision_loss, reason = "weights are estimates")]
mod partition;
mod path;
mod permutation;
mod remove;
mod search;
mod split;
mod suffix;
mod teardown;
#[cfg(not(feature = "paper"))]
mod variant;
#[cfg(feature = "paper")]
pub mod variant;
mod write;

use std::marker::PhantomData;

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::reclaim::{Guard, PROTECT};
use skein_sync::version::Version;

pub use batch::{GROUP, MasstreeLocation};
pub use check::MasstreeStats;
pub use cursor::MasstreeCursor;
use node::Node;
use variant::{MasstreeSettings, MasstreeStandard, MasstreeVariant};

use crate::byte_index::ByteIndex;
use crate::engine::{IndexBase, IndexEngine, StandardEngine};
use crate::index::{ComputeAction, Computed, IndexError};
use crate::slot::Slot;

/// An ordered index over byte strings; see the [module](self).
///
/// ```
/// use skein_index::{Inline, Masstree, OrderedIndex};
///
/// let tree = Masstree::new();
/// let guard = tree.collector().enter();
/// tree.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(tree.get(b"goose", &guard), Some(1));
/// assert_eq!(tree.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::IndexError>(())
/// ```
pub type Masstree<S> = ByteIndex<S, MasstreeEngine<MasstreeStandard>>;

/// The fields of a [`Masstree`] beside those that all indexes have.
#[derive(Debug)]
pub struct MasstreeEngine<V: MasstreeSettings> {
    root: AtomicU64,
    variant: PhantomData<V>,
}

impl<S: Slot> StandardEngine<S> for MasstreeEngine<MasstreeStandard> {}

impl<S: Slot, V: MasstreeSettings> MasstreeVariant<S, V> {
    /// Returns the root of the first layer. It may be stale for a moment.
    #[inline(always)]
    fn root(&self) -> Node<V> {
        // SAFETY: a root is retired only after another root is stored; callers hold a guard.
        unsafe { Node::from_word(self.engine.root.load(PROTECT)) }
    }

    /// Makes `new` the tree's root if `old` is the root. The caller holds the lock of `old`, so no
    /// other thread replaces the root at the same time.
    fn replace_root(&self, old: Node<V>, new: Node<V>) {
        if self.engine.root.load(Ordering::Relaxed) == old.address() {
            // Release: pairs with the load in `root`; the new root is initialised.
            self.engine.root.store(new.address(), Ordering::Release);
        }
    }
}

impl<S: Slot, V: MasstreeSettings> IndexEngine<S> for MasstreeEngine<V> {
    type EngineCursor<'g, G: Guard + 'g>
        = MasstreeCursor<'g, S, G, V>
    where
        Self: 'g;

    const NAME: &'static str = "Masstree";
    const HUGE_PAGES: bool = V::HUGE_PAGES;

    fn new(base: &IndexBase) -> Self {
        const { assert!(V::WIDTH >= 3, "a node has 3 to 15 slots") };
        const { assert!(size_of::<usize>() == 8, "a pointer must fill a slot's word") };
        let root = Node::<V>::new_border(&base.arena, V::WIDTH, Version::BORDER.as_root());
        Self { root: AtomicU64::new(root.address()), variant: PhantomData }
    }

    #[inline(always)]
    fn lookup(index: &MasstreeVariant<S, V>, key: &[u8]) -> Option<u64> {
        index.lookup(key)
    }

    #[inline(always)]
    fn lookup_many(index: &MasstreeVariant<S, V>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        index.lookup_many(keys, found);
    }

    #[inline(always)]
    fn write<'g, G: Guard>(
        index: &'g MasstreeVariant<S, V>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        Ok(index.write(key, change, guard))
    }

    #[inline(always)]
    fn cursor<'g, G: Guard>(index: &'g MasstreeVariant<S, V>, guard: &'g G) -> MasstreeCursor<'g, S, G, V> {
        MasstreeCursor::new(index, guard)
    }

    fn separators(index: &MasstreeVariant<S, V>, parts: usize) -> Vec<Vec<u8>> {
        index.separators(parts)
    }

    unsafe fn free_all(index: &mut MasstreeVariant<S, V>) {
        // SAFETY: the caller's promise.
        unsafe { teardown::free_all(index) };
    }
}
