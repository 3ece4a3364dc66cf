//! Large arrays of atomic words for hash tables: zeroed, aligned to cache lines, and on huge pages
//! if they are large enough. They lie outside the arena's regions, but the arena counts them.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Deref;
use std::ptr::NonNull;

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::CACHE_LINE;
use super::arena::{Arena, MemoryPart};
use super::pages::{self, PAGE, PageSource, REGION};

/// An array of atomic words, all zero at first.
///
/// It begins on a cache line. From 64 KiB on it comes directly from the system, and from 2 MiB on
/// it lies on huge pages unless the caller forbids it: a lookup in a table is a random read, and on
/// small pages most of those miss the TLB too.
///
/// ```
/// use std::sync::atomic::Ordering;
///
/// use skein_index::memory::{Arena, AtomicWords, MemoryPart};
///
/// let arena = Arena::new();
/// let words = AtomicWords::new(&arena, 1024, true);
/// words[7].store(5, Ordering::Relaxed);
/// assert_eq!(words.iter().map(|word| word.load(Ordering::Relaxed)).sum::<u64>(), 5);
/// assert_eq!((words.bytes(), arena.live(MemoryPart::Nodes)), (8192, 8192));
/// ```
#[derive(Debug)]
pub struct AtomicWords {
    /// The first of `len` words, which are owned and initialised.
    first: NonNull<AtomicU64>,
    len: usize,
    /// The arena that counts the bytes, as nodes or as retired.
    arena: Arena,
    retired: AtomicBool,
}

// SAFETY: the words are atomics, owned as a `Box` of them would be.
unsafe impl Send for AtomicWords {}
// SAFETY: as above.
unsafe impl Sync for AtomicWords {}

/// The origin of an array's memory.
enum WordsOrigin {
    /// The global allocator, with this layout.
    Allocator(Layout),
    /// The system, with this number of bytes.
    Pages(usize),
}

fn origin(source: PageSource, len: usize) -> WordsOrigin {
    let bytes = len.max(1).checked_mul(size_of::<AtomicU64>());
    let page = if bytes.is_some_and(|bytes| bytes < REGION) { PAGE } else { REGION };
    let rounded = bytes.and_then(|bytes| bytes.checked_next_multiple_of(page));
    let (Some(bytes), Some(rounded)) = (bytes, rounded) else {
        // It exceeds the address space, so this is out of memory.
        handle_alloc_error(Layout::new::<AtomicU64>());
    };
    // Under `loom` a word is not a plain integer, and arrays are small.
    if bytes >= PAGE && source != PageSource::Allocator && !cfg!(skein_loom) {
        return WordsOrigin::Pages(rounded);
    }
    match Layout::from_size_align(bytes, CACHE_LINE) {
        Ok(layout) => WordsOrigin::Allocator(layout),
        Err(_) => handle_alloc_error(Layout::new::<AtomicU64>()),
    }
}

impl AtomicWords {
    /// Returns an array of `len` zeros, counted as nodes of `arena`. With `huge` it lies on huge
    /// pages if it is large enough and the system agrees.
    ///
    /// Aborts the process, as every allocation in Rust does, if there is no memory.
    pub fn new(arena: &Arena, len: usize, huge: bool) -> Self {
        let first = match origin(arena.heap.source, len) {
            WordsOrigin::Pages(bytes) => pages::map(bytes, huge),
            WordsOrigin::Allocator(layout) => {
                // SAFETY: the layout's size is not zero.
                let block = unsafe { alloc_zeroed(layout) };
                NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
            }
        };
        let words = Self { first: first.cast(), len, arena: arena.clone(), retired: AtomicBool::new(false) };
        arena.heap.count(words.bytes(), MemoryPart::Nodes);
        if cfg!(skein_loom) {
            for index in 0..len {
                // SAFETY: inside the block, which only this thread knows.
                unsafe { words.first.add(index).write(AtomicU64::new(0)) };
            }
        }
        words
    }

    /// Returns the bytes that the array occupies.
    pub fn bytes(&self) -> usize {
        Self::bytes_of(&self.arena, self.len)
    }

    /// Returns the bytes that an array of `len` words occupies in `arena`.
    pub fn bytes_of(arena: &Arena, len: usize) -> usize {
        match origin(arena.heap.source, len) {
            WordsOrigin::Pages(bytes) => bytes,
            WordsOrigin::Allocator(layout) => layout.size(),
        }
    }

    /// Returns the arena that counts the bytes.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Counts the array as retired from now on: unlinked, but perhaps still seen by readers.
    pub fn mark_retired(&self) {
        // Relaxed here and in `drop`: the array was handed to the dropping thread after this call.
        if !self.retired.swap(true, Ordering::Relaxed) {
            self.arena.heap.recount(self.bytes(), MemoryPart::Nodes, MemoryPart::Retired);
        }
    }
}

impl Deref for AtomicWords {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `new` allocated `len` words, and zeros are valid atomics (under `loom` they were
        // written one by one).
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl Drop for AtomicWords {
    fn drop(&mut self) {
        let part = if self.retired.load(Ordering::Relaxed) { MemoryPart::Retired } else { MemoryPart::Nodes };
        self.arena.heap.uncount(self.bytes(), part);
        if cfg!(skein_loom) {
            for index in 0..self.len {
                // SAFETY: written in `new`; this is its last use.
                unsafe { self.first.add(index).drop_in_place() };
            }
        }
        // SAFETY: `new` allocated it from this origin with the same length.
        unsafe {
            match origin(self.arena.heap.source, self.len) {
                WordsOrigin::Pages(bytes) => pages::unmap(self.first.cast(), bytes),
                WordsOrigin::Allocator(layout) => dealloc(self.first.as_ptr().cast(), layout),
            }
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_arrays_are_zero_and_aligned() {
        for len in [0, 1, 1000, PAGE / 8, REGION / 8 - 1, REGION / 8, REGION / 8 + 1] {
            let words = AtomicWords::new(&Arena::new(), len, true);
            assert_eq!(words.len(), len);
            assert!(words.as_ptr().addr().is_multiple_of(CACHE_LINE));
            assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
            assert!(words.bytes() >= 8 * len);
            words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        }
    }

    #[test]
    fn the_arena_counts_them_until_they_are_dropped() {
        let arena = Arena::new();
        let (first, second) = (AtomicWords::new(&arena, 100, true), AtomicWords::new(&arena, PAGE, true));
        let bytes = first.bytes() + second.bytes();
        assert_eq!((arena.live(MemoryPart::Nodes), arena.taken(), arena.reserved()), (bytes, bytes, bytes));
        second.mark_retired();
        second.mark_retired();
        assert_eq!(
            (arena.live(MemoryPart::Nodes), arena.live(MemoryPart::Retired)),
            (first.bytes(), second.bytes())
        );
        drop(first);
        assert_eq!((arena.live(MemoryPart::Nodes), arena.taken()), (0, second.bytes()));
        drop(second);
        assert_eq!((arena.live(MemoryPart::Retired), arena.taken(), arena.reserved()), (0, 0, 0));
    }
}
