//! Writing: private copies of the pages that change, published all at once.
//!
//! There is one writer at a time, so the pages that it reads do not change. It copies a page before
//! it changes it, and no other thread sees the copies before they are published. A write that is
//! dropped, for example after an error, changes nothing.
//!
//! A publication has these steps; the first three may fail and then change nothing:
//!
//! 1. Check that the copies fit the cache.
//! 2. Promise a place in the file to each copy, so that it can be written later even if the disk is
//!    full (`page_file/reservation.rs`).
//! 3. Reserve room in the cache (`evict.rs`).
//! 4. If there are snapshots, keep the versions that are replaced (`moments/`). Then replace all
//!    frames in the table, between two increments of `published`.
//! 5. Retire the old frames and update the policy, the places and the list of changed pages.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::{self, NonNull};
use std::sync::{Arc, MutexGuard};

use skein_sync::atomic::{Ordering, fence};
use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;

use super::frame::PageFrame;
use super::page_table::PageTableEntry;
use super::{BufferManager, UncachedPage, WalkStop};
use crate::page::{DiskPageKind, PageBytes, PageId};
use crate::page_buf::PageBuf;
use crate::page_file::PlaceReservation;
use crate::{DiskError, Result};

/// A write keeps pages that it only reads up to this share of the cache and up to this number.
const READ_SHARE: usize = 8;
const READ_MOST: usize = 64;

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
    buffer: &'b BufferManager,
    /// The pages of the cache when the write began (`cache_room.rs`).
    cache: usize,
    writing: MutexGuard<'b, PageWriterState>,
    /// The frame of the last access. A write may take as long as its caller likes, so it holds no
    /// guard (`retired_frames.rs`).
    pinned: Option<Arc<PageFrame>>,
    copies: BTreeMap<PageId, PageBuf>,
    /// Pages that this write allocated, and pages that it frees.
    made: Vec<PageId>,
    freed: BTreeSet<PageId>,
    uncached: Vec<UncachedPage<'b>>,
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
            copies: BTreeMap::new(),
            made: Vec::new(),
            freed: BTreeSet::new(),
            uncached: Vec::new(),
        }
    }
}

