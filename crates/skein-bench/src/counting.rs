//! A global allocator that counts live bytes while it is asked to.
//!
//! Counting costs an atomic addition for each call, so it is off during timed loops and on during the memory
//! pass, which builds each structure once more only to weigh it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

/// The system's allocator, with a counter.
pub struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

/// Runs `build` and returns what it made with the bytes that it allocated and did not free, the allocator's
/// rounding included (`malloc_usable_size`; its 8 bytes of header per object are not).
pub fn weigh<T>(build: impl FnOnce() -> T) -> (T, isize) {
    let before = LIVE.load(Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
    let made = build();
    ON.store(false, Ordering::Relaxed);
    (made, LIVE.load(Ordering::Relaxed) - before)
}

fn count(block: *mut u8, sign: isize) {
    if ON.load(Ordering::Relaxed) && !block.is_null() {
        // SAFETY: `block` is a live block of the system's allocator.
        let size = unsafe { libc::malloc_usable_size(block.cast()) };
        LIVE.fetch_add(sign * size.cast_signed(), Ordering::Relaxed);
    }
}

// SAFETY: everything is passed on to the system's allocator; counting touches no block.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on, here and below.
        let block = unsafe { System.alloc(layout) };
        count(block, 1);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        count(block, 1);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(block, -1);
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(block, -1);
        // SAFETY: as in `alloc`.
        let moved = unsafe { System.realloc(block, layout, size) };
        count(if moved.is_null() { block } else { moved }, 1);
        moved
    }
}
