//! Lookups: find the longest prefix of the key in the trie, then a leaf, without a lock and without
//! a store.
//!
//! ```text
//!   lengths  0 ············ mid ············ longest + 1
//!            is the prefix of length mid in the table? (section 2.3, Algorithm 1)
//!              yes: continue in the right half      no: in the left half
//!   then     leaf ─► that leaf
//!            item ─► one word of the item (`item.rs`)
//! ```
//!
//! The search trusts tags (section 3.1), and a table that a writer may be changing, so its result
//! is a guess. A key found in the leaf is present. A key that is not found is absent only if the
//! leaf's anchor is at most the key, the next leaf's anchor is above it, and the leaf's version has
//! not changed during the check. Otherwise the search moves right along the list (the leaf has
//! split, and the trie does not show it yet), moves left (the leaf was merged), or restarts with
//! full comparisons of prefixes.

use super::WormholeVariant;
use super::leaf::{LeafSide, WormholeLeaf};
use super::search::LeafSearch;
use super::table::{MetaTrieNode, PrefixTable, is_item};
use super::variant::WormholeSettings;
use crate::hash::PrefixHasher;
use crate::index::MAX_KEY_LEN;
use crate::slot::Slot;

/// Number of steps along the list before the search asks the trie again.
const STEPS_MAX: usize = 4;

/// A guess at the leaf for a key, and the key's tag in that leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafGuess {
    pub(super) leaf: WormholeLeaf,
    pub(super) tag: u16,
}

/// The length of the longest prefix, as far as it is known: at least `len` and less than `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrefixBounds {
    pub(super) len: usize,
    pub(super) end: usize,
    /// The word of the node of the first `len` bytes.
    node: u64,
}

impl PrefixBounds {
    /// Returns whether another prefix must be probed.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.len + 1 < self.end && is_item(self.node)
    }

    /// Narrows the bounds by the table's answer for the first `len` bytes: a node's word, or 0.
    #[inline(always)]
    pub(super) fn narrow_to(&mut self, len: usize, node: u64) {
        if node == 0 {
            self.end = len;
        } else {
            (self.len, self.node) = (len, node);
        }
    }

    /// Returns the node of the first `len` bytes. The caller must still hold the guard, or the
    /// lock, under which it was found.
    #[inline(always)]
    pub(super) fn node(&self) -> MetaTrieNode {
        // SAFETY: the word of the root or of an entry; `narrow_to` has checked that it is not 0.
        unsafe { MetaTrieNode::from_word(self.node).unwrap_unchecked() }
    }
}

impl<S: Slot, V: WormholeSettings> WormholeVariant<S, V> {
    /// Returns the bounds at the start of a search.
    #[inline(always)]
    pub(super) fn initial_bounds(&self, table: &PrefixTable, key: &[u8]) -> PrefixBounds {
        PrefixBounds { len: 0, end: key.len().min(table.longest()) + 1, node: self.engine.meta.root_word() }
    }

    /// Returns the hash of the prefix of `len` bytes.
    #[inline(always)]
    pub(super) fn hash(table: &PrefixTable, prefixes: &PrefixHasher<'_>, len: usize) -> u64 {
        if V::INCREMENTAL_HASH { prefixes.at(len) } else { table.hash.of(&prefixes.bytes()[..len]) }
    }

    /// Returns the word of the node of a prefix, given its length and hash, or 0 if there is no
    /// such node. Compares only the tag unless `exact`.
    #[inline(always)]
    pub(super) fn probe(
        table: &PrefixTable,
        prefixes: &PrefixHasher<'_>,
        (len, hash): (usize, u64),
        exact: bool,
    ) -> u64 {
        if exact || !V::TAGS {
            table.find_exactly(hash, &prefixes.bytes()[..len]).map_or(0, |place| place.node.untagged())
        } else {
            table.guess(hash)
        }
    }

    /// Finds the longest prefix in the table.
    #[inline(always)]
    fn longest_prefix(&self, table: &PrefixTable, prefixes: &PrefixHasher<'_>, exact: bool) -> PrefixBounds {
        let mut bounds = self.initial_bounds(table, prefixes.bytes());
        while bounds.is_open() {
            match V::PROBES {
                4 => Self::narrow::<4>(table, prefixes, exact, &mut bounds),
                2 => Self::narrow::<2>(table, prefixes, exact, &mut bounds),
                _ => {
                    let len = bounds.len + (bounds.end - bounds.len) / 2;
                    let hash = Self::hash(table, prefixes, len);
                    bounds.narrow_to(len, Self::probe(table, prefixes, (len, hash), exact));
                }
            }
        }
        bounds
    }

    /// Probes `N` prefixes at once, evenly spaced.
    #[inline(always)]
    fn narrow<const N: usize>(
        table: &PrefixTable,
        prefixes: &PrefixHasher<'_>,
        exact: bool,
        bounds: &mut PrefixBounds,
    ) {
        let (start, gap) = (bounds.len, bounds.end - bounds.len);
        let mut probes = [(0, 0); N];
        for (index, probe) in probes.iter_mut().enumerate() {
            let len = (start + gap * (index + 1) / (N + 1)).max(start + 1);
            *probe = (len, Self::hash(table, prefixes, len));
            table.prefetch(probe.1);
        }
        for probe in probes.into_iter().rev() {
            bounds.narrow_to(probe.0, Self::probe(table, prefixes, probe, exact));
            if bounds.len == probe.0 {
                return;
            }
        }
    }

