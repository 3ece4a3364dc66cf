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
use crate::walk::Way;

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
        front: Side::new(index.cursor(guard), bounds.start_bound()),
        back: Side::new(index.cursor(guard), bounds.end_bound()),
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
    front: Side<C>,
    back: Side<C>,
    done: bool,
    slots: PhantomData<&'g S>,
}

/// One end of a range, and how far the iterator has come from there.
#[derive(Debug)]
struct Side<C> {
    edge: Bound<Vec<u8>>,
    /// On the key that was returned last, if one was.
    cursor: C,
    started: bool,
}

impl<C> Side<C> {
    fn new(cursor: C, edge: Bound<&[u8]>) -> Self {
        Self { edge: edge.map(<[u8]>::to_vec), cursor, started: false }
    }

    fn edge(&self) -> Bound<&[u8]> {
        self.edge.as_ref().map(Vec::as_slice)
    }

    /// The next item from this side, unless that lies past `other`.
    fn pull<'g, S: Slot, const FORWARD: bool>(&mut self, other: &Self) -> Option<(Vec<u8>, S::Ref<'g>)>
    where
        C: Cursor<'g, S>,
    {
        let found = if self.started {
            Way::<FORWARD>::step(&mut self.cursor)
        } else {
            Way::<FORWARD>::begin(&mut self.cursor, self.edge.as_ref().map(Vec::as_slice))
        };
        self.started = true;
        // What the other side has returned is within its edge.
        let far = if other.started { Bound::Excluded(other.cursor.key()?) } else { other.edge() };
        let key = self.cursor.key().filter(|key| found && Way::<FORWARD>::takes(key, far))?;
        Some((key.to_vec(), self.cursor.value()?))
    }
}

impl<'g, S: Slot, C: Cursor<'g, S>> Iterator for Range<'g, S, C> {
    type Item = (Vec<u8>, S::Ref<'g>);

    fn next(&mut self) -> Option<Self::Item> {
        let item = if self.done { None } else { self.front.pull::<S, true>(&self.back) };
        self.done = item.is_none();
        item
    }
}

impl<'g, S: Slot, C: Cursor<'g, S>> DoubleEndedIterator for Range<'g, S, C> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let item = if self.done { None } else { self.back.pull::<S, false>(&self.front) };
        self.done = item.is_none();
        item
    }
}
