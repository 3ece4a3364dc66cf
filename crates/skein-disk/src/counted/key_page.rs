//! Key pages: keys in order in one page, and the search among them.
//!
//! ```text
//!   0       1   2         4        6      8      10
//!   │ level │ 0 │ entries │ prefix │ heap │ dead │ prefix │ columns ... │ gap │ ... tail │ tail │
//!                                                  bytes                       └─ heap bytes ──┘
//!
//!   columns   heads      4 each       the first bytes of each key behind the prefix
//!             places     2 + 2 each   offset of the tail; length behind the prefix, and a flag
//!             children   4 each       page ids                             only above the leaves
//!             counts     2, 4 or 8    keys below each child                only above the leaves
//! ```
//!
//! A key is the page's prefix, its head and its tail. A search compares heads, which lie side by
//! side, and reads the tails of equal heads alone. A column is an array, so a rank adds up
//! neighbouring counts.
//!
//! A key of more than [`INLINE_MOST`] bytes is long: the page has that many, and its tail ends with
//! the length and the first page of the rest (`long_key.rs`).
//!
//! # Invariants
//! 1. Keys rise strictly. Heads are filled up with zeros, so equal heads say nothing about lengths.
//! 2. Entry 0 of a page above the leaves has no key: all keys that are less than the first
//!    separator belong to its child.
//! 3. The tails lie in the last `heap` bytes, and no two share a byte. `dead` is the number of heap
//!    bytes that belong to no tail.
//!
//! A page that violates the invariants returns an error or a wrong result; no access reads beyond
//! the page. `check.rs` finds each violation. An index that a reader found in a page may lie beyond
//! the entries when it looks at the page again, because a write was published meanwhile: this is an
//! error, too.

use std::ops::Range;

use super::SET_KEY_MOST;
use crate::page::{PageId, u32_at, u64_at};
use crate::record::BODY;
use crate::trie::OverflowChain;

/// The most bytes of a key in a page, about a quarter of it. So a full page can always be split.
pub(super) const INLINE_MOST: usize = 960;
/// Bytes of a key's head.
pub(super) const KEY_HEAD: usize = 4;
/// Bytes of the pointer to the rest of a long key.
pub(super) const CHAIN: usize = 8;
/// The offset of the prefix.
pub(super) const PREFIX_AT: usize = 10;
/// The flag of a long key in the length of its place.
pub(super) const LONG: u16 = 1 << 15;

pub(super) type Result<T> = std::result::Result<T, String>;

/// The columns of a page, in their order.
pub(super) const HEADS: usize = 0;
pub(super) const PLACES: usize = 1;
pub(super) const CHILDREN: usize = 2;
pub(super) const COUNTS: usize = 3;
pub(super) const COLUMNS: usize = 4;

/// Returns the bytes of an entry in each column. The counts of a level hold the keys of the fullest
/// page below it.
pub(super) const fn widths(level: u8) -> [usize; COLUMNS] {
    match level {
        0 => [KEY_HEAD, 4, 0, 0],
        1 => [KEY_HEAD, 4, 4, 2],
        2 | 3 => [KEY_HEAD, 4, 4, 4],
        _ => [KEY_HEAD, 4, 4, 8],
    }
}

/// Returns the most entries of a page.
const fn entries_most(level: u8) -> u64 {
    let [head, place, child, count] = widths(level);
    ((BODY - PREFIX_AT) / (head + place + child + count)) as u64
}

const _: () = assert!(entries_most(0) <= u16::MAX as u64);
const _: () = assert!(entries_most(0) * entries_most(1) * entries_most(2) <= u32::MAX as u64);

/// A child of a page with the number of keys below it. For an entry of a leaf: no page, one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountedChild {
    pub(super) page: PageId,
    pub(super) count: u64,
}

impl CountedChild {
    /// The child of an entry in a leaf.
    pub(super) const NONE: Self = Self { page: PageId(u32::MAX), count: 1 };
}

/// The numbers at the start of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyPageHead {
    /// 0 for a leaf; otherwise one more than the children's.
    pub(super) level: u8,
    pub(super) entries: usize,
    pub(super) prefix: usize,
    pub(super) heap: usize,
    pub(super) dead: usize,
}

impl KeyPageHead {
    #[inline]
    fn of(body: &[u8]) -> Result<Self> {
        let head = Self {
            level: body[0],
            entries: number(body, 2),
            prefix: number(body, 4),
            heap: number(body, 6),
            dead: number(body, 8),
        };
        let fits = head.prefix <= INLINE_MOST && head.column(COLUMNS) + head.heap <= BODY;
        let has_child = head.level == 0 || head.entries > 0;
        if fits && has_child && head.dead <= head.heap && body[1] == 0 && body.len() == BODY {
            return Ok(head);
        }
        Err(head.is_impossible())
    }

