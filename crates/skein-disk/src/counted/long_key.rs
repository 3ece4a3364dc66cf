//! Keys as pages store them: the rest of a long key lies in pages of its own.
//!
//! ```text
//!   page ─► first 960 bytes │ length 4 │ first page 4 ─► │ next │ bytes │ ─► │ none │ bytes │
//! ```
//!
//! A search compares the rest only if the bytes in the page are equal. All keys that are equal
//! there are long and lie side by side, because a key of 960 bytes precedes each longer key that it
//! begins.
//!
//! # Invariant
//! 1. Exactly one entry points to the rest of a key, so the removal of the entry frees the rest.
//!    When a page above the leaves splits, the separator moves to the parent with its rest; when
//!    two pages merge, it moves back.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use super::descent::{damaged, key_page};
use super::entries::common_prefix;
use super::key_page::{INLINE_MOST, KeyPage, inline};
use super::key_search::{KeyIndex, partition};
use crate::Result;
use crate::buffer::{PageWriter, WalkStop};
use crate::page::PageId;
use crate::record::{PageReader, WalkResult};
use crate::trie::OverflowChain;

/// A key as an entry has it: the bytes in the page, and the rest of a long key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredKey<'k> {
    pub(super) inline: Cow<'k, [u8]>,
    pub(super) chain: Option<OverflowChain>,
}

impl<'k> StoredKey<'k> {
    /// Returns the key for an entry. Writes the rest of a long key.
    pub(super) fn write(writer: &mut PageWriter<'_>, key: &'k [u8]) -> Result<Self> {
        let (inline, rest) = (inline(key), &key[inline(key).len()..]);
        let chain = if rest.is_empty() { None } else { Some(OverflowChain::write(writer, rest)?) };
        Ok(Self { inline: inline.into(), chain })
    }

    /// Returns the key of an entry.
    pub(super) fn of(page: &KeyPage<'_>, at: usize) -> std::result::Result<StoredKey<'static>, String> {
        let mut inline = Vec::new();
        let chain = page.key_into(at, &mut inline)?;
        Ok(StoredKey { inline: inline.into(), chain })
    }

    pub(super) fn borrowed(&self) -> StoredKey<'_> {
        StoredKey { inline: (&*self.inline).into(), chain: self.chain }
    }

    pub(super) fn into_owned(self) -> StoredKey<'static> {
        StoredKey { inline: self.inline.into_owned().into(), chain: self.chain }
    }

    /// Returns all bytes of the key.
    fn load(&self, pages: &mut impl PageReader) -> WalkResult<Cow<'_, [u8]>> {
        let mut key = Cow::Borrowed(&*self.inline);
        if let Some(chain) = self.chain {
            append_rest(pages, chain, key.to_mut())?;
        }
        Ok(key)
    }
}

/// Appends the rest of a long key.
pub(super) fn append_rest(
    pages: &mut impl PageReader,
    chain: OverflowChain,
    key: &mut Vec<u8>,
) -> WalkResult<()> {
    chain.visit(pages, |_, piece| {
        key.extend_from_slice(piece);
        ControlFlow::Continue(())
    })
}

/// Appends all bytes of an entry's key.
pub(super) fn load_key(
    pages: &mut impl PageReader,
    page: PageId,
    at: usize,
    key: &mut Vec<u8>,
) -> WalkResult<()> {
    match key_page(pages, page)?.key_into(at, key).map_err(damaged(page))? {
        Some(chain) => append_rest(pages, chain, key),
        None => Ok(()),
    }
}

/// Searches a long key among entries that have the same bytes in their page.
#[cold]
pub(super) fn search_ties(
    pages: &mut impl PageReader,
    page: PageId,
    ties: Range<usize>,
    key: &[u8],
) -> WalkResult<KeyIndex> {
    let mut is_equal = false;
    let at = partition(ties, |at| {
        let order = compare_rest(pages, page, at, key)?;
        is_equal |= order.is_eq();
        Ok::<_, WalkStop>(order.is_lt())
    })?;
    Ok(if is_equal { Ok(at) } else { Err(at) })
}

/// Compares the rest of an entry's long key with the rest of a key.
fn compare_rest(pages: &mut impl PageReader, page: PageId, at: usize, key: &[u8]) -> WalkResult<Ordering> {
    let tail = key_page(pages, page)?.tail(at).map_err(damaged(page))?;
    let mut rest = &key[INLINE_MOST.min(key.len())..];
    let Some(chain) = tail.chain else { return Ok(Ordering::Less) };
    let mut order = Ordering::Equal;
    chain.visit(pages, |_, piece| {
        let (front, behind) = rest.split_at(piece.len().min(rest.len()));
        order = piece.cmp(front);
        rest = behind;
        if order.is_eq() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(if order.is_eq() && !rest.is_empty() { Ordering::Less } else { order })
}

/// Returns the shortest prefix of `next` that is greater than `last`, as a key of its own. It
/// separates all keys up to `last` from `next`.
pub(super) fn separator(
    writer: &mut PageWriter<'_>,
    last: &StoredKey<'_>,
    next: &StoredKey<'_>,
) -> WalkResult<StoredKey<'static>> {
    let common = common_prefix(&last.inline, &next.inline);
    if common < next.inline.len() {
        return Ok(StoredKey { inline: next.inline[..=common].to_vec().into(), chain: None });
    }
    let (last, next) = (last.load(writer)?, next.load(writer)?);
    let end = next.len().min(common_prefix(&last, &next) + 1);
    Ok(StoredKey::write(writer, &next[..end])?.into_owned())
}
