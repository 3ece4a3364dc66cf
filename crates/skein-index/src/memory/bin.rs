//! Bins. A bin holds the spans of one size class in one shard, behind one latch.

use std::cell::UnsafeCell;
use std::ptr::{NonNull, null_mut};
// This folder uses std's atomics, not those of `skein_sync`. Under `loom` the global allocator
// serves all objects, and a model must not explore the allocator's own counters.
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use skein_sync::spin::Backoff;

use super::arena::{MemoryPart, PARTS};
use super::heap::Heap;
use super::span::{ArenaSpan, SpanList};

/// One size class of one shard.
#[repr(align(64))]
pub(super) struct Bin {
    latch: AtomicBool,
    size: u32,
    heap: *const Heap,
    /// The number of objects that users own, by part. Written under the latch, read by any thread.
    live: [AtomicUsize; PARTS],
    /// The lists of spans with room (invariants 3 and 4), by [`SpanList`].
    lists: [UnsafeCell<*mut ArenaSpan>; 2],
}

/// Holds the latch of a bin until dropped.
struct BinLatchGuard(*const Bin);

impl Drop for BinLatchGuard {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `lock`, so the next holder sees the list as this
        // thread left it. After this store the bin may not exist any more: another thread can free
        // the last object, and with it the heap.
        // SAFETY: until the store the caller has an object or a handle of this heap (invariant 1).
        unsafe { (*self.0).latch.store(false, Ordering::Release) };
    }
}

impl Bin {
    pub(super) fn new(heap: *const Heap, size: usize) -> Self {
        Self {
            latch: AtomicBool::new(false),
            size: size as u32,
            heap,
            live: Default::default(),
            lists: [const { UnsafeCell::new(null_mut()) }; 2],
        }
    }

    /// Adds the bytes that users own, by part.
    pub(super) fn add_live(&self, sums: &mut [usize; PARTS], weight: fn(usize) -> usize) {
        let weight = weight(self.size as usize);
        for (sum, live) in sums.iter_mut().zip(&self.live) {
            // Relaxed: a statistic. A part may be negative for a moment, while another thread is
            // between its two counts.
            *sum = sum.wrapping_add(live.load(Ordering::Relaxed).wrapping_mul(weight));
        }
    }

    /// Acquires the latch.
    ///
    /// # Safety
    /// The bin must be alive and stay so until the latch is released.
    #[inline(always)]
    unsafe fn lock(bin: *const Bin) -> BinLatchGuard {
        // SAFETY: the caller promises that the bin is alive.
        let latch = unsafe { &(*bin).latch };
        // Acquire: pairs with the Release in `BinLatchGuard::drop`.
        if latch.swap(true, Ordering::Acquire) {
            Self::lock_slowly(latch);
        }
        BinLatchGuard(bin)
    }

    #[cold]
    fn lock_slowly(latch: &AtomicBool) {
        let mut backoff = Backoff::new();
        loop {
            backoff.wait();
            // Relaxed: only a look; the swap orders. Acquire: pairs with the Release in
            // `BinLatchGuard::drop`.
            if !latch.load(Ordering::Relaxed) && !latch.swap(true, Ordering::Acquire) {
                return;
            }
        }
    }

    /// Adds `change` to the number of objects of `part`. REQUIRES: the latch is held, so a load and
    /// a store are enough.
    #[inline(always)]
    fn count(&self, part: MemoryPart, change: isize) {
        let live = &self.live[part as usize];
        let now = live.load(Ordering::Relaxed).wrapping_add_signed(change);
        debug_assert!(now.cast_signed() >= 0, "more objects of {part:?} were freed than allocated");
        live.store(now, Ordering::Relaxed);
    }

    /// Hands an object out.
    ///
    /// # Safety
    /// The caller must keep the heap alive (by a handle, invariant 1).
    #[inline]
    pub(super) unsafe fn alloc(bin: *const Bin, part: MemoryPart) -> NonNull<u8> {
        // SAFETY: the bin is alive; its fields are used under the latch (invariant 3); the first
        // span of the list has room (invariant 4).
        unsafe {
            let mut held = Self::lock(bin);
            let mut span = (*bin).first(SpanList::Open);
            if span.is_null() {
                drop(held);
                span = Self::new_span(bin);
                held = Self::lock(bin);
                Self::link(bin, span, SpanList::Open);
            }
            let object = ArenaSpan::take(span);
            if (*span).is_full() {
                Self::unlink(bin, span);
            }
            (*bin).count(part, 1);
            drop(held);
            object
        }
    }

