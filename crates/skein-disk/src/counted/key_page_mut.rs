//! Changes of key pages in place.

use std::ops::Range;

use super::key_page::{
    CHAIN, CHILDREN, COUNTS, CountedChild, HEADS, KeyPage, KeyPageHead, LONG, PLACES, PREFIX_AT, Result,
    set_number, split_head, widths,
};
use super::long_key::StoredKey;
use crate::record::BODY;

/// Write access to a key page.
#[derive(Debug)]
pub(super) struct KeyPageMut<'p> {
    body: &'p mut [u8],
    head: KeyPageHead,
}

impl<'p> KeyPageMut<'p> {
    pub(super) fn of(body: &'p mut [u8]) -> Result<Self> {
        let head = KeyPage::of(body)?.head();
        Ok(Self { body, head })
    }

    pub(super) fn read(&self) -> KeyPage<'_> {
        KeyPage::with_head(self.body, self.head)
    }

    /// Replaces the content of a page by no entries with this prefix.
    pub(super) fn clear(body: &'p mut [u8], level: u8, prefix: &[u8]) -> Self {
        body.fill(0);
        body[PREFIX_AT..PREFIX_AT + prefix.len()].copy_from_slice(prefix);
        let head = KeyPageHead { level, entries: 0, prefix: prefix.len(), heap: 0, dead: 0 };
        head.write(body);
        Self { body, head }
    }

    /// Inserts an entry. The key's bytes must begin with the page's prefix. Returns false and
    /// changes nothing if the entry does not fit, or if its key has another prefix.
    pub(super) fn insert(&mut self, at: usize, key: &StoredKey<'_>, child: CountedChild) -> Result<bool> {
        let prefix = &self.body[PREFIX_AT..PREFIX_AT + self.head.prefix];
        let Some(rest) = key.inline.strip_prefix(prefix) else { return Ok(false) };
        let (head, tail) = split_head(rest);
        let size = tail.len() + if key.chain.is_some() { CHAIN } else { 0 };
        let columns: usize = widths(self.head.level).iter().sum();
        if columns + size > self.head.gap() {
            return Ok(false);
        }
        self.open_columns(at);
        self.set(HEADS, at, head);
        self.set(CHILDREN, at, child.page.0.to_le_bytes());
        self.add_tail(at, rest.len(), tail, key);
        self.head.write(self.body);
        self.set_count(at, child.count)?;
        Ok(true)
    }

    /// Inserts the first entry of a page above the leaves, which has no key.
    pub(super) fn insert_first_child(&mut self, child: CountedChild) -> Result<()> {
        self.open_columns(0);
        self.set(CHILDREN, 0, child.page.0.to_le_bytes());
        self.head.write(self.body);
        self.set_count(0, child.count)
    }

    /// Adds a tail to the heap, and the place of its entry. The tail must fit.
    fn add_tail(&mut self, at: usize, len: usize, tail: &[u8], key: &StoredKey<'_>) {
        let mut place = [0; 4];
        let mut word = len as u16;
        if let Some(chain) = key.chain {
            word |= LONG;
            self.push_heap(&chain.first.0.to_le_bytes());
            self.push_heap(&chain.len.to_le_bytes());
        }
        self.push_heap(tail);
        if key.chain.is_some() || !tail.is_empty() {
            set_number(&mut place, 0, BODY - self.head.heap);
        }
        place[2..].copy_from_slice(&word.to_le_bytes());
        self.set(PLACES, at, place);
    }

    fn push_heap(&mut self, bytes: &[u8]) {
        self.head.heap += bytes.len();
        let from = BODY - self.head.heap;
        self.body[from..from + bytes.len()].copy_from_slice(bytes);
    }

    /// Sets an entry's value in a column. A column without bytes ignores it.
    fn set(&mut self, column: usize, at: usize, to: [u8; 4]) {
        let width = widths(self.head.level)[column];
        let from = self.head.column(column) + width * at;
        self.body[from..from + width].copy_from_slice(&to[..width]);
    }

    /// Makes room for an entry in all columns, with zeros. There must be a gap.
    fn open_columns(&mut self, at: usize) {
        let (old, entries) = (self.head, self.head.entries);
        self.head.entries += 1;
        // The last column first, so that no column overwrites another one.
        for (column, width) in widths(old.level).into_iter().enumerate().rev() {
            let (from, to) = (old.column(column), self.head.column(column));
            self.body.copy_within(from + width * at..from + width * entries, to + width * (at + 1));
            self.body.copy_within(from..from + width * at, to);
            self.body[to + width * at..to + width * (at + 1)].fill(0);
        }
    }

    /// Removes entries, which the page must have. The rest of a long key stays with the caller.
    pub(super) fn remove(&mut self, range: Range<usize>) -> Result<()> {
        let KeyPageHead { mut dead, heap, .. } = self.head;
        for at in range.clone() {
            dead += self.read().tail(at)?.size();
        }
        if dead > heap {
            return Err(format!("{dead} of {heap} bytes of its heap would be dead"));
        }
        self.head.dead = dead;
        let (old, entries) = (self.head, self.head.entries);
        self.head.entries -= range.len();
        for (column, width) in widths(old.level).into_iter().enumerate() {
            let (from, to) = (old.column(column), self.head.column(column));
            self.body.copy_within(from..from + width * range.start, to);
            self.body.copy_within(from + width * range.end..from + width * entries, to + width * range.start);
        }
        self.head.write(self.body);
        Ok(())
    }

    /// Removes a child. The separator before the child is removed, too, or, for the first child,
    /// the separator behind it. The page must have another child.
    pub(super) fn remove_child(&mut self, at: usize) -> Result<()> {
        if at == 0 {
            let next = self.read().counted_child(1)?;
            self.set(CHILDREN, 0, next.page.0.to_le_bytes());
            self.set_count(0, next.count)?;
        }
        let at = at.max(1);
        self.remove(at..at + 1)
    }

    /// Sets the number of keys below an entry.
    pub(super) fn set_count(&mut self, at: usize, to: u64) -> Result<()> {
        let width = widths(self.head.level)[COUNTS];
        if width == 0 {
            return Ok(());
        }
        let bytes = to.to_le_bytes();
        if bytes[width..].iter().any(|byte| *byte != 0) {
            return Err(format!("entry {at} of level {} cannot have {to} keys below it", self.head.level));
        }
        let from = self.head.column(COUNTS) + width * at;
        self.body[from..from + width].copy_from_slice(&bytes[..width]);
        Ok(())
    }

    /// Adds to the number of keys below an entry.
    pub(super) fn add(&mut self, at: usize, by: u64) -> Result<()> {
        let sum = self.read().count(at)?.checked_add(by);
        self.set_count(at, sum.ok_or_else(|| format!("its count {at} is out of range"))?)
    }

    /// Subtracts from the number of keys below an entry.
    pub(super) fn subtract(&mut self, at: usize, by: u64) -> Result<()> {
        let count = self.read().count(at)?;
        let rest = count.checked_sub(by);
        self.set_count(at, rest.ok_or_else(|| format!("its count {at} is {count}, less than {by}"))?)
    }
}
