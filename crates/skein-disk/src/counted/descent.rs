//! Descents from the root to a leaf: by a key, by a predicate, or by a rank.
//!
//! ```text
//!   level 2   page 7    │ 0: 310 keys │ "g": 290 │ "p": 305 │
//!                                         │  "horse" is not less than "g", and less than "p"
//!   level 1   page 12   │ 0: 101 │ "h": 98 │ "m": 91 │
//!                                    │
//!   level 0   page 31   │ ... │ "horse" │ ... │      rank: 310 + 101 + its index in the leaf
//! ```
//!
//! The level falls by one with each step. So a descent ends even if pointers are damaged.

use super::CountedSet;
use super::key_page::{KeyPage, Result};
use super::key_page_mut::KeyPageMut;
use super::key_search::{KeyIndex, KeySearch, partition};
use super::long_key::{load_key, search_ties};
use crate::buffer::{PageWriter, WalkStop};
use crate::page::{DiskPageKind, PageId};
use crate::record::{PageReader, WalkResult, body, body_of};

/// A page above the leaves on a path, with the index of the next page on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetPathStep {
    pub(super) page: PageId,
    pub(super) at: usize,
}

/// The path from the root to a leaf.
#[derive(Debug)]
pub(super) struct SetPath {
    pub(super) steps: Vec<SetPathStep>,
    pub(super) leaf: PageId,
}

impl SetPath {
    /// Returns the page after `depth` steps from the root.
    pub(super) fn page(&self, depth: usize) -> PageId {
        self.steps.get(depth).map_or(self.leaf, |step| step.page)
    }
}

/// Converts a description of damage into the stop of a walk.
pub(super) fn damaged(page: PageId) -> impl Fn(String) -> WalkStop {
    move |what| WalkStop::Damaged(page, what)
}

/// Returns a page of a set.
#[inline]
pub(super) fn key_page(pages: &mut impl PageReader, id: PageId) -> WalkResult<KeyPage<'_>> {
    KeyPage::of(body(pages, id, DiskPageKind::Keys)?).map_err(damaged(id))
}

/// Changes a page of a set.
pub(super) fn change_keys<T>(
    writer: &mut PageWriter<'_>,
    id: PageId,
    change: impl FnOnce(&mut KeyPageMut<'_>) -> Result<T>,
) -> WalkResult<T> {
    let page = writer.page_mut(id)?;
    body_of(page, id, DiskPageKind::Keys)?;
    KeyPageMut::of(page.body_mut()).and_then(|mut page| change(&mut page)).map_err(damaged(id))
}

/// Returns the child that contains a key or is the place for it.
fn child_for(index: KeyIndex) -> usize {
    index.unwrap_or_else(|after| after.saturating_sub(1))
}

/// The page of a descent, and the level of the page above it.
struct Descending {
    page: PageId,
    above: Option<u8>,
}

impl Descending {
    /// Returns the page, which must be one level below the previous one and not be empty.
    #[inline]
    fn page<'p>(&self, pages: &'p mut impl PageReader) -> WalkResult<KeyPage<'p>> {
        let page = key_page(pages, self.page)?;
        match self.above {
            Some(above) if above != page.level().wrapping_add(1) || page.len() == 0 => {
                Err(self.is_misplaced(&page, above))
            }
            _ => Ok(page),
        }
    }

    #[cold]
    fn is_misplaced(&self, page: &KeyPage<'_>, above: u8) -> WalkStop {
        let (level, len) = (page.level(), page.len());
        damaged(self.page)(format!(
            "it has level {level} and {len} entries, but a page of level {above} leads to it"
        ))
    }

    fn step(&mut self, page: PageId, level: u8) {
        (self.page, self.above) = (page, Some(level));
    }
}

impl CountedSet {
    fn descending(self) -> Descending {
        Descending { page: self.root, above: None }
    }

