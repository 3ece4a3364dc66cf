//! The core that each index implements, and the rest of the contract, implemented once for all
//! indexes.
//!
//! ```text
//!   OrderedIndex   checks guards, limits and budget; turns words into values;
//!        │         remove_range; memory by part
//!        │ for every
//!   IndexEngine    finds words, changes a key, cursors, splits into parts     one impl per index
//!        │ has an
//!   IndexBase      collector, arena, count of keys, budget
//! ```
//!
//! A new index embeds an [`IndexBase`] and implements [`IndexEngine`]. Everything is generic and
//! inlined, so this layer costs nothing.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use skein_sync::reclaim::{Collector, Guard, check_guard};

use crate::counter::Counter;
use crate::index::{ComputeAction, Computed, Cursor, IndexError, MAX_KEY_LEN, MemoryUsage, OrderedIndex};
use crate::memory::Arena;
use crate::slot::Slot;
use crate::walk::{ScanDirection, walk};

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

    /// The same with its memory in `arena`.
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

    /// First step of dropping an index. Returns whether all its memory can be freed at once: values
    /// of `S` need no drop, and no other index shares the collector. If so, all retired memory has
    /// been freed, and the caller must call [`Arena::discard`].
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

/// The core of an index. Its callers in this module have checked that guards are of its own
/// collector.
pub trait IndexEngine<S: Slot>: Send + Sync {
    /// The cursor of the index.
    type EngineCursor<'g, G: Guard + 'g>: Cursor<'g, S>
    where
        Self: 'g;

    /// The maximum length of a key in bytes.
    const MAX_KEY_LEN: usize = MAX_KEY_LEN;

    /// Returns the common fields.
    fn base(&self) -> &IndexBase;

    /// Returns the word of `key`'s value; `None` for keys that are too long. The caller holds a
    /// guard.
    fn lookup(&self, key: &[u8]) -> Option<u64>;

    /// The same for many keys with overlapping reads. Calls `found` once per key with its position
    /// in `keys`, in any order.
    fn lookup_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>));

    /// Carries out the decision of `change` about `key`, which must not be too long. Retires what
    /// it unlinks, and maintains the count of keys.
    ///
    /// # Errors
    /// Only an index with a full table fails, before it calls `change`.
    fn write<'g, G: Guard>(
        &'g self,
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
        &'g self,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError> {
        Ok(self.write(key, |_| ComputeAction::Put(value), guard)?.before)
    }

    /// Removes `key`, which must not be too long.
    #[inline(always)]
    fn remove_present<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        // A removal needs no free entry, so it cannot fail.
        self.write(key, |_| ComputeAction::Remove, guard).ok()?.before
    }

    /// Returns how many bytes a write of `key` may allocate at once in addition to a few small
    /// objects: the size of a larger table, for example. The caller holds a guard.
    fn bytes_at_once(&self, _key: &[u8]) -> usize {
        0
    }

    /// Returns a cursor before the first key.
    fn new_cursor<'g, G: Guard>(&'g self, guard: &'g G) -> Self::EngineCursor<'g, G>;

    /// Returns keys that divide the index into about `parts` parts of similar size, in order. The
    /// caller holds a guard.
    fn separators(&self, parts: usize) -> Vec<Vec<u8>>;
}

impl<S: Slot, E: IndexEngine<S>> OrderedIndex<S> for E {
    type IndexCursor<'g, G: Guard + 'g>
        = E::EngineCursor<'g, G>
    where
        Self: 'g;

    fn collector(&self) -> &Collector {
        &self.base().collector
    }

    #[inline]
    fn get<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        check_guard(self.collector(), guard);
        // SAFETY: the word was in the index; it is retired, if ever, under this guard or a later
        // one.
        self.lookup(key).map(|word| unsafe { S::borrow(word) })
    }

    #[inline]
    fn get_many<'g, G: Guard>(
        &'g self,
        keys: &[&[u8]],
        guard: &'g G,
        mut found: impl FnMut(usize, Option<S::Ref<'g>>),
    ) {
        check_guard(self.collector(), guard);
        // SAFETY: as for `get`.
        self.lookup_many(keys, |index, word| found(index, word.map(|word| unsafe { S::borrow(word) })));
    }

    #[inline]
    fn insert<'g, G: Guard>(
        &'g self,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError> {
        check_guard(self.collector(), guard);
        self.base().check_write(key, Self::MAX_KEY_LEN, || self.bytes_at_once(key))?;
        self.put(key, value, guard)
    }

    #[inline]
    fn remove<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        check_guard(self.collector(), guard);
        if key.len() > Self::MAX_KEY_LEN { None } else { self.remove_present(key, guard) }
    }

    #[inline]
    fn compute<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        check_guard(self.collector(), guard);
        self.base().check_write(key, Self::MAX_KEY_LEN, || self.bytes_at_once(key))?;
        self.write(key, change, guard)
    }

    #[inline]
    fn cursor<'g, G: Guard>(&'g self, guard: &'g G) -> Self::IndexCursor<'g, G> {
        check_guard(self.collector(), guard);
        self.new_cursor(guard)
    }

    fn remove_range<G: Guard>(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        mut each: impl FnMut(&[u8]),
        guard: &G,
    ) -> usize {
        let mut removed = 0;
        walk(&mut self.cursor(guard), bounds.0, bounds.1, ScanDirection::Forward, |key, _| {
            if self.remove(key, guard).is_some() {
                removed += 1;
                each(key);
            }
            ControlFlow::Continue(())
        });
        removed
    }

    fn len(&self) -> usize {
        self.base().len.sum()
    }

    fn split_points<G: Guard>(&self, parts: usize, guard: &G) -> Vec<Vec<u8>> {
        check_guard(self.collector(), guard);
        self.separators(parts)
    }

    fn memory(&self) -> MemoryUsage {
        let arena = &self.base().arena;
        let [nodes, keys, _, unreclaimed] = arena.live_by_part();
        MemoryUsage { nodes, keys, unreclaimed, reserved: arena.reserved() }
    }

    fn allocated_bytes(&self) -> usize {
        self.base().arena.taken()
    }
}
