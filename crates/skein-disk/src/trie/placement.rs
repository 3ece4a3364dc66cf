//! Placement: which nodes share a page, so that a lookup reads few.
//!
//! ```text
//!            page P                          P is full: two ways to split it
//!   owner ─► ┌ a ┐ ┌ b ┐ ┌ c ┐  roots        beside   b and c, with all below them in P, go to a page Q; the owner points there
//!             │ │   │     │ │                below    one root is most of P: some of its children, or of theirs, go to Q with all below
//!             d e   f     g h                         them in P, and their parent points there
//! ```
//!
//! # Invariants
//! 1. The nodes of a page whose parents lie in other pages, its roots, have one parent: the page's owner. Only the page of the trie's root has no owner.
//! 2. So all pointers into a page from outside are in one node, which lies on the way of every operation that comes there.
//! 3. What moves at once are siblings next to each other, with all that is below them in the page: invariant 1 holds for both pages then.
//!
//! Splitting beside leaves a lookup as many pages as before, as in a B-tree; it is done if what it moves is between a quarter and three quarters of the page,
//! and if not, the siblings of any node whose weight is closest to a half go below. They go to the page of the sibling next to them, if it has room and would
//! not be full then, or to a new page. A page that is left with little goes to such a page, or to its owner's, whole.
//!
//! The paper does not say where it puts nodes. This is ours; partitions of trees into pages by weight are as old as B-trees (Knuth, volume 3, section 6.2.4).

use std::collections::BTreeMap;

use super::core::{Core, Visit, insert, node};
use super::node::{Content, rename_children};
use crate::buffer::{Stop, Writer};
use crate::page::{Kind, PageId};
use crate::record::{BODY, Pages, RecordId, SLOT, Walked, change, record, records};

/// Room that is left in a page where others move, so that it need not be split soon; and what a page has at most that is given up.
const SLACK: usize = BODY / 4;

/// The owner of the page of a trail's last node; none for the page of the trie's root.
pub(super) fn owner(trail: &[Visit]) -> Option<RecordId> {
    let page = trail.last()?.id.page;
    trail.iter().rev().map(|visit| visit.id).find(|id| id.page != page)
}

/// Bytes that one more record of a page can have.
pub(super) fn room(pages: &mut impl Pages, page: PageId) -> Walked<usize> {
    Ok(records(pages, page)?.room().unwrap_or(0))
}

/// A node of a page, and what is below it there.
#[derive(Debug)]
struct Tree {
    id: RecordId,
    /// Bytes of it and of all below.
    weight: usize,
    children: Vec<usize>,
}

/// The nodes of a page, parents before children.
#[derive(Debug)]
struct Forest {
    trees: Vec<Tree>,
    roots: Vec<usize>,
}

/// Siblings next to each other that may move: their parent, none for the page's owner; themselves; their weight.
struct Run<'f> {
    parent: Option<RecordId>,
    trees: &'f [usize],
    weight: usize,
}

