//! Lookups: the longest prefix of the key that is in the trie, then a leaf, without a lock and without a store.
//!
//! ```text
//!   lengths  0 ············ mid ············ longest + 1        is the prefix of this length in the table?
//!            └─ yes: right half, and the hash goes on from here; no: left half (section 2.3, Algorithm 1)
//!   then     leaf ─► that one
//!            item ─► one word of it (`item.rs`)
//! ```
//!
//! Tags are trusted on the way (section 3.1), and so is a table that a writer may be changing: what comes out is a guess. A key that is found in
//! the leaf was there; a key that is not found is absent only if the leaf's anchor is at most the key, the next leaf's above it, and
//! the leaf's version has not changed meanwhile. Otherwise the search goes right along the list (the leaf has split, and the trie does not
//! know yet), left (the leaf was merged), or starts over with full comparisons of prefixes.

use super::Wormhole;
use super::leaf::{LeafSide, WormholeLeaf};
use super::search::LeafSearch;
use super::table::{MetaTrieNode, PrefixTable, is_item};
use super::variant::{WITHOUT_INCREMENTAL_HASH, WITHOUT_TAGS, has, probes};
use crate::hash::PrefixHasher;
use crate::index::MAX_KEY_LEN;
use crate::slot::Slot;

/// Steps to the right before the search asks the trie again.
const STEPS_MAX: usize = 4;

/// A guess at the leaf for a key, and the key's tag there.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafGuess {
    pub(super) leaf: WormholeLeaf,
    pub(super) tag: u16,
}

/// What is known of the longest prefix: it has at least `len` bytes and less than `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrefixBounds {
    pub(super) len: usize,
    pub(super) end: usize,
    /// The word that leads to the node of the first `len` bytes.
    node: u64,
}

impl PrefixBounds {
    /// Whether another prefix has to be probed.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.len + 1 < self.end && is_item(self.node)
    }

    /// Takes in what the table has for the first `len` bytes: a node's word, or 0.
    #[inline(always)]
    pub(super) fn learn(&mut self, len: usize, node: u64) {
        if node == 0 {
            self.end = len;
        } else {
            (self.len, self.node) = (len, node);
        }
    }

    /// The node of the first `len` bytes. The caller still holds the guard, or the lock, under which it was found.
    #[inline(always)]
    pub(super) fn node(&self) -> MetaTrieNode {
        // SAFETY: the root's word, or an entry's, which `learn` has seen not to be 0.
        unsafe { MetaTrieNode::from_word(self.node).unwrap_unchecked() }
    }
}

impl<S: Slot, const W: usize> Wormhole<S, W> {
    /// What is known at first.
    #[inline(always)]
    pub(super) fn begin(&self, table: &PrefixTable, key: &[u8]) -> PrefixBounds {
        PrefixBounds { len: 0, end: key.len().min(table.longest()) + 1, node: self.meta.root_word() }
    }

    /// The hash of the prefix of `len` bytes.
    #[inline(always)]
    pub(super) fn hash(table: &PrefixTable, prefixes: &PrefixHasher<'_>, len: usize) -> u64 {
        if has(W, WITHOUT_INCREMENTAL_HASH) {
            table.hash.of(&prefixes.bytes()[..len])
        } else {
            prefixes.at(len)
        }
    }

    /// The word of the node of a prefix whose length and hash are given, by tag alone unless `exact`; 0 if there is none.
    #[inline(always)]
    pub(super) fn probe(
        table: &PrefixTable,
        prefixes: &PrefixHasher<'_>,
        (len, hash): (usize, u64),
        exact: bool,
    ) -> u64 {
        if exact || has(W, WITHOUT_TAGS) {
            table.find_exactly(hash, &prefixes.bytes()[..len]).map_or(0, |place| place.node.untagged())
        } else {
            table.guess(hash)
        }
    }

    /// The longest prefix in the table.
    #[inline(always)]
    fn longest_prefix(&self, table: &PrefixTable, prefixes: &PrefixHasher<'_>, exact: bool) -> PrefixBounds {
        let mut known = self.begin(table, prefixes.bytes());
        while known.is_open() {
            match probes(W) {
                4 => Self::narrow::<4>(table, prefixes, exact, &mut known),
                2 => Self::narrow::<2>(table, prefixes, exact, &mut known),
                _ => {
                    let len = known.len + (known.end - known.len) / 2;
                    let hash = Self::hash(table, prefixes, len);
                    known.learn(len, Self::probe(table, prefixes, (len, hash), exact));
                }
            }
        }
        known
    }

    /// Probes `N` prefixes at once, evenly apart.
    #[inline(always)]
    fn narrow<const N: usize>(
        table: &PrefixTable,
        prefixes: &PrefixHasher<'_>,
        exact: bool,
        known: &mut PrefixBounds,
    ) {
        let (start, gap) = (known.len, known.end - known.len);
        let mut probes = [(0, 0); N];
        for (index, probe) in probes.iter_mut().enumerate() {
            let len = (start + gap * (index + 1) / (N + 1)).max(start + 1);
            *probe = (len, Self::hash(table, prefixes, len));
            table.prefetch(probe.1);
        }
        for probe in probes.into_iter().rev() {
            known.learn(probe.0, Self::probe(table, prefixes, probe, exact));
            if known.len == probe.0 {
                return;
            }
        }
    }

