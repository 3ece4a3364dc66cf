//! The buffer manager: some of the file's pages in memory, for many readers and one writer.
//!
//! ```text
//!   readers   view.rs    walk over frames, take no lock; where a page is not there: fetch it, walk again          long.rs   long values, whose pages no walk has to meet
//!   writer    writer.rs  makes copies of the pages that it changes, and publishes all of them at one moment
//!             table.rs   page id ─► frame, place in the file          frame.rs    a page in memory; its bytes never change
//!             fetch.rs   pages that come to the cache, and stay        checkpoint.rs   all that changed becomes the file's state
//!             past.rs    pages that do not come to the cache           retired.rs  frames that have left, until no walk sees them
//!             policy/    which page leaves     evict.rs    how it does
//!                                                                      compact.rs      pages move towards the file's begin
//! ```
//!
//! Source: section 2.2. There, one thread changes pages in place; here:
//!
//! # Protocol
//! 1. A frame's bytes never change. What changes is which frame the table has for a page. So a reader reads bytes that nobody writes.
//! 2. A writer publishes the frames of one write together: `published` is odd while it does. A walk counts only if `published` was even when it began and the
//!    same when it ended; so it saw all of a write, or nothing of it. Whatever a walk meets that does not hold together is a fault only if it counts.
//! 3. Frames are freed past a grace period: a walk is under a guard.
//! 4. Nobody waits for the file under a lock that readers of other pages need: a page is fetched and written under the lock of its stripe alone, and the
//!    writer reads what it needs before it publishes.
//! 5. A page that has changed is written to a place that was free, never over what a header leads to (`page_file/`). So it may leave memory at any time, and it
//!    needs no log to be on disk first.
//!
//! # References
//! Who fetched a page holds a [`Reference`] to it: it does not leave as long. A policy that proposes such a page moves it to the end of its line (section
//! 2.2). Readers refer to half of the cache at most (`fetch.rs`), and read past it otherwise; so no number of them keeps a writer from room.
//!
//! # Room
//! A reader never fails for want of room, whatever keeps a page from leaving: it reads past the cache. A writer's pages are in memory
//! before they are published; it is refused if a page that has changed cannot be written to leave, since such pages would fill the memory.

mod checkpoint;
mod compact;
mod evict;
mod fetch;
mod frame;
mod frozen_pages;
mod long_values;
mod open;
mod page_table;
mod page_view;
mod retired_frames;
#[cfg(test)]
mod tests;
mod uncached_page;
mod writer;

use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex};

use skein_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use skein_sync::locks::lock;
use skein_sync::reclaim::{Collector, PROTECT};

use crate::page::{PageId, PagePlace};
use crate::page_file::{FreeSpaceMap, PER_PAGE, PageFile, PageMemory};
use crate::policy::Replacement;
use crate::{DiskError, Result};
pub(crate) use checkpoint::{CheckpointMoment, DurableState};
use fetch::{FetchOutcome, PageReference};
use frame::PageFrame;
pub(crate) use frozen_pages::FrozenPages;
pub(crate) use long_values::{LongValueId, LongValuePieces, NEXT, NO_PAGE, PIECE};
pub(crate) use open::{CacheOptions, read_state};
use page_table::{PageTable, PageTableEntry};
pub(crate) use page_view::{PageView, WalkStop, WantedPages};
use retired_frames::RetiredFrames;
use uncached_page::UncachedPage;
pub(crate) use writer::PageWriter;

/// Locks of pages; two pages may share one.
const STRIPES: usize = 64;

/// The least number of pages in a cache: a write takes up to so many at once, and more if keys are long.
pub const CACHE_LEAST: usize = 16;

