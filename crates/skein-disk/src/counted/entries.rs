//! The entries of a key page in memory: to rewrite a page, to split it, and to merge two pages.

use std::ops::Range;

use super::key_page::{CHAIN, CountedChild, KEY_HEAD, KeyPage, PREFIX_AT, Result, widths};
use super::key_page_mut::KeyPageMut;
use super::long_key::StoredKey;
use crate::record::BODY;
use crate::trie::OverflowChain;

/// The entries of a page, in order.
#[derive(Debug)]
pub(super) struct KeyEntries {
    level: u8,
    /// The bytes of all keys, one after the other.
    bytes: Vec<u8>,
    entries: Vec<DecodedKey>,
}

#[derive(Debug)]
struct DecodedKey {
    key: Range<usize>,
    chain: Option<OverflowChain>,
    child: CountedChild,
}

impl KeyEntries {
    /// Decodes a page.
    pub(super) fn of(page: &KeyPage<'_>) -> Result<Self> {
        let (level, len) = (page.level(), page.len());
        let mut all =
            Self { level, bytes: Vec::with_capacity(2 * BODY), entries: Vec::with_capacity(len + 1) };
        for at in 0..len {
            let start = all.bytes.len();
            let chain = if at < page.head().first_key() { None } else { page.key_into(at, &mut all.bytes)? };
            let (key, child) = (start..all.bytes.len(), page.counted_child(at)?);
            all.entries.push(DecodedKey { key, chain, child });
        }
        Ok(all)
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of keys below some entries.
    pub(super) fn total(&self, range: Range<usize>) -> u64 {
        self.entries[range].iter().fold(0, |sum, entry| sum.saturating_add(entry.child.count))
    }

    /// Returns an entry's key.
    pub(super) fn key(&self, at: usize) -> StoredKey<'_> {
        let entry = &self.entries[at];
        StoredKey { inline: (&self.bytes[entry.key.clone()]).into(), chain: entry.chain }
    }

    pub(super) fn insert(&mut self, at: usize, key: &StoredKey<'_>, child: CountedChild) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&key.inline);
        self.entries.insert(at, DecodedKey { key: start..self.bytes.len(), chain: key.chain, child });
    }

    /// Replaces the key of an entry. Returns the rest of the previous one.
    pub(super) fn replace_key(&mut self, at: usize, key: &StoredKey<'_>) -> Option<OverflowChain> {
        let child = self.entries[at].child;
        let before = self.entries.remove(at).chain;
        self.insert(at, key, child);
        before
    }

    /// Appends the entries of the next page of this level. `separator` becomes the key of its first
    /// entry if the pages are above the leaves.
    pub(super) fn append(&mut self, next: &Self, separator: &StoredKey<'_>) {
        for (at, entry) in next.entries.iter().enumerate() {
            let is_first_child = at == 0 && self.level > 0;
            let key = if is_first_child { separator.borrowed() } else { next.key(at) };
            self.insert(self.len(), &key, entry.child);
        }
    }

    /// Returns the common prefix of some entries' keys, without the first entry above the leaves.
    fn prefix(&self, range: &Range<usize>) -> &[u8] {
        let first = self.first_key(range);
        if first >= range.end {
            return &[];
        }
        let bytes = |at: usize| &self.bytes[self.entries[at].key.clone()];
        let (first, last) = (bytes(first), bytes(range.end - 1));
        &first[..common_prefix(first, last)]
    }

    fn first_key(&self, range: &Range<usize>) -> usize {
        range.start + usize::from(self.level > 0)
    }

    /// Returns the bytes that some entries take in a page of their own.
    pub(super) fn size(&self, range: Range<usize>) -> usize {
        let prefix = self.prefix(&range).len();
        let keys = &self.entries[self.first_key(&range).min(range.end)..range.end];
        let tails = keys.iter().map(|entry| {
            let chain = if entry.chain.is_some() { CHAIN } else { 0 };
            entry.key.len().saturating_sub(prefix + KEY_HEAD) + chain
        });
        let columns: usize = widths(self.level).iter().sum();
        PREFIX_AT + prefix + range.len() * columns + tails.sum::<usize>()
    }

    pub(super) fn fits(&self, range: Range<usize>) -> bool {
        self.size(range) <= BODY
    }

    /// Writes some entries to a page's body, with the longest prefix. They must fit.
    pub(super) fn encode(&self, range: Range<usize>, body: &mut [u8]) -> Result<()> {
        let mut page = KeyPageMut::clear(body, self.level, self.prefix(&range));
        for (at, entry) in range.clone().enumerate() {
            let child = self.entries[entry].child;
            if at == 0 && self.level > 0 {
                page.insert_first_child(child)?;
            } else if !page.insert(at, &self.key(entry), child)? {
                return Err(format!("its key {entry} does not fit, or is not in order"));
            }
        }
        Ok(())
    }

    /// Returns the index at which two pages divide the entries: `preferred`, or the middle, or
    /// else the next index at which both halves fit.
    pub(super) fn cut(&self, preferred: Option<usize>) -> Result<usize> {
        let (len, wanted) = (self.len(), preferred.unwrap_or_else(|| self.middle()));
        let nearest = (0..len).flat_map(|far| [wanted.checked_sub(far), Some(wanted + far)]).flatten();
        let fits = |cut: &usize| (1..len).contains(cut) && self.fits(0..*cut) && self.fits(*cut..len);
        nearest.into_iter().find(fits).ok_or_else(|| format!("its {len} keys do not fit two pages"))
    }

    /// Returns the index of the middle by bytes.
    fn middle(&self) -> usize {
        let prefix = self.prefix(&(0..self.len())).len();
        let columns: usize = widths(self.level).iter().sum();
        let weight = |entry: &DecodedKey| columns + entry.key.len().saturating_sub(prefix);
        let total: usize = self.entries.iter().map(weight).sum();
        let mut before = 0;
        let is_before = |entry: &&DecodedKey| {
            before += weight(entry);
            2 * before <= total
        };
        self.entries.iter().take_while(is_before).count()
    }
}

/// Returns the length of the common prefix.
pub(super) fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
