//! Pinned typed maps: a map and a guard in one value, with the methods of an ordered map.
//!
//! The lifetimes are those of [`Pinned`](crate::Pinned), whose page has the argument why safe code
//! cannot break them: a value borrows the pin, and the pin borrows the map.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use skein_sync::reclaim::{Guard, LocalGuard, OwnedGuard};

use super::order::{MlpMapEntry, MlpRange};
use super::{MlpError, MlpKey, MlpMap};
use crate::index::{ComputeAction, Computed};
use crate::slot::Slot;
use crate::walk::KEYS_PER_GUARD;

/// A typed map with a guard: a handle with the methods of an ordered map. [`MlpMap::pin`] returns
/// one. For the cost of a held pin, see [`Pinned`](crate::Pinned).
///
/// ```
/// use skein_index::{Inline, MlpMap};
///
/// let seats = MlpMap::<u32, Inline<u64>>::new();
/// let map = seats.pin();
/// map.insert(7, 70)?;
/// map.insert(3, 30)?;
/// assert_eq!(map.get(7), Some(70));
/// assert_eq!(map.first_key_value(), Some((3, 30)));
/// assert_eq!(format!("{map:?}"), "{3: 30, 7: 70}");
/// # Ok::<(), skein_index::MlpError>(())
/// ```
///
/// The compiler rejects a value that outlives its pin:
///
/// ```compile_fail,E0597
/// use skein_index::{Boxed, MlpMap};
///
/// let names = MlpMap::<u32, Boxed<String>>::new();
/// let name: Option<&String> = {
///     let map = names.pin();
///     map.get(1)
/// };
/// println!("{name:?}");
/// ```
///
/// a pin that outlives its map:
///
/// ```compile_fail,E0505
/// use skein_index::{Boxed, MlpMap};
///
/// let names = MlpMap::<u32, Boxed<String>>::new();
/// let map = names.pin();
/// drop(names);
/// println!("{:?}", map.get(1));
/// ```
///
/// a value that is used after a refresh, which may free it:
///
/// ```compile_fail,E0502
/// use skein_index::{Boxed, MlpMap};
///
/// let names = MlpMap::<u32, Boxed<String>>::new();
/// let mut map = names.pin();
/// let name = map.get(1);
/// map.refresh();
/// println!("{name:?}");
/// ```
///
/// and a pin of one thread in another one ([`MlpMap::pin_owned`] returns a pin that may move):
///
/// ```compile_fail,E0277
/// use skein_index::{Boxed, MlpMap};
///
/// let names = MlpMap::<u32, Boxed<String>>::new();
/// let map = names.pin();
/// std::thread::scope(|scope| {
///     scope.spawn(move || map.insert(1, String::new()).is_ok());
/// });
/// ```
pub struct PinnedMlpMap<'i, K, S: Slot, G = LocalGuard<'i>> {
    map: &'i MlpMap<K, S>,
    guard: G,
}

impl<K: MlpKey, S: Slot> MlpMap<K, S> {
    /// Pins the map for the current thread. Cheap: no lock and no shared write.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::<i64, Inline<u64>>::new();
    /// assert_eq!(map.pin().insert(-1, 1)?, None);
    /// assert_eq!(map.pin().get(-1), Some(1));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn pin(&self) -> PinnedMlpMap<'_, K, S> {
        PinnedMlpMap { map: self, guard: self.collector().enter() }
    }

    /// Pins the map with a guard that may move to another thread. Costs more than
    /// [`pin`](Self::pin).
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::<u32, Inline<u64>>::from([(1, 10)]);
    /// let pinned = map.pin_owned();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(move || assert_eq!(pinned.get(1), Some(10)));
    /// });
    /// ```
    pub fn pin_owned(&self) -> PinnedMlpMap<'_, K, S, OwnedGuard<'_>> {
        PinnedMlpMap { map: self, guard: self.collector().enter_owned() }
    }

    /// Sets all keys of an iterator to its values. A later value of an equal key replaces an
    /// earlier one. Not atomic, and no pin is held while the iterator produces the next entry.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::<f64, Inline<u64>>::new();
    /// assert!(map.try_extend([(1.5, 1), (f64::NAN, 2), (2.5, 3)]).is_err());
    /// assert!(map.pin().keys().eq([1.5]));
    /// ```
    ///
    /// # Errors
    /// Returns the first [`MlpError`]. The entries before it are in the map.
    pub fn try_extend<V: Into<S>>(&self, entries: impl IntoIterator<Item = (K, V)>) -> Result<(), MlpError> {
        for (key, value) in entries {
            self.pin().insert(key, value)?;
        }
        Ok(())
    }
}

