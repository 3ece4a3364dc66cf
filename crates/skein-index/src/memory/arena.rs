//! The arena: the public side of the allocator.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::bin::Bin;
use super::heap::Heap;
use super::large_objects::{alloc_large, footprint, free_large, recount_large};
use super::pages::PageSource;
use super::size_class::{MAX_SMALL, class_of, size_of_class};
use super::span::{share, span_of};

/// How many parts there are.
pub const PARTS: usize = 4;

/// What memory is used for; live bytes are counted for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPart {
    /// Tree nodes and table buckets.
    Nodes,
    /// Key bytes outside the nodes.
    Keys,
    /// Rows: values and what surrounds them.
    Rows,
    /// Unlinked, but maybe still seen by a reader.
    Retired,
}

/// An allocator for many objects of few sizes, on huge pages, with exact accounting.
///
/// A handle: clones share the same memory. Any thread may allocate, and any thread may free what another one
/// allocated. Objects up to 8 KiB are rounded up to a size class (steps of 8 bytes up to 128, of 16 up to 256,
/// of 64 up to 1024, then four per power of two); larger ones come from the global allocator.
///
/// An object is aligned to the largest power of two that divides its rounded size, at most 64; so an object
/// whose size is a multiple of 64 begins on a cache line, and one whose size is a multiple of 16 is aligned to
/// 16. All are aligned to at least 8. Memory is not cleared.
///
/// Objects outlive the arena: memory stays until the last object is freed, so an object that a collector
/// frees late is no mistake. Dropping the arena frees no objects; [`discard`](Self::discard) does.
///
/// ```
/// use skein_index::memory::{Arena, Part};
///
/// let arena = Arena::new();
/// let node = arena.alloc(320, Part::Nodes);
/// assert_eq!(node.addr().get() % 64, 0);
/// assert_eq!(arena.live(Part::Nodes), 320);
///
/// // Anywhere, later: the pointer and the size are enough.
/// // SAFETY: allocated above with this size and part, and not used again.
/// unsafe { Arena::free(node, 320, Part::Nodes) };
/// assert_eq!(arena.live(Part::Nodes), 0);
/// ```
#[derive(Clone)]
pub struct Arena {
    pub(super) heap: Arc<Heap>,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena")
            .field("nodes", &self.live(MemoryPart::Nodes))
            .field("keys", &self.live(MemoryPart::Keys))
            .field("rows", &self.live(MemoryPart::Rows))
            .field("retired", &self.live(MemoryPart::Retired))
            .field("reserved", &self.reserved())
            .finish()
    }
}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

impl Arena {
    /// An arena with no memory yet.
    pub fn new() -> Self {
        Self { heap: Heap::new(PageSource::HugePages) }
    }

    /// An arena on pages of the common size, to measure what huge ones are worth.
    pub fn on_small_pages() -> Self {
        Self { heap: Heap::new(PageSource::SmallPages) }
    }

    /// An arena on the process's global allocator, for a part of a program that counts its memory there, such as a module of a server.
    ///
    /// Its memory comes in blocks of 2 MiB, of which a part of 32 is lost, and whether they lie on huge pages is up to the allocator.
    /// [`GrowingWords`](super::GrowingWords) take address space from the system all the same.
    pub fn on_global_allocator() -> Self {
        Self { heap: Heap::new(PageSource::Allocator) }
    }

    /// Hands out `size` bytes, uninitialised; a size of 0 is taken as 1.
    ///
    /// Aborts the process, as every allocation in Rust does, if the system has no memory.
    #[inline]
    pub fn alloc(&self, size: usize, part: MemoryPart) -> NonNull<u8> {
        let size = size.max(1);
        if size <= MAX_SMALL {
            // SAFETY: this handle keeps the heap and its bins.
            unsafe { Bin::alloc(Heap::bin(Arc::as_ptr(&self.heap), class_of(size)), part) }
        } else {
            // SAFETY: this handle keeps the heap.
            unsafe { alloc_large(Arc::as_ptr(&self.heap), size, part) }
        }
    }

    /// Takes an object back, on any thread.
    ///
    /// # Safety
    /// `object` came from [`alloc`](Self::alloc) of some arena with this `size`; it is counted as `part`;
    /// nobody uses it from now on.
    ///
    /// # Panics
    /// If the size is not of the class that the object was allocated in.
    #[inline]
    pub unsafe fn free(object: NonNull<u8>, size: usize, part: MemoryPart) {
        let size = size.max(1);
        if size > MAX_SMALL {
            // SAFETY: passed on to the caller.
            return unsafe { free_large(object, size, part) };
        }
        let span = span_of(object);
        // SAFETY: a live object's span is mapped, and its `bin` and `size` do not change (invariant 2).
        unsafe {
            let expected = size_of_class(class_of(size));
            assert!(
                (*span).size as usize == expected,
                "freed as {size} bytes, allocated as {}",
                (*span).size
            );
            Bin::free((*span).bin, span, object, part);
        }
    }

    /// Counts an object as another part from now on, for instance as [`Part::Retired`] once it is unlinked.
    ///
    /// # Safety
    /// `object` is live, came from [`alloc`](Self::alloc) with this `size`, and is counted as `from`.
    pub unsafe fn recount(object: NonNull<u8>, size: usize, from: MemoryPart, to: MemoryPart) {
        let size = size.max(1);
        // SAFETY: a live object's span is mapped, and its `bin` does not change (invariant 2).
        unsafe {
            if size > MAX_SMALL {
                recount_large(object, size, from, to);
            } else {
                Bin::recount((*span_of(object)).bin, from, to);
            }
        }
    }

    /// The bytes that an object of `size` takes, rounding included: what [`live`](Self::live) counts for it.
    pub fn rounded(size: usize) -> usize {
        let size = size.max(1);
        if size <= MAX_SMALL { size_of_class(class_of(size)) } else { footprint(size) }
    }

    /// Bytes of live objects of one part, rounding included. Exact while no thread allocates or frees.
    ///
    /// Adds up some hundred counters, so it is for reports; to check a budget before every write use
    /// [`taken`](Self::taken).
    pub fn live(&self, part: MemoryPart) -> usize {
        self.live_by_part()[part as usize]
    }

    /// As [`live`](Self::live), of all parts at the price of one, in the order in which [`Part`] names them.
    pub fn live_by_part(&self) -> [usize; PARTS] {
        self.heap.live(|size| size)
    }

    /// As [`live_by_part`](Self::live_by_part), with each object's share of what is left over in spans because no object fits there: up to an eighth, for
    /// objects of some kilobytes.
    pub fn shares_by_part(&self) -> [usize; PARTS] {
        self.heap.live(share)
    }

    /// Bytes in use, counted by whole spans of 64 KiB, with large objects and arrays of [`Words`](super::Words): one atomic read.
    #[inline]
    pub fn taken(&self) -> usize {
        self.heap.taken.load(Ordering::Relaxed)
    }

    /// Address space held from the system. At most one unused region of 2 MiB is kept.
    #[inline]
    pub fn reserved(&self) -> usize {
        self.heap.reserved.load(Ordering::Relaxed)
    }

    /// Frees all objects at once, in time that depends on the memory held and not on the number of objects.
    ///
    /// For the drop of an index whose values need no drop of their own.
    ///
    /// # Safety
    /// No object of this arena is used or freed from now on, and no other handle of it allocates again.
    pub unsafe fn discard(self) {
        // SAFETY: this handle is a claim; the rest is the caller's promise.
        unsafe { Heap::discard(Arc::as_ptr(&self.heap)) };
    }
}
