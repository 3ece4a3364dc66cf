//! Suffix blocks: the rest of a key after its slice, with the key's value, outside the node.
//!
//! ```text
//!   ┌───────────┬──────────┬──────────────┐
//!   │ value  8  │ length 2 │ bytes ...    │     rounded up to 8 bytes
//!   └───────────┴──────────┴──────────────┘
//! ```
//!
//! Masstree stores a suffix inside the node or outside, depending on its size (section 4.2). Ours
//! always lie outside, in a block of exact size: on real paths suffixes differ too much in length
//! for space inside the node to pay off.
//!
//! # Invariants
//! 1. The length and the bytes never change after the block is linked. The value is an atomic word.
//! 2. A block is used only while it is live: it was reached under a guard that is still held, or it
//!    is not shared yet, or the tree is borrowed mutably.

use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};

use crate::memory::{Arena, CACHE_LINE, MemoryPart, address_of, at_address, prefetch_read};

/// Bytes before the suffix: the value word and the length.
const HEAD: usize = size_of::<AtomicU64>() + size_of::<u16>();

/// A suffix block.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SuffixBlock(NonNull<u8>);

impl SuffixBlock {
    /// Allocates a block.
    pub(super) fn new(arena: &Arena, bytes: &[u8], value: u64) -> Self {
        let length = u16::try_from(bytes.len()).expect("a suffix is shorter than the longest key");
        let pointer = arena.alloc(HEAD + bytes.len(), MemoryPart::Keys);
        pointer.as_ptr().expose_provenance();
        // SAFETY: the memory is exclusively ours, aligned to 8 and long enough for all three parts.
        unsafe {
            pointer.cast::<AtomicU64>().write(AtomicU64::new(value));
            pointer.add(size_of::<AtomicU64>()).cast::<u16>().write(length);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer.as_ptr().add(HEAD), bytes.len());
        }
        Self(pointer)
    }

    /// Returns the block at the address in `word`.
    ///
    /// # Safety
    /// The word came from [`Self::address`], and invariant 2 holds for the block.
    #[inline(always)]
    pub(super) unsafe fn from_word(word: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { at_address(word) })
    }

    /// Returns the block's address, a multiple of 8.
    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        address_of(self.0)
    }

    #[inline(always)]
    fn value_word<'a>(self) -> &'a AtomicU64 {
        // SAFETY: the block is live (invariant 2) and starts with the value word.
        unsafe { self.0.cast().as_ref() }
    }

    /// Returns the value's word.
    #[inline(always)]
    pub(super) fn value(self) -> u64 {
        self.value_word().load(PROTECT)
    }

    /// Replaces the value. The caller must hold the lock of the border node that links to the
    /// block.
    #[inline(always)]
    pub(super) fn set_value(self, value: u64) {
        // Release: pairs with the load in `value`; the target of the word is initialised.
        self.value_word().store(value, Ordering::Release);
    }

    /// Returns the key's bytes after the slice.
    #[inline(always)]
    pub(super) fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: the block is live (invariant 2), and length and bytes do not change (invariant
        // 1).
        unsafe {
            let length = self.0.add(size_of::<AtomicU64>()).cast::<u16>().read();
            std::slice::from_raw_parts(self.0.as_ptr().add(HEAD), length.into())
        }
    }

    /// Returns the size of the block in bytes, rounding included.
    pub(super) fn footprint(self) -> usize {
        Arena::rounded(HEAD + self.bytes().len())
    }

    /// Prefetches the block at an address, up to `length` bytes of the suffix.
    #[inline(always)]
    pub(super) fn prefetch(address: u64, length: usize) {
        let block: *const u8 = std::ptr::without_provenance(address as usize);
        let mut offset = 0;
        while offset < HEAD + length {
            prefetch_read(block.wrapping_add(offset));
            offset += CACHE_LINE;
        }
        // A block may begin anywhere in a line, and so may extend into one more line.
        prefetch_read(block.wrapping_add(HEAD + length - 1));
    }

    /// Frees the block.
    ///
    /// # Safety
    /// No thread can reach the block, and it is counted as `part`.
    pub(super) unsafe fn free(self, part: MemoryPart) {
        // SAFETY: allocated in `new` with this size; the rest is the caller's promise.
        unsafe { Arena::free(self.0, HEAD + self.bytes().len(), part) };
    }

    /// Frees the block, but not the memory that its value owns, when no thread can see it any more.
    ///
    /// # Safety
    /// The block is unlinked: no guard entered from now on can reach it.
    pub(super) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim(pointer: *mut u8, _: &GracePeriod) {
            // SAFETY: the collector passes the pointer that `retire` gave it, after the grace
            // period.
            unsafe { SuffixBlock(NonNull::new_unchecked(pointer)).free(MemoryPart::Retired) };
        }
        // SAFETY: the block is live and counted as `Keys`; the caller guarantees that it is
        // unlinked.
        unsafe {
            Arena::recount(self.0, HEAD + self.bytes().len(), MemoryPart::Keys, MemoryPart::Retired);
            guard.defer_retire(self.0.as_ptr(), reclaim);
        }
    }
}
