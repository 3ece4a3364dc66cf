//! Freeing pages, and keys that lie elsewhere.

use std::ops::Range;
use std::ptr::NonNull;

use skein_sync::reclaim::{GracePeriod, Guard};

use super::entry::EntryKey;
use super::{Page, PageHead};
use crate::memory::{Arena, MemoryPart};

impl Page {
    /// Frees the page, but neither values nor keys that lie elsewhere.
    ///
    /// # Safety
    /// No thread can reach the page, and it is counted as `part`.
    pub(in crate::page_tree) unsafe fn free(self, part: MemoryPart) {
        let size = self.size();
        // SAFETY: allocated in `new` with this size; the rest is the caller's promise. Models give
        // the version a drop.
        unsafe {
            self.0.drop_in_place();
            Arena::free(self.0.cast(), size, part);
        }
    }

    /// Frees the page as [`free`](Self::free) does, when no thread can see it any more.
    ///
    /// # Safety
    /// The page is unlinked: no guard entered from now on can reach it.
    pub(in crate::page_tree) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim(head: *mut PageHead, _: &GracePeriod) {
            // SAFETY: the collector passes the pointer of `retire`, after the grace period.
            unsafe { Page(NonNull::new_unchecked(head)).free(MemoryPart::Retired) };
        }
        // SAFETY: the page is live and counted as `Nodes`; the caller guarantees that it is
        // unlinked.
        unsafe {
            Arena::recount(self.0.cast(), self.size(), MemoryPart::Nodes, MemoryPart::Retired);
            guard.defer_retire(self.0.as_ptr(), reclaim);
        }
    }

    /// Frees a slot's key if it lies elsewhere.
    ///
    /// # Safety
    /// The page owns the key, and no thread can reach it.
    pub(in crate::page_tree) unsafe fn free_key(self, slot: usize) {
        if let EntryKey::Far(block, length) = self.key_of(slot) {
            // SAFETY: allocated in `EntryKey::of` with this size; the rest is the caller's promise.
            unsafe { Arena::free(block, length.into(), MemoryPart::Keys) };
        }
    }

    /// Frees a slot's key if it lies elsewhere, when no thread can see it any more.
    ///
    /// # Safety
    /// The page owned the key, and the key was removed.
    pub(in crate::page_tree) unsafe fn retire_key(self, slot: usize, guard: &impl Guard) {
        if let EntryKey::Far(block, length) = self.key_of(slot) {
            // SAFETY: the block is live and counted as `Keys`; the rest is the caller's promise.
            unsafe { retire_block(block, length, guard) };
        }
    }

    /// Frees the keys at some ranks that lie elsewhere here, but not in a page with a prefix of
    /// `prefix_len` bytes, when no thread can see them any more.
    ///
    /// # Safety
    /// Such a page has replaced this one, which is unlinked.
    pub(in crate::page_tree) unsafe fn retire_keys_near(
        self,
        ranks: Range<usize>,
        prefix_len: usize,
        guard: &impl Guard,
    ) {
        if prefix_len == self.prefix_len() {
            return;
        }
        for slot in ranks.map(|rank| self.slot_of(rank)) {
            if self.key_of(slot).becomes_near(prefix_len) {
                // SAFETY: the caller's promise.
                unsafe { self.retire_key(slot, guard) };
            }
        }
    }
}

/// Frees the block of a long key when no thread can see it any more. A box carries its length,
/// because a reclaimer gets nothing but an address.
///
/// # Safety
/// The block is live, counted as `Keys`, and unlinked.
unsafe fn retire_block(block: NonNull<u8>, length: u16, guard: &impl Guard) {
    unsafe fn reclaim(retired: *mut (NonNull<u8>, u16), _: &GracePeriod) {
        // SAFETY: the collector passes the pointer of `retire_block`, after the grace period.
        unsafe {
            let (block, length) = *Box::from_raw(retired);
            Arena::free(block, length.into(), MemoryPart::Retired);
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        Arena::recount(block, length.into(), MemoryPart::Keys, MemoryPart::Retired);
        guard.defer_retire(Box::into_raw(Box::new((block, length))), reclaim);
    }
}
