//! The member index of a store, and the collections themselves.

use std::sync::{Arc, Mutex, RwLock};

use skein_index::LocalGuard;
use skein_model::row::{NODE_SHARE, ResidentCollection};
use skein_model::{CollectionKind, KEY_BYTES_MAX, RowAllocator, RowRef};
use skein_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use skein_sync::background::ThreadSignal;
use skein_sync::locks::{alone, get_mut, lock, shared};

use super::frozen::FrozenMoment;
use super::sweep_queue::{DeadCollection, SweepQueue};
use super::views::CollectionViews;
use super::{NameGroups, ScoreIndex};
use crate::index::IndexKind;
use crate::index::StoreIndex;
use crate::snapshot::StoreSnapshots;

/// Bytes of the collection's id before each of its members.
pub(crate) const ID: usize = skein_model::COLLECTION_ID;

/// A collection in memory, as its rows share it.
pub(crate) type SharedCollection = skein_model::row::SharedCollection<Collection>;

/// Bytes of a collection, including its reference counts and the allocator's overhead.
const COLLECTION: usize = (size_of::<SharedCollection>() + 3 * size_of::<usize>()).next_multiple_of(16);

/// The members of all collections of a store.
#[derive(Debug)]
pub(crate) struct MemberIndex {
    pub(crate) index: StoreIndex,
    /// The snapshots of the store.
    pub(crate) snapshots: Arc<StoreSnapshots>,
    pub(crate) rows: RowAllocator,
    /// Greater than every id that was ever seen.
    next_id: AtomicU64,
    /// Bytes of all score indexes and of the collections themselves.
    collection_bytes: AtomicUsize,
    /// Bytes of dead collections, about: they will be freed, and still count as nodes, keys, rows
    /// and score indexes.
    dying: AtomicUsize,
    pub(super) sweep_queue: Mutex<SweepQueue>,
    /// Wakes the sweeper thread when there is a dead collection.
    pub(crate) sweeper: Arc<ThreadSignal>,
}

/// A set, a list, a stream or the spread columns of a key, in memory.
#[derive(Debug)]
pub struct Collection {
    pub(super) id: u64,
    pub(crate) kind: CollectionKind,
    /// Whether the collection has views.
    pub(super) viewed: AtomicBool,
    pub(super) members: Arc<MemberIndex>,
    state: RwLock<CollectionState>,
    pub(super) views: Mutex<CollectionViews>,
    /// Present if the collection is frozen at the moment of a snapshot.
    pub(super) frozen: Option<Box<FrozenMoment>>,
}

/// The state that a collection's lock protects.
#[derive(Debug)]
pub(crate) struct CollectionState {
    /// The order of the members by score; empty for a hash.
    pub(crate) score_index: ScoreIndex,
    /// The number of columns of a hash.
    pub(super) columns: u64,
    /// Their groups, if random columns were asked for. Readers hold the collection's lock shared
    /// and make the groups finer, so they have a lock of their own.
    pub(super) groups: Mutex<Option<Box<NameGroups>>>,
    /// The weight of its members with their rows: the sum of [`weight`].
    pub(crate) bytes: usize,
    /// The number of main rows that stand for it: one, and two for a moment during a rename.
    rows: u32,
    /// See invariant 2 of the module. A frozen collection counts as dead, too.
    pub(crate) dead: bool,
    /// Its members are to be removed with it, all together.
    pub(crate) cleared: bool,
    /// The number of a list's elements, if it is known: each write forgets it, and the list's
    /// writer notes it again.
    pub(crate) elements: Option<u64>,
    /// The number of commands that have changed it since it was loaded into memory.
    pub(crate) changes: u64,
}

impl CollectionState {
    pub(crate) fn len(&self) -> u64 {
        self.score_index.len() + self.columns
    }

    /// Counts a new column of a hash.
    pub(crate) fn add_column(&mut self, name: &[u8]) {
        self.columns += 1;
        if let Some(groups) = get_mut(&mut self.groups) {
            groups.add(name);
        }
    }