    /// Descends along a key, calls `visit` for each page with the index there, and returns the leaf
    /// and the index in it.
    #[inline]
    pub(super) fn descend(
        self,
        pages: &mut impl PageReader,
        key: &[u8],
        mut visit: impl FnMut(PageId, &KeyPage<'_>, usize),
    ) -> WalkResult<(PageId, KeyIndex)> {
        let mut at = self.descending();
        loop {
            let mut page = at.page(pages)?;
            let index = match page.search(key).map_err(damaged(at.page))? {
                KeySearch::At(index) => index,
                KeySearch::Ties(ties) => {
                    let index = search_ties(pages, at.page, ties, key)?;
                    page = at.page(pages)?;
                    index
                }
            };
            if page.level() == 0 {
                visit(at.page, &page, index.unwrap_or_else(|at| at));
                return Ok((at.page, index));
            }
            let child = child_for(index);
            visit(at.page, &page, child);
            at.step(page.child(child).map_err(damaged(at.page))?, page.level());
        }
    }

    /// Descends along a key and returns the path with the index in the leaf.
    pub(super) fn find(self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<(SetPath, KeyIndex)> {
        let mut steps = Vec::with_capacity(8);
        let visit = |page, content: &KeyPage<'_>, at| {
            if content.level() > 0 {
                steps.push(SetPathStep { page, at });
            }
        };
        let (leaf, index) = self.descend(pages, key, visit)?;
        Ok((SetPath { steps, leaf }, index))
    }

    /// Descends to the key of a rank and returns the path with its index in the leaf. Returns
    /// `None` if there is no such key.
    pub(super) fn find_rank(
        self,
        pages: &mut impl PageReader,
        mut rank: u64,
    ) -> WalkResult<Option<(SetPath, usize)>> {
        let mut at = self.descending();
        let mut steps = Vec::with_capacity(8);
        loop {
            let page = at.page(pages)?;
            let Some((entry, before)) = page.entry_of_rank(rank) else {
                return if steps.is_empty() { Ok(None) } else { Err(too_few(at.page, &page, rank)) };
            };
            if page.level() == 0 {
                return Ok(Some((SetPath { steps, leaf: at.page }, entry)));
            }
            rank -= before;
            steps.push(SetPathStep { page: at.page, at: entry });
            at.step(page.child(entry).map_err(damaged(at.page))?, page.level());
        }
    }

    /// Returns the path to the first leaf below the last of these steps, or to the last leaf.
    pub(super) fn descend_to_end(
        self,
        pages: &mut impl PageReader,
        mut steps: Vec<SetPathStep>,
        is_last: bool,
    ) -> WalkResult<SetPath> {
        let mut at = self.descending();
        if let Some(SetPathStep { page, at: entry }) = steps.last().copied() {
            let above = key_page(pages, page)?;
            at.step(above.child(entry).map_err(damaged(page))?, above.level());
        }
        loop {
            let page = at.page(pages)?;
            if page.level() == 0 {
                return Ok(SetPath { steps, leaf: at.page });
            }
            let entry = if is_last { page.len() - 1 } else { 0 };
            steps.push(SetPathStep { page: at.page, at: entry });
            at.step(page.child(entry).map_err(damaged(at.page))?, page.level());
        }
    }

    /// Returns the number of keys for which a predicate is true. For some byte string it must be
    /// true for all that are less and false for all others. It is also called with separators,
    /// which are the first bytes of keys. Calls it O(log n) times.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    pub(crate) fn rank_by(
        self,
        pages: &mut impl PageReader,
        mut is_before: impl FnMut(&[u8]) -> bool,
    ) -> WalkResult<u64> {
        let mut at = self.descending();
        let (mut rank, mut key) = (0_u64, Vec::new());
        loop {
            let page = at.page(pages)?;
            let (first, len) = (page.head().first_key(), page.len());
            let end = partition(first..len, |entry| {
                key.clear();
                load_key(pages, at.page, entry, &mut key)?;
                Ok::<_, WalkStop>(is_before(&key))
            })?;
            let page = at.page(pages)?;
            let entry = end - first;
            rank = rank.saturating_add(page.count_before(entry));
            if page.level() == 0 {
                return Ok(rank);
            }
            at.step(page.child(entry).map_err(damaged(at.page))?, page.level());
        }
    }
}

#[cold]
fn too_few(id: PageId, page: &KeyPage<'_>, rank: u64) -> WalkStop {
    damaged(id)(format!("it has {} keys, but the page above it counts more than {rank}", page.total()))
}
