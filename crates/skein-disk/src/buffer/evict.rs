//! Eviction: makes room in the cache by evicting pages that the policy selects (section 2.2).

use std::ptr;
use std::sync::Arc;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_sync::reclaim::PROTECT;
use skein_sync::spin::Backoff;

use super::BufferManager;
use super::frame::PageFrame;
use super::page_table::PageTableEntry;
use crate::page::{PageBytes, PageId, PagePlace};
use crate::page_file::PlaceReservation;
use crate::policy::VictimFate;
use crate::{DiskError, Result};

#[derive(Debug)]
pub(super) enum EvictFailure {
    /// All pages are in use.
    InUse,
    /// A changed page cannot be written.
    Failed(DiskError),
}

impl BufferManager {
    /// Reserves room for one page. Evicts pages if the cache is full.
    pub(super) fn reserve(&self) -> std::result::Result<(), EvictFailure> {
        while !self.room.try_take() {
            self.evict()?;
        }
        Ok(())
    }

    /// Reserves room for a page that a write has in memory already, in a cache of `capacity` pages.
    /// If no page can be evicted, the cache may grow to twice its size. The end of the publication
    /// shrinks it again.
    ///
    /// # Errors
    /// A changed page cannot be written.
    pub(super) fn reserve_for_write(&self, capacity: usize) -> Result<()> {
        let mut backoff = Backoff::new();
        while !self.room.try_take_within(capacity) {
            match self.evict() {
                Ok(()) => {}
                Err(EvictFailure::Failed(error)) => return Err(error),
                Err(EvictFailure::InUse) if self.room.try_take_within(capacity.saturating_mul(2)) => break,
                // Readers reference at most half of the cache, so other pages are only in use for
                // the moment.
                Err(EvictFailure::InUse) => backoff.wait(),
            }
        }
        Ok(())
    }

    /// Evicts pages while the cache is over its capacity. This is no sign that room is needed, so
    /// the evictor sleeps on.
    pub(super) fn evict_excess(&self) -> std::result::Result<(), EvictFailure> {
        while self.room.is_over() {
            self.evict_quietly()?;
        }
        Ok(())
    }

    pub(super) fn release_reserved(&self) {
        self.room.give_back();
    }

    /// Evicts one page. If it had to be written, wakes the evictor.
    fn evict(&self) -> std::result::Result<(), EvictFailure> {
        if self.evict_quietly()? {
            self.evictor.wake();
        }
        Ok(())
    }

    /// Evicts one page, and writes it first if it has changed. Does nothing if the page was freed
    /// or used meanwhile. Returns whether a page was written.
    pub(super) fn evict_quietly(&self) -> std::result::Result<bool, EvictFailure> {
        let id = self.victim().ok_or(EvictFailure::InUse)?;
        let Some(entry) = self.table.get(id) else { return Ok(false) };
        let _stripe = self.lock_stripe(id);
        // Pinned, so that no guard is held during the write.
        let Some(frame) = self.pin(entry) else { return Ok(false) };
        if !frame.close() {
            lock(&self.policy).insert(id);
            return Ok(false);
        }
        let is_dirty = frame.is_dirty();
        if is_dirty && let Err(error) = self.write_out(entry, &frame) {
            frame.reopen();
            lock(&self.policy).insert(id);
            self.counts.failed_evictions.fetch_add(1, Ordering::Relaxed);
            return Err(EvictFailure::Failed(error));
        }
        // The writer may have published a newer frame, which keeps the room.
        let (raw, null) = (Arc::as_ptr(&frame).cast_mut(), ptr::null_mut());
        if entry.frame.compare_exchange(raw, null, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.retire(raw);
            self.release_reserved();
            self.counts.evictions.fetch_add(1, Ordering::Relaxed);
        } else {
            lock(&self.policy).insert(id);
        }
        Ok(is_dirty)
    }

    fn victim(&self) -> Option<PageId> {
        let guard = self.collector.enter();
        let frame_of = |id| {
            let frame = self.table.get(id)?.frame.load(PROTECT);
            let _ = &guard;
            // SAFETY: the guard protects the frame as long as the closure is used.
            unsafe { frame.as_ref() }
        };
        let mut take_use = |id| frame_of(id).is_some_and(PageFrame::take_use);
        let mut fate = |id| {
            if frame_of(id).is_some_and(PageFrame::is_referred) {
                VictimFate::Keep
            } else {
                VictimFate::Evict
            }
        };
        lock(&self.policy).choose_victim(&mut take_use, &mut fate)
    }

    /// Writes a changed frame to a free place. The caller holds the page's stripe lock.
    pub(super) fn write_out(&self, entry: &PageTableEntry, frame: &PageFrame) -> Result<()> {
        let place = self.write_frame(frame)?;
        self.note_written(frame, place);
        self.set_place(entry, Some(place));
        Ok(())
    }

    /// Notes the place of a written frame, and adds the reasons of a checkpoint and of snapshots to
    /// keep it. The caller holds the page's stripe lock.
    pub(super) fn note_written(&self, frame: &PageFrame, place: PagePlace) {
        for _ in 0..u32::from(frame.is_claimed()) + frame.times_kept() {
            lock(&self.places).retain(place);
        }
        frame.set_written(place);
    }

    /// Writes a frame to the place that is promised to it, and adds one reason to keep that place.
    pub(super) fn write_frame(&self, frame: &PageFrame) -> Result<PagePlace> {
        // If a newer version was published meanwhile, the promise was released.
        let Some(reservation) = frame.take_reservation() else {
            return self.write_to_new_place(&frame.bytes);
        };
        let place = reservation.redeem()?;
        if let Err(error) = self.file.write(place, &frame.bytes) {
            frame.put_reservation(PlaceReservation::instead_of(place, &self.places));
            return Err(error);
        }
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        Ok(place)
    }

    /// Writes a page to a free place and adds one reason to keep it.
    pub(super) fn write_to_new_place(&self, bytes: &PageBytes) -> Result<PagePlace> {
        let place = lock(&self.places).take(&self.file)?;
        if let Err(error) = self.file.write(place, bytes) {
            lock(&self.places).release(place);
            return Err(error);
        }
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        Ok(place)
    }
}
