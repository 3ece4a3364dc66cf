//! Ranges over any index, built once on its cursor.
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
//! # Ok::<(), skein_index::Refused>(())
//! ```

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use skein_sync::reclaim::Guard;

use crate::index::{Cursor, OrderedIndex};
use crate::slot::Slot;

/// An end of a range, owned.
type Edge = Bound<Vec<u8>>;

fn owned(bound: Bound<&[u8]>) -> Edge {
    bound.map(<[u8]>::to_vec)
}

/// Whether `key` is not past the upper end of a range.
fn below(key: &[u8], end: Bound<&[u8]>) -> bool {
    match end {
        Bound::Unbounded => true,
        Bound::Included(end) => key <= end,
        Bound::Excluded(end) => key < end,
    }
}

/// Whether `key` is not before the lower end of a range.
fn above(key: &[u8], start: Bound<&[u8]>) -> bool {
    match start {
        Bound::Unbounded => true,
        Bound::Included(start) => key >= start,
        Bound::Excluded(start) => key > start,
    }
}

/// Moves a cursor to the first key of a range; returns whether there is a key at all from there on.
fn to_start<'g, S: Slot>(cursor: &mut impl Cursor<'g, S>, start: Bound<&[u8]>) -> bool {
    match start {
        Bound::Unbounded => cursor.first(),
        Bound::Included(key) => cursor.seek(key),
        Bound::Excluded(key) => cursor.seek(key) && (cursor.key() != Some(key) || cursor.next()),
    }
}

/// Moves a cursor to the last key of a range; returns whether there is a key at all down from there.
fn to_end<'g, S: Slot>(cursor: &mut impl Cursor<'g, S>, end: Bound<&[u8]>) -> bool {
    match end {
        Bound::Unbounded => cursor.last(),
        Bound::Included(key) => cursor.seek_back(key),
        Bound::Excluded(key) => cursor.seek_back(key) && (cursor.key() != Some(key) || cursor.prev()),
    }
}

/// The keys within `bounds`, in order, from both ends.
///
/// `bounds` is `..` or a pair of [`Bound`]s of slices. Bounds that cross give an empty range. Not a snapshot:
/// see [`OrderedIndex`].
pub fn range<'g, S, I, G>(
    index: &'g I,
    bounds: impl RangeBounds<[u8]>,
    guard: &'g G,
) -> Range<'g, S, I::Cursor<'g, G>>
where
    S: Slot,
    I: OrderedIndex<S>,
    G: Guard,
{
    Range {
        front: index.cursor(guard),
        back: index.cursor(guard),
        start: owned(bounds.start_bound()),
        end: owned(bounds.end_bound()),
        started: (false, false),
        done: false,
        slots: PhantomData,
    }
}

/// The keys that start with `prefix`, in order, from both ends.
pub fn prefix<'g, S, I, G>(index: &'g I, prefix: &[u8], guard: &'g G) -> Range<'g, S, I::Cursor<'g, G>>
where
    S: Slot,
    I: OrderedIndex<S>,
    G: Guard,
{
    let end = successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
    range(index, (Bound::Included(prefix), end.as_ref().map(Vec::as_slice)), guard)
}

/// The least byte string above all those that start with `prefix`; none if there is no such.
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

/// The iterator of [`range`] and [`prefix`].
#[derive(Debug)]
pub struct Range<'g, S, C> {
    front: C,
    back: C,
    start: Edge,
    end: Edge,
    started: (bool, bool),
    done: bool,
    slots: PhantomData<&'g S>,
}

fn as_slices(edge: &Edge) -> Bound<&[u8]> {
    edge.as_ref().map(Vec::as_slice)
}

impl<'g, S: Slot, C: Cursor<'g, S>> Iterator for Range<'g, S, C> {
    type Item = (Vec<u8>, S::Ref<'g>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let found = if self.started.0 {
            self.front.next()
        } else {
            to_start(&mut self.front, as_slices(&self.start))
        };
        self.started.0 = true;
        let key = if found { self.front.key() } else { None };
        let item = key.filter(|key| {
            let met = self.started.1 && self.back.key().is_none_or(|back| *key >= back);
            !met && below(key, as_slices(&self.end))
        });
        let item = item.map(<[u8]>::to_vec).zip(self.front.value());
        self.done = item.is_none();
        item
    }
}

impl<'g, S: Slot, C: Cursor<'g, S>> DoubleEndedIterator for Range<'g, S, C> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let found =
            if self.started.1 { self.back.prev() } else { to_end(&mut self.back, as_slices(&self.end)) };
        self.started.1 = true;
        let key = if found { self.back.key() } else { None };
        let item = key.filter(|key| {
            let met = self.started.0 && self.front.key().is_none_or(|front| *key <= front);
            !met && above(key, as_slices(&self.start))
        });
        let item = item.map(<[u8]>::to_vec).zip(self.back.value());
        self.done = item.is_none();
        item
    }
}

/// Calls `each` for every key within `bounds`, in order; `each` may change the index.
pub(crate) fn for_each_key<S: Slot, I: OrderedIndex<S>, G: Guard>(
    index: &I,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    guard: &G,
    mut each: impl FnMut(&[u8]),
) {
    let mut cursor = index.cursor(guard);
    let mut found = to_start(&mut cursor, bounds.0);
    while found && let Some(key) = cursor.key().filter(|key| below(key, bounds.1)) {
        each(key);
        found = cursor.next();
    }
}
