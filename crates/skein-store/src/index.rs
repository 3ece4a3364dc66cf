//! The index by name: one `match` per call or batch, so that the store is not generic over indexes.
//!
//! A further index joins by a variant here and in [`IndexKind`].

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use skein_index::{
    Change, Collector, Computed, CuckooTrie, Cursor, Direction, Guard, LocalGuard, Masstree, MemoryUsage,
    MlpIndex, OrderedIndex, Refused, SkipList, Wormhole, skip_list, walk,
};

use crate::options::{IndexKind, Limits};
use crate::row::{Row, RowRef};

/// Bounds of a range of keys.
pub(crate) type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The index that a store was opened with.
#[expect(clippy::large_enum_variant, reason = "a store has one, and every operation goes through it")]
#[derive(Debug)]
pub(crate) enum Index {
    Masstree(Masstree<Row>),
    Wormhole(Wormhole<Row>),
    CuckooTrie(CuckooTrie<Row>),
    Mlp(MlpIndex<Row>),
    /// Shared with the snapshots of it.
    SkipList(Arc<SkipList<Row>>),
}

macro_rules! each {
    ($self:expr, $index:ident => $call:expr) => {
        match $self {
            Index::Masstree($index) => $call,
            Index::Wormhole($index) => $call,
            Index::CuckooTrie($index) => $call,
            Index::Mlp($index) => $call,
            Index::SkipList($index) => {
                let $index: &SkipList<Row> = $index;
                $call
            }
        }
    };
}

impl Index {
    pub(crate) fn new(kind: IndexKind, limits: &Limits) -> Self {
        match kind {
            IndexKind::Masstree => Self::Masstree(Masstree::new()),
            IndexKind::Wormhole => Self::Wormhole(Wormhole::new()),
            IndexKind::CuckooTrie => Self::CuckooTrie(CuckooTrie::new()),
            IndexKind::Mlp => Self::Mlp(MlpIndex::new()),
            IndexKind::SkipList => {
                // One more for the checkpoint that is being written.
                let list = SkipList::new().with_snapshot_limit(limits.snapshots + 1);
                Self::SkipList(Arc::new(list))
            }
        }
    }

    #[inline]
    pub(crate) fn collector(&self) -> &Collector {
        each!(self, index => index.collector())
    }

    #[inline]
    pub(crate) fn get<'g>(&'g self, key: &[u8], guard: &'g impl Guard) -> Option<RowRef<'g>> {
        each!(self, index => index.get(key, guard))
    }

    #[inline]
    pub(crate) fn get_many<'g>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g impl Guard,
        found: impl FnMut(usize, Option<RowRef<'g>>),
    ) {
        each!(self, index => index.get_many(keys, guard, found));
    }

    #[inline]
    pub(crate) fn compute<'g>(
        &'g self,
        key: &[u8],
        change: impl FnMut(Option<RowRef<'_>>) -> Change<Row>,
        guard: &'g impl Guard,
    ) -> Result<Computed<'g, Row>, Refused> {
        each!(self, index => index.compute(key, change, guard))
    }

    pub(crate) fn insert<'g>(
        &'g self,
        key: &[u8],
        row: Row,
        guard: &'g impl Guard,
    ) -> Result<Option<RowRef<'g>>, Refused> {
        each!(self, index => index.insert(key, row, guard))
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

    /// Shows `each` the rows within `bounds`, in order, until it breaks; takes a fresh guard every
    /// [`KEYS_PER_GUARD`] keys.
    pub(crate) fn scan(
        &self,
        bounds: Bounds<'_>,
        direction: Direction,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        scan_chunks(
            self.collector(),
            bounds,
            direction,
            |guard, near, far| each!(self, index => scan_chunk(index.cursor(guard), near, far, direction, &mut each)),
        );
    }
}

/// What a scan sees: the rows as they come, or as they were at one moment.
pub(crate) enum View<'i> {
    Now(&'i Index),
    Moment(skip_list::Snapshot<'i, Row>),
}

impl View<'_> {
    /// As [`Index::scan`].
    pub(crate) fn scan(
        &self,
        bounds: Bounds<'_>,
        direction: Direction,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        match self {
            Self::Now(index) => index.scan(bounds, direction, each),
            Self::Moment(snapshot) => scan_moment(snapshot, bounds, direction, each),
        }
    }
}

/// As [`Index::scan`], of one moment.
pub(crate) fn scan_moment(
    snapshot: &skip_list::Snapshot<'_, Row>,
    bounds: Bounds<'_>,
    direction: Direction,
    mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
) {
    scan_chunks(snapshot.collector(), bounds, direction, |guard, near, far| {
        scan_chunk(snapshot.cursor(guard), near, far, direction, &mut each)
    });
}

/// Runs `chunk` from where it ended to the far end of `bounds`, each time with a fresh guard.
fn scan_chunks(
    collector: &Collector,
    bounds: Bounds<'_>,
    direction: Direction,
    mut chunk: impl FnMut(&LocalGuard<'_>, Bound<&[u8]>, Bound<&[u8]>) -> Option<Vec<u8>>,
) {
    let (near, far) = direction.near_and_far(bounds);
    let mut near = near.map(<[u8]>::to_vec);
    while let Some(key) = chunk(&collector.enter(), near.as_ref().map(Vec::as_slice), far) {
        near = Bound::Excluded(key);
    }
}

/// Keys that a scan passes under one guard: few enough that memory keeps coming back, enough that the
/// descent to resume costs nothing beside them.
const KEYS_PER_GUARD: usize = 1024;

/// Scans up to [`KEYS_PER_GUARD`] keys; returns the last one if the scan has to go on after it.
fn scan_chunk<'g>(
    mut cursor: impl Cursor<'g, Row>,
    near: Bound<&[u8]>,
    far: Bound<&[u8]>,
    direction: Direction,
    each: &mut impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
) -> Option<Vec<u8>> {
    let (mut left, mut last) = (KEYS_PER_GUARD, None);
    walk(&mut cursor, near, far, direction, |key, row| {
        each(key, row)?;
        left -= 1;
        if left > 0 {
            return ControlFlow::Continue(());
        }
        last = Some(key.to_vec());
        ControlFlow::Break(())
    });
    last
}
