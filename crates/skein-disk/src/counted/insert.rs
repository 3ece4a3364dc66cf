//! Inserts a key, and splits full pages from the leaf upward.
//!
//! ```text
//!   full page              new key in the middle     new key behind all      new key before all
//!   │ a b c d e f │   ─►   │ a b c │ │ d D e f │     │ a b c d e f │ │ g │   │ A │ │ a b c d e f │
//! ```
//!
//! A page splits in the middle, with two exceptions (`split_point.rs`). A key behind or before all
//! others gets a page of its own. A key at the end of a group with a common prefix ends a page. So
//! keys that arrive in order leave full pages, also in many groups at once. A key that would get a
//! page of its own goes to the neighbour on its side if that is nearly empty.
//!
//! The root keeps its page: its entries move to two new pages, and it becomes their parent.
//!
//! An insertion changes the leaf and the counts on the path, and no other page but for splits.

use super::CountedSet;
use super::descent::{SetPath, change_keys, damaged, key_page};
use super::entries::KeyEntries;
use super::key_page::CountedChild;
use super::key_page_mut::KeyPageMut;
use super::long_key::{StoredKey, separator};
use super::split_point::{add_to_neighbour, split_point};
use crate::buffer::PageWriter;
use crate::page::{DiskPageKind, PageId};
use crate::record::WalkResult;

/// A page that was split off, for the parent: its separator and its keys.
struct SplitPage {
    separator: StoredKey<'static>,
    child: CountedChild,
}

impl CountedSet {
    /// Inserts a key. Returns false if it is there already.
    pub(super) fn insert_key(self, writer: &mut PageWriter<'_>, key: &[u8]) -> WalkResult<bool> {
        let (mut path, Err(at)) = self.find(writer, key)? else { return Ok(false) };
        let key = StoredKey::write(writer, key)?;
        let mut split = self.add_key(writer, &mut path, at, &key)?;
        for step in path.steps.iter().rev() {
            let moved = split.as_ref().map_or(0, |split| split.child.count);
            change_keys(writer, step.page, |page| {
                page.add(step.at, 1)?;
                page.subtract(step.at, moved)
            })?;
            if let Some(new) = split.take() {
                split = self.add_child(writer, step.page, step.at + 1, &new)?;
            }
        }
        Ok(true)
    }

    /// Adds a key to the leaf of the path, or to its neighbour: the path leads there then. Returns
    /// the page that was split off, if any.
    fn add_key(
        self,
        writer: &mut PageWriter<'_>,
        path: &mut SetPath,
        at: usize,
        key: &StoredKey<'_>,
    ) -> WalkResult<Option<SplitPage>> {
        let Some(all) = add_in_place(writer, path.leaf, at, key, CountedChild::NONE)? else {
            return Ok(None);
        };
        if let Some(parent) = path.steps.last_mut()
            && add_to_neighbour(writer, parent, at, key, &all)?
        {
            return Ok(None);
        }
        self.split(writer, path.leaf, &all, split_point(&all, at))
    }

    /// Adds a child to a page above the leaves. Returns the page that was split off, if any.
    fn add_child(
        self,
        writer: &mut PageWriter<'_>,
        page: PageId,
        at: usize,
        new: &SplitPage,
    ) -> WalkResult<Option<SplitPage>> {
        match add_in_place(writer, page, at, &new.separator, new.child)? {
            Some(all) => self.split(writer, page, &all, split_point(&all, at)),
            None => Ok(None),
        }
    }

    /// Divides the entries of a page between the page and a new one.
    fn split(
        self,
        writer: &mut PageWriter<'_>,
        page: PageId,
        all: &KeyEntries,
        preferred: Option<usize>,
    ) -> WalkResult<Option<SplitPage>> {
        let cut = all.cut(preferred).map_err(damaged(page))?;
        let is_root = page == self.root;
        let left = if is_root { writer.make(DiskPageKind::Keys)? } else { page };
        let right = writer.make(DiskPageKind::Keys)?;
        let separator = match all.level() {
            0 => separator(writer, &all.key(cut - 1), &all.key(cut))?,
            _ => all.key(cut).into_owned(),
        };
        write_entries(writer, left, all, 0..cut)?;
        write_entries(writer, right, all, cut..all.len())?;
        let child = CountedChild { page: right, count: all.total(cut..all.len()) };
        if !is_root {
            return Ok(Some(SplitPage { separator, child }));
        }
        let left = CountedChild { page: left, count: all.total(0..cut) };
        self.raise_root(writer, all.level(), left, &SplitPage { separator, child })?;
        Ok(None)
    }

    /// Makes the root the parent of two pages of this level.
    fn raise_root(
        self,
        writer: &mut PageWriter<'_>,
        level: u8,
        left: CountedChild,
        right: &SplitPage,
    ) -> WalkResult<()> {
        let too_high = || damaged(self.root)(format!("its children have level {level}, the highest"));
        let level = level.checked_add(1).ok_or_else(too_high)?;
        let body = writer.page_mut(self.root)?.body_mut();
        let mut root = KeyPageMut::clear(body, level, &right.separator.inline);
        root.insert_first_child(left).map_err(damaged(self.root))?;
        root.insert(1, &right.separator, right.child).map_err(damaged(self.root))?;
        Ok(())
    }
}

/// Replaces the content of a page by some entries, which must fit.
pub(super) fn write_entries(
    writer: &mut PageWriter<'_>,
    page: PageId,
    all: &KeyEntries,
    range: std::ops::Range<usize>,
) -> WalkResult<()> {
    all.encode(range, writer.page_mut(page)?.body_mut()).map_err(damaged(page))
}

/// Adds an entry to a page. If it does not fit, returns all entries and changes nothing.
fn add_in_place(
    writer: &mut PageWriter<'_>,
    page: PageId,
    at: usize,
    key: &StoredKey<'_>,
    child: CountedChild,
) -> WalkResult<Option<KeyEntries>> {
    if change_keys(writer, page, |page| page.insert(at, key, child))? {
        return Ok(None);
    }
    let mut all = entries(writer, page)?;
    all.insert(at, key, child);
    if all.fits(0..all.len()) {
        write_entries(writer, page, &all, 0..all.len())?;
        return Ok(None);
    }
    Ok(Some(all))
}

/// Decodes a page.
pub(super) fn entries(writer: &mut PageWriter<'_>, page: PageId) -> WalkResult<KeyEntries> {
    KeyEntries::of(&key_page(writer, page)?).map_err(damaged(page))
}