impl<'i, K: MlpKey, S: Slot, G: Guard> PinnedMlpMap<'i, K, S, G> {
    /// Returns the pinned map.
    pub fn map(&self) -> &'i MlpMap<K, S> {
        self.map
    }

    /// Returns the pin's guard, for the methods of [`MlpMap`].
    pub fn guard(&self) -> &G {
        &self.guard
    }

    /// Ends the pin and begins another one, so that memory can be freed. No value of this pin can
    /// be in use.
    #[inline]
    pub fn refresh(&mut self) {
        self.guard.refresh();
    }

    /// Returns the value of `key`. A key without a code is absent.
    #[inline]
    pub fn get(&self, key: K) -> Option<S::Ref<'_>> {
        self.map.get(key, &self.guard)
    }

    /// Returns whether `key` is present.
    #[inline]
    pub fn contains_key(&self, key: K) -> bool {
        self.get(key).is_some()
    }

    /// Returns the values of many keys, in the order of the keys. Their memory reads overlap.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::<(u32, u32), Inline<u64>>::from([((1, 2), 12)]);
    /// assert_eq!(map.pin().get_many(&[(2, 1), (1, 2)]), [None, Some(12)]);
    /// ```
    pub fn get_many(&self, keys: &[K]) -> Vec<Option<S::Ref<'_>>> {
        let mut values = vec![None; keys.len()];
        self.map.get_many(keys, &self.guard, |at, value| values[at] = value);
        values
    }

    /// Sets `key` to `value`. Returns the value that it replaced.
    ///
    /// # Errors
    /// [`MlpError`]; then the map is unchanged.
    #[inline]
    pub fn insert(&self, key: K, value: impl Into<S>) -> Result<Option<S::Ref<'_>>, MlpError> {
        self.map.insert(key, value.into(), &self.guard)
    }

    /// Sets `key` to `value` if it is absent. Returns the present value otherwise.
    ///
    /// # Errors
    /// [`MlpError`]; then the map is unchanged.
    pub fn insert_if_absent(&self, key: K, value: impl Into<S>) -> Result<Option<S::Ref<'_>>, MlpError> {
        self.map.insert_if_absent(key, value.into(), &self.guard)
    }

    /// Removes `key`. Returns its value.
    #[inline]
    pub fn remove(&self, key: K) -> Option<S::Ref<'_>> {
        self.map.remove(key, &self.guard)
    }

    /// Removes `key` if `condition` is true for its value. Returns the value that it removed. The
    /// condition must satisfy the rules of [`MlpMap::compute`].
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::<u32, Inline<u64>>::from([(1, 10)]);
    /// assert_eq!(map.pin().remove_if(1, |value| value > 10), None);
    /// assert_eq!(map.pin().remove_if(1, |value| value == 10), Some(10));
    /// assert!(map.is_empty());
    /// ```
    pub fn remove_if(&self, key: K, condition: impl FnOnce(S::Ref<'_>) -> bool) -> Option<S::Ref<'_>> {
        let remove = |value: Option<S::Ref<'_>>| match value {
            Some(value) if condition(value) => ComputeAction::Remove,
            _ => ComputeAction::Keep,
        };
        // An error says that the key has no code. Then it is absent.
        let done = self.compute(key, remove).ok()?;
        done.before.filter(|_| done.changed)
    }

    /// Removes the first entry and returns it. When several threads do so, each gets another one.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let jobs = MlpMap::<u32, Inline<u64>>::from([(2, 20), (1, 10)]);
    /// assert_eq!(jobs.pin().pop_first(), Some((1, 10)));
    /// assert_eq!(jobs.pin().pop_last(), Some((2, 20)));
    /// assert_eq!(jobs.pin().pop_first(), None);
    /// ```
    pub fn pop_first(&self) -> Option<MlpMapEntry<'_, K, S>> {
        self.pop(Self::first_key_value)
    }

    /// Removes the last entry and returns it, as [`pop_first`](Self::pop_first) does for the first.
    pub fn pop_last(&self) -> Option<MlpMapEntry<'_, K, S>> {
        self.pop(Self::last_key_value)
    }

    fn pop<'p>(
        &'p self,
        end: impl Fn(&'p Self) -> Option<MlpMapEntry<'p, K, S>>,
    ) -> Option<MlpMapEntry<'p, K, S>> {
        loop {
            let (key, _) = end(self)?;
            // Another thread may have removed it since.
            if let Some(value) = self.remove(key) {
                return Some((key, value));
            }
        }
    }

    /// Removes the entries for which `keep` returns false. Not atomic: other threads may see it
    /// partly done, and entries that they insert meanwhile may stay.
    ///
    /// Before an entry is removed, `keep` is called again, with its present value, under a latch.
    /// It must satisfy the rules of [`MlpMap::compute`]. Refreshes the pin from time to time.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map: MlpMap<u32, Inline<u64>> = (0..1_000_u32).map(|n| (n, u64::from(n))).collect();
    /// map.pin().retain(|key, _| key % 100 == 7);
    /// assert_eq!(map.len(), 10);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(K, S::Ref<'_>) -> bool) {
        self.walk_refreshing(|map, key, value| {
            if !keep(key, value) {
                map.remove_if(key, |now| !keep(key, now));
            }
        });
    }

    /// Removes all entries. Not atomic: other threads may see it partly done, and entries that they
    /// insert meanwhile may stay. Refreshes the pin from time to time.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map: MlpMap<u32, Inline<u64>> = (0..1_000_u32).map(|n| (n, u64::from(n))).collect();
    /// map.pin().clear();
    /// assert!(map.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.walk_refreshing(|map, key, _| {
            map.remove(key);
        });
    }

    /// Calls `each` with all entries, in order. Refreshes the pin every [`KEYS_PER_GUARD`] keys.
    fn walk_refreshing(&mut self, mut each: impl FnMut(&Self, K, S::Ref<'_>)) {
        let mut near = Bound::Unbounded;
        loop {
            let mut last = None;
            // A key of the map has a code, so the bound is never an error.
            let Ok(rest) = self.range((near, Bound::Unbounded)) else { return };
            for (key, value) in rest.take(KEYS_PER_GUARD) {
                each(self, key, value);
                last = Some(key);
            }
            self.refresh();
            let Some(last) = last else { return };
            near = Bound::Excluded(last);
        }
    }

    /// Replaces or removes the value of `key` atomically; see [`MlpMap::compute`].
    ///
    /// # Errors
    /// [`MlpError`]; then the map is unchanged.
    pub fn compute(
        &self,
        key: K,
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
    ) -> Result<Computed<'_, S>, MlpError> {
        self.map.compute(key, change, &self.guard)
    }

    /// Returns a double-ended iterator over the entries within `bounds`, in order; see
    /// [`MlpMap::range`].
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::<i32, Inline<i32>>::from([(-2, 4), (0, 0), (3, 9)]);
    /// assert!(map.pin().range(-1..)?.rev().eq([(3, 9), (0, 0)]));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    ///
    /// # Errors
    /// [`MlpError`] if a bound has no place in the order.
    pub fn range(&self, bounds: impl RangeBounds<K>) -> Result<MlpRange<'_, K, S, G>, MlpError> {
        self.map.range(bounds, &self.guard)
    }

    /// Returns a double-ended iterator over all entries, in order.
    pub fn iter(&self) -> MlpRange<'_, K, S, G> {
        self.map.range_of_codes((Bound::Unbounded, Bound::Unbounded), &self.guard)
    }

    /// Returns a double-ended iterator over all keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns a double-ended iterator over all values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = S::Ref<'_>> {
        self.iter().map(|(_, value)| value)
    }

    /// Returns the first entry.
    pub fn first_key_value(&self) -> Option<MlpMapEntry<'_, K, S>> {
        self.map.first(&self.guard)
    }

    /// Returns the last entry.
    pub fn last_key_value(&self) -> Option<MlpMapEntry<'_, K, S>> {
        self.map.last(&self.guard)
    }

    /// Returns the number of keys, which is exact while no writer is active.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

