//! The module's global allocator. It allocates from the server, so that `maxmemory` and `INFO
//! memory` count the module's memory.
//!
//! The server's allocator guarantees the alignment that a C program may expect: 16 bytes, or 8 for
//! blocks of less than 16 bytes. If a layout needs more, this allocator takes a larger block and
//! aligns the object within it. It stores the block's address directly in front of the object.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::null_mut;

use valkey_module::raw;

/// Implements the global allocator that the module's head describes. It has no state: the server's
/// functions are set once the module is loaded.
#[derive(Debug, Clone, Copy)]
pub struct ServerAllocator;

/// The alignments that the server's allocator guarantees: of blocks of at least 16 bytes, and of
/// smaller blocks.
const ALIGNED: usize = 16;
const ALIGNED_SMALL: usize = 8;

/// Returns whether the server's allocator already aligns such a block as the layout requires.
fn is_plain(layout: Layout) -> bool {
    layout.align() <= ALIGNED_SMALL || (layout.align() <= ALIGNED && layout.size() >= ALIGNED)
}

/// Returns the size of a block with space for the object, its alignment and an address. Returns
/// `None` if the size overflows.
fn padded(layout: Layout) -> Option<usize> {
    layout.size().checked_add(layout.align())?.checked_add(size_of::<*mut u8>())
}

/// Returns the address of the field that stores the block's address, in front of an object of a
/// padded block.
///
/// # Safety
/// The object must have been placed by [`place`], or is about to be.
#[expect(clippy::cast_ptr_alignment, reason = "such an object is aligned to more than an address is")]
unsafe fn origin(object: *mut u8) -> *mut *mut u8 {
    // SAFETY: the block has room for an address in front of the object.
    unsafe { object.cast::<*mut u8>().sub(1) }
}

/// Stores the block's address in a padded block. Returns the aligned object behind that address, or
/// null if the block is null.
///
/// # Safety
/// The block must have [`padded`] bytes for this layout, or be null.
unsafe fn place(block: *mut u8, layout: Layout) -> *mut u8 {
    if block.is_null() {
        return block;
    }
    let address = block.addr() + size_of::<*mut u8>();
    let lead = address.next_multiple_of(layout.align()) - block.addr();
    // SAFETY: the lead is less than the alignment and an address together, so the object ends
    // within the block. The address in front of the object is aligned: the alignment is more than 8
    // here, and the block is aligned to 8.
    unsafe {
        let object = block.add(lead);
        origin(object).write(block);
        object
    }
}

// SAFETY: every block is allocated by the server's allocator, with the requested size and
// alignment, and is freed by the same allocator.
unsafe impl GlobalAlloc for ServerAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the server sets its functions before any code of the module runs.
        let Some(alloc) = (unsafe { raw::RedisModule_Alloc }) else { return null_mut() };
        // SAFETY: a plain call; `place` receives a block of `padded` bytes, or null.
        unsafe {
            if is_plain(layout) {
                return alloc(layout.size()).cast();
            }
            padded(layout).map_or(null_mut(), |bytes| place(alloc(bytes).cast(), layout))
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let Some(calloc) = (unsafe { raw::RedisModule_Calloc }) else { return null_mut() };
        // SAFETY: as in `alloc`.
        unsafe {
            if is_plain(layout) {
                return calloc(1, layout.size()).cast();
            }
            padded(layout).map_or(null_mut(), |bytes| place(calloc(1, bytes).cast(), layout))
        }
    }

    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        let Some(free) = (unsafe { raw::RedisModule_Free }) else { return };
        // SAFETY: frees the object's block: the object itself, or the address that `place` stored
        // in front of it.
        unsafe {
            let block = if is_plain(layout) { object } else { origin(object).read() };
            free(block.cast());
        }
    }
}
