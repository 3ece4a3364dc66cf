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

use std::collections::{BTreeMap, BTreeSet};

use super::core::{RecordVisit, TrieCore, insert, node};
use super::decoded_node::DecodedNode;
use super::forest::PageForest;
use super::node::rename_children;
use crate::buffer::PageWriter;
use crate::page::{DiskPageKind, PageId};
use crate::record::{BODY, PageReader, RecordId, SLOT, WalkResult, change, record, records};

/// Room that is left in a page where others move, so that it need not be split soon; and what a page has at most that is given up.
const SLACK: usize = BODY / 4;

/// The owner of the page of a trail's last node; none for the page of the trie's root.
pub(super) fn owner(trail: &[RecordVisit]) -> Option<RecordId> {
    let page = trail.last()?.id.page;
    trail.iter().rev().map(|visit| visit.id).find(|id| id.page != page)
}

/// Bytes that one more record of a page can have.
pub(super) fn room(pages: &mut impl PageReader, page: PageId) -> WalkResult<usize> {
    Ok(records(pages, page)?.room().unwrap_or(0))
}

impl TrieCore {
    /// The page for a new child of a trail's last node, which is to be `node` and grows by so many bytes; none if room had to be made, and nodes have moved.
    pub(super) fn place_child(
        &self,
        writer: &mut PageWriter<'_>,
        trail: &[RecordVisit],
        node: &DecodedNode<'_>,
        symbol: u8,
        growth: usize,
        child: usize,
    ) -> WalkResult<Option<PageId>> {
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
        Ok(Some(writer.make(DiskPageKind::Records)?))
    }

    /// Moves some of a page's nodes to another page; false if there is nothing that can move. A page that has room already, and is chosen for them, keeps
    /// `needs` bytes of it.
    pub(super) fn split(
        &self,
        writer: &mut PageWriter<'_>,
        page: PageId,
        owner: Option<RecordId>,
        needs: usize,
    ) -> WalkResult<bool> {
        let forest = self.forest(writer, page, owner)?;
        let Some(run) = forest.choose(owner.is_some()) else {
            return move_alone(writer, &forest, owner);
        };
        let Some(parent) = run.parent.or(owner) else { return Ok(false) };
        let names = forest.names(run.trees);
        let ends = forest.ends(run.trees);
        let beside = beside(writer, parent, ends, &[page, parent.page])?;
        let to = match first_with_room(writer, &beside, run.weight + SLOT + needs + SLACK)? {
            Some(page) => page,
            None => writer.make(DiskPageKind::Records)?,
        };
        relocate(writer, &names, parent, to)?;
        let moved: BTreeSet<RecordId> = names.into_iter().collect();
        let left = forest.names(&forest.roots).into_iter().filter(|id| !moved.contains(id));
        change(writer, page, |records| records.arrange(left.map(|id| id.slot)))?;
        Ok(true)
    }

    /// Gives a page back if it has nothing; moves what it has to another page if that is little.
    pub(super) fn tidy(
        &self,
        writer: &mut PageWriter<'_>,
        page: PageId,
        owner: Option<RecordId>,
    ) -> WalkResult<()> {
        let Some(owner) = owner else { return Ok(()) };
        let here = records(writer, page)?;
        let (count, used) = (here.len(), here.used());
        if count > 0 {
            if used > SLACK {
                return Ok(());
            }
            let forest = self.forest(writer, page, Some(owner))?;
            let ends = forest.ends(&forest.roots);
            let mut others = beside(writer, owner, ends, &[page, owner.page])?;
            others.push(owner.page);
            let Some(to) = first_with_room(writer, &others, used + SLOT + SLACK)? else { return Ok(()) };
            relocate(writer, &forest.names(&forest.roots), owner, to)?;
        }
        writer.free(page);
        Ok(())
    }

    /// Moves all that a page has to another one that has room for it, and gives the page back.
    pub(super) fn move_all_nodes(
        &self,
        writer: &mut PageWriter<'_>,
        page: PageId,
        owner: RecordId,
        to: PageId,
    ) -> WalkResult<()> {
        let forest = self.forest(writer, page, Some(owner))?;
        relocate(writer, &forest.names(&forest.roots), owner, to)?;
        writer.free(page);
        Ok(())
    }

    fn forest(
        &self,
        pages: &mut impl PageReader,
        page: PageId,
        owner: Option<RecordId>,
    ) -> WalkResult<PageForest> {
        let roots: Vec<RecordId> = match owner {
            None => vec![self.root],
            Some(owner) => {
                let children = node(pages, owner)?.children.iter().map(|child| child.1);
                children.filter(|child| child.page == page).collect()
            }
        };
        PageForest::of(pages, page, &roots)
    }
}

/// The pages of the siblings next to those from the first to the last.
fn beside(
    pages: &mut impl PageReader,
    parent: RecordId,
    (first, last): (RecordId, RecordId),
    but: &[PageId],
) -> WalkResult<Vec<PageId>> {
    let children: Vec<(u8, RecordId)> = node(pages, parent)?.children.iter().collect();
    let at = |id| children.iter().position(|child| child.1 == id);
    let (Some(first), Some(last)) = (at(first), at(last)) else { return Ok(Vec::new()) };
    Ok(pages_beside(&children, first..last + 1, but))
}

/// Moves records to a page, and changes the pointers to them: among themselves, and in the parent of those that are no child of another.
pub(super) fn relocate(
    writer: &mut PageWriter<'_>,
    names: &[RecordId],
    parent: RecordId,
    to: PageId,
) -> WalkResult<()> {
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

/// Moves the only node of a page to a new one, where it has the first slot, so that no free ones are before it; false if it has that already.
fn move_alone(writer: &mut PageWriter<'_>, forest: &PageForest, owner: Option<RecordId>) -> WalkResult<bool> {
    match (owner, &forest.trees[..]) {
        (Some(owner), [only]) if only.id.slot > 0 => {
            let to = writer.make(DiskPageKind::Records)?;
            relocate(writer, &[only.id], owner, to)?;
            writer.free(only.id.page);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The pages of the children before and after these.
fn pages_beside(children: &[(u8, RecordId)], these: std::ops::Range<usize>, but: &[PageId]) -> Vec<PageId> {
    let before = these.start.checked_sub(1).and_then(|at| children.get(at));
    let both = before.into_iter().chain(children.get(these.end)).map(|child| child.1.page);
    both.filter(|page| !but.contains(page)).collect()
}

fn first_with_room(
    writer: &mut PageWriter<'_>,
    pages: &[PageId],
    bytes: usize,
) -> WalkResult<Option<PageId>> {
    for page in pages {
        if bytes <= room(writer, *page)? {
            return Ok(Some(*page));
        }
    }
    Ok(None)
}
