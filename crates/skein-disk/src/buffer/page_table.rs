//! The table: what is known of each page, by its id. It grows, and nothing in it ever moves.

use std::ptr;
use std::sync::OnceLock;

use skein_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use super::frame::PageFrame;
use crate::page::{PageId, PagePlace};

/// Entries of the first chunk; each further one has twice as many as the one before.
const FIRST: u32 = 1024;
/// So that all ids have an entry.
const CHUNKS: usize = 23;

/// What is known of a page.
#[derive(Debug)]
pub(super) struct PageTableEntry {
    /// The page in memory; null if it is not there.
    pub(super) frame: AtomicPtr<PageFrame>,
    /// Where its newest written form lies; 0 if there is none, because it was never written, or the page is no more.
    place: AtomicU32,
    /// Whether it has changed since the last checkpoint began.
    pub(super) changed: AtomicBool,
}

impl PageTableEntry {
    fn new() -> Self {
        let (frame, place) = (AtomicPtr::new(ptr::null_mut()), AtomicU32::new(0));
        Self { frame, place, changed: AtomicBool::new(false) }
    }

    pub(super) fn place(&self) -> Option<PagePlace> {
        // Acquire: pairs with the Release in `set_place`; the page was written there.
        Some(self.place.load(Ordering::Acquire)).filter(|place| *place != 0).map(PagePlace)
    }

    /// Sets the place; returns the one before. The page's stripe is locked.
    pub(super) fn set_place(&self, place: Option<PagePlace>) -> Option<PagePlace> {
        // AcqRel: pairs with the Acquire in `place`, and with itself.
        let before = self.place.swap(place.map_or(0, |place| place.0), Ordering::AcqRel);
        Some(before).filter(|place| *place != 0).map(PagePlace)
    }
}

/// The entries.
#[derive(Debug, Default)]
pub(super) struct PageTable {
    chunks: [OnceLock<Box<[PageTableEntry]>>; CHUNKS],
    /// Ids that were in use once.
    len: AtomicU32,
}

impl PageTable {
    /// Ids there are: those below.
    pub(super) fn len(&self) -> u32 {
        // Acquire: pairs with the Release in `grow`; the entries are there.
        self.len.load(Ordering::Acquire)
    }

    /// The entry of a page; none if there never was one of this id.
    pub(super) fn get(&self, id: PageId) -> Option<&PageTableEntry> {
        if id.0 >= self.len() {
            return None;
        }
        let (chunk, at) = spot(id.0);
        self.chunks[chunk].get()?.get(at)
    }

    /// The next id, which comes to be. Called by one thread at a time.
    pub(super) fn grow(&self) -> Option<PageId> {
        let id = self.len();
        let next = id.checked_add(1)?;
        let (chunk, _) = spot(id);
        self.chunks.get(chunk)?.get_or_init(|| (0..FIRST << chunk).map(|_| PageTableEntry::new()).collect());
        // Release: pairs with the Acquire in `len`.
        self.len.store(next, Ordering::Release);
        Some(PageId(id))
    }
}

/// The chunk of an id, and where it is in there.
fn spot(id: u32) -> (usize, usize) {
    let shifted = u64::from(id) + u64::from(FIRST);
    let chunk = shifted.ilog2() - FIRST.ilog2();
    (chunk as usize, (shifted - (u64::from(FIRST) << chunk)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_a_spot_of_its_own() {
        let mut expected = (0, 0);
        for id in 0..100_000 {
            assert_eq!(spot(id), expected);
            expected.1 += 1;
            if expected.1 == (FIRST as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(spot(u32::MAX).0 < CHUNKS);
    }

    #[test]
    fn there_is_no_entry_before_the_table_has_grown_there() {
        let table = PageTable::default();
        assert!(table.get(PageId(0)).is_none());
        for id in 0..3_000 {
            assert_eq!(table.grow(), Some(PageId(id)));
        }
        assert!(table.get(PageId(2_999)).is_some() && table.get(PageId(3_000)).is_none());
    }
}
