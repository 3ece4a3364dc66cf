//! Reading: walks over pages that see one moment.

use std::cell::{Cell, RefCell};

use skein_sync::atomic::{Ordering, fence};
use skein_sync::cache::prefetch_read;
use skein_sync::locks::lock;
use skein_sync::reclaim::{LocalGuard, PROTECT};
use skein_sync::spin::Backoff;

use super::long_values::{LongValueCache, LongValueId};
use super::{BufferManager, FetchOutcome, PageReference, UncachedPage};
use crate::page::{PageBytes, PageId};
use crate::{DiskError, Result};

/// Walks that did not count before one is done while nothing is published.
const TRIES: usize = 16;
/// How often long values are read for a walk, while others write, before the writer is kept away until it is done: values may change faster than they are read.
const LONG_TRIES: usize = 16;

/// Why a walk stopped.
#[derive(Debug)]
pub(crate) enum WalkStop {
    /// What is wanted is not in memory: it is fetched, and the walk done again.
    Missing(Vec<WantedPages>),
    /// A page is not as it must be. That may be because the walk saw parts of two moments; then it does not count.
    Wrong(PageId, String),
    /// It cannot go on.
    Failed(DiskError),
}

/// What a walk wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedPages {
    Page(PageId),
    /// All pages of a long value.
    Long(LongValueId),
}

impl WalkStop {
    /// The page that is not as it must be, and how, for who can fetch none; the error, if it is one already.
    pub(crate) fn into_damage(self) -> Result<(PageId, String)> {
        match self {
            Self::Failed(error) => Err(error),
            Self::Wrong(id, what) => Ok((id, what)),
            Self::Missing(wanted) => {
                let id = match wanted.first() {
                    Some(WantedPages::Page(id) | WantedPages::Long(LongValueId { first: id, .. })) => *id,
                    None => PageId(0),
                };
                Ok((id, "it is referred to, and cannot be read".to_owned()))
            }
        }
    }
}

impl From<DiskError> for WalkStop {
    fn from(error: DiskError) -> Self {
        Self::Failed(error)
    }
}

/// The pages as a walk sees them.
#[derive(Debug)]
pub(crate) struct PageView<'w> {
    buffer: &'w BufferManager,
    /// It keeps the frames that are found.
    _guard: &'w LocalGuard<'w>,
    fetched: &'w FetchedPages<'w>,
    hits: Cell<u64>,
    /// Pages that were used, for a policy that wants to be told.
    used: RefCell<Vec<PageId>>,
}

/// What was fetched for a walk: it stays until the walk has counted.
#[derive(Debug, Default)]
struct FetchedPages<'b> {
    references: Vec<PageReference<'b>>,
    past: Vec<UncachedPage<'b>>,
    long: LongValueCache,
}

impl<'w> PageView<'w> {
    /// The bytes of a page.
    #[inline]
    pub(crate) fn page(&self, id: PageId) -> std::result::Result<&'w PageBytes, WalkStop> {
        let Some(entry) = self.buffer.table.get(id) else {
            return Err(WalkStop::Wrong(id, "there is no such page, and it is referred to".to_owned()));
        };
        let frame = entry.frame.load(PROTECT);
        // SAFETY: the guard keeps it for as long as the view can be used.
        let Some(frame) = (unsafe { frame.as_ref::<'w>() }) else {
            let past = self.fetched.past.iter().find_map(|past| past.bytes_of(id));
            return past.ok_or_else(|| WalkStop::Missing(vec![WantedPages::Page(id)]));
        };
        frame.count_use();
        self.hits.set(self.hits.get() + 1);
        if self.buffer.tells_uses {
            self.used.borrow_mut().push(id);
        }
        Ok(&frame.bytes)
    }

    /// The bytes of a long value, if it was read for this walk.
    pub(crate) fn long(&self, long: LongValueId) -> Option<std::result::Result<&'w [u8], WalkStop>> {
        self.fetched.long.get(long)
    }

    /// Asks for a page's frame, if it is in memory.
    #[inline]
    pub(crate) fn prefetch(&self, id: PageId) {
        if let Some(entry) = self.buffer.table.get(id) {
            prefetch_read(entry.frame.load(PROTECT).cast_const());
        }
    }
}

