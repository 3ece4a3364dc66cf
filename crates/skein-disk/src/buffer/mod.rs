//! The buffer manager: a cache of the file's pages for many readers and one writer.
//!
//! ```text
//!   readers ──► page_view.rs      walks over pages, without locks but after many restarts
//!               page_walk.rs      walks that use one page at a time
//!               long_values.rs    loads a long value outside of a walk
//!   writer  ──► writer.rs         copies the pages that it changes
//!               private_pages.rs  the copies, in memory or spilled to the file
//!               publish.rs        all copies replace the former pages at once
//!               frozen_pages.rs   walks over all pages while writes wait
//!   both        publication_count.rs  tells a walk whether it saw all of each write
//!
//!   page_table.rs     page id ─► frame and place in the file
//!   frame.rs          a page in memory; its bytes never change
//!   fetch.rs          loads a page into the cache
//!   uncached_page.rs  reads a page without the cache
//!   evict.rs          frees room in the cache; policy/ selects the page
//!   evictor.rs        a thread that frees room before it is needed
//!   cache_room.rs     the capacity of the cache, and the room that is taken
//!   resize.rs         changes the capacity
//!   retired_frames.rs frames outside the table, until no walk can see them
//!   checkpoint.rs     makes all published changes the file's state
//!   moments/          snapshots: keeps replaced pages, and reads them
//!   compact.rs        moves pages towards the start of the file
//!   open.rs           opens or creates the file
//! ```
//!
//! Read `frame.rs` and `page_table.rs` first, then `page_view.rs` and `writer.rs`, then the rest.
//!
//! Source: section 2.2. The paper's single thread changes pages in place. Here:
//!
//! # Protocol
//! 1. The bytes of a frame never change. A write replaces the frame of a page in the table. So no
//!    reader reads bytes that a writer is changing.
//! 2. A writer publishes all frames of a write together. The counter `published` rises by one
//!    before and after a publication, so it is odd during it. A walk is valid only if `published`
//!    was even at its start and has the same value at its end. So a valid walk saw all of a write
//!    or nothing of it. Inconsistent pages are damage only if the walk is valid.
//! 3. Frames are freed after a grace period, and a walk holds a guard.
//! 4. No thread waits for the file while it holds a lock that readers of other pages need. A page
//!    is loaded and written under the lock of its stripe alone, which a share of the pages has in
//!    common. The writer loads all its pages before it publishes. There is one exception: a
//!    publication of spilled pages waits for loads of such pages, while it holds `publishing`.
//! 5. A changed page is written to a free place, never over a page that a header leads to
//!    (`page_file/`). So it can be evicted at any time, even before its log record is on disk: the
//!    page belongs to the file only after a checkpoint, which makes the log durable first.
//!
//! # References
//! A thread that loads a page holds a [`PageReference`], and a referenced page is not evicted. If a
//! policy proposes such a page, it moves to the end of the queue (section 2.2). Readers reference
//! at most half of the cache (`fetch.rs`) and read further pages past the cache. So readers cannot
//! take all room from the writer.
//!
//! # Room
//! A reader never fails for lack of room: it reads the page without the cache. A writer has its
//! copies besides the cache, and spills those that are too many. If a changed page cannot be
//! written and evicted, the writer is refused, because such pages would fill the memory.
//!
//! Design: `docs/design/disk.md`.

mod cache_room;
mod checkpoint;
mod compact;
mod evict;
mod evictor;
mod fetch;
mod frame;
mod frozen_pages;
mod long_values;
#[cfg(all(test, skein_loom))]
mod models;
mod moments;
mod open;
mod page_table;
mod page_view;
mod page_walk;
mod private_pages;
mod publication_count;
mod publish;
mod resize;
mod retired_frames;
#[cfg(test)]
mod tests;
mod uncached_page;
mod writer;

use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex};

use skein_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use skein_sync::background::ThreadSignal;
use skein_sync::locks::lock;
use skein_sync::mutex::{self, MutexGuard};
use skein_sync::reclaim::{Collector, PROTECT};

use crate::page::{PageId, PagePlace};
use crate::page_file::{FreeSpaceMap, PER_PAGE, PageFile, PageMemory};
use crate::policy::Replacement;
use crate::{DiskError, Result};
use cache_room::CacheRoom;
pub(crate) use checkpoint::{CheckpointMoment, DurableState};
use fetch::{FetchOutcome, PageReference};
use frame::PageFrame;
pub(crate) use frozen_pages::FrozenPages;
pub(crate) use long_values::{LongValueId, LongValuePieces, NEXT, NO_PAGE, PIECE};
use moments::Moments;
pub(crate) use moments::{KeptVersionKey, MomentKey};
pub(crate) use open::{CacheOptions, read_state};
use page_table::{PageTable, PageTableEntry};
pub(crate) use page_view::{PageReader, SharedPages, WalkResult, WalkStop, WantedPages};
#[cfg(test)]
pub(crate) use page_walk::PageWalk;
use publication_count::PublicationCount;
pub(crate) use resize::check_capacity;
use retired_frames::RetiredFrames;
use uncached_page::UncachedPage;
pub(crate) use writer::PageWriter;

