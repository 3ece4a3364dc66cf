//! The index of a store, selected by name. It uses one `match` per call or batch, so the store is
//! not generic over indexes.
//!
//! The code of six indexes is long. So it is compiled once, here, and not for each caller or
//! crate: only [`get_many`](StoreIndex::get_many), [`get_at`](StoreIndex::get_at) and the closures
//! of a change are compiled for their callers, and of the first two only the part of the default
//! index.
//!
//! `kind` names the indexes, `ranges` divides the keys of one among several threads.
//!
//! To add an index, add a variant to [`StoreIndex`] and to [`IndexKind`].

mod kind;
pub(crate) mod ranges;

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

pub use kind::IndexKind;
use skein_index::page_tree::PackPass;
use skein_index::{
    Collector, ComputeAction, Computed, CuckooTrie, GracePeriod, Guard, IndexError, KEYS_PER_GUARD,
    LocalGuard, Masstree, MemoryUsage, MlpIndex, OrderedIndex, PageTree, ScanDirection, SkipList, Wormhole,
    masstree, page_tree, walk, walk_chunk,
};
use skein_model::{Row, RowAllocator, RowRef};

pub(crate) type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Decides the change of the present row of a key. It is called at most once.
pub(crate) type RowDecision<'d> = &'d mut dyn FnMut(Option<RowRef<'_>>) -> ComputeAction<Row>;

/// Visits a row of a scan, and breaks to end the scan.
type RowVisitor<'v> = &'v mut dyn FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>;

/// Receives the position of a key that was looked up, and its row.
type RowReceiver<'r, 'g> = &'r mut dyn FnMut(usize, Option<RowRef<'g>>);

/// The place of a key, in an index that can start a write there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum IndexPlace {
    Masstree(masstree::MasstreeLocation),
    PageTree(page_tree::PageTreePlace),
}

/// The number of rows and nodes that a thread removes before it retires them together. Each
/// retirement interrupts all threads of the process (2 us for the calling thread), so this is more
/// than the collector's default of 32.
const RETIRED_TOGETHER: usize = 128;

/// A row counts once more per this many bytes. So a thread keeps at most 256 KiB and one row before
/// it retires them.
const BYTES_EACH: usize = 2 << 10;

/// The index that the store was opened with.
#[expect(clippy::large_enum_variant, reason = "a store has one, and every operation goes through it")]
#[derive(Debug)]
pub(crate) enum StoreIndex {
    Masstree(Masstree<Row>),
    Wormhole(Wormhole<Row>),
    CuckooTrie(CuckooTrie<Row>),
    Mlp(MlpIndex<Row>),
    SkipList(SkipList<Row>),
    PageTree(PageTree<Row>),
}

macro_rules! each {
    ($self:expr, $index:ident => $call:expr) => {
        match $self {
            StoreIndex::Masstree($index) => $call,
            StoreIndex::Wormhole($index) => $call,
            StoreIndex::CuckooTrie($index) => $call,
            StoreIndex::Mlp($index) => $call,
            StoreIndex::SkipList($index) => $call,
            StoreIndex::PageTree($index) => $call,
        }
    };
}

impl StoreIndex {
    pub(crate) fn new(kind: IndexKind) -> Self {
        let collector = Arc::new(Collector::new().batch_size(RETIRED_TOGETHER));
        match kind {
            IndexKind::Masstree => Self::Masstree(Masstree::with_collector(collector)),
            IndexKind::Wormhole => Self::Wormhole(Wormhole::with_collector(collector)),
            IndexKind::CuckooTrie => Self::CuckooTrie(CuckooTrie::with_collector(collector)),
            IndexKind::Mlp => Self::Mlp(MlpIndex::with_collector(collector)),
            IndexKind::SkipList => Self::SkipList(SkipList::with_collector(collector)),
            IndexKind::PageTree => Self::PageTree(PageTree::with_collector(collector)),
        }
    }

