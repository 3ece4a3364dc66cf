//! Large objects. They come from the global allocator, each with a header of one cache line before
//! it.
//!
//! Like a span's header, this header leads from the object to its heap. It also links all large
//! objects of a heap, so that an arena can be discarded at once.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use skein_sync::locks::lock;

use super::arena::MemoryPart;
use super::heap::Heap;

/// The header before a large object. The heap's mutex `large` guards `prev` and `next`.
#[repr(C, align(64))]
struct LargeHeader {
    heap: *const Heap,
    size: usize,
    prev: *mut LargeHeader,
    next: *mut LargeHeader,
}

/// The list of all large objects of a heap.
pub(super) struct LargeList {
    head: *mut LargeHeader,
}

impl Default for LargeList {
    fn default() -> Self {
        Self { head: null_mut() }
    }
}

/// Returns the layout of a header and an object, rounded to whole lines. Aborts the process if
/// there is no such layout.
fn layout(size: usize) -> Layout {
    let total = size.checked_next_multiple_of(64).and_then(|size| size.checked_add(size_of::<LargeHeader>()));
    match total.map(|total| Layout::from_size_align(total, 64)) {
        Some(Ok(layout)) => layout,
        // It exceeds the address space, so this is out of memory.
        _ => handle_alloc_error(Layout::new::<LargeHeader>()),
    }
}

/// Returns the bytes that a large object of `size` occupies.
pub(super) fn footprint(size: usize) -> usize {
    layout(size).size()
}

/// Returns a new object of `size` bytes, aligned to 64.
///
/// # Safety
/// The caller must have a claim on the heap.
#[cold]
pub(super) unsafe fn alloc_large(heap: *const Heap, size: usize, part: MemoryPart) -> NonNull<u8> {
    let layout = layout(size);
    // SAFETY: the layout holds a header, so it is not empty.
    let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
    // `free_large` finds the header from a bare address.
    block.as_ptr().expose_provenance();
    let header = block.cast::<LargeHeader>().as_ptr();
    // SAFETY: the heap is alive by the caller's claim, and the object takes one of its own
    // (invariant 1). Only this thread knows the block until it is linked. Links are used under the
    // mutex.
    unsafe {
        Arc::increment_strong_count(heap);
        let this = &*heap;
        this.count(layout.size(), part);
        let mut list = lock(&this.large);
        header.write(LargeHeader { heap, size, prev: null_mut(), next: list.head });
        if !list.head.is_null() {
            (*list.head).prev = header;
        }
        list.head = header;
        block.add(size_of::<LargeHeader>())
    }
}

fn header_of(object: NonNull<u8>) -> *mut LargeHeader {
    std::ptr::with_exposed_provenance_mut(object.addr().get() - size_of::<LargeHeader>())
}

/// Frees a large object.
///
/// # Safety
/// It must be from `alloc_large` with the same `size`, be counted as `part`, and not be used
/// afterwards.
#[cold]
pub(super) unsafe fn free_large(object: NonNull<u8>, size: usize, part: MemoryPart) {
    let header = header_of(object);
    // SAFETY: a live object keeps its header and its heap alive (invariant 1). Links are used under
    // the mutex. The sizes agree, so the block was allocated with the same layout.
    unsafe {
        assert!((*header).size == size, "freed as {size} bytes, allocated as {}", (*header).size);
        let heap = (*header).heap;
        {
            let this = &*heap;
            this.uncount(footprint(size), part);
            let mut list = lock(&this.large);
            let (prev, next) = ((*header).prev, (*header).next);
            if prev.is_null() {
                list.head = next;
            } else {
                (*prev).next = next;
            }
            if !next.is_null() {
                (*next).prev = prev;
            }
        }
        dealloc(header.cast(), layout(size));
        Arc::decrement_strong_count(heap);
    }
}

/// Counts a large object as another part.
///
/// # Safety
/// The caller must own the object, which must be counted as `from`.
pub(super) unsafe fn recount_large(object: NonNull<u8>, size: usize, from: MemoryPart, to: MemoryPart) {
    // SAFETY: a live object keeps its header and its heap alive (invariant 1).
    let heap = unsafe { &*(*header_of(object)).heap };
    heap.recount(footprint(size), from, to);
}

impl LargeList {
    /// Frees all objects and returns how many there were. The caller must give up their claims.
    ///
    /// # Safety
    /// No object may be used again.
    pub(super) unsafe fn free_all(&mut self) -> usize {
        let mut count = 0;
        while !self.head.is_null() {
            let header = self.head;
            // SAFETY: the list holds live blocks, each with its size; the caller gives them up.
            unsafe {
                self.head = (*header).next;
                dealloc(header.cast(), layout((*header).size));
            }
            count += 1;
        }
        count
    }
}