impl Forest {
    fn of(pages: &mut impl Pages, page: PageId, roots: &[RecordId]) -> Walked<Self> {
        let count = records(pages, page)?.len();
        let mut forest = Self { trees: Vec::with_capacity(count), roots: (0..roots.len()).collect() };
        roots.iter().for_each(|id| forest.add(*id));
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
            return Err(Stop::Wrong(page, format!("it has {count} records, and pointers lead to {found}")));
        }
        for at in (0..count).rev() {
            let below: usize =
                forest.trees[at].children.iter().map(|child| forest.trees[*child].weight).sum();
            forest.trees[at].weight += below;
        }
        Ok(forest)
    }

    fn add(&mut self, id: RecordId) {
        self.trees.push(Tree { id, weight: 0, children: Vec::new() });
    }

    fn weight(&self, trees: &[usize]) -> usize {
        trees.iter().map(|tree| self.trees[*tree].weight).sum()
    }

    /// The siblings that are to move.
    fn choose(&self, has_owner: bool) -> Option<Run<'_>> {
        let total = self.weight(&self.roots);
        let half = total / 2;
        let beside = has_owner
            .then(|| self.best_run(None, &self.roots, half, self.roots.len().saturating_sub(1)))
            .flatten();
        let is_balanced = |run: &&Run<'_>| (total / 4..=total - total / 4).contains(&run.weight);
        if let Some(run) = beside.as_ref().filter(is_balanced) {
            return Some(Run { ..*run });
        }
        let below = self
            .trees
            .iter()
            .filter_map(|tree| self.best_run(Some(tree.id), &tree.children, half, tree.children.len()));
        beside.into_iter().chain(below).min_by_key(|run| run.weight.abs_diff(half))
    }

    /// Of these siblings, those whose weight is closest to a half; so many at most.
    fn best_run<'f>(
        &self,
        parent: Option<RecordId>,
        siblings: &'f [usize],
        half: usize,
        most: usize,
    ) -> Option<Run<'f>> {
        let mut best: Option<Run<'f>> = None;
        for from in 0..siblings.len() {
            let mut weight = 0;
            for to in from + 1..=siblings.len().min(from + most) {
                weight += self.trees[siblings[to - 1]].weight;
                if best.as_ref().is_none_or(|best| weight.abs_diff(half) < best.weight.abs_diff(half)) {
                    best = Some(Run { parent, trees: &siblings[from..to], weight });
                }
                if weight >= half {
                    break;
                }
            }
        }
        best
    }

    /// The names of trees and of all below them.
    fn names(&self, trees: &[usize]) -> Vec<RecordId> {
        let mut names = Vec::new();
        let mut stack: Vec<usize> = trees.iter().rev().copied().collect();
        while let Some(at) = stack.pop() {
            names.push(self.trees[at].id);
            stack.extend(self.trees[at].children.iter().rev());
        }
        names
    }
}

impl Core {
    /// The page for a new child of a trail's last node, which is to be `node` and grows by so many bytes; none if room had to be made, and nodes have moved.
    pub(super) fn place_child(
        &self,
        writer: &mut Writer<'_>,
        trail: &[Visit],
        node: &Content<'_>,
        symbol: u8,
        growth: usize,
        child: usize,
    ) -> Walked<Option<PageId>> {
        let id = trail[trail.len() - 1].id;
        let here = room(writer, id.page)?;
        let at = node.children.partition_point(|child| child.0 < symbol);
        let beside = pages_beside(&node.children, at..at + 1, &[id.page]);
        if growth <= here {
            for page in &beside {
                if child <= room(writer, *page)? {
                    return Ok(Some(*page));
                }
            }
            if growth + child <= here {
                return Ok(Some(id.page));
            }
            if let Some(page) = beside.first()
                && self.split(writer, *page, Some(id), child)?
            {
                return Ok(None);
            }
        }
        if self.split(writer, id.page, owner(trail), growth + child)? {
            return Ok(None);
        }
        Ok(Some(writer.make(Kind::Records)?))
    }

    /// Moves some of a page's nodes to another page; false if there is nothing that can move. A page that has room already, and is chosen for them, keeps
    /// `needs` bytes of it.
    pub(super) fn split(
        &self,
        writer: &mut Writer<'_>,
        page: PageId,
        owner: Option<RecordId>,
        needs: usize,
    ) -> Walked<bool> {
        let forest = self.forest(writer, page, owner)?;
        let Some(run) = forest.choose(owner.is_some()) else {
            return self.move_alone(writer, &forest, owner);
        };
        let Some(parent) = run.parent.or(owner) else { return Ok(false) };
        let names = forest.names(run.trees);
        let ends = (forest.trees[run.trees[0]].id, forest.trees[run.trees[run.trees.len() - 1]].id);
        let beside = self.beside(writer, parent, ends, &[page, parent.page])?;
        let to = match first_with_room(writer, &beside, run.weight + SLOT + needs + SLACK)? {
            Some(page) => page,
            None => writer.make(Kind::Records)?,
        };
        self.relocate(writer, &names, parent, to)?;
        Ok(true)
    }