impl<'p, K: MlpKey, S: Slot, G: Guard> IntoIterator for &'p PinnedMlpMap<'_, K, S, G> {
    type Item = (K, S::Ref<'p>);
    type IntoIter = MlpRange<'p, K, S, G>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Shows the entries.
impl<K: MlpKey + fmt::Debug, S: Slot, G: Guard> fmt::Debug for PinnedMlpMap<'_, K, S, G>
where
    for<'p> S::Ref<'p>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

fn extend_or_panic<K: MlpKey, S: Slot, V: Into<S>>(
    map: &MlpMap<K, S>,
    entries: impl IntoIterator<Item = (K, V)>,
) {
    if let Err(refused) = map.try_extend(entries) {
        panic!("{refused}; or use `try_extend`, which returns this error");
    }
}

/// Panics if a key is refused. [`MlpMap::try_extend`] returns the error.
impl<K: MlpKey, S: Slot, V: Into<S>> Extend<(K, V)> for MlpMap<K, S> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        extend_or_panic(self, entries);
    }
}

/// Panics if a key is refused. [`MlpMap::try_extend`] on an empty map returns the error.
///
/// ```
/// use skein_index::{Inline, MlpMap};
///
/// let squares: MlpMap<u32, Inline<u64>> = (0..10_u32).map(|n| (n, u64::from(n * n))).collect();
/// assert_eq!(squares.pin().last_key_value(), Some((9, 81)));
/// ```
impl<K: MlpKey, S: Slot, V: Into<S>> FromIterator<(K, V)> for MlpMap<K, S> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let map = Self::new();
        extend_or_panic(&map, entries);
        map
    }
}

/// Panics if a key is refused. [`MlpMap::try_extend`] on an empty map returns the error.
impl<K: MlpKey, S: Slot, V: Into<S>, const N: usize> From<[(K, V); N]> for MlpMap<K, S> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}
