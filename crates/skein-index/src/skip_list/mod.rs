//! The skip list: lock-free, with versions for snapshots, and cursors that read ahead through its towers.
//!
//! ```text
//!   level 2   head ─────────────────► ▮ ──────────────────────────► ∅
//!   level 1   head ──────► ▮ ───────► ▮ ──────────► ▮ ────────────► ∅       ▮ a link of a node's tower
//!   level 0   head ─► ▮ ─► ▮ ─► ▮ ──► ▮ ──► ▮ ────► ▮ ──► ▮ ──────► ∅
//!                     ant  bee  cat   dog   eel     fox   gnu
//!                                     │
//!                                     └ versions: 7 ──► 5 ──► absent ──► 1      newest first; mostly one, in the node itself
//! ```
//!
//! Source: Xu, "Efficient Data Structures via Memory Level Parallelism" (MIT), section 3, which builds on Fomitchev and Ruppert, "Lock-free linked lists and
//! skip lists" (PODC 2004). Files are named for what they hold; read `link.rs`, `node.rs`, `state.rs`, then `search.rs`, `write.rs` and `compute.rs`, then
//! `gate.rs`, `kept.rs` and `snapshot.rs`, and for scans `ahead.rs` and `behind.rs`.
//!
//! # Protocol
//! 1. Readers take no lock and write nothing shared; they walk over nodes that go, and leave unlinking to writers (`search.rs`).
//! 2. What a key holds is one word of its node, its state; whatever is written is one exchange of such a word, or the link of a new node on
//!    the bottom level (`state.rs`, `write.rs`). The towers above are short cuts, and may lag behind.
//! 3. A node whose state says that nothing is left is marked from its top level downward, unlinked, and retired by one thread
//!    (`node.rs`, invariants 3 and 5).
//! 4. Each of those exchanges happens inside the gate, at a moment that a snapshot is wholly before or after (`gate.rs`).
//! 5. A version that a snapshot needs is kept by a note with that snapshot (`kept.rs`). Without snapshots no write keeps anything.
//!
//! # Progress
//! Lookups and scans wait for nobody. Inserts and removals are lock-free but for two waits, each for a few dozen instructions of another thread:
//! while a snapshot is taken, and while `compute` holds the same key, or the place of a key that is not there, whose closure is to run once.
//!
//! # Where we differ from the paper, and why
//! - The first version lies in the node, so that a scan reads one more line only where a key was written again (section 3.2 reads each).
//! - A phase of reading ahead begins where the scan passes a node of level K, and not every 2^K steps; its first tasks come from the search;
//!   long scans are further ahead (`ahead.rs`).
//! - Heights are drawn from a seeded hash of the key (`heights.rs`).

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
pub mod variant;
mod write;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use skein_sync::atomic::AtomicU64;
use skein_sync::reclaim::{Collector, Guard};

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
use variant::{WITHOUT_HUGE_PAGES, has};

use crate::engine::{IndexBase, IndexEngine};
use crate::index::{ComputeAction, Computed, IndexError, OrderedIndex};
use crate::slot::Slot;

/// An ordered index over byte strings, with snapshots; see the module's head.
///
/// `V` chooses a variant; [`variant::DEFAULT`] is the one to use.
///
/// ```
/// use skein_index::{Inline, OrderedIndex, SkipList};
///
/// let index = SkipList::new();
/// let guard = index.collector().enter();
/// index.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(index.get(b"goose", &guard), Some(1));
/// assert_eq!(index.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::Refused>(())
/// ```
pub struct SkipList<S: Slot, const V: usize = { variant::DEFAULT }> {
    /// A tower of all levels, which is no key's, and before all.
    head: Node<V>,
    /// How many levels have nodes, or had.
    top: AtomicU64,
    heights: Heights,
    gate: SnapshotGate,
    snapshots: SnapshotRegistry<V>,
    base: IndexBase,
    slots: PhantomData<S>,
}

