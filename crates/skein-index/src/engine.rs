//! The part of an index that each index implements, and the fields that all of them have.
//!
//! ```text
//!   OrderedIndex   the contract                                               index.rs
//!        │ implemented once, by
//!   ByteIndex      checks guards, limits and budget; turns words into values  byte_index.rs
//!        │ has an                        │ has an
//!   IndexEngine                      IndexBase
//!   finds words, changes a key,      collector, arena, count of keys, budget
//!   cursors, splits into parts
//!   one per index
//! ```
//!
//! A new index writes a type with the fields of its own structure, implements [`IndexEngine`] for
//! it, and is an alias of [`ByteIndex`] with that engine. Its cursor has the moves of `cursor.rs`.
//! Everything is generic and inlined, so this layer costs nothing.

use std::sync::Arc;

use skein_sync::reclaim::{Collector, Guard};

use crate::byte_index::ByteIndex;
use crate::counter::Counter;
use crate::index::{ComputeAction, Computed, Cursor, IndexError, MAX_KEY_LEN};
use crate::memory::Arena;
use crate::slot::Slot;

/// The fields that every index has.
#[derive(Debug)]
pub struct IndexBase {
    pub(crate) collector: Arc<Collector>,
    pub(crate) arena: Arena,
    /// The number of keys, maintained by the engine.
    pub(crate) len: Counter,
    /// The memory budget in bytes: at this size, writes fail.
    pub(crate) budget: usize,
}

impl IndexBase {
    /// Creates the base of an empty index without a budget. Its memory lies on huge pages if
    /// `huge`.
    pub(crate) fn new(collector: Arc<Collector>, huge: bool) -> Self {
        Self::with_arena(if huge { Arena::new() } else { Arena::on_small_pages() }, collector)
    }

    /// Does the same with its memory in `arena`.
    pub(crate) fn with_arena(arena: Arena, collector: Arc<Collector>) -> Self {
        Self { collector, arena, len: Counter::new(), budget: usize::MAX }
    }

    /// Checks the conditions of a write before anything changes. `limit` is the maximum key length.
    /// `at_once` returns how many bytes the write may allocate in addition to a few small objects.
    #[inline]
    pub(crate) fn check_write(
        &self,
        key: &[u8],
        limit: usize,
        at_once: impl FnOnce() -> usize,
    ) -> Result<(), IndexError> {
        if key.len() > limit {
            return Err(IndexError::KeyTooLong { len: key.len(), limit });
        }
        if self.budget != usize::MAX {
            let used = self.arena.taken();
            if used.saturating_add(at_once()) >= self.budget {
                return Err(IndexError::OverBudget { used, budget: self.budget });
            }
        }
        Ok(())
    }

    /// Does the first step of dropping an index. Returns whether all its memory can be freed at
    /// once: values of `S` need no drop, and no other index shares the collector. If so, all
    /// retired memory has been freed, and the caller must call [`Arena::discard`].
    pub(crate) fn frees_all_at_once<S: Slot>(&mut self) -> bool {
        if S::OWNS {
            return false;
        }
        let Some(collector) = Arc::get_mut(&mut self.collector) else { return false };
        // The collector is exclusively ours, and the mutable borrow proves that there is no guard.
        // Dropping the old collector frees all retired memory.
        *collector = Collector::new();
        true
    }
}

/// The closure of a `compute`, passed through attempts. All attempts but the last fail before they
/// call it.
#[derive(Debug)]
pub(crate) struct ComputeClosure<F>(Option<F>);

impl<F> ComputeClosure<F> {
    pub(crate) fn new(change: F) -> Self {
        Self(Some(change))
    }

    /// Calls the closure, which must not have been called before. From here on its decision must be
    /// carried out.
    #[inline(always)]
    pub(crate) fn call<V, S>(&mut self, seen: Option<V>) -> ComputeAction<S>
    where
        F: FnOnce(Option<V>) -> ComputeAction<S>,
    {
        let change = self.0.take().expect("an attempt that called the closure must not fail");
        change(seen)
    }
}

/// The structure of an index, without the fields of [`IndexBase`], and the operations on it.
///
/// The operations get the whole index. Their callers in `byte_index.rs` have checked that guards
/// are of the index's own collector.
pub trait IndexEngine<S: Slot>: Sized + Send + Sync {
    /// The cursor of the index.
    type EngineCursor<'g, G: Guard + 'g>: Cursor<'g, S>
    where
        Self: 'g;

    /// The name of the index in debug output.
    const NAME: &'static str;

    /// The maximum length of a key in bytes.
    const MAX_KEY_LEN: usize = MAX_KEY_LEN;

    /// Whether the index's memory lies on huge pages.
    const HUGE_PAGES: bool = true;

    /// Whether the index has no locks, so that only an `unsafe` constructor may create it.
    const ONE_THREAD: bool = false;

    /// Creates the structure of an empty index.
    fn new(base: &IndexBase) -> Self;

    /// Returns the word of `key`'s value; `None` for keys that are too long. The caller holds a
    /// guard.
    fn lookup(index: &ByteIndex<S, Self>, key: &[u8]) -> Option<u64>;

    /// Does the same for many keys with overlapping reads. Calls `found` once per key with its
    /// position in `keys`, in any order.
    fn lookup_many(index: &ByteIndex<S, Self>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>));

    /// Carries out the decision of `change` about `key`, which must not be too long. Retires what
    /// it unlinks, and maintains the count of keys.
    ///
    /// # Errors
    /// Only an index with a full table fails, before it calls `change`.
    fn write<'g, G: Guard>(
        index: &'g ByteIndex<S, Self>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError>;

    /// Sets `key`, which must not be too long, to `value`.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    #[inline(always)]
    fn put<'g, G: Guard>(
        index: &'g ByteIndex<S, Self>,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError> {
        Ok(Self::write(index, key, |_| ComputeAction::Put(value), guard)?.before)
    }

    /// Removes `key`, which must not be too long.
    #[inline(always)]
    fn remove<'g, G: Guard>(index: &'g ByteIndex<S, Self>, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        // A removal needs no free entry, so it cannot fail.
        Self::write(index, key, |_| ComputeAction::Remove, guard).ok()?.before
    }

    /// Returns how many bytes a write of `key` may allocate at once in addition to a few small
    /// objects: the size of a larger table, for example. The caller holds a guard.
    fn bytes_at_once(&self, _key: &[u8]) -> usize {
        0
    }

    /// Returns a cursor before the first key.
    fn cursor<'g, G: Guard>(index: &'g ByteIndex<S, Self>, guard: &'g G) -> Self::EngineCursor<'g, G>;

    /// Returns keys that divide the index into about `parts` parts of similar size, in order. The
    /// caller holds a guard.
    fn separators(index: &ByteIndex<S, Self>, parts: usize) -> Vec<Vec<u8>>;

    /// Frees the memory that lies outside the arena and that dropping the engine does not free.
    ///
    /// # Safety
    /// The index is being dropped: no thread uses it any more, and its contents are not used again
    /// except by [`free_all`](Self::free_all).
    unsafe fn free_outside_arena(&mut self) {}

    /// Drops all values, and frees all objects in the arena.
    ///
    /// # Safety
    /// The index is being dropped: no thread uses it any more, and its contents are not used again.
    unsafe fn free_all(index: &mut ByteIndex<S, Self>);
}

/// The engine of the variant that [`ByteIndex::new`] creates. Each index has one.
pub trait StandardEngine<S: Slot>: IndexEngine<S> {}
