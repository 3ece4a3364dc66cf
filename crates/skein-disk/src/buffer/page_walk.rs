//! Walks that use one page at a time, and load missing pages on their way.
//!
//! ```text
//!   page(id) ─┬─ in memory ─────────────► use it, under the guard
//!             └─ missing ─┬─ valid ─────► end the guard, load the page, go on from here
//!                         └─ not valid ─► stop; the page is loaded, and the walk restarts
//! ```
//!
//! If a walk restarted for each missing page, a path of N pages would cost N²/2 visits. Here it
//! costs one load and one visit for each page, however small the cache is. Pages that the cache has
//! no room for stay with the walk (`page_view.rs`). If a write is published meanwhile, the walk
//! restarts and finds them again.
//!
//! # Invariants
//! 1. At most one page is in use. It is protected by the guard, or belongs to the pages that were
//!    loaded for the walk. Both change only in [`PageWalk::page`], when no page is in use.
//! 2. The walk is valid if no write was published from its begin to its end, with or without a
//!    guard in between.

use std::ptr::NonNull;

use skein_sync::reclaim::{LocalGuard, PROTECT};

use super::page_table::PageTableEntry;
use super::page_view::{FetchedPages, WalkRound};
use super::{BufferManager, LongValueId, PageReader, WalkResult, WalkStop, WantedPages};
use crate::Result;
use crate::page::{PageBytes, PageId};

/// The pages as a walk sees them, one at a time.
#[derive(Debug)]
pub(crate) struct PageWalk<'w, 'b> {
    buffer: &'b BufferManager,
    /// Protects the page in use, if it is in the cache.
    guard: Option<LocalGuard<'b>>,
    fetched: &'w mut FetchedPages<'b>,
    round: WalkRound,
    /// The value of `published` when the walk began.
    moment: u64,
    hits: u64,
    /// The pages that the walk used, if the policy must be told.
    used: Vec<PageId>,
}

impl PageReader for PageWalk<'_, '_> {
    #[inline]
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        let Some(entry) = self.buffer.table.get(id) else { return Err(WalkStop::no_page(id)) };
        loop {
            if let Some(found) = self.find(id, entry) {
                // SAFETY: invariant 1; the returned reference borrows the walk.
                return Ok(unsafe { found.as_ref() });
            }
            self.load(id)?;
        }
    }

    /// Looks at a page of a long value. A page that is not in memory stops the walk, because long
    /// values are loaded outside of walks (`long_values.rs`).
    fn with_page<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> WalkResult<T> {
        let Some(entry) = self.buffer.table.get(id) else { return Err(WalkStop::no_page(id)) };
        let found = self.find(id, entry).ok_or_else(|| WalkStop::Missing(vec![WantedPages::Page(id)]))?;
        // SAFETY: invariant 1; the walk is borrowed until the end of the function.
        Ok(look(unsafe { found.as_ref() }))
    }

    fn long(&mut self, long: LongValueId) -> Option<WalkResult<&[u8]>> {
        self.fetched.long.get(long)
    }
}

impl PageWalk<'_, '_> {
    #[inline]
    fn find(&mut self, id: PageId, entry: &PageTableEntry) -> Option<NonNull<PageBytes>> {
        let _guard = self.guard.get_or_insert_with(|| self.buffer.collector.enter());
        // SAFETY: the guard protects the frame.
        let Some(frame) = (unsafe { entry.frame.load(PROTECT).as_ref() }) else {
            return self.fetched.uncached(id).map(NonNull::from);
        };
        frame.count_use();
        self.hits += 1;
        if self.buffer.reports_uses {
            self.used.push(id);
        }
        Some(NonNull::from(&*frame.bytes))
    }

    /// Loads a page if the walk is valid so far.
    #[cold]
    fn load(&mut self, id: PageId) -> WalkResult<()> {
        if self.round == WalkRound::Publishing || !self.buffer.published.is_valid_walk(self.moment) {
            return Err(WalkStop::Missing(vec![WantedPages::Page(id)]));
        }
        if !self.buffer.is_page(id) {
            return Err(WalkStop::no_page(id));
        }
        // No guard is held while the file is read (`retired_frames.rs`).
        self.guard = None;
        Ok(self.buffer.fetch_page_for_walk(id, self.fetched)?)
    }
}

impl BufferManager {
    /// Repeats a walk that uses one page at a time, until it is valid and complete. Returns its
    /// result.
    ///
    /// # Errors
    /// The walk failed, a page is damaged, or the file is closed.
    pub(crate) fn read_pages<'b, T>(
        &'b self,
        mut walk: impl FnMut(&mut PageWalk<'_, 'b>) -> WalkResult<T>,
    ) -> Result<T> {
        self.repeat_walk(|fetched, round| {
            let moment = self.published.begin_walk();
            let (buffer, guard) = (self, None);
            let mut pages = PageWalk { buffer, guard, fetched, round, moment, hits: 0, used: Vec::new() };
            let result = walk(&mut pages);
            let PageWalk { hits, used, .. } = pages;
            let is_valid = self.published.is_valid_walk(moment);
            self.note_walk(hits, used);
            (result, is_valid)
        })
    }
}
