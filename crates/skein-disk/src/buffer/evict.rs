//! Room for pages in memory: who makes some lets pages leave that the policy proposes (section 2.2).

use std::ptr;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;

use super::Buffer;
use super::frame::Frame;
use super::table::Entry;
use crate::page::{Bytes, PageId, Place};
use crate::policy::Fate;
use crate::{DiskError, Result};

impl Buffer {
    /// Makes room for one page more.
    pub(super) fn reserve(&self) -> Result<()> {
        let fits = |resident| Some(resident + 1).filter(|count| *count <= self.cache);
        while self.counts.resident.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            self.evict()?;
        }
        Ok(())
    }

    pub(super) fn give_back_room(&self) {
        self.counts.resident.fetch_sub(1, Ordering::Relaxed);
    }

    /// Lets a page leave; one that has changed is written first. It may have been no more, or come to be used again.
    fn evict(&self) -> Result<()> {
        let id = self.victim().ok_or(DiskError::CacheInUse { cache: self.cache })?;
        let Some(entry) = self.table.get(id) else { return Ok(()) };
        let _stripe = lock(self.stripe(id));
        let guard = self.collector.enter();
        let raw = entry.frame.load(PROTECT);
        // SAFETY: the guard keeps it.
        let Some(frame) = (unsafe { raw.as_ref() }) else { return Ok(()) };
        if !frame.close() {
            lock(&self.policy).come(id);
            return Ok(());
        }
        if frame.is_dirty()
            && let Err(error) = self.write_out(entry, frame)
        {
            frame.reopen();
            lock(&self.policy).come(id);
            return Err(error);
        }
        // The writer may have published another form of it meanwhile, which takes its room.
        if entry.frame.compare_exchange(raw, ptr::null_mut(), Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            Self::retire(raw, &guard);
            self.give_back_room();
            self.counts.evictions.fetch_add(1, Ordering::Relaxed);
        } else {
            lock(&self.policy).come(id);
        }
        Ok(())
    }

    /// The page that the policy lets leave.
    fn victim(&self) -> Option<PageId> {
        let guard = self.collector.enter();
        let frame_of = |id| {
            let frame = self.table.get(id)?.frame.load(PROTECT);
            let _ = &guard;
            // SAFETY: the guard keeps it as long as the closure is used.
            unsafe { frame.as_ref() }
        };
        let mut take_use = |id| frame_of(id).is_some_and(Frame::take_use);
        let mut fate =
            |id| if frame_of(id).is_some_and(Frame::is_referred) { Fate::Stays } else { Fate::Leaves };
        lock(&self.policy).leave(&mut take_use, &mut fate)
    }

    /// Writes a frame that has changed to a free place. The page's stripe is locked.
    pub(super) fn write_out(&self, entry: &Entry, frame: &Frame) -> Result<()> {
        let place = self.write_anew(&frame.bytes)?;
        if frame.is_claimed() {
            lock(&self.places).keep_taken(place);
        }
        frame.written(place);
        self.set_place(entry, Some(place));
        Ok(())
    }

    /// Writes a page to a free place, which has one reason to be kept then.
    pub(super) fn write_anew(&self, bytes: &Bytes) -> Result<Place> {
        let place = lock(&self.places).take(&self.file)?;
        if let Err(error) = self.file.write(place, bytes) {
            lock(&self.places).let_go(place);
            return Err(error);
        }
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        Ok(place)
    }
}
