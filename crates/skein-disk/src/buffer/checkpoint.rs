//! Checkpoints: all published changes become the file's state at once.
//!
//! ```text
//!   begin   under the writer's lock: list the changed pages and pin their unwritten frames
//!   write   those frames to free places, then the maps and directories that lead to them
//!   end     sync; write one header, sync; write the other header, sync; release old places
//! ```
//!
//! No page is copied. Readers and the writer continue after `begin`.
//!
//! Before the checkpoint writes a frame, an eviction may write it, or a newer version may replace
//! it. The frame itself records its place, and the checkpoint adds a reason of its own to keep this
//! place.
//!
//! Design: `docs/design/disk.md`.

use std::collections::BTreeMap;
use std::sync::Arc;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;

use super::BufferManager;
use super::frame::PageFrame;
use crate::Result;
use crate::page::{DiskPageKind, HEAD, PageId, PagePlace};
use crate::page_buf::PageBuf;
use crate::page_file::{FileHeader, PER_PAGE};

/// The counts in the body of a page: behind the next page's place and their length.
pub(super) const COUNTS_AT: usize = 8;
/// Bytes of counts in a page, a multiple of those of one number.
pub(super) const COUNTS_OF_PAGE: usize = 4_040;
/// The pages of counts that a checkpoint needs at most: those of 1,023 databases, and of one more.
pub(super) const COUNT_PAGES_MOST: usize = 11;

/// The state that the last header leads to.
#[derive(Debug, Default)]
pub(crate) struct DurableState {
    pub(crate) header: FileHeader,
    /// The place of each page; 0 for a page that does not exist.
    pub(crate) places: Vec<u32>,
    pub(crate) maps: Vec<PagePlace>,
    /// The places of the pages of counts, in their order.
    pub(crate) counts: Vec<PagePlace>,
    /// The counts that were read when the file was opened, until the store takes them.
    pub(crate) count_bytes: Vec<u8>,
}

/// The moment of a checkpoint: the values that its header records besides the pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckpointMoment {
    /// The number of the last write in the pages.
    pub(crate) sequence: u64,
    /// The number of keys in the pages.
    pub(crate) keys: u64,
    /// The first epoch of the log that may have later writes.
    pub(crate) epoch: u64,
    /// The first page of the catalog.
    pub(crate) catalog: PageId,
    /// The numbers of reserved keys (`store/reserved_counts.rs`).
    pub(crate) counts: Vec<u8>,
}

/// A changed page in the version that the checkpoint needs.
#[derive(Debug)]
enum CheckpointClaim {
    /// In memory, perhaps not written yet.
    Frame(Arc<PageFrame>),
    /// Written at this place.
    At(PagePlace),
    /// The page was freed.
    Freed,
}

/// The pages, maps and directories that a checkpoint has written, with their places.
#[derive(Debug, Default)]
struct CheckpointWrites {
    pages: Vec<(PageId, u32)>,
    maps: Vec<(usize, PagePlace)>,
    directories: Vec<(usize, PagePlace)>,
    counts: Vec<PagePlace>,
}

impl CheckpointWrites {
    fn places(&self) -> impl Iterator<Item = PagePlace> {
        let pages = self.pages.iter().map(|(_, place)| PagePlace(*place)).filter(|place| place.0 != 0);
        let lists = self.maps.iter().chain(&self.directories).map(|(_, place)| *place);
        pages.chain(lists).chain(self.counts.iter().copied())
    }
}

impl BufferManager {
    /// Makes everything published the file's state.
    ///
    /// `moment` is called while no write is in progress. `ready` is called before the header is
    /// written, and may change the moment's epoch to an earlier one. Maps and directories at
    /// `lists_from` or behind are moved.
    ///
    /// # Errors
    /// A file operation failed. The file keeps its old state; after a failed sync it has the old or
    /// the new state.
    pub(crate) fn checkpoint(
        &self,
        moment: impl FnOnce() -> CheckpointMoment,
        ready: impl FnOnce(&mut CheckpointMoment) -> Result<()>,
        lists_from: Option<PagePlace>,
    ) -> Result<()> {
        let mut durable = lock(&self.durable);
        let (mut moment, pages, mut claims) = self.begin_checkpoint(moment);
        let mut written = CheckpointWrites::default();
        let done = self
            .write_claims(&mut claims, &mut written)
            .and_then(|()| self.write_maps(&durable, pages, lists_from, &mut written))
            .and_then(|()| self.write_counts(&moment.counts, &mut written))
            .and_then(|()| ready(&mut moment))
            .and_then(|()| self.end_checkpoint(&mut durable, &moment, pages, &written));
        if done.is_err() {
            self.abandon_checkpoint(claims, &written);
        }
        done
    }

