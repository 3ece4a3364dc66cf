//! The hole of a page: a dead entry whose bytes the next new value takes.
//!
//! Most values are replaced by one of the same length. Each new value goes where an old one was, and
//! the value that it replaces is the next hole. So one hole is enough for a page.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use skein_sync::reclaim::GraceClock;

use super::Page;

impl Page {
    /// Returns the bytes of the heap that are the hole.
    #[inline(always)]
    pub(in crate::page_tree) fn hole(self) -> Range<usize> {
        let head = self.head();
        let start = usize::from(head.hole.load(Ordering::Relaxed));
        start..start + usize::from(head.hole_len.load(Ordering::Relaxed))
    }

    /// Returns whether the hole is long enough for an entry and may be written.
    pub(super) fn has_hole(self, size: usize, clock: &GraceClock) -> bool {
        let period = self.head().hole_period.load(Ordering::Relaxed);
        size > 0 && self.hole().len() >= size && clock.has_passed(period)
    }

    /// Returns whether a reader may still see the hole's entry.
    pub(in crate::page_tree) fn hole_waits(self, clock: &GraceClock) -> bool {
        !self.hole().is_empty() && !clock.has_passed(self.head().hole_period.load(Ordering::Relaxed))
    }

    /// Takes the hole for an entry. Returns its position and its address. The caller must hold the
    /// lock and have asked [`has_hole`](Self::has_hole).
    pub(super) fn take_hole(self, size: usize) -> (u16, NonNull<u8>) {
        let (head, start) = (self.head(), self.hole().start);
        head.hole_len.store(0, Ordering::Relaxed);
        head.dead.store(head.dead.load(Ordering::Relaxed) - size as u16, Ordering::Relaxed);
        // SAFETY: the hole lies in the heap.
        (start as u16, unsafe { self.heap().add(start) })
    }

    /// Makes an entry the hole, unless there is one that is as long. The caller must hold the lock,
    /// and the slot must have led elsewhere by a `SeqCst` store.
    pub(super) fn leave_hole(self, entry: u16, len: usize, clock: &GraceClock) {
        if self.hole().len() < len {
            let head = self.head();
            head.hole.store(entry, Ordering::Relaxed);
            head.hole_len.store(len as u16, Ordering::Relaxed);
            head.hole_period.store(clock.now(), Ordering::Relaxed);
        }
    }
}
