//! Writing: private copies of the pages that change, published all at once (`publish.rs`).
//!
//! There is one writer at a time, so the pages that it reads do not change. It copies a page before
//! it changes it, and no other thread sees the copies before they are published. A write that is
//! dropped, for example after an error, changes nothing. A write of more pages than the cache has
//! keeps some of its copies in the file (`private_pages.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::{Arc, MutexGuard};

use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;

use super::frame::PageFrame;
use super::page_table::PageTableEntry;
use super::page_view::NO_PAGE_HERE;
use super::private_pages::PrivatePages;
use super::{BufferManager, PageReader, UncachedPage, WalkResult, WalkStop};
use crate::page::{DiskPageKind, PageBytes, PageId};
use crate::page_buf::PageBuf;
use crate::{DiskError, Result};

/// A write keeps pages that it only reads up to this share of the cache and up to this number.
const READ_SHARE: usize = 8;
const READ_MOST: usize = 64;
/// The share of the cache that the copies of a write may have in memory besides it.
const COPIES_SHARE: (usize, usize) = (3, 4);

/// The state that only the writer accesses.
#[derive(Debug, Default)]
pub(super) struct PageWriterState {
    pub(super) free: Vec<PageId>,
    /// Pages that have changed since the last checkpoint began.
    pub(super) changed: Vec<PageId>,
}

/// One write.
#[derive(Debug)]
pub(crate) struct PageWriter<'b> {
    pub(super) buffer: &'b BufferManager,
    /// The pages of the cache when the write began (`cache_room.rs`).
    pub(super) cache: usize,
    pub(super) writing: MutexGuard<'b, PageWriterState>,
    /// The frame of the last access. A write may take as long as its caller likes, so it holds no
    /// guard (`retired_frames.rs`).
    pub(super) pinned: Option<Arc<PageFrame>>,
    pub(super) copies: PrivatePages,
    /// Pages that this write allocated, and pages that it frees.
    pub(super) made: BTreeSet<PageId>,
    pub(super) freed: BTreeSet<PageId>,
    /// Pages that were read for this write. A write visits each page of a path several times, so
    /// they are found by their ids.
    pub(super) uncached: BTreeMap<PageId, UncachedPage<'b>>,
    /// The error of a copy that could not be spilled. The write can only be dropped then.
    pub(super) failed: Option<DiskError>,
}

impl BufferManager {
    /// Begins a write. Waits for the current one.
    pub(crate) fn write(&self) -> PageWriter<'_> {
        let writing = lock(&self.writing);
        PageWriter {
            buffer: self,
            cache: self.room.capacity(),
            writing,
            pinned: None,
            copies: PrivatePages::default(),
            made: BTreeSet::new(),
            freed: BTreeSet::new(),
            uncached: BTreeMap::new(),
            failed: None,
        }
    }
}

