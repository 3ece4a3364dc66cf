//! A typed map over [`MlpIndex`], with integers, floats, pairs or short byte strings as keys.
//!
//! ```text
//!   MlpMap<K, S>      K ─► code ─► MlpIndex        the index sees only byte strings
//!     MlpKey          key ◄─► code, in the same order                             key.rs
//!     ShortBytes      a code: up to eight bytes by value; also a key type         short_bytes.rs
//!     order.rs        queries that depend on the order: nearest keys and ranges
//!     increment.rs    values that count
//!     pinned.rs       the map with a guard in one value
//! ```
//!
//! # Invariants
//! 1. Codes are in the order of their keys, and decoding a code returns the key: the law of
//!    [`MlpKey`].
//! 2. The index of a map holds only codes of its key type: no other code can reach it.
//! 3. No operation allocates for keys: codes are on the stack, and cursors own no heap memory
//!    (`tests/allocations.rs`).
//!
//! # Keys that have no code
//! NaN has no place in the order of floats. Lookups and removals treat it as an absent key, as an
//! index treats keys that are too long. Writes and ordered queries return an [`MlpError`].
//!
//! Design: `docs/design/mlp-index.md`.

mod increment;
mod key;
mod order;
mod pinned;
mod short_bytes;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use skein_sync::reclaim::{Collector, Guard, check_guard};

pub use key::{MlpError, MlpKey};
pub use order::MlpRange;
pub use pinned::PinnedMlpMap;
pub use short_bytes::ShortBytes;

use super::MlpIndex;
use crate::index::{ComputeAction, Computed, MemoryUsage, OrderedIndex};
use crate::slot::Slot;

/// An ordered map from keys of type `K` to slots, usable from many threads through `&self`.
///
/// [`pin`](Self::pin) returns a handle with the methods of an ordered map. The methods here take a
/// guard instead, for programs that hold one for several maps.
///
/// Every method that takes a guard panics if the guard is not from the map's own
/// [`collector`](Self::collector). For its memory, see [`MlpIndex`].
///
/// ```
/// use skein_index::{Inline, MlpMap};
///
/// let temperatures = MlpMap::<f64, Inline<u64>>::new();
/// let guard = temperatures.collector().enter();
/// for (celsius, reading) in [(21.5, 1), (-40.0, 2), (0.0, 3)] {
///     temperatures.insert(celsius, Inline(reading), &guard)?;
/// }
/// assert_eq!(temperatures.first(&guard), Some((-40.0, 2)));
/// assert_eq!(temperatures.lower_bound(1.0, &guard)?, Some((21.5, 1)));
/// assert!(temperatures.insert(f64::NAN, Inline(4), &guard).is_err());
/// # Ok::<(), skein_index::MlpError>(())
/// ```
pub struct MlpMap<K, S: Slot> {
    index: MlpIndex<S>,
    /// Keys are passed in and returned, but not stored.
    keys: PhantomData<fn(K) -> K>,
}

