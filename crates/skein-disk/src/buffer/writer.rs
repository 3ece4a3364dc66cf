//! Writing: copies of the pages that change, published all at one moment.
//!
//! There is one writer at a time. It reads pages as they are, since nobody else changes any; what it changes it copies first, and nobody sees the copies until
//! they are published. A write that is given up, by an error say, leaves nothing behind.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::{self, NonNull};
use std::sync::{Arc, MutexGuard};

use skein_sync::atomic::{Ordering, fence};
use skein_sync::locks::lock;

use super::frame::PageFrame;
use super::{BufferManager, UncachedPage, WalkStop};
use crate::page::{DiskPageKind, PageBytes, PageId};
use crate::page_buf::PageBuf;
use crate::page_file::PlaceReservation;
use crate::{DiskError, Result};

/// What a write only reads is kept up to this share of the cache, and so many pages.
const READ_SHARE: usize = 8;
const READ_MOST: usize = 64;

/// What only the writer knows.
#[derive(Debug, Default)]
pub(super) struct PageWriterState {
    /// Ids that no page has.
    pub(super) free: Vec<PageId>,
    /// Pages that have changed since the last checkpoint began.
    pub(super) changed: Vec<PageId>,
}

/// One write.
#[derive(Debug)]
pub(crate) struct PageWriter<'b> {
    buffer: &'b BufferManager,
    writing: MutexGuard<'b, PageWriterState>,
    /// The frame that was looked at last. A write may take as long as its caller likes, so it holds no guard (`retired.rs`).
    pinned: Option<Arc<PageFrame>>,
    copies: BTreeMap<PageId, PageBuf>,
    /// Pages that this write has made, and those that it takes away.
    made: Vec<PageId>,
    freed: BTreeSet<PageId>,
    past: Vec<UncachedPage<'b>>,
}

impl BufferManager {
    /// Begins a write; waits for the one under way.
    pub(crate) fn write(&self) -> PageWriter<'_> {
        let writing = lock(&self.writing);
        PageWriter {
            buffer: self,
            writing,
            pinned: None,
            copies: BTreeMap::new(),
            made: Vec::new(),
            freed: BTreeSet::new(),
            past: Vec::new(),
        }
    }
}

