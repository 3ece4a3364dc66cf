//! The publication of a write: all its pages replace the former ones at one moment.
//!
//! These are its steps. The first three may fail, and change nothing then.
//!
//! 1. Check that no copy failed to be spilled, and write kept versions of snapshots that are too
//!    many for the memory (`moments/`).
//! 2. Promise a place in the file to each page in memory, so that it can be written later even if
//!    the disk is full (`page_file/reservation.rs`).
//! 3. Reserve room in the cache (`evict.rs`).
//! 4. If there are snapshots, keep the versions that are replaced (`moments/`). Then replace all
//!    frames in the table, between two increments of `published`. A spilled page has no frame: its
//!    place replaces the former place.
//! 5. Retire the old frames, and update the policy, the places and the list of changed pages.
//!
//! # Invariant
//! A thread that loads a page reads its place and stores its frame under the lock of its stripe. A
//! publication holds the stripes of its spilled pages while it replaces their places. So no thread
//! stores the frame of a replaced version. A page that gets a frame needs no stripe: a loaded frame
//! is stored only in an empty entry.
//!
//! A freed page has neither a frame nor a new place. So a thread may load it until its place is
//! removed, in step 5. Then its frame leaves the table together with the place, under the lock of
//! its stripe: a frame in the table is dirty, or lies at the page's place, which has a reason.

use std::ptr;
use std::sync::Arc;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_sync::mutex::{self, MutexGuard};

use super::frame::PageFrame;
use super::private_pages::PublishedPages;
use super::writer::PageWriter;
use super::{BufferManager, STRIPES, UncachedPage};
use crate::Result;
use crate::page::{PageId, PagePlace};
use crate::page_file::PlaceReservation;

/// The pages that a publication replaces.
struct PublicationPages {
    frames: Vec<(PageId, *mut PageFrame)>,
    spilled: Vec<(PageId, PagePlace)>,
    freed: Vec<PageId>,
}

/// The frames and places that were in the table before, in the order of [`PublicationPages`].
struct ReplacedPages {
    frames: Vec<*mut PageFrame>,
    /// The former places of spilled pages.
    places: Vec<Option<PagePlace>>,
}

impl PublicationPages {
    /// Returns the new frame of each page: none for those that are not in memory.
    fn frames(&self) -> impl Iterator<Item = (PageId, *mut PageFrame)> {
        let without = self.spilled.iter().map(|(id, _)| *id).chain(self.freed.iter().copied());
        self.frames.iter().copied().chain(without.map(|id| (id, ptr::null_mut())))
    }
}

impl PageWriter<'_> {
    /// Publishes all changes at once.
    ///
    /// # Errors
    /// A page could not be spilled, the file cannot grow by a place for each page, or no page can
    /// be evicted because the file cannot be written. Nothing is changed then.
    pub(crate) fn publish(self) -> Result<()> {
        self.publish_then(|| ())
    }

    /// Publishes all changes at once, then calls `published` before another write, a checkpoint or
    /// a snapshot begins. `published` must be short, because readers may wait for it.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub(crate) fn publish_then(mut self, published: impl FnOnce()) -> Result<()> {
        self.failed()?;
        let buffer = self.buffer;
        self.pinned = None;
        buffer.trim_kept()?;
        buffer.retired.wait_for_walks(self.cache, &buffer.collector);
        let count = self.copies.unwritten();
        let reservations = PlaceReservation::make(&buffer.places, &buffer.file, count, buffer.list_count())?;
        for reserved in 0..count {
            if let Err(error) = buffer.reserve_for_write(self.cache) {
                (0..reserved).for_each(|_| buffer.release_reserved());
                return Err(error);
            }
        }
        let PublishedPages { in_memory, in_file } = self.copies.take();
        let number = buffer.publications() + 1;
        let frame_of = |((id, bytes), reservation)| {
            (id, Arc::into_raw(Arc::new(PageFrame::changed(id, bytes, number, reservation))).cast_mut())
        };
        let new = PublicationPages {
            frames: in_memory.into_iter().zip(reservations).map(frame_of).collect(),
            spilled: in_file,
            freed: std::mem::take(&mut self.freed).into_iter().collect(),
        };
        self.made.clear();
        let old = buffer.replace_pages(&new, published);
        self.note_published(&new, old);
        std::mem::take(&mut self.uncached).into_values().for_each(UncachedPage::move_to_cache);
        // The write is published. Pages that cannot be evicted now leave by a later eviction.
        _ = buffer.evict_excess();
        Ok(())
    }

    /// Updates policy, room and places after the publication.
    fn note_published(&mut self, new: &PublicationPages, old: ReplacedPages) {
        let buffer = self.buffer;
        for ((id, frame), replaced) in new.frames().zip(old.frames) {
            self.note_change(id);
            match (frame.is_null(), replaced.is_null()) {
                (true, true) => {}
                (false, true) => lock(&buffer.policy).insert(id),
                (true, false) => buffer.unload_replaced(id, replaced),
                (false, false) => {
                    buffer.release_reserved();
                    buffer.supersede(replaced);
                }
            }
        }
        old.places.into_iter().flatten().for_each(|place| lock(&buffer.places).release(place));
        for &id in &new.freed {
            buffer.remove_freed(id);
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

impl BufferManager {
    /// Replaces pages in the table, as one publication.
    fn replace_pages(&self, new: &PublicationPages, published: impl FnOnce()) -> ReplacedPages {
        let _publishing = self.lock_to_publish(|| new.frames().map(|(id, _)| id));
        let _stripes = self.lock_stripes(&new.spilled);
        let replaced = self.published.publish(|| {
            // Before the frames: at each moment the page has one of the two.
            let places = new.spilled.iter().map(|&(id, place)| self.table.get(id)?.set_place(Some(place)));
            let places = places.collect();
            let frames = new.frames().map(|(id, frame)| match self.table.get(id) {
                // Release at least: a thread that finds the frame sees its bytes.
                Some(entry) => entry.frame.swap(frame, Ordering::SeqCst),
                None => ptr::null_mut(),
            });
            ReplacedPages { frames: frames.collect(), places }
        });
        published();
        replaced
    }

    /// Removes the place of a freed page, and the frame of a reader that has loaded it meanwhile.
    fn remove_freed(&self, id: PageId) {
        let Some(entry) = self.table.get(id) else { return };
        let loaded = {
            let _stripe = self.lock_stripe(id);
            self.set_place(entry, None);
            entry.frame.swap(ptr::null_mut(), Ordering::SeqCst)
        };
        if !loaded.is_null() {
            self.unload_replaced(id, loaded);
        }
    }

    /// Retires a frame that was taken out of the table and has no successor there.
    fn unload_replaced(&self, id: PageId, replaced: *mut PageFrame) {
        lock(&self.policy).remove(id);
        self.release_reserved();
        self.supersede(replaced);
    }

    /// Locks the stripes of pages, in the order of their numbers. It waits for loads of such pages.
    fn lock_stripes(&self, pages: &[(PageId, PagePlace)]) -> Vec<MutexGuard<'_, ()>> {
        let mut stripes: Vec<usize> = pages.iter().map(|(id, _)| id.0 as usize % STRIPES).collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().map(|stripe| mutex::lock(&self.stripes[stripe])).collect()
    }
}
