//! Where a full page splits, and which keys go to a neighbour instead.
//!
//! ```text
//!   behind all    │ a b c d │ │ e │                   a load in order leaves full pages
//!   end of group  │ 5a 5b 5c │ │ 6a 6b │    + 5c      a collection that grows in order, too
//!   neighbour     │ a b c d │ │ E e f │     + E       keys that approach a full page share pages
//! ```
//!
//! A key is the last of a group if it shares more bytes with a key far before it than with the next
//! one. Random keys seldom do, so they split in the middle.

use super::descent::{SetPathStep, key_page};
use super::entries::{KeyEntries, common_prefix};
use super::insert::{entries, write_entries};
use super::key_page::CountedChild;
use super::long_key::{StoredKey, separator};
use crate::buffer::PageWriter;
use crate::record::{BODY, WalkResult};

/// A group has at least this share of a page's keys.
const GROUP_SHARE: usize = 8;
/// The most bytes of a neighbour that takes keys of a full page. A fuller one would be split within
/// the group, and leave a page half full.
const NEARLY_EMPTY: usize = BODY / 8;

/// Returns the index at which a full page should split because of its new entry `at`, or `None` for
/// the middle.
pub(super) fn split_point(all: &KeyEntries, at: usize) -> Option<usize> {
    let first = usize::from(all.level() > 0);
    if at + 1 == all.len() {
        return Some(at);
    }
    if at == first {
        return Some(1);
    }
    if all.level() > 0 {
        return None;
    }
    let common = |one: usize, other: usize| common_prefix(&all.key(one).inline, &all.key(other).inline);
    let (group, behind, before) = (all.len().div_ceil(GROUP_SHARE), common(at, at + 1), common(at - 1, at));
    if at >= group && common(at - group, at) > behind {
        return Some(at + 1);
    }
    (at + group < all.len() && common(at, at + group) > before).then_some(at)
}

/// Adds a key, which is the first or the last of a full leaf, to the neighbour on its side if that
/// is nearly empty. The separator between them moves, and the step leads to the neighbour. Returns
/// false and changes nothing if there is no such neighbour.
pub(super) fn add_to_neighbour(
    writer: &mut PageWriter<'_>,
    parent: &mut SetPathStep,
    at: usize,
    key: &StoredKey<'_>,
    all: &KeyEntries,
) -> WalkResult<bool> {
    let last = all.len() - 1;
    // The neighbour, the separator that moves, and the index of the key in the neighbour.
    let (neighbour, moves) = match at {
        0 if parent.at > 0 => (parent.at - 1, parent.at),
        _ if at == last => (parent.at + 1, parent.at + 1),
        _ => return Ok(false),
    };
    let above = key_page(writer, parent.page)?;
    let Ok(page) = above.child(neighbour) else { return Ok(false) };
    let content = key_page(writer, page)?;
    if content.used() > NEARLY_EMPTY || content.level() != all.level() {
        return Ok(false);
    }
    let mut rest = entries(writer, page)?;
    rest.insert(if at == last { 0 } else { rest.len() }, key, CountedChild::NONE);
    if !rest.fits(0..rest.len()) {
        return Ok(false);
    }
    let (one, other) = if at == last { (last - 1, last) } else { (0, 1) };
    let separator = separator(writer, &all.key(one), &all.key(other))?;
    if !move_separator(writer, *parent, moves, &separator)? {
        return Ok(false);
    }
    write_entries(writer, page, &rest, 0..rest.len())?;
    parent.at = neighbour;
    Ok(true)
}

/// Replaces a separator. Returns false if the new one does not fit.
fn move_separator(
    writer: &mut PageWriter<'_>,
    parent: SetPathStep,
    at: usize,
    separator: &StoredKey<'_>,
) -> WalkResult<bool> {
    let mut above = entries(writer, parent.page)?;
    let before = above.replace_key(at, separator);
    let fits = above.fits(0..above.len());
    if let Some(unused) = if fits { before } else { separator.chain } {
        unused.free(writer)?;
    }
    if fits {
        write_entries(writer, parent.page, &above, 0..above.len())?;
    }
    Ok(fits)
}