impl PageWriter<'_> {
    /// A page as it is to be.
    pub(crate) fn page(&mut self, id: PageId) -> Result<&PageBytes> {
        self.buffer.file.check_open()?;
        self.check_not_freed(id)?;
        loop {
            if let Some(found) = self.find(id) {
                // SAFETY: the frame is pinned, and copies and what was read past the cache are ours: as long as this write is borrowed they stay.
                return Ok(unsafe { found.as_ref() });
            }
            // Past the cache, so that it does not leave before it has been looked at. It comes to the cache with what is published.
            match self.buffer.read_past(id)? {
                Some(past) => self.past.push(past),
                // A reader may have brought it meanwhile; then it is found, or has left again.
                None if self.buffer.is_page(id) => {}
                None => {
                    return Err(self.buffer.damaged_page(id, "there is no such page, and it is referred to"));
                }
            }
        }
    }

    /// Looks at a page that is not to be kept for this write.
    pub(crate) fn glance<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> Result<T> {
        self.check_not_freed(id)?;
        if let Some(copy) = self.copies.get(&id) {
            return Ok(look(copy));
        }
        // Nobody else changes it.
        let seen = self.buffer.glance(id, false, look)?;
        seen.ok_or_else(|| self.buffer.damaged_page(id, "there is no such page, and it is referred to"))
    }

    pub(super) fn buffer(&self) -> &BufferManager {
        self.buffer
    }

    /// Whether this write has not taken a page away. Two values of a damaged file may have the same pages: given back twice, its id would be given out twice.
    fn check_not_freed(&self, id: PageId) -> Result<()> {
        if self.freed.contains(&id) {
            return Err(self.buffer.damaged_page(id, "it was given back, and is referred to"));
        }
        Ok(())
    }

    /// Lets go of what was only read so far.
    pub(super) fn release_reads(&mut self) {
        self.past.clear();
        self.pinned = None;
    }

    /// Lets go of what was only read so far if that is much: what is read besides the cache counts as what is written does.
    pub(crate) fn release_many_reads(&mut self) {
        if self.past.len() > (self.cache() / READ_SHARE).min(READ_MOST) {
            self.release_reads();
        }
    }

    /// A page, if it was copied, or is in memory, or was read for this write. Others may let it leave the table at any time; since nobody
    /// else changes it, a frame that has left is as good.
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
            None => self.past.iter().find_map(|past| past.bytes_of(id)).map(NonNull::from),
        }
    }

    /// A page, to be changed.
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

    /// A copy of a page. One that was read for this write alone is taken instead.
    fn copy(&mut self, id: PageId) -> Result<PageBuf> {
        // Reads it, if nobody has.
        self.page(id)?;
        let read = self.past.iter().position(|past| past.bytes_of(id).is_some());
        match read.and_then(|at| self.past.swap_remove(at).into_copy()) {
            Some(taken) => Ok(taken),
            None => Ok(PageBuf::copy_of(self.page(id)?)),
        }
    }

    /// A new page.
    pub(crate) fn make(&mut self, kind: DiskPageKind) -> Result<PageId> {
        let free = self.writing.free.pop();
        let id = free.or_else(|| self.buffer.table.grow());
        let id = id.ok_or(DiskError::FileFull { pages: self.buffer.table.len() })?;
        self.copies.insert(id, PageBuf::new(id, kind));
        self.made.push(id);
        Ok(id)
    }

    /// Takes a page away.
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

    /// What it is that stopped this write. It is to be given up then: some of it may be done.
    pub(crate) fn fault(&self, stop: WalkStop) -> DiskError {
        match stop.into_damage() {
            Ok((id, what)) => self.buffer.damaged_page(id, &what),
            Err(error) => error,
        }
    }

    /// Pages that this write keeps in memory besides the cache: copies, and what was read past it.
    pub(crate) fn pages(&self) -> usize {
        self.copies.len() + self.past.len()
    }

    /// Pages that this write changes, or makes.
    pub(crate) fn copies(&self) -> usize {
        self.copies.len()
    }

    /// Pages of the cache, which a write has to fit.
    pub(crate) fn cache(&self) -> usize {
        self.buffer.cache
    }

    /// Publishes all changes at one moment.
    ///
    /// # Errors
    /// They are more than the cache has pages; the file cannot grow by a place for each of them; no page can leave the cache because the
    /// file cannot be written. Nothing is changed then.
    pub(crate) fn publish(self) -> Result<()> {
        self.publish_then(|| ())
    }

    /// The same; `published` is called once they are, before anybody else writes, or begins a checkpoint.
    ///
    /// # Errors
    /// They are more than the cache has pages; the file cannot grow by a place for each of them; no page can leave the cache because the
    /// file cannot be written. Nothing is changed then.
    pub(crate) fn publish_then(mut self, published: impl FnOnce()) -> Result<()> {
        let buffer = self.buffer;
        let count = self.copies.len();
        if count >= buffer.cache {
            return Err(DiskError::WriteTooLarge { pages: count, cache: buffer.cache });
        }
        self.pinned = None;
        buffer.retired.wait_for_walks(&buffer.collector);
        let reservations =
            PlaceReservation::make(&buffer.places, &buffer.file, count, buffer.map_and_directory_count())?;
        for reserved in 0..count {
            if let Err(error) = buffer.reserve_for_write() {
                (0..reserved).for_each(|_| buffer.release_reserved());
                return Err(error);
            }
        }
        let new = std::mem::take(&mut self.copies).into_iter().zip(reservations);
        let new: Vec<(PageId, *mut PageFrame)> = new
            .map(|((id, bytes), reservation)| {
                (id, Arc::into_raw(Arc::new(PageFrame::changed(id, bytes, reservation))).cast_mut())
            })
            .collect();
        self.made.clear();
        let freed: Vec<PageId> = std::mem::take(&mut self.freed).into_iter().collect();
        let old = self.swap_frames(&new, &freed);
        self.note_published(&new, &freed, &old);
        published();
        self.past.drain(..).for_each(UncachedPage::move_to_cache);
        Ok(())
    }

    /// Puts frames into the table, and takes those of freed pages out; returns what was there.
    fn swap_frames(&self, new: &[(PageId, *mut PageFrame)], freed: &[PageId]) -> Vec<*mut PageFrame> {
        let buffer = self.buffer;
        let _publishing = lock(&buffer.publishing);
        // Relaxed, and the fence: nobody who sees what is exchanged below sees less than the odd number.
        buffer.published.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        let none = freed.iter().map(|id| (*id, ptr::null_mut()));
        let all = new.iter().copied().chain(none);
        let old = all.map(|(id, frame)| match buffer.table.get(id) {
            // Release, and more: the bytes of the frame are there for who finds it.
            Some(entry) => entry.frame.swap(frame, Ordering::SeqCst),
            None => ptr::null_mut(),
        });
        let old = old.collect();
        // Release: pairs with the Acquire at the begin of a walk.
        buffer.published.fetch_add(1, Ordering::Release);
        old
    }

    /// Keeps the books after an exchange.
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
            // Relaxed: under the writer's lock, as a checkpoint that takes it back is.
            && !entry.changed.swap(true, Ordering::Relaxed)
        {
            self.writing.changed.push(id);
        }
    }
}

impl Drop for PageWriter<'_> {
    fn drop(&mut self) {
        // What was not published never was.
        let made = std::mem::take(&mut self.made);
        self.writing.free.extend(made);
    }
}