    /// Claims the current versions of all changed pages.
    fn begin_checkpoint(
        &self,
        moment: impl FnOnce() -> CheckpointMoment,
    ) -> (CheckpointMoment, u32, Vec<(PageId, CheckpointClaim)>) {
        let mut writing = lock(&self.writing);
        let moment = moment();
        let changed = std::mem::take(&mut writing.changed);
        let claims = changed.into_iter().map(|id| (id, self.claim(id))).collect();
        (moment, self.table.len(), claims)
    }

    fn claim(&self, id: PageId) -> CheckpointClaim {
        let Some(entry) = self.table.get(id) else { return CheckpointClaim::Freed };
        let _stripe = self.lock_stripe(id);
        entry.changed.store(false, Ordering::Relaxed);
        if let Some(frame) = self.pin(entry).filter(|frame| frame.is_dirty()) {
            frame.claim();
            return CheckpointClaim::Frame(frame);
        }
        match entry.place() {
            Some(place) => {
                lock(&self.places).retain(place);
                CheckpointClaim::At(place)
            }
            None => CheckpointClaim::Freed,
        }
    }

    /// Writes the claimed frames that are not written yet, and notes the place of each page.
    fn write_claims(
        &self,
        claims: &mut Vec<(PageId, CheckpointClaim)>,
        written: &mut CheckpointWrites,
    ) -> Result<()> {
        while let Some((id, claim)) = claims.pop() {
            let place = match &claim {
                CheckpointClaim::Freed => 0,
                CheckpointClaim::At(place) => place.0,
                CheckpointClaim::Frame(frame) => match self.write_claimed(frame) {
                    Ok(place) => place.0,
                    Err(error) => {
                        claims.push((id, claim));
                        return Err(error);
                    }
                },
            };
            written.pages.push((id, place));
        }
        Ok(())
    }

    fn write_claimed(&self, frame: &PageFrame) -> Result<PagePlace> {
        let _stripe = self.lock_stripe(frame.id);
        if let Some(place) = frame.place() {
            return Ok(place);
        }
        let entry = self.table.get(frame.id);
        let present = entry.and_then(|entry| self.pin(entry));
        match (entry, present) {
            // This is the newest version, or the newest version is only in memory. So this is the
            // newest written version.
            (Some(entry), Some(present)) if present.is_dirty() => {
                self.write_out(entry, frame)?;
                Ok(frame.place().unwrap_or(PagePlace(0)))
            }
            // A newer version was written, or the page was freed. Only the checkpoint and perhaps
            // snapshots need this version, and have reasons of their own.
            _ => {
                let place = self.write_frame(frame)?;
                self.note_written(frame, place);
                lock(&self.places).release(place);
                Ok(place)
            }
        }
    }

    /// Writes the maps and directories that have changed or must move.
    fn write_maps(
        &self,
        durable: &DurableState,
        pages: u32,
        lists_from: Option<PagePlace>,
        written: &mut CheckpointWrites,
    ) -> Result<()> {
        let moves = |place: &PagePlace| lists_from.is_some_and(|from| *place >= from);
        let mut maps: BTreeMap<usize, Vec<(usize, u32)>> = BTreeMap::new();
        for &(id, place) in &written.pages {
            maps.entry((id.0 / PER_PAGE) as usize).or_default().push(((id.0 % PER_PAGE) as usize, place));
        }
        // Every page needs a map, even if it was never written.
        let (count, had) = (pages.div_ceil(PER_PAGE) as usize, durable.maps.len());
        let moved = durable.maps.iter().enumerate().filter(|(_, place)| moves(place)).map(|(map, _)| map);
        (had..count).chain(moved).for_each(|map| _ = maps.entry(map).or_default());
        let mut directories: BTreeMap<usize, Vec<(usize, u32)>> = BTreeMap::new();
        for (directory, place) in durable.header.directories.iter().enumerate() {
            if moves(place) {
                directories.entry(directory).or_default();
            }
        }
        for (map, changes) in maps {
            let before = durable.places.iter().skip(map * PER_PAGE as usize).take(PER_PAGE as usize).copied();
            let place = self.write_list(map, DiskPageKind::Map, before, &changes)?;
            written.maps.push((map, place));
            let spot = (map % PER_PAGE as usize, place.0);
            directories.entry(map / PER_PAGE as usize).or_default().push(spot);
        }
        for (directory, changes) in directories {
            let before = durable.maps.iter().skip(directory * PER_PAGE as usize).take(PER_PAGE as usize);
            let place =
                self.write_list(directory, DiskPageKind::Directory, before.map(|map| map.0), &changes)?;
            written.directories.push((directory, place));
        }
        Ok(())
    }

