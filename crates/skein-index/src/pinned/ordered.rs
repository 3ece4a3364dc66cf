//! The methods of a pinned index that depend on the order of keys.

use std::iter::FusedIterator;
use std::ops::{Bound, ControlFlow};

use skein_sync::reclaim::Guard;

use super::{KeyBounds, Pinned};
use crate::index::{Cursor, OrderedIndex};
use crate::range::{IndexRange, prefix, range};
use crate::slot::Slot;
use crate::walk::{DirectedScan, KEYS_PER_GUARD, ScanDirection, walk_chunk};

/// A copy of a key with its value.
type IndexEntry<'p, S> = (Vec<u8>, <S as Slot>::Ref<'p>);

impl<S: Slot, I: OrderedIndex<S>, G: Guard> Pinned<'_, S, I, G> {
    /// Returns a double-ended iterator over all entries, in the order of their keys.
    ///
    /// It reads lazily, one entry at a time, and is not a snapshot: see [`Pinned`].
    pub fn iter(&self) -> IndexRange<'_, S, I::IndexCursor<'_, G>> {
        self.range(..)
    }

    /// Returns a double-ended iterator over the entries within `bounds`, in the order of their
    /// keys. Bounds that cross give an empty range.
    ///
    /// ```
    /// use skein_index::{Inline, Masstree};
    ///
    /// let index = Masstree::<Inline<u64>>::from([("ant", 1), ("bee", 2), ("cat", 3)]);
    /// let map = index.pin();
    /// assert!(map.range("b"..).map(|(_, value)| value).eq([2, 3]));
    /// assert!(map.range(..=b"bee").rev().map(|(_, value)| value).eq([2, 1]));
    /// assert_eq!(map.range(..).count(), 3);
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "bounds are passed as to `BTreeMap::range`")]
    pub fn range(&self, bounds: impl KeyBounds) -> IndexRange<'_, S, I::IndexCursor<'_, G>> {
        range(self.index, bounds.key_bounds(), &self.guard)
    }

    /// Returns a double-ended iterator over the entries whose keys start with `start`, in order.
    ///
    /// ```
    /// use skein_index::{Inline, SkipList};
    ///
    /// let index = SkipList::<Inline<u64>>::from([("bee", 1), ("beetle", 2), ("cat", 3)]);
    /// assert!(index.pin().prefix("bee").map(|(_, value)| value).eq([1, 2]));
    /// ```
    pub fn prefix(&self, start: impl AsRef<[u8]>) -> IndexRange<'_, S, I::IndexCursor<'_, G>> {
        prefix(self.index, start.as_ref(), &self.guard)
    }

    /// Returns a double-ended iterator over copies of the keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = Vec<u8>> + FusedIterator {
        self.iter().map(|(key, _)| key)
    }

    /// Returns a double-ended iterator over the values, in the order of their keys. Copies no keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = S::Ref<'_>> + FusedIterator {
        IndexValues(self.iter())
    }

    /// Returns a cursor before the first key. It shows keys without copies: see [`Cursor`].
    pub fn cursor(&self) -> I::IndexCursor<'_, G> {
        self.index.cursor(&self.guard)
    }

    /// Returns the first entry.
    pub fn first_key_value(&self) -> Option<IndexEntry<'_, S>> {
        self.iter().next()
    }

    /// Returns the last entry.
    pub fn last_key_value(&self) -> Option<IndexEntry<'_, S>> {
        self.iter().next_back()
    }

    /// Removes the first entry and returns it. No two calls return the same entry.
    ///
    /// When the entry is removed, a smaller key may be present only if another thread has inserted
    /// it during the call.
    ///
    /// ```
    /// use skein_index::{Inline, Masstree};
    ///
    /// let jobs = Masstree::<Inline<u64>>::from([("1 wash", 10), ("2 dry", 20)]);
    /// assert_eq!(jobs.pin().pop_first(), Some((b"1 wash".to_vec(), 10)));
    /// assert_eq!(jobs.pin().pop_last(), Some((b"2 dry".to_vec(), 20)));
    /// assert_eq!(jobs.pin().pop_first(), None);
    /// ```
    pub fn pop_first(&self) -> Option<IndexEntry<'_, S>> {
        self.pop::<true>()
    }

    /// Removes the last entry and returns it, as [`pop_first`](Self::pop_first) does for the first.
    pub fn pop_last(&self) -> Option<IndexEntry<'_, S>> {
        self.pop::<false>()
    }

    fn pop<const FORWARD: bool>(&self) -> Option<IndexEntry<'_, S>> {
        let mut cursor = self.cursor();
        while DirectedScan::<FORWARD>::start(&mut cursor, Bound::Unbounded) {
            let key = cursor.key()?.to_vec();
            if let Some(value) = self.remove(&key) {
                return Some((key, value));
            }
            // Another thread has removed it since: look again.
        }
        None
    }

    /// Removes the entries for which `keep` returns false. Not atomic: other threads may see it
    /// partly done, and entries that they insert meanwhile may stay.
    ///
    /// Before an entry is removed, `keep` is called again, with its present value, under a latch.
    /// So a value that another thread has just put is not removed by mistake. `keep` must satisfy
    /// the rules of [`compute`](Self::compute). Refreshes the pin from time to time.
    ///
    /// ```
    /// use skein_index::{Inline, Masstree};
    ///
    /// let index = Masstree::<Inline<u64>>::from([("ant", 1), ("bee", 2), ("cat", 3)]);
    /// index.pin().retain(|_, value| value % 2 == 1);
    /// assert!(index.pin().keys().eq([b"ant", b"cat"]));
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], S::Ref<'_>) -> bool) {
        self.walk_refreshing(|map, key, value| {
            if !keep(key, value) {
                map.remove_if(key, |now| !keep(key, now));
            }
        });
    }

    /// Removes all entries. Not atomic: other threads may see it partly done, and entries that they
    /// insert meanwhile may stay. Refreshes the pin from time to time.
    pub fn clear(&mut self) {
        self.walk_refreshing(|map, key, _| {
            map.remove(key);
        });
    }

    /// Calls `each` with all entries, in order. Refreshes the pin every [`KEYS_PER_GUARD`] keys.
    fn walk_refreshing(&mut self, mut each: impl FnMut(&Self, &[u8], S::Ref<'_>)) {
        let mut near = Bound::Unbounded;
        loop {
            let from = near.as_ref().map(Vec::as_slice);
            let forward = ScanDirection::Forward;
            let pass = |key: &[u8], value: S::Ref<'_>| {
                each(self, key, value);
                ControlFlow::Continue(())
            };
            let last = walk_chunk(&mut self.cursor(), from, Bound::Unbounded, forward, KEYS_PER_GUARD, pass);
            self.refresh();
            let Some(last) = last else { return };
            near = Bound::Excluded(last);
        }
    }
}

impl<'p, S: Slot, I: OrderedIndex<S>, G: Guard> IntoIterator for &'p Pinned<'_, S, I, G> {
    type Item = IndexEntry<'p, S>;
    type IntoIter = IndexRange<'p, S, I::IndexCursor<'p, G>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The values of a range.
struct IndexValues<'p, S, C>(IndexRange<'p, S, C>);

impl<'p, S: Slot, C: Cursor<'p, S>> Iterator for IndexValues<'p, S, C> {
    type Item = S::Ref<'p>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.pull_front(|_| ()).map(|((), value)| value)
    }
}

impl<'p, S: Slot, C: Cursor<'p, S>> DoubleEndedIterator for IndexValues<'p, S, C> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.pull_back(|_| ()).map(|((), value)| value)
    }
}

impl<'p, S: Slot, C: Cursor<'p, S>> FusedIterator for IndexValues<'p, S, C> {}
