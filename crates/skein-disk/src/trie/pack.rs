//! Packing for a compaction: the children of a node move into as few of its pages as possible.
//!
//! ```text
//!   owner ─► P a b c │ Q d e f │ R g h i        each page is 60 % full
//!   owner ─► P a b c e │ Q d f g h i            R is free
//! ```
//!
//! A child moves with all nodes below it in its page. It moves to the fullest page that has room
//! for it, of the [`OPEN_MOST`] emptiest pages before its own. So children stay near their
//! neighbours in the order of keys, and a scan needs few pages in memory at once.
//!
//! The moves are planned for all pages of the node, and then executed in as many writes as
//! necessary. Each write plans again from the pages as they are.
//!
//! # Invariants
//! 1. A child moves only to a page of the same owner. So a page keeps its one owner
//!    (`placement.rs`, invariant 1), and no page is allocated.
//! 2. A child moves only to a page before its own, in the order of their first children. So the
//!    first child of a page stays its first one while other children move to this page, and moves
//!    end.
//! 3. The last move of a plan frees a page. So packed pages are not written again.

use std::cmp::Reverse;

use super::core::TrieCore;
use super::join::{SPARE, nodes_that_fit, pages_below};
use super::placement::relocate;
use crate::buffer::PageWriter;
use crate::page::PageId;
use crate::record::{BODY, RecordId, WalkResult, records};

/// The most pages that may take a child.
const OPEN_MOST: usize = 8;
/// A plan frees at least one page for so many that lose children and stay.
const SHRUNK_MOST: usize = 16;

/// A child that moves to another page, with all nodes below it in its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackMove {
    pub(super) child: RecordId,
    to: PageId,
}

impl PackMove {
    /// Moves the child of `owner`. Returns false if it does not fit.
    pub(super) fn execute(self, writer: &mut PageWriter<'_>, owner: RecordId) -> WalkResult<bool> {
        let Some(ids) = nodes_that_fit(writer, self.child, self.to)? else { return Ok(false) };
        relocate(writer, &ids, owner, self.to)?;
        Ok(true)
    }
}

/// A page as the planned moves leave it.
#[derive(Clone, Copy, Debug)]
struct OpenPage {
    page: PageId,
    /// The greatest length of one more record.
    room: usize,
}

impl OpenPage {
    fn takes(&self, weight: usize) -> bool {
        weight + SPARE <= self.room
    }
}

/// The moves between the pages of an owner, planned from the first page to the last.
#[derive(Debug, Default)]
struct PackPlan {
    open: Vec<OpenPage>,
    moves: Vec<PackMove>,
    /// The moves that are worth their writes.
    worthwhile: usize,
    freed: usize,
    shrunk: usize,
}

impl PackPlan {
    /// Plans the children of the next page, with their weights: each moves to an open page, or
    /// stays in this page, which is open then.
    fn add(&mut self, mut page: OpenPage, mut children: Vec<(RecordId, usize)>) {
        children.sort_by_key(|child| Reverse(child.1));
        let (mut stays, before) = (0, self.moves.len());
        for (child, weight) in children {
            let fullest = self.open.iter_mut().filter(|to| to.takes(weight)).min_by_key(|to| to.room);
            match fullest {
                // Best fit counts the child's own page among the open ones.
                Some(to) if BODY - to.room >= stays => {
                    self.moves.push(PackMove { child, to: to.page });
                    to.room -= weight;
                    page.room += weight;
                }
                _ => stays += weight,
            }
        }
        if stays > 0 {
            self.shrunk += usize::from(self.moves.len() > before);
            self.open(page);
            return;
        }
        self.freed += 1;
        if self.freed * SHRUNK_MOST >= self.shrunk {
            self.worthwhile = self.moves.len();
        }
    }

    /// Opens a page, and closes the fullest one if there are too many.
    fn open(&mut self, page: OpenPage) {
        self.open.push(page);
        if self.open.len() > OPEN_MOST
            && let Some(fullest) = (0..self.open.len()).min_by_key(|at| self.open[*at].room)
        {
            self.open.remove(fullest);
        }
    }

    fn finish(mut self) -> Vec<PackMove> {
        self.moves.truncate(self.worthwhile);
        self.moves
    }
}

impl TrieCore {
    /// Returns the moves that pack the pages of a node, in the order in which there is room for
    /// each.
    pub(super) fn plan_packing(
        &self,
        writer: &mut PageWriter<'_>,
        owner: RecordId,
    ) -> WalkResult<Vec<PackMove>> {
        let mut plan = PackPlan::default();
        let pages = pages_below(writer, owner)?;
        if !may_be_fewer(writer, &pages)? {
            return Ok(Vec::new());
        }
        for page in pages {
            writer.release_many_reads();
            let room = records(writer, page)?.room().unwrap_or(0);
            let children = self.forest(writer, page, Some(owner))?.weights();
            plan.add(OpenPage { page, room }, children);
        }
        Ok(plan.finish())
    }
}