/// What the buffer manager did, and has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferStats {
    /// Pages that were asked for and were in memory.
    pub hits: u64,
    /// Pages that had to be read.
    pub misses: u64,
    /// Pages that left to make room.
    pub evictions: u64,
    /// Pages that were written: those that had changed, when they left or by a checkpoint.
    pub writes: u64,
    /// Pages that could not leave, because they have changed and could not be written.
    pub failed_evictions: u64,
    /// Pages in memory now.
    pub resident: usize,
    /// Those of them that somebody refers to, and those on their way to memory.
    pub referred: usize,
    /// Pages that have left the cache, and whose memory waits for readers that may still see them.
    pub retired: usize,
    /// Entries of the replacement policy's queues: of pages in memory, of some that have left, and some that are remembered.
    pub policy_entries: usize,
    /// Pages of the file.
    pub file_pages: u32,
    /// Those of them that hold nothing.
    pub free_pages: u32,
}

#[derive(Debug, Default)]
struct BufferCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    failed_evictions: AtomicU64,
    writes: AtomicU64,
    /// Pages in memory, and room that was promised.
    resident: AtomicUsize,
    /// References, and fetches under way.
    referred: AtomicUsize,
}

/// The buffer manager of one file.
#[derive(Debug)]
pub(crate) struct BufferManager {
    file: PageFile,
    table: PageTable,
    cache: usize,
    policy: Mutex<Box<dyn Replacement>>,
    /// Whether the policy is to be told of each use.
    tells_uses: bool,
    stripes: [Mutex<()>; STRIPES],
    places: Arc<Mutex<FreeSpaceMap>>,
    /// How often something was published, twice; odd while that goes on.
    published: AtomicU64,
    /// Held by who publishes, and by a reader whose walks never counted.
    publishing: Mutex<()>,
    /// Held by the writer: what only it knows.
    writing: Mutex<writer::PageWriterState>,
    /// Held by a checkpoint: what the last header leads to.
    durable: Mutex<DurableState>,
    retired: RetiredFrames,
    collector: Collector,
    counts: BufferCounters,
}

impl BufferManager {
    /// What it did, and has.
    pub(crate) fn stats(&self) -> BufferStats {
        let counts = &self.counts;
        let (file_pages, free_pages) = lock(&self.places).counts();
        BufferStats {
            hits: counts.hits.load(Ordering::Relaxed),
            misses: counts.misses.load(Ordering::Relaxed),
            evictions: counts.evictions.load(Ordering::Relaxed),
            writes: counts.writes.load(Ordering::Relaxed),
            failed_evictions: counts.failed_evictions.load(Ordering::Relaxed),
            resident: counts.resident.load(Ordering::Relaxed),
            referred: counts.referred.load(Ordering::Relaxed),
            retired: self.retired.count(),
            policy_entries: lock(&self.policy).entries(),
            file_pages,
            free_pages,
        }
    }

    /// Why writes are stopped, if they are: a sync of the file failed, or the last write found no room on the disk.
    pub(crate) fn writes_stopped(&self) -> Option<DiskError> {
        self.file.stopped().or_else(|| lock(&self.places).no_room())
    }