impl PageWriter<'_> {
    /// Returns the bytes of a page as this write has changed them.
    pub(crate) fn page(&mut self, id: PageId) -> Result<&PageBytes> {
        self.buffer.file.check_open()?;
        self.check_not_freed(id)?;
        loop {
            if let Some(found) = self.find(id)? {
                // SAFETY: the frame is pinned, and this write owns its copies and uncached pages.
                // All stay while the write is borrowed.
                return Ok(unsafe { found.as_ref() });
            }
            // Without the cache, so that the page is not evicted before its use. It moves to the
            // cache when the write is published.
            match self.buffer.read_uncached(id)? {
                Some(uncached) => _ = self.uncached.insert(id, uncached),
                // A reader may have loaded the page; then `find` finds it, or it was evicted again.
                None if self.buffer.is_page(id) => {}
                None => return Err(self.buffer.damaged_page(id, NO_PAGE_HERE)),
            }
        }
    }

    /// Returns whether the page can be read without the file.
    pub(crate) fn is_in_memory(&self, id: PageId) -> bool {
        let is_loaded = |entry: &PageTableEntry| !entry.frame.load(PROTECT).is_null();
        if self.copies.contains(id) {
            return !self.copies.is_spilled(id);
        }
        self.buffer.table.get(id).is_some_and(is_loaded)
    }

    /// Passes a page to `look` without keeping it for this write.
    pub(crate) fn with_page<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> Result<T> {
        self.check_not_freed(id)?;
        if let Some(copy) = self.copy_of(id)? {
            return Ok(look(copy));
        }
        // No other thread changes it.
        let seen = self.buffer.with_page(id, false, look)?;
        seen.ok_or_else(|| self.buffer.damaged_page(id, NO_PAGE_HERE))
    }

    pub(super) fn buffer(&self) -> &BufferManager {
        self.buffer
    }

    /// Errors if this write has freed the page. In a damaged file two values may have the same
    /// pages; if both freed a page, its id would be allocated twice.
    fn check_not_freed(&self, id: PageId) -> Result<()> {
        if self.freed.contains(&id) {
            return Err(self.buffer.damaged_page(id, "it was freed, but a pointer leads to it"));
        }
        Ok(())
    }

    /// Releases all pages that were only read.
    pub(super) fn release_reads(&mut self) {
        self.uncached.clear();
        self.pinned = None;
    }

    /// Releases the pages that were only read if there are many. Uncached pages count like copies
    /// towards the size of the write.
    pub(crate) fn release_many_reads(&mut self) {
        if self.uncached.len() > (self.cache() / READ_SHARE).min(READ_MOST) {
            self.release_reads();
        }
    }

    /// Returns a page if it was copied, is in memory, or was read for this write. Other threads may
    /// evict it at any time. No other thread changes it, so an evicted frame is still current.
    fn find(&mut self, id: PageId) -> Result<Option<NonNull<PageBytes>>> {
        if let Some(copy) = self.copy_of(id)? {
            return Ok(Some(NonNull::from(copy)));
        }
        if self.pinned.as_ref().is_none_or(|frame| frame.id != id) {
            self.pinned = self.buffer.table.get(id).and_then(|entry| self.buffer.pin(entry));
        }
        Ok(match &self.pinned {
            Some(frame) => {
                frame.count_use();
                Some(NonNull::from(&*frame.bytes))
            }
            None => self.uncached.get(&id).and_then(|uncached| uncached.bytes_of(id)).map(NonNull::from),
        })
    }

    /// Returns a page if this write has copied or allocated it.
    fn copy_of(&mut self, id: PageId) -> Result<Option<&PageBytes>> {
        if self.copies.is_spilled(id) {
            self.make_room()?;
        }
        self.copies.get(self.buffer, id)
    }

    /// Makes room in memory for one more copy.
    fn make_room(&mut self) -> Result<()> {
        self.failed()?;
        let done = self.copies.make_room(self.buffer, self.cache * COPIES_SHARE.0 / COPIES_SHARE.1);
        self.failed = done.as_ref().err().cloned();
        done
    }

    /// Checks that every copy that had to be spilled was.
    ///
    /// # Errors
    /// The reason why one was not.
    pub(crate) fn failed(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Returns the bytes of a page for changing.
    pub(crate) fn page_mut(&mut self, id: PageId) -> Result<&mut PageBytes> {
        if !self.copies.contains(id) {
            self.make_room()?;
            let copy = self.make_copy(id)?;
            self.copies.insert(self.buffer, id, copy);
        } else if self.copies.is_spilled(id) {
            self.make_room()?;
        }
        let buffer = self.buffer;
        let copy = self.copies.get_mut(buffer, id)?;
        copy.ok_or_else(|| buffer.damaged_page(id, "it was not copied"))
    }

    /// Returns a copy of a page. If the page was read for this write alone, takes that page
    /// instead.
    fn make_copy(&mut self, id: PageId) -> Result<PageBuf> {
        // Reads the page if it was not read before.
        self.page(id)?;
        let is_newest = self.uncached.get(&id).is_some_and(|uncached| uncached.bytes_of(id).is_some());
        let read = if is_newest { self.uncached.remove(&id) } else { None };
        match read.and_then(UncachedPage::into_copy) {
            Some(taken) => Ok(taken),
            None => Ok(PageBuf::copy_of(self.page(id)?)),
        }
    }

    /// Allocates a page.
    pub(crate) fn make(&mut self, kind: DiskPageKind) -> Result<PageId> {
        self.make_room()?;
        let free = self.writing.free.pop();
        let id = free.or_else(|| self.buffer.table.grow());
        let id = id.ok_or(DiskError::FileFull { pages: self.buffer.table.len() })?;
        self.copies.insert(self.buffer, id, PageBuf::new(id, kind));
        self.made.insert(id);
        Ok(id)
    }

    /// Frees a page.
    pub(crate) fn free(&mut self, id: PageId) {
        self.copies.remove(self.buffer, id);
        if self.made.remove(&id) {
            self.writing.free.push(id);
        } else {
            self.freed.insert(id);
        }
    }

    /// Returns the ids that no page has, as this write leaves them.
    pub(crate) fn free_ids(&self) -> impl Iterator<Item = PageId> {
        self.writing.free.iter().chain(&self.freed).copied()
    }

    /// Returns the error for a stopped walk. The write must be dropped then, because it may be
    /// incomplete.
    pub(crate) fn fault(&self, stop: WalkStop) -> DiskError {
        match stop.into_damage() {
            Ok((id, what)) => self.buffer.damaged_page(id, &what),
            Err(error) => error,
        }
    }

    /// Returns how many pages this write has changed, allocated, or read without the cache.
    pub(crate) fn pages(&self) -> usize {
        self.copies.len() + self.uncached.len()
    }

    /// Returns how many pages this write changes or allocates.
    pub(crate) fn copies(&self) -> usize {
        self.copies.len()
    }

    /// Returns the pages of the cache when the write began.
    pub(crate) fn cache(&self) -> usize {
        self.cache
    }
}

impl PageReader for PageWriter<'_> {
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        Ok(PageWriter::page(self, id)?)
    }

    fn with_page<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> WalkResult<T> {
        Ok(PageWriter::with_page(self, id, look)?)
    }
}

impl Drop for PageWriter<'_> {
    fn drop(&mut self) {
        self.copies.release(self.buffer);
        // The ids of unpublished pages are free again.
        let made = std::mem::take(&mut self.made);
        self.writing.free.extend(made);
    }
}