/// Returns whether the records of some pages might fit one page less.
fn may_be_fewer(writer: &mut PageWriter<'_>, pages: &[PageId]) -> WalkResult<bool> {
    let mut used = 0;
    for page in pages {
        writer.release_many_reads();
        used += records(writer, *page)?.used();
    }
    Ok(used <= pages.len().saturating_sub(1) * (BODY - SPARE))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The room of a page without records.
    const EMPTY: usize = BODY - 12;

    type Children = Vec<(RecordId, usize)>;

    /// Returns the pages of an owner, each with children of these weights.
    fn pages(weights: &[&[usize]]) -> Vec<(PageId, Children)> {
        let of_page = |(number, weights): (u32, &&[usize])| {
            let page = PageId(number);
            let ids = (0..).map(|slot| RecordId { page, slot });
            (page, ids.zip(weights.iter().copied()).collect())
        };
        (0..).zip(weights).map(of_page).collect()
    }

    fn used(children: &Children) -> usize {
        children.iter().map(|child| child.1).sum()
    }

    fn plan(pages: &[(PageId, Children)]) -> Vec<PackMove> {
        let mut plan = PackPlan::default();
        for (page, children) in pages {
            plan.add(OpenPage { page: *page, room: EMPTY - used(children) }, children.clone());
        }
        plan.finish()
    }

    /// Executes a plan. Each child must fit and move to an earlier page.
    fn execute(pages: &mut Vec<(PageId, Children)>, moves: &[PackMove]) {
        for planned in moves {
            let at = |page| pages.iter().position(|other| other.0 == page).unwrap();
            let from = pages.iter().position(|page| page.1.iter().any(|child| child.0 == planned.child));
            let (from, to) = (from.unwrap(), at(planned.to));
            assert!(to < from, "{planned:?}");
            let child = pages[from].1.iter().position(|child| child.0 == planned.child).unwrap();
            let child = pages[from].1.remove(child);
            pages[to].1.push(child);
            assert!(used(&pages[to].1) + SPARE <= EMPTY, "{planned:?}");
        }
        pages.retain(|page| !page.1.is_empty());
    }

    fn packed(weights: &[&[usize]]) -> Vec<Vec<usize>> {
        let mut pages = pages(weights);
        let moves = plan(&pages);
        execute(&mut pages, &moves);
        pages.into_iter().map(|page| page.1.into_iter().map(|child| child.1).collect()).collect()
    }

    #[test]
    fn children_of_a_page_fill_the_pages_before() {
        // No two of these pages fit one.
        let moved = packed(&[&[2_400], &[2_500], &[1_300, 1_200]]);
        assert_eq!(moved, [vec![2_400, 1_200], vec![2_500, 1_300]]);
        // No two of these pages fit one.
        assert_eq!(packed(&[&[900; 3][..]; 4]), vec![vec![900; 4]; 3]);
    }

    #[test]
    fn a_child_moves_to_the_fullest_page_with_room() {
        let moved = packed(&[&[1_000], &[3_300], &[2_900], &[800]]);
        assert_eq!(moved, [vec![1_000], vec![3_300], vec![2_900, 800]]);
    }

    #[test]
    fn a_plan_that_frees_no_page_is_not_executed() {
        assert_eq!(plan(&pages(&[&[2_000], &[2_500, 1_000], &[2_200]])), []);
        // The moves behind the last freed page.
        let all = pages(&[&[2_000], &[1_000], &[2_500, 700], &[2_200, 1_500]]);
        assert_eq!(plan(&all).len(), 1);
    }

    #[test]
    fn a_child_moves_to_one_of_a_few_pages_before_its_own() {
        let mut weights: Vec<&[usize]> = vec![&[3_000]];
        weights.extend(std::iter::repeat_n(&[2_900][..], OPEN_MOST));
        weights.push(&[800]);
        let to = plan(&pages(&weights))[0].to;
        assert_eq!(to, PageId(1), "the fullest of the last {OPEN_MOST} pages");
    }

    proptest! {
        #[test]
        fn packed_pages_have_the_same_children_and_stay(
            weights in prop::collection::vec(prop::collection::vec(20_usize..1_400, 1..5), 1..60),
        ) {
            let weights: Vec<Vec<usize>> = weights
                .into_iter()
                .map(|mut page| {
                    while page.iter().sum::<usize>() > EMPTY {
                        page.pop();
                    }
                    page
                })
                .collect();
            let mut now = pages(&weights.iter().map(|page| &page[..]).collect::<Vec<_>>());
            let mut all: Children = now.iter().flat_map(|page| page.1.clone()).collect();
            let mut before = now.len() + 1;
            // Each plan frees a page, and the last one is empty.
            while now.len() < before {
                before = now.len();
                let moves = plan(&now);
                execute(&mut now, &moves);
                prop_assert_eq!(now.len() < before, !moves.is_empty());
            }
            let mut left: Children = now.iter().flat_map(|page| page.1.clone()).collect();
            all.sort();
            left.sort();
            prop_assert_eq!(all, left);
        }
    }
}
