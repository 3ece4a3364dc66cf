//! An array of atomic words that grows and shrinks in place: its address space is taken once, its memory as it is needed.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Mutex;

use skein_sync::atomic::AtomicU64;
use skein_sync::locks::lock;

use super::CACHE_LINE;
use super::arena::{Arena, MemoryPart};
use super::atomic_words::AtomicWords;
use super::pages::{self, PAGE, REGION};

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
    memory: GrowingMemory,
    first: NonNull<AtomicU64>,
    /// Lines of the whole array.
    lines: usize,
    ready: Mutex<ReadyBytes>,
    huge: bool,
    arena: Arena,
}

/// Bytes from the first word on.
#[derive(Clone, Copy, Debug, Default)]
struct ReadyBytes {
    /// Of the words that are ready: the arena counts them.
    counted: usize,
    /// Of whole pages: they have memory.
    committed: usize,
}

#[derive(Debug)]
enum GrowingMemory {
    Whole(#[allow(dead_code, reason = "held for its drop")] AtomicWords),
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
    /// If `most` is no such multiple, is 0, or is more words than half of the address space has.
    pub fn new(arena: &Arena, most: usize, huge: bool) -> Self {
        assert!(
            most > 0 && most.is_multiple_of(LINE),
            "{most} words: take whole cache lines, and at least one"
        );
        let len = most.checked_mul(size_of::<AtomicU64>()).filter(|&len| len <= isize::MAX as usize / 2);
        let len = len.unwrap_or_else(|| panic!("{most} words are more than the address space has"));
        let (memory, first) = if AT_ONCE {
            let words = AtomicWords::new(arena, most, false);
            // Of the whole array: what is made of a reference to the first word reaches no further.
            let first = NonNull::from(&*words).cast();
            (GrowingMemory::Whole(words), first)
        } else {
            let len = len.next_multiple_of(REGION);
            (GrowingMemory::Reserved(len), pages::reserve(len).cast())
        };
        let ready = Mutex::default();
        Self { memory, first, lines: most / LINE, ready, huge, arena: arena.clone() }
    }

    /// Makes the first `len` words ready, and those after them no more. Callers take turns.
    ///
    /// Aborts if there is no memory.
    ///
    /// # Panics
    /// If the array was made for fewer words.
    pub fn resize(&self, len: usize) {
        let most = self.lines * LINE;
        assert!(len <= most, "resized to {len} words, made for {most}");
        let GrowingMemory::Reserved(reserved) = self.memory else { return };
        let mut ready = lock(&self.ready);
        let wanted = len * size_of::<AtomicU64>();
        let step = if wanted < REGION { PAGE } else { REGION };
        let had = std::mem::replace(
            &mut *ready,
            ReadyBytes { counted: wanted, committed: wanted.next_multiple_of(step).min(reserved) },
        );
        if wanted > had.counted {
            self.arena.heap.count(wanted - had.counted, MemoryPart::Nodes);
        } else {
            self.arena.heap.uncount(had.counted - wanted, MemoryPart::Nodes);
        }
        let (wanted, had) = (ready.committed, had.committed);
        if wanted > had {
            // SAFETY: inside the reservation, as `len` is at most `most`, and not committed, as the lock is held.
            unsafe { pages::commit(self.at(had..wanted), wanted - had, self.huge) };
        } else if wanted < had {
            // SAFETY: inside the reservation, and committed. What is still read there is zero from now on.
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
        self.first.as_ptr().wrapping_add(line.wrapping_mul(LINE))
    }
}

impl Drop for GrowingWords {
    fn drop(&mut self) {
        if let GrowingMemory::Reserved(len) = self.memory {
            self.arena.heap.uncount(lock(&self.ready).counted, MemoryPart::Nodes);
            // SAFETY: reserved in `new` for this length; this is its last use.
            unsafe { pages::unmap(self.first.cast(), len) };
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;

    /// Incident: `resize` was safe, and took any length: past the end of the array it gave memory to, or took it from, what else the
    /// system had mapped there. Two callers at once left pages without memory. Consequence: other data lost, or a fault. Fix: the
    /// length is checked, and callers take turns.
    #[test]
    fn a_length_past_the_end_is_refused() {
        let arena = Arena::new();
        let words = GrowingWords::new(&arena, 1024, false);
        words.resize(1024);
        for len in [1025, REGION, usize::MAX] {
            assert!(catch_unwind(AssertUnwindSafe(|| words.resize(len))).is_err(), "{len} words");
        }
        // SAFETY: all 128 lines are ready.
        let line = unsafe { words.line(127) };
        line[7].store(1, Ordering::Relaxed);
        for most in [0, 1025, usize::MAX - 7] {
            let made = catch_unwind(AssertUnwindSafe(|| drop(GrowingWords::new(&arena, most, false))));
            assert!(made.is_err(), "{most} words");
        }
    }

    #[test]
    fn threads_that_resize_at_once_lose_no_count_and_no_pages() {
        const LINES: usize = 4 * REGION / CACHE_LINE;
        const ROUNDS: usize = if cfg!(miri) { 4 } else { 200 };
        let arena = Arena::new();
        let words = GrowingWords::new(&arena, LINES * LINE, false);
        thread::scope(|scope| {
            for seed in 1..4 {
                let words = &words;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        words.resize((seed * round * 7919) % (LINES * LINE));
                    }
                });
            }
        });
        words.resize(LINES * LINE);
        for line in (0..LINES).step_by(PAGE / CACHE_LINE) {
            // SAFETY: all are ready.
            let line = unsafe { words.line(line) };
            line[0].store(1, Ordering::Relaxed);
        }
        drop(words);
        assert_eq!((arena.live(MemoryPart::Nodes), arena.taken()), (0, 0));
    }
}