// SAFETY: nodes and versions are reached through atomics, changed as the protocol says, and freed past a grace period; values are `Send`
// and `Sync` by the contract of `Slot`.
unsafe impl<S: Slot, const V: usize> Send for SkipList<S, V> {}
// SAFETY: as above.
unsafe impl<S: Slot, const V: usize> Sync for SkipList<S, V> {}

impl<S: Slot> SkipList<S> {
    /// An empty index with a collector of its own.
    pub fn new() -> Self {
        Self::with_collector(Arc::new(Collector::new()))
    }

    /// An empty index that shares a collector, and so guards, with others.
    pub fn with_collector(collector: Arc<Collector>) -> Self {
        Self::with_variant(collector)
    }
}

impl<S: Slot, const V: usize> SkipList<S, V> {
    /// An empty index of the variant that its type says.
    pub fn with_variant(collector: Arc<Collector>) -> Self {
        let base = IndexBase::new(collector, !has(V, WITHOUT_HUGE_PAGES));
        Self {
            head: Node::new(&base.arena, Self::LEVELS, b"", SkipNodeState::GONE, 0),
            top: AtomicU64::new(1),
            heights: Heights::new(Self::LEVELS),
            gate: SnapshotGate::new(),
            snapshots: SnapshotRegistry::new(SNAPSHOTS),
            base,
            slots: PhantomData,
        }
    }

    /// This index, refusing writes once its memory is at `budget` bytes; nodes are counted in whole spans of the arena, so the precision is
    /// 64 KiB.
    #[must_use]
    pub fn with_budget(mut self, budget: usize) -> Self {
        self.base.budget = budget;
        self
    }

    /// This index, with the towers that this seed gives: the same ones for the same keys. For tests; towers that are known can be chosen badly.
    ///
    /// # Panics
    /// If it has keys: theirs have been drawn.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        assert!(self.head.next(0).node().is_none(), "a seed is set before the first key");
        self.heights = Heights::with_seed(Self::LEVELS, seed);
        self
    }

    /// This index, with at most `limit` snapshots at once: 1 to [`SNAPSHOTS_MAX`], and the nearest of those otherwise; [`SNAPSHOTS`] if not
    /// called.
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
    /// If one of its snapshots was leaked.
    #[must_use]
    pub fn with_snapshot_limit(mut self, limit: usize) -> Self {
        assert_eq!(self.snapshots().count, 0, "the limit is set before the first snapshot");
        self.snapshots = SnapshotRegistry::new(limit);
        self
    }
}

impl<S: Slot, const V: usize> IndexEngine<S> for SkipList<S, V> {
    type EngineCursor<'g, G: Guard + 'g>
        = SkipListCursor<'g, S, G, V>
    where
        Self: 'g;

    #[inline(always)]
    fn base(&self) -> &IndexBase {
        &self.base
    }

    #[inline(always)]
    fn lookup(&self, key: &[u8]) -> Option<u64> {
        let node = self.node_of(key)?;
        node.state().value(node)
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
    fn put<'g, G: Guard>(
        &'g self,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError> {
        // SAFETY: the word was in the index, and is retired, if at all, under this guard or a later one.
        Ok(self.put(key, value, guard).map(|word| unsafe { S::borrow(word) }))
    }

    #[inline(always)]
    fn remove_present<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        // SAFETY: as for `put`.
        self.take(key, guard).map(|word| unsafe { S::borrow(word) })
    }

    #[inline(always)]
    fn new_cursor<'g, G: Guard>(&'g self, guard: &'g G) -> SkipListCursor<'g, S, G, V> {
        SkipListCursor::now(self, guard)
    }

    fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        self.separators(parts)
    }
}

impl<S: Slot> Default for SkipList<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Slot, const V: usize> fmt::Debug for SkipList<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkipList").field("len", &self.len()).finish_non_exhaustive()
    }
}
