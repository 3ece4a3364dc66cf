//! Pinned indexes: an index and a guard in one value, with the methods of an ordered map.
//!
//! ```text
//!   Masstree ── pin() ──► Pinned { index, guard } ── get("goose") ──► &'p value
//!       ▲                    │          ▲                                 │
//!       └──── borrows 'i ────┘          └────────── borrows 'p ───────────┘
//! ```
//!
//! `Pinned` has no unsafe code. It is generic over [`OrderedIndex`], whose lifetimes do the work:
//! see [`Pinned`] for the argument. `ordered.rs` has the methods that depend on the order of keys,
//! `scan.rs` the scans that hold no pin.

mod ordered;
mod scan;

use std::fmt;
use std::marker::PhantomData;

use skein_sync::reclaim::{Guard, LocalGuard, OwnedGuard, check_guard};

pub use scan::IndexScan;

use crate::byte_index::ByteIndex;
use crate::engine::IndexEngine;
use crate::index::{ComputeAction, Computed, IndexError, OrderedIndex};
use crate::key_bounds::KeyBounds;
use crate::slot::Slot;

/// An index with a guard: a handle with the methods of an ordered map.
///
/// [`ByteIndex::pin`] returns one. Keys are anything that is `AsRef<[u8]>`, values anything that
/// converts into the index's slot. Methods take `&self`, and many threads may use the index at
/// once, each with a pin of its own.
///
/// ```
/// use skein_index::{Inline, Masstree};
///
/// let birds = Masstree::<Inline<u64>>::new();
/// let map = birds.pin();
/// map.insert("goose", 3)?;
/// map.insert("duck", 7)?;
/// assert_eq!(map.get("goose"), Some(3));
/// assert_eq!(map.first_key_value(), Some((b"duck".to_vec(), 7)));
/// assert_eq!(format!("{map:?}"), r#"{b"duck": 7, b"goose": 3}"#);
/// # Ok::<(), skein_index::IndexError>(())
/// ```
///
/// # Consistency
/// Operations on single keys are linearizable. Iterators are not snapshots: an iterator returns
/// every key that is present from its creation to its end exactly once, in order. It may or may not
/// return a key that is inserted or removed meanwhile.
///
/// # What a held pin costs
/// A pin blocks no reader and no writer. But while it is held, no thread's removed or replaced
/// values and nodes are freed. So hold a pin for a group of operations, not for the life of a
/// thread:
///
/// - Call `index.pin()` again for each group, or [`refresh`](Self::refresh) between two groups.
/// - For a long scan use [`ByteIndex::scan`], which is pinned only while it reads ahead.
/// - [`retain`](Self::retain) and [`clear`](Self::clear) refresh the pin themselves.
///
/// Pins of one thread on one index overlap: memory is freed after the last one is dropped. A pin
/// that is leaked (`mem::forget`) keeps memory for ever.
///
/// # Why safe code cannot break it
/// A value borrows the pin, and the pin borrows the index. So the compiler rejects a value that
/// outlives its pin:
///
/// ```compile_fail,E0597
/// use skein_index::{Boxed, Masstree};
///
/// let names = Masstree::<Boxed<String>>::new();
/// let name: Option<&String> = {
///     let map = names.pin();
///     map.get("goose")
/// };
/// println!("{name:?}");
/// ```
///
/// a pin that outlives its index:
///
/// ```compile_fail,E0505
/// use skein_index::{Boxed, Masstree};
///
/// let names = Masstree::<Boxed<String>>::new();
/// let map = names.pin();
/// drop(names);
/// println!("{:?}", map.get("goose"));
/// ```
///
/// a value or an iterator that is used after a refresh, which may free the memory that it shows:
///
/// ```compile_fail,E0502
/// use skein_index::{Boxed, Masstree};
///
/// let names = Masstree::<Boxed<String>>::new();
/// let mut map = names.pin();
/// let name = map.get("goose");
/// map.refresh();
/// println!("{name:?}");
/// ```
///
/// ```compile_fail,E0502
/// use skein_index::{Boxed, Masstree};
///
/// let names = Masstree::<Boxed<String>>::new();
/// let mut map = names.pin();
/// let mut all = map.iter();
/// map.clear();
/// println!("{:?}", all.next());
/// ```
///
/// and a pin of one thread in another one ([`ByteIndex::pin_owned`] returns a pin that may move):
///
/// ```compile_fail,E0277
/// use skein_index::{Boxed, Masstree};
///
/// let names = Masstree::<Boxed<String>>::new();
/// let map = names.pin();
/// std::thread::scope(|scope| {
///     scope.spawn(move || map.insert("goose", String::new()).is_ok());
/// });
/// ```
///
/// A closure of [`compute`](Self::compute) cannot keep the value that it is passed:
///
/// ```compile_fail,E0521
/// use skein_index::{Boxed, ComputeAction, Masstree};
///
/// let names = Masstree::<Boxed<String>>::new();
/// let mut kept = None;
/// let _ = names.pin().compute("goose", |name| {
///     kept = name;
///     ComputeAction::Remove
/// });
/// ```
///
/// [`Guard`] is sealed, so safe code cannot forge a guard. A guard of another index is rejected
/// when the pin is made ([`with_guard`](Self::with_guard)).
pub struct Pinned<'i, S: Slot, I, G = LocalGuard<'i>> {
    index: &'i I,
    guard: G,
    slots: PhantomData<S>,
}

