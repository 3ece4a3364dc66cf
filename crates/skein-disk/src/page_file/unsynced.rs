//! Checksums of pages that were written and not synced yet. A read must return these pages.
//!
//! ```text
//!   write ─► newer ── sync begins ─► syncing ── it succeeds ─► forgotten
//!                                       └────── it fails ───► newer, permanently: no more writes
//! ```
//!
//! After a failed sync the system may drop a written page from its memory and read an older version
//! from the disk, with a correct checksum of its own. So the checksum of each page that was written
//! since the last sync is kept by its place, and a page with another checksum is rejected.
//!
//! # Invariant
//! A place without a checksum here was synced after its last write, or was not written since the
//! file was opened.

use std::collections::HashMap;
use std::sync::Mutex;

use skein_sync::locks::lock;

use crate::page::{PageBytes, PagePlace};

#[derive(Debug, Default)]
struct PageChecksums {
    newer: HashMap<PagePlace, u32>,
    syncing: HashMap<PagePlace, u32>,
}

#[derive(Debug, Default)]
pub(super) struct UnsyncedPages(Mutex<PageChecksums>);

impl UnsyncedPages {
    /// Notes a written page with its checksum.
    pub(super) fn note_written(&self, place: PagePlace, page: &PageBytes) {
        lock(&self.0).newer.insert(place, page.sealed_checksum());
    }

    /// Returns whether the place was written and not synced yet.
    pub(super) fn contains(&self, place: PagePlace) -> bool {
        let sums = lock(&self.0);
        sums.newer.contains_key(&place) || sums.syncing.contains_key(&place)
    }

    /// Returns whether the page is the last one written to the place, as far as that is known.
    pub(super) fn is_as_written(&self, place: PagePlace, page: &PageBytes) -> bool {
        let sums = lock(&self.0);
        let written = sums.newer.get(&place).or_else(|| sums.syncing.get(&place));
        written.is_none_or(|sum| *sum == page.sealed_checksum())
    }

    /// Runs a sync, one at a time. If it succeeds, forgets all pages that were written before it.
    pub(super) fn sync<T, E>(&self, sync: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        {
            let mut sums = lock(&self.0);
            debug_assert!(sums.syncing.is_empty(), "two syncs at once");
            sums.syncing = std::mem::take(&mut sums.newer);
        }
        let synced = sync();
        let mut sums = lock(&self.0);
        let covered = std::mem::take(&mut sums.syncing);
        if synced.is_err() {
            for (place, sum) in covered {
                sums.newer.entry(place).or_insert(sum);
            }
        }
        synced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{DiskPageKind, PageId};
    use crate::page_buf::PageBuf;

    fn page(byte: u8) -> PageBuf {
        let mut page = PageBuf::new(PageId(7), DiskPageKind::Records);
        page.body_mut()[0] = byte;
        page.seal(PagePlace(5));
        page
    }

    #[test]
    fn only_a_successful_sync_forgets_earlier_writes() {
        let unsynced = UnsyncedPages::default();
        let (place, other) = (PagePlace(5), PagePlace(6));
        assert!(unsynced.is_as_written(place, &page(1)), "the place has no checksum");
        unsynced.note_written(place, &page(1));
        let failed: Result<(), ()> = unsynced.sync(|| {
            assert!(unsynced.contains(place) && !unsynced.is_as_written(place, &page(2)));
            unsynced.note_written(place, &page(2));
            unsynced.note_written(other, &page(3));
            Err(())
        });
        assert!(failed.is_err() && unsynced.contains(other));
        assert!(unsynced.is_as_written(place, &page(2)) && !unsynced.is_as_written(place, &page(1)));
        let synced: Result<(), ()> = unsynced.sync(|| {
            unsynced.note_written(other, &page(4));
            Ok(())
        });
        assert!(synced.is_ok() && !unsynced.contains(place));
        assert!(unsynced.contains(other) && !unsynced.is_as_written(other, &page(3)));
    }
}
