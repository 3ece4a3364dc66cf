//! Pages in memory, recycled.
//!
//! ```text
//!   page dropped ─► spare pages of the thread ◄── batches ──► spare pages of all threads
//! ```
//!
//! A lookup beyond the cache reads a page and evicts another one. To allocate each page
//! (`page_arena.rs`), fill it with zeros and then overwrite it would take about a tenth of the
//! lookup's time. So each thread
//! keeps some of the pages that it drops. A thread that only drops pages, such as the evictor,
//! passes them on to those that only need some.
//!
//! # Invariants
//! 1. A [`PageBuf`] owns its page until it is dropped, and does not access it afterwards.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use skein_sync::locks::lock;

use crate::page::{DiskPageKind, PageBytes, PageId};
use crate::page_arena::ArenaPage;

/// Pages that a thread keeps: a quarter of a megabyte. One batch of retired frames, dropped at
/// once, gives back as many.
const SPARE_MOST: usize = 64;
/// Pages that a thread passes on or takes over at once.
const BATCH: usize = 32;
/// Pages that wait for any thread: a megabyte.
const SHARED_MOST: usize = 256;

type SparePages = Vec<ArenaPage>;

thread_local! {
    static SPARE: RefCell<SparePages> = const { RefCell::new(Vec::new()) };
}

static SHARED: Mutex<SparePages> = Mutex::new(Vec::new());

/// Returns a spare page, of this thread if it has one.
fn take_spare(spare: &mut SparePages) -> Option<ArenaPage> {
    if spare.is_empty() {
        let mut shared = lock(&SHARED);
        let from = shared.len().saturating_sub(BATCH);
        spare.extend(shared.drain(from..));
    }
    spare.pop()
}

/// Keeps a page that was dropped. Passes some on if the thread has too many.
fn give_spare(spare: &mut SparePages, page: ArenaPage) {
    if spare.len() == SPARE_MOST {
        let mut passed = spare.drain(SPARE_MOST - BATCH..);
        let mut shared = lock(&SHARED);
        let room = SHARED_MOST - shared.len();
        shared.extend(passed.by_ref().take(room));
        drop(shared);
        // The rest is freed, without the lock: each page takes a call of the system.
        drop(passed);
    }
    spare.push(page);
}

/// A page in memory.
pub(crate) struct PageBuf(ManuallyDrop<ArenaPage>);

impl PageBuf {
    /// Returns an empty page.
    pub(crate) fn new(id: PageId, kind: DiskPageKind) -> Self {
        let mut page = Self::of_any_bytes();
        page.reset(id, kind);
        page
    }

    /// Returns a page with arbitrary bytes: those of its last use.
    pub(crate) fn of_any_bytes() -> Self {
        // The access fails in a thread that is ending.
        let spare = SPARE.try_with(|spare| take_spare(&mut spare.borrow_mut())).ok().flatten();
        Self(ManuallyDrop::new(spare.unwrap_or_else(ArenaPage::allocate)))
    }

    pub(crate) fn copy_of(page: &PageBytes) -> Self {
        let mut copy = Self::of_any_bytes();
        copy.0.0.copy_from_slice(&page.0);
        copy
    }
}

impl Drop for PageBuf {
    fn drop(&mut self) {
        // SAFETY: invariant 1.
        let page = unsafe { ManuallyDrop::take(&mut self.0) };
        let _ = SPARE.try_with(|spare| give_spare(&mut spare.borrow_mut(), page));
    }
}

impl Deref for PageBuf {
    type Target = PageBytes;

    #[inline]
    fn deref(&self) -> &PageBytes {
        &self.0
    }
}

impl DerefMut for PageBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut PageBytes {
        &mut self.0
    }
}

impl std::fmt::Debug for PageBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recycled_page_is_empty() {
        let mut page = PageBuf::new(PageId(1), DiskPageKind::Records);
        page.body_mut().fill(7);
        let copy = PageBuf::copy_of(&page);
        assert_eq!(copy.0.0, page.0.0);
        let place = std::ptr::from_ref(&*page);
        drop(page);
        let page = PageBuf::new(PageId(2), DiskPageKind::Overflow);
        assert_eq!(std::ptr::from_ref(&*page), place, "it is the same page");
        assert_eq!((page.id(), page.kind()), (PageId(2), Some(DiskPageKind::Overflow)));
        assert!(page.body().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_thread_keeps_a_limited_number_of_pages() {
        let pages: Vec<_> = (0..2 * SPARE_MOST).map(|_| PageBuf::of_any_bytes()).collect();
        drop(pages);
        assert_eq!(SPARE.with(|spare| spare.borrow().len()), SPARE_MOST);
        assert!(lock(&SHARED).len() <= SHARED_MOST);
    }

    /// Other tests use the shared pages, too, so any pages may come, but some do.
    #[test]
    fn pages_that_a_thread_dropped_serve_another_one() {
        let mut spare: SparePages = (0..SPARE_MOST).map(|_| ArenaPage::allocate()).collect();
        let served = (0..100).any(|_| {
            give_spare(&mut spare, ArenaPage::allocate());
            std::thread::spawn(|| take_spare(&mut SparePages::new()).is_some()).join().unwrap()
        });
        assert!(served && spare.len() <= SPARE_MOST);
    }
}
