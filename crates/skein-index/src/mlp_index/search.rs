//! Searches: from the prefixes of a key to the node that says what there is.
//!
//! ```text
//!   lookup    asks for the levels that matter, all at once ─► the deepest node there is ─► it is the leaf, or says that there is none, or where to look
//!   descend   asks for the same ─► node by node from the top, each with its children: for writes and cursors
//! ```
//!
//! # Why one node is evidence enough
//! 1. A node in the table is in the trie: all keys that begin with its name are below it, and share what it is deep. So a leaf of another key, an inner
//!    node that is deeper than what the key shares with it, or one without a child by the key's next symbol, says that the key is not there, whatever
//!    is going on elsewhere; and so does the flat bitmap.
//! 2. That a node was not found says nothing: it may have been moved from a bucket not yet read to one already read.
//! 3. What was found contradicts what was not found only if the index has changed meanwhile. Then the search begins anew.

use arrayvec::ArrayVec;
use skein_sync::spin::Backoff;

use super::MlpIndex;
use super::key::{BYTES, ShortKey};
use super::levels::{ALL, BATCH_SHIFT, deepest_first};
use super::name::{HEADER, LEVEL_MIN, MlpBucketPair, NameHashSeeds, turned, turned_back};
use super::node::{MlpNode, MlpNodeBody, MlpNodeKind, RawNode, has_child, length_in};
use super::table::FoundInBucket;
use super::top_bitmap::start_of;
use super::variant::{ALL_LEVELS, WITHOUT_PREFETCH, has};
use crate::linear_hashing::LinearHashSize;
use crate::slot::Slot;

/// What was found does not go together: the index has changed meanwhile, or more levels have to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inconclusive;

/// What a node says of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum NodeAnswer {
    Value(u64),
    Absent,
    /// There may be a node of this level.
    Deeper(u32),
}

/// Some levels, with the buckets of a key's names, the deepest one first.
pub(super) type PrefetchedLevels = ArrayVec<(u32, MlpBucketPair), 7>;

/// A node as it was found, with its bucket and version.
pub(super) type FoundRawNode = FoundInBucket<RawNode>;

impl FoundRawNode {
    /// The node, taken apart.
    #[inline]
    pub(super) fn node(&self, seeds: &NameHashSeeds) -> MlpNode {
        MlpNode::read(&self.what, self.bucket, seeds)
    }
}

