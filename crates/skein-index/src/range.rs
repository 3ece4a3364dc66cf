//! Ranges over any index, implemented once on its cursor.
//!
//! ```
//! use skein_index::{Inline, Masstree, OrderedIndex, prefix, range};
//!
//! let tree = Masstree::new();
//! let guard = tree.collector().enter();
//! for (key, value) in [("ant", 1_u64), ("bee", 2), ("beetle", 3), ("cat", 4)] {
//!     tree.insert(key.as_bytes(), Inline(value), &guard)?;
//! }
//! let bees: Vec<_> = prefix(&tree, b"bee", &guard).map(|(_, value)| value).collect();
//! assert_eq!(bees, [2, 3]);
//! let down: Vec<_> = range(&tree, .., &guard).rev().map(|(_, value)| value).collect();
//! assert_eq!(down, [4, 3, 2, 1]);
//! # Ok::<(), skein_index::IndexError>(())
//! ```

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use skein_sync::reclaim::Guard;

use crate::index::{Cursor, OrderedIndex};
use crate::slot::Slot;
use crate::walk::DirectedScan;

/// Returns a double-ended iterator over the keys within `bounds`, in order.
///
/// `bounds` is `..` or a pair of [`Bound`]s of slices. Bounds that cross give an empty range. Not a
/// snapshot: see [`OrderedIndex`].
pub fn range<'g, S, I, G>(
    index: &'g I,
    bounds: impl RangeBounds<[u8]>,
    guard: &'g G,
) -> IndexRange<'g, S, I::IndexCursor<'g, G>>
where
    S: Slot,
    I: OrderedIndex<S>,
    G: Guard,
{
    let copy = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
    IndexRange::between(index, copy(bounds.start_bound()), copy(bounds.end_bound()), guard)
}

/// Returns a double-ended iterator over the keys that start with `prefix`, in order.
pub fn prefix<'g, S, I, G>(
    index: &'g I,
    prefix: &[u8],
    guard: &'g G,
) -> IndexRange<'g, S, I::IndexCursor<'g, G>>
where
    S: Slot,
    I: OrderedIndex<S>,
    G: Guard,
{
    let end = successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
    range(index, (Bound::Included(prefix), end.as_ref().map(Vec::as_slice)), guard)
}

/// Returns the least byte string above all those that start with `prefix`; `None` if there is no
/// such string.
///
/// ```
/// use skein_index::successor;
/// assert_eq!(successor(b"ab").as_deref(), Some(&b"ac"[..]));
/// assert_eq!(successor(b"a\xff\xff").as_deref(), Some(&b"b"[..]));
/// assert_eq!((successor(b""), successor(b"\xff")), (None, None));
/// ```
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte < 0xff)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// The iterator of [`range`] and [`prefix`]. Its bounds are stored as `B`.
#[derive(Debug)]
pub struct IndexRange<'g, S, C, B = Vec<u8>> {
    front: RangeEnd<C, B>,
    back: RangeEnd<C, B>,
    done: bool,
    slots: PhantomData<&'g S>,
}

impl<'g, S: Slot, C: Cursor<'g, S>, B: AsRef<[u8]>> IndexRange<'g, S, C, B> {
    /// Returns the keys from `start` to `end`.
    pub(crate) fn between<I, G>(index: &'g I, start: Bound<B>, end: Bound<B>, guard: &'g G) -> Self
    where
        I: OrderedIndex<S, IndexCursor<'g, G> = C>,
        G: Guard,
    {
        let side = |edge| RangeEnd { edge, cursor: index.cursor(guard), started: false };
        Self { front: side(start), back: side(end), done: false, slots: PhantomData }
    }

    /// Returns the first item that has not been returned, with the result of `key` for its key.
    #[inline]
    pub(crate) fn pull_front<K>(&mut self, key: impl FnOnce(&[u8]) -> K) -> Option<(K, S::Ref<'g>)> {
        let item = if self.done { None } else { self.front.pull::<S, K, true>(&self.back, key) };
        self.done = item.is_none();
        item
    }

    /// Returns the last item that has not been returned, with the result of `key` for its key.
    #[inline]
    pub(crate) fn pull_back<K>(&mut self, key: impl FnOnce(&[u8]) -> K) -> Option<(K, S::Ref<'g>)> {
        let item = if self.done { None } else { self.back.pull::<S, K, false>(&self.front, key) };
        self.done = item.is_none();
        item
    }
}

/// One end of a range, and the iterator's position from there.
#[derive(Debug)]
struct RangeEnd<C, B> {
    edge: Bound<B>,
    /// On the last returned key, if any.
    cursor: C,
    started: bool,
}

impl<C, B: AsRef<[u8]>> RangeEnd<C, B> {
    fn edge(&self) -> Bound<&[u8]> {
        self.edge.as_ref().map(B::as_ref)
    }

    /// Returns the next item from this end, or `None` if it lies past `other`.
    #[inline]
    fn pull<'g, S: Slot, K, const FORWARD: bool>(
        &mut self,
        other: &Self,
        make: impl FnOnce(&[u8]) -> K,
    ) -> Option<(K, S::Ref<'g>)>
    where
        C: Cursor<'g, S>,
    {
        let found = if self.started {
            DirectedScan::<FORWARD>::step(&mut self.cursor)
        } else {
            DirectedScan::<FORWARD>::start(&mut self.cursor, self.edge.as_ref().map(B::as_ref))
        };
        self.started = true;
        // The keys that the other end has returned are within its bound.
        let far = if other.started { Bound::Excluded(other.cursor.key()?) } else { other.edge() };
        let key = self.cursor.key().filter(|key| found && DirectedScan::<FORWARD>::reaches(key, far))?;
        Some((make(key), self.cursor.value()?))
    }
}

impl<'g, S: Slot, C: Cursor<'g, S>> Iterator for IndexRange<'g, S, C> {
    type Item = (Vec<u8>, S::Ref<'g>);

    fn next(&mut self) -> Option<Self::Item> {
        self.pull_front(<[u8]>::to_vec)
    }
}

impl<'g, S: Slot, C: Cursor<'g, S>> DoubleEndedIterator for IndexRange<'g, S, C> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.pull_back(<[u8]>::to_vec)
    }
}

impl<'g, S: Slot, C: Cursor<'g, S>> FusedIterator for IndexRange<'g, S, C> {}
