//! The page table: the frame and the place of each page, by page id. It grows in chunks, and its
//! entries never move, so readers need no lock.

use std::ptr;
use std::sync::OnceLock;

use skein_sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use super::frame::PageFrame;
use crate::page::{PageId, PagePlace};

/// Entries of the first chunk. Each further chunk has twice as many as the one before.
const FIRST: u32 = if cfg!(skein_loom) { 4 } else { 1024 };
/// Enough chunks for all page ids.
const CHUNKS: usize = 23;

/// The frame and the place of a page.
#[derive(Debug)]
pub(super) struct PageTableEntry {
    /// The page in memory; null if it is not in memory.
    pub(super) frame: AtomicPtr<PageFrame>,
    /// The place of the newest written version. It is 0 if the page was never written or was freed.
    place: AtomicU32,
    /// Whether the page has changed since the last checkpoint began.
    pub(super) changed: AtomicBool,
    /// Whether former versions of the page are kept for snapshots (`moments/`).
    pub(super) kept: AtomicBool,
}

impl PageTableEntry {
    fn new() -> Self {
        let (frame, place) = (AtomicPtr::new(ptr::null_mut()), AtomicU32::new(0));
        Self { frame, place, changed: AtomicBool::new(false), kept: AtomicBool::new(false) }
    }

    pub(super) fn place(&self) -> Option<PagePlace> {
        // Acquire: pairs with the Release in `set_place`; the page was written there before.
        Some(self.place.load(Ordering::Acquire)).filter(|place| *place != 0).map(PagePlace)
    }

    /// Sets the place and returns the previous one. The caller holds the page's stripe lock.
    pub(super) fn set_place(&self, place: Option<PagePlace>) -> Option<PagePlace> {
        // AcqRel: pairs with the Acquire in `place`, and with itself.
        let before = self.place.swap(place.map_or(0, |place| place.0), Ordering::AcqRel);
        Some(before).filter(|place| *place != 0).map(PagePlace)
    }
}

#[derive(Debug, Default)]
pub(super) struct PageTable {
    chunks: [OnceLock<Box<[PageTableEntry]>>; CHUNKS],
    /// The number of ids that were ever in use.
    len: AtomicU32,
}

impl PageTable {
    /// Returns the number of ids; all ids are below it.
    pub(super) fn len(&self) -> u32 {
        // Acquire: pairs with the Release in `grow`; the entries exist.
        self.len.load(Ordering::Acquire)
    }

    /// Returns the entry of a page, or `None` if the id was never in use.
    pub(super) fn get(&self, id: PageId) -> Option<&PageTableEntry> {
        if id.0 >= self.len() {
            return None;
        }
        let (chunk, at) = spot(id.0);
        self.chunks[chunk].get()?.get(at)
    }

    /// Adds the entry for the next id and returns the id, or `None` if all ids are used. Must be
    /// called by one thread at a time.
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

/// Returns the chunk of an id and the index in the chunk.
fn spot(id: u32) -> (usize, usize) {
    let shifted = u64::from(id) + u64::from(FIRST);
    let chunk = shifted.ilog2() - FIRST.ilog2();
    (chunk as usize, (shifted - (u64::from(FIRST) << chunk)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_its_own_entry() {
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
    fn entries_exist_only_after_growth() {
        let table = PageTable::default();
        assert!(table.get(PageId(0)).is_none());
        for id in 0..3_000 {
            assert_eq!(table.grow(), Some(PageId(id)));
        }
        assert!(table.get(PageId(2_999)).is_some() && table.get(PageId(3_000)).is_none());
    }
}