    /// The leaf that a longest prefix leads to; none if the trie has changed or a tag was wrong.
    #[inline(always)]
    pub(super) fn leaf_after(&self, key: &[u8], known: &PrefixBounds) -> Option<WormholeLeaf> {
        match known.node() {
            MetaTrieNode::Leaf(leaf) => Some(leaf),
            MetaTrieNode::Item(item) if item.len() == known.len => {
                Some(item.target(key.get(known.len).copied()).unwrap_or(self.first))
            }
            MetaTrieNode::Item(_) => None,
        }
    }

    /// The key's tag in leaves that are not keyed.
    #[inline(always)]
    pub(super) fn tag(&self, table: &PrefixTable, prefixes: &PrefixHasher<'_>) -> u16 {
        let hash = if table.hash.is_keyed() { self.plain.of(prefixes.bytes()) } else { prefixes.whole() };
        (hash >> 48) as u16
    }

    /// A guess at the leaf for a key, which is not too long.
    #[inline(always)]
    pub(super) fn locate(&self, key: &[u8]) -> LeafGuess {
        let table = self.meta.table();
        let mut prefixes = PrefixHasher::empty(table.hash);
        prefixes.set(table.hash, key);
        let known = self.longest_prefix(table, &prefixes, false);
        let tag = self.tag(table, &prefixes);
        match self.leaf_after(key, &known) {
            Some(leaf) => LeafGuess { leaf, tag },
            None => LeafGuess { leaf: self.locate_exactly(key), tag },
        }
    }

    /// The leaf for a key; a guess only while writers change the trie.
    #[cold]
    pub(super) fn locate_exactly(&self, key: &[u8]) -> WormholeLeaf {
        let table = self.meta.table();
        let mut prefixes = PrefixHasher::empty(table.hash);
        prefixes.set(table.hash, key);
        let known = self.longest_prefix(table, &prefixes, true);
        self.leaf_after(key, &known).unwrap_or(self.first)
    }

    /// The last leaf, or one on the way to it: it may have split just now.
    pub(super) fn last_leaf(&self) -> WormholeLeaf {
        let mut leaf = match self.meta.root() {
            MetaTrieNode::Leaf(leaf) => leaf,
            MetaTrieNode::Item(item) => item.sample().unwrap_or(self.first),
        };
        loop {
            // In the middle of a merge the left leaf still leads to the deleted one, which leads back: there is nothing to do but wait.
            let deleted = leaf.stable::<W>().is_deleted();
            match if deleted { leaf.prev() } else { leaf.next() } {
                Some(neighbour) => leaf = neighbour,
                None => return leaf,
            }
        }
    }

    /// Looks for a key in a leaf by the tag that the leaf wants.
    #[inline]
    pub(super) fn find_in(&self, leaf: WormholeLeaf, key: &[u8], tag: u16) -> LeafSearch {
        let tag = if leaf.is_keyed() { self.keyed_tag(key) } else { tag };
        leaf.find::<W>(key, tag)
    }

    /// The key's tag in keyed leaves.
    #[cold]
    pub(super) fn keyed_tag(&self, key: &[u8]) -> u16 {
        (self.keyed.of(key) >> 48) as u16
    }

    /// The word of `key`'s value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        if key.len() > MAX_KEY_LEN {
            return None;
        }
        let target = self.locate(key);
        target.leaf.prefetch(target.tag);
        self.finish(key, target)
    }

    /// The word of `key`'s value, with a guess at its leaf. What is found needs no look at the leaf's header.
    #[inline(always)]
    pub(super) fn finish(&self, key: &[u8], target: LeafGuess) -> Option<u64> {
        match target.leaf.find::<W>(key, target.tag).held {
            Some(held) => Some(Self::word(target.leaf, held.slot, held.record)),
            None => self.confirm(key, target),
        }
    }

    /// After a lookup that found nothing in the leaf it guessed, which may not have been the leaf.
    #[inline(never)]
    fn confirm(&self, key: &[u8], target: LeafGuess) -> Option<u64> {
        let mut walk = GuessWalk::new(target.leaf);
        loop {
            let leaf = walk.leaf;
            let version = leaf.stable::<W>();
            if version.is_deleted() {
                walk.leave(self, key);
                continue;
            }
            if let Some(held) = self.find_in(leaf, key, target.tag).held {
                return Some(Self::word(leaf, held.slot, held.record));
            }
            let side = leaf.side_of(key);
            if leaf.changed::<W>(version) {
                continue;
            }
            if matches!(side, LeafSide::Inside) {
                return None;
            }
            walk.turn(self, key, side);
        }
    }
}

/// The way from a guessed leaf to the right one.
#[derive(Debug)]
pub(super) struct GuessWalk {
    pub(super) leaf: WormholeLeaf,
    steps: usize,
}

impl GuessWalk {
    pub(super) fn new(leaf: WormholeLeaf) -> Self {
        Self { leaf, steps: 0 }
    }

    /// Goes on from a leaf that the key is not in.
    pub(super) fn turn<S: Slot, const W: usize>(
        &mut self,
        index: &Wormhole<S, W>,
        key: &[u8],
        side: LeafSide,
    ) {
        self.steps += 1;
        self.leaf = match side {
            LeafSide::Right(next) if !self.steps.is_multiple_of(STEPS_MAX) => next,
            _ => index.locate_exactly(key),
        };
    }

    /// Goes on from a leaf that was deleted: its keys are to the left.
    pub(super) fn leave<S: Slot, const W: usize>(&mut self, index: &Wormhole<S, W>, key: &[u8]) {
        self.steps += 1;
        self.leaf = match self.leaf.prev() {
            Some(prev) if !self.steps.is_multiple_of(STEPS_MAX) => prev,
            _ => index.locate_exactly(key),
        };
    }
}