    /// Counts a column of a hash that is removed.
    pub(crate) fn remove_column(&mut self, name: &[u8]) {
        self.columns -= 1;
        if let Some(groups) = get_mut(&mut self.groups) {
            groups.remove(name);
        }
    }

    /// Returns the bytes of the score index and the groups.
    pub(crate) fn index_bytes(&mut self) -> usize {
        self.score_index.memory() + groups_bytes(get_mut(&mut self.groups).as_deref())
    }
}

fn groups_bytes(groups: Option<&NameGroups>) -> usize {
    groups.map_or(0, NameGroups::memory)
}

/// Makes the key of a member in `buffer`: `id` and the name.
#[inline]
pub(crate) fn member_key<'k>(buffer: &'k mut Vec<u8>, id: u64, member: &[u8]) -> &'k [u8] {
    buffer.clear();
    buffer.extend_from_slice(&id.to_be_bytes());
    buffer.extend_from_slice(member);
    buffer
}

/// Returns the bytes that a member uses outside the nodes of its index: its name and its row. A row
/// that lies in a node weighs the same.
#[inline]
pub(crate) fn weight(name: &[u8], row: RowRef<'_>) -> usize {
    name.len() + row.weight()
}

/// Returns the score in the row of a member of a collection of this kind.
#[inline]
pub(crate) fn score_of(kind: CollectionKind, row: RowRef<'_>) -> f64 {
    row.value().map_or(0.0, |value| kind.score_in(value))
}

impl MemberIndex {
    /// Makes the member index for a store whose main index is of this kind. If that kind allows
    /// only short keys, the member index is of the default kind.
    pub(crate) fn new(kind: IndexKind, snapshots: Arc<StoreSnapshots>, rows: RowAllocator) -> Arc<Self> {
        let kind = if kind.key_bytes_max() < KEY_BYTES_MAX { IndexKind::default() } else { kind };
        Arc::new(Self {
            index: StoreIndex::new(kind),
            snapshots,
            rows,
            next_id: AtomicU64::new(1),
            collection_bytes: AtomicUsize::new(0),
            dying: AtomicUsize::new(0),
            sweep_queue: Mutex::default(),
            sweeper: Arc::default(),
        })
    }

