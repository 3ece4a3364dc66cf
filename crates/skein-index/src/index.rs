//! The contract that every byte-string index keeps.
//!
//! One conformance suite (`tests/conformance.rs`) runs over all implementors. In short:
//!
//! - Keys are any bytes, from the empty key up to [`MAX_KEY_LEN`]; order is lexicographic by byte.
//! - Lookups take no lock and write nothing that is shared.
//! - Point operations are linearizable.
//! - A scan is not a snapshot: it sees every key that is present during the whole scan exactly once, in
//!   order, and may or may not see one that comes or goes meanwhile.
//! - What a lookup returns borrows the index and the guard.
//! - Memory comes back: once every key is removed and no guard is held, the index is at its empty footprint.

use std::ops::Bound;

use skein_sync::reclaim::{Collector, Guard};

use crate::slot::Slot;

/// The longest key, in bytes. The one place where this limit is stated.
pub const MAX_KEY_LEN: usize = (64 << 10) - 1;

/// Why a write was not done. The index is as it was before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The key is longer than the index takes.
    #[error("key of {len} bytes is longer than the limit of {limit} bytes; shorten it or hash its tail")]
    KeyTooLong {
        /// The key's length in bytes.
        len: usize,
        /// The longest key this index takes, in bytes.
        limit: usize,
    },
    /// The write would take the index over its memory budget.
    #[error(
        "index memory of {used} bytes is at its budget of {budget} bytes, or the write would need more than is left; remove keys or raise the budget"
    )]
    OverBudget {
        /// Live bytes before the write.
        used: usize,
        /// The budget in bytes.
        budget: usize,
    },
    /// The index's table is at its greatest size, or keys collide beyond what chance allows.
    #[error(
        "the index has no place for another key beside its {keys}; split it, or use another kind of index"
    )]
    Full {
        /// The keys it has.
        keys: usize,
    },
}

/// What [`OrderedIndex::compute`]'s closure decides.
#[derive(Debug, PartialEq, Eq)]
pub enum ComputeAction<S> {
    /// Leave the key as it is, present or absent.
    Keep,
    /// Set the key to this value.
    Put(S),
    /// Remove the key, if it is there.
    Remove,
}

/// What [`OrderedIndex::compute`] did.
#[derive(Debug)]
pub struct Computed<'g, S: Slot> {
    /// The value that the closure was shown.
    pub before: Option<S::Ref<'g>>,
    /// Whether the index was changed by it.
    pub changed: bool,
}

/// Live bytes of an index, by part; the allocator's rounding is included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Tree nodes or table buckets.
    pub nodes: usize,
    /// Key bytes kept outside the nodes, with what surrounds them.
    pub keys: usize,
    /// Retired, but maybe still seen by a reader, so not yet freed.
    pub unreclaimed: usize,
    /// Address space taken from the system for all this; never less than the sum of the rest.
    pub reserved: usize,
}

impl MemoryUsage {
    /// Live bytes: everything but what waits to be freed and what is merely reserved.
    pub fn live(&self) -> usize {
        self.nodes + self.keys
    }
}

/// An ordered map from byte strings to slots, usable from many threads through `&self`.
///
/// Every method that takes a guard panics if the guard is not of the index's own [`collector`](Self::collector).
pub trait OrderedIndex<S: Slot>: Send + Sync {
    /// A position in the index.
    type IndexCursor<'g, G: Guard + 'g>: Cursor<'g, S>
    where
        Self: 'g;

    /// The collector whose guards this index takes.
    fn collector(&self) -> &Collector;

    /// The value of `key`. Keys over the limit are not there.
    fn get<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>>;

    /// Many lookups whose memory reads overlap. `found` is called once per key with the key's position in
    /// `keys`, in no particular order.
    fn get_many<'g, G: Guard>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g G,
        found: impl FnMut(usize, Option<S::Ref<'g>>),
    );

    /// Sets `key` to `value`; returns the value that it replaced.
    ///
    /// # Errors
    /// [`Refused`], and then nothing was changed.
    fn insert<'g, G: Guard>(
        &'g self,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError>;

    /// Sets `key` to `value` unless it is present; returns the value that stood in the way, if any.
    ///
    /// # Errors
    /// [`Refused`], and then nothing was changed.
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

    /// Removes `key`; returns the value it had.
    fn remove<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>>;

    /// Atomic read-modify-write: what `change` decides from the current value is done before any other
    /// write to the key.
    ///
    /// The closure is called at most once, and its decision is carried out: a caller may rely on what the
    /// closure noted. It runs under a latch: it must not block, allocate, log or call back into the index.
    /// If it panics, the index is unchanged and unlocked.
    ///
    /// # Errors
    /// [`Refused`]; then the closure was not called, and nothing was changed.
    fn compute<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError>;

    /// A cursor, before the first key.
    fn cursor<'g, G: Guard>(&'g self, guard: &'g G) -> Self::IndexCursor<'g, G>;

    /// Removes all keys within `bounds`, calling `each` for every key that it removed, in order; returns
    /// how many. Not atomic: other threads may see part of it.
    fn remove_range<G: Guard>(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        each: impl FnMut(&[u8]),
        guard: &G,
    ) -> usize;

    /// How many keys there are; exact while no writer is active.
    fn len(&self) -> usize;

    /// Whether there are no keys.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys that cut the index into about `parts` ranges of similar size, in order, for parallel scans. May
    /// be fewer, none in a small index; a hint, not a promise.
    fn split_points<G: Guard>(&self, parts: usize, guard: &G) -> Vec<Vec<u8>>;

    /// Live bytes by part. Adds up some hundred counters.
    fn memory(&self) -> MemoryUsage;

    /// Never less than all live bytes together, and nearly as many: counted by whole spans of 64 KiB. One atomic read.
    fn allocated_bytes(&self) -> usize;
}

/// A position in an ordered index: on a key, or off it (before the first, past the last, or fresh).
///
/// A cursor looks at the live index. What it stands on may be removed meanwhile: [`key`](Self::key) and
/// [`value`](Self::value) then still give what they gave when the cursor came there.
pub trait Cursor<'g, S: Slot> {
    /// Moves to the first key at or after `key`; returns whether there is one.
    fn seek(&mut self, key: &[u8]) -> bool;

    /// Moves to the last key at or before `key`; returns whether there is one.
    fn seek_back(&mut self, key: &[u8]) -> bool;

    /// Moves to the first key of all.
    fn first(&mut self) -> bool {
        self.seek(b"")
    }

    /// Moves to the last key of all.
    fn last(&mut self) -> bool;

    /// Moves to the next key; from a fresh cursor to the first, from the last one off the end.
    fn next(&mut self) -> bool;

    /// Moves to the previous key; from a fresh cursor to the last, from the first one off the start.
    fn prev(&mut self) -> bool;

    /// The key the cursor stands on.
    fn key(&self) -> Option<&[u8]>;

    /// The value the cursor stands on.
    fn value(&self) -> Option<S::Ref<'g>>;
}
