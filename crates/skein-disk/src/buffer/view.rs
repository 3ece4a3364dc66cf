//! Reading: walks over pages that see one moment.

use std::cell::{Cell, RefCell};

use skein_sync::atomic::{Ordering, fence};
use skein_sync::cache::prefetch_read;
use skein_sync::locks::lock;
use skein_sync::reclaim::{LocalGuard, PROTECT};
use skein_sync::spin::Backoff;

use super::long::{Long, LongValues};
use super::{Buffer, Fetch, Past, Reference};
use crate::page::{Bytes, PageId};
use crate::{DiskError, Result};

/// Walks that did not count before one is done while nothing is published.
const TRIES: usize = 16;
/// How often long values are read for a walk, while others write, before the writer is kept away until it is done: values may change faster than they are read.
const LONG_TRIES: usize = 16;

/// Why a walk stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What is wanted is not in memory: it is fetched, and the walk done again.
    Missing(Vec<Wanted>),
    /// A page is not as it must be. That may be because the walk saw parts of two moments; then it does not count.
    Wrong(PageId, String),
    /// It cannot go on.
    Failed(DiskError),
}

/// What a walk wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Page(PageId),
    /// All pages of a long value.
    Long(Long),
}

impl Stop {
    /// The page that is not as it must be, and how, for who can fetch none; the error, if it is one already.
    pub(crate) fn fault(self) -> Result<(PageId, String)> {
        match self {
            Self::Failed(error) => Err(error),
            Self::Wrong(id, what) => Ok((id, what)),
            Self::Missing(wanted) => {
                let id = match wanted.first() {
                    Some(Wanted::Page(id) | Wanted::Long(Long { first: id, .. })) => *id,
                    None => PageId(0),
                };
                Ok((id, "it is referred to, and cannot be read".to_owned()))
            }
        }
    }
}

impl From<DiskError> for Stop {
    fn from(error: DiskError) -> Self {
        Self::Failed(error)
    }
}

/// The pages as a walk sees them.
#[derive(Debug)]
pub(crate) struct View<'w> {
    buffer: &'w Buffer,
    /// It keeps the frames that are found.
    _guard: &'w LocalGuard<'w>,
    fetched: &'w Fetched<'w>,
    hits: Cell<u64>,
    /// Pages that were used, for a policy that wants to be told.
    used: RefCell<Vec<PageId>>,
}

/// What was fetched for a walk: it stays until the walk has counted.
#[derive(Debug, Default)]
struct Fetched<'b> {
    references: Vec<Reference<'b>>,
    past: Vec<Past<'b>>,
    long: LongValues,
}

impl<'w> View<'w> {
    /// The bytes of a page.
    #[inline]
    pub(crate) fn page(&self, id: PageId) -> std::result::Result<&'w Bytes, Stop> {
        let Some(entry) = self.buffer.table.get(id) else {
            return Err(Stop::Wrong(id, "there is no such page, and it is referred to".to_owned()));
        };
        let frame = entry.frame.load(PROTECT);
        // SAFETY: the guard keeps it for as long as the view can be used.
        let Some(frame) = (unsafe { frame.as_ref::<'w>() }) else {
            let past = self.fetched.past.iter().find_map(|past| past.bytes_of(id));
            return past.ok_or_else(|| Stop::Missing(vec![Wanted::Page(id)]));
        };
        frame.count_use();
        self.hits.set(self.hits.get() + 1);
        if self.buffer.tells_uses {
            self.used.borrow_mut().push(id);
        }
        Ok(&frame.bytes)
    }

