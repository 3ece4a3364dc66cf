//! Joining sparse pages: the steps of a removal, and of a compaction (`merge.rs`).
//!
//! ```text
//!   owner ─► P 20 % │ Q 30 % │ R 90 %         join       P moves to Q, or to the owner's page
//!   owner ─► P 20 % │ R 90 %                  move down  the owner moves into P, with all nodes
//!                                                        below it in its page
//! ```
//!
//! Only pages of one owner can be joined, with each other or with the owner's page (invariant 1 of
//! `placement.rs`). If a page fits nowhere, its owner moves into it. Then the page belongs to the
//! owner's parent, which may have other pages to join it with.
//!
//! A removal joins the pages on its path, and looks at a page only if it is sparse and has lost
//! another [`STEP`] of its bytes. So a removal seldom looks, and a page that fits nowhere is not
//! tried again and again. It tries few pages, and fewer that it has to read from the file.

use super::core::{RecordVisit, TrieCore, node};
use super::placement::{owner, relocate, room};
use crate::buffer::PageWriter;
use crate::page::PageId;
use crate::record::{BODY, PageReader, RecordId, SLOT, WalkResult, record, records};

/// Room that is left in a joined page, so that the next write does not split it again.
pub(super) const SPARE: usize = BODY / 16;
/// A page with no more bytes than this is sparse.
pub(super) const SPARSE_MOST: usize = BODY / 2;
/// A removal looks at pages with no more bytes than this. A page beside may be sparser.
const JOINED_MOST: usize = BODY / 4 * 3;
/// A removal looks at a sparse page once for so many bytes that the page loses.
const STEP: usize = BODY / 32;

/// The pages on each side of a page, of the same owner, that a removal tries. An owner may have
/// hundreds, and trying all of them frees hardly more.
const NEIGHBOURS: usize = 2;

/// A removal joins no pages if the write has changed this share of the cache already.
const CACHE_SHARE: usize = 4;

/// A page that has lost records, with its owner and the bytes that it had before.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShrunkPage {
    pub(super) page: PageId,
    pub(super) owner: Option<RecordId>,
    pub(super) before: usize,
}

impl TrieCore {
    /// Frees those pages that are empty, and joins those that became sparse. The pages are in the
    /// order from the leaves to the root, and lie on the path `trail` or below its last node.
    pub(super) fn tidy(
        &self,
        writer: &mut PageWriter<'_>,
        trail: &[RecordVisit],
        shrunk: &[ShrunkPage],
    ) -> WalkResult<()> {
        writer.release_many_reads();
        let mut sparse = Vec::new();
        for ShrunkPage { page, owner, before } in shrunk.iter().copied() {
            let Some(owner) = owner else { continue };
            let here = records(writer, page)?;
            let used = here.used();
            if here.len() == 0 {
                writer.free(page);
            } else if used <= JOINED_MOST && used / STEP != before / STEP {
                sparse.push((page, owner));
            }
        }
        for (page, owner) in sparse {
            if !may_change_more(writer) {
                break;
            }
            let Some(at) = trail.iter().rposition(|visit| visit.id == owner) else { continue };
            if self.join_upwards(writer, &trail[..=at], page)? {
                // Ids on the path have changed. The other pages have another chance later.
                break;
            }
        }
        Ok(())
    }

    /// Joins a page of the trail's last node, or moves this node into the page and continues with
    /// its parent. Returns whether nodes of the trail have moved.
    fn join_upwards(
        &self,
        writer: &mut PageWriter<'_>,
        mut trail: &[RecordVisit],
        page: PageId,
    ) -> WalkResult<bool> {
        let mut has_moved = false;
        while let Some((owner, above)) = trail.split_last() {
            if self.join(writer, page, owner.id)? {
                break;
            }
            let Some(parent) = above.last() else { break };
            if records(writer, page)?.used() > SPARSE_MOST {
                break;
            }
            let Some(ids) = nodes_that_fit(writer, owner.id, page)? else { break };
            let is_freed = move_down(writer, &ids, parent.id, page)?;
            (trail, has_moved) = (above, true);
            if !is_freed && parent.id.page != owner.id.page {
                self.join_left(writer, owner.id.page, parent.id)?;
            }
        }
        if has_moved && let (Some(last), Some(owner)) = (trail.last(), owner(trail)) {
            self.join_left(writer, last.id.page, owner)?;
        }
        Ok(has_moved)
    }

