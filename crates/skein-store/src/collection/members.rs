//! The members' index of a store, and the collections themselves.

use std::sync::{Arc, Condvar, Mutex, RwLock};

use skein_index::LocalGuard;
use skein_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use skein_sync::locks::{alone, shared};

use super::ScoreIndex;
use super::sweep_queue::{DeadCollection, SweepQueue};
use super::views::CollectionViews;
use crate::index::StoreIndex;
use crate::memory::NODE_SHARE;
use crate::options::{IndexKind, KEY_BYTES_MAX, StoreLimits};
use crate::row::{RowAllocator, RowRef};
use crate::snapshot::StoreSnapshots;

/// Bytes of a collection's id before each of its members.
pub(crate) const ID: usize = size_of::<u64>();

/// Bytes of a collection, its counts and what the allocator adds included.
const COLLECTION: usize = (size_of::<Collection>() + 3 * size_of::<usize>()).next_multiple_of(16);

/// The members of all collections of a store.
#[derive(Debug)]
pub(crate) struct MemberIndex {
    pub(crate) index: StoreIndex,
    /// For the moment of a checkpoint, where the index has moments.
    pub(crate) snapshots: Option<StoreSnapshots>,
    pub(crate) rows: RowAllocator,
    /// Greater than every id that was ever seen.
    next_id: AtomicU64,
    /// Bytes of all orders and of the collections themselves.
    bytes_beside: AtomicUsize,
    /// Bytes that dead collections have left, about: on their way out, and still counted as nodes, keys, rows and orders.
    dying: AtomicUsize,
    pub(super) garbage: Mutex<SweepQueue>,
    pub(super) wake: Condvar,
}

/// What a collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectionKind {
    SortedSet,
    /// Columns that are too many for a row.
    Hash,
}

/// A collection.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(super) id: u64,
    kind: CollectionKind,
    /// Whether there are views.
    pub(super) viewed: AtomicBool,
    pub(super) members: Arc<MemberIndex>,
    state: RwLock<CollectionState>,
    pub(super) views: Mutex<CollectionViews>,
}

/// What a collection's lock guards.
#[derive(Debug)]
pub(crate) struct CollectionState {
    /// Of a sorted set; a hash has none.
    pub(crate) order: ScoreIndex,
    /// How many columns a hash has.
    pub(crate) columns: u64,
    /// What its members weigh, with their rows: the sum of [`weight`].
    pub(crate) bytes: usize,
    /// Main rows that stand for it: one, and another for a moment while its key gets another name.
    rows: u32,
    /// See invariant 2 of the module.
    pub(crate) dead: bool,
    /// Its members are to go with it, all together.
    pub(crate) cleared: bool,
    /// Commands that have changed it since it is in memory.
    pub(crate) changes: u64,
}

impl CollectionState {
    /// How many members there are.
    pub(crate) fn len(&self) -> u64 {
        self.order.len() + self.columns
    }
}

/// The key of a member: `id` and what it is called.
#[inline]
pub(crate) fn member_key<'k>(buffer: &'k mut Vec<u8>, id: u64, member: &[u8]) -> &'k [u8] {
    buffer.clear();
    buffer.extend_from_slice(&id.to_be_bytes());
    buffer.extend_from_slice(member);
    buffer
}

/// Bytes that a member takes outside the nodes of its index: its row, and what it is called.
#[inline]
pub(crate) fn weight(name: &[u8], row: RowRef<'_>) -> usize {
    name.len() + row.memory()
}

/// The score that a member's row holds.
#[inline]
pub(crate) fn score_of(row: RowRef<'_>) -> f64 {
    row.value().and_then(|value| value.try_into().ok()).map_or(0.0, f64::from_le_bytes)
}

impl MemberIndex {
    /// Of a store whose main index is of this kind. Where that takes short keys alone, the members' is the default.
    pub(crate) fn new(kind: IndexKind, limits: &StoreLimits, rows: RowAllocator) -> Arc<Self> {
        let kind = if kind.key_bytes_max() < KEY_BYTES_MAX { IndexKind::default() } else { kind };
        let index = StoreIndex::new(kind, limits);
        Arc::new(Self {
            snapshots: StoreSnapshots::of(&index, limits.snapshots),
            index,
            rows,
            next_id: AtomicU64::new(1),
            bytes_beside: AtomicUsize::new(0),
            dying: AtomicUsize::new(0),
            garbage: Mutex::default(),
            wake: Condvar::new(),
        })
    }

