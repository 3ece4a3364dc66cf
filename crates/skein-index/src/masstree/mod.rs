//! Masstree: a trie of B+-trees, with optimistic readers and fine-grained locks.
//!
//! ```text
//!   layer 0: B+-tree over key bytes 0..8
//!     interior ── border ─► value                      (keys of at most 8 bytes)
//!                   │
//!                   ├─► suffix block                    (one key with this slice: the rest and the value)
//!                   │
//!                   └─► layer 1: B+-tree over bytes 8..16 ─► ...     (several keys with this slice)
//! ```
//!
//! Source: Mao, Kohler, Morris, "Cache Craftiness for Fast Multicore Key-Value Storage" (2012), sections 4.1
//! to 4.8. Files are named for what they hold; read `node.rs`, `lookup.rs`, `write.rs` first.
//!
//! # Protocol
//! 1. Readers take no lock and write nothing shared. What they read in a node counts only if the node's version
//!    did not change meanwhile (`lookup.rs`).
//! 2. Writers change a node under its lock. Locks are taken upper layer before deeper layer; in a layer
//!    children before parents, left before right (`latch.rs`).
//! 3. Links between layers, and what they lead to, change only under the lock of the upper border node. So no
//!    link to a node is left, or can be made, once the node is retired.
//! 4. What readers may still see is freed by the collector, past a grace period.
//!
//! # Memory
//! Nodes and suffix blocks come from an arena of the tree's own. What is unlinked goes to the collector in batches per
//! thread, and is freed once no guard can see it; `guard.flush()` hands over a batch that is not full. When all keys
//! are removed, one empty border node is left.
//!
//! # Where we differ from the paper, and why
//! - A slot's kind and address are one tagged word, so there is no UNSTABLE state (`link.rs`).
//! - Key lengths are packed in one word whose store makes a key come or go; lookups need no permutation (`lens.rs`).
//! - A layer starts as a solo border node of adaptive width (`node.rs`).
//! - Suffixes always lie outside the node, in blocks of exact size (`suffix.rs`).
//! - Version counters have 56 bits instead of 32 - 8 (`skein_sync::version`).
//! - Low keys are stored, not read from a slot that must then never be reused (`node.rs`).
//! - Neighbours that have become sparse merge; the paper frees a border node when it is empty (`merge.rs`).

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
mod permutation;
mod remove;
mod search;
mod split;
mod suffix;
mod teardown;
pub mod variant;
mod write;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::reclaim::{Collector, Guard, PROTECT};
use skein_sync::version::Version;

pub use batch::{GROUP, MasstreeLocation};
pub use check::MasstreeStats;
pub use cursor::MasstreeCursor;
use node::Node;
use variant::width;

use crate::engine::{IndexBase, IndexEngine};
use crate::index::{ComputeAction, Computed, IndexError, OrderedIndex};
use crate::slot::Slot;

/// The width that the paper takes: a full node has 15 slots.
pub const WIDTH: usize = 15;

/// An ordered index over byte strings; see the module's head.
///
/// `W` is the width of full nodes; 15 is the paper's and the one to use ([`variant`] has flags that take away a design feature
/// each, to measure what it is worth). Smaller ones make tests reach
/// every case with few keys; below 10 they cannot hold all lengths of one slice (keys that differ in trailing
/// zero bytes only, say), so those tests keep away from such keys.
///
/// ```
/// use skein_index::{Inline, Masstree, OrderedIndex};
///
/// let tree = Masstree::new();
/// let guard = tree.collector().enter();
/// tree.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(tree.get(b"goose", &guard), Some(1));
/// assert_eq!(tree.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::Refused>(())
/// ```
pub struct Masstree<S: Slot, const W: usize = WIDTH> {
    root: AtomicU64,
    base: IndexBase,
    slots: PhantomData<S>,
}

impl<S: Slot> Masstree<S> {
    /// An empty tree with a collector of its own.
    pub fn new() -> Self {
        Self::with_collector(Arc::new(Collector::new()))
    }

    /// An empty tree that shares a collector, and so guards, with others.
    pub fn with_collector(collector: Arc<Collector>) -> Self {
        Self::with_width(collector)
    }
}

impl<S: Slot, const W: usize> Masstree<S, W> {
    /// An empty tree of the width that its type says. Below a width of 10 an insert panics that finds a full node whose
    /// keys differ in their lengths alone (see above).
    pub fn with_width(collector: Arc<Collector>) -> Self {
        const { assert!(width(W) >= 3, "a node has 3 to 15 slots") };
        const { assert!(size_of::<usize>() == 8, "a pointer must fill a slot's word") };
        let huge = !variant::without(W, variant::WITHOUT_HUGE_PAGES);
        let base = IndexBase::new(collector, huge);
        let root = Node::<W>::new_border(&base.arena, width(W), Version::BORDER.as_root());
        Self { root: AtomicU64::new(root.address()), base, slots: PhantomData }
    }

    /// This tree, refusing writes once its memory is at `budget` bytes; counted in whole spans of the arena,
    /// so the precision is 64 KiB.
    #[must_use]
    pub fn with_budget(mut self, budget: usize) -> Self {
        self.base.budget = budget;
        self
    }

    /// The root of the first layer; it may be stale for a moment.
    #[inline(always)]
    fn root(&self) -> Node<W> {
        // SAFETY: a root is retired only after another one is stored; callers hold a guard.
        unsafe { Node::from_word(self.root.load(PROTECT)) }
    }

    /// Makes `new` the tree's root if `old` was. The caller holds the lock of `old`, so nobody else does.
    fn replace_root(&self, old: Node<W>, new: Node<W>) {
        if self.root.load(Ordering::Relaxed) == old.address() {
            // Release: pairs with the load in `root`; the new root is initialised.
            self.root.store(new.address(), Ordering::Release);
        }
    }
}

impl<S: Slot, const W: usize> IndexEngine<S> for Masstree<S, W> {
    type EngineCursor<'g, G: Guard + 'g>
        = MasstreeCursor<'g, S, G, W>
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

    #[inline(always)]
    fn new_cursor<'g, G: Guard>(&'g self, guard: &'g G) -> MasstreeCursor<'g, S, G, W> {
        MasstreeCursor::new(self, guard)
    }

    fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        self.separators(parts)
    }
}

impl<S: Slot> Default for Masstree<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Slot, const W: usize> fmt::Debug for Masstree<S, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masstree").field("len", &self.len()).field("width", &width(W)).finish_non_exhaustive()
    }
}
