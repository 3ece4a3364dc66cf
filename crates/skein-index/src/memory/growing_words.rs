//! Growing arrays of atomic words. An array grows and shrinks in place: it reserves its address
//! space once, and takes memory as it is needed.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Mutex;

use skein_sync::atomic::AtomicU64;
use skein_sync::locks::lock;

use super::CACHE_LINE;
use super::arena::{Arena, MemoryPart};
use super::atomic_words::AtomicWords;
use super::pages::{self, PAGE, REGION};

/// Whether the whole array is allocated at once: under Miri and `loom`, which have no pages to
/// commit and small arrays.
const AT_ONCE: bool = cfg!(any(miri, skein_loom));

/// An array of atomic words that grows and shrinks in place. At first it is empty. Words that
/// become ready are zero, or keep the value that they had when they were last ready.
///
/// It begins on a cache line. Words that are no longer ready may still be read.
///
/// ```
/// use std::sync::atomic::Ordering;
///
/// use skein_index::memory::{Arena, GrowingWords, MemoryPart};
///
/// let arena = Arena::new();
/// let words = GrowingWords::new(&arena, 1 << 30, true);
/// words.resize(1 << 13);
/// // SAFETY: 1024 lines are ready.
/// let line = unsafe { words.line(1000) };
/// line[7].store(5, Ordering::Relaxed);
/// assert_eq!(arena.live(MemoryPart::Nodes), 64 << 10);
/// words.resize(0);
/// assert_eq!(arena.live(MemoryPart::Nodes), 0);
/// ```
#[derive(Debug)]
pub struct GrowingWords {
    memory: GrowingMemory,
    first: NonNull<AtomicU64>,
    /// The number of lines of the whole array.
    lines: usize,
    ready: Mutex<ReadyBytes>,
    huge: bool,
    arena: Arena,
}

/// The numbers of bytes, from the first word on, that are ready.
#[derive(Clone, Copy, Debug, Default)]
struct ReadyBytes {
    /// The bytes of the ready words. The arena counts them.
    counted: usize,
    /// The same in whole pages: these bytes have memory.
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

/// The number of words in a cache line.
const LINE: usize = CACHE_LINE / 8;

impl GrowingWords {
    /// Reserves address space for `most` words, a multiple of a cache line's. With `huge`, their
    /// memory lies on huge pages if the system agrees.
    ///
    /// Aborts the process, as every allocation in Rust does, if there is no address space.
    ///
    /// # Panics
    /// Panics if `most` is not such a multiple, is 0, or exceeds half of the address space.
    pub fn new(arena: &Arena, most: usize, huge: bool) -> Self {
        assert!(
            most > 0 && most.is_multiple_of(LINE),
            "{most} words: the length must be a multiple of {LINE} and not 0"
        );
        let len = most.checked_mul(size_of::<AtomicU64>()).filter(|&len| len <= isize::MAX as usize / 2);
        let len = len.unwrap_or_else(|| panic!("{most} words are more than the address space has"));
        let (memory, first) = if AT_ONCE {
            let words = AtomicWords::new(arena, most, false);
            // A pointer to the whole array: a pointer made from a reference to the first word would
            // be valid for that word only.
            let first = NonNull::from(&*words).cast();
            (GrowingMemory::Whole(words), first)
        } else {
            let len = len.next_multiple_of(REGION);
            (GrowingMemory::Reserved(len), pages::reserve(len).cast())
        };
        let ready = Mutex::default();
        Self { memory, first, lines: most / LINE, ready, huge, arena: arena.clone() }
    }

    /// Makes the first `len` words ready, and the words behind them no longer ready. Concurrent
    /// callers wait for each other.
    ///
    /// Aborts the process if there is no memory.
    ///
    /// # Panics
    /// Panics if the array was made for fewer words.
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
            // SAFETY: the range is inside the reservation, because `len` is at most `most`. It is
            // not committed, because the lock is held.
            unsafe { pages::commit(self.at(had..wanted), wanted - had, self.huge) };
        } else if wanted < had {
            // SAFETY: the range is inside the reservation, and committed. Words that are still read
            // there are zero from now on.
            unsafe { pages::decommit(self.at(wanted..had), had - wanted) };
        }
    }

    /// Returns the start of a range of bytes.
    fn at(&self, range: Range<usize>) -> NonNull<u8> {
        // SAFETY: inside the array's address space.
        unsafe { self.first.cast::<u8>().add(range.start) }
    }

    /// Returns a line of words.
    ///
    /// # Safety
    /// The line must be ready, or have been ready once.
    #[inline(always)]
    pub unsafe fn line(&self, line: usize) -> &[AtomicU64; LINE] {
        debug_assert!(line < self.lines);
        // SAFETY: the caller promises that the line was ready once, so it stays mapped; words are
        // never anything but atomics.
        unsafe { &*self.line_address(line).cast() }
    }

    /// Returns the address of a line, for a prefetch. Any number is allowed.
    #[inline(always)]
    pub fn line_address(&self, line: usize) -> *const AtomicU64 {
        self.first.as_ptr().wrapping_add(line.wrapping_mul(LINE))
    }
}

impl Drop for GrowingWords {
    fn drop(&mut self) {
        if let GrowingMemory::Reserved(len) = self.memory {
            self.arena.heap.uncount(lock(&self.ready).counted, MemoryPart::Nodes);
            // SAFETY: reserved in `new` with this length; this is its last use.
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

    /// Once, `resize` was a safe function that accepted any length. Consequence: past the end of
    /// the array it committed or decommitted pages of other mappings, so other data was lost; and
    /// two callers at once left pages without memory, so accesses faulted. Fix: the length is
    /// checked, and callers wait for each other.
    #[test]
    fn a_length_past_the_end_panics() {
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
