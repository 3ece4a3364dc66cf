//! Checkpoints: all that has changed becomes the file's state, at one moment.
//!
//! ```text
//!   begin     under the writer's lock: which pages have changed, and the frames of those that were not written yet; no page is copied
//!   write     those frames to free places; then maps and directories that lead to them      the writer goes on, and so do readers
//!   end       sync, one header, sync, the other header, sync; what only the headers before led to is free
//! ```
//!
//! A frame that the checkpoint claims may be written by who makes room, or be superseded by a newer form of the page, before its turn comes: the frame says where
//! it lies, and a place that the checkpoint needs has a reason of its own to be kept.

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

/// What the last header leads to.
#[derive(Debug, Default)]
pub(crate) struct DurableState {
    pub(crate) header: FileHeader,
    /// Where each page lies; 0 for those that are none.
    pub(crate) places: Vec<u32>,
    /// Where the maps lie.
    pub(crate) maps: Vec<PagePlace>,
}

/// What a checkpoint is to be of, besides the pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckpointMoment {
    /// The last write that the pages have.
    pub(crate) sequence: u64,
    /// How many keys they have.
    pub(crate) keys: u64,
    /// The first epoch of the log that may have later ones.
    pub(crate) epoch: u64,
    /// The page where the catalog begins.
    pub(crate) catalog: PageId,
}

/// A page that has changed, as the checkpoint is to have it.
#[derive(Debug)]
enum CheckpointClaim {
    /// In memory, and perhaps not written yet.
    Frame(Arc<PageFrame>),
    /// It lies there.
    At(PagePlace),
    /// It is no more.
    Gone,
}

/// What a checkpoint has written so far: where pages, maps and directories are to be found once its header is there.
#[derive(Debug, Default)]
struct CheckpointWrites {
    pages: Vec<(PageId, u32)>,
    maps: Vec<(usize, PagePlace)>,
    directories: Vec<(usize, PagePlace)>,
}

impl CheckpointWrites {
    fn places(&self) -> impl Iterator<Item = PagePlace> {
        let pages = self.pages.iter().map(|(_, place)| PagePlace(*place)).filter(|place| place.0 != 0);
        pages.chain(self.maps.iter().chain(&self.directories).map(|(_, place)| *place))
    }
}

impl BufferManager {
    /// Makes all that was published the file's state. `moment` is called while nothing is written; `ready` before the state counts, and may name an earlier epoch. Maps and directories that lie
    /// from the place `lists_from` on, if there is one, move.
    ///
    /// # Errors
    /// A failed file operation. Then the file's state is what it was, or, if a sync failed, one of both.
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
            .and_then(|()| ready(&mut moment))
            .and_then(|()| self.end_checkpoint(&mut durable, moment, pages, &written));
        if done.is_err() {
            self.abandon_checkpoint(claims, &written);
        }
        done
    }

    /// Claims what has changed, as it is now.
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
        let Some(entry) = self.table.get(id) else { return CheckpointClaim::Gone };
        let _stripe = lock(self.stripe(id));
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
            None => CheckpointClaim::Gone,
        }
    }

    /// Writes what is claimed and not written; afterwards each has its place.
    fn write_claims(
        &self,
        claims: &mut Vec<(PageId, CheckpointClaim)>,
        written: &mut CheckpointWrites,
    ) -> Result<()> {
        while let Some((id, claim)) = claims.pop() {
            let place = match &claim {
                CheckpointClaim::Gone => 0,
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
        let _stripe = lock(self.stripe(frame.id));
        if let Some(place) = frame.place() {
            return Ok(place);
        }
        let entry = self.table.get(frame.id);
        let present = entry.and_then(|entry| self.pin(entry));
        match (entry, present) {
            // It is the newest form, or the newest one is in memory alone: this one is the newest that is written.
            (Some(entry), Some(present)) if present.is_dirty() => {
                self.write_out(entry, frame)?;
                Ok(frame.place().unwrap_or(PagePlace(0)))
            }
            // A newer form has been written, or the page is no more: only the checkpoint needs this one.
            _ => self.write_frame(frame),
        }
    }

    /// Writes those maps and directories that have changed, or are to move.
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
        // Also those of pages that were never written: they are to be there.
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

    /// Writes a page of places: those of before, with changes.
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

    /// Makes it the file's state, and lets go of what only the state before led to.
    fn end_checkpoint(
        &self,
        durable: &mut DurableState,
        moment: CheckpointMoment,
        pages: u32,
        written: &CheckpointWrites,
    ) -> Result<()> {
        let mut header = FileHeader {
            generation: durable.header.generation + 1,
            sequence: moment.sequence,
            keys: moment.keys,
            epoch: moment.epoch,
            catalog: moment.catalog.0,
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
        let mut places = lock(&self.places);
        old.into_iter().filter(|place| *place != 0).for_each(|place| places.release(PagePlace(place)));
        Ok(())
    }

    /// Lets go of what a checkpoint has claimed and written, and notes again what has changed.
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
                CheckpointClaim::Gone => {}
                CheckpointClaim::At(place) => lock(&self.places).release(place),
                CheckpointClaim::Frame(frame) => {
                    let _stripe = lock(self.stripe(id));
                    frame.unclaim().into_iter().for_each(|place| lock(&self.places).release(place));
                }
            }
        }
    }
}
