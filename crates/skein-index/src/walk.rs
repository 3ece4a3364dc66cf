//! Walking a range of keys with a cursor, in either direction.
//!
//! ```text
//!   Forward:   start ├──────────────────────▶┤ end        near = start, far = end
//!   Backward:  start ├◀──────────────────────┤ end        near = end,   far = start
//! ```
//!
//! The directions differ in three operations: the move to the near bound, a step, and the check
//! against the far bound. `DirectedScan` implements these three for a constant direction, so the
//! loops over keys have no branch for it.

use std::ops::{Bound, ControlFlow};

use crate::index::Cursor;
use crate::slot::Slot;

/// The number of keys that a long scan should pass under one guard: small enough that memory is
/// reclaimed meanwhile, large enough that the descent to resume costs nothing in comparison.
pub const KEYS_PER_GUARD: usize = 1024;

/// The direction of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanDirection {
    /// In ascending order of keys.
    Forward,
    /// In descending order of keys.
    Backward,
}

impl ScanDirection {
    /// Returns the bound of a range where a walk begins, and the one where it ends.
    pub fn near_and_far<T>(self, (start, end): (Bound<T>, Bound<T>)) -> (Bound<T>, Bound<T>) {
        match self {
            Self::Forward => (start, end),
            Self::Backward => (end, start),
        }
    }
}

/// The operations that depend on the direction.
pub(crate) struct DirectedScan<const FORWARD: bool>;

impl<const FORWARD: bool> DirectedScan<FORWARD> {
    /// Moves a cursor to the first key of a walk. Returns whether there is a key from there on.
    #[inline]
    pub(crate) fn start<'g, S: Slot>(cursor: &mut impl Cursor<'g, S>, near: Bound<&[u8]>) -> bool {
        let on = match near {
            Bound::Unbounded if FORWARD => cursor.first(),
            Bound::Unbounded => cursor.last(),
            Bound::Included(key) => Self::seek(cursor, key),
            Bound::Excluded(key) => {
                Self::seek(cursor, key) && (cursor.key() != Some(key) || Self::step(cursor))
            }
        };
        debug_assert!(!on || cursor.key().is_some_and(|key| Self::begins_at(key, near)), "{near:?}");
        on
    }

    /// Returns whether a walk that begins at `near` includes `key`.
    fn begins_at(key: &[u8], near: Bound<&[u8]>) -> bool {
        match near {
            Bound::Unbounded => true,
            Bound::Included(near) if FORWARD => key >= near,
            Bound::Included(near) => key <= near,
            Bound::Excluded(near) if FORWARD => key > near,
            Bound::Excluded(near) => key < near,
        }
    }

    #[inline]
    fn seek<'g, S: Slot>(cursor: &mut impl Cursor<'g, S>, key: &[u8]) -> bool {
        if FORWARD { cursor.seek(key) } else { cursor.seek_back(key) }
    }

    /// Moves a cursor to the walk's next key. Returns whether there is one.
    #[inline]
    pub(crate) fn step<'g, S: Slot>(cursor: &mut impl Cursor<'g, S>) -> bool {
        if FORWARD { cursor.next() } else { cursor.prev() }
    }

    /// Returns whether a walk that ends at `far` includes `key`.
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

/// Calls `each` with the keys from `near` to `far` and their values, in order, until `each` breaks.
/// `near` and `far` are a range's bounds, as returned by [`ScanDirection::near_and_far`]. `each`
/// may change the index.
///
/// Unlike [`range`](crate::range::range()) it copies no keys. Not a snapshot: see
/// [`OrderedIndex`](crate::OrderedIndex).
///
/// ```
/// use std::ops::{Bound, ControlFlow};
///
/// use skein_index::{Inline, Masstree, OrderedIndex, ScanDirection, walk};
///
/// let tree = Masstree::new();
/// let guard = tree.collector().enter();
/// for (key, value) in [("ant", 1_u64), ("bee", 2), ("cat", 3)] {
///     tree.insert(key.as_bytes(), Inline(value), &guard)?;
/// }
/// let down = ScanDirection::Backward;
/// let (near, far) = down.near_and_far((Bound::Included(b"b".as_slice()), Bound::Unbounded));
/// let mut values = Vec::new();
/// walk(&mut tree.cursor(&guard), near, far, down, |_, value| {
///     values.push(value);
///     ControlFlow::Continue(())
/// });
/// assert_eq!(values, [3, 2]);
/// # Ok::<(), skein_index::IndexError>(())
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

/// Walks as [`walk`] does, but over at most `keys` keys (not 0). Returns the last key if the walk
/// must continue after it.
///
/// A long scan takes its keys in chunks, each with a fresh guard, so that memory is reclaimed
/// meanwhile: see [`KEYS_PER_GUARD`].
///
/// ```
/// use std::ops::{Bound, ControlFlow};
///
/// use skein_index::{Inline, Masstree, OrderedIndex, ScanDirection, walk_chunk};
///
/// let tree = Masstree::<Inline<u64>>::from([("ant", 1), ("bee", 2), ("cat", 3)]);
/// let (mut near, mut sum) = (Bound::Unbounded, 0);
/// loop {
///     let guard = tree.collector().enter();
///     let from = near.as_ref().map(Vec::as_slice);
///     let add = |_: &[u8], value| {
///         sum += value;
///         ControlFlow::Continue(())
///     };
///     let chunk =
///         walk_chunk(&mut tree.cursor(&guard), from, Bound::Unbounded, ScanDirection::Forward, 2, add);
///     let Some(last) = chunk else { break };
///     near = Bound::Excluded(last);
/// }
/// assert_eq!(sum, 6);
/// ```
pub fn walk_chunk<'g, S: Slot>(
    cursor: &mut impl Cursor<'g, S>,
    near: Bound<&[u8]>,
    far: Bound<&[u8]>,
    direction: ScanDirection,
    keys: usize,
    mut each: impl FnMut(&[u8], S::Ref<'g>) -> ControlFlow<()>,
) -> Option<Vec<u8>> {
    let (mut left, mut last) = (keys, None);
    walk(cursor, near, far, direction, |key, value| {
        each(key, value)?;
        left -= 1;
        if left > 0 {
            return ControlFlow::Continue(());
        }
        last = Some(key.to_vec());
        ControlFlow::Break(())
    });
    last
}
