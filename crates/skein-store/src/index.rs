//! The index by name: one `match` per call or batch, so that the store is not generic over indexes.
//!
//! A further index joins by a variant here and in [`IndexKind`].

use std::ops::{Bound, ControlFlow};

use skein_index::{
    Change, Collector, Computed, CuckooTrie, Cursor, Direction, Guard, Masstree, MemoryUsage, MlpIndex,
    OrderedIndex, Refused, SkipList, Wormhole, walk,
};

use crate::options::IndexKind;
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
    SkipList(SkipList<Row>),
}

macro_rules! each {
    ($self:expr, $index:ident => $call:expr) => {
        match $self {
            Index::Masstree($index) => $call,
            Index::Wormhole($index) => $call,
            Index::CuckooTrie($index) => $call,
            Index::Mlp($index) => $call,
            Index::SkipList($index) => $call,
        }
    };
}

impl Index {
    pub(crate) fn new(kind: IndexKind) -> Self {
        match kind {
            IndexKind::Masstree => Self::Masstree(Masstree::new()),
            IndexKind::Wormhole => Self::Wormhole(Wormhole::new()),
            IndexKind::CuckooTrie => Self::CuckooTrie(CuckooTrie::new()),
            IndexKind::Mlp => Self::Mlp(MlpIndex::new()),
            IndexKind::SkipList => Self::SkipList(SkipList::new()),
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
        let (near, far) = direction.near_and_far(bounds);
        let mut near = near.map(<[u8]>::to_vec);
        loop {
            let guard = self.collector().enter();
            let from = near.as_ref().map(Vec::as_slice);
            let last =
                each!(self, index => scan_chunk(index.cursor(&guard), from, far, direction, &mut each));
            match last {
                Some(key) => near = Bound::Excluded(key),
                None => return,
            }
        }
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
