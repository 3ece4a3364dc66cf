//! Forests: the nodes of a page as trees, and the choice of nodes to move when a page is split
//! (`placement.rs`).

use super::core::node;
use crate::buffer::WalkStop;
use crate::page::PageId;
use crate::record::{PageReader, RecordId, SLOT, WalkResult, record, records};

/// A node of a page, with the nodes below it in the page.
#[derive(Debug)]
pub(super) struct ForestTree {
    pub(super) id: RecordId,
    /// Bytes of the node and of all nodes below it.
    weight: usize,
    children: Vec<usize>,
}

/// The nodes of a page, parents before children.
#[derive(Debug)]
pub(super) struct PageForest {
    pub(super) trees: Vec<ForestTree>,
    pub(super) roots: Vec<usize>,
}

/// Adjacent siblings that may move: their parent (`None`: the page's owner), the nodes, their
/// weight.
pub(super) struct SiblingRun<'f> {
    pub(super) parent: Option<RecordId>,
    pub(super) trees: &'f [usize],
    pub(super) weight: usize,
}

impl PageForest {
    pub(super) fn of(pages: &mut impl PageReader, page: PageId, roots: &[RecordId]) -> WalkResult<Self> {
        let count = records(pages, page)?.len();
        let mut forest = Self { trees: Vec::with_capacity(count), roots: (0..roots.len()).collect() };
        for id in roots {
            forest.add(*id);
        }
        let mut at = 0;
        while at < forest.trees.len() && forest.trees.len() <= count {
            let id = forest.trees[at].id;
            forest.trees[at].weight = record(pages, id)?.len() + SLOT;
            let children = node(pages, id)?.children.iter().map(|child| child.1);
            for child in children.filter(|child| child.page == page) {
                let index = forest.trees.len();
                forest.trees[at].children.push(index);
                forest.add(child);
            }
            at += 1;
        }
        if forest.trees.len() != count {
            let found = forest.trees.len();
            return Err(WalkStop::Damaged(
                page,
                format!("it has {count} records, but pointers lead to {found}"),
            ));
        }
        for at in (0..count).rev() {
            let below: usize =
                forest.trees[at].children.iter().map(|child| forest.trees[*child].weight).sum();
            forest.trees[at].weight += below;
        }
        Ok(forest)
    }

    fn add(&mut self, id: RecordId) {
        self.trees.push(ForestTree { id, weight: 0, children: Vec::new() });
    }

    fn weight(&self, trees: &[usize]) -> usize {
        trees.iter().map(|tree| self.trees[*tree].weight).sum()
    }

    /// Returns the roots with the bytes of each and of all nodes below it.
    pub(super) fn weights(&self) -> Vec<(RecordId, usize)> {
        self.roots.iter().map(|root| (self.trees[*root].id, self.trees[*root].weight)).collect()
    }

    /// Returns the siblings to move, or `None` if no node can move.
    pub(super) fn choose(&self, has_owner: bool) -> Option<SiblingRun<'_>> {
        let total = self.weight(&self.roots);
        let half = total / 2;
        let beside = has_owner
            .then(|| self.best_run(None, &self.roots, half, self.roots.len().saturating_sub(1)))
            .flatten();
        let is_balanced = |run: &&SiblingRun<'_>| (total / 4..=total - total / 4).contains(&run.weight);
        if let Some(run) = beside.as_ref().filter(is_balanced) {
            return Some(SiblingRun { ..*run });
        }
        let below = self
            .trees
            .iter()
            .filter_map(|tree| self.best_run(Some(tree.id), &tree.children, half, tree.children.len()));
        beside.into_iter().chain(below).min_by_key(|run| run.weight.abs_diff(half))
    }

    /// Returns those of the siblings, at most `most`, whose weight is closest to `half`.
    fn best_run<'f>(
        &self,
        parent: Option<RecordId>,
        siblings: &'f [usize],
        half: usize,
        most: usize,
    ) -> Option<SiblingRun<'f>> {
        let mut best: Option<SiblingRun<'f>> = None;
        for from in 0..siblings.len() {
            let mut weight = 0;
            for to in from + 1..=siblings.len().min(from + most) {
                weight += self.trees[siblings[to - 1]].weight;
                if best.as_ref().is_none_or(|best| weight.abs_diff(half) < best.weight.abs_diff(half)) {
                    best = Some(SiblingRun { parent, trees: &siblings[from..to], weight });
                }
                if weight >= half {
                    break;
                }
            }
        }
        best
    }

    /// Returns the ids of the first and the last of some trees. There must be at least one.
    pub(super) fn ends(&self, trees: &[usize]) -> (RecordId, RecordId) {
        (self.trees[trees[0]].id, self.trees[trees[trees.len() - 1]].id)
    }

    /// Returns the ids of trees and of all nodes below them.
    pub(super) fn ids(&self, trees: &[usize]) -> Vec<RecordId> {
        let mut ids = Vec::new();
        let mut stack: Vec<usize> = trees.iter().rev().copied().collect();
        while let Some(at) = stack.pop() {
            ids.push(self.trees[at].id);
            stack.extend(self.trees[at].children.iter().rev());
        }
        ids
    }
}
