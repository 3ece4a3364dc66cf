//! Where rows and column blocks get their memory.
//!
//! Everything that touches an allocator is here: sizes in, pointers out. The size is never stored; it
//! follows from the header of what was allocated.

use std::alloc::Layout;
use std::ptr::NonNull;

/// Alignment of rows and blocks: enough for a pointer and a 64-bit word.
const ALIGN: usize = 8;

/// Bytes that an allocation of `size` bytes takes, rounding included.
#[inline]
pub(super) fn footprint(size: usize) -> usize {
    // glibc: 8 bytes of header, multiples of 16, at least 32.
    (size + 8).next_multiple_of(16).max(32)
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, ALIGN).expect("row sizes are bounded far below isize::MAX")
}

/// Takes `size` bytes (not 0), aligned to 8.
#[inline]
pub(super) fn take(size: usize) -> NonNull<u8> {
    let layout = layout(size);
    // SAFETY: the layout's size is not 0: every caller asks for a header at least.
    let pointer = unsafe { std::alloc::alloc(layout) };
    NonNull::new(pointer).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
}

/// Gives memory back.
///
/// # Safety
/// `pointer` came from [`take`] of the same size and is not used again.
#[inline]
pub(super) unsafe fn give_back(pointer: NonNull<u8>, size: usize) {
    // SAFETY: the caller vouches for pointer and size.
    unsafe { std::alloc::dealloc(pointer.as_ptr(), layout(size)) };
}