    /// Returns the leaf that a longest prefix leads to; `None` if the trie has changed or a tag was
    /// wrong.
    #[inline(always)]
    pub(super) fn leaf_after(&self, key: &[u8], bounds: &PrefixBounds) -> Option<WormholeLeaf> {
        match bounds.node() {
            MetaTrieNode::Leaf(leaf) => Some(leaf),
            MetaTrieNode::Item(item) if item.len() == bounds.len => {
                Some(item.target(key.get(bounds.len).copied()).unwrap_or(self.engine.first))
            }
            MetaTrieNode::Item(_) => None,
        }
    }

    /// Returns the key's tag in leaves that are not keyed.
    #[inline(always)]
    pub(super) fn tag(&self, table: &PrefixTable, prefixes: &PrefixHasher<'_>) -> u16 {
        let hash =
            if table.hash.is_keyed() { self.engine.plain.of(prefixes.bytes()) } else { prefixes.whole() };
        (hash >> 48) as u16
    }

    /// Returns a guess at the leaf for a key, which must not be too long.
    #[inline(always)]
    pub(super) fn locate(&self, key: &[u8]) -> LeafGuess {
        let table = self.engine.meta.table();
        let mut prefixes = PrefixHasher::empty(table.hash);
        prefixes.set(table.hash, key);
        let bounds = self.longest_prefix(table, &prefixes, false);
        let tag = self.tag(table, &prefixes);
        match self.leaf_after(key, &bounds) {
            Some(leaf) => LeafGuess { leaf, tag },
            None => LeafGuess { leaf: self.locate_exactly(key), tag },
        }
    }

    /// Returns the leaf for a key. It is exact unless a writer is changing the trie.
    #[cold]
    pub(super) fn locate_exactly(&self, key: &[u8]) -> WormholeLeaf {
        let table = self.engine.meta.table();
        let mut prefixes = PrefixHasher::empty(table.hash);
        prefixes.set(table.hash, key);
        let bounds = self.longest_prefix(table, &prefixes, true);
        self.leaf_after(key, &bounds).unwrap_or(self.engine.first)
    }

    /// Returns the last leaf. It may have split just now.
    pub(super) fn last_leaf(&self) -> WormholeLeaf {
        let mut leaf = match self.engine.meta.root() {
            MetaTrieNode::Leaf(leaf) => leaf,
            MetaTrieNode::Item(item) => item.sample().unwrap_or(self.engine.first),
        };
        loop {
            // During a merge the left leaf still leads to the deleted one, which leads back to the
            // left one. This loop repeats until the merge is complete.
            let deleted = leaf.stable::<V>().is_deleted();
            match if deleted { leaf.prev() } else { leaf.next() } {
                Some(neighbour) => leaf = neighbour,
                None => return leaf,
            }
        }
    }

    /// Looks for a key in a leaf, by the tag that this leaf requires.
    #[inline]
    pub(super) fn find_in(&self, leaf: WormholeLeaf, key: &[u8], tag: u16) -> LeafSearch {
        let tag = if leaf.is_keyed() { self.keyed_tag(key) } else { tag };
        leaf.find::<V>(key, tag)
    }

    /// Returns the key's tag in keyed leaves.
    #[cold]
    pub(super) fn keyed_tag(&self, key: &[u8]) -> u16 {
        (self.engine.keyed.of(key) >> 48) as u16
    }

    /// Returns the word of `key`'s value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        if key.len() > MAX_KEY_LEN {
            return None;
        }
        let target = self.locate(key);
        target.leaf.prefetch(target.tag);
        self.finish(key, target)
    }

    /// Returns the word of `key`'s value, with a guess at its leaf. A key that is found needs no
    /// look at the leaf's header.
    #[inline(always)]
    pub(super) fn finish(&self, key: &[u8], target: LeafGuess) -> Option<u64> {
        match target.leaf.find::<V>(key, target.tag).held {
            Some(held) => Some(Self::word(target.leaf, held.slot, held.record)),
            None => self.confirm(key, target),
        }
    }

    /// Completes a lookup that found nothing in the guessed leaf, which may not be the right leaf.
    #[inline(never)]
    fn confirm(&self, key: &[u8], target: LeafGuess) -> Option<u64> {
        let mut walk = GuessWalk::new(target.leaf);
        loop {
            let leaf = walk.leaf;
            let version = leaf.stable::<V>();
            if version.is_deleted() {
                walk.leave(self, key);
                continue;
            }
            if let Some(held) = self.find_in(leaf, key, target.tag).held {
                return Some(Self::word(leaf, held.slot, held.record));
            }
            let side = leaf.side_of(key);
            if leaf.changed::<V>(version) {
                continue;
            }
            if matches!(side, LeafSide::Inside) {
                return None;
            }
            walk.turn(self, key, side);
        }
    }
}

/// The walk from a guessed leaf to the right one.
#[derive(Debug)]
pub(super) struct GuessWalk {
    pub(super) leaf: WormholeLeaf,
    steps: usize,
}

impl GuessWalk {
    pub(super) fn new(leaf: WormholeLeaf) -> Self {
        Self { leaf, steps: 0 }
    }

    /// Moves on from a leaf whose range does not include the key.
    pub(super) fn turn<S: Slot, V: WormholeSettings>(
        &mut self,
        index: &WormholeVariant<S, V>,
        key: &[u8],
        side: LeafSide,
    ) {
        self.steps += 1;
        self.leaf = match side {
            LeafSide::Right(next) if !self.steps.is_multiple_of(STEPS_MAX) => next,
            _ => index.locate_exactly(key),
        };
    }

    /// Moves on from a deleted leaf. Its keys are in a leaf to the left.
    pub(super) fn leave<S: Slot, V: WormholeSettings>(&mut self, index: &WormholeVariant<S, V>, key: &[u8]) {
        self.steps += 1;
        self.leaf = match self.leaf.prev() {
            Some(prev) if !self.steps.is_multiple_of(STEPS_MAX) => prev,
            _ => index.locate_exactly(key),
        };
    }
}
