//! The hash table of the trie: from each prefix of an anchor to its item, or to the leaf whose anchor it is.
//!
//! ```text
//!   line:  │ tag 16, address 48 │ ... 8 entries ... │      one cache line
//!            hash of a prefix ─► line, tag;  a full line sends entries on to the next ones
//! ```
//!
//! Source: Wormhole, sections 2.4 and 3.1. The paper keeps two tables, switches between them and waits for readers in between; ours is
//! one, changed in place. What a search finds while it changes may be out of date, and that is all: items do not change their shape,
//! what is unlinked is freed past a grace period, and the leaf itself says whether it is the right one (`lookup.rs`).
//! So no operation waits for readers, and there is no second copy.
//!
//! # Invariants
//! 1. Entries, counts and the length of the longest prefix change under the table's lock (`meta.rs`).
//! 2. A prefix's entry lies within [`REACH`] lines from the one that its hash says, with no *open* line in between: one that has never been
//!    full. Lines are filled from their first place on, so a line is open if nothing is in its last one.

use skein_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use skein_sync::reclaim::PROTECT;

use super::item::TrieItem;
use super::leaf::WormholeLeaf;
use super::line::{LINE, TagMatches};
use crate::hash::PrefixHash;
use crate::memory::{Arena, AtomicWords, prefetch_read};
use crate::tagged_pointer::TaggedPointer;

/// Lines that an entry may lie away. A table that chance has filled is made larger long before that, so more means that
/// someone chooses prefixes that collide.
const REACH: usize = 8;
/// Lines of the smallest table.
const LINES_MIN: usize = 4;
/// Where an entry was.
const GONE: u64 = KIND_GONE;
const KIND_ITEM: u64 = 0;
const KIND_LEAF: u64 = 1;
const KIND_GONE: u64 = 2;

/// What stands for a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetaTrieNode {
    /// The prefix is this leaf's anchor.
    Leaf(WormholeLeaf),
    /// It is shorter than an anchor.
    Item(TrieItem),
}

impl MetaTrieNode {
    fn word(self, tag: u16) -> u64 {
        match self {
            Self::Leaf(leaf) => TaggedPointer::new(tag, leaf.address(), KIND_LEAF).0,
            Self::Item(item) => TaggedPointer::new(tag, item.address(), KIND_ITEM).0,
        }
    }

    /// The node as a word of its own.
    pub(super) fn untagged(self) -> u64 {
        self.word(0)
    }

    /// The node that an entry leads to.
    ///
    /// # Safety
    /// The word came from [`Self::word`] or is 0 or [`GONE`], and the node is live.
    #[inline(always)]
    pub(super) unsafe fn from_word(word: u64) -> Option<Self> {
        let entry = TaggedPointer(word);
        if entry.address() == 0 {
            return None;
        }
        // SAFETY: passed on to the caller.
        Some(unsafe {
            match entry.kind() {
                KIND_LEAF => Self::Leaf(WormholeLeaf::from_address(entry.address())),
                _ => Self::Item(TrieItem::from_address(entry.address())),
            }
        })
    }

    /// The prefix it stands for; none if it is being changed.
    pub(super) fn prefix<'a>(self) -> Option<&'a [u8]> {
        match self {
            Self::Leaf(leaf) => Some(leaf.anchor()),
            Self::Item(item) => item.sample()?.anchor().get(..item.len()),
        }
    }

    /// Whether it stands for this prefix.
    pub(super) fn stands_for(self, prefix: &[u8]) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.anchor() == prefix,
            Self::Item(item) => item.len() == prefix.len() && self.prefix() == Some(prefix),
        }
    }
}

/// Whether a node's word leads to an item.
#[inline(always)]
pub(super) fn is_item(word: u64) -> bool {
    TaggedPointer(word).kind() == KIND_ITEM
}

/// An entry found.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrefixEntry {
    index: usize,
    pub(super) node: MetaTrieNode,
}

/// The lines of a table for about so many entries.
fn lines_for(entries: usize) -> usize {
    // A quarter full: with half as much again it is at its limit. In a fuller one many lines are full, and past each of them a search for a
    // prefix that is not there has to read another one; at nine sixteenths that took a quarter of all time.
    (entries * 4).div_ceil(LINE).max(LINES_MIN)
}

/// A table.
#[derive(Debug)]
pub(super) struct PrefixTable {
    words: AtomicWords,
    lines: usize,
    pub(super) hash: PrefixHash,
    /// Entries, and entries that were.
    live: AtomicUsize,
    gone: AtomicUsize,
    longest: AtomicUsize,
}

impl PrefixTable {
    /// An empty table for about `entries` of them.
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

    /// The length of the longest prefix.
    #[inline(always)]
    pub(super) fn longest(&self) -> usize {
        // Relaxed: a search that misses a longer prefix finds out at the leaf.
        self.longest.load(Ordering::Relaxed)
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.words.bytes()
    }

