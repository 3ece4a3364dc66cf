//! Reading the pages of a moment, one at a time.
//!
//! ```text
//!   page(id) ─► frame in the table ─┬─ no kept version of the moment ─► this frame
//!                                   └─ a kept version ─┬─ in memory ──► its frame
//!      in neither: end the guard, load the page,       └─ in the file ─┐
//!      look for a kept version once more ◄─────────────────────────────┘
//! ```
//!
//! Each page is found by itself to be of the moment (invariant 2 in `mod.rs`). So nothing that is
//! published meanwhile makes a read invalid, and a page that must be loaded does not restart it.
//! A reader uses one page at a time. So the guard ends before a page is read from the file
//! (`retired_frames.rs`). A loaded page stays until the end of the read, so no read loads a page of
//! its path twice, however small the cache is. A read of all pages keeps only the last one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ptr::NonNull;
use std::sync::Arc;

use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use skein_sync::mutex::{alone, shared};
use skein_sync::reclaim::{LocalGuard, PROTECT};

use super::MomentKey;
use super::kept_versions::{KeptVersion, KeptVersionKey};
use crate::buffer::frame::PageFrame;
use crate::buffer::{
    BufferManager, FetchOutcome, PageReader, PageReference, UncachedPage, WalkResult, WalkStop,
};
use crate::page::{PageBytes, PageId, PagePlace};
use crate::{DiskError, Result};

/// A page of a moment that was loaded for a reader, and stays in memory as long as this.
#[derive(Debug)]
pub(super) enum LoadedPage<'b> {
    /// In the cache, and not evicted meanwhile.
    Referenced(PageReference<'b>),
    Frame(Arc<PageFrame>),
    Uncached(UncachedPage<'b>),
}

impl LoadedPage<'_> {
    pub(super) fn bytes(&self) -> Option<&PageBytes> {
        match self {
            Self::Referenced(reference) => Some(&reference.frame.bytes),
            Self::Frame(frame) => Some(&frame.bytes),
            Self::Uncached(page) => page.bytes(),
        }
    }
}

/// The pages of a moment. The snapshot must be live.
#[derive(Debug)]
pub(crate) struct MomentPages<'b> {
    buffer: &'b BufferManager,
    moment: u64,
    /// Protects the page that was returned last, if it was in memory.
    guard: Option<LocalGuard<'b>>,
    /// The pages that were loaded for the read, without those of long values.
    loaded: BTreeMap<PageId, LoadedPage<'b>>,
    /// The page that was loaded last, if it is not kept.
    last: Option<LoadedPage<'b>>,
    /// Whether loaded pages are kept until the end of the read.
    keeps: bool,
    hits: u64,
    /// Pages of long values that were loaded into the cache.
    cached_pieces: usize,
}

impl<'b> MomentPages<'b> {
    pub(super) fn new(buffer: &'b BufferManager, moment: u64) -> Self {
        let (guard, loaded, last) = (None, BTreeMap::new(), None);
        Self { buffer, moment, guard, loaded, last, keeps: true, hits: 0, cached_pieces: 0 }
    }

    fn find_or_load(&mut self, id: PageId, is_cached: bool, keeps: bool) -> WalkResult<&PageBytes> {
        let guard = self.guard.get_or_insert_with(|| self.buffer.collector.enter());
        if let Some(found) = self.buffer.find_at(id, self.moment, guard) {
            self.hits += 1;
            // SAFETY: the guard protects the page. It ends in another call of this function or with
            // `self`, and the returned reference borrows `self` until then.
            return Ok(unsafe { found.as_ref() });
        }
        self.guard = None;
        let loaded = match self.loaded.entry(id) {
            Entry::Occupied(loaded) => loaded.into_mut(),
            Entry::Vacant(free) => {
                let loaded = self.buffer.load_at(id, self.moment, is_cached)?;
                if keeps { free.insert(loaded) } else { self.last.insert(loaded) }
            }
        };
        loaded.bytes().ok_or_else(|| WalkStop::no_page(id))
    }
}

impl PageReader for MomentPages<'_> {
    #[inline]
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        self.find_or_load(id, true, self.keeps)
    }

    /// Looks at a page of a long value.
    fn with_page<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> WalkResult<T> {
        // As for the store's reads: a value uses at most half of the cache.
        self.cached_pieces += 1;
        let is_cached = self.cached_pieces <= self.buffer.room.capacity() / 2;
        self.find_or_load(id, is_cached, false).map(look)
    }
}

impl Drop for MomentPages<'_> {
    fn drop(&mut self) {
        self.buffer.counts.hits.fetch_add(self.hits, Ordering::Relaxed);
    }
}

