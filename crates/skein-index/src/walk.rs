//! Walking a range of keys with a cursor, in either direction, written once.
//!
//! ```text
//!   Forward:   start ├──────────────────────▶┤ end        near = start, far = end
//!   Backward:  start ├◀──────────────────────┤ end        near = end,   far = start
//! ```
//!
//! What differs between the directions is how a cursor comes to the near bound, how it steps, and which keys are
//! short of the far bound. `Way` has just these three, by a constant: the loops over keys have no branch for it.

use std::ops::{Bound, ControlFlow};

use crate::index::Cursor;
use crate::slot::Slot;

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanDirection {
    /// From small keys to great ones.
    Forward,
    /// From great keys to small ones.
    Backward,
}

impl ScanDirection {
    /// The bound of a range where a walk begins, and the one where it ends.
    pub fn near_and_far<T>(self, (start, end): (Bound<T>, Bound<T>)) -> (Bound<T>, Bound<T>) {
        match self {
            Self::Forward => (start, end),
            Self::Backward => (end, start),
        }
    }
}

/// One direction.
pub(crate) struct DirectedScan<const FORWARD: bool>;

impl<const FORWARD: bool> DirectedScan<FORWARD> {
    /// Moves a cursor to the first key of a walk; returns whether there is a key at all from there on.
    #[inline]
    pub(crate) fn start<'g, S: Slot>(cursor: &mut impl Cursor<'g, S>, near: Bound<&[u8]>) -> bool {
        match near {
            Bound::Unbounded if FORWARD => cursor.first(),
            Bound::Unbounded => cursor.last(),
            Bound::Included(key) => Self::seek(cursor, key),
            Bound::Excluded(key) => {
                Self::seek(cursor, key) && (cursor.key() != Some(key) || Self::step(cursor))
            }
        }
    }

    #[inline]
    fn seek<'g, S: Slot>(cursor: &mut impl Cursor<'g, S>, key: &[u8]) -> bool {
        if FORWARD { cursor.seek(key) } else { cursor.seek_back(key) }
    }

    /// Moves a cursor to the walk's next key; returns whether there is one.
    #[inline]
    pub(crate) fn step<'g, S: Slot>(cursor: &mut impl Cursor<'g, S>) -> bool {
        if FORWARD { cursor.next() } else { cursor.prev() }
    }

    /// Whether a walk that ends at `far` still takes `key`.
    #[inline]
    pub(crate) fn reaches(key: &[u8], far: Bound<&[u8]>) -> bool {
        match far {
            Bound::Unbounded => true,
            Bound::Included(far) if FORWARD => key <= far,
            Bound::Included(far) => key >= far,
            Bound::Excluded(far) if FORWARD => key < far,
            Bound::Excluded(far) => key > far,
        }
    }

    #[inline]
    fn walk<'g, S: Slot>(
        cursor: &mut impl Cursor<'g, S>,
        near: Bound<&[u8]>,
        far: Bound<&[u8]>,
        mut each: impl FnMut(&[u8], S::Ref<'g>) -> ControlFlow<()>,
    ) {
        let mut on = Self::start(cursor, near);
        while let (true, Some(key), Some(value)) = (on, cursor.key(), cursor.value()) {
            if !Self::reaches(key, far) || each(key, value).is_break() {
                return;
            }
            on = Self::step(cursor);
        }
    }
}

/// Shows `each` the keys from `near` to `far` and what they hold, in order, until it breaks. `near` and `far` are a
/// range's bounds, as [`Direction::near_and_far`] puts them. `each` may change the index.
///
/// Unlike [`range`](crate::range::range()) it copies no keys. Not a snapshot: see
/// [`OrderedIndex`](crate::OrderedIndex).
///
/// ```
/// use std::ops::{Bound, ControlFlow};
///
/// use skein_index::{Direction, Inline, Masstree, OrderedIndex, walk};
///
/// let tree = Masstree::new();
/// let guard = tree.collector().enter();
/// for (key, value) in [("ant", 1_u64), ("bee", 2), ("cat", 3)] {
///     tree.insert(key.as_bytes(), Inline(value), &guard)?;
/// }
/// let down = Direction::Backward;
/// let (near, far) = down.near_and_far((Bound::Included(b"b".as_slice()), Bound::Unbounded));
/// let mut values = Vec::new();
/// walk(&mut tree.cursor(&guard), near, far, down, |_, value| {
///     values.push(value);
///     ControlFlow::Continue(())
/// });
/// assert_eq!(values, [3, 2]);
/// # Ok::<(), skein_index::Refused>(())
/// ```
#[inline]
pub fn walk<'g, S: Slot>(
    cursor: &mut impl Cursor<'g, S>,
    near: Bound<&[u8]>,
    far: Bound<&[u8]>,
    direction: ScanDirection,
    each: impl FnMut(&[u8], S::Ref<'g>) -> ControlFlow<()>,
) {
    match direction {
        ScanDirection::Forward => DirectedScan::<true>::walk(cursor, near, far, each),
        ScanDirection::Backward => DirectedScan::<false>::walk(cursor, near, far, each),
    }
}
