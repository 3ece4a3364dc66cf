//! Large arrays of atomic words for hash tables: zeroed, aligned to cache lines, on huge pages where that pays.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::Deref;
use std::ptr::NonNull;

use skein_sync::atomic::AtomicU64;

use super::CACHE_LINE;
use super::pages::{self, PAGE, REGION};

/// An array of atomic words, all zero at first.
///
/// It begins on a cache line. From 64 KiB on it comes straight from the system, and from 2 MiB on it lies on huge pages unless told
/// otherwise: a lookup in a table is a random read, and on small pages most of those miss the TLB too.
///
/// ```
/// use std::sync::atomic::Ordering;
///
/// let words = skein_index::memory::Words::new(1024, true);
/// words[7].store(5, Ordering::Relaxed);
/// assert_eq!(words.iter().map(|word| word.load(Ordering::Relaxed)).sum::<u64>(), 5);
/// assert_eq!(words.bytes(), 8192);
/// ```
#[derive(Debug)]
pub struct Words {
    /// Owned, initialised, `len` of them.
    first: NonNull<AtomicU64>,
    len: usize,
}

// SAFETY: the words are atomics, owned as a `Box` of them would be.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

/// What memory an array takes.
enum Origin {
    /// The global allocator, by this layout.
    Allocator(Layout),
    /// The system, so many bytes.
    Pages(usize),
}

fn origin(len: usize) -> Origin {
    let bytes = len.max(1).checked_mul(size_of::<AtomicU64>());
    let page = if bytes.is_some_and(|bytes| bytes < REGION) { PAGE } else { REGION };
    let rounded = bytes.and_then(|bytes| bytes.checked_next_multiple_of(page));
    let (Some(bytes), Some(rounded)) = (bytes, rounded) else {
        // No address space holds it: as much out of memory as any.
        handle_alloc_error(Layout::new::<AtomicU64>());
    };
    // Under loom a word is no plain integer, and arrays are small.
    if bytes >= PAGE && !cfg!(skein_loom) {
        return Origin::Pages(rounded);
    }
    match Layout::from_size_align(bytes, CACHE_LINE) {
        Ok(layout) => Origin::Allocator(layout),
        Err(_) => handle_alloc_error(Layout::new::<AtomicU64>()),
    }
}

impl Words {
    /// `len` zeros; on huge pages if `huge`, the array is large enough and the system agrees.
    ///
    /// Aborts, as every allocation in Rust does, if there is no memory.
    pub fn new(len: usize, huge: bool) -> Self {
        let first = match origin(len) {
            Origin::Pages(bytes) => pages::map(bytes, huge),
            Origin::Allocator(layout) => {
                // SAFETY: the layout's size is not zero.
                let block = unsafe { alloc_zeroed(layout) };
                NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
            }
        };
        let words = Self { first: first.cast(), len };
        if cfg!(skein_loom) {
            for index in 0..len {
                // SAFETY: inside the block, which is ours alone.
                unsafe { words.first.add(index).write(AtomicU64::new(0)) };
            }
        }
        words
    }

    /// The bytes it takes.
    pub fn bytes(&self) -> usize {
        match origin(self.len) {
            Origin::Pages(bytes) => bytes,
            Origin::Allocator(layout) => layout.size(),
        }
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `new` made so many, and zeros are valid atomics (under loom they were written one by one).
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if cfg!(skein_loom) {
            for index in 0..self.len {
                // SAFETY: written in `new`; this is its last use.
                unsafe { self.first.add(index).drop_in_place() };
            }
        }
        // SAFETY: taken from there in `new`, for the same length.
        unsafe {
            match origin(self.len) {
                Origin::Pages(bytes) => pages::unmap(self.first.cast(), bytes),
                Origin::Allocator(layout) => dealloc(self.first.as_ptr().cast(), layout),
            }
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn small_and_large_arrays_are_zero_and_aligned() {
        for len in [0, 1, 1000, PAGE / 8, REGION / 8 - 1, REGION / 8, REGION / 8 + 1] {
            let words = Words::new(len, true);
            assert_eq!(words.len(), len);
            assert!(words.as_ptr().addr().is_multiple_of(CACHE_LINE));
            assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
            assert!(words.bytes() >= 8 * len);
            words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        }
    }
}
