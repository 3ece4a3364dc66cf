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

use super::Buffer;
use super::frame::Frame;
use crate::Result;
use crate::page::{HEAD, Kind, PageId, Place};
use crate::page_buf::PageBuf;
use crate::page_file::{Header, PER_PAGE};

/// What the last header leads to.
#[derive(Debug, Default)]
pub(crate) struct Durable {
    pub(crate) header: Header,
    /// Where each page lies; 0 for those that are none.
    pub(crate) places: Vec<u32>,
    /// Where the maps lie.
    pub(crate) maps: Vec<Place>,
}

/// What a checkpoint is to be of, besides the pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
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
enum Claim {
    /// In memory, and perhaps not written yet.
    Frame(Arc<Frame>),
    /// It lies there.
    At(Place),
    /// It is no more.
    Gone,
}

/// What a checkpoint has written so far: where pages, maps and directories are to be found once its header is there.
#[derive(Debug, Default)]
struct Written {
    pages: Vec<(PageId, u32)>,
    maps: Vec<(usize, Place)>,
    directories: Vec<(usize, Place)>,
}

impl Written {
    fn places(&self) -> impl Iterator<Item = Place> {
        let pages = self.pages.iter().map(|(_, place)| Place(*place)).filter(|place| place.0 != 0);
        pages.chain(self.maps.iter().chain(&self.directories).map(|(_, place)| *place))
    }
}

impl Buffer {
    /// Makes all that was published the file's state. `moment` is called while nothing is written; `ready` before the state counts, and may name an earlier epoch. Maps and directories that lie
    /// from the place `lists_from` on, if there is one, move.
    ///
    /// # Errors
    /// A failed file operation. Then the file's state is what it was, or, if a sync failed, one of both.
    pub(crate) fn checkpoint(
        &self,
        moment: impl FnOnce() -> Moment,
        ready: impl FnOnce(&mut Moment) -> Result<()>,
        lists_from: Option<Place>,
    ) -> Result<()> {
        let mut durable = lock(&self.durable);
        let (mut moment, pages, mut claims) = self.begin(moment);
        let mut written = Written::default();
        let done = self
            .write_claims(&mut claims, &mut written)
            .and_then(|()| self.write_maps(&durable, pages, lists_from, &mut written))
            .and_then(|()| ready(&mut moment))
            .and_then(|()| self.end(&mut durable, moment, pages, &written));
        if done.is_err() {
            self.give_up(claims, &written);
        }
        done
    }

    /// Claims what has changed, as it is now.
    fn begin(&self, moment: impl FnOnce() -> Moment) -> (Moment, u32, Vec<(PageId, Claim)>) {
        let mut writing = lock(&self.writing);
        let moment = moment();
        let changed = std::mem::take(&mut writing.changed);
        let claims = changed.into_iter().map(|id| (id, self.claim(id))).collect();
        (moment, self.table.len(), claims)
    }

    fn claim(&self, id: PageId) -> Claim {
        let Some(entry) = self.table.get(id) else { return Claim::Gone };
        let _stripe = lock(self.stripe(id));
        entry.changed.store(false, Ordering::Relaxed);
        if let Some(frame) = self.pin(entry).filter(|frame| frame.is_dirty()) {
            frame.claim();
            return Claim::Frame(frame);
        }
        match entry.place() {
            Some(place) => {
                lock(&self.places).keep_taken(place);
                Claim::At(place)
            }
            None => Claim::Gone,
        }
    }

    /// Writes what is claimed and not written; afterwards each has its place.
    fn write_claims(&self, claims: &mut Vec<(PageId, Claim)>, written: &mut Written) -> Result<()> {
        while let Some((id, claim)) = claims.pop() {
            let place = match &claim {
                Claim::Gone => 0,
                Claim::At(place) => place.0,
                Claim::Frame(frame) => match self.write_claimed(frame) {
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

    fn write_claimed(&self, frame: &Frame) -> Result<Place> {
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
                Ok(frame.place().unwrap_or(Place(0)))
            }
            // A newer form has been written, or the page is no more: only the checkpoint needs this one.
            _ => self.write_frame(frame),
        }
    }

    /// Writes those maps and directories that have changed, or are to move.
    fn write_maps(
        &self,
        durable: &Durable,
        pages: u32,
        lists_from: Option<Place>,
        written: &mut Written,
    ) -> Result<()> {
        let moves = |place: &Place| lists_from.is_some_and(|from| *place >= from);
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
            let place = self.write_list(map, Kind::Map, before, &changes)?;
            written.maps.push((map, place));
            let spot = (map % PER_PAGE as usize, place.0);
            directories.entry(map / PER_PAGE as usize).or_default().push(spot);
        }
        for (directory, changes) in directories {
            let before = durable.maps.iter().skip(directory * PER_PAGE as usize).take(PER_PAGE as usize);
            let place = self.write_list(directory, Kind::Directory, before.map(|map| map.0), &changes)?;
            written.directories.push((directory, place));
        }
        Ok(())
    }

    /// Writes a page of places: those of before, with changes.
    fn write_list(
        &self,
        number: usize,
        kind: Kind,
        before: impl Iterator<Item = u32>,
        changes: &[(usize, u32)],
    ) -> Result<Place> {
        let mut page = PageBuf::new(PageId(number as u32), kind);
        let mut set = |at: usize, place: u32| {
            page.0[HEAD + 4 * at..][..4].copy_from_slice(&place.to_le_bytes());
        };
        before.enumerate().for_each(|(at, place)| set(at, place));
        for &(at, place) in changes {
            set(at, place);
        }
        self.write_anew(&page)
    }

    /// Makes it the file's state, and lets go of what only the state before led to.
    fn end(&self, durable: &mut Durable, moment: Moment, pages: u32, written: &Written) -> Result<()> {
        let mut header = Header {
            generation: durable.header.generation + 1,
            sequence: moment.sequence,
            keys: moment.keys,
            epoch: moment.epoch,
            catalog: moment.catalog.0,
            pages,
            ..durable.header.clone()
        };
        let count = pages.div_ceil(PER_PAGE).div_ceil(PER_PAGE) as usize;
        header.directories.resize(count, Place(0));
        written.directories.iter().for_each(|&(number, place)| header.directories[number] = place);
        self.file.sync()?;
        self.file.write_headers(&header, durable.header.place)?;
        let mut old = Vec::new();
        durable.places.resize(pages as usize, 0);
        for &(id, place) in &written.pages {
            old.push(std::mem::replace(&mut durable.places[id.0 as usize], place));
        }
        durable.maps.resize(pages.div_ceil(PER_PAGE) as usize, Place(0));
        for &(map, place) in &written.maps {
            old.push(std::mem::replace(&mut durable.maps[map], place).0);
        }
        durable.header.directories.resize(count, Place(0));
        old.extend(written.directories.iter().map(|(number, _)| durable.header.directories[*number].0));
        durable.header = header;
        let mut places = lock(&self.places);
        old.into_iter().filter(|place| *place != 0).for_each(|place| places.let_go(Place(place)));
        Ok(())
    }

    /// Lets go of what a checkpoint has claimed and written, and notes again what has changed.
    fn give_up(&self, claims: Vec<(PageId, Claim)>, written: &Written) {
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
            lock(&self.places).let_go(place);
        }
        for (id, claim) in claims {
            match claim {
                Claim::Gone => {}
                Claim::At(place) => lock(&self.places).let_go(place),
                Claim::Frame(frame) => {
                    let _stripe = lock(self.stripe(id));
                    frame.unclaim().into_iter().for_each(|place| lock(&self.places).let_go(place));
                }
            }
        }
    }
}
