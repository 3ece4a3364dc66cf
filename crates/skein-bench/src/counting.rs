//! A global allocator that counts live bytes while it is asked to.
//!
//! Counting costs an atomic addition for each call, so it is off during timed loops and on during the memory pass, which
//! builds each structure once more only to weigh it. While it is off it costs a load and a branch.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use mimalloc::MiMalloc;

/// `mimalloc`, with a counter.
#[derive(Debug)]
pub struct LiveByteAllocator;

static ON: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

/// Runs `build` and returns what it made with the bytes that it allocated and did not free, the allocators' rounding
/// included: those of the global allocator, if it is [`Counting`], and those of C's `malloc`, for contenders in C and C++.
///
/// REQUIRES: nothing else allocates meanwhile; what other threads do is counted too.
pub fn weigh<T>(build: impl FnOnce() -> T) -> (T, isize) {
    let before = LIVE.load(Ordering::Relaxed) + c_bytes();
    ON.store(true, Ordering::Relaxed);
    let made = build();
    ON.store(false, Ordering::Relaxed);
    (made, LIVE.load(Ordering::Relaxed) + c_bytes() - before)
}

/// Live bytes of C's allocator, in its arenas and mapped by themselves.
fn c_bytes() -> isize {
    // SAFETY: takes nothing and returns a structure of numbers.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd).cast_signed()
}

fn count(block: *mut u8, sign: isize) {
    if ON.load(Ordering::Relaxed) && !block.is_null() {
        // SAFETY: `block` is a live block of this allocator.
        let size = unsafe { MiMalloc.usable_size(block) };
        LIVE.fetch_add(sign * size.cast_signed(), Ordering::Relaxed);
    }
}

// SAFETY: everything is passed on to mimalloc; counting touches no block.
unsafe impl GlobalAlloc for LiveByteAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on, here and below.
        let block = unsafe { MiMalloc.alloc(layout) };
        count(block, 1);
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let block = unsafe { MiMalloc.alloc_zeroed(layout) };
        count(block, 1);
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(block, -1);
        // SAFETY: as in `alloc`.
        unsafe { MiMalloc.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(block, -1);
        // SAFETY: as in `alloc`.
        let moved = unsafe { MiMalloc.realloc(block, layout, size) };
        count(if moved.is_null() { block } else { moved }, 1);
        moved
    }
}
