//! Ordered queries of a typed map: the nearest key, and ranges.

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use skein_sync::reclaim::Guard;

use super::super::MlpCursor;
use super::super::variant::MlpStandard;
use super::{MlpError, MlpKey, MlpMap, ShortBytes};
use crate::index::{Cursor, OrderedIndex};
use crate::range::IndexRange;
use crate::slot::Slot;
use crate::walk::DirectedScan;

/// A key with its value as a lookup returns it.
pub(super) type MlpMapEntry<'g, K, S> = (K, <S as Slot>::Ref<'g>);

impl<K: MlpKey, S: Slot> MlpMap<K, S> {
    /// Returns the first entry at or after `key`.
    ///
    /// # Errors
    /// [`MlpError`] if the key has no place in the order.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert(10_u64, Inline(1_u64), &guard)?;
    /// assert_eq!(map.lower_bound(10, &guard)?, Some((10, 1)));
    /// assert_eq!(map.lower_bound(11, &guard)?, None);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn lower_bound<'g, G: Guard>(
        &'g self,
        key: K,
        guard: &'g G,
    ) -> Result<Option<MlpMapEntry<'g, K, S>>, MlpError> {
        self.nearest::<_, true>(Bound::Included(key), guard)
    }

    /// Returns the first entry after `key`.
    ///
    /// # Errors
    /// [`MlpError`] if the key has no place in the order.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert(10_u64, Inline(1_u64), &guard)?;
    /// assert_eq!(map.upper_bound(9, &guard)?, Some((10, 1)));
    /// assert_eq!(map.upper_bound(10, &guard)?, None);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn upper_bound<'g, G: Guard>(
        &'g self,
        key: K,
        guard: &'g G,
    ) -> Result<Option<MlpMapEntry<'g, K, S>>, MlpError> {
        self.nearest::<_, true>(Bound::Excluded(key), guard)
    }

    /// Returns the last entry before `key`.
    ///
    /// # Errors
    /// [`MlpError`] if the key has no place in the order.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert(-3_i64, Inline(1_u64), &guard)?;
    /// assert_eq!(map.predecessor(0, &guard)?, Some((-3, 1)));
    /// assert_eq!(map.predecessor(-3, &guard)?, None);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn predecessor<'g, G: Guard>(
        &'g self,
        key: K,
        guard: &'g G,
    ) -> Result<Option<MlpMapEntry<'g, K, S>>, MlpError> {
        self.nearest::<_, false>(Bound::Excluded(key), guard)
    }

    /// Returns the first entry.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert(f64::NEG_INFINITY, Inline(1_u64), &guard)?;
    /// map.insert(-1.0, Inline(2), &guard)?;
    /// assert_eq!(map.first(&guard), Some((f64::NEG_INFINITY, 1)));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn first<'g, G: Guard>(&'g self, guard: &'g G) -> Option<MlpMapEntry<'g, K, S>> {
        self.nearest_code::<_, true>(Bound::Unbounded, guard)
    }

    /// Returns the last entry.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert((1_u32, u32::MAX), Inline(1_u64), &guard)?;
    /// map.insert((2, 0), Inline(2), &guard)?;
    /// assert_eq!(map.last(&guard), Some(((2, 0), 2)));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn last<'g, G: Guard>(&'g self, guard: &'g G) -> Option<MlpMapEntry<'g, K, S>> {
        self.nearest_code::<_, false>(Bound::Unbounded, guard)
    }

    /// Returns the entries within `bounds`, in order, as a double-ended iterator. If the bounds
    /// cross, the range is empty. The iterator is not a snapshot: see [`OrderedIndex`].
    ///
    /// # Errors
    /// [`MlpError`] if a bound has no place in the order.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// for key in [-2_i32, -1, 0, 1] {
    ///     map.insert(key, Inline(key), &guard)?;
    /// }
    /// assert_eq!(map.range(-1.., &guard)?.map(|(key, _)| key).collect::<Vec<_>>(), [-1, 0, 1]);
    /// let down = map.range(..=0, &guard)?.rev();
    /// assert_eq!(down.map(|(key, _)| key).collect::<Vec<_>>(), [0, -1, -2]);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn range<'g, G: Guard>(
        &'g self,
        bounds: impl RangeBounds<K>,
        guard: &'g G,
    ) -> Result<MlpRange<'g, K, S, G>, MlpError> {
        Ok(self.range_of_codes((code_of(bounds.start_bound())?, code_of(bounds.end_bound())?), guard))
    }

    /// Returns the entries whose codes are within the bounds.
    #[inline]
    pub(super) fn range_of_codes<'g, G: Guard>(
        &'g self,
        (start, end): (Bound<ShortBytes>, Bound<ShortBytes>),
        guard: &'g G,
    ) -> MlpRange<'g, K, S, G> {
        MlpRange { codes: IndexRange::between(&self.index, start, end, guard), keys: PhantomData }
    }

    /// Returns the first entry from `near` on, in the given direction.
    #[inline]
    fn nearest<'g, G: Guard, const FORWARD: bool>(
        &'g self,
        near: Bound<K>,
        guard: &'g G,
    ) -> Result<Option<MlpMapEntry<'g, K, S>>, MlpError> {
        Ok(self.nearest_code::<_, FORWARD>(code_of(near.as_ref())?, guard))
    }

    #[inline]
    fn nearest_code<'g, G: Guard, const FORWARD: bool>(
        &'g self,
        near: Bound<ShortBytes>,
        guard: &'g G,
    ) -> Option<MlpMapEntry<'g, K, S>> {
        let mut cursor = self.index.cursor(guard);
        DirectedScan::<FORWARD>::start(&mut cursor, near.as_ref().map(AsRef::as_ref));
        Some((K::decode(ShortBytes::of_stored(cursor.key()?)), cursor.value()?))
    }
}

fn code_of<K: MlpKey>(bound: Bound<&K>) -> Result<Bound<ShortBytes>, MlpError> {
    Ok(match bound {
        Bound::Included(key) => Bound::Included(key.encode()?),
        Bound::Excluded(key) => Bound::Excluded(key.encode()?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// The iterator of [`MlpMap::range`].
///
/// ```
/// use skein_index::{Inline, MlpMap};
///
/// let map = MlpMap::new();
/// let guard = map.collector().enter();
/// for key in 0_u64..4 {
///     map.insert(key, Inline(10 * key), &guard)?;
/// }
/// let mut entries = map.range(.., &guard)?;
/// assert_eq!((entries.next(), entries.next_back()), (Some((0, 0)), Some((3, 30))));
/// assert_eq!(entries.collect::<Vec<_>>(), [(1, 10), (2, 20)]);
/// # Ok::<(), skein_index::MlpError>(())
/// ```
#[derive(Debug)]
pub struct MlpRange<'g, K, S: Slot, G: Guard> {
    codes: IndexRange<'g, S, MlpCursor<'g, S, G, MlpStandard>, ShortBytes>,
    keys: PhantomData<fn() -> K>,
}

impl<'g, K: MlpKey, S: Slot, G: Guard> Iterator for MlpRange<'g, K, S, G> {
    type Item = (K, S::Ref<'g>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.codes.pull_front(|code| K::decode(ShortBytes::of_stored(code)))
    }
}

impl<K: MlpKey, S: Slot, G: Guard> DoubleEndedIterator for MlpRange<'_, K, S, G> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.codes.pull_back(|code| K::decode(ShortBytes::of_stored(code)))
    }
}

impl<K: MlpKey, S: Slot, G: Guard> FusedIterator for MlpRange<'_, K, S, G> {}