/// The number of page locks. Several pages share a lock.
const STRIPES: usize = if cfg!(skein_loom) { 2 } else { 64 };

/// The smallest cache, in pages. A write uses up to this many pages at once, and more if keys are
/// long.
pub const CACHE_LEAST: usize = 16;

/// Counters and sizes of the buffer manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferStats {
    /// Page accesses that found the page in memory.
    pub hits: u64,
    /// Pages that were read from the file.
    pub misses: u64,
    /// Pages that were evicted.
    pub evictions: u64,
    /// Changed pages that were written, by evictions and checkpoints.
    pub writes: u64,
    /// Evictions that failed because a changed page could not be written.
    pub failed_evictions: u64,
    /// Pages that the cache can hold.
    pub capacity: usize,
    /// Pages in memory.
    pub resident: usize,
    /// Pages with a reference, and pages that are being loaded.
    pub referred: usize,
    /// Evicted or replaced pages in memory that readers still use.
    pub retired: usize,
    /// Entries of the replacement policy's queues: of pages in memory, stale ones and ghosts.
    pub policy_entries: usize,
    /// Pages of the file.
    pub file_pages: u32,
    /// Pages of the file that are free.
    pub free_pages: u32,
}

#[derive(Debug, Default)]
struct BufferCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    failed_evictions: AtomicU64,
    writes: AtomicU64,
    /// References and loads in progress.
    referred: AtomicUsize,
}

/// The buffer manager of one file.
#[derive(Debug)]
pub(crate) struct BufferManager {
    file: PageFile,
    table: PageTable,
    room: CacheRoom,
    /// Held by a resize.
    resizing: Mutex<()>,
    /// Wakes the thread of `evictor.rs`.
    pub(crate) evictor: Arc<ThreadSignal>,
    policy: Mutex<Box<dyn Replacement>>,
    /// Whether the policy must be told of each use.
    reports_uses: bool,
    stripes: [mutex::Mutex<()>; STRIPES],
    places: Arc<Mutex<FreeSpaceMap>>,
    published: PublicationCount,
    /// Held during a publication, and by a reader after too many invalid walks.
    publishing: mutex::Mutex<()>,
    /// Held by the writer.
    writing: Mutex<writer::PageWriterState>,
    /// Held by a checkpoint.
    durable: Mutex<DurableState>,
    /// Dropped before the collector, like all frames.
    moments: Moments,
    retired: RetiredFrames,
    collector: Collector,
    counts: BufferCounters,
}

impl BufferManager {
    pub(crate) fn stats(&self) -> BufferStats {
        let counts = &self.counts;
        let (file_pages, free_pages) = lock(&self.places).counts();
        BufferStats {
            hits: counts.hits.load(Ordering::Relaxed),
            misses: counts.misses.load(Ordering::Relaxed),
            evictions: counts.evictions.load(Ordering::Relaxed),
            writes: counts.writes.load(Ordering::Relaxed),
            failed_evictions: counts.failed_evictions.load(Ordering::Relaxed),
            capacity: self.room.capacity(),
            resident: self.room.taken(),
            referred: counts.referred.load(Ordering::Relaxed),
            retired: self.retired.count(),
            policy_entries: lock(&self.policy).entries(),
            file_pages,
            free_pages,
        }
    }

    /// Returns the reason why writes are stopped: a sync of the file failed, or the last write
    /// found no room on the disk. Returns `None` if writes are accepted.
    pub(crate) fn writes_stopped(&self) -> Option<DiskError> {
        self.file.stopped().or_else(|| lock(&self.places).no_room())
    }

    /// Checks that writes are accepted.
    ///
    /// # Errors
    /// A failed sync has stopped writes, or the file is closed.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.file.check_writable()
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Ends all use of the file; afterwards another process may own it. Changes since the last
    /// checkpoint remain in memory only.
    pub(crate) fn close(&self) {
        self.file.close();
    }

    /// Returns the number of page ids in use. Waits for the current write.
    pub(crate) fn ids_in_use(&self) -> usize {
        // The table only grows under this lock.
        let writing = lock(&self.writing);
        self.table.len() as usize - writing.free.len()
    }

    /// Returns the number of page ids, used or free.
    pub(crate) fn ids(&self) -> usize {
        self.table.len() as usize
    }