impl PageWriter<'_> {
    /// Returns the bytes of a page as this write has changed them.
    pub(crate) fn page(&mut self, id: PageId) -> Result<&PageBytes> {
        self.buffer.file.check_open()?;
        self.check_not_freed(id)?;
        loop {
            if let Some(found) = self.find(id) {
                // SAFETY: the frame is pinned, and this write owns its copies and uncached pages.
                // All stay while the write is borrowed.
                return Ok(unsafe { found.as_ref() });
            }
            // Without the cache, so that the page is not evicted before its use. It moves to the
            // cache when the write is published.
            match self.buffer.read_uncached(id)? {
                Some(uncached) => self.uncached.push(uncached),
                // A reader may have loaded the page; then `find` finds it, or it was evicted again.
                None if self.buffer.is_page(id) => {}
                None => {
                    return Err(self
                        .buffer
                        .damaged_page(id, "there is no such page, but a pointer leads to it"));
                }
            }
        }
    }

    /// Returns whether the page can be read without the file.
    pub(crate) fn is_in_memory(&self, id: PageId) -> bool {
        let is_loaded = |entry: &PageTableEntry| !entry.frame.load(PROTECT).is_null();
        self.copies.contains_key(&id) || self.buffer.table.get(id).is_some_and(is_loaded)
    }

    /// Passes a page to `look` without keeping it for this write.
    pub(crate) fn with_page<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> Result<T> {
        self.check_not_freed(id)?;
        if let Some(copy) = self.copies.get(&id) {
            return Ok(look(copy));
        }
        // No other thread changes it.
        let seen = self.buffer.with_page(id, false, look)?;
        seen.ok_or_else(|| self.buffer.damaged_page(id, "there is no such page, but a pointer leads to it"))
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
    fn find(&mut self, id: PageId) -> Option<NonNull<PageBytes>> {
        if let Some(copy) = self.copies.get(&id) {
            return Some(NonNull::from(&**copy));
        }
        if self.pinned.as_ref().is_none_or(|frame| frame.id != id) {
            self.pinned = self.buffer.pin(self.buffer.table.get(id)?);
        }
        match &self.pinned {
            Some(frame) => {
                frame.count_use();
                Some(NonNull::from(&*frame.bytes))
            }
            None => self.uncached.iter().find_map(|uncached| uncached.bytes_of(id)).map(NonNull::from),
        }
    }

    /// Returns the bytes of a page for changing.
    pub(crate) fn page_mut(&mut self, id: PageId) -> Result<&mut PageBytes> {
        if !self.copies.contains_key(&id) {
            let copy = self.copy(id)?;
            self.copies.insert(id, copy);
        }
        self.copies
            .get_mut(&id)
            .map(|copy| &mut **copy)
            .ok_or_else(|| self.buffer.damaged_page(id, "it was not copied"))
    }

    /// Returns a copy of a page. If the page was read for this write alone, takes that page
    /// instead.
    fn copy(&mut self, id: PageId) -> Result<PageBuf> {
        // Reads the page if it was not read before.
        self.page(id)?;
        let read = self.uncached.iter().position(|uncached| uncached.bytes_of(id).is_some());
        match read.and_then(|at| self.uncached.swap_remove(at).into_copy()) {
            Some(taken) => Ok(taken),
            None => Ok(PageBuf::copy_of(self.page(id)?)),
        }
    }

    /// Allocates a page.
    pub(crate) fn make(&mut self, kind: DiskPageKind) -> Result<PageId> {
        let free = self.writing.free.pop();
        let id = free.or_else(|| self.buffer.table.grow());
        let id = id.ok_or(DiskError::FileFull { pages: self.buffer.table.len() })?;
        self.copies.insert(id, PageBuf::new(id, kind));
        self.made.push(id);
        Ok(id)
    }

    /// Frees a page.
    pub(crate) fn free(&mut self, id: PageId) {
        self.copies.remove(&id);
        match self.made.iter().position(|made| *made == id) {
            Some(at) => {
                self.made.swap_remove(at);
                self.writing.free.push(id);
            }
            None => _ = self.freed.insert(id),
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

    /// Returns how many pages this write keeps in memory besides the cache: copies and uncached
    /// pages.
    pub(crate) fn pages(&self) -> usize {
        self.copies.len() + self.uncached.len()
    }

    /// Returns how many pages this write changes or allocates.
    pub(crate) fn copies(&self) -> usize {
        self.copies.len()
    }

    /// Returns the pages of the cache; a write must not use more.
    pub(crate) fn cache(&self) -> usize {
        self.cache
    }

    /// Publishes all changes at once.
    ///
    /// # Errors
    /// The write changes more pages than the cache has, the file cannot grow by a place for each of
    /// them, or no page can be evicted because the file cannot be written. Nothing is changed then.
    pub(crate) fn publish(self) -> Result<()> {
        self.publish_then(|| ())
    }

    /// Publishes all changes at once, then calls `published` before another write, a checkpoint or
    /// a snapshot begins. `published` must be short, because readers may wait for it.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub(crate) fn publish_then(mut self, published: impl FnOnce()) -> Result<()> {
        let buffer = self.buffer;
        let count = self.copies.len();
        if count >= self.cache {
            return Err(DiskError::WriteTooLarge { pages: count, cache: self.cache });
        }
        self.pinned = None;
        buffer.trim_kept()?;
        buffer.retired.wait_for_walks(self.cache, &buffer.collector);
        let reservations =
            PlaceReservation::make(&buffer.places, &buffer.file, count, buffer.map_and_directory_count())?;
        for reserved in 0..count {
            if let Err(error) = buffer.reserve_for_write(self.cache) {
                (0..reserved).for_each(|_| buffer.release_reserved());
                return Err(error);
            }
        }
        let new = std::mem::take(&mut self.copies).into_iter().zip(reservations);
        let number = buffer.publications() + 1;
        let frame_of = |(id, bytes), reservation| {
            (id, Arc::into_raw(Arc::new(PageFrame::changed(id, bytes, number, reservation))).cast_mut())
        };
        let new: Vec<(PageId, *mut PageFrame)> =
            new.map(|(copy, reservation)| frame_of(copy, reservation)).collect();
        self.made.clear();
        let freed: Vec<PageId> = std::mem::take(&mut self.freed).into_iter().collect();
        let old = self.swap_frames(&new, &freed, published);
        self.note_published(&new, &freed, &old);
        self.uncached.drain(..).for_each(UncachedPage::move_to_cache);
        // The write is published. Pages that cannot be evicted now leave by a later eviction.
        _ = buffer.evict_excess();
        Ok(())
    }

    /// Stores the new frames in the table and removes those of freed pages. Returns the previous
    /// frames.
    fn swap_frames(
        &self,
        new: &[(PageId, *mut PageFrame)],
        freed: &[PageId],
        published: impl FnOnce(),
    ) -> Vec<*mut PageFrame> {
        let buffer = self.buffer;
        let replaced = || new.iter().map(|(id, _)| *id).chain(freed.iter().copied());
        let _publishing = buffer.lock_to_publish(replaced);
        // Relaxed, with the fence: a thread that sees one of the frames swapped below also sees the
        // odd number.
        buffer.published.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        let none = freed.iter().map(|id| (*id, ptr::null_mut()));
        let all = new.iter().copied().chain(none);
        let old = all.map(|(id, frame)| match buffer.table.get(id) {
            // Release at least: a thread that finds the frame sees its bytes.
            Some(entry) => entry.frame.swap(frame, Ordering::SeqCst),
            None => ptr::null_mut(),
        });
        let old = old.collect();
        // Release: pairs with the Acquire at the start of a walk.
        buffer.published.fetch_add(1, Ordering::Release);
        published();
        old
    }

    /// Updates policy, room and places after the publication.
    fn note_published(&mut self, new: &[(PageId, *mut PageFrame)], freed: &[PageId], old: &[*mut PageFrame]) {
        let buffer = self.buffer;
        for (&(id, _), &frame) in new.iter().zip(old) {
            self.note_change(id);
            if frame.is_null() {
                lock(&buffer.policy).insert(id);
            } else {
                buffer.release_reserved();
                buffer.supersede(frame);
            }
        }
        for (&id, &frame) in freed.iter().zip(&old[new.len()..]) {
            self.note_change(id);
            if !frame.is_null() {
                lock(&buffer.policy).remove(id);
                buffer.release_reserved();
                buffer.supersede(frame);
            }
            if let Some(entry) = buffer.table.get(id) {
                let _stripe = lock(buffer.stripe(id));
                buffer.set_place(entry, None);
            }
            self.writing.free.push(id);
        }
    }

    fn note_change(&mut self, id: PageId) {
        if let Some(entry) = self.buffer.table.get(id)
            // Relaxed: under the writer's lock, like the checkpoint that clears the flag.
            && !entry.changed.swap(true, Ordering::Relaxed)
        {
            self.writing.changed.push(id);
        }
    }
}

impl Drop for PageWriter<'_> {
    fn drop(&mut self) {
        // The ids of unpublished pages are free again.
        let made = std::mem::take(&mut self.made);
        self.writing.free.extend(made);
    }
}
