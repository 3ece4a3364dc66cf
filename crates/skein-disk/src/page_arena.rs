//! Memory for pages, mapped from the system in chunks.
//!
//! ```text
//!   chunk   │ page │ page │ page │ ... 256 pages of 4 KiB, side by side
//!   free    pages without an owner; the system has their memory back
//! ```
//!
//! A page is 4 KiB, aligned to 4 KiB. Allocators give such a block twice its size, because their
//! own head lies before it: with glibc's, a cache of 64 MiB took 128 MiB. Pages of a chunk lie side
//! by side, so a page takes its own 4 KiB and nothing else.
//!
//! The address space of a chunk is never given back, so it is bounded by the most pages that were
//! ever owned at once. The memory of a page is given back when it is freed.
//!
//! # Invariants
//! 1. An [`ArenaPage`] owns its page: no other one has its address, and the page lies in a chunk
//!    that is mapped until the process ends.

use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Mutex;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use skein_sync::locks::lock;

use crate::page::{PAGE, PageBytes};

/// Pages of a chunk: a megabyte.
const CHUNK: usize = 256;

/// The free pages of all chunks.
static FREE: Mutex<Vec<FreePage>> = Mutex::new(Vec::new());

/// A page without an owner.
struct FreePage(NonNull<PageBytes>);

// SAFETY: only the thread that takes it out of `FREE` uses the address.
unsafe impl Send for FreePage {}

/// A page of a chunk.
pub(crate) struct ArenaPage {
    page: NonNull<PageBytes>,
}

// SAFETY: it owns its page, as a box does (invariant 1).
unsafe impl Send for ArenaPage {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for ArenaPage {}

impl ArenaPage {
    /// Allocates a page with arbitrary bytes. Aborts the process if the system has no memory, as
    /// other allocations do.
    pub(crate) fn allocate() -> Self {
        let mut free = lock(&FREE);
        if free.is_empty() {
            map_chunk(&mut free);
        }
        let Some(FreePage(page)) = free.pop() else { handle_alloc_error(Layout::new::<PageBytes>()) };
        Self { page }
    }
}

/// Maps one more chunk, if the system has the memory.
fn map_chunk(free: &mut Vec<FreePage>) {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: the system selects the address, so nothing is overwritten.
    let mapped = unsafe { mmap_anonymous(ptr::null_mut(), CHUNK * PAGE, protection, flags) };
    let Some(first) = mapped.ok().and_then(|mapped| NonNull::new(mapped.cast::<PageBytes>())) else { return };
    // The first page is used first, so that the memory grows from one end.
    free.extend((0..CHUNK).rev().map(|at| {
        // SAFETY: within the chunk that was just mapped. The system's pages are 4 KiB or a multiple
        // of it, so the address is aligned.
        FreePage(unsafe { first.add(at) })
    }));
}

impl Drop for ArenaPage {
    fn drop(&mut self) {
        // If the system refuses, for example because its pages are larger, the memory stays with
        // the page and is used again. SAFETY: the page is mapped, and nobody else uses it
        // (invariant 1). Its bytes are zero afterwards, or as they were: both are a valid page.
        _ = unsafe { madvise(self.page.as_ptr().cast(), PAGE, Advice::LinuxDontNeed) };
        lock(&FREE).push(FreePage(self.page));
    }
}

impl Deref for ArenaPage {
    type Target = PageBytes;

    #[inline]
    fn deref(&self) -> &PageBytes {
        // SAFETY: mapped, owned and aligned (invariant 1); any bytes are a valid page, and those of
        // a new mapping are zero.
        unsafe { self.page.as_ref() }
    }
}

impl DerefMut for ArenaPage {
    #[inline]
    fn deref_mut(&mut self) -> &mut PageBytes {
        // SAFETY: as in `deref`, and the page is borrowed mutably.
        unsafe { self.page.as_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_apart_and_keep_their_bytes() {
        let count = CHUNK + 10;
        let mut pages: Vec<_> = (0..count).map(|_| ArenaPage::allocate()).collect();
        for (at, page) in pages.iter_mut().enumerate() {
            page.0.fill(at as u8);
        }
        assert!(pages.iter().enumerate().all(|(at, page)| page.0.iter().all(|byte| *byte == at as u8)));
        let mut places: Vec<_> = pages.iter().map(|page| ptr::from_ref(&**page) as usize).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= PAGE && pair[0].is_multiple_of(PAGE)));
        drop(pages);
        assert!(lock(&FREE).len() >= 10, "freed pages can be allocated again");
    }
}