    fn lock_stripe(&self, id: PageId) -> MutexGuard<'_, ()> {
        mutex::lock(&self.stripes[id.0 as usize % STRIPES])
    }

    /// Returns the frame of a page that is in memory. The frame stays valid as long as the caller
    /// keeps it, but the page can still be evicted.
    fn pin(&self, entry: &PageTableEntry) -> Option<Arc<PageFrame>> {
        let _guard = self.collector.enter();
        let frame = entry.frame.load(PROTECT).cast_const();
        // SAFETY: the table has a count of the frame, and releases it only after the guard is
        // dropped; frames come from `Arc::into_raw`.
        (!frame.is_null()).then(|| unsafe {
            Arc::increment_strong_count(frame);
            Arc::from_raw(frame)
        })
    }

    /// Loads a page into its empty table entry. Returns false if there is no such page or the entry
    /// is not empty any more. The caller holds the page's stripe lock.
    fn load_frame(&self, id: PageId, entry: &PageTableEntry) -> Result<bool> {
        let Some((place, page)) = self.read_page(id, entry)? else { return Ok(false) };
        Ok(Self::install_frame(entry, PageFrame::read(id, page, place)))
    }

    /// Stores a frame in an empty table entry. Returns false if the entry is not empty. The caller
    /// holds the page's stripe lock.
    fn install_frame(entry: &PageTableEntry, frame: PageFrame) -> bool {
        let frame = Arc::into_raw(Arc::new(frame)).cast_mut();
        // The writer publishes without a stripe lock, so it may have filled the entry.
        let null = ptr::null_mut();
        let is_stored = entry.frame.compare_exchange(null, frame, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if !is_stored {
            // SAFETY: from `into_raw` above, and in no table.
            drop(unsafe { Arc::from_raw(frame.cast_const()) });
        }
        is_stored
    }

    /// Reads the newest written version of a page and returns it with its place. The caller holds
    /// the page's stripe lock.
    fn read_page(&self, id: PageId, entry: &PageTableEntry) -> Result<Option<(PagePlace, PageMemory)>> {
        let Some(place) = entry.place() else { return Ok(None) };
        self.counts.misses.fetch_add(1, Ordering::Relaxed);
        let page = self.file.page(place, id, &self.places)?;
        Ok(Some((place, page)))
    }

    /// Returns whether the page exists, in memory or in the file.
    fn is_page(&self, id: PageId) -> bool {
        self.table
            .get(id)
            .is_some_and(|entry| entry.place().is_some() || !entry.frame.load(PROTECT).is_null())
    }

    /// Sets the place of a page's newest written version and releases the previous place.
    fn set_place(&self, entry: &PageTableEntry, place: Option<PagePlace>) {
        if let Some(before) = entry.set_place(place) {
            lock(&self.places).release(before);
        }
    }

    /// Returns how many maps, directories and pages of counts a checkpoint writes at most, besides
    /// pages.
    fn list_count(&self) -> usize {
        let maps = self.table.len().div_ceil(PER_PAGE);
        (maps + maps.div_ceil(PER_PAGE)) as usize + 1 + checkpoint::COUNT_PAGES_MOST
    }

    /// Retires the frame of a freed page, or a frame that a newer one has replaced. Its promised
    /// place is released, unless a checkpoint or a snapshot needs the frame. The caller holds the
    /// writer's lock, so no checkpoint begins.
    fn supersede(&self, frame: *mut PageFrame) {
        // SAFETY: the table's count of the frame, which comes from `into_raw`, and which the caller
        // has taken.
        let superseded = unsafe { Arc::from_raw(frame.cast_const()) };
        if superseded.is_kept() {
            // It is in use, not retired.
            return self.retired.release(superseded, &self.collector);
        }
        if !superseded.is_claimed() {
            drop(superseded.take_reservation());
        }
        self.retired.retire(superseded, &self.collector);
    }

    /// Retires a frame that the caller has taken out of the table.
    fn retire(&self, frame: *mut PageFrame) {
        // SAFETY: the table's count of the frame, which comes from `into_raw`, and which the caller
        // has taken.
        self.retired.retire(unsafe { Arc::from_raw(frame.cast_const()) }, &self.collector);
    }
}

impl Drop for BufferManager {
    fn drop(&mut self) {
        for id in (0..self.table.len()).map(PageId) {
            let Some(entry) = self.table.get(id) else { continue };
            let frame = entry.frame.swap(ptr::null_mut(), Ordering::SeqCst);
            if !frame.is_null() {
                // SAFETY: nobody else has the buffer manager, so the table's count can be released.
                drop(unsafe { Arc::from_raw(frame.cast_const()) });
            }
        }
    }
}
