//! The cache's room: the number of pages that it may hold, and the number that it holds.
//!
//! ```text
//!   load, publication   take room for a page, if there is any          try_take
//!   eviction            give room back                                 give_back
//!   resize              set the capacity ─► evict while over it        set_capacity, is_over
//! ```
//!
//! The capacity may change at any time (`resize.rs`). A thread that read it before the change must
//! not leave the cache over it.
//!
//! # Invariants
//! 1. A thread takes room and looks at the capacity afterwards. A resize sets the capacity and
//!    looks at the taken room afterwards. Both change `taken` by a read-modify-write operation, so
//!    one of the two is the first. If it is the thread, then the resize sees its room and evicts a
//!    page for it. Otherwise the thread sees the new capacity, and gives the room back.
//! 2. A write takes room for all its pages within one capacity, that of its begin. So it never
//!    waits for room that a resize has removed. After its publication it evicts down to the
//!    current capacity, by the order of invariant 1.

use skein_sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(super) struct CacheRoom {
    capacity: AtomicUsize,
    /// Pages in memory and reserved room.
    taken: AtomicUsize,
}

impl CacheRoom {
    /// Returns an empty cache of this many pages.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: AtomicUsize::new(capacity), taken: AtomicUsize::new(0) }
    }

    #[inline]
    pub(super) fn capacity(&self) -> usize {
        // Relaxed: `is_over` and `try_take` order it where it matters (invariant 1).
        self.capacity.load(Ordering::Relaxed)
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Sets the capacity. The caller evicts while the cache [is over it](Self::is_over).
    pub(super) fn set_capacity(&self, pages: usize) {
        // Relaxed: the Release is in the next `is_over` of this thread (invariant 1).
        self.capacity.store(pages, Ordering::Relaxed);
    }

    /// Returns whether more room is taken than there is.
    pub(super) fn is_over(&self) -> bool {
        // AcqRel, and not a load: pairs with itself and with `try_take_within` (invariant 1).
        self.taken.fetch_add(0, Ordering::AcqRel) > self.capacity()
    }

    /// Takes room for a page, if there is any.
    pub(super) fn try_take(&self) -> bool {
        let capacity = self.capacity();
        if !self.try_take_within(capacity) {
            return false;
        }
        // The capacity fell meanwhile.
        if self.capacity() < capacity && self.is_over() {
            self.give_back();
            return false;
        }
        true
    }

    /// Takes room for a page if room for fewer than `most` is taken.
    pub(super) fn try_take_within(&self, most: usize) -> bool {
        let more = |taken| Some(taken + 1).filter(|count| *count <= most);
        // AcqRel: pairs with `is_over` (invariant 1).
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more).is_ok()
    }

    pub(super) fn give_back(&self) {
        // AcqRel: keeps the order of `taken` unbroken (invariant 1).
        self.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_up_to_the_capacity_of_the_moment() {
        let room = CacheRoom::new(2);
        assert!(room.try_take() && room.try_take() && !room.try_take());
        room.set_capacity(3);
        assert!(room.try_take() && !room.try_take() && !room.is_over());
        room.set_capacity(1);
        assert!(room.is_over() && !room.try_take(), "nothing is taken while it is over");
        assert!(room.try_take_within(4) && room.taken() == 4, "a write keeps its own limit");
        (0..3).for_each(|_| room.give_back());
        assert!(!room.is_over() && !room.try_take());
    }
}