    pub(crate) fn enter(&self) -> LocalGuard<'_> {
        self.index.collector().enter()
    }

    /// Whether there ever was a collection.
    pub(crate) fn any(&self) -> bool {
        // Relaxed: a hint; who has found a collection has acquired what its maker did before.
        self.next_id.load(Ordering::Relaxed) > 1
    }

    /// Notes that an id is in use, and is not to be given out.
    pub(crate) fn note(&self, id: u64) {
        self.next_id.fetch_max(id.saturating_add(1), Ordering::Relaxed);
    }

    /// Notes the id in a member's key; false if it is none.
    pub(crate) fn note_key(&self, key: &[u8]) -> bool {
        let id = key.first_chunk().map(|id| u64::from_be_bytes(*id));
        id.map(|id| self.note(id)).is_some()
    }

    /// A new collection, which nobody knows yet.
    pub(crate) fn make(self: &Arc<Self>, kind: CollectionKind) -> Arc<Collection> {
        // Relaxed: all that matters is that no two are the same.
        self.collection(kind, self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// The collection of this id, without its members; for recovery.
    pub(crate) fn collection(self: &Arc<Self>, kind: CollectionKind, id: u64) -> Arc<Collection> {
        self.note(id);
        self.account(0, COLLECTION);
        let state = CollectionState {
            order: ScoreIndex::default(),
            columns: 0,
            bytes: 0,
            rows: 1,
            dead: false,
            cleared: false,
            changes: 0,
        };
        Arc::new(Collection {
            id,
            kind,
            viewed: AtomicBool::new(false),
            members: self.clone(),
            state: RwLock::new(state),
            views: Mutex::default(),
        })
    }

    /// Bytes of the collections and of their orders.
    pub(crate) fn bytes(&self) -> usize {
        // Less than nothing for a moment, where a part is taken before another is added.
        usize::try_from(self.bytes_beside.load(Ordering::Relaxed).cast_signed()).unwrap_or(0)
    }

    /// An order has grown or shrunk.
    pub(crate) fn account(&self, before: usize, after: usize) {
        // Relaxed: a count. It wraps around and back where a part is taken before another is added.
        self.bytes_beside.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Bytes that dead collections have left, about.
    pub(crate) fn dying(&self) -> usize {
        // Less than nothing for a moment, as in `bytes`.
        usize::try_from(self.dying.load(Ordering::Relaxed).cast_signed()).unwrap_or(0)
    }

    /// What dead collections have left has become more or less.
    pub(super) fn account_dying(&self, before: usize, after: usize) {
        // Relaxed: as in `account`.
        self.dying.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        self.members.account(COLLECTION, 0);
    }
}

impl Collection {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Bytes that it takes, about.
    pub(crate) fn memory(&self) -> usize {
        let state = shared(&self.state);
        let shares = usize::try_from(state.len()).unwrap_or(usize::MAX).saturating_mul(NODE_SHARE);
        (COLLECTION + state.order.memory() + state.bytes).saturating_add(shares)
    }

    pub(crate) fn kind(&self) -> CollectionKind {
        self.kind
    }

    pub(crate) fn members(&self) -> &Arc<MemberIndex> {
        &self.members
    }

    pub(crate) fn state(&self) -> &RwLock<CollectionState> {
        &self.state
    }

    /// Another main row is to stand for it; false if it is dead.
    pub(crate) fn add_main_row(&self) -> bool {
        let mut state = alone(&self.state);
        state.rows += u32::from(!state.dead);
        !state.dead
    }

    /// A main row that stood for it is gone. If it was the last one, it shows nothing any more. How many bytes are on their way out, about.
    pub(crate) fn bury(&self) -> usize {
        let mut state = alone(&self.state);
        state.rows = state.rows.saturating_sub(1);
        if !state.dead && state.rows == 0 { self.mark_dead(&mut state) } else { 0 }
    }

    /// As [`bury`](Self::bury), by who holds the lock.
    pub(crate) fn mark_dead(&self, state: &mut CollectionState) -> usize {
        state.dead = true;
        state.changes += 1;
        let left = std::mem::take(&mut state.columns) + state.order.len();
        let (order, bytes) = (std::mem::take(&mut state.order), std::mem::take(&mut state.bytes));
        if left == 0 {
            self.members.account(order.memory(), 0);
            return 0;
        }
        let dead = DeadCollection::new(&self.members, self.id, order, (left, bytes));
        let Some(dead) = self.leave(dead) else { return 0 };
        let bytes = dead.bytes();
        self.members.discard(dead);
        bytes
    }
}
