//! A global allocator that counts live bytes on request.
//!
//! Counting costs one atomic addition per call. So it is off during timed loops and on during the
//! memory pass, which builds each structure once more only to measure its size. While counting is
//! off, a call costs one load and one branch.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use mimalloc::MiMalloc;

/// `mimalloc` with a counter of live bytes.
#[derive(Debug)]
pub struct LiveByteAllocator;

static ON: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

/// Runs `build` and returns its result, together with the bytes that it allocated and did not free.
///
/// The bytes include the rounding of the allocators. They are the sum of the global allocator's, if
/// it is [`LiveByteAllocator`], and of C's `malloc`, for contenders in C and C++.
///
/// REQUIRES: no other thread allocates during the call. Its allocations would be counted too.
pub fn weigh<T>(build: impl FnOnce() -> T) -> (T, isize) {
    let before = LIVE.load(Ordering::Relaxed) + c_bytes();
    ON.store(true, Ordering::Relaxed);
    let made = build();
    ON.store(false, Ordering::Relaxed);
    (made, LIVE.load(Ordering::Relaxed) + c_bytes() - before)
}

/// Returns the live bytes of C's allocator, in its arenas and in blocks that it mapped directly.
fn c_bytes() -> isize {
    // SAFETY: the function is called without arguments and returns a structure of numbers.
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

// SAFETY: every call is forwarded to mimalloc; counting reads and writes no block.
unsafe impl GlobalAlloc for LiveByteAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, which is mimalloc's too; the same
        // below.
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