    fn kind(&self) -> IndexKind {
        match self {
            Self::Masstree(_) => IndexKind::Masstree,
            Self::Wormhole(_) => IndexKind::Wormhole,
            Self::CuckooTrie(_) => IndexKind::CuckooTrie,
            Self::Mlp(_) => IndexKind::Mlp,
            Self::SkipList(_) => IndexKind::SkipList,
            Self::PageTree(_) => IndexKind::PageTree,
        }
    }

    /// Returns the reason why this index rejects a key that another index accepted in an earlier
    /// run.
    pub(crate) fn refusal_reason(&self, refused: IndexError) -> String {
        match refused {
            IndexError::KeyTooLong { len, limit } => format!(
                "it has a key of {len} bytes, and the index {} takes keys of up to {limit}; open it with another index",
                self.kind()
            ),
            refused => refused.to_string(),
        }
    }

    #[inline]
    pub(crate) fn collector(&self) -> &Collector {
        each!(self, index => index.collector())
    }

    pub(crate) fn get<'g>(&'g self, key: &[u8], guard: &'g LocalGuard<'_>) -> Option<RowRef<'g>> {
        each!(self, index => index.get(key, guard))
    }

    /// Looks up keys as [`OrderedIndex::get_many`]. Use it where a call for each key counts.
    #[inline]
    pub(crate) fn get_many<'g>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g LocalGuard<'_>,
        mut found: impl FnMut(usize, Option<RowRef<'g>>),
    ) {
        match self {
            Self::Masstree(index) => index.get_many(keys, guard, found),
            other => other.look_up(keys, guard, &mut found),
        }
    }

    /// Looks up keys as [`get_many`](Self::get_many) does.
    pub(crate) fn look_up<'g>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g LocalGuard<'_>,
        found: RowReceiver<'_, 'g>,
    ) {
        each!(self, index => index.get_many(keys, guard, found));
    }

    /// As [`OrderedIndex::compute`].
    #[inline]
    pub(crate) fn compute<'g>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<RowRef<'_>>) -> ComputeAction<Row>,
        guard: &'g LocalGuard<'_>,
    ) -> Result<Computed<'g, Row>, IndexError> {
        let mut change = Some(change);
        let decision = &mut |current: Option<RowRef<'_>>| {
            change.take().map_or(ComputeAction::Keep, |change| change(current))
        };
        // SAFETY: there is no place.
        unsafe { self.compute_at(key, None, decision, guard) }
    }

    /// Looks up keys that are about to be written, as [`get_many`](Self::get_many). Also passes the
    /// place of the key to `found`, if the index has places.
    #[inline]
    pub(crate) fn locate_many<'g>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g LocalGuard<'_>,
        mut found: impl FnMut(usize, Option<RowRef<'g>>, Option<IndexPlace>),
    ) {
        match self {
            Self::Masstree(index) => {
                index.locate_many(keys, guard, |at, row, place| {
                    found(at, row, place.map(IndexPlace::Masstree));
                });
            }
            Self::PageTree(index) => {
                // A trait object, so that this is compiled once.
                let found: &mut dyn FnMut(usize, Option<RowRef<'g>>, Option<_>) =
                    &mut |at, row, place: Option<_>| found(at, row, place.map(IndexPlace::PageTree));
                index.locate_many(keys, guard, found);
            }
            other => other.look_up(keys, guard, &mut |at, row| found(at, row, None)),
        }
    }

    /// Returns a row as [`get`](Self::get), starting at the key's place if it is known.
    ///
    /// # Safety
    /// As for [`compute_at`](Self::compute_at).
    #[inline]
    pub(crate) unsafe fn get_at<'g>(
        &'g self,
        key: &[u8],
        place: Option<IndexPlace>,
        guard: &'g LocalGuard<'_>,
    ) -> Option<RowRef<'g>> {
        match (self, place) {
            // SAFETY: guaranteed by the caller.
            (Self::Masstree(index), Some(IndexPlace::Masstree(place))) => unsafe {
                index.get_at(key, place, guard)
            },
            // SAFETY: as above.
            (Self::PageTree(index), Some(IndexPlace::PageTree(place))) => unsafe {
                index.get_at(key, place, guard)
            },
            _ => self.get(key, guard),
        }
    }

    /// Changes a key as [`compute`](Self::compute), starting at the key's place if it is known. The
    /// decision is a trait object, so that this is compiled once.
    ///
    /// # Safety
    /// [`locate_many`](Self::locate_many) returned the place for an equal key, under a guard that
    /// has been held since and was not refreshed.
    pub(crate) unsafe fn compute_at<'g>(
        &'g self,
        key: &[u8],
        place: Option<IndexPlace>,
        decision: RowDecision<'_>,
        guard: &'g LocalGuard<'_>,
    ) -> Result<Computed<'g, Row>, IndexError> {
        #[cfg(test)]
        self.plant(key)?;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match (self, place) {
                (Self::Masstree(index), Some(IndexPlace::Masstree(place))) => {
                    index.compute_at(key, place, decision, guard)
                }
                (Self::PageTree(index), Some(IndexPlace::PageTree(place))) => {
                    index.compute_at(key, place, decision, guard)
                }
                _ => each!(self, index => index.compute(key, decision, guard)),
            }
        }
    }

    pub(crate) fn insert<'g>(
        &'g self,
        key: &[u8],
        row: Row,
        guard: &'g LocalGuard<'_>,
    ) -> Result<Option<RowRef<'g>>, IndexError> {
        #[cfg(test)]
        self.plant(key)?;
        each!(self, index => index.insert(key, row, guard))
    }

    /// Refuses a write to this key if a test wants it.
    #[cfg(test)]
    fn plant(&self, key: &[u8]) -> Result<(), IndexError> {
        planted::refuse(|| self.get(key, &self.collector().enter()).is_none())
    }

    /// Returns whether small rows lie in the nodes of the index.
    pub(crate) fn embeds_rows(&self) -> bool {
        matches!(self, Self::PageTree(_))
    }

    /// Continues a pass of packing. Returns whether there is more; `false` if the index has nothing to
    /// pack.
    pub(crate) fn pack(&self, pass: &mut PackPass, pages: usize) -> bool {
        match self {
            Self::PageTree(index) => index.pack(pass, pages, &index.collector().enter()),
            _ => false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        each!(self, index => OrderedIndex::<Row>::len(index))
    }

    pub(crate) fn split_points(&self, parts: usize) -> Vec<Vec<u8>> {
        let guard = self.collector().enter();
        each!(self, index => OrderedIndex::<Row>::split_points(index, parts, &guard))
    }

    pub(crate) fn memory(&self) -> MemoryUsage {
        each!(self, index => OrderedIndex::<Row>::memory(index))
    }

    /// As [`OrderedIndex::allocated_bytes`].
    pub(crate) fn allocated_bytes(&self) -> usize {
        each!(self, index => OrderedIndex::<Row>::allocated_bytes(index))
    }

    /// Calls `each` with the rows within `bounds`, in order, until it breaks. Takes a fresh guard
    /// every [`KEYS_PER_GUARD`] keys.
    pub(crate) fn scan(
        &self,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        self.scan_all(bounds, direction, &mut each);
    }

    /// As [`scan`](Self::scan). The callback is a trait object, so that this is compiled once.
    fn scan_all(&self, bounds: KeyBounds<'_>, direction: ScanDirection, each: RowVisitor<'_>) {
        let (near, far) = direction.near_and_far(bounds);
        let mut near = near.map(<[u8]>::to_vec);
        loop {
            let (guard, from) = (self.collector().enter(), near.as_ref().map(Vec::as_slice));
            let last = each!(self, index => walk_chunk(&mut index.cursor(&guard), from, far, direction, KEYS_PER_GUARD, &mut *each));
            let Some(key) = last else { return };
            near = Bound::Excluded(key);
        }
    }

    /// Returns the first rows within `(near, far)`, at most `most` (not 0).
    pub(crate) fn chunk<'g>(
        &'g self,
        (near, far): KeyBounds<'_>,
        direction: ScanDirection,
        most: usize,
        guard: &'g LocalGuard<'g>,
    ) -> IndexChunk<'g> {
        let mut chunk = IndexChunk { keys: Vec::new(), rows: Vec::with_capacity(most), stopped: false };
        let add = |key: &[u8], row: RowRef<'g>| {
            chunk.keys.extend_from_slice(key);
            chunk.rows.push((chunk.keys.len(), row));
            chunk.stopped = chunk.rows.len() == most;
            if chunk.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        each!(self, index => walk(&mut index.cursor(guard), near, far, direction, add));
        chunk
    }
}