    #[cold]
    fn is_impossible(self) -> String {
        format!("its head is impossible: {self:?}")
    }

    pub(super) fn write(self, body: &mut [u8]) {
        body[0] = self.level;
        let numbers = [self.entries, self.prefix, self.heap, self.dead];
        numbers.into_iter().zip(1..).for_each(|(to, at)| set_number(body, 2 * at, to));
    }

    /// Returns the offset of a column, or of the gap behind the last one.
    #[inline]
    pub(super) fn column(self, column: usize) -> usize {
        let before: usize = widths(self.level)[..column].iter().sum();
        PREFIX_AT + self.prefix + self.entries * before
    }

    /// Returns the bytes between the columns and the heap.
    pub(super) fn gap(self) -> usize {
        BODY - self.heap - self.column(COLUMNS)
    }

    /// Returns the index of the first entry with a key (invariant 2).
    #[inline]
    pub(super) fn first_key(self) -> usize {
        usize::from(self.level > 0)
    }
}

#[inline]
fn number(body: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([body[at], body[at + 1]]))
}

pub(super) fn set_number(body: &mut [u8], at: usize, to: usize) {
    body[at..at + 2].copy_from_slice(&(to as u16).to_le_bytes());
}

/// Returns the bytes of a key that its page holds.
pub(super) fn inline(key: &[u8]) -> &[u8] {
    &key[..key.len().min(INLINE_MOST)]
}

/// Splits the bytes behind the prefix into the head and the tail.
pub(super) fn split_head(rest: &[u8]) -> ([u8; KEY_HEAD], &[u8]) {
    let (front, tail) = rest.split_at(rest.len().min(KEY_HEAD));
    let mut head = [0; KEY_HEAD];
    head[..front.len()].copy_from_slice(front);
    (head, tail)
}

/// The part of a key behind its head, with the length behind the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyTail<'p> {
    /// The offset; 0 without bytes.
    pub(super) from: usize,
    pub(super) len: usize,
    pub(super) bytes: &'p [u8],
    /// The rest of a long key.
    pub(super) chain: Option<OverflowChain>,
}

impl KeyTail<'_> {
    /// Returns the bytes of the heap that it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + if self.chain.is_some() { CHAIN } else { 0 }
    }
}

/// Read access to a key page.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyPage<'p> {
    body: &'p [u8],
    head: KeyPageHead,
}

impl<'p> KeyPage<'p> {
    #[inline]
    pub(super) fn of(body: &'p [u8]) -> Result<Self> {
        Ok(Self { body, head: KeyPageHead::of(body)? })
    }

    /// Returns a page with a head that the caller has decoded.
    pub(super) fn with_head(body: &'p [u8], head: KeyPageHead) -> Self {
        Self { body, head }
    }

    #[inline]
    pub(super) fn head(&self) -> KeyPageHead {
        self.head
    }

    #[inline]
    pub(super) fn level(&self) -> u8 {
        self.head.level
    }

