//! The search for a key in one page.
//!
//! ```text
//!   searched  "goose"       prefix "go"  head "ose\0"  tail ""
//!   heads     "at\0\0"  "ld\0\0"  "ose\0"  "rdon"      1. binary search among the heads
//!   tails                           ""                    2. and among the tails of equal heads
//! ```
//!
//! Keys that are equal in the page and long are told apart by their rests (`long_key.rs`).

use std::cmp::Ordering;
use std::ops::Range;

use super::key_page::{INLINE_MOST, KeyPage, Result, inline, split_head};

/// Returns the end of the entries that precede a position, by binary search.
pub(super) fn partition<E>(
    mut range: Range<usize>,
    mut precedes: impl FnMut(usize) -> std::result::Result<bool, E>,
) -> std::result::Result<usize, E> {
    while !range.is_empty() {
        let middle = range.start + range.len() / 2;
        if precedes(middle)? {
            range.start = middle + 1;
        } else {
            range.end = middle;
        }
    }
    Ok(range.start)
}

/// The index of a key, or the index at which it would be inserted.
pub(super) type KeyIndex = std::result::Result<usize, usize>;

/// The result of a search in one page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeySearch {
    At(KeyIndex),
    /// These long keys have the same bytes in the page as the searched key, which is long, too.
    Ties(Range<usize>),
}

impl KeyPage<'_> {
    /// Searches a key in time proportional to the logarithm of the entries.
    #[inline]
    pub(super) fn search(&self, key: &[u8]) -> Result<KeySearch> {
        let (first, len) = (self.head().first_key(), self.len());
        let Some(rest) = inline(key).strip_prefix(self.prefix()) else {
            let is_less = key < self.prefix();
            return Ok(KeySearch::At(Err(if is_less { first } else { len })));
        };
        let (head, tail) = split_head(rest);
        let head = u32::from_be_bytes(head);
        let heads = &self.heads()[first..];
        let from = heads.partition_point(|other| u32::from_be_bytes(*other) < head);
        let equal = heads[from..].partition_point(|other| u32::from_be_bytes(*other) == head);
        let wanted = (tail, rest.len(), key.len() > INLINE_MOST);
        self.search_tails(first + from..first + from + equal, wanted)
    }

    /// Searches among entries with the same head.
    fn search_tails(&self, range: Range<usize>, wanted: (&[u8], usize, bool)) -> Result<KeySearch> {
        let at = partition(range.clone(), |at| Ok::<_, String>(self.compare(at, wanted)?.is_lt()))?;
        if at == range.end || self.compare(at, wanted)?.is_ne() {
            return Ok(KeySearch::At(Err(at)));
        }
        if !wanted.2 {
            return Ok(KeySearch::At(Ok(at)));
        }
        let end = partition(at..range.end, |at| Ok::<_, String>(self.compare(at, wanted)?.is_eq()))?;
        Ok(KeySearch::Ties(at..end))
    }

    /// Compares a key of the page with one that has the same prefix and head, by tail, length and
    /// whether it is long.
    fn compare(&self, at: usize, (tail, len, is_long): (&[u8], usize, bool)) -> Result<Ordering> {
        let own = self.tail(at)?;
        Ok(own.bytes.cmp(tail).then(own.len.cmp(&len)).then(own.chain.is_some().cmp(&is_long)))
    }
}
