//! An array of atomic words that grows and shrinks in place: its address space is taken once, its memory as it is needed.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use skein_sync::atomic::AtomicU64;

use super::CACHE_LINE;
use super::arena::{Arena, Part};
use super::pages::{self, PAGE, REGION};
use super::words::Words;

/// Whether the whole array is allocated at once: where there are no pages to play with, and arrays are small.
const AT_ONCE: bool = cfg!(any(miri, skein_loom));

/// An array of atomic words, at first of none; those that come are zero, or what they were when they went.
///
/// It begins on a cache line. Words that went may still be read.
///
/// ```
/// use std::sync::atomic::Ordering;
///
/// use skein_index::memory::{Arena, GrowingWords, Part};
///
/// let arena = Arena::new();
/// let words = GrowingWords::new(&arena, 1 << 30, true);
/// words.resize(1 << 13);
/// // SAFETY: 1024 lines are ready.
/// let line = unsafe { words.line(1000) };
/// line[7].store(5, Ordering::Relaxed);
/// assert_eq!(arena.live(Part::Nodes), 64 << 10);
/// words.resize(0);
/// assert_eq!(arena.live(Part::Nodes), 0);
/// ```
#[derive(Debug)]
pub struct GrowingWords {
    memory: Memory,
    first: NonNull<AtomicU64>,
    /// Lines of the whole array.
    lines: usize,
    /// Bytes of words that are ready, which the arena counts, and of those with whole pages, which have memory.
    counted: AtomicUsize,
    committed: AtomicUsize,
    huge: bool,
    arena: Arena,
}

#[derive(Debug)]
enum Memory {
    Whole(#[allow(dead_code, reason = "held for its drop")] Words),
    Reserved(usize),
}

// SAFETY: the words are atomics, owned as a `Box` of them would be.
unsafe impl Send for GrowingWords {}
// SAFETY: as above.
unsafe impl Sync for GrowingWords {}

/// Words in a cache line.
const LINE: usize = CACHE_LINE / 8;

impl GrowingWords {
    /// Takes address space for `most` words, a multiple of a line's; memory on huge pages if `huge` and the system agrees.
    ///
    /// Aborts, as every allocation in Rust does, if there is none.
    ///
    /// # Panics
    /// If `most` is no such multiple.
    pub fn new(arena: &Arena, most: usize, huge: bool) -> Self {
        assert!(most.is_multiple_of(LINE), "whole cache lines");
        let (memory, first) = if AT_ONCE {
            let words = Words::new(arena, most, false);
            let first = NonNull::from(&words[0]);
            (Memory::Whole(words), first)
        } else {
            let len = (most * size_of::<AtomicU64>()).next_multiple_of(REGION);
            (Memory::Reserved(len), pages::reserve(len).cast())
        };
        Self {
            memory,
            first,
            lines: most / LINE,
            counted: AtomicUsize::new(0),
            committed: AtomicUsize::new(0),
            huge,
            arena: arena.clone(),
        }
    }

    /// Makes the first `len` words ready, and those after them no more. One thread at a time.
    ///
    /// Aborts if there is no memory.
    pub fn resize(&self, len: usize) {
        let Memory::Reserved(most) = self.memory else { return };
        let wanted = len * size_of::<AtomicU64>();
        // Relaxed, here and below: one thread at a time; the sums order nothing.
        let had = self.counted.swap(wanted, Ordering::Relaxed);
        if wanted > had {
            self.arena.heap.count(wanted - had, Part::Nodes);
        } else {
            self.arena.heap.uncount(had - wanted, Part::Nodes);
        }
        let step = if wanted < REGION { PAGE } else { REGION };
        let wanted = wanted.next_multiple_of(step).min(most);
        let had = self.committed.swap(wanted, Ordering::Relaxed);
        if wanted > had {
            // SAFETY: inside the reservation, and not committed.
            unsafe { pages::commit(self.at(had..wanted), wanted - had, self.huge) };
        } else if wanted < had {
            // SAFETY: inside the reservation. What is still read there is zero from now on.
            unsafe { pages::decommit(self.at(wanted..had), had - wanted) };
        }
    }

    /// Where a range of bytes begins.
    fn at(&self, range: Range<usize>) -> NonNull<u8> {
        // SAFETY: inside the array's address space.
        unsafe { self.first.cast::<u8>().add(range.start) }
    }

    /// A line of words.
    ///
    /// # Safety
    /// The line is ready, or was once.
    #[inline(always)]
    pub unsafe fn line(&self, line: usize) -> &[AtomicU64; LINE] {
        debug_assert!(line < self.lines);
        // SAFETY: ready once, says the caller, so mapped for ever; words are never anything but atomics.
        unsafe { &*self.line_address(line).cast() }
    }

    /// The address of a line, for a prefetch; any number will do.
    #[inline(always)]
    pub fn line_address(&self, line: usize) -> *const AtomicU64 {
        self.first.as_ptr().wrapping_add(line * LINE)
    }
}

impl Drop for GrowingWords {
    fn drop(&mut self) {
        if let Memory::Reserved(len) = self.memory {
            self.arena.heap.uncount(*self.counted.get_mut(), Part::Nodes);
            // SAFETY: reserved in `new` for this length; this is its last use.
            unsafe { pages::unmap(self.first.cast(), len) };
        }
    }
}
