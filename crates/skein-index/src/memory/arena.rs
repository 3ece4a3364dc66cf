//! The arena: the public interface of the allocator.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::CACHE_LINE;
use super::bin::Bin;
use super::heap::Heap;
use super::large_objects::{alloc_large, footprint, free_large, recount_large};
use super::pages::PageSource;
use super::size_class::{MAX_SMALL, class_of, size_of_class};
use super::span::{share, span_of};

/// The number of parts.
pub const PARTS: usize = 4;

/// The use of memory. Live bytes are counted for each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPart {
    /// Tree nodes and table buckets.
    Nodes,
    /// Key bytes outside the nodes.
    Keys,
    /// Rows: values and the fields around them.
    Rows,
    /// Unlinked objects that readers may still see.
    Retired,
}

/// An allocator for many objects of few sizes, on huge pages, with exact accounting.
///
/// An `Arena` is a handle: clones share the same memory. Any thread may allocate, and any thread
/// may free an object that another thread allocated. Objects up to 8 KiB are rounded up to a size
/// class (steps of 8 bytes up to 128, of 16 up to 256, of 64 up to 1024, then four per power of
/// two). Larger objects come from the global allocator.
///
/// An object is aligned to the largest power of two that divides its rounded size, at least 8 and
/// at most 64. So an object begins on a cache line if its size is a multiple of 64. Memory is not
/// cleared.
///
/// Objects outlive the arena: memory stays until the last object is freed, so a collector may free
/// objects late. Dropping the arena frees no objects; [`discard`](Self::discard) does.
///
/// ```
/// use skein_index::memory::{Arena, MemoryPart};
///
/// let arena = Arena::new();
/// let node = arena.alloc(320, MemoryPart::Nodes);
/// assert_eq!(node.addr().get() % 64, 0);
/// assert_eq!(arena.live(MemoryPart::Nodes), 320);
///
/// // Any thread can free it later: the pointer and the size are enough.
/// // SAFETY: allocated above with this size and part, and not used again.
/// unsafe { Arena::free(node, 320, MemoryPart::Nodes) };
/// assert_eq!(arena.live(MemoryPart::Nodes), 0);
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
    /// Returns an empty arena.
    pub fn new() -> Self {
        Self { heap: Heap::new(PageSource::HugePages) }
    }

    /// Returns an arena on small pages, to measure the gain of huge pages.
    pub fn on_small_pages() -> Self {
        Self { heap: Heap::new(PageSource::SmallPages) }
    }

    /// Returns an arena on the process's global allocator, for a part of a program that counts its
    /// memory there, such as a module of a server.
    ///
    /// Its memory is allocated in blocks of 2 MiB, and one part in 32 is lost. The allocator
    /// decides if they lie on huge pages. [`GrowingWords`](super::GrowingWords) take address space
    /// from the system all the same.
    pub fn on_global_allocator() -> Self {
        Self { heap: Heap::new(PageSource::Allocator) }
    }

    /// Returns `size` uninitialised bytes; a size of 0 counts as 1.
    ///
    /// Aborts the process, as every allocation in Rust does, if the system has no memory.
    #[inline]
    pub fn alloc(&self, size: usize, part: MemoryPart) -> NonNull<u8> {
        let size = size.max(1);
        if size <= MAX_SMALL {
            // SAFETY: this handle keeps the heap and its bins alive.
            unsafe { Bin::alloc(Heap::bin(Arc::as_ptr(&self.heap), class_of(size)), part) }
        } else {
            // SAFETY: this handle keeps the heap alive.
            unsafe { alloc_large(Arc::as_ptr(&self.heap), size, part) }
        }
    }

    /// Returns memory as [`alloc`](Self::alloc) does, where the thread that allocated `other` would get
    /// it. So an object that replaces another one takes room between its neighbours.
    ///
    /// # Safety
    /// `other` must be a live object of this arena with the size `other_size`.
    pub unsafe fn alloc_beside(
        &self,
        other: NonNull<u8>,
        other_size: usize,
        size: usize,
        part: MemoryPart,
    ) -> NonNull<u8> {
        if other_size.max(size) > MAX_SMALL {
            return self.alloc(size, part);
        }
        // SAFETY: a live object's span is mapped, and its `bin` does not change (invariant 2). All
        // bins of a shard lie in one array, in the order of their classes.
        unsafe {
            let bins = (*span_of(other)).bin.sub(class_of(other_size.max(1)));
            Bin::alloc(bins.add(class_of(size.max(1))), part)
        }
    }

    /// Frees an object, on any thread.
    ///
    /// # Safety
    /// `object` must be from [`alloc`](Self::alloc) of some arena with this `size`, be counted as
    /// `part`, and not be used afterwards.
    ///
    /// # Panics
    /// Panics if the size is not of the class that the object was allocated in.
    #[inline]
    pub unsafe fn free(object: NonNull<u8>, size: usize, part: MemoryPart) {
        let size = size.max(1);
        if size > MAX_SMALL {
            // SAFETY: the caller's contract.
            return unsafe { free_large(object, size, part) };
        }
        let span = span_of(object);
        // SAFETY: a live object's span is mapped, and its `bin` and `size` do not change (invariant
        // 2).
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

    /// Counts an object as another part from now on, for instance as [`MemoryPart::Retired`] once
    /// it is unlinked.
    ///
    /// # Safety
    /// `object` must be live, be from [`alloc`](Self::alloc) with this `size`, and be counted as
    /// `from`.
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

    /// Returns the bytes that an object of `size` occupies, rounding included. [`live`](Self::live)
    /// counts these.
    pub fn rounded(size: usize) -> usize {
        let size = size.max(1);
        if size <= MAX_SMALL { size_of_class(class_of(size)) } else { footprint(size) }
    }

    /// Returns the largest size of at most `size` bytes without rounding: a size class for small
    /// objects, whole cache lines for large ones.
    pub fn rounded_down(size: usize) -> usize {
        let is_class = (1025..=MAX_SMALL).contains(&size);
        let step = if is_class { (1 << size.ilog2()) / 4 } else { CACHE_LINE };
        (size / step * step).max(CACHE_LINE)
    }

    /// Returns the bytes of live objects of one part, rounding included. The number is exact while
    /// no thread allocates or frees.
    ///
    /// It adds up some hundred counters, so it is for reports. To check a budget before every
    /// write, use [`taken`](Self::taken).
    pub fn live(&self, part: MemoryPart) -> usize {
        self.live_by_part()[part as usize]
    }

    /// Returns the bytes of live objects of every part, at the cost of one call of
    /// [`live`](Self::live), in the order of [`MemoryPart`]'s variants.
    pub fn live_by_part(&self) -> [usize; PARTS] {
        self.heap.live(|size| size)
    }

    /// Returns the bytes of live objects of every part, as [`live_by_part`](Self::live_by_part)
    /// does, and adds to each object its share of the bytes at the end of a span where no object
    /// fits: up to an eighth, for objects of some kilobytes.
    pub fn shares_by_part(&self) -> [usize; PARTS] {
        self.heap.live(share)
    }

    /// Returns the bytes in use: whole spans of 64 KiB, large objects, and arrays of
    /// [`AtomicWords`](super::AtomicWords). It is one atomic read.
    #[inline]
    pub fn taken(&self) -> usize {
        self.heap.taken.load(Ordering::Relaxed)
    }

    /// Returns the bytes of address space held from the system. Of unused memory, at most one region
    /// of 2 MiB is kept, and the region of the span that was returned last.
    #[inline]
    pub fn reserved(&self) -> usize {
        self.heap.reserved.load(Ordering::Relaxed)
    }

    /// Begins to vacate the regions at the highest addresses, if the room between the objects of the
    /// others is enough for theirs, and a sixteenth of the memory can be given back to the system. From
    /// now on there are no new objects in them. Returns the bytes of spans that are being vacated.
    /// Returns 0, and vacates nothing, if about the same number of live bytes was tried a dozen times.
    ///
    /// The owner of the objects finds those to move by [`is_vacated`](Self::is_vacated). A region is
    /// given back when its last object is freed. If there is no other room, new objects may still get
    /// a span there.
    pub fn vacate(&self) -> usize {
        self.heap.vacate()
    }

    /// Ends what [`vacate`](Self::vacate) began.
    pub fn stop_vacating(&self) {
        self.heap.stop_vacating();
    }

    /// Returns whether an object of this arena should move: its memory is being vacated. `false` for
    /// objects larger than 8 KiB.
    #[inline]
    pub fn is_vacated(&self, object: NonNull<u8>, size: usize) -> bool {
        size <= MAX_SMALL && self.heap.is_vacated(object.addr().get())
    }

    /// Frees all objects at once, in time that depends on the memory held and not on the number of
    /// objects.
    ///
    /// It is for dropping an index with values that need no drop of their own.
    ///
    /// # Safety
    /// From now on no object of this arena may be used or freed, and no other handle of it may
    /// allocate.
    pub unsafe fn discard(self) {
        // SAFETY: this handle is a claim; the rest is the caller's contract.
        unsafe { Heap::discard(Arc::as_ptr(&self.heap)) };
    }
}