impl BufferManager {
    /// Does a walk until it has seen pages of one moment, all of them.
    ///
    /// # Errors
    /// What the walk failed by; damage, if a page is wrong; the file was closed.
    pub(crate) fn read_with<T>(
        &self,
        mut walk: impl FnMut(&PageView<'_>) -> std::result::Result<T, WalkStop>,
    ) -> Result<T> {
        let mut fetched = FetchedPages::default();
        let mut backoff = Backoff::new();
        let mut tries = 0;
        let begun = self.published.load(Ordering::Relaxed);
        let (mut changed, mut _writing) = (0, None);
        loop {
            // Whose walks never counted does one while nothing is published.
            let still = (tries > TRIES).then(|| lock(&self.publishing));
            // Acquire: as in `walk_once`.
            let moment = self.published.load(Ordering::Acquire);
            let (seen, counts) = self.walk_once(&fetched, &mut walk);
            drop(still);
            match seen {
                Err(WalkStop::Missing(wanted)) if counts || !has_long(&wanted) => {
                    if has_long(&wanted) && self.published.load(Ordering::Relaxed) != begun {
                        changed += 1;
                        if changed == LONG_TRIES {
                            _writing = Some(lock(&self.writing));
                        }
                    }
                    if counts && let Some(id) = self.dangling_page(&wanted, moment) {
                        return Err(self.damaged_page(id, "there is no such page, and it is referred to"));
                    }
                    self.fetch_for_walk(&wanted, &mut fetched)?;
                }
                Ok(value) if counts => {
                    self.file.check_open()?;
                    return Ok(value);
                }
                Err(WalkStop::Failed(error)) if counts => return Err(error),
                Err(WalkStop::Wrong(id, what)) if counts => return Err(self.damaged_page(id, &what)),
                _ => {
                    tries += 1;
                    backoff.wait();
                }
            }
        }
    }

    /// Walks once; whether that counts is said, too.
    fn walk_once<T>(
        &self,
        fetched: &FetchedPages<'_>,
        walk: &mut impl FnMut(&PageView<'_>) -> std::result::Result<T, WalkStop>,
    ) -> (std::result::Result<T, WalkStop>, bool) {
        let guard = self.collector.enter();
        // Acquire: pairs with the Release at the end of a publication.
        let before = self.published.load(Ordering::Acquire);
        let view =
            PageView { buffer: self, _guard: &guard, fetched, hits: Cell::new(0), used: RefCell::default() };
        let seen = walk(&view);
        // Acquire: the loads of the walk come before the one below; pairs with the Release fence at the begin of a publication.
        fence(Ordering::Acquire);
        let counts = before.is_multiple_of(2) && self.published.load(Ordering::Relaxed) == before;
        self.counts.hits.fetch_add(view.hits.get(), Ordering::Relaxed);
        let used = view.used.into_inner();
        if !used.is_empty() {
            let mut policy = lock(&self.policy);
            for id in used {
                policy.touch(id);
            }
        }
        (seen, counts)
    }

    /// Returns a wanted page that does not exist at `moment`, which is the walk's: a pointer of a damaged page leads there, and fetching it would bring nothing, each time anew.
    fn dangling_page(&self, wanted: &[WantedPages], moment: u64) -> Option<PageId> {
        let pages = wanted.iter().filter_map(|wanted| match wanted {
            WantedPages::Page(id) => Some(*id),
            WantedPages::Long(_) => None,
        });
        let dangling = pages.into_iter().find(|id| !self.is_page(*id))?;
        // Acquire: the loads of `is_page` come before the one below, as those of a walk do.
        fence(Ordering::Acquire);
        (self.published.load(Ordering::Relaxed) == moment).then_some(dangling)
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

    fn fetch_page_for_walk<'b>(&'b self, id: PageId, fetched: &mut FetchedPages<'b>) -> Result<()> {
        match self.fetch(id)? {
            FetchOutcome::Here(reference) => fetched.references.push(reference),
            // A page that is no more is none of this moment.
            FetchOutcome::Gone => {}
            FetchOutcome::NoRoom => fetched.past.extend(self.read_past(id)?),
        }
        Ok(())
    }

    /// The error for a page that is not as it must be.
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
