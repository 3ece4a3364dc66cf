//! Removes keys, then pages that are empty, and merges pages that became sparse.
//!
//! ```text
//!   empty page     removed from its parent with its separator; then the same for the parent
//!   sparse page    merged with a neighbour below the same parent, if both leave room in one page
//!   root           takes the content of its only child, and keeps its page
//! ```
//!
//! A leaf that loses its only key is freed and not changed. A removal allocates no page.

use super::descent::{SetPathStep, change_keys, damaged, key_page};
use super::insert::{entries, write_entries};
use super::key_page_mut::KeyPageMut;
use super::long_key::StoredKey;
use super::{CountedSet, SPARSE};
use crate::buffer::PageWriter;
use crate::page::PageId;
use crate::record::{BODY, WalkResult};

/// The most bytes of a page that was merged. The room in it keeps it from being split soon.
const MERGED_MOST: usize = BODY / 4 * 3;

impl CountedSet {
    /// Removes a key. Returns false if it is not there.
    pub(super) fn remove_key(self, writer: &mut PageWriter<'_>, key: &[u8]) -> WalkResult<bool> {
        let (path, Ok(at)) = self.find(writer, key)? else { return Ok(false) };
        let mut is_empty = free_rest(writer, path.leaf, at)? == 1;
        // Whether the page below the step has lost entries and may be sparse.
        let mut has_shrunk = true;
        if !is_empty || path.leaf == self.root {
            has_shrunk = change_keys(writer, path.leaf, |leaf| {
                leaf.remove(at..at + 1)?;
                Ok(leaf.read().used() <= SPARSE)
            })?;
        }
        for (depth, step) in path.steps.iter().enumerate().rev() {
            if is_empty {
                writer.free(path.page(depth + 1));
                is_empty = self.remove_child(writer, *step)?;
            } else {
                change_keys(writer, step.page, |page| page.subtract(step.at, 1))?;
                has_shrunk = has_shrunk && merge_sparse(writer, *step)?;
            }
        }
        if has_shrunk {
            self.lower_root(writer)?;
        }
        Ok(true)
    }

    /// Removes a child, which is empty, from its parent. Returns whether the parent is empty now;
    /// the root becomes an empty leaf then.
    fn remove_child(self, writer: &mut PageWriter<'_>, parent: SetPathStep) -> WalkResult<bool> {
        if key_page(writer, parent.page)?.len() > 1 {
            free_rest(writer, parent.page, parent.at.max(1))?;
            change_keys(writer, parent.page, |page| page.remove_child(parent.at))?;
            return Ok(false);
        }
        if parent.page == self.root {
            KeyPageMut::clear(writer.page_mut(self.root)?.body_mut(), 0, &[]);
        }
        Ok(true)
    }

    /// Moves the content of the root's only child to the root, as often as it has only one.
    fn lower_root(self, writer: &mut PageWriter<'_>) -> WalkResult<()> {
        loop {
            let root = key_page(writer, self.root)?;
            let (level, len) = (root.level(), root.len());
            if level == 0 || len > 1 {
                return Ok(());
            }
            let only = root.child(0).map_err(damaged(self.root))?;
            let child = key_page(writer, only)?;
            if child.level().checked_add(1) != Some(level) {
                return Err(damaged(only)(format!("its level is {}, below level {level}", child.level())));
            }
            let all = entries(writer, only)?;
            write_entries(writer, self.root, &all, 0..all.len())?;
            writer.free(only);
        }
    }
}

/// Frees the rest of an entry's key, if it is long. Returns the number of entries of the page.
fn free_rest(writer: &mut PageWriter<'_>, page: PageId, at: usize) -> WalkResult<usize> {
    let content = key_page(writer, page)?;
    let len = content.len();
    if let Some(chain) = content.tail(at).map_err(damaged(page))?.chain {
        chain.free(writer)?;
    }
    Ok(len)
}

/// Merges a child with a neighbour if it is sparse and both leave room in one page. Returns whether
/// it did.
fn merge_sparse(writer: &mut PageWriter<'_>, parent: SetPathStep) -> WalkResult<bool> {
    let above = key_page(writer, parent.page)?;
    let neighbours = [parent.at.checked_sub(1), Some(parent.at + 1)];
    // Without a count if there is no neighbour on that side.
    let counts = neighbours.map(|at| at.and_then(|at| above.count(at).ok()));
    let child = above.child(parent.at).map_err(damaged(parent.page))?;
    let page = key_page(writer, child)?;
    if page.used() > SPARSE {
        return Ok(false);
    }
    let (used, level, len) = (page.used(), page.level(), page.len());
    for (neighbour, count) in neighbours.into_iter().zip(counts) {
        let (Some(neighbour), Some(count)) = (neighbour, count) else { continue };
        // A guess by the number of keys, so that leaves that are too full are not read.
        let keys = count.saturating_add(len as u64);
        if level == 0 && keys.saturating_mul(used as u64) > (MERGED_MOST * len) as u64 {
            continue;
        }
        let left = SetPathStep { page: parent.page, at: neighbour.min(parent.at) };
        if merge(writer, left)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Merges a child with the next one. Returns false and changes nothing if they leave no room in
/// one page.
fn merge(writer: &mut PageWriter<'_>, left: SetPathStep) -> WalkResult<bool> {
    let above = key_page(writer, left.page)?;
    let children = above.child(left.at).and_then(|into| Ok((into, above.counted_child(left.at + 1)?)));
    let (into, next) = children.map_err(damaged(left.page))?;
    let separator = StoredKey::of(&above, left.at + 1).map_err(damaged(left.page))?;
    let (one, other) = (key_page(writer, into)?.used(), key_page(writer, next.page)?);
    if one + other.used() - other.head().prefix > MERGED_MOST {
        return Ok(false);
    }
    let (mut merged, behind) = (entries(writer, into)?, entries(writer, next.page)?);
    if merged.level() != behind.level() || into == next.page {
        let what = format!("it is no neighbour of page {}, but page {} leads to both", into.0, left.page.0);
        return Err(damaged(next.page)(what));
    }
    merged.append(&behind, &separator);
    if merged.size(0..merged.len()) > MERGED_MOST {
        return Ok(false);
    }
    if let (0, Some(chain)) = (merged.level(), separator.chain) {
        chain.free(writer)?;
    }
    write_entries(writer, into, &merged, 0..merged.len())?;
    writer.free(next.page);
    change_keys(writer, left.page, |page| {
        page.add(left.at, next.count)?;
        page.remove(left.at + 1..left.at + 2)
    })?;
    Ok(true)
}
