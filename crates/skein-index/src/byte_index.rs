//! The type of every byte-string index: an engine, and all that the indexes have in common.
//!
//! ```text
//!   Masstree<S> = ByteIndex<S, MasstreeEngine<..>>            a method of OrderedIndex
//!   Wormhole<S> = ByteIndex<S, WormholeEngine<..>>              1. checks the guard
//!     ⋮                  ├─ engine: the structure               2. checks key length and budget
//!                        └─ base: collector, arena,             3. calls the engine
//!                                 count of keys, budget         4. turns words into values
//! ```
//!
//! The constructors and the contract are here, once for all. The constructors and methods that
//! only one index has are in its folder. `engine.rs` has the part that an index implements.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use skein_sync::reclaim::{Collector, Guard, check_guard};

use crate::engine::{IndexBase, IndexEngine, StandardEngine};
use crate::index::{ComputeAction, Computed, IndexError, MemoryUsage, OrderedIndex};
use crate::slot::Slot;
use crate::walk::{ScanDirection, walk};

/// An ordered index over byte strings, with values in slots of type `S`.
///
/// Programs name an index by its alias: [`Masstree`](crate::Masstree), for example.
pub struct ByteIndex<S: Slot, E: IndexEngine<S>> {
    pub(crate) engine: E,
    pub(crate) base: IndexBase,
    slots: PhantomData<S>,
}

impl<S: Slot, E: StandardEngine<S>> ByteIndex<S, E> {
    /// Creates an empty index with its own collector.
    pub fn new() -> Self {
        Self::with_collector(Arc::new(Collector::new()))
    }

    /// Creates an empty index that shares a collector, and so its guards, with other indexes.
    pub fn with_collector(collector: Arc<Collector>) -> Self {
        Self::with_base(IndexBase::new(collector, E::HUGE_PAGES))
    }
}

impl<S: Slot, E: IndexEngine<S>> ByteIndex<S, E> {
    /// Creates an empty index of any variant but those for one thread.
    #[cfg(feature = "paper")]
    pub fn with_variant(collector: Arc<Collector>) -> Self {
        const { assert!(!E::ONE_THREAD, "an index without locks has an `unsafe` constructor") };
        Self::with_base(IndexBase::new(collector, E::HUGE_PAGES))
    }

    /// Creates an empty index with these common fields.
    pub(crate) fn with_base(base: IndexBase) -> Self {
        Self { engine: E::new(&base), base, slots: PhantomData }
    }

    /// Returns this index with a memory budget: writes fail with `OverBudget` while its memory is
    /// at `budget` bytes. Memory is counted in spans of the arena, so the precision is 64 KiB.
    #[must_use]
    pub fn with_budget(mut self, budget: usize) -> Self {
        self.base.budget = budget;
        self
    }

    /// Returns the error of a write for which the table has no room.
    pub(crate) fn full(&self) -> IndexError {
        IndexError::Full { keys: self.base.len.sum() }
    }

    /// Checks the conditions of a write of `key` before anything changes.
    #[inline(always)]
    fn check_write(&self, key: &[u8]) -> Result<(), IndexError> {
        self.base.check_write(key, E::MAX_KEY_LEN, || self.engine.bytes_at_once(key))
    }
}

impl<S: Slot, E: StandardEngine<S>> Default for ByteIndex<S, E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Slot, E: IndexEngine<S>> fmt::Debug for ByteIndex<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(E::NAME).field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<S: Slot, E: IndexEngine<S>> Drop for ByteIndex<S, E> {
    fn drop(&mut self) {
        let at_once = self.base.frees_all_at_once::<S>();
        // SAFETY: the index is borrowed mutably and being dropped, so no thread uses its contents
        // any more. If all is freed at once, no value needs a drop, and no object of the arena and
        // no other handle of it is used again.
        unsafe {
            self.engine.free_outside_arena();
            if at_once {
                self.base.arena.clone().discard();
            } else {
                E::free_all(self);
            }
        }
    }
}

impl<S: Slot, E: IndexEngine<S>> OrderedIndex<S> for ByteIndex<S, E> {
    type IndexCursor<'g, G: Guard + 'g>
        = E::EngineCursor<'g, G>
    where
        Self: 'g;

    fn collector(&self) -> &Collector {
        &self.base.collector
    }

    #[inline]
    fn get<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        check_guard(self.collector(), guard);
        // SAFETY: the word was in the index; it is retired, if ever, under this guard or a later
        // one.
        E::lookup(self, key).map(|word| unsafe { S::borrow(word) })
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
        E::lookup_many(self, keys, |at, word| found(at, word.map(|word| unsafe { S::borrow(word) })));
    }

    #[inline]
    fn insert<'g, G: Guard>(
        &'g self,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError> {
        check_guard(self.collector(), guard);
        self.check_write(key)?;
        E::put(self, key, value, guard)
    }

    #[inline]
    fn remove<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        check_guard(self.collector(), guard);
        if key.len() > E::MAX_KEY_LEN { None } else { E::remove(self, key, guard) }
    }

    fn remove_if<'g, G: Guard>(
        &'g self,
        key: &[u8],
        condition: impl FnOnce(S::Ref<'_>) -> bool,
        guard: &'g G,
    ) -> Option<S::Ref<'g>> {
        // The lookup also rejects keys that are too long. Without it, the write would prepare a new
        // leaf for an absent key.
        self.get(key, guard)?;
        let decide = |value: Option<S::Ref<'_>>| match value {
            Some(value) if condition(value) => ComputeAction::Remove,
            _ => ComputeAction::Keep,
        };
        // A write fails only if it has no room for a new key. Then the key is absent by now.
        let done = E::write(self, key, decide, guard).ok()?;
        done.before.filter(|_| done.changed)
    }

    #[inline]
    fn compute<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        check_guard(self.collector(), guard);
        self.check_write(key)?;
        E::write(self, key, change, guard)
    }

    #[inline]
    fn cursor<'g, G: Guard>(&'g self, guard: &'g G) -> Self::IndexCursor<'g, G> {
        check_guard(self.collector(), guard);
        E::cursor(self, guard)
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
        self.base.len.sum()
    }

    fn split_points<G: Guard>(&self, parts: usize, guard: &G) -> Vec<Vec<u8>> {
        check_guard(self.collector(), guard);
        E::separators(self, parts)
    }

    fn memory(&self) -> MemoryUsage {
        let arena = &self.base.arena;
        let [nodes, keys, _, unreclaimed] = arena.live_by_part();
        MemoryUsage { nodes, keys, unreclaimed, reserved: arena.reserved() }
    }

    fn allocated_bytes(&self) -> usize {
        self.base.arena.taken()
    }
}
