//! The hash table of the trie: from each prefix of an anchor to its item, or from a whole anchor to
//! its leaf.
//!
//! ```text
//!   line:  │ tag 16, address 48 │ ... 8 entries ... │      one cache line
//!            hash of a prefix ─► line, tag;  entries of a full line overflow into the next ones
//! ```
//!
//! Source: Wormhole, sections 2.4 and 3.1. The paper keeps two tables, and to change them it
//! switches between them and waits for readers. Ours is one table, changed in place. A search
//! during a change may return an outdated node, which is harmless: items do not change their shape,
//! unlinked memory is freed after a grace period, and the leaf itself shows whether it is the right
//! one (`lookup.rs`). So no operation waits for readers, and there is no second copy.
//!
//! # Invariants
//! 1. Entries, counts and the length of the longest prefix change under the table's lock
//!    (`meta_trie.rs`).
//! 2. A prefix's entry lies within [`REACH`] lines from the line of its hash, with no *open* line
//!    in between, that is, a line that has never been full. A line is filled from its first entry
//!    on, so it is open if its last entry is empty.

use skein_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use skein_sync::reclaim::PROTECT;

use super::item::TrieItem;
use super::leaf::WormholeLeaf;
use super::line::{LINE, TagMatches};
use crate::hash::PrefixHash;
use crate::memory::{Arena, AtomicWords, prefetch_read};
use crate::tagged_pointer::TaggedPointer;

/// Maximum distance of an entry from its line. A table filled by ordinary keys is replaced by a
/// larger one long before that, so a greater distance means that a user chooses colliding prefixes.
const REACH: usize = 8;
/// Lines of the smallest table.
const LINES_MIN: usize = 4;
/// The word of a removed entry.
const GONE: u64 = KIND_GONE;
const KIND_ITEM: u64 = 0;
const KIND_LEAF: u64 = 1;
const KIND_GONE: u64 = 2;

/// The node of a prefix in the trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetaTrieNode {
    /// The prefix is this leaf's anchor.
    Leaf(WormholeLeaf),
    /// The prefix is shorter than an anchor.
    Item(TrieItem),
}

impl MetaTrieNode {
    fn word(self, tag: u16) -> u64 {
        match self {
            Self::Leaf(leaf) => TaggedPointer::new(tag, leaf.address(), KIND_LEAF).0,
            Self::Item(item) => TaggedPointer::new(tag, item.address(), KIND_ITEM).0,
        }
    }

    /// Returns the node's word without a tag.
    pub(super) fn untagged(self) -> u64 {
        self.word(0)
    }

    /// Returns the node that an entry leads to.
    ///
    /// # Safety
    /// The word came from [`Self::word`], or is 0 or [`GONE`], and the node is live.
    #[inline(always)]
    pub(super) unsafe fn from_word(word: u64) -> Option<Self> {
        let entry = TaggedPointer(word);
        if entry.address() == 0 {
            return None;
        }
        // SAFETY: the caller's promise.
        Some(unsafe {
            match entry.kind() {
                KIND_LEAF => Self::Leaf(WormholeLeaf::from_address(entry.address())),
                _ => Self::Item(TrieItem::from_address(entry.address())),
            }
        })
    }

    /// Returns the length of the node's prefix.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.anchor().len(),
            Self::Item(item) => item.len(),
        }
    }

    /// Returns an anchor that begins with the node's prefix; `None` if the node is being changed.
    pub(super) fn sample_anchor<'a>(self) -> Option<&'a [u8]> {
        match self {
            Self::Leaf(leaf) => Some(leaf.anchor()),
            Self::Item(item) => Some(item.sample()?.anchor()),
        }
    }

    /// Returns the node's prefix; `None` if it is being changed.
    pub(super) fn prefix<'a>(self) -> Option<&'a [u8]> {
        self.sample_anchor()?.get(..self.len())
    }

    /// Returns whether this is the node of `prefix`.
    pub(super) fn stands_for(self, prefix: &[u8]) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.anchor() == prefix,
            Self::Item(item) => item.len() == prefix.len() && self.prefix() == Some(prefix),
        }
    }
}