impl<S: Slot, E: IndexEngine<S>> ByteIndex<S, E> {
    /// Pins the index for the current thread. Cheap: no lock and no shared write.
    ///
    /// ```
    /// use skein_index::{Inline, SkipList};
    ///
    /// let index = SkipList::<Inline<u64>>::new();
    /// assert_eq!(index.pin().insert("goose", 1)?, None);
    /// assert_eq!(index.pin().get("goose"), Some(1));
    /// # Ok::<(), skein_index::IndexError>(())
    /// ```
    #[inline]
    pub fn pin(&self) -> Pinned<'_, S, Self> {
        Pinned::with_guard(self, self.base.collector.enter())
    }

    /// Pins the index with a guard that may move to another thread, for example in a task of an
    /// executor. Costs more than [`pin`](Self::pin).
    ///
    /// ```
    /// use skein_index::{Inline, Masstree};
    ///
    /// let index = Masstree::<Inline<u64>>::from([("ant", 1), ("bee", 2)]);
    /// let map = index.pin_owned();
    /// let mut entries = map.iter();
    /// assert_eq!(entries.next(), Some((b"ant".to_vec(), 1)));
    /// std::thread::scope(|scope| {
    ///     scope.spawn(move || assert_eq!(entries.next(), Some((b"bee".to_vec(), 2))));
    /// });
    /// ```
    pub fn pin_owned(&self) -> Pinned<'_, S, Self, OwnedGuard<'_>> {
        Pinned::with_guard(self, self.base.collector.enter_owned())
    }
}

impl<'i, S: Slot, I: OrderedIndex<S>, G: Guard> Pinned<'i, S, I, G> {
    /// Makes a pin of an index and a guard of its collector.
    ///
    /// ```
    /// use skein_index::{Inline, Masstree, OrderedIndex, Pinned};
    ///
    /// let index = Masstree::<Inline<u64>>::new();
    /// let map = Pinned::with_guard(&index, index.collector().enter());
    /// assert!(map.is_empty());
    /// ```
    ///
    /// # Panics
    /// Panics if the guard is not of the index's own collector: it would protect nothing.
    ///
    /// ```should_panic
    /// use skein_index::{Inline, Masstree, OrderedIndex, Pinned};
    ///
    /// let (index, other) = (Masstree::<Inline<u64>>::new(), Masstree::<Inline<u64>>::new());
    /// let map = Pinned::with_guard(&index, other.collector().enter());
    /// ```
    #[inline]
    pub fn with_guard(index: &'i I, guard: G) -> Self {
        check_guard(index.collector(), &guard);
        Self { index, guard, slots: PhantomData }
    }

