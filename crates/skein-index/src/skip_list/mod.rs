//! A lock-free skip list with snapshots. Each node keeps old versions of its value for live
//! snapshots; cursors prefetch ahead through the towers.
//!
//! ```text
//!   level 2   head ─────────────────► ▮ ──────────────────────────► ∅
//!   level 1   head ──────► ▮ ───────► ▮ ──────────► ▮ ────────────► ∅
//!   level 0   head ─► ▮ ─► ▮ ─► ▮ ──► ▮ ──► ▮ ────► ▮ ──► ▮ ──────► ∅     ▮ a link of a tower
//!                     ant  bee  cat   dog   eel     fox   gnu
//!                                     │
//!                                     └ versions: 7 ──► 5 ──► absent ──► 1
//!                                       newest first; usually one, inside the node
//! ```
//!
//! Read the files in this order: `link.rs`, `node.rs`, `node_state.rs`; then `search.rs`,
//! `write.rs`, `compute.rs`; then `snapshot_gate.rs`, `retained_versions.rs`, `snapshot.rs`,
//! `prune.rs`; for scans `cursor.rs`, `scan_prefetch.rs` and `preceding_nodes.rs`. Beside these:
//! `batch.rs` (lookups that overlap), `separators.rs` (parts for parallel scans), `teardown.rs`
//! (drop), `check.rs` (all invariants), `variant.rs` (for measurements). Design:
//! `docs/design/skip-list.md`.
//!
//! # Protocol
//! 1. Readers acquire no lock and write nothing shared. They walk over nodes that are being
//!    removed; only writers unlink nodes (`search.rs`).
//! 2. The value of a key is one word of its node, the node's state. Every write is one
//!    compare-and-exchange: of a state, or of the bottom link that leads to a new node
//!    (`node_state.rs`, `write.rs`). The upper levels are short cuts and may lag behind.
//! 3. A node whose state has no version left is marked from its top level down, unlinked, and
//!    retired by one thread (`node.rs`, invariants 3 and 5).
//! 4. Each of these exchanges happens inside the gate, so that every snapshot is wholly before or
//!    wholly after it (`snapshot_gate.rs`).
//! 5. A note with a snapshot keeps each version that the snapshot needs (`retained_versions.rs`).
//!    Without live snapshots a write keeps no old version.
//!
//! # Progress
//! Lookups and scans never wait. Inserts and removals are lock-free except for two waits: for a few
//! dozen instructions while a snapshot is taken, and for the closure of a `compute` that has
//! claimed the same key, or the place where that key is missing. The claim is necessary because
//! `compute` calls its closure exactly once.
//!
//! # Where we differ from the paper, and why
//! - The first version lies in the node, so a scan reads one more line only where a key was written
//!   again (section 3.2 reads one for every node).
//! - A prefetch phase begins when the scan passes a node of level K, not every 2^K steps. Its first
//!   tasks are by-products of the search. Long scans keep a longer lead (`scan_prefetch.rs`).
//! - A key's height is drawn from a seeded hash of the key (`heights.rs`).
//!
//! Sources: Xu, "Efficient Data Structures via Memory Level Parallelism" (MIT), section 3;
//! Fomitchev and Ruppert, "Lock-free linked lists and skip lists" (PODC 2004), on which the former
//! builds.

mod batch;
mod check;
mod compute;
mod cursor;
mod heights;
mod link;
mod node;
mod node_state;
mod preceding_nodes;
mod prune;
mod retained_versions;
mod scan_prefetch;
mod search;
mod separators;
mod snapshot;
mod snapshot_gate;
mod teardown;
#[cfg(not(feature = "paper"))]
mod variant;
#[cfg(feature = "paper")]
pub mod variant;
mod write;

use skein_sync::atomic::AtomicU64;
use skein_sync::reclaim::Guard;

pub use check::SkipListStats;
pub use cursor::SkipListCursor;
pub use snapshot::{
    SNAPSHOTS, SNAPSHOTS_MAX, SkipListRelease, SkipListSnapshot, SkipListSnapshots, TooManySnapshots,
};

use heights::Heights;
use node::Node;
use node_state::SkipNodeState;
use snapshot::SnapshotRegistry;
use snapshot_gate::SnapshotGate;
use variant::{SkipListSettings, SkipListStandard, SkipListVariant};

use crate::byte_index::ByteIndex;
use crate::engine::{IndexBase, IndexEngine, StandardEngine};
use crate::index::{ComputeAction, Computed, IndexError};
use crate::slot::Slot;

/// An ordered index over byte strings, with snapshots. The head of the module explains how it
/// works.
///
/// ```
/// use skein_index::{Inline, OrderedIndex, SkipList};
///
/// let index = SkipList::new();
/// let guard = index.collector().enter();
/// index.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(index.get(b"goose", &guard), Some(1));
/// assert_eq!(index.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::IndexError>(())
/// ```
pub type SkipList<S> = ByteIndex<S, SkipListEngine<SkipListStandard>>;

