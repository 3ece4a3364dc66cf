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
use super::leaf::{Leaf, Side};
use super::search::Search;
use super::table::{Node, Table};
use super::variant::{WITHOUT_INCREMENTAL_HASH, WITHOUT_TAGS, has, probes};
use crate::hash::State;
use crate::index::MAX_KEY_LEN;
use crate::slot::Slot;

/// Steps to the right before the search asks the trie again.
const STEPS_MAX: usize = 4;

/// A guess at the leaf for a key, and the key's tag there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) leaf: Leaf,
    pub(super) tag: u16,
}

/// What is known of the longest prefix: it has at least `len` bytes and less than `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Longest {
    pub(super) len: usize,
    pub(super) end: usize,
    pub(super) state: State,
    pub(super) node: Node,
}

impl<S: Slot, const W: usize> Wormhole<S, W> {
    /// What is known at first.
    #[inline(always)]
    pub(super) fn begin(&self, table: &Table, key: &[u8]) -> Longest {
        let end = key.len().min(table.longest()) + 1;
        Longest { len: 0, end, state: table.hash.start(), node: self.meta.root() }
    }

    /// The state of a longer prefix.
    #[inline(always)]
    pub(super) fn state(table: &Table, key: &[u8], from: (usize, State), len: usize) -> State {
        if has(W, WITHOUT_INCREMENTAL_HASH) {
            table.hash.extend(table.hash.start(), &key[..len])
        } else {
            table.hash.extend(from.1, &key[from.0..len])
        }
    }

    /// The node of a prefix, by tag alone unless `exact`.
    #[inline(always)]
    pub(super) fn probe(table: &Table, state: State, prefix: &[u8], exact: bool) -> Option<Node> {
        let compare = exact || has(W, WITHOUT_TAGS);
        table.find(state, |node| !compare || node.stands_for(prefix)).map(|place| place.node)
    }

    /// The longest prefix in the table.
    #[inline(always)]
    fn longest_prefix(&self, table: &Table, key: &[u8], exact: bool) -> Longest {
        let mut known = self.begin(table, key);
        while known.len + 1 < known.end && matches!(known.node, Node::Item(_)) {
            match probes(W) {
                4 => Self::narrow::<4>(table, key, exact, &mut known),
                2 => Self::narrow::<2>(table, key, exact, &mut known),
                _ => Self::narrow::<1>(table, key, exact, &mut known),
            }
        }
        known
    }

    /// Probes `N` prefixes at once, evenly apart.
    #[inline(always)]
    fn narrow<const N: usize>(table: &Table, key: &[u8], exact: bool, known: &mut Longest) {
        let gap = known.end - known.len;
        let mut probed = [(known.len, known.state); N];
        let mut last = (known.len, known.state);
        for (index, probe) in probed.iter_mut().enumerate() {
            let len = known.len + (gap * (index + 1) / (N + 1)).max(1);
            last = (len, Self::state(table, key, last, len));
            *probe = last;
            if N > 1 {
                table.prefetch(last.1);
            }
        }
        for (len, state) in probed.into_iter().rev() {
            match Self::probe(table, state, &key[..len], exact) {
                Some(node) => {
                    (known.len, known.state, known.node) = (len, state, node);
                    return;
                }
                None => known.end = len,
            }
        }
    }

    /// The leaf that a longest prefix leads to; none if the trie has changed or a tag was wrong.
    #[inline(always)]
    pub(super) fn leaf_after(&self, key: &[u8], known: &Longest) -> Option<Leaf> {
        match known.node {
            Node::Leaf(leaf) => Some(leaf),
            Node::Item(item) if item.len() == known.len => {
                Some(item.target(key.get(known.len).copied()).unwrap_or(self.first))
            }
            Node::Item(_) => None,
        }
    }

    /// The key's tag in leaves that are not keyed.
    #[inline(always)]
    pub(super) fn tag(&self, table: &Table, key: &[u8], known: &Longest) -> u16 {
        let state = if table.hash.is_keyed() {
            self.plain.extend(self.plain.start(), key)
        } else {
            Self::state(table, key, (known.len, known.state), key.len())
        };
        (state.mix() >> 48) as u16
    }