    /// Whether writes go on.
    ///
    /// # Errors
    /// A failed sync has stopped them; the file was closed.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.file.check_writable()
    }

    /// The file's name.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Ends all use of the file: it may be another process's from now on. What has changed since the last checkpoint stays here alone.
    pub(crate) fn close(&self) {
        self.file.close();
    }

    /// Page ids that somebody has. Waits for the write under way.
    pub(crate) fn ids_in_use(&self) -> usize {
        // The table grows under the lock, so it is looked at under the lock.
        let writing = lock(&self.writing);
        self.table.len() as usize - writing.free.len()
    }

    /// Page ids that there are, with those that nobody has.
    pub(crate) fn ids(&self) -> usize {
        self.table.len() as usize
    }

    fn stripe(&self, id: PageId) -> &Mutex<()> {
        &self.stripes[id.0 as usize % STRIPES]
    }

    /// The frame of a page that is in memory. It stays as it is however long the caller keeps it, and keeps nobody else
    /// from letting the page leave.
    fn pin(&self, entry: &PageTableEntry) -> Option<Arc<PageFrame>> {
        let _guard = self.collector.enter();
        let frame = entry.frame.load(PROTECT).cast_const();
        // SAFETY: the table has a count of the frame, which it gives back past the guard; frames come from `Arc::into_raw`.
        (!frame.is_null()).then(|| unsafe {
            Arc::increment_strong_count(frame);
            Arc::from_raw(frame)
        })
    }

    /// Reads a page that is not in memory into the table; false if there is no such page. Its stripe is locked.
    fn load_frame(&self, id: PageId, entry: &PageTableEntry) -> Result<bool> {
        let Some((place, page)) = self.read_page(id, entry)? else { return Ok(false) };
        Ok(Self::install_frame(entry, PageFrame::read(id, page, place)))
    }

    /// Puts a frame into the table where none is; false if one is. The page's stripe is locked.
    fn install_frame(entry: &PageTableEntry, frame: PageFrame) -> bool {
        let frame = Arc::into_raw(Arc::new(frame)).cast_mut();
        // The writer may have published another form of it meanwhile; it takes no stripe for that.
        let null = ptr::null_mut();
        let came = entry.frame.compare_exchange(null, frame, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if !came {
            // SAFETY: from `into_raw` above, and in no table.
            drop(unsafe { Arc::from_raw(frame.cast_const()) });
        }
        came
    }

    /// Reads the newest form of a page that was written, and says where it lies. Its stripe is locked.
    fn read_page(&self, id: PageId, entry: &PageTableEntry) -> Result<Option<(PagePlace, PageMemory)>> {
        let Some(place) = entry.place() else { return Ok(None) };
        self.counts.misses.fetch_add(1, Ordering::Relaxed);
        let page = self.file.page(place, id, &self.places)?;
        Ok(Some((place, page)))
    }

    /// Whether there is such a page, in memory or in the file.
    fn is_page(&self, id: PageId) -> bool {
        self.table
            .get(id)
            .is_some_and(|entry| entry.place().is_some() || !entry.frame.load(PROTECT).is_null())
    }

    /// Sets where a page's newest written form lies, and lets go of the place before.
    fn set_place(&self, entry: &PageTableEntry, place: Option<PagePlace>) {
        if let Some(before) = entry.set_place(place) {
            lock(&self.places).release(before);
        }
    }

    /// Maps and directories, which a checkpoint writes besides pages.
    fn map_and_directory_count(&self) -> usize {
        let maps = self.table.len().div_ceil(PER_PAGE);
        (maps + maps.div_ceil(PER_PAGE)) as usize + 1
    }

    /// Gives back a frame of which a newer form was published, or whose page is no more. It is not written, unless a checkpoint
    /// needs it. The writer's lock is held, so no checkpoint begins.
    fn supersede(&self, frame: *mut PageFrame) {
        // SAFETY: the table's count of the frame, which the caller has taken, is given back below.
        let superseded = unsafe { &*frame };
        if !superseded.is_claimed() {
            drop(superseded.take_reservation());
        }
        self.retire(frame);
    }

    /// Gives back a frame that the caller has taken out of the table.
    fn retire(&self, frame: *mut PageFrame) {
        // SAFETY: the table's count of the frame, which comes from `into_raw`, and which the caller has taken.
        self.retired.retire(unsafe { Arc::from_raw(frame.cast_const()) }, &self.collector);
    }
}

impl Drop for BufferManager {
    fn drop(&mut self) {
        for id in (0..self.table.len()).map(PageId) {
            let Some(entry) = self.table.get(id) else { continue };
            let frame = entry.frame.swap(ptr::null_mut(), Ordering::SeqCst);
            if !frame.is_null() {
                // SAFETY: nobody else has the buffer; the table's count goes back.
                drop(unsafe { Arc::from_raw(frame.cast_const()) });
            }
        }
    }
}