    /// Returns the number of entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.head.entries
    }

    /// Returns the bytes in use.
    pub(super) fn used(&self) -> usize {
        BODY - self.head.gap() - self.head.dead
    }

    #[inline]
    pub(super) fn prefix(&self) -> &'p [u8] {
        &self.body[PREFIX_AT..PREFIX_AT + self.head.prefix]
    }

    /// Returns a column of four bytes.
    #[inline]
    fn column(&self, column: usize) -> &'p [[u8; 4]] {
        let from = self.head.column(column);
        self.body[from..from + 4 * self.len()].as_chunks().0
    }

    #[inline]
    pub(super) fn heads(&self) -> &'p [[u8; KEY_HEAD]] {
        self.column(HEADS)
    }

    /// Returns a child's page.
    #[inline]
    pub(super) fn child(&self, at: usize) -> Result<PageId> {
        let children = if self.level() == 0 { &[] } else { self.column(CHILDREN) };
        children.get(at).map(|child| PageId(u32::from_le_bytes(*child))).ok_or_else(|| no_entry(at))
    }

    /// Returns the number of keys below an entry.
    pub(super) fn count(&self, at: usize) -> Result<u64> {
        if at >= self.len() {
            return Err(no_entry(at));
        }
        let width = widths(self.level())[COUNTS];
        let at = self.head.column(COUNTS) + width * at;
        Ok(match width {
            0 => 1,
            2 => number(self.body, at) as u64,
            4 => u32_at(self.body, at).into(),
            _ => u64_at(self.body, at),
        })
    }

    /// Returns a child with its count, or [`CountedChild::NONE`] for an entry of a leaf.
    pub(super) fn counted_child(&self, at: usize) -> Result<CountedChild> {
        if self.level() == 0 {
            return Ok(CountedChild::NONE);
        }
        Ok(CountedChild { page: self.child(at)?, count: self.count(at)? })
    }

    /// Returns the number of keys below the first `end` entries. A sum that is out of range is
    /// damage, and any result is fine.
    #[inline]
    pub(super) fn count_before(&self, end: usize) -> u64 {
        let end = end.min(self.len());
        let (from, width) = (self.head.column(COUNTS), widths(self.level())[COUNTS]);
        let counts = &self.body[from..from + width * end];
        // Without checks for overflow, so that the compiler adds several at once.
        match width {
            0 => end as u64,
            2 => counts
                .as_chunks()
                .0
                .iter()
                .fold(0, |sum: u32, count| sum.wrapping_add(u16::from_le_bytes(*count).into()))
                .into(),
            4 => counts
                .as_chunks()
                .0
                .iter()
                .fold(0, |sum: u64, count| sum.wrapping_add(u32::from_le_bytes(*count).into())),
            _ => counts
                .as_chunks()
                .0
                .iter()
                .fold(0, |sum: u64, count| sum.wrapping_add(u64::from_le_bytes(*count))),
        }
    }

    /// Returns the number of keys below all entries.
    pub(super) fn total(&self) -> u64 {
        self.count_before(self.len())
    }

    /// Returns the entry that has the key of this rank, and the number of keys before the entry.
    pub(super) fn entry_of_rank(&self, rank: u64) -> Option<(usize, u64)> {
        if self.level() == 0 {
            let at = usize::try_from(rank).ok().filter(|at| *at < self.len())?;
            return Some((at, rank));
        }
        let mut before = 0_u64;
        (0..self.len()).find_map(|at| {
            let end = before.saturating_add(self.count(at).ok()?);
            let found = (rank < end).then_some((at, before));
            before = end;
            found
        })
    }

    /// Returns the tail of an entry's key.
    #[inline]
    pub(super) fn tail(&self, at: usize) -> Result<KeyTail<'p>> {
        let place = self.column(PLACES).get(at).ok_or_else(|| no_entry(at))?;
        let (from, word) = (number(place, 0), u16::from_le_bytes([place[2], place[3]]));
        let (len, is_long) = (usize::from(word & !LONG), word & LONG != 0);
        let end = from + len.saturating_sub(KEY_HEAD);
        let most = BODY - if is_long { CHAIN } else { 0 };
        if len > KEY_HEAD || is_long {
            if from < BODY - self.head.heap || end > most {
                return Err(no_bytes(at, from..end));
            }
        } else if from != 0 {
            return Err(no_bytes(at, from..end));
        }
        let chain = if is_long { Some(self.chain(at, len, end)?) } else { None };
        Ok(KeyTail { from, len, bytes: &self.body[from..end], chain })
    }

    /// Returns the rest of a long key. The page has `len` bytes of the key behind the prefix.
    fn chain(&self, at: usize, len: usize, from: usize) -> Result<OverflowChain> {
        let chain =
            OverflowChain { len: u32_at(self.body, from), first: PageId(u32_at(self.body, from + 4)) };
        let is_possible = (1..=SET_KEY_MOST - INLINE_MOST).contains(&(chain.len as usize));
        if is_possible && self.head.prefix + len == INLINE_MOST {
            return Ok(chain);
        }
        Err(format!("entry {at} has {} and {} bytes of a key", self.head.prefix + len, chain.len))
    }

    /// Appends the bytes of a key that the page has, and returns the rest of a long key.
    pub(super) fn key_into(&self, at: usize, key: &mut Vec<u8>) -> Result<Option<OverflowChain>> {
        let tail = self.tail(at)?;
        key.extend_from_slice(self.prefix());
        key.extend_from_slice(&self.heads()[at][..tail.len.min(KEY_HEAD)]);
        key.extend_from_slice(tail.bytes);
        Ok(tail.chain)
    }
}

#[cold]
fn no_entry(at: usize) -> String {
    format!("it has no entry {at}")
}

#[cold]
fn no_bytes(at: usize, bytes: Range<usize>) -> String {
    format!("entry {at} leads to bytes {} to {}, outside of the tails", bytes.start, bytes.end)
}
