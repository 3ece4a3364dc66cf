//! Reading: walks over pages. Each walk sees one version of the whole file.
//!
//! ```text
//!   walk over frames, under a guard ─┬─ complete, and valid ────► return the result
//!     ▲                              ├─ a page is missing ──────► load it ──┐
//!     │                              └─ a write was published ──► wait ─────┤
//!     └─────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A walk runs without locks and may run many times ([`BufferManager::read_with`]), so it must have
//! no side effects. It is valid if no write was published meanwhile (rule 2 of the protocol in
//! `mod.rs`); the result of an invalid walk is discarded. Loaded pages are kept until a walk is
//! valid and complete, even if the cache has no room for them. So each restart makes progress, and
//! no page is loaded twice unless a write replaces it. A fast writer cannot starve a reader: after
//! [`INVALID_WALKS_MOST`] invalid walks the reader blocks publications during one walk.
//!
//! A walk over a [`PageView`] uses several pages at once, so it ends to load pages. A walk that
//! uses one page at a time loads pages without a restart (`page_walk.rs`).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::MutexGuard;

use skein_sync::atomic::Ordering;
use skein_sync::cache::prefetch_read;
use skein_sync::locks::lock;
use skein_sync::mutex;
use skein_sync::reclaim::{LocalGuard, PROTECT};
use skein_sync::spin::Backoff;

use super::long_values::{LongValueCache, LongValueId};
use super::writer::PageWriterState;
use super::{BufferManager, FetchOutcome, PageReference, UncachedPage};
use crate::page::{PageBytes, PageId};
use crate::{DiskError, Result};

/// After so many invalid walks the reader takes the publish lock for one walk.
const INVALID_WALKS_MOST: usize = 16;
/// How often a reader loads long values, or pages, while writes are published. After that it keeps
/// the writer away, because they may change faster than they can be loaded.
const LONG_TRIES: usize = 16;
const PAGE_TRIES: usize = 1_024;

/// The reason why a walk stopped.
#[derive(Debug)]
pub(crate) enum WalkStop {
    /// Some pages are not in memory. The caller loads them and restarts the walk.
    Missing(Vec<WantedPages>),
    /// A page is damaged, with a description. If the walk is invalid, it may have seen two
    /// versions, so this means nothing.
    Damaged(PageId, String),
    /// The walk failed.
    Failed(DiskError),
}

/// A missing item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedPages {
    Page(PageId),
    /// All pages of a long value.
    Long(LongValueId),
}

/// The description of a page to which only a damaged pointer leads.
pub(super) const NO_PAGE_HERE: &str = "there is no such page, but a pointer leads to it";

impl WalkStop {
    /// Returns the stop at a pointer to a page that does not exist.
    #[cold]
    pub(super) fn no_page(id: PageId) -> Self {
        Self::Damaged(id, NO_PAGE_HERE.to_owned())
    }

    /// Converts the stop into the damaged page and a description, for callers that cannot load
    /// pages.
    ///
    /// # Errors
    /// The error, if the walk failed with one.
    pub(crate) fn into_damage(self) -> Result<(PageId, String)> {
        match self {
            Self::Failed(error) => Err(error),
            Self::Damaged(id, what) => Ok((id, what)),
            Self::Missing(wanted) => {
                let id = match wanted.first() {
                    Some(WantedPages::Page(id) | WantedPages::Long(LongValueId { first: id, .. })) => *id,
                    None => PageId(0),
                };
                Ok((id, "a pointer leads to it, but it cannot be read".to_owned()))
            }
        }
    }
}

impl From<DiskError> for WalkStop {
    fn from(error: DiskError) -> Self {
        Self::Failed(error)
    }
}

/// The result of a walk over pages, or the reason why it stopped.
pub(crate) type WalkResult<T> = std::result::Result<T, WalkStop>;

/// Access to pages, one at a time, for a reader's walk and for the writer.
pub(crate) trait PageReader {
    /// Returns the bytes of a page. Loads it if the walk can do so.
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes>;

    /// Passes a page to `look` without keeping the page afterwards.
    fn with_page<T>(&mut self, id: PageId, look: impl FnOnce(&PageBytes) -> T) -> WalkResult<T> {
        self.page(id).map(look)
    }

    /// Returns the bytes of a long value that was loaded as a whole, or the reason why that failed.
    /// Returns `None` if the caller has to read its pages.
    fn long(&mut self, _: LongValueId) -> Option<WalkResult<&[u8]>> {
        None
    }
}

/// Pages that stay in memory while they are viewed, so that several of them can be used at once.
pub(crate) trait SharedPages {
    /// Returns the bytes of a page.
    fn page(&self, id: PageId) -> WalkResult<&PageBytes>;

    /// Returns the bytes of a long value if it was loaded as a whole.
    fn long(&self, long: LongValueId) -> Option<WalkResult<&[u8]>>;

