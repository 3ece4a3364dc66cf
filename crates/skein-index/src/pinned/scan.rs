//! Scans that hold no pin between two items.
//!
//! ```text
//!   start ─────►│ front │─────────────────────────│ back │◄───── end
//!               └ read ahead, under a short pin ──────────┘
//! ```
//!
//! Each end reads a chunk of entries under a pin, maps them to owned items, and remembers its last
//! key. The next chunk begins after that key. When both ends have met, each takes the items that
//! the other has read.

use std::collections::VecDeque;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, ControlFlow};

use crate::byte_index::ByteIndex;
use crate::engine::IndexEngine;
use crate::index::OrderedIndex;
use crate::key_bounds::KeyBounds;
use crate::slot::Slot;
use crate::walk::{KEYS_PER_GUARD, ScanDirection, walk_chunk};

/// The size of the first chunk: a caller that takes few items should not read many.
const FIRST_CHUNK: usize = 16;

impl<S: Slot, E: IndexEngine<S>> ByteIndex<S, E> {
    /// Returns a double-ended iterator over all entries that holds no pin, so that memory is freed
    /// however long the scan takes.
    ///
    /// `map` converts each entry to an owned item. The iterator calls it for some entries ahead (at
    /// most [`KEYS_PER_GUARD`] from each end), under a short pin. So an item may show a value that
    /// has been replaced since. Not a snapshot: see [`OrderedIndex`].
    ///
    /// ```
    /// use skein_index::{Boxed, Masstree};
    ///
    /// let entries = [("1", "Ada".to_owned()), ("2", "Bo".to_owned())];
    /// let names = Masstree::<Boxed<String>>::from(entries);
    /// let mut copies = names.scan(|_, name| name.clone());
    /// assert_eq!(copies.next().as_deref(), Some("Ada"));
    /// names.pin().clear();
    /// // Read ahead, together with the first one.
    /// assert_eq!(copies.next().as_deref(), Some("Bo"));
    /// ```
    pub fn scan<T, F>(&self, map: F) -> IndexScan<'_, S, Self, F, T>
    where
        F: FnMut(&[u8], S::Ref<'_>) -> T,
    {
        self.scan_range(.., map)
    }

    /// Returns an iterator as [`scan`](Self::scan) does, over the entries within `bounds`.
    ///
    /// ```
    /// use skein_index::{Inline, MlpIndex};
    ///
    /// let index = MlpIndex::<Inline<u64>>::from([("ant", 1), ("bee", 2), ("cat", 3)]);
    /// assert!(index.scan_range("b".., |_, value| value).eq([2, 3]));
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "bounds are passed as to `BTreeMap::range`")]
    pub fn scan_range<T, F>(&self, bounds: impl KeyBounds, map: F) -> IndexScan<'_, S, Self, F, T>
    where
        F: FnMut(&[u8], S::Ref<'_>) -> T,
    {
        let (start, end) = bounds.key_bounds();
        IndexScan {
            index: self,
            map,
            start: start.map(<[u8]>::to_vec),
            end: end.map(<[u8]>::to_vec),
            front: VecDeque::new(),
            back: VecDeque::new(),
            chunk: FIRST_CHUNK,
            done: false,
            slots: PhantomData,
        }
    }
}

/// The iterator of [`ByteIndex::scan`] and [`ByteIndex::scan_range`].
pub struct IndexScan<'i, S, I, F, T> {
    index: &'i I,
    map: F,
    /// The bounds of the entries that neither end has read.
    start: Bound<Vec<u8>>,
    end: Bound<Vec<u8>>,
    /// Items that were read and not returned, in the order of each end.
    front: VecDeque<T>,
    back: VecDeque<T>,
    /// The size of the next chunk.
    chunk: usize,
    /// Nothing is left between the bounds.
    done: bool,
    slots: PhantomData<S>,
}

impl<S, I, F, T> IndexScan<'_, S, I, F, T>
where
    S: Slot,
    I: OrderedIndex<S>,
    F: FnMut(&[u8], S::Ref<'_>) -> T,
{
    /// Returns the next item from one end.
    fn pull<const FORWARD: bool>(&mut self) -> Option<T> {
        let own = if FORWARD { &self.front } else { &self.back };
        if own.is_empty() && !self.done {
            self.read_chunk::<FORWARD>();
        }
        let (own, other) =
            if FORWARD { (&mut self.front, &mut self.back) } else { (&mut self.back, &mut self.front) };
        own.pop_front().or_else(|| other.pop_back())
    }

    /// Reads the next chunk of one end under a pin.
    fn read_chunk<const FORWARD: bool>(&mut self) {
        let direction = if FORWARD { ScanDirection::Forward } else { ScanDirection::Backward };
        let items = if FORWARD { &mut self.front } else { &mut self.back };
        let bounds = (self.start.as_ref().map(Vec::as_slice), self.end.as_ref().map(Vec::as_slice));
        let (near, far) = direction.near_and_far(bounds);
        let guard = self.index.collector().enter();
        let add = |key: &[u8], value: S::Ref<'_>| {
            items.push_back((self.map)(key, value));
            ControlFlow::Continue(())
        };
        let last = walk_chunk(&mut self.index.cursor(&guard), near, far, direction, self.chunk, add);
        self.chunk = (2 * self.chunk).min(KEYS_PER_GUARD);
        match last {
            Some(last) if FORWARD => self.start = Bound::Excluded(last),
            Some(last) => self.end = Bound::Excluded(last),
            None => self.done = true,
        }
    }
}

impl<S, I, F, T> Iterator for IndexScan<'_, S, I, F, T>
where
    S: Slot,
    I: OrderedIndex<S>,
    F: FnMut(&[u8], S::Ref<'_>) -> T,
{
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.pull::<true>()
    }
}

impl<S, I, F, T> DoubleEndedIterator for IndexScan<'_, S, I, F, T>
where
    S: Slot,
    I: OrderedIndex<S>,
    F: FnMut(&[u8], S::Ref<'_>) -> T,
{
    fn next_back(&mut self) -> Option<T> {
        self.pull::<false>()
    }
}

impl<S, I, F, T> FusedIterator for IndexScan<'_, S, I, F, T>
where
    S: Slot,
    I: OrderedIndex<S>,
    F: FnMut(&[u8], S::Ref<'_>) -> T,
{
}

impl<S, I, F, T> fmt::Debug for IndexScan<'_, S, I, F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexScan")
            .field("start", &self.start)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
