//! Suffix blocks: what is left of a key after its slice, with the key's value, outside the node.
//!
//! ```text
//!   ┌───────────┬──────────┬──────────────┐
//!   │ value  8  │ length 2 │ bytes ...    │     rounded up to 8 bytes
//!   └───────────┴──────────┴──────────────┘
//! ```
//!
//! Masstree stores suffixes inside the node or outside, whatever fits (section 4.2); ours always lie
//! outside, in a block of exactly their size: on real paths they differ too much for room inside to pay.
//!
//! # Invariants
//! 1. The length and the bytes never change once the block is linked; the value is an atomic word.
//! 2. A block is used only while it is live: it was reached under a guard that is still held, or it is not
//!    shared yet, or the tree is borrowed mutably.

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
        // SAFETY: the memory is ours alone, aligned to 8 and long enough for all three parts.
        unsafe {
            pointer.cast::<AtomicU64>().write(AtomicU64::new(value));
            pointer.add(size_of::<AtomicU64>()).cast::<u16>().write(length);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer.as_ptr().add(HEAD), bytes.len());
        }
        Self(pointer)
    }

    /// The block whose address is in `word`.
    ///
    /// # Safety
    /// The word came from [`Self::address`], and invariant 2 holds for the block.
    #[inline(always)]
    pub(super) unsafe fn from_word(word: u64) -> Self {
        // SAFETY: passed on to the caller.
        Self(unsafe { at_address(word) })
    }

    /// The block's address, a multiple of 8.
    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        address_of(self.0)
    }

    #[inline(always)]
    fn value_word<'a>(self) -> &'a AtomicU64 {
        // SAFETY: the block is live (invariant 2) and starts with the value word.
        unsafe { self.0.cast().as_ref() }
    }

    /// The value.
    #[inline(always)]
    pub(super) fn value(self) -> u64 {
        self.value_word().load(PROTECT)
    }

    /// Replaces the value. The caller holds the lock of the border node that links to the block.
    #[inline(always)]
    pub(super) fn set_value(self, value: u64) {
        // Release: pairs with the load in `value`; what the word points to is initialised.
        self.value_word().store(value, Ordering::Release);
    }

    /// The key's bytes past the slice.
    #[inline(always)]
    pub(super) fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: the block is live (invariant 2), and length and bytes do not change (invariant 1).
        unsafe {
            let length = self.0.add(size_of::<AtomicU64>()).cast::<u16>().read();
            std::slice::from_raw_parts(self.0.as_ptr().add(HEAD), length.into())
        }
    }

    /// Bytes the block takes, rounding included.
    pub(super) fn footprint(self) -> usize {
        Arena::rounded(HEAD + self.bytes().len())
    }

    /// Asks for the cache lines of the block at an address, as far as `length` bytes of the suffix go.
    #[inline(always)]
    pub(super) fn prefetch(address: u64, length: usize) {
        let block: *const u8 = std::ptr::without_provenance(address as usize);
        let mut offset = 0;
        while offset < HEAD + length {
            prefetch_read(block.wrapping_add(offset));
            offset += CACHE_LINE;
        }
        // A block may begin anywhere in a line, and so end in one more.
        prefetch_read(block.wrapping_add(HEAD + length - 1));
    }

    /// Frees the block.
    ///
    /// # Safety
    /// Nobody can reach the block, and it is counted as `part`.
    pub(super) unsafe fn free(self, part: MemoryPart) {
        // SAFETY: allocated in `new` with this size; the caller vouches for the rest.
        unsafe { Arena::free(self.0, HEAD + self.bytes().len(), part) };
    }

    /// Frees the block, but not what its value owns, once nobody can see it.
    ///
    /// # Safety
    /// The block is unlinked: no one who takes a guard from now on can reach it.
    pub(super) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim(pointer: *mut u8, _: &GracePeriod) {
            // SAFETY: the collector gives back what `retire` gave it, after the grace period.
            unsafe { SuffixBlock(NonNull::new_unchecked(pointer)).free(MemoryPart::Retired) };
        }
        // SAFETY: the block is live and counted as `Keys`; the caller vouches that it is unlinked.
        unsafe {
            Arena::recount(self.0, HEAD + self.bytes().len(), MemoryPart::Keys, MemoryPart::Retired);
            guard.defer_retire(self.0.as_ptr(), reclaim);
        }
    }
}
