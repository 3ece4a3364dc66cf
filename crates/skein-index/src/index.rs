//! The contract that every byte-string index keeps.
//!
//! One conformance suite (`tests/indexes/conformance.rs`) runs over all implementations. In short:
//!
//! - Keys are any bytes, from the empty key up to [`MAX_KEY_LEN`]. Order is lexicographic by byte.
//! - Lookups acquire no lock and write nothing shared.
//! - Point operations are linearizable.
//! - A scan is not a snapshot. It returns every key that is present during the whole scan exactly
//!   once, in order. It may or may not return a key that is inserted or removed meanwhile.
//! - A lookup's result borrows the index and the guard.
//! - Memory is returned: when every key is removed and no guard is held, the index is at its empty
//!   footprint.

use std::ops::Bound;

use skein_sync::reclaim::{Collector, Guard};

use crate::slot::Slot;

/// The maximum length of a key in bytes. This is the only place that defines this limit.
pub const MAX_KEY_LEN: usize = (64 << 10) - 1;

/// The reason why a write failed. The index is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The key is longer than the index allows.
    #[error("key of {len} bytes is longer than the limit of {limit} bytes; shorten it or hash its tail")]
    KeyTooLong {
        /// The key's length in bytes.
        len: usize,
        /// The maximum length of a key in this index, in bytes.
        limit: usize,
    },
    /// The write would exceed the index's memory budget.
    #[error(
        "index memory is {used} bytes of a budget of {budget} bytes, and the write may need more than is left; remove keys or raise the budget"
    )]
    OverBudget {
        /// Live bytes before the write.
        used: usize,
        /// The budget in bytes.
        budget: usize,
    },
    /// The index's table has its maximum size, or keys collide more than chance explains.
    #[error("the index is full with {keys} keys; split it, or use another kind of index")]
    Full {
        /// The number of keys in the index.
        keys: usize,
    },
}

/// The decision of a closure passed to [`OrderedIndex::compute`].
#[derive(Debug, PartialEq, Eq)]
pub enum ComputeAction<S> {
    /// Leave the key as it is, present or absent.
    Keep,
    /// Set the key to this value.
    Put(S),
    /// Remove the key, if it is present.
    Remove,
}

/// The result of [`OrderedIndex::compute`].
#[derive(Debug)]
pub struct Computed<'g, S: Slot> {
    /// The value that the closure was passed.
    pub before: Option<S::Ref<'g>>,
    /// Whether the call changed the index.
    pub changed: bool,
}

/// Live bytes of an index, by part, including the allocator's rounding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Tree nodes or table buckets.
    pub nodes: usize,
    /// Key bytes outside the nodes, with their headers.
    pub keys: usize,
    /// Retired, but perhaps still visible to a reader, so not yet freed.
    pub unreclaimed: usize,
    /// Address space reserved from the system for all this; never less than the sum of the other
    /// parts.
    pub reserved: usize,
}

impl MemoryUsage {
    /// Returns the live bytes: all but those that wait to be freed or are only reserved.
    pub fn live(&self) -> usize {
        self.nodes + self.keys
    }
}

/// An ordered map from byte strings to slots, shared by many threads through `&self`.
///
/// Every method that takes a guard panics if the guard is not of the index's own
/// [`collector`](Self::collector).
pub trait OrderedIndex<S: Slot>: Send + Sync {
    /// A cursor of this index.
    type IndexCursor<'g, G: Guard + 'g>: Cursor<'g, S>
    where
        Self: 'g;

    /// Returns the collector whose guards this index accepts.
    fn collector(&self) -> &Collector;

    /// Returns the value of `key`; `None` also for a key over the length limit.
    fn get<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>>;

    /// Looks up many keys, with overlapping memory reads. Calls `found` once per key with the key's
    /// position in `keys`, in no particular order.
    fn get_many<'g, G: Guard>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g G,
        found: impl FnMut(usize, Option<S::Ref<'g>>),
    );

    /// Sets `key` to `value`. Returns the value that it replaced.
    ///
    /// # Errors
    /// Returns an [`IndexError`]; then nothing has changed.
    fn insert<'g, G: Guard>(
        &'g self,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError>;