/// Some rows of a scan, under one guard.
pub(crate) struct IndexChunk<'g> {
    /// The keys, concatenated.
    keys: Vec<u8>,
    /// The end of each key, and its row.
    rows: Vec<(usize, RowRef<'g>)>,
    /// There may be more rows.
    stopped: bool,
}

impl<'g> IndexChunk<'g> {
    /// Returns the keys with their rows, in the order of the scan.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], RowRef<'g>)> {
        self.rows.iter().scan(0, |start, (end, row)| {
            let key = &self.keys[std::mem::replace(start, *end)..*end];
            Some((key, *row))
        })
    }

    /// Returns the last key, if there may be more rows after it.
    pub(crate) fn stopped_at(&self) -> Option<&[u8]> {
        let start = self.rows.len().checked_sub(2).map_or(0, |at| self.rows[at].0);
        self.stopped.then(|| &self.keys[start..])
    }
}

/// Notes that an index has just removed a row of this allocator, under `guard`, which is still held
/// and belongs to the collector of the index. The larger the row, the sooner it is retired. Returns
/// about how many bytes it uses.
#[inline]
pub(crate) fn note_removed(rows: &RowAllocator, row: Option<RowRef<'_>>, guard: &LocalGuard<'_>) -> usize {
    let Some(row) = row else { return 0 };
    rows.note_removed(row);
    let bytes = row.bytes();
    if bytes >= BYTES_EACH {
        retire_nothing(bytes / BYTES_EACH, guard);
    }
    bytes
}

