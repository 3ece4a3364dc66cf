//! Loading pages into the cache. A loaded page stays there while it is referenced.
//!
//! # Invariant
//! Readers reference at most half of the cache, including pages that are being loaded. After a
//! resize it is half of the former one until those references end. A load first takes one of that
//! many slots, and its reference keeps the slot. So a writer always finds pages to evict.

use std::sync::Arc;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;

use super::BufferManager;
use super::frame::PageFrame;
use super::page_table::PageTableEntry;
use crate::Result;
use crate::page::PageId;

/// One of the limited number of references.
#[derive(Debug)]
struct ReferenceSlot<'b>(&'b BufferManager);

impl Drop for ReferenceSlot<'_> {
    fn drop(&mut self) {
        self.0.counts.referred.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A reference to a page in memory. The page is not evicted before the reference is dropped.
#[derive(Debug)]
pub(crate) struct PageReference<'b> {
    pub(super) frame: Arc<PageFrame>,
    _slot: ReferenceSlot<'b>,
}

#[cfg(test)]
impl PageReference<'_> {
    pub(crate) fn bytes(&self) -> &crate::page::PageBytes {
        &self.frame.bytes
    }
}

impl Drop for PageReference<'_> {
    fn drop(&mut self) {
        self.frame.release();
    }
}

#[derive(Debug)]
pub(super) enum FetchOutcome<'b> {
    /// The page is in memory.
    Loaded(PageReference<'b>),
    /// There is no such page.
    NoPage,
    /// The cache has no room for it. The caller can read it without the cache.
    NoRoom,
}

impl BufferManager {
    fn slot(&self) -> Option<ReferenceSlot<'_>> {
        let more = |referred| Some(referred + 1).filter(|count| *count <= self.room.capacity() / 2);
        let taken = self.counts.referred.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then(|| ReferenceSlot(self))
    }

    /// Returns a page's frame with one more reference, if the page is in memory.
    fn refer(&self, entry: &PageTableEntry) -> Option<Arc<PageFrame>> {
        self.pin(entry).filter(|frame| frame.refer())
    }

    /// Loads a page into the cache.
    ///
    /// # Errors
    /// The page cannot be read.
    pub(super) fn fetch(&self, id: PageId) -> Result<FetchOutcome<'_>> {
        let Some(entry) = self.table.get(id) else { return Ok(FetchOutcome::NoPage) };
        let Some(slot) = self.slot() else { return Ok(FetchOutcome::NoRoom) };
        loop {
            if let Some(frame) = self.refer(entry) {
                return Ok(FetchOutcome::Loaded(PageReference { frame, _slot: slot }));
            }
            // A loaded page evicts another one, which would be one retired frame more.
            if self.retired.is_full(self.room.capacity()) || self.reserve().is_err() {
                return Ok(FetchOutcome::NoRoom);
            }
            let loaded = {
                let _stripe = self.lock_stripe(id);
                if entry.frame.load(PROTECT).is_null() { self.load_frame(id, entry) } else { Ok(false) }
            };
            match loaded {
                Ok(true) => lock(&self.policy).insert(id),
                // Another thread was faster, or the page was freed or cannot be read.
                Ok(false) | Err(_) => self.release_reserved(),
            }
            if !loaded? && !self.is_page(id) {
                return Ok(FetchOutcome::NoPage);
            }
        }
    }
}