    pub(crate) fn enter(&self) -> LocalGuard<'_> {
        self.index.collector().enter()
    }

    /// Returns whether there ever was a collection.
    pub(crate) fn any(&self) -> bool {
        // Relaxed: a hint; a thread that has found a collection has acquired the earlier writes of
        // its maker.
        self.next_id.load(Ordering::Relaxed) > 1
    }

    /// Notes that an id is in use, so that it is not given to a new collection.
    pub(crate) fn note(&self, id: u64) {
        self.next_id.fetch_max(id.saturating_add(1), Ordering::Relaxed);
    }

    /// Notes the id in a member's key. Returns false if the key is too short.
    pub(crate) fn note_key(&self, key: &[u8]) -> bool {
        let id = key.first_chunk().map(|id| u64::from_be_bytes(*id));
        id.map(|id| self.note(id)).is_some()
    }

    /// Makes a new collection, without a main row yet.
    pub(crate) fn make(self: &Arc<Self>, kind: CollectionKind) -> Arc<SharedCollection> {
        // Relaxed: ids must only be distinct.
        self.collection(kind, self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes the collection of this id, without its members, for recovery.
    pub(crate) fn collection(self: &Arc<Self>, kind: CollectionKind, id: u64) -> Arc<SharedCollection> {
        self.note(id);
        self.collection_of(kind, id, None)
    }

    /// Makes a collection, which is dead if it is frozen.
    pub(super) fn collection_of(
        self: &Arc<Self>,
        kind: CollectionKind,
        id: u64,
        frozen: Option<Box<FrozenMoment>>,
    ) -> Arc<SharedCollection> {
        self.account(0, COLLECTION);
        let state = CollectionState {
            score_index: ScoreIndex::default(),
            columns: 0,
            groups: Mutex::default(),
            elements: None,
            bytes: 0,
            rows: 1,
            dead: frozen.is_some(),
            cleared: false,
            changes: 0,
        };
        SharedCollection::new(Collection {
            id,
            kind,
            viewed: AtomicBool::new(false),
            members: self.clone(),
            state: RwLock::new(state),
            views: Mutex::default(),
            frozen,
        })
    }

    /// Returns the bytes of the collections and their score indexes.
    pub(crate) fn bytes(&self) -> usize {
        // It may be negative for a moment, while a decrement is visible before its increment.
        usize::try_from(self.collection_bytes.load(Ordering::Relaxed).cast_signed()).unwrap_or(0)
    }

    /// Counts a change of the size of a score index or collection.
    pub(crate) fn account(&self, before: usize, after: usize) {
        // Relaxed: a count. It may wrap below 0 and back, as in `bytes`.
        self.collection_bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Returns about how many bytes dead collections use.
    pub(crate) fn dying(&self) -> usize {
        // It may be negative for a moment, as in `bytes`.
        usize::try_from(self.dying.load(Ordering::Relaxed).cast_signed()).unwrap_or(0)
    }

    /// Counts a change of the bytes of dead collections.
    pub(super) fn account_dying(&self, before: usize, after: usize) {
        // Relaxed: as in `account`.
        self.dying.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        self.members.account(COLLECTION, 0);
        if self.frozen.is_some() {
            self.members.account(shared(&self.state).score_index.memory(), 0);
        }
    }
}

impl ResidentCollection for Collection {
    #[inline]
    fn kind(&self) -> CollectionKind {
        self.kind
    }

    fn memory(&self) -> usize {
        let state = shared(&self.state);
        let groups = groups_bytes(lock(&state.groups).as_deref());
        let shares = usize::try_from(state.len()).unwrap_or(usize::MAX).saturating_mul(NODE_SHARE);
        (COLLECTION + state.score_index.memory() + groups + state.bytes).saturating_add(shares)
    }

    fn changes(&self) -> u64 {
        shared(&self.state).changes
    }
}

impl Collection {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn members(&self) -> &Arc<MemberIndex> {
        &self.members
    }

    pub(crate) fn state(&self) -> &RwLock<CollectionState> {
        &self.state
    }

    /// Adds a main row that stands for the collection. Returns false if it is dead.
    pub(crate) fn add_main_row(&self) -> bool {
        let mut state = alone(&self.state);
        state.rows += u32::from(!state.dead);
        !state.dead
    }

    /// Removes a main row that stood for the collection. If it was the last one, the collection
    /// dies. Returns about how many bytes will be freed.
    pub(crate) fn remove_main_row(&self) -> usize {
        let mut state = alone(&self.state);
        state.rows = state.rows.saturating_sub(1);
        if !state.dead && state.rows == 0 { self.mark_dead(&mut state) } else { 0 }
    }

    /// Marks the collection as dead. The caller holds its lock. Returns about how many bytes will
    /// be freed.
    pub(crate) fn mark_dead(&self, state: &mut CollectionState) -> usize {
        state.dead = true;
        state.changes += 1;
        let groups = get_mut(&mut state.groups).take();
        self.members.account(groups_bytes(groups.as_deref()), 0);
        let left = std::mem::take(&mut state.columns) + state.score_index.len();
        let (score_index, bytes) = (std::mem::take(&mut state.score_index), std::mem::take(&mut state.bytes));
        if left == 0 {
            self.members.account(score_index.memory(), 0);
            return 0;
        }
        let dead = DeadCollection::new(&self.members, self.id, score_index, left, bytes);
        let Some(dead) = self.keep_for_views(dead) else { return 0 };
        let bytes = dead.bytes();
        self.members.discard(dead);
        bytes
    }
}
