//! Keeping the versions that a publication replaces, and writing them when memory is wanted.

use std::sync::Arc;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_sync::mutex::alone;

use super::kept_versions::{KeptVersion, KeptVersionKey, UnwrittenVersion};
use crate::Result;
use crate::buffer::BufferManager;
use crate::buffer::frame::PageFrame;
use crate::page::PagePlace;

impl BufferManager {
    /// Keeps the current version of a page if a live snapshot needs it and it is not kept yet. The
    /// caller holds the writer's lock, and will replace the version by the publication of the key.
    pub(super) fn keep_replaced(&self, key: KeptVersionKey) {
        let Some(entry) = self.table.get(key.id) else { return };
        // Nobody evicts, loads or writes the page while this lock is held. The version is either
        // that of the frame or, without one, the newest written version.
        let _stripe = self.lock_stripe(key.id);
        let frame = self.pin(entry);
        let born = frame.as_ref().map_or(0, |frame| frame.born());
        let mut kept = alone(&self.moments.kept);
        if kept.contains(key) {
            return;
        }
        let Some(needs) = kept.needs(key, born) else { return };
        let version = match (frame, entry.place()) {
            (Some(frame), _) => {
                frame.keep();
                self.retain(frame.place());
                KeptVersion::InMemory(frame)
            }
            (None, Some(place)) => {
                self.retain(Some(place));
                KeptVersion::InFile(place)
            }
            // The publication makes the page.
            (None, None) => return,
        };
        kept.insert(key, version, needs);
        // Relaxed: the frame that is stored later is the Release (invariant 3).
        entry.kept.store(true, Ordering::Relaxed);
    }

    fn retain(&self, place: Option<PagePlace>) {
        if let Some(place) = place {
            lock(&self.places).retain(place);
        }
    }

    /// Makes room for the versions that the next publication replaces (invariant 5). Does nothing
    /// without snapshots.
    ///
    /// # Errors
    /// A frame cannot be written. It stays in memory.
    pub(in crate::buffer) fn trim_kept(&self) -> Result<()> {
        if self.moments.is_empty() { Ok(()) } else { self.trim_kept_to(self.kept_most()) }
    }

    /// Removes frames of kept versions from memory until at most `most` are left.
    ///
    /// # Errors
    /// A frame cannot be written. It stays in memory.
    pub(super) fn trim_kept_to(&self, most: usize) -> Result<()> {
        loop {
            let mut unloaded = Vec::new();
            let unwritten = alone(&self.moments.kept).shrink(most, &mut unloaded);
            for frame in unloaded {
                self.retire_kept(frame);
            }
            match unwritten {
                Some(version) => self.write_kept(&version)?,
                None => return Ok(()),
            }
        }
    }

    /// Writes a frame to its promised place, and removes it from memory.
    fn write_kept(&self, (key, frame): &UnwrittenVersion) -> Result<()> {
        {
            let _stripe = self.lock_stripe(key.id);
            // An eviction or a checkpoint may have written it, and its snapshots may have ended.
            if frame.is_dirty() && frame.is_kept() {
                let place = self.write_frame(frame)?;
                self.note_written(frame, place);
                match self.table.get(key.id) {
                    // The publication that will replace it has not happened yet. An eviction would
                    // not write the frame again, so the table must lead to this place.
                    Some(entry) if self.is_in_table(frame) => self.set_place(entry, Some(place)),
                    // The reason of this write; the kept version has its own.
                    _ => lock(&self.places).release(place),
                }
            }
        }
        let unloaded = alone(&self.moments.kept).unload(*key);
        if let Some(frame) = unloaded {
            self.retire_kept(frame);
        }
        Ok(())
    }

    fn retire_kept(&self, frame: Arc<PageFrame>) {
        self.retired.retire(frame, &self.collector);
    }
}
