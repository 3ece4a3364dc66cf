//! Placement: decides which nodes share a page, so that a lookup reads few pages.
//!
//! ```text
//!            page P                     P is full; two ways to split it:
//!   owner ─► ┌ a ┐ ┌ b ┐ ┌ c ┐ roots    beside  b and c, with all nodes below them in P, move
//!             │ │   │     │ │                   to Q; the owner then points to Q
//!             d e   f     g h           below   if one root fills most of P: siblings below it
//!                                               move to Q with all nodes below them; their
//!                                               parent then points to Q
//! ```
//!
//! # Invariants
//! 1. The roots of a page are its nodes with parents in other pages. They all have the same parent,
//!    the page's owner. Only the page of the trie's root has no owner.
//! 2. So all pointers into a page from outside are in one node, which lies on the path of every
//!    operation that reaches the page.
//! 3. A move takes adjacent siblings with all nodes below them in the page. So invariant 1 holds
//!    for both pages afterwards.
//!
//! A split beside leaves the number of pages on a path unchanged, as in a B-tree. It is used if it
//! moves between a quarter and three quarters of the page. Otherwise those adjacent siblings move,
//! of any node in the page, whose weight is closest to half of it. The target is the page of a
//! sibling next to them, if it has room and would not be full afterwards, or a new page. A page
//! that becomes sparse moves as a whole (`join.rs`).
//!
//! Design: `docs/design/disk.md`. The paper does not say where it places nodes, so this is ours.
//! Partitions of trees into pages by weight are as old as B-trees (Knuth, volume 3, section 6.2.4).

use std::collections::{BTreeMap, BTreeSet};

use super::core::{RecordVisit, TrieCore, insert, node};
use super::decoded_node::DecodedNode;
use super::forest::PageForest;
use super::node::replace_pointers;
use crate::buffer::PageWriter;
use crate::page::{DiskPageKind, PageId};
use crate::record::{BODY, PageReader, RecordId, SLOT, WalkResult, change, record, records};

/// Room that a move leaves in its target, so that the page is not split soon.
const SLACK: usize = BODY / 4;

/// Returns the owner of the page of the trail's last node, or `None` for the page of the trie's
/// root.
pub(super) fn owner(trail: &[RecordVisit]) -> Option<RecordId> {
    let page = trail.last()?.id.page;
    trail.iter().rev().map(|visit| visit.id).find(|id| id.page != page)
}

/// Returns the greatest length of one more record in a page.
pub(super) fn room(pages: &mut impl PageReader, page: PageId) -> WalkResult<usize> {
    Ok(records(pages, page)?.room().unwrap_or(0))
}

impl TrieCore {
    /// Returns the page for a new child of the trail's last node, which becomes `node` and grows by
    /// `growth` bytes. Returns `None` if room had to be made and nodes have moved.
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

    /// Moves some nodes of a page to another page. Returns false if no node can move. If the target
    /// is an existing page, it keeps `needs` free bytes.
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
        let ids = forest.ids(run.trees);
        let ends = forest.ends(run.trees);
        let beside = beside(writer, parent, ends, &[page, parent.page])?;
        let to = match first_with_room(writer, &beside, run.weight + SLOT + needs + SLACK)? {
            Some(page) => page,
            None => writer.make(DiskPageKind::Records)?,
        };
        relocate(writer, &ids, parent, to)?;
        let moved: BTreeSet<RecordId> = ids.into_iter().collect();
        let left = forest.ids(&forest.roots).into_iter().filter(|id| !moved.contains(id));
        change(writer, page, |records| records.arrange(left.map(|id| id.slot)))?;
        Ok(true)
    }

    /// Moves all nodes of a page to another page, which must have room, and frees the page.
    pub(super) fn move_all_nodes(
        &self,
        writer: &mut PageWriter<'_>,
        page: PageId,
        owner: RecordId,
        to: PageId,
    ) -> WalkResult<()> {
        let forest = self.forest(writer, page, Some(owner))?;
        relocate(writer, &forest.ids(&forest.roots), owner, to)?;
        writer.free(page);
        Ok(())
    }

    pub(super) fn forest(
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

/// Returns the pages of the siblings next to the children from the first to the last.
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

/// Moves records to a page, and updates the pointers to them: those among themselves, and those in
/// `parent`, which must be the parent of all others.
pub(super) fn relocate(
    writer: &mut PageWriter<'_>,
    ids: &[RecordId],
    parent: RecordId,
    to: PageId,
) -> WalkResult<()> {
    let mut moved = BTreeMap::new();
    for id in ids {
        let bytes = record(writer, *id)?.to_vec();
        change(writer, id.page, |records| records.remove(id.slot))?;
        let slot = insert(writer, to, &bytes)?;
        moved.insert(*id, RecordId { page: to, slot });
    }
    for id in moved.values().copied().chain([parent]) {
        let new_id = |old| moved.get(&old).copied();
        change(writer, id.page, |records| replace_pointers(records.get_mut(id.slot)?, new_id))?;
    }
    Ok(())
}

/// Moves the only node of a page to the first slot of a new page, so that no free slots precede it.
/// Returns false if it has the first slot already.
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

/// Returns the pages of the children before and behind `these`.
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
