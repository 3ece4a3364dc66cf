//! The pages of a write, which no other thread sees: in memory, or spilled to the file.
//!
//! ```text
//!   copied, allocated ─► in memory ── too many ─► spilled: written to a free place
//!                            ▲                        │
//!                            └──────── used again ────┘
//! ```
//!
//! A write may change more pages than the cache has. So only some of them are in memory, those that
//! were used lately (a clock selects the others). The rest lie at places that nothing else leads
//! to. They are free again if the write is dropped, or after a crash.
//!
//! # Invariants
//! 1. A page is in one of the two maps. If a page in memory has a place, too, the place has the
//!    same bytes.
//! 2. Each place has one reason to be kept. It belongs to the page, until
//!    [`release`](PrivatePages::release) or the publication takes it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use skein_sync::locks::lock;

use super::BufferManager;
use crate::Result;
use crate::page::{PageBytes, PageId, PagePlace};
use crate::page_buf::PageBuf;

/// The share of the pages in memory that stays there when the others are spilled.
const STAY: (usize, usize) = (3, 4);

/// A page in memory.
#[derive(Debug)]
struct LoadedCopy {
    bytes: PageBuf,
    place: Option<PagePlace>,
    /// Whether it was used since the clock's hand passed it.
    is_used: bool,
}

/// The pages of a write by their ids.
#[derive(Debug, Default)]
pub(super) struct PrivatePages {
    loaded: BTreeMap<PageId, LoadedCopy>,
    spilled: BTreeMap<PageId, PagePlace>,
    /// The hand of the clock: spilling goes on behind this page.
    hand: Option<PageId>,
}

/// The pages of a write at its publication: those that no place has, and the places of the others.
#[derive(Debug, Default)]
pub(super) struct PublishedPages {
    pub(super) in_memory: Vec<(PageId, PageBuf)>,
    pub(super) in_file: Vec<(PageId, PagePlace)>,
}

impl PrivatePages {
    /// Returns the number of pages, in memory and spilled.
    pub(super) fn len(&self) -> usize {
        self.loaded.len() + self.spilled.len()
    }

    /// Returns the number of pages in memory.
    #[cfg(test)]
    pub(super) fn loaded(&self) -> usize {
        self.loaded.len()
    }

    /// Returns the number of pages in memory that no place has.
    pub(super) fn unwritten(&self) -> usize {
        self.loaded.values().filter(|page| page.place.is_none()).count()
    }

    pub(super) fn contains(&self, id: PageId) -> bool {
        self.loaded.contains_key(&id) || self.is_spilled(id)
    }

    /// Returns whether the page is one of the write, and not in memory.
    pub(super) fn is_spilled(&self, id: PageId) -> bool {
        self.spilled.contains_key(&id)
    }

    /// Adds a page, or replaces it.
    pub(super) fn insert(&mut self, buffer: &BufferManager, id: PageId, bytes: PageBuf) {
        self.remove(buffer, id);
        self.loaded.insert(id, LoadedCopy { bytes, place: None, is_used: true });
    }

    /// Removes a page.
    pub(super) fn remove(&mut self, buffer: &BufferManager, id: PageId) {
        let place = match self.loaded.remove(&id) {
            Some(page) => page.place,
            None => self.spilled.remove(&id),
        };
        release_place(buffer, place);
    }

    /// Returns the bytes of a page if it is one of the write. Loads it if it is spilled.
    ///
    /// # Errors
    /// The page cannot be read.
    pub(super) fn get(&mut self, buffer: &BufferManager, id: PageId) -> Result<Option<&PageBytes>> {
        Ok(self.load(buffer, id)?.map(|page| &*page.bytes))
    }

    /// Returns the bytes of a page for changing, if it is one of the write.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(super) fn get_mut(&mut self, buffer: &BufferManager, id: PageId) -> Result<Option<&mut PageBytes>> {
        let Some(page) = self.load(buffer, id)? else { return Ok(None) };
        release_place(buffer, page.place.take());
        Ok(Some(&mut page.bytes))
    }

    fn load(&mut self, buffer: &BufferManager, id: PageId) -> Result<Option<&mut LoadedCopy>> {
        if let Some(place) = self.spilled.get(&id).copied() {
            let bytes = buffer.file.page(place, id, &buffer.places)?.into_copy();
            self.spilled.remove(&id);
            self.loaded.insert(id, LoadedCopy { bytes, place: Some(place), is_used: true });
        }
        let Some(page) = self.loaded.get_mut(&id) else { return Ok(None) };
        page.is_used = true;
        Ok(Some(page))
    }

    /// Spills pages if `most` or more are in memory.
    ///
    /// # Errors
    /// A page cannot be written. It stays in memory.
    pub(super) fn make_room(&mut self, buffer: &BufferManager, most: usize) -> Result<()> {
        if self.loaded.len() < most {
            return Ok(());
        }
        let excess = self.loaded.len() - most * STAY.0 / STAY.1;
        for id in self.choose(excess) {
            let Some(mut page) = self.loaded.remove(&id) else { continue };
            let place = match page.place {
                Some(place) => Ok(place),
                None => buffer.write_to_new_place(&page.bytes),
            };
            match place {
                Ok(place) => _ = self.spilled.insert(id, place),
                Err(error) => {
                    page.is_used = true;
                    self.loaded.insert(id, page);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Moves the hand until it has met so many pages that were not used since its last visit.
    fn choose(&mut self, count: usize) -> BTreeSet<PageId> {
        let mut chosen = BTreeSet::new();
        // In the first round the hand may only take the uses.
        for _ in 0..2 {
            let hand = self.hand.take();
            let behind = (hand.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
            let before = hand.map(|hand| (Bound::Unbounded, Bound::Included(hand)));
            for range in [Some(behind), before].into_iter().flatten() {
                for (id, page) in self.loaded.range_mut(range) {
                    if chosen.len() == count {
                        return chosen;
                    }
                    self.hand = Some(*id);
                    if !std::mem::take(&mut page.is_used) {
                        chosen.insert(*id);
                    }
                }
            }
        }
        chosen
    }

    /// Takes all pages out, for the publication. Of a page with bytes and a place, only the place
    /// is left.
    pub(super) fn take(&mut self) -> PublishedPages {
        let mut taken = PublishedPages::default();
        for (id, page) in std::mem::take(&mut self.loaded) {
            match page.place {
                Some(place) => taken.in_file.push((id, place)),
                None => taken.in_memory.push((id, page.bytes)),
            }
        }
        taken.in_file.extend(std::mem::take(&mut self.spilled));
        taken
    }

    /// Releases the places of all pages.
    pub(super) fn release(&mut self, buffer: &BufferManager) {
        let PublishedPages { in_file, .. } = self.take();
        if !in_file.is_empty() {
            let mut places = lock(&buffer.places);
            for (_, place) in in_file {
                places.release(place);
            }
        }
    }
}

fn release_place(buffer: &BufferManager, place: Option<PagePlace>) {
    if let Some(place) = place {
        lock(&buffer.places).release(place);
    }
}