/// Returns whether a node's word leads to an item.
#[inline(always)]
pub(super) fn is_item(word: u64) -> bool {
    TaggedPointer(word).kind() == KIND_ITEM
}

/// A prefix's node, and the index of its entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrefixEntry {
    index: usize,
    pub(super) node: MetaTrieNode,
}

/// Returns the number of lines of a new table for this many entries.
fn lines_for(entries: usize) -> usize {
    // A new table is a quarter full and is replaced when it has half as many entries more. In a
    // fuller table many lines are full, and a search for an absent prefix must read the line after
    // each of them; at nine sixteenths full that took a quarter of all time.
    (entries * 4).div_ceil(LINE).max(LINES_MIN)
}

/// The hash table of the trie.
#[derive(Debug)]
pub(super) struct PrefixTable {
    words: AtomicWords,
    lines: usize,
    pub(super) hash: PrefixHash,
    /// The number of entries, and of removed entries that still occupy a word.
    live: AtomicUsize,
    gone: AtomicUsize,
    longest: AtomicUsize,
}

impl PrefixTable {
    /// Creates an empty table for about `entries` entries.
    pub(super) fn for_entries(arena: &Arena, entries: usize, hash: PrefixHash, huge: bool) -> Self {
        let lines = lines_for(entries);
        Self {
            words: AtomicWords::new(arena, lines * LINE, huge),
            lines,
            hash,
            live: AtomicUsize::new(0),
            gone: AtomicUsize::new(0),
            longest: AtomicUsize::new(0),
        }
    }

    /// Returns the length of the longest prefix.
    #[inline(always)]
    pub(super) fn longest(&self) -> usize {
        // Relaxed: a search that misses a longer prefix notices it at the leaf.
        self.longest.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.bytes()
    }

    /// Counts the table as retired from now on: unlinked, but perhaps still visible to a reader.
    pub(super) fn mark_retired(&self) {
        self.words.mark_retired();
    }

    pub(super) fn len(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Returns whether the table is too full for `more` entries more.
    pub(super) fn is_crowded(&self, more: usize) -> bool {
        let used = self.len() + self.gone.load(Ordering::Relaxed) + more;
        used * 8 > self.words.len() * 3
    }

    /// Returns the size of the new table that an insert of a key may need, or 0 if this table
    /// suffices. A split adds the prefixes of an anchor, and an anchor is mostly no longer than the
    /// longest one or than the key.
    pub(super) fn growth(&self, key_len: usize) -> usize {
        let more = self.longest().max(key_len) + 2;
        if !self.is_crowded(more) {
            return 0;
        }
        AtomicWords::bytes_of(self.words.arena(), lines_for(self.len() + more) * LINE)
    }

    /// Returns whether a smaller table would be better: less than three sixteenths are used. So the
    /// table is at most a third larger than a new one, and twice as large as the fullest one.
    pub(super) fn is_sparse(&self) -> bool {
        self.lines > LINES_MIN && self.len() * 16 < self.words.len() * 3
    }

    #[inline(always)]
    fn line_and_tag(&self, hash: u64) -> (usize, u16) {
        let line = (u64::from((hash >> 16) as u32) * self.lines as u64) >> 32;
        (line as usize, (hash >> 48) as u16)
    }

    #[inline(always)]
    fn line(&self, index: usize) -> &[AtomicU64; LINE] {
        debug_assert!(index < self.lines);
        // SAFETY: there are `lines` of this many words, and callers stay below that.
        unsafe { self.words.as_chunks::<LINE>().0.get_unchecked(index) }
    }

    /// Prefetches the line of a prefix.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch_read(self.line(self.line_and_tag(hash).0));
    }