    /// From now on counts as unlinked, but maybe still seen by a reader.
    pub(super) fn mark_retired(&self) {
        self.words.mark_retired();
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Whether another size would be better, with so many entries more.
    pub(super) fn is_crowded(&self, more: usize) -> bool {
        let used = self.len() + self.gone.load(Ordering::Relaxed) + more;
        used * 8 > self.words.len() * 3
    }

    /// The bytes of the table that an insert may need in its place: what a split adds is an anchor's prefixes, and anchors are mostly no
    /// longer than the longest, or than the key.
    pub(super) fn growth(&self, key_len: usize) -> usize {
        let more = self.longest().max(key_len) + 2;
        if !self.is_crowded(more) {
            return 0;
        }
        AtomicWords::bytes_of(self.words.arena(), lines_for(self.len() + more) * LINE)
    }

    /// Whether a smaller one would be better: less than three sixteenths are used. So it is at most a third larger than one that
    /// was just made, and twice as large as the fullest one.
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
        // SAFETY: there are `lines` of so many words, and callers stay below that.
        unsafe { self.words.as_chunks::<LINE>().0.get_unchecked(index) }
    }

    /// Asks for the line of a prefix.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch_read(self.line(self.line_and_tag(hash).0));
    }

    /// The first entry with the tag of a prefix, whose hash is given, that `is` the one.
    pub(super) fn find(&self, hash: u64, is: impl Fn(MetaTrieNode) -> bool) -> Option<PrefixEntry> {
        let (mut index, tag) = self.line_and_tag(hash);
        for _ in 0..REACH {
            let line = self.line(index);
            for place in TagMatches::of(line, tag) {
                // The callers hold a guard, or the lock.
                let word = line[place % LINE].load(PROTECT);
                if TaggedPointer(word).tag() != tag {
                    continue;
                }
                // SAFETY: entries hold words of nodes, which are retired once they are unlinked.
                if let Some(node) = unsafe { MetaTrieNode::from_word(word) }
                    && is(node)
                {
                    return Some(PrefixEntry { index: index * LINE + place, node });
                }
            }
            // Relaxed: says where to stop, and leads nowhere.
            if line[LINE - 1].load(Ordering::Relaxed) == 0 {
                return None;
            }
            index = if index + 1 == self.lines { 0 } else { index + 1 };
        }
        None
    }

    /// The word of the first entry with the tag of a prefix, whose hash is given; 0 if there is none.
    #[inline(always)]
    pub(super) fn guess(&self, hash: u64) -> u64 {
        let (index, tag) = self.line_and_tag(hash);
        let line = self.line(index);
        // What stands there may be another entry by now, or none: it is a guess.
        match TagMatches::of(line, tag).next().map(|place| line[place % LINE].load(PROTECT)) {
            Some(word) if TaggedPointer(word).address() != 0 => word,
            // Relaxed: says where to stop, and leads nowhere.
            None if line[LINE - 1].load(Ordering::Relaxed) == 0 => 0,
            _ => self.guess_further(hash),
        }
    }

    #[cold]
    #[inline(never)]
    fn guess_further(&self, hash: u64) -> u64 {
        self.find(hash, |_| true).map_or(0, |place| place.node.untagged())
    }

    /// The entry of `prefix`, whose hash is given.
    pub(super) fn find_exactly(&self, hash: u64, prefix: &[u8]) -> Option<PrefixEntry> {
        self.find(hash, |node| node.stands_for(prefix))
    }

    /// Adds an entry for a prefix that has none; false if there is no room within reach. The caller holds the lock, as for all
    /// that follow.
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
            // Release: pairs with the load in `find`; the node is initialised.
            self.words[index].store(node.word(tag), Ordering::Release);
            return true;
        }
        false
    }

    /// Puts another node in an entry's place.
    pub(super) fn replace(&self, place: PrefixEntry, node: MetaTrieNode) {
        let tag = TaggedPointer(self.words[place.index].load(Ordering::Relaxed)).tag();
        // Release: as in `insert`.
        self.words[place.index].store(node.word(tag), Ordering::Release);
    }

    /// Takes an entry out.
    pub(super) fn remove(&self, place: PrefixEntry) {
        let open = self.line(place.index / LINE)[LINE - 1].load(Ordering::Relaxed) == 0;
        self.live.fetch_sub(1, Ordering::Relaxed);
        if !open {
            self.gone.fetch_add(1, Ordering::Relaxed);
        }
        // Searches that passed here stopped at this line if it was open, and must go on if it was not.
        self.words[place.index].store(if open { 0 } else { GONE }, Ordering::Release);
    }

    /// All nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = MetaTrieNode> + '_ {
        // SAFETY: as in `find`.
        self.words.iter().filter_map(|word| unsafe { MetaTrieNode::from_word(word.load(PROTECT)) })
    }
}