    /// Sets `key` to `value` if `key` is absent. Returns the existing value, if any.
    ///
    /// # Errors
    /// Returns an [`IndexError`]; then nothing has changed.
    fn insert_if_absent<'g, G: Guard>(
        &'g self,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError> {
        let put = |current: Option<S::Ref<'_>>| {
            if current.is_none() { ComputeAction::Put(value) } else { ComputeAction::Keep }
        };
        Ok(self.compute(key, put, guard)?.before)
    }

    /// Removes `key`. Returns its value.
    fn remove<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>>;

    /// Removes `key` if it is present and `condition` returns true for its value, with no other
    /// write to the key in between. Returns the removed value.
    ///
    /// The closure must satisfy the rules of [`compute`](Self::compute). Unlike `compute`, this
    /// works on an index that is full or over its budget.
    fn remove_if<'g, G: Guard>(
        &'g self,
        key: &[u8],
        condition: impl FnOnce(S::Ref<'_>) -> bool,
        guard: &'g G,
    ) -> Option<S::Ref<'g>>;

    /// Atomic read-modify-write: passes the current value to `change` and carries out its decision
    /// before any other write to the key.
    ///
    /// The closure is called at most once, and its decision is carried out, so a caller may rely on
    /// values that the closure noted. The closure runs under a latch: it must not block, allocate,
    /// log or call back into the index. If it panics, the index is unchanged and unlocked. Design:
    /// `docs/design/compute-asks-once.md`.
    ///
    /// # Errors
    /// Returns an [`IndexError`]; then the closure was not called and nothing has changed.
    fn compute<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError>;

    /// Returns a cursor before the first key.
    fn cursor<'g, G: Guard>(&'g self, guard: &'g G) -> Self::IndexCursor<'g, G>;

    /// Removes all keys within `bounds`. Calls `each` for every removed key, in order, and returns
    /// their number. Not atomic: other threads may see it partly done.
    fn remove_range<G: Guard>(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        each: impl FnMut(&[u8]),
        guard: &G,
    ) -> usize;

    /// Returns the number of keys; exact while no writer is active.
    fn len(&self) -> usize;

    /// Returns whether there are no keys.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns keys that divide the index into about `parts` ranges of similar size, in order, for
    /// parallel scans. This is a hint: there may be fewer keys, and a small index may return none.
    fn split_points<G: Guard>(&self, parts: usize, guard: &G) -> Vec<Vec<u8>>;

    /// Returns the live bytes by part. Adds up several hundred counters.
    fn memory(&self) -> MemoryUsage;

    /// Returns the bytes of all spans of 64 KiB that the index has allocated: at least its live
    /// bytes, and not much more. One atomic read.
    fn allocated_bytes(&self) -> usize;
}

/// A position in an ordered index: on a key, or off it (before the first, past the last, or fresh).
///
/// A cursor reads the live index. If its key is removed meanwhile, [`key`](Self::key) and
/// [`value`](Self::value) still return the key and the value that they returned when the cursor
/// reached the key.
pub trait Cursor<'g, S: Slot> {
    /// Moves to the first key at or after `key`. Returns whether there is one.
    fn seek(&mut self, key: &[u8]) -> bool;

    /// Moves to the last key at or before `key`. Returns whether there is one.
    fn seek_back(&mut self, key: &[u8]) -> bool;

    /// Moves to the first key of the index.
    fn first(&mut self) -> bool {
        self.seek(b"")
    }

    /// Moves to the last key of the index.
    fn last(&mut self) -> bool;

    /// Moves to the next key: from a fresh cursor to the first key, from the last key off the end.
    fn next(&mut self) -> bool;

    /// Moves to the previous key: from a fresh cursor to the last key, from the first key off the
    /// start.
    fn prev(&mut self) -> bool;

    /// Returns the cursor's key.
    fn key(&self) -> Option<&[u8]>;

    /// Returns the value of the cursor's key.
    fn value(&self) -> Option<S::Ref<'g>>;
}