    /// Returns the first entry with the tag of `hash` that satisfies `is`.
    pub(super) fn find(&self, hash: u64, is: impl Fn(MetaTrieNode) -> bool) -> Option<PrefixEntry> {
        let (mut index, tag) = self.line_and_tag(hash);
        for _ in 0..REACH {
            let line = self.line(index);
            for place in TagMatches::of(line, tag) {
                // The callers hold a guard or the lock.
                let word = line[place % LINE].load(PROTECT);
                if TaggedPointer(word).tag() != tag {
                    continue;
                }
                // SAFETY: entries hold words of nodes, which are retired after they are unlinked.
                if let Some(node) = unsafe { MetaTrieNode::from_word(word) }
                    && is(node)
                {
                    return Some(PrefixEntry { index: index * LINE + place, node });
                }
            }
            // Relaxed: only ends the search, and leads to no node.
            if line[LINE - 1].load(Ordering::Relaxed) == 0 {
                return None;
            }
            index = if index + 1 == self.lines { 0 } else { index + 1 };
        }
        None
    }

    /// Returns the word of the first entry with the tag of `hash`, or 0 if there is no such entry.
    #[inline(always)]
    pub(super) fn guess(&self, hash: u64) -> u64 {
        let (index, tag) = self.line_and_tag(hash);
        let line = self.line(index);
        // The word may be another entry by now, or a removed one: the result is a guess.
        match TagMatches::of(line, tag).next().map(|place| line[place % LINE].load(PROTECT)) {
            Some(word) if TaggedPointer(word).address() != 0 => word,
            // Relaxed: only ends the search, and leads to no node.
            None if line[LINE - 1].load(Ordering::Relaxed) == 0 => 0,
            _ => self.guess_further(hash),
        }
    }

    #[cold]
    #[inline(never)]
    fn guess_further(&self, hash: u64) -> u64 {
        self.find(hash, |_| true).map_or(0, |place| place.node.untagged())
    }

    /// Returns the entry of `prefix`, given its hash.
    pub(super) fn find_exactly(&self, hash: u64, prefix: &[u8]) -> Option<PrefixEntry> {
        self.find(hash, |node| node.stands_for(prefix))
    }

    /// Adds an entry for a prefix that has no entry. Returns false if no word within reach is free.
    /// Here and below, the caller must hold the lock.
    pub(super) fn insert(&self, hash: u64, len: usize, node: MetaTrieNode) -> bool {
        let (start, tag) = self.line_and_tag(hash);
        let reach = (0..REACH.min(self.lines)).flat_map(|step| {
            let line = (start + step) % self.lines;
            line * LINE..(line + 1) * LINE
        });
        for index in reach {
            let word = self.words[index].load(Ordering::Relaxed);
            if word != 0 && word != GONE {
                continue;
            }
            if word == GONE {
                self.gone.fetch_sub(1, Ordering::Relaxed);
            }
            self.longest.fetch_max(len, Ordering::Relaxed);
            self.live.fetch_add(1, Ordering::Relaxed);
            // Release: pairs with the loads in `find` and `guess`; the node is initialised.
            self.words[index].store(node.word(tag), Ordering::Release);
            return true;
        }
        false
    }

    /// Replaces the node of an entry.
    pub(super) fn replace(&self, place: PrefixEntry, node: MetaTrieNode) {
        let tag = TaggedPointer(self.words[place.index].load(Ordering::Relaxed)).tag();
        // Release: as in `insert`.
        self.words[place.index].store(node.word(tag), Ordering::Release);
    }

    /// Removes an entry.
    pub(super) fn remove(&self, place: PrefixEntry) {
        let open = self.line(place.index / LINE)[LINE - 1].load(Ordering::Relaxed) == 0;
        self.live.fetch_sub(1, Ordering::Relaxed);
        if !open {
            self.gone.fetch_add(1, Ordering::Relaxed);
        }
        // A search that passed this entry stopped at this line if the line was open, and must
        // continue if it was not.
        self.words[place.index].store(if open { 0 } else { GONE }, Ordering::Release);
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = MetaTrieNode> + '_ {
        // SAFETY: as in `find`.
        self.words.iter().filter_map(|word| unsafe { MetaTrieNode::from_word(word.load(PROTECT)) })
    }
}