    /// Moves the only node of a page to a new one, where it has the first slot, so that no free ones are before it; false if it has that already.
    fn move_alone(&self, writer: &mut Writer<'_>, forest: &Forest, owner: Option<RecordId>) -> Walked<bool> {
        match (owner, &forest.trees[..]) {
            (Some(owner), [only]) if only.id.slot > 0 => {
                let to = writer.make(Kind::Records)?;
                self.relocate(writer, &[only.id], owner, to)?;
                writer.free(only.id.page);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Gives a page back if it has nothing; moves what it has to another page if that is little.
    pub(super) fn tidy(&self, writer: &mut Writer<'_>, page: PageId, owner: Option<RecordId>) -> Walked<()> {
        let Some(owner) = owner else { return Ok(()) };
        let here = records(writer, page)?;
        let (count, used) = (here.len(), here.used());
        if count > 0 {
            if used > SLACK {
                return Ok(());
            }
            let forest = self.forest(writer, page, Some(owner))?;
            let ends = (forest.trees[0].id, forest.trees[forest.roots.len() - 1].id);
            let mut others = self.beside(writer, owner, ends, &[page, owner.page])?;
            others.push(owner.page);
            let Some(to) = first_with_room(writer, &others, used + SLOT + SLACK)? else { return Ok(()) };
            self.relocate(writer, &forest.names(&forest.roots), owner, to)?;
        }
        writer.free(page);
        Ok(())
    }

    fn forest(&self, pages: &mut impl Pages, page: PageId, owner: Option<RecordId>) -> Walked<Forest> {
        let roots: Vec<RecordId> = match owner {
            None => vec![self.root],
            Some(owner) => {
                let children = node(pages, owner)?.children.iter().map(|child| child.1);
                children.filter(|child| child.page == page).collect()
            }
        };
        Forest::of(pages, page, &roots)
    }

    /// The pages of the siblings next to those from the first to the last.
    fn beside(
        &self,
        pages: &mut impl Pages,
        parent: RecordId,
        (first, last): (RecordId, RecordId),
        but: &[PageId],
    ) -> Walked<Vec<PageId>> {
        let children: Vec<(u8, RecordId)> = node(pages, parent)?.children.iter().collect();
        let at = |id| children.iter().position(|child| child.1 == id);
        let (Some(first), Some(last)) = (at(first), at(last)) else { return Ok(Vec::new()) };
        Ok(pages_beside(&children, first..last + 1, but))
    }

    /// Moves records to a page, and changes the pointers to them: among themselves, and in the parent of those that are no child of another.
    fn relocate(
        &self,
        writer: &mut Writer<'_>,
        names: &[RecordId],
        parent: RecordId,
        to: PageId,
    ) -> Walked<()> {
        let mut moved = BTreeMap::new();
        for id in names {
            let bytes = record(writer, *id)?.to_vec();
            change(writer, id.page, |records| records.remove(id.slot))?;
            let slot = insert(writer, to, &bytes)?;
            moved.insert(*id, RecordId { page: to, slot });
        }
        for id in moved.values().copied().chain([parent]) {
            let name = |old| moved.get(&old).copied();
            change(writer, id.page, |records| rename_children(records.get_mut(id.slot)?, name))?;
        }
        Ok(())
    }
}

/// The pages of the children before and after these.
fn pages_beside(children: &[(u8, RecordId)], these: std::ops::Range<usize>, but: &[PageId]) -> Vec<PageId> {
    let before = these.start.checked_sub(1).and_then(|at| children.get(at));
    let both = before.into_iter().chain(children.get(these.end)).map(|child| child.1.page);
    both.filter(|page| !but.contains(page)).collect()
}

fn first_with_room(writer: &mut Writer<'_>, pages: &[PageId], bytes: usize) -> Walked<Option<PageId>> {
    for page in pages {
        if bytes <= room(writer, *page)? {
            return Ok(Some(*page));
        }
    }
    Ok(None)
}