/// Where a key leads.
#[derive(Debug, Default)]
pub(super) struct MlpPath {
    /// The inner nodes on the way, from the top, all of which the key shares to their depth and has a child of.
    pub(super) above: ArrayVec<FoundRawNode, 6>,
    /// The node that ends it: a leaf, or an inner one that the key parts from or has no child of. None if no key begins with the same three symbols.
    pub(super) stop: Option<FoundRawNode>,
}

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// The levels to be asked for at once by a lookup.
    #[inline(always)]
    pub(super) fn levels(&self) -> u32 {
        self.levels_from(0)
    }

    /// Those to be asked for by a lookup of a batch.
    #[inline(always)]
    pub(super) fn batch_levels(&self) -> u32 {
        self.levels_from(BATCH_SHIFT)
    }

    #[inline(always)]
    fn levels_from(&self, bit: u32) -> u32 {
        // Relaxed: advice, that orders nothing.
        let learned = self.table.levels.load(skein_sync::atomic::Ordering::Relaxed) >> bit;
        ALL & if has(V, ALL_LEVELS) { ALL } else { learned }
    }

    /// Asks for the buckets of a key's names of some levels.
    #[inline(always)]
    pub(super) fn ask(&self, key: ShortKey, levels: u32, size: LinearHashSize) -> PrefetchedLevels {
        let mut asked = PrefetchedLevels::new();
        for level in deepest_first(levels) {
            let pair = self.table.pair(key, level, size);
            if !has(V, WITHOUT_PREFETCH) {
                self.table.prefetch(pair);
            }
            asked.push((level, pair));
        }
        if !has(V, WITHOUT_PREFETCH) {
            self.top.prefetch(start_of(key.bits));
        }
        asked
    }

    /// The word of a key's value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        let key = ShortKey::of(key)?;
        let levels = self.levels();
        match self.answer(key, levels, &self.ask(key, levels, self.table.size())) {
            Ok(answer) => answer,
            Err(Inconclusive) => self.lookup_again(key),
        }
    }

    /// The same, when the levels that matter were not enough, or something has changed.
    #[cold]
    #[inline(never)]
    pub(super) fn lookup_again(&self, key: ShortKey) -> Option<u64> {
        let mut backoff = Backoff::new();
        loop {
            if let Ok(answer) = self.answer(key, ALL, &self.ask(key, ALL, self.table.size())) {
                return answer;
            }
            backoff.wait();
        }
    }

    /// What the nodes of some levels say of a key.
    #[inline(always)]
    pub(super) fn answer(
        &self,
        key: ShortKey,
        levels: u32,
        asked: &PrefetchedLevels,
    ) -> Result<Option<u64>, Inconclusive> {
        for &(level, pair) in asked {
            if let Some(said) = self.ask_node(key, level, pair) {
                return self.follow(key, levels, said);
            }
        }
        if levels & 1 << LEVEL_MIN != 0 && !self.top.has(start_of(key.bits)) {
            Ok(None)
        } else {
            Err(Inconclusive)
        }
    }

    /// Goes on from what a node says, the deepest one of the levels that were looked at.
    #[inline(always)]
    fn follow(&self, key: ShortKey, levels: u32, mut says: NodeAnswer) -> Result<Option<u64>, Inconclusive> {
        loop {
            match says {
                NodeAnswer::Value(value) => return Ok(Some(value)),
                NodeAnswer::Absent => return Ok(None),
                NodeAnswer::Deeper(level) if levels & 1 << level != 0 => return Err(Inconclusive),
                NodeAnswer::Deeper(level) => says = self.look(key, level)?,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&self, key: ShortKey, level: u32) -> Result<NodeAnswer, Inconclusive> {
        let pair = self.table.pair(key, level, self.table.size());
        self.ask_node(key, level, pair).ok_or(Inconclusive)
    }

    /// What a node says of a key, if it is there.
    #[inline(always)]
    pub(super) fn ask_node(&self, key: ShortKey, level: u32, pair: MlpBucketPair) -> Option<NodeAnswer> {
        let found = self.table.find(key, level, pair, |view| says(key, level, |word| view.word(word)));
        found.map(|found| found.what)
    }

    /// Goes along a key from the top.
    pub(super) fn descend(&self, key: ShortKey, path: &mut MlpPath) -> Result<(), Inconclusive> {
        let size = self.table.size();
        // Those above the deepest level that matters lie on the way, however few their nodes are.
        let asked = self.ask(key, ALL & u32::MAX >> self.levels().leading_zeros(), size);
        path.above.clear();
        path.stop = None;
        let mut level = LEVEL_MIN;
        loop {
            let known = asked.iter().find(|(other, _)| *other == level);
            let pair = known.map_or_else(|| self.table.pair(key, level, size), |(_, pair)| *pair);
            let Some(seen) = self.table.node(key, level, pair) else {
                // Without the node there must be no key; further down, its parent has just said that there is one.
                let is_empty = level == LEVEL_MIN && !self.top.has(start_of(key.bits));
                return if is_empty { Ok(()) } else { Err(Inconclusive) };
            };
            let NodeAnswer::Deeper(next) = says(key, level, |word| seen.what.0[word]) else {
                path.stop = Some(seen);
                return Ok(());
            };
            path.above.push(seen);
            level = next;
        }
    }

    /// The child of an inner node by a symbol that it has.
    pub(super) fn child(&self, parent: &MlpNode, symbol: u8) -> Result<FoundRawNode, Inconclusive> {
        let (key, level) = child_name(parent, symbol).ok_or(Inconclusive)?;
        self.node(key, level)
    }

    /// The node of a key's name of a level, which is there unless something has changed.
    #[inline(always)]
    pub(super) fn node(&self, key: ShortKey, level: u32) -> Result<FoundRawNode, Inconclusive> {
        self.table.node(key, level, self.table.pair(key, level, self.table.size())).ok_or(Inconclusive)
    }
}

/// A key and a level, whose name is that of the child of an inner node by a symbol; none if it is a leaf.
#[inline(always)]
pub(super) fn child_name(parent: &MlpNode, symbol: u8) -> Option<(ShortKey, u32)> {
    let MlpNodeBody::Inner { depth, .. } = parent.body else { return None };
    let key = if depth < BYTES {
        let shift = 56 - 8 * depth;
        ShortKey { bits: parent.bits & !(0xff << shift) | u64::from(symbol) << shift, len: 0 }
    } else {
        ShortKey { bits: parent.bits, len: symbol }
    };
    Some((key, depth + 1))
}

/// What a node of a level, whose name the key begins with, says of the key; `word` gives the node's words.
#[inline(always)]
pub(super) fn says(key: ShortKey, level: u32, word: impl Fn(usize) -> u64) -> NodeAnswer {
    let head = word(0);
    let kind = MlpNodeKind::of(head);
    // The name is the same, with the bits that stand where the header is.
    let differing = (head ^ turned(key.bits, level)) & !HEADER;
    if kind == MlpNodeKind::Leaf {
        let same = differing == 0 && length_in(head) == u32::from(key.len);
        return if same { NodeAnswer::Value(word(1)) } else { NodeAnswer::Absent };
    }
    let depth = length_in(head);
    if turned_back(differing, level).leading_zeros() < 8 * depth {
        return NodeAnswer::Absent;
    }
    let has = has_child(kind, key.symbol(depth), word);
    if has { NodeAnswer::Deeper(depth + 1) } else { NodeAnswer::Absent }
}