/// The fields of a [`SkipList`] beside those that all indexes have.
#[derive(Debug)]
pub struct SkipListEngine<V: SkipListSettings> {
    /// The start of every level: a tower with all levels and no key, before all other nodes.
    head: Node<V>,
    /// The number of levels that have nodes or once had some.
    top: AtomicU64,
    heights: Heights,
    gate: SnapshotGate,
    snapshots: SnapshotRegistry<V>,
}

impl<S: Slot> StandardEngine<S> for SkipListEngine<SkipListStandard> {}

// SAFETY: nodes and versions are reached through atomics, changed by the protocol above, and freed
// after a grace period. Values are `Send` and `Sync` by the contract of `Slot`.
unsafe impl<V: SkipListSettings> Send for SkipListEngine<V> {}
// SAFETY: as above.
unsafe impl<V: SkipListSettings> Sync for SkipListEngine<V> {}

impl<S: Slot, V: SkipListSettings> SkipListVariant<S, V> {
    /// Sets the seed of the heights: returns the index, in which equal keys get equal towers. For
    /// tests only: a client that knows the seed can choose keys with bad towers.
    ///
    /// # Panics
    /// Panics if the index has keys, because their heights are drawn already.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        assert!(self.engine.head.next(0).node().is_none(), "set the seed before the first key is inserted");
        self.engine.heights = Heights::with_seed(Self::LEVELS, seed);
        self
    }

    /// Sets how many snapshots may be live at once: returns the index. `limit` is clamped to 1 to
    /// [`SNAPSHOTS_MAX`]; the default is [`SNAPSHOTS`].
    ///
    /// ```
    /// use skein_index::{Inline, SkipList};
    ///
    /// let list = SkipList::<Inline<u64>>::new().with_snapshot_limit(1);
    /// let snapshot = list.snapshot()?;
    /// let refused = list.snapshot().unwrap_err();
    /// assert!(refused.to_string().starts_with("1 snapshots are live, which is the limit of 1;"));
    /// drop(snapshot);
    /// assert!(list.snapshot().is_ok());
    /// # Ok::<(), skein_index::skip_list::TooManySnapshots>(())
    /// ```
    ///
    /// # Panics
    /// Panics if a snapshot of this index was leaked.
    #[must_use]
    pub fn with_snapshot_limit(mut self, limit: usize) -> Self {
        assert_eq!(self.snapshots().count, 0, "set the limit before the first snapshot is taken");
        self.engine.snapshots = SnapshotRegistry::new(limit);
        self
    }
}

impl<S: Slot, V: SkipListSettings> IndexEngine<S> for SkipListEngine<V> {
    type EngineCursor<'g, G: Guard + 'g>
        = SkipListCursor<'g, S, G, V>
    where
        Self: 'g;

    const NAME: &'static str = "SkipList";

    fn new(base: &IndexBase) -> Self {
        Self {
            head: Node::new(&base.arena, SkipListVariant::<S, V>::LEVELS, b"", SkipNodeState::GONE, 0),
            top: AtomicU64::new(1),
            heights: Heights::new(SkipListVariant::<S, V>::LEVELS),
            gate: SnapshotGate::new(),
            snapshots: SnapshotRegistry::new(SNAPSHOTS),
        }
    }

    #[inline(always)]
    fn lookup(index: &SkipListVariant<S, V>, key: &[u8]) -> Option<u64> {
        let node = index.node_of(key)?;
        node.state().value(node)
    }

    #[inline(always)]
    fn lookup_many(index: &SkipListVariant<S, V>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        index.lookup_many(keys, found);
    }

    #[inline(always)]
    fn write<'g, G: Guard>(
        index: &'g SkipListVariant<S, V>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        Ok(index.write(key, change, guard))
    }

    #[inline(always)]
    fn put<'g, G: Guard>(
        index: &'g SkipListVariant<S, V>,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError> {
        // SAFETY: the word was in the index. If it is retired, then under this guard or a later
        // one.
        Ok(index.put(key, value, guard).map(|word| unsafe { S::borrow(word) }))
    }

    #[inline(always)]
    fn remove<'g, G: Guard>(
        index: &'g SkipListVariant<S, V>,
        key: &[u8],
        guard: &'g G,
    ) -> Option<S::Ref<'g>> {
        // SAFETY: as for `put`.
        index.take(key, guard).map(|word| unsafe { S::borrow(word) })
    }

    #[inline(always)]
    fn cursor<'g, G: Guard>(index: &'g SkipListVariant<S, V>, guard: &'g G) -> SkipListCursor<'g, S, G, V> {
        SkipListCursor::now(index, guard)
    }

    fn separators(index: &SkipListVariant<S, V>, parts: usize) -> Vec<Vec<u8>> {
        index.separators(parts)
    }

    unsafe fn free_all(index: &mut SkipListVariant<S, V>) {
        // SAFETY: the caller's promise.
        unsafe { teardown::free_all(index) };
    }
}