    /// A guess at the leaf for a key, which is not too long.
    #[inline(always)]
    pub(super) fn locate(&self, key: &[u8]) -> Target {
        let table = self.meta.table();
        let known = self.longest_prefix(table, key, false);
        let tag = self.tag(table, key, &known);
        match self.leaf_after(key, &known) {
            Some(leaf) => Target { leaf, tag },
            None => Target { leaf: self.locate_exactly(key), tag },
        }
    }

    /// The leaf for a key; a guess only while writers change the trie.
    #[cold]
    pub(super) fn locate_exactly(&self, key: &[u8]) -> Leaf {
        let table = self.meta.table();
        let known = self.longest_prefix(table, key, true);
        self.leaf_after(key, &known).unwrap_or(self.first)
    }

    /// The last leaf, or one on the way to it: it may have split just now.
    pub(super) fn last_leaf(&self) -> Leaf {
        let mut leaf = match self.meta.root() {
            Node::Leaf(leaf) => leaf,
            Node::Item(item) => item.sample().unwrap_or(self.first),
        };
        loop {
            let deleted = leaf.is_deleted::<W>();
            match if deleted { leaf.prev() } else { leaf.next() } {
                Some(neighbour) => leaf = neighbour,
                None => return leaf,
            }
        }
    }

    /// Looks for a key in a leaf by the tag that the leaf wants.
    #[inline]
    pub(super) fn find_in(&self, leaf: Leaf, key: &[u8], tag: u16) -> Search {
        let tag = if leaf.is_keyed() { self.keyed_tag(key) } else { tag };
        leaf.find::<W>(key, tag)
    }

    /// The key's tag in keyed leaves.
    #[cold]
    pub(super) fn keyed_tag(&self, key: &[u8]) -> u16 {
        (self.keyed.extend(self.keyed.start(), key).mix() >> 48) as u16
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

    /// The word of `key`'s value, with a guess at its leaf.
    #[inline(always)]
    pub(super) fn finish(&self, key: &[u8], target: Target) -> Option<u64> {
        let Target { leaf, tag } = target;
        let version = leaf.peek::<W>();
        if let Some(held) = leaf.find::<W>(key, tag).held {
            return Some(held.record.value());
        }
        let sure = version.is_stable()
            && !version.is_deleted()
            && !leaf.is_keyed()
            && matches!(leaf.side_of(key), Side::Inside)
            && !leaf.changed::<W>(version);
        if sure { None } else { self.confirm(key, target) }
    }

    /// After a lookup that found nothing in the leaf it guessed, which may not have been the leaf.
    #[cold]
    fn confirm(&self, key: &[u8], target: Target) -> Option<u64> {
        let mut walk = Walk::new(target.leaf);
        loop {
            let leaf = walk.leaf;
            let version = leaf.stable::<W>();
            if version.is_deleted() {
                walk.leave(self, key);
                continue;
            }
            if let Some(held) = self.find_in(leaf, key, target.tag).held {
                return Some(held.record.value());
            }
            let side = leaf.side_of(key);
            if leaf.changed::<W>(version) {
                continue;
            }
            if matches!(side, Side::Inside) {
                return None;
            }
            walk.turn(self, key, side);
        }
    }
}

/// The way from a guessed leaf to the right one.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) leaf: Leaf,
    steps: usize,
}

impl Walk {
    pub(super) fn new(leaf: Leaf) -> Self {
        Self { leaf, steps: 0 }
    }

    /// Goes on from a leaf that the key is not in.
    pub(super) fn turn<S: Slot, const W: usize>(&mut self, index: &Wormhole<S, W>, key: &[u8], side: Side) {
        self.steps += 1;
        self.leaf = match side {
            Side::Right(next) if !self.steps.is_multiple_of(STEPS_MAX) => next,
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