    /// Returns the pinned index.
    pub fn index(&self) -> &'i I {
        self.index
    }

    /// Returns the pin's guard, for the methods of [`OrderedIndex`].
    pub fn guard(&self) -> &G {
        &self.guard
    }

    /// Ends the pin and begins another one, so that memory can be freed. No value of this pin can
    /// be in use.
    #[inline]
    pub fn refresh(&mut self) {
        self.guard.refresh();
    }

    /// Returns the value of `key`.
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<S::Ref<'_>> {
        self.index.get(key.as_ref(), &self.guard)
    }

    /// Returns whether `key` is present.
    #[inline]
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.get(key).is_some()
    }

    /// Returns the values of many keys, in the order of the keys. Their memory reads overlap, so
    /// this is faster than a loop over [`get`](Self::get).
    ///
    /// ```
    /// use skein_index::{Inline, Wormhole};
    ///
    /// let index = Wormhole::<Inline<u64>>::from([("ant", 1), ("bee", 2)]);
    /// assert_eq!(index.pin().get_many(["bee", "cat", "ant"]), [Some(2), None, Some(1)]);
    /// ```
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Vec<Option<S::Ref<'_>>> {
        let keys: Vec<K> = keys.into_iter().collect();
        let keys: Vec<&[u8]> = keys.iter().map(K::as_ref).collect();
        let mut values = vec![None; keys.len()];
        self.index.get_many(&keys, &self.guard, |at, value| values[at] = value);
        values
    }

    /// Sets `key` to `value`. Returns the value that it replaced.
    ///
    /// # Errors
    /// Returns an [`IndexError`]; then nothing has changed.
    #[inline]
    pub fn insert(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<S>,
    ) -> Result<Option<S::Ref<'_>>, IndexError> {
        self.index.insert(key.as_ref(), value.into(), &self.guard)
    }

    /// Sets `key` to `value` if `key` is absent. Returns the existing value, if any.
    ///
    /// # Errors
    /// Returns an [`IndexError`]; then nothing has changed.
    pub fn insert_if_absent(
        &self,
        key: impl AsRef<[u8]>,
        value: impl Into<S>,
    ) -> Result<Option<S::Ref<'_>>, IndexError> {
        self.index.insert_if_absent(key.as_ref(), value.into(), &self.guard)
    }

    /// Removes `key`. Returns its value.
    #[inline]
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Option<S::Ref<'_>> {
        self.index.remove(key.as_ref(), &self.guard)
    }

    /// Removes `key` if `condition` returns true for its value. See [`OrderedIndex::remove_if`].
    ///
    /// ```
    /// use skein_index::{CuckooTrie, Inline};
    ///
    /// let index = CuckooTrie::<Inline<u64>>::from([("ant", 1), ("bee", 2)]);
    /// let map = index.pin();
    /// assert_eq!(map.remove_if("ant", |count| count > 1), None);
    /// assert_eq!(map.remove_if("bee", |count| count > 1), Some(2));
    /// assert_eq!(map.len(), 1);
    /// ```
    pub fn remove_if(
        &self,
        key: impl AsRef<[u8]>,
        condition: impl FnOnce(S::Ref<'_>) -> bool,
    ) -> Option<S::Ref<'_>> {
        self.index.remove_if(key.as_ref(), condition, &self.guard)
    }

    /// Atomic read-modify-write. The closure is called at most once, under a latch: it must not
    /// block, and a call back into the index may deadlock. See [`OrderedIndex::compute`].
    ///
    /// ```
    /// use skein_index::{ComputeAction, Inline, Masstree};
    ///
    /// let counts = Masstree::<Inline<u64>>::new();
    /// let add = |count: Option<u64>| ComputeAction::Put(Inline(count.unwrap_or(0) + 1));
    /// for word in ["goose", "duck", "goose"] {
    ///     counts.pin().compute(word, add)?;
    /// }
    /// assert_eq!(counts.pin().get("goose"), Some(2));
    /// # Ok::<(), skein_index::IndexError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an [`IndexError`]; then the closure was not called and nothing has changed.
    pub fn compute(
        &self,
        key: impl AsRef<[u8]>,
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
    ) -> Result<Computed<'_, S>, IndexError> {
        self.index.compute(key.as_ref(), change, &self.guard)
    }

    /// Returns the number of keys; exact while no writer is active.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }
}

/// Shows the entries, with keys as byte strings.
impl<S: Slot, I: OrderedIndex<S>, G: Guard> fmt::Debug for Pinned<'_, S, I, G>
where
    for<'p> S::Ref<'p>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(key, value)| (EscapedKey(key), value))).finish()
    }
}

/// Shows a key as `b"goose\x00"`.
struct EscapedKey(Vec<u8>);

impl fmt::Debug for EscapedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}
