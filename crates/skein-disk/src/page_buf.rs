//! Pages on the heap, recycled by each thread.
//!
//! A lookup beyond the cache reads a page and evicts another one. To allocate each page, fill it
//! with zeros and then overwrite it would take about a tenth of the lookup's time. So each thread
//! keeps some of the pages that it drops.
//!
//! # Invariants
//! 1. A [`PageBuf`] owns its page until it is dropped, and does not access it afterwards.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use crate::page::{DiskPageKind, PAGE, PageBytes, PageId};

/// Pages that a thread keeps: a quarter of a megabyte. One batch of retired frames, dropped at
/// once, gives back as many.
const SPARE_MOST: usize = 64;

thread_local! {
    static SPARE: RefCell<Vec<Box<PageBytes>>> = const { RefCell::new(Vec::new()) };
}

/// A page on the heap.
pub(crate) struct PageBuf(ManuallyDrop<Box<PageBytes>>);

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
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        Self(ManuallyDrop::new(spare.unwrap_or_else(|| Box::new(PageBytes([0; PAGE])))))
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
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_MOST {
                spare.push(page);
            }
        });
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
    }
}