    /// Takes an object back.
    ///
    /// # Safety
    /// `object` must be live, lie in `span` and be counted as `part`, and must not be used again.
    /// `span.bin` must be `bin`.
    #[inline]
    pub(super) unsafe fn free(bin: *const Bin, span: *mut ArenaSpan, object: NonNull<u8>, part: MemoryPart) {
        // SAFETY: a live object keeps its bin and its span (invariants 1 and 2). Fields are used
        // under the latch (invariant 3). A span leaves and enters the list when its room changes
        // (invariant 4).
        unsafe {
            let held = Self::lock(bin);
            ArenaSpan::give(span, object);
            (*bin).count(part, -1);
            let (empty, heap) = ((*span).state.used == 0, (*bin).heap);
            match (empty, (*span).state.list) {
                (true, Some(_)) => Self::unlink(bin, span),
                (false, None) => Self::link(bin, span, (*heap).list_of(span)),
                _ => {}
            }
            drop(held);
            if empty {
                // The span's claim still keeps the heap alive; `take_span_back` gives that claim up
                // last.
                Heap::take_span_back(heap, span.cast());
            }
        }
    }

    /// Returns the first span of a list, or null. REQUIRES: the latch is held.
    #[inline(always)]
    unsafe fn first(&self, list: SpanList) -> *mut ArenaSpan {
        // SAFETY: the latch guards the lists (invariant 3).
        unsafe { *self.lists[list as usize].get() }
    }

    /// Puts each span with room into the list where it belongs now.
    ///
    /// # Safety
    /// The caller must keep the heap alive (by a handle, invariant 1).
    pub(super) unsafe fn sort_lists(bin: *const Bin) {
        // SAFETY: the bin is alive; the lists are used under the latch (invariant 3).
        unsafe {
            let _held = Self::lock(bin);
            for list in [SpanList::Open, SpanList::Closed] {
                let mut span = (*bin).first(list);
                while !span.is_null() {
                    let next = (*span).state.next;
                    let now = (*(*bin).heap).list_of(span);
                    if now != list {
                        Self::unlink(bin, span);
                        Self::link(bin, span, now);
                    }
                    span = next;
                }
            }
        }
    }

    /// Counts a live object as another part.
    ///
    /// # Safety
    /// The caller must own a live object of this bin that is counted as `from`.
    pub(super) unsafe fn recount(bin: *const Bin, from: MemoryPart, to: MemoryPart) {
        // SAFETY: a live object keeps its bin alive (invariant 1).
        unsafe {
            let _held = Self::lock(bin);
            (*bin).count(from, -1);
            (*bin).count(to, 1);
        }
    }

    /// Returns a new span for this bin, not yet in its list.
    #[cold]
    unsafe fn new_span(bin: *const Bin) -> *mut ArenaSpan {
        // SAFETY: the caller keeps the heap alive; the new span belongs to this thread alone
        // (invariants 2 and 3).
        unsafe { ArenaSpan::init(Heap::give_span((*bin).heap), bin, (*bin).size) }
    }

    /// Puts a span into a list. REQUIRES: the latch is held and the span is in no list.
    unsafe fn link(bin: *const Bin, span: *mut ArenaSpan, list: SpanList) {
        // SAFETY: the latch guards the list and the headers in it (invariant 3).
        unsafe {
            let head = (*bin).lists[list as usize].get();
            (*span).state.list = Some(list);
            (*span).state.prev = null_mut();
            (*span).state.next = *head;
            if !(*head).is_null() {
                (**head).state.prev = span;
            }
            *head = span;
        }
    }

    /// Removes a span from its list. REQUIRES: the latch is held and the span is in a list.
    unsafe fn unlink(bin: *const Bin, span: *mut ArenaSpan) {
        // SAFETY: as in `link`.
        unsafe {
            let (prev, next) = ((*span).state.prev, (*span).state.next);
            let Some(list) = (*span).state.list.take() else { return };
            if prev.is_null() {
                *(*bin).lists[list as usize].get() = next;
            } else {
                (*prev).state.next = next;
            }
            if !next.is_null() {
                (*next).state.prev = prev;
            }
        }
    }
}