    /// Writes a page of places: the previous ones with the given changes.
    fn write_list(
        &self,
        number: usize,
        kind: DiskPageKind,
        before: impl Iterator<Item = u32>,
        changes: &[(usize, u32)],
    ) -> Result<PagePlace> {
        let mut page = PageBuf::new(PageId(number as u32), kind);
        let mut set = |at: usize, place: u32| {
            page.0[HEAD + 4 * at..][..4].copy_from_slice(&place.to_le_bytes());
        };
        before.enumerate().for_each(|(at, place)| set(at, place));
        for &(at, place) in changes {
            set(at, place);
        }
        self.write_to_new_place(&page)
    }

    /// Writes the pages of counts. They are few, so each checkpoint writes all of them.
    fn write_counts(&self, counts: &[u8], written: &mut CheckpointWrites) -> Result<()> {
        let mut next = PagePlace(0);
        for (number, part) in counts.chunks(COUNTS_OF_PAGE).enumerate().rev() {
            let mut page = PageBuf::new(PageId(number as u32), DiskPageKind::Counts);
            let body = page.body_mut();
            body[..4].copy_from_slice(&next.0.to_le_bytes());
            body[4..COUNTS_AT].copy_from_slice(&(part.len() as u32).to_le_bytes());
            body[COUNTS_AT..COUNTS_AT + part.len()].copy_from_slice(part);
            next = self.write_to_new_place(&page)?;
            written.counts.insert(0, next);
        }
        Ok(())
    }

    /// Writes the headers, and releases the places that only the previous state needed.
    fn end_checkpoint(
        &self,
        durable: &mut DurableState,
        moment: &CheckpointMoment,
        pages: u32,
        written: &CheckpointWrites,
    ) -> Result<()> {
        let mut header = FileHeader {
            generation: durable.header.generation + 1,
            sequence: moment.sequence,
            keys: moment.keys,
            epoch: moment.epoch,
            catalog: moment.catalog.0,
            counts: written.counts.first().copied().unwrap_or_default(),
            pages,
            ..durable.header.clone()
        };
        let count = pages.div_ceil(PER_PAGE).div_ceil(PER_PAGE) as usize;
        header.directories.resize(count, PagePlace(0));
        written.directories.iter().for_each(|&(number, place)| header.directories[number] = place);
        self.file.sync()?;
        self.file.write_headers(&header, durable.header.place)?;
        let mut old = Vec::new();
        durable.places.resize(pages as usize, 0);
        for &(id, place) in &written.pages {
            old.push(std::mem::replace(&mut durable.places[id.0 as usize], place));
        }
        durable.maps.resize(pages.div_ceil(PER_PAGE) as usize, PagePlace(0));
        for &(map, place) in &written.maps {
            old.push(std::mem::replace(&mut durable.maps[map], place).0);
        }
        durable.header.directories.resize(count, PagePlace(0));
        old.extend(written.directories.iter().map(|(number, _)| durable.header.directories[*number].0));
        durable.header = header;
        let counts = std::mem::replace(&mut durable.counts, written.counts.clone());
        old.extend(counts.into_iter().map(|place| place.0));
        let mut places = lock(&self.places);
        old.into_iter().filter(|place| *place != 0).for_each(|place| places.release(PagePlace(place)));
        Ok(())
    }

    /// Releases everything that a failed checkpoint has claimed and written, and marks the pages as
    /// changed again.
    fn abandon_checkpoint(&self, claims: Vec<(PageId, CheckpointClaim)>, written: &CheckpointWrites) {
        let mut writing = lock(&self.writing);
        let claimed = claims.iter().map(|(id, _)| *id).chain(written.pages.iter().map(|(id, _)| *id));
        for id in claimed {
            if let Some(entry) = self.table.get(id)
                && !entry.changed.swap(true, Ordering::Relaxed)
            {
                writing.changed.push(id);
            }
        }
        drop(writing);
        for place in written.places() {
            lock(&self.places).release(place);
        }
        for (id, claim) in claims {
            match claim {
                CheckpointClaim::Freed => {}
                CheckpointClaim::At(place) => lock(&self.places).release(place),
                CheckpointClaim::Frame(frame) => {
                    let _stripe = self.lock_stripe(id);
                    frame.unclaim().into_iter().for_each(|place| lock(&self.places).release(place));
                }
            }
        }
    }
}