    /// Prefetches a page's frame if the page is in memory.
    fn prefetch(&self, id: PageId);

    /// Returns the number of the version of all pages. Two valid walks with the same number see the
    /// same bytes.
    fn moment(&self) -> u64;
}

impl<V: SharedPages> PageReader for &V {
    #[inline]
    fn page(&mut self, id: PageId) -> WalkResult<&PageBytes> {
        SharedPages::page(*self, id)
    }

    fn long(&mut self, long: LongValueId) -> Option<WalkResult<&[u8]>> {
        SharedPages::long(*self, long)
    }
}

/// The pages as a walk sees them.
#[derive(Debug)]
pub(crate) struct PageView<'w> {
    buffer: &'w BufferManager,
    /// Protects the frames that the walk finds.
    _guard: &'w LocalGuard<'w>,
    fetched: &'w FetchedPages<'w>,
    /// The value of `published` when the walk began.
    moment: u64,
    hits: Cell<u64>,
    /// The pages that the walk used, if the policy must be told.
    used: RefCell<Vec<PageId>>,
}

/// Everything that was loaded for a walk. It is kept until the walk is valid.
#[derive(Debug, Default)]
pub(super) struct FetchedPages<'b> {
    references: Vec<PageReference<'b>>,
    uncached: BTreeMap<PageId, UncachedPage<'b>>,
    pub(super) long: LongValueCache,
}

impl FetchedPages<'_> {
    /// Returns the bytes of a page that was loaded without the cache, if they are its newest
    /// version.
    pub(super) fn uncached(&self, id: PageId) -> Option<&PageBytes> {
        self.uncached.get(&id)?.bytes_of(id)
    }
}

impl SharedPages for PageView<'_> {
    #[inline]
    fn page(&self, id: PageId) -> WalkResult<&PageBytes> {
        let Some(entry) = self.buffer.table.get(id) else { return Err(WalkStop::no_page(id)) };
        let frame = entry.frame.load(PROTECT);
        // SAFETY: the guard protects the frame for the lifetime of the view.
        let Some(frame) = (unsafe { frame.as_ref() }) else {
            let uncached = self.fetched.uncached(id);
            return uncached.ok_or_else(|| WalkStop::Missing(vec![WantedPages::Page(id)]));
        };
        frame.count_use();
        self.hits.set(self.hits.get() + 1);
        if self.buffer.reports_uses {
            self.used.borrow_mut().push(id);
        }
        Ok(&frame.bytes)
    }

    fn long(&self, long: LongValueId) -> Option<WalkResult<&[u8]>> {
        self.fetched.long.get(long)
    }

    #[inline]
    fn prefetch(&self, id: PageId) {
        if let Some(entry) = self.buffer.table.get(id) {
            prefetch_read(entry.frame.load(PROTECT).cast_const());
        }
    }

    fn moment(&self) -> u64 {
        self.moment
    }
}

/// How a round of [`BufferManager::repeat_walk`] may walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkRound {
    Optimistic,
    /// Publications wait for the walk, so it must not wait for the file.
    Publishing,
}

/// Keeps the writer away from a reader, if pages change faster than the reader can load them.
#[derive(Debug)]
struct WriterExclusion<'b> {
    buffer: &'b BufferManager,
    /// The value of `published` when the read began.
    begun: u64,
    long_loads: usize,
    page_loads: usize,
    lock: Option<MutexGuard<'b, PageWriterState>>,
}

impl<'b> WriterExclusion<'b> {
    fn begin(buffer: &'b BufferManager) -> Self {
        let begun = buffer.published.now();
        Self { buffer, begun, long_loads: 0, page_loads: 0, lock: None }
    }

    /// Counts a load between two walks, if writes were published since the read began.
    fn count_load(&mut self, is_long: bool) {
        if self.lock.is_some() || self.buffer.published.now() == self.begun {
            return;
        }
        let (count, most) =
            if is_long { (&mut self.long_loads, LONG_TRIES) } else { (&mut self.page_loads, PAGE_TRIES) };
        *count += 1;
        if *count == most {
            self.lock = Some(lock(&self.buffer.writing));
        }
    }
}