    /// Joins a page from which nodes were moved down, if it is sparse.
    fn join_left(&self, writer: &mut PageWriter<'_>, page: PageId, owner: RecordId) -> WalkResult<()> {
        if records(writer, page)?.used() <= JOINED_MOST {
            self.join(writer, page, owner)?;
        }
        Ok(())
    }

    /// Joins a page with one of its [`NEIGHBOURS`] among the owner's pages, or with the owner's
    /// page. Returns false if it fits none. Pages that are not in memory are tried only directly
    /// beside it.
    fn join(&self, writer: &mut PageWriter<'_>, page: PageId, owner: RecordId) -> WalkResult<bool> {
        let pages = pages_below(writer, owner)?;
        let Some(at) = pages.iter().position(|other| *other == page) else { return Ok(false) };
        let used = records(writer, page)?.used();
        let near = at.saturating_sub(NEIGHBOURS)..pages.len().min(at + NEIGHBOURS + 1);
        for other in near.chain([pages.len()]) {
            let to = pages.get(other).copied().unwrap_or(owner.page);
            let is_tried = to == owner.page || at.abs_diff(other) <= 1 || writer.is_in_memory(to);
            if to != page && is_tried && takes(writer, to, used)? {
                self.move_all_nodes(writer, page, owner, to)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns whether a removal may change pages that the removal alone would not change.
fn may_change_more(writer: &PageWriter<'_>) -> bool {
    writer.copies() <= writer.cache() / CACHE_SHARE
}

/// Returns the pages that a node owns, in the order of its children.
pub(super) fn pages_below(pages: &mut impl PageReader, owner: RecordId) -> WalkResult<Vec<PageId>> {
    let (mut below, mut last) = (Vec::new(), owner.page);
    for (_, child) in node(pages, owner)?.children.iter() {
        // The page of the child before it, mostly.
        if child.page != last && child.page != owner.page && !below.contains(&child.page) {
            below.push(child.page);
        }
        last = child.page;
    }
    Ok(below)
}

/// Returns whether all records of a page fit another page and leave room there.
pub(super) fn fits(pages: &mut impl PageReader, page: PageId, to: PageId) -> WalkResult<bool> {
    let used = records(pages, page)?.used();
    takes(pages, to, used)
}

/// Returns whether records of these bytes, with their slots, fit a page and leave room there.
fn takes(pages: &mut impl PageReader, to: PageId, used: usize) -> WalkResult<bool> {
    Ok(records(pages, to)?.room().is_some_and(|room| used + SLOT + SPARE <= room))
}

/// Returns a node and all nodes below it in its page, if they fit another page and leave room
/// there.
pub(super) fn nodes_that_fit(
    pages: &mut impl PageReader,
    id: RecordId,
    to: PageId,
) -> WalkResult<Option<Vec<RecordId>>> {
    let most = room(pages, to)?;
    let (mut ids, mut at, mut bytes) = (vec![id], 0, SPARE);
    // Ends even if pointers form a ring; a page has no more than its bytes.
    while at < ids.len() {
        bytes += record(pages, ids[at])?.len() + SLOT;
        if bytes > most {
            return Ok(None);
        }
        let children = node(pages, ids[at])?.children.iter().map(|child| child.1);
        ids.extend(children.filter(|child| child.page == id.page));
        at += 1;
    }
    Ok(Some(ids))
}

/// Moves nodes, the first of which is the parent of the others and a child of `parent`, to a page.
/// Returns whether their page is empty now, and freed.
pub(super) fn move_down(
    writer: &mut PageWriter<'_>,
    ids: &[RecordId],
    parent: RecordId,
    to: PageId,
) -> WalkResult<bool> {
    let Some(from) = ids.first().map(|id| id.page) else { return Ok(false) };
    relocate(writer, ids, parent, to)?;
    let is_empty = records(writer, from)?.len() == 0;
    if is_empty {
        writer.free(from);
    }
    Ok(is_empty)
}
