//! Reads many pages of a moment at once, for lookups with overlapping memory accesses.
//!
//! A walk under one guard uses the pages in memory. If some are missing, the guard ends, all of
//! them are loaded, and the walk restarts. Loaded pages stay until the walk is complete, so each
//! page restarts it at most once. Publications do not restart it.

use std::collections::BTreeMap;

use skein_sync::cache::prefetch_read;
use skein_sync::reclaim::{LocalGuard, PROTECT};

use super::MomentKey;
use super::moment_pages::{LoadedPage, MomentPages};
use crate::Result;
use crate::buffer::{
    BufferManager, LongValueId, LongValuePieces, PageReader, SharedPages, WalkResult, WalkStop, WantedPages,
};
use crate::page::{PageBytes, PageId};

/// Everything that was loaded for a walk.
#[derive(Debug, Default)]
struct LoadedPages<'b> {
    pages: BTreeMap<PageId, LoadedPage<'b>>,
    long: BTreeMap<LongValueId, Vec<u8>>,
}

/// The pages of a moment, as a walk sees them.
#[derive(Debug)]
pub(crate) struct MomentView<'w> {
    buffer: &'w BufferManager,
    moment: u64,
    /// Protects the pages that the walk finds.
    guard: &'w LocalGuard<'w>,
    loaded: &'w LoadedPages<'w>,
}

impl SharedPages for MomentView<'_> {
    fn page(&self, id: PageId) -> WalkResult<&PageBytes> {
        if let Some(found) = self.buffer.find_at(id, self.moment, self.guard) {
            // SAFETY: the guard protects the page for the lifetime of the view.
            return Ok(unsafe { found.as_ref() });
        }
        match self.loaded.pages.get(&id) {
            Some(loaded) => loaded.bytes().ok_or_else(|| WalkStop::no_page(id)),
            None => Err(WalkStop::Missing(vec![WantedPages::Page(id)])),
        }
    }

    fn long(&self, long: LongValueId) -> Option<WalkResult<&[u8]>> {
        self.loaded.long.get(&long).map(|bytes| Ok(&bytes[..]))
    }

    fn prefetch(&self, id: PageId) {
        if let Some(entry) = self.buffer.table.get(id) {
            prefetch_read(entry.frame.load(PROTECT).cast_const());
        }
    }

    fn moment(&self) -> u64 {
        self.moment
    }
}

impl BufferManager {
    /// Repeats a walk over the pages that a live snapshot sees until all its pages are loaded.
    ///
    /// # Errors
    /// The walk failed, a page cannot be read or is damaged, or the file is closed.
    pub(crate) fn read_many_at<T>(
        &self,
        key: MomentKey,
        mut walk: impl FnMut(&MomentView<'_>) -> WalkResult<T>,
    ) -> Result<T> {
        self.file.check_open()?;
        let mut loaded = LoadedPages::default();
        loop {
            let walked = {
                let guard = self.collector.enter();
                walk(&MomentView { buffer: self, moment: key.moment, guard: &guard, loaded: &loaded })
            };
            let read = match walked {
                Err(WalkStop::Missing(wanted)) => self.load_all_at(key.moment, wanted, &mut loaded),
                walked => return self.end_read_at(key, walked),
            };
            if let Err(stop) = read {
                return self.end_read_at(key, Err(stop));
            }
        }
    }

    fn load_all_at<'b>(
        &'b self,
        moment: u64,
        wanted: Vec<WantedPages>,
        loaded: &mut LoadedPages<'b>,
    ) -> WalkResult<()> {
        for wanted in wanted {
            match wanted {
                // Several lookups may miss the same page.
                WantedPages::Page(id) if loaded.pages.contains_key(&id) => {}
                WantedPages::Page(id) => {
                    loaded.pages.insert(id, self.load_at(id, moment, true)?);
                }
                WantedPages::Long(long) => {
                    loaded.long.insert(long, self.load_long_at(moment, long)?);
                }
            }
        }
        Ok(())
    }

    fn load_long_at(&self, moment: u64, long: LongValueId) -> WalkResult<Vec<u8>> {
        let mut pages = MomentPages::new(self, moment);
        let (mut pieces, mut bytes) = (LongValuePieces::new(long.first, long.len), Vec::new());
        while let Some(id) = pieces.next_page() {
            pages
                .with_page(id, |page| pieces.piece(page).map(|piece| bytes.extend(piece)))?
                .map_err(|what| WalkStop::Damaged(id, what))?;
        }
        Ok(bytes)
    }
}