impl BufferManager {
    /// Reads pages as a live snapshot sees them.
    ///
    /// # Errors
    /// The read failed, a page cannot be read or is damaged, or the file is closed.
    pub(crate) fn read_at<T>(
        &self,
        key: MomentKey,
        read: impl FnOnce(&mut MomentPages<'_>) -> WalkResult<T>,
    ) -> Result<T> {
        self.read_from(key, MomentPages::new(self, key.moment), read)
    }

    /// Reads a large share of the pages as a live snapshot sees them, and keeps none of them.
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at).
    pub(crate) fn read_all_at<T>(
        &self,
        key: MomentKey,
        read: impl FnOnce(&mut MomentPages<'_>) -> WalkResult<T>,
    ) -> Result<T> {
        let mut pages = MomentPages::new(self, key.moment);
        pages.keeps = false;
        self.read_from(key, pages, read)
    }

    fn read_from<'b, T>(
        &'b self,
        key: MomentKey,
        mut pages: MomentPages<'b>,
        read: impl FnOnce(&mut MomentPages<'_>) -> WalkResult<T>,
    ) -> Result<T> {
        self.file.check_open()?;
        let read = read(&mut pages);
        drop(pages);
        self.end_read_at(key, read)
    }

    pub(super) fn end_read_at<T>(&self, key: MomentKey, read: WalkResult<T>) -> Result<T> {
        let value = read.map_err(|stop| self.fault_at(key.moment, stop))?;
        self.file.check_open()?;
        Ok(value)
    }

    fn fault_at(&self, moment: u64, stop: WalkStop) -> DiskError {
        let (id, what) = match stop.into_damage() {
            Ok(damage) => damage,
            Err(error) => return error,
        };
        let place = match self.kept_at(id, moment) {
            Some((_, KeptVersion::InFile(place))) => Some(place),
            Some((_, KeptVersion::InMemory(frame))) => frame.place(),
            None => return self.damaged_page(id, &what),
        };
        self.file.damaged(place.unwrap_or_default(), format!("page {}: {what}", id.0))
    }

    /// Returns the moment's version of a page if it is in memory. The guard protects it.
    #[inline]
    pub(super) fn find_at(
        &self,
        id: PageId,
        moment: u64,
        guard: &LocalGuard<'_>,
    ) -> Option<NonNull<PageBytes>> {
        let _ = guard;
        let entry = self.table.get(id)?;
        let frame = entry.frame.load(PROTECT);
        // Relaxed: after the load of the frame (invariant 3).
        if entry.kept.load(Ordering::Relaxed)
            && let Some((_, version)) = shared(&self.moments.kept).find(id, moment)
        {
            return match version {
                KeptVersion::InMemory(frame) => {
                    frame.count_use();
                    Some(NonNull::from(&*frame.bytes))
                }
                KeptVersion::InFile(_) => None,
            };
        }
        // SAFETY: the guard protects the frame.
        let frame = unsafe { frame.as_ref() }?;
        frame.count_use();
        if self.reports_uses {
            lock(&self.policy).touch(id);
        }
        Some(NonNull::from(&*frame.bytes))
    }

    /// Returns the kept version of a page that a snapshot of this moment sees. Without one, it sees
    /// the version that the caller has loaded from the table before.
    fn kept_at(&self, id: PageId, moment: u64) -> Option<(KeptVersionKey, KeptVersion)> {
        let entry = self.table.get(id)?;
        // Relaxed: as in `find_at`.
        if !entry.kept.load(Ordering::Relaxed) {
            return None;
        }
        shared(&self.moments.kept).find(id, moment).map(|(key, version)| (key, version.clone()))
    }

    /// Loads the moment's version of a page. The caller holds no guard.
    ///
    /// # Errors
    /// The page cannot be read, or there is no such page.
    pub(super) fn load_at(&self, id: PageId, moment: u64, is_cached: bool) -> WalkResult<LoadedPage<'_>> {
        loop {
            let current = match self.kept_at(id, moment) {
                Some((_, KeptVersion::InMemory(frame))) => return Ok(LoadedPage::Frame(frame)),
                Some((key, KeptVersion::InFile(place))) => {
                    return Ok(LoadedPage::Frame(self.load_kept(key, place, is_cached)?));
                }
                None => self.load_current(id, is_cached)?,
            };
            // If the page was replaced meanwhile, its former version is kept (invariant 2).
            if self.kept_at(id, moment).is_none() {
                match current {
                    Some(current) => return Ok(current),
                    None if !self.is_page(id) && self.kept_at(id, moment).is_none() => {
                        return Err(WalkStop::no_page(id));
                    }
                    // Another thread has loaded it.
                    None => {}
                }
            }
        }
    }

    /// Loads the newest version of a page, or finds it in memory.
    fn load_current(&self, id: PageId, is_cached: bool) -> Result<Option<LoadedPage<'_>>> {
        if let Some(frame) = self.table.get(id).and_then(|entry| self.pin(entry)) {
            return Ok(Some(LoadedPage::Frame(frame)));
        }
        if is_cached {
            match self.fetch(id)? {
                FetchOutcome::Loaded(reference) => return Ok(Some(LoadedPage::Referenced(reference))),
                FetchOutcome::NoPage => return Ok(None),
                FetchOutcome::NoRoom => {}
            }
        }
        Ok(self.read_uncached(id)?.map(LoadedPage::Uncached))
    }

    /// Reads a kept version from the file, and stores its frame if there is room. The caller's
    /// snapshot needs the version, so its place stays.
    fn load_kept(&self, key: KeptVersionKey, place: PagePlace, is_cached: bool) -> Result<Arc<PageFrame>> {
        self.counts.misses.fetch_add(1, Ordering::Relaxed);
        let page = self.file.page(place, key.id, &self.places)?;
        let frame = Arc::new(PageFrame::read(key.id, page, place));
        // Without room, the frame is for this reader alone.
        if is_cached && self.trim_kept_to(self.kept_most() - 1).is_ok() {
            alone(&self.moments.kept).load(key, &frame);
        }
        Ok(frame)
    }
}