impl BufferManager {
    /// Repeats a walk until it is valid and complete. Returns its result.
    ///
    /// # Errors
    /// The walk failed, a page is damaged, or the file is closed.
    pub(crate) fn read_with<T>(&self, mut walk: impl FnMut(&PageView<'_>) -> WalkResult<T>) -> Result<T> {
        self.repeat_walk(|fetched, _| self.walk_once(fetched, &mut walk))
    }

    /// Repeats a walk until it is valid and complete, and loads the pages that it misses. `walk`
    /// returns its result and whether it is valid.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with).
    pub(super) fn repeat_walk<'b, T>(
        &'b self,
        mut walk: impl FnMut(&mut FetchedPages<'b>, WalkRound) -> (WalkResult<T>, bool),
    ) -> Result<T> {
        let mut fetched = FetchedPages::default();
        let mut backoff = Backoff::new();
        let mut invalid_walks = 0;
        let mut writer = WriterExclusion::begin(self);
        loop {
            // After too many invalid walks, no write is published during this one.
            let publish_lock = (invalid_walks > INVALID_WALKS_MOST).then(|| mutex::lock(&self.publishing));
            let round = if publish_lock.is_some() { WalkRound::Publishing } else { WalkRound::Optimistic };
            let moment = self.published.begin_walk();
            let (result, is_valid) = walk(&mut fetched, round);
            drop(publish_lock);
            match result {
                Err(WalkStop::Missing(wanted)) if is_valid || !has_long(&wanted) => {
                    writer.count_load(has_long(&wanted));
                    if is_valid && let Some(id) = self.dangling_page(&wanted, moment) {
                        return Err(self.damaged_page(id, NO_PAGE_HERE));
                    }
                    self.fetch_for_walk(&wanted, &mut fetched)?;
                }
                Ok(value) if is_valid => {
                    self.file.check_open()?;
                    return Ok(value);
                }
                Err(WalkStop::Failed(error)) if is_valid => return Err(error),
                Err(WalkStop::Damaged(id, what)) if is_valid => return Err(self.damaged_page(id, &what)),
                _ => {
                    invalid_walks += 1;
                    backoff.wait();
                }
            }
        }
    }

    /// Walks once. Returns the result and whether the walk is valid.
    fn walk_once<T>(
        &self,
        fetched: &FetchedPages<'_>,
        walk: &mut impl FnMut(&PageView<'_>) -> WalkResult<T>,
    ) -> (WalkResult<T>, bool) {
        let guard = self.collector.enter();
        let before = self.published.begin_walk();
        let view = PageView {
            buffer: self,
            _guard: &guard,
            fetched,
            moment: before,
            hits: Cell::new(0),
            used: RefCell::default(),
        };
        let result = walk(&view);
        let is_valid = self.published.is_valid_walk(before);
        self.note_walk(view.hits.get(), view.used.into_inner());
        (result, is_valid)
    }

    /// Notes the page accesses of a walk.
    pub(super) fn note_walk(&self, hits: u64, used: Vec<PageId>) {
        self.counts.hits.fetch_add(hits, Ordering::Relaxed);
        if !used.is_empty() {
            let mut policy = lock(&self.policy);
            for id in used {
                policy.touch(id);
            }
        }
    }

    /// Returns a missing page that does not exist at `moment`, the version of the walk. Only a
    /// damaged pointer leads to such a page. To load it would fail in each round, so the walk would
    /// never end.
    fn dangling_page(&self, wanted: &[WantedPages], moment: u64) -> Option<PageId> {
        let pages = wanted.iter().filter_map(|wanted| match wanted {
            WantedPages::Page(id) => Some(*id),
            WantedPages::Long(_) => None,
        });
        let dangling = pages.into_iter().find(|id| !self.is_page(*id))?;
        self.published.is_unchanged_since(moment).then_some(dangling)
    }

    fn fetch_for_walk<'b>(&'b self, wanted: &[WantedPages], fetched: &mut FetchedPages<'b>) -> Result<()> {
        if has_long(wanted) {
            fetched.long.drop_unmet();
        }
        for wanted in wanted {
            match wanted {
                WantedPages::Page(id) => self.fetch_page_for_walk(*id, fetched)?,
                WantedPages::Long(long) => fetched.long.read(self, *long)?,
            }
        }
        Ok(())
    }

    /// Loads a page for a walk, if it exists.
    ///
    /// # Errors
    /// The page cannot be read.
    pub(super) fn fetch_page_for_walk<'b>(
        &'b self,
        id: PageId,
        fetched: &mut FetchedPages<'b>,
    ) -> Result<()> {
        // Several lookups may miss the same page.
        if fetched.uncached(id).is_some() {
            return Ok(());
        }
        match self.fetch(id)? {
            FetchOutcome::Loaded(reference) => fetched.references.push(reference),
            // The page was freed after the walk.
            FetchOutcome::NoPage => {}
            FetchOutcome::NoRoom => {
                fetched.uncached.extend(self.read_uncached(id)?.map(|uncached| (id, uncached)));
            }
        }
        Ok(())
    }

    pub(crate) fn damaged_page(&self, id: PageId, what: &str) -> DiskError {
        let place = self.table.get(id).and_then(super::page_table::PageTableEntry::place);
        let what = format!("page {}: {what}", id.0);
        match place {
            Some(place) => self.file.damaged(place, what),
            None => self.file.damaged(crate::page::PagePlace(0), what),
        }
    }
}

fn has_long(wanted: &[WantedPages]) -> bool {
    wanted.iter().any(|wanted| matches!(wanted, WantedPages::Long(_)))
}