/// Retires everything that this thread has removed. It is freed as soon as no guard is left that
/// may see it.
pub(crate) fn retire_all(collector: &Collector) {
    let guard = collector.enter();
    // A batch must have one item for each guard that exists.
    retire_nothing(RETIRED_TOGETHER, &guard);
    guard.flush();
}

/// Adds `count` empty items to the retired batch, but not more than a batch holds.
#[cold]
fn retire_nothing(count: usize, guard: &LocalGuard<'_>) {
    unsafe fn reclaim(_: *mut (), _: &GracePeriod) {}
    for _ in 0..count.min(RETIRED_TOGETHER) {
        // SAFETY: any pointer is valid here, because it is never followed.
        unsafe { guard.defer_retire(std::ptr::null_mut(), reclaim) };
    }
}

/// Simulates a full index in tests: refuses one of the calling thread's next writes, to any index,
/// or all writes that would add a key.
#[cfg(test)]
pub(crate) mod planted {
    use std::cell::Cell;

    use super::IndexError;

    thread_local! {
        static WRITES: Cell<Option<usize>> = const { Cell::new(None) };
        static FULL: Cell<bool> = const { Cell::new(false) };
    }

    /// Lets this many writes pass and refuses the next one. With `None` all writes pass.
    pub(crate) fn refuse_after(writes: Option<usize>) {
        WRITES.set(writes);
    }

    /// Returns whether a write is still to be refused.
    pub(crate) fn is_waiting() -> bool {
        WRITES.get().is_some()
    }

    /// Runs `writes` on full indexes with concurrent writers that take every freed place: a new key
    /// is refused, also after a removal. Writes to present keys, and removals, need no place.
    pub(crate) fn while_full<R>(writes: impl FnOnce() -> R) -> R {
        FULL.set(true);
        let done = writes();
        FULL.set(false);
        done
    }

    pub(super) fn refuse(is_new: impl FnOnce() -> bool) -> Result<(), IndexError> {
        let full = Err(IndexError::Full { keys: 77 });
        if FULL.get() && is_new() {
            return full;
        }
        let Some(left) = WRITES.get() else { return Ok(()) };
        WRITES.set(left.checked_sub(1));
        if left == 0 { full } else { Ok(()) }
    }
}