impl<K: MlpKey, S: Slot> MlpMap<K, S> {
    /// Creates an empty map with its own collector.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    /// assert!(MlpMap::<u64, Inline<u64>>::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::with_collector(Arc::new(Collector::new()))
    }

    /// Creates an empty map that shares a collector, and so its guards, with other maps.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use skein_index::{Collector, Inline, MlpMap};
    ///
    /// let collector = Arc::new(Collector::new());
    /// let names = MlpMap::<u32, Inline<u64>>::with_collector(Arc::clone(&collector));
    /// let ages = MlpMap::<u32, Inline<u8>>::with_collector(Arc::clone(&collector));
    /// let guard = collector.enter();
    /// assert_eq!((names.get(1, &guard), ages.get(1, &guard)), (None, None));
    /// ```
    pub fn with_collector(collector: Arc<Collector>) -> Self {
        Self { index: MlpIndex::with_collector(collector), keys: PhantomData }
    }

    /// Sets the memory budget: writes are refused while the map uses `budget` bytes or more.
    ///
    /// ```
    /// use skein_index::{IndexError, Inline, MlpError, MlpMap};
    ///
    /// let map = MlpMap::new().with_budget(1);
    /// let error = map.insert(1_u64, Inline(1_u64), &map.collector().enter()).unwrap_err();
    /// assert!(matches!(error, MlpError::Refused(IndexError::OverBudget { budget: 1, .. })));
    /// ```
    #[must_use]
    pub fn with_budget(self, budget: usize) -> Self {
        Self { index: self.index.with_budget(budget), ..self }
    }

    /// Returns the collector whose guards this map accepts.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::<u64, Inline<u64>>::new();
    /// let guard = map.collector().enter();
    /// assert_eq!(map.get(1, &guard), None);
    /// ```
    pub fn collector(&self) -> &Collector {
        OrderedIndex::<S>::collector(&self.index)
    }

    /// Returns the value of `key`. A key without a code is absent.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert(-1_i64, Inline(7_u64), &guard)?;
    /// assert_eq!((map.get(-1, &guard), map.get(1, &guard)), (Some(7), None));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn get<'g, G: Guard>(&'g self, key: K, guard: &'g G) -> Option<S::Ref<'g>> {
        self.index.get(&key.encode().ok()?, guard)
    }

    /// Looks up many keys, with overlapping memory reads. Calls `found` once per key with the key's
    /// position in `keys`, in no particular order.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert((1_u32, 2_u32), Inline(12_u64), &guard)?;
    /// let mut values = [None; 2];
    /// map.get_many(&[(1, 2), (2, 1)], &guard, |at, value| values[at] = value);
    /// assert_eq!(values, [Some(12), None]);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn get_many<'g, G: Guard>(
        &'g self,
        keys: &[K],
        guard: &'g G,
        mut found: impl FnMut(usize, Option<S::Ref<'g>>),
    ) {
        check_guard(self.collector(), guard);
        let code = |key: &K| key.encode().ok().map(Into::into);
        // SAFETY: the words were in the index. They are retired under this guard or a later one, if
        // at all.
        self.index
            .lookup_many_by(keys, code, |at, word| found(at, word.map(|word| unsafe { S::borrow(word) })));
    }

    /// Sets `key` to `value`. Returns the replaced value.
    ///
    /// # Errors
    /// [`MlpError`]; then the map is unchanged.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// assert_eq!(map.insert(5_u64, Inline(1_u64), &guard)?, None);
    /// assert_eq!(map.insert(5, Inline(2), &guard)?, Some(1));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn insert<'g, G: Guard>(
        &'g self,
        key: K,
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, MlpError> {
        Ok(self.index.insert(&key.encode()?, value, guard)?)
    }

    /// Sets `key` to `value` if it is absent. Returns the present value otherwise.
    ///
    /// # Errors
    /// [`MlpError`]; then the map is unchanged.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// assert_eq!(map.insert_if_absent(5_u32, Inline(1_u64), &guard)?, None);
    /// assert_eq!(map.insert_if_absent(5, Inline(2), &guard)?, Some(1));
    /// assert_eq!(map.get(5, &guard), Some(1));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn insert_if_absent<'g, G: Guard>(
        &'g self,
        key: K,
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, MlpError> {
        Ok(self.index.insert_if_absent(&key.encode()?, value, guard)?)
    }

    /// Removes `key`. Returns its value.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert(2.5, Inline(1_u64), &guard)?;
    /// assert_eq!((map.remove(2.5, &guard), map.remove(2.5, &guard)), (Some(1), None));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn remove<'g, G: Guard>(&'g self, key: K, guard: &'g G) -> Option<S::Ref<'g>> {
        self.index.remove(&key.encode().ok()?, guard)
    }

    /// Replaces or removes the value of `key` atomically: no other write to the key happens between
    /// the call of `change` with the current value and its effect. The closure must satisfy the
    /// rules of [`OrderedIndex::compute`].
    ///
    /// # Errors
    /// [`MlpError`]; then the map is unchanged.
    ///
    /// ```
    /// use skein_index::{ComputeAction, Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// let guard = map.collector().enter();
    /// map.insert(9_i32, Inline(20_u64), &guard)?;
    /// let halve = |value: Option<u64>| match value {
    ///     Some(value) => ComputeAction::Put(Inline(value / 2)),
    ///     None => ComputeAction::Keep,
    /// };
    /// let half = map.compute(9, halve, &guard)?;
    /// assert_eq!((half.before, half.changed, map.get(9, &guard)), (Some(20), true, Some(10)));
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    #[inline]
    pub fn compute<'g, G: Guard>(
        &'g self,
        key: K,
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, MlpError> {
        Ok(self.index.compute(&key.encode()?, change, guard)?)
    }

    /// Returns the number of keys, which is exact while no writer is active.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    ///
    /// let map = MlpMap::new();
    /// map.insert(1_u64, Inline(1_u64), &map.collector().enter())?;
    /// assert_eq!(map.len(), 1);
    /// # Ok::<(), skein_index::MlpError>(())
    /// ```
    pub fn len(&self) -> usize {
        OrderedIndex::<S>::len(&self.index)
    }

    /// Returns whether there are no keys.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    /// assert!(MlpMap::<(u32, u32), Inline<u64>>::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the live bytes by part.
    ///
    /// ```
    /// use skein_index::{Inline, MlpMap};
    /// let memory = MlpMap::<u64, Inline<u64>>::new().memory();
    /// assert!(memory.live() <= memory.reserved);
    /// ```
    pub fn memory(&self) -> MemoryUsage {
        OrderedIndex::<S>::memory(&self.index)
    }
}

impl<K: MlpKey, S: Slot> Default for MlpMap<K, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: MlpKey, S: Slot> fmt::Debug for MlpMap<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MlpMap").field("len", &self.len()).finish_non_exhaustive()
    }
}