    /// The bytes of a long value, if it was read for this walk.
    pub(crate) fn long(&self, long: Long) -> Option<std::result::Result<&'w [u8], Stop>> {
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

impl Buffer {
    /// Does a walk until it has seen pages of one moment, all of them.
    ///
    /// # Errors
    /// What the walk failed by; damage, if a page is wrong; the file was closed.
    pub(crate) fn read_with<T>(
        &self,
        mut walk: impl FnMut(&View<'_>) -> std::result::Result<T, Stop>,
    ) -> Result<T> {
        let mut fetched = Fetched::default();
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
                Err(Stop::Missing(wanted)) if counts || !has_long(&wanted) => {
                    if has_long(&wanted) && self.published.load(Ordering::Relaxed) != begun {
                        changed += 1;
                        if changed == LONG_TRIES {
                            _writing = Some(lock(&self.writing));
                        }
                    }
                    if counts && let Some(id) = self.dangling(&wanted, moment) {
                        return Err(self.wrong(id, "there is no such page, and it is referred to"));
                    }
                    self.fetch_for_walk(&wanted, &mut fetched)?;
                }
                Ok(value) if counts => {
                    self.file.check_open()?;
                    return Ok(value);
                }
                Err(Stop::Failed(error)) if counts => return Err(error),
                Err(Stop::Wrong(id, what)) if counts => return Err(self.wrong(id, &what)),
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
        fetched: &Fetched<'_>,
        walk: &mut impl FnMut(&View<'_>) -> std::result::Result<T, Stop>,
    ) -> (std::result::Result<T, Stop>, bool) {
        let guard = self.collector.enter();
        // Acquire: pairs with the Release at the end of a publication.
        let before = self.published.load(Ordering::Acquire);
        let view =
            View { buffer: self, _guard: &guard, fetched, hits: Cell::new(0), used: RefCell::default() };
        let seen = walk(&view);
        // Acquire: the loads of the walk come before the one below; pairs with the Release fence at the begin of a publication.
        fence(Ordering::Acquire);
        let counts = before.is_multiple_of(2) && self.published.load(Ordering::Relaxed) == before;
        self.counts.hits.fetch_add(view.hits.get(), Ordering::Relaxed);
        let used = view.used.into_inner();
        if !used.is_empty() {
            let mut policy = lock(&self.policy);
            for id in used {
                policy.used(id);
            }
        }
        (seen, counts)
    }

    /// Returns a wanted page that does not exist at `moment`, which is the walk's: a pointer of a damaged page leads there, and fetching it would bring nothing, each time anew.
    fn dangling(&self, wanted: &[Wanted], moment: u64) -> Option<PageId> {
        let pages = wanted.iter().filter_map(|wanted| match wanted {
            Wanted::Page(id) => Some(*id),
            Wanted::Long(_) => None,
        });
        let dangling = pages.into_iter().find(|id| !self.is_page(*id))?;
        // Acquire: the loads of `is_page` come before the one below, as those of a walk do.
        fence(Ordering::Acquire);
        (self.published.load(Ordering::Relaxed) == moment).then_some(dangling)
    }

    fn fetch_for_walk<'b>(&'b self, wanted: &[Wanted], fetched: &mut Fetched<'b>) -> Result<()> {
        if has_long(wanted) {
            fetched.long.let_go();
        }
        for wanted in wanted {
            match wanted {
                Wanted::Page(id) => self.fetch_page_for_walk(*id, fetched)?,
                Wanted::Long(long) => fetched.long.read(self, *long)?,
            }
        }
        Ok(())
    }

    fn fetch_page_for_walk<'b>(&'b self, id: PageId, fetched: &mut Fetched<'b>) -> Result<()> {
        match self.fetch(id)? {
            Fetch::Here(reference) => fetched.references.push(reference),
            // A page that is no more is none of this moment.
            Fetch::Gone => {}
            Fetch::NoRoom => fetched.past.extend(self.read_past(id)?),
        }
        Ok(())
    }

    /// The error for a page that is not as it must be.
    pub(crate) fn wrong(&self, id: PageId, what: &str) -> DiskError {
        let place = self.table.get(id).and_then(super::table::Entry::place);
        let what = format!("page {}: {what}", id.0);
        match place {
            Some(place) => self.file.damaged(place, what),
            None => self.file.damaged(crate::page::Place(0), what),
        }
    }
}

fn has_long(wanted: &[Wanted]) -> bool {
    wanted.iter().any(|wanted| matches!(wanted, Wanted::Long(_)))
}
