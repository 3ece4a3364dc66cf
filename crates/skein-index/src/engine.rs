//! What an index does itself, and the rest of the contract once for all of them.
//!
//! ```text
//!   OrderedIndex      guards checked, limits and budget, words turned into values, remove_range, memory by part
//!        │ for every
//!   Engine            find words, change a key, stand on keys, cut into parts          one impl per index
//!        │ has a
//!   Base              collector, arena, count of keys, budget
//! ```
//!
//! A new index embeds a [`Base`] and implements [`Engine`]. Everything is generic and inlined, so the layer costs nothing.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use skein_sync::reclaim::{Collector, Guard, check_guard};

use crate::counter::Counter;
use crate::index::{ComputeAction, Computed, Cursor, IndexError, MAX_KEY_LEN, MemoryUsage, OrderedIndex};
use crate::memory::Arena;
use crate::slot::Slot;
use crate::walk::{ScanDirection, walk};

/// What every index has.
#[derive(Debug)]
pub struct IndexBase {
    pub(crate) collector: Arc<Collector>,
    pub(crate) arena: Arena,
    /// How many keys there are; the engine counts.
    pub(crate) len: Counter,
    /// Bytes; writes are refused from there on.
    pub(crate) budget: usize,
}

impl IndexBase {
    /// Without keys and without a budget; memory lies on huge pages if `huge`.
    pub(crate) fn new(collector: Arc<Collector>, huge: bool) -> Self {
        Self::with_arena(if huge { Arena::new() } else { Arena::on_small_pages() }, collector)
    }

    /// The same with its memory in `arena`.
    pub(crate) fn with_arena(arena: Arena, collector: Arc<Collector>) -> Self {
        Self { collector, arena, len: Counter::new(), budget: usize::MAX }
    }

    /// Checks what a write needs before anything changes. `limit` is the length of the longest key, and `at_once` says how many bytes the write may
    /// take beyond a few small objects.
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

    /// The first step of an index's drop: whether all its memory can go at once, because values of `S` need no drop of their own and
    /// nobody shares the collector. If so, what was retired has been freed, and [`Arena::discard`] is left to do.
    pub(crate) fn frees_all_at_once<S: Slot>(&mut self) -> bool {
        if S::OWNS {
            return false;
        }
        let Some(collector) = Arc::get_mut(&mut self.collector) else { return false };
        // The collector is ours alone, and the borrow says that nobody holds a guard: what was retired is freed with the old one.
        *collector = Collector::new();
        true
    }
}

/// The closure of a `compute` on its way through attempts, of which all but the last one fail before they ask it.
#[derive(Debug)]
pub(crate) struct ComputeClosure<F>(Option<F>);

impl<F> ComputeClosure<F> {
    pub(crate) fn new(change: F) -> Self {
        Self(Some(change))
    }

    /// Asks the closure, which must not have been asked: from here on its decision is to be carried out.
    #[inline(always)]
    pub(crate) fn call<V, S>(&mut self, seen: Option<V>) -> ComputeAction<S>
    where
        F: FnOnce(Option<V>) -> ComputeAction<S>,
    {
        let change = self.0.take().expect("no attempt asks and then fails");
        change(seen)
    }
}

/// The core of an index. Guards are of its own collector: its callers here have checked that.
pub trait IndexEngine<S: Slot>: Send + Sync {
    /// What is to be its cursor.
    type EngineCursor<'g, G: Guard + 'g>: Cursor<'g, S>
    where
        Self: 'g;

    /// The longest key, in bytes.
    const MAX_KEY_LEN: usize = MAX_KEY_LEN;

    /// What it has in common with others.
    fn base(&self) -> &IndexBase;

    /// The word of `key`'s value; none for keys that are too long. The caller holds a guard.
    fn lookup(&self, key: &[u8]) -> Option<u64>;

    /// The same for many keys, whose reads overlap: `found` is called once per key with its position in `keys`, in any order.
    fn lookup_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>));

    /// Does what `change` decides about `key`, which is not too long. What goes is retired, and the count of keys is kept. Refused, before
    /// `change` is asked, only by an index that has no place for another key.
    fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError>;

    /// Sets `key`, which is not too long, to `value`. Refused as [`write`](Self::write) is.
    #[inline(always)]
    fn put<'g, G: Guard>(
        &'g self,
        key: &[u8],
        value: S,
        guard: &'g G,
    ) -> Result<Option<S::Ref<'g>>, IndexError> {
        Ok(self.write(key, |_| ComputeAction::Put(value), guard)?.before)
    }

    /// Removes `key`, which is not too long.
    #[inline(always)]
    fn remove_present<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        // What only removes needs no place, and is not refused.
        self.write(key, |_| ComputeAction::Remove, guard).ok()?.before
    }

    /// The bytes that a write of `key` may take at once, if it is more than a few small objects: those of a larger table, say. The caller
    /// holds a guard.
    fn bytes_at_once(&self, _key: &[u8]) -> usize {
        0
    }

    /// A cursor, before the first key.
    fn new_cursor<'g, G: Guard>(&'g self, guard: &'g G) -> Self::EngineCursor<'g, G>;

    /// Keys that cut the index into about so many parts of similar size, in order. The caller holds a guard.
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
        // SAFETY: the word was in the index, and is retired, if at all, under this guard or a later one.
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
