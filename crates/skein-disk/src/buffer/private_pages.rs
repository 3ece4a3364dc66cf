//! The pages of a write, which no other thread sees: in memory, or spilled to the file.
//!
//! ```text
//!   copied, allocated ─► in memory ── too many ─► spilled: written to a free place
//!                            ▲                        │
//!                            └──────── used again ────┘
//! ```
//!
//! A write may change more pages than the cache has. So only some of them are in memory, those that
//! were used lately (a clock selects the others). The rest lie at places that nothing else leads to.
//! They are free again if the write is dropped, or after a crash.
//!
//! # Invariants
//! 1. A page has its bytes, a place, or both. With both, the place has the same bytes.
//! 2. Each place has one reason to be kept. It belongs to the page, until
//!    [`release`](PrivatePages::release) or the publication takes it.
//! 3. `loaded` is the number of pages with bytes.

use std::collections::BTreeMap;
use std::ops::Bound;

use skein_sync::locks::lock;

use super::BufferManager;
use crate::Result;
use crate::page::{PageBytes, PageId, PagePlace};
use crate::page_buf::PageBuf;

/// The share of the pages in memory that stays there when the others are spilled.
const STAY: (usize, usize) = (3, 4);

/// A page of a write (invariant 1).
#[derive(Debug)]
struct PrivatePage {
    bytes: Option<PageBuf>,
    place: Option<PagePlace>,
    /// Whether it was used since the clock's hand passed it.
    is_used: bool,
}

/// The pages of a write by their ids.
#[derive(Debug, Default)]
pub(super) struct PrivatePages {
    pages: BTreeMap<PageId, PrivatePage>,
    loaded: usize,
    /// The hand of the clock: spilling goes on behind this page.
    hand: Option<PageId>,
}

/// The pages of a write at its publication: those in memory, and the places of the others.
#[derive(Debug, Default)]
pub(super) struct PublishedPages {
    pub(super) in_memory: Vec<(PageId, PageBuf)>,
    pub(super) in_file: Vec<(PageId, PagePlace)>,
}

impl PrivatePages {
    /// Returns the number of pages, in memory and spilled.
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns the number of pages in memory.
    #[cfg(test)]
    pub(super) fn loaded(&self) -> usize {
        self.loaded
    }

    /// Returns the number of pages in memory that no place has.
    pub(super) fn unwritten(&self) -> usize {
        self.pages.values().filter(|page| page.place.is_none()).count()
    }

    pub(super) fn contains(&self, id: PageId) -> bool {
        self.pages.contains_key(&id)
    }

    /// Returns whether the page is one of the write, and not in memory. Looks for it only if some
    /// page is spilled.
    pub(super) fn is_spilled(&self, id: PageId) -> bool {
        self.pages.len() > self.loaded && self.pages.get(&id).is_some_and(|page| page.bytes.is_none())
    }

    /// Adds a page, or replaces it.
    pub(super) fn insert(&mut self, buffer: &BufferManager, id: PageId, bytes: PageBuf) {
        self.remove(buffer, id);
        self.pages.insert(id, PrivatePage { bytes: Some(bytes), place: None, is_used: true });
        self.loaded += 1;
    }

    /// Removes a page.
    pub(super) fn remove(&mut self, buffer: &BufferManager, id: PageId) {
        if let Some(page) = self.pages.remove(&id) {
            self.loaded -= usize::from(page.bytes.is_some());
            page.place.into_iter().for_each(|place| lock(&buffer.places).release(place));
        }
    }

    /// Returns the bytes of a page if it is one of the write. Loads it if it is spilled.
    ///
    /// # Errors
    /// The page cannot be read.
    pub(super) fn get(&mut self, buffer: &BufferManager, id: PageId) -> Result<Option<&PageBytes>> {
        Ok(self.load(buffer, id)?.and_then(|page| page.bytes.as_deref()))
    }

    /// Returns the bytes of a page for changing, if it is one of the write.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(super) fn get_mut(&mut self, buffer: &BufferManager, id: PageId) -> Result<Option<&mut PageBytes>> {
        let Some(page) = self.load(buffer, id)? else { return Ok(None) };
        page.place.take().into_iter().for_each(|place| lock(&buffer.places).release(place));
        Ok(page.bytes.as_deref_mut())
    }

    fn load(&mut self, buffer: &BufferManager, id: PageId) -> Result<Option<&mut PrivatePage>> {
        let Some(page) = self.pages.get_mut(&id) else { return Ok(None) };
        if page.bytes.is_none()
            && let Some(place) = page.place
        {
            page.bytes = Some(buffer.file.page(place, id, &buffer.places)?.into_copy());
            self.loaded += 1;
        }
        page.is_used = true;
        Ok(Some(page))
    }

    /// Spills pages if `most` or more are in memory.
    ///
    /// # Errors
    /// A page cannot be written. It stays in memory.
    pub(super) fn make_room(&mut self, buffer: &BufferManager, most: usize) -> Result<()> {
        if self.loaded < most {
            return Ok(());
        }
        let stay = most * STAY.0 / STAY.1;
        // In the first round the hand may only take the uses.
        for _ in 0..2 {
            let hand = self.hand.take();
            let behind = (hand.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
            self.spill(buffer, behind, stay)?;
            if let Some(hand) = hand {
                self.spill(buffer, (Bound::Unbounded, Bound::Included(hand)), stay)?;
            }
        }
        Ok(())
    }

    /// Moves the hand over a range until no more than `stay` pages are in memory.
    fn spill(
        &mut self,
        buffer: &BufferManager,
        range: (Bound<PageId>, Bound<PageId>),
        stay: usize,
    ) -> Result<()> {
        for (id, page) in self.pages.range_mut(range) {
            if self.loaded <= stay {
                break;
            }
            self.hand = Some(*id);
            if std::mem::take(&mut page.is_used) {
                continue;
            }
            if let Some(bytes) = &page.bytes {
                if page.place.is_none() {
                    page.place = Some(buffer.write_to_new_place(bytes)?);
                }
                page.bytes = None;
                self.loaded -= 1;
            }
        }
        Ok(())
    }

    /// Takes all pages out, for the publication. Of a page with bytes and a place, only the place is
    /// left.
    pub(super) fn take(&mut self) -> PublishedPages {
        self.loaded = 0;
        let mut taken = PublishedPages::default();
        for (id, page) in std::mem::take(&mut self.pages) {
            match (page.place, page.bytes) {
                (Some(place), _) => taken.in_file.push((id, place)),
                (None, Some(bytes)) => taken.in_memory.push((id, bytes)),
                // Invariant 1.
                (None, None) => {}
            }
        }
        taken
    }

    /// Releases the places of all pages.
    pub(super) fn release(&mut self, buffer: &BufferManager) {
        let places: Vec<PagePlace> = self.pages.values_mut().filter_map(|page| page.place.take()).collect();
        if !places.is_empty() {
            let mut kept = lock(&buffer.places);
            for place in places {
                kept.release(place);
            }
        }
        self.pages.clear();
        self.loaded = 0;
    }
}
