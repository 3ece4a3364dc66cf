//! Searches: from the prefixes of a key to the node that answers.
//!
//! ```text
//!   lookup    prefetch the levels that matter, all at once ─► find the deepest node ─► it is the
//!             leaf, or proves that the key is absent, or names the next level to look at
//!   descend   prefetch the same ─► read node by node from the top: for writes and cursors
//! ```
//!
//! # Why one node is enough evidence
//! 1. A node in the table is part of the trie. All keys that begin with its name are below it and
//!    share as many symbols as it is deep. So three kinds of nodes prove that a key is absent: a
//!    leaf of another key, an inner node deeper than the symbols it shares with the key, and an
//!    inner node without a child for the key's next symbol. This holds whatever other writers do. A
//!    zero in the flat bitmap proves the same.
//! 2. A node that was not found proves nothing. It may have moved from a bucket that the reader had
//!    not read yet to one that it had already read.
//! 3. If a found node contradicts a node that was not found, the index has changed meanwhile. Then
//!    the search begins anew.

use arrayvec::ArrayVec;
use skein_sync::spin::Backoff;

use super::MlpIndexVariant;
use super::key::{BYTES, ShortKey};
use super::levels::{ALL, BATCH_SHIFT, deepest_first};
use super::name::{HEADER, LEVEL_MIN, MlpBucketPair, NameHashSeeds, rotated, rotated_back};
use super::node::{MlpNode, MlpNodeBody, MlpNodeKind, RawNode, has_child, length_in};
use super::table::FoundInBucket;
use super::top_bitmap::start_of;
use super::variant::MlpSettings;
use crate::buckets::LinearHashSize;
use crate::slot::Slot;

/// The nodes found are inconclusive: the index has changed meanwhile, or the search must look at
/// more levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inconclusive;

/// One node's answer about a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum NodeAnswer {
    Value(u64),
    Absent,
    /// There may be a node at this level.
    Deeper(u32),
}

/// Prefetched levels, the deepest first, with the buckets of the key's names.
pub(super) type PrefetchedLevels = ArrayVec<(u32, MlpBucketPair), 7>;

/// A node as it was found, with its bucket and version.
pub(super) type FoundRawNode = FoundInBucket<RawNode>;

impl FoundRawNode {
    #[inline]
    pub(super) fn node(&self, seeds: &NameHashSeeds) -> MlpNode {
        MlpNode::read(&self.what, self.bucket, seeds)
    }
}

#[derive(Debug, Default)]
pub(super) struct MlpPath {
    /// The inner nodes on the path, from the top. The key shares the symbols of each of them and
    /// continues with one of its children.
    pub(super) above: ArrayVec<FoundRawNode, 6>,
    /// The last node: a leaf, or an inner node where the key diverges. `None` if no key begins with
    /// the same three symbols.
    pub(super) stop: Option<FoundRawNode>,
}

impl<S: Slot, V: MlpSettings> MlpIndexVariant<S, V> {
    /// Returns the levels that a lookup prefetches.
    #[inline(always)]
    pub(super) fn levels(&self) -> u32 {
        self.levels_from(0)
    }

    /// Returns the levels that a lookup in a batch prefetches.
    #[inline(always)]
    pub(super) fn batch_levels(&self) -> u32 {
        self.levels_from(BATCH_SHIFT)
    }

    #[inline(always)]
    fn levels_from(&self, bit: u32) -> u32 {
        // Relaxed: a hint, which orders nothing.
        let learned = self.engine.table.levels.load(skein_sync::atomic::Ordering::Relaxed) >> bit;
        ALL & if V::ALL_LEVELS { ALL } else { learned }
    }

    /// Prefetches the buckets of the key's names at some levels.
    #[inline(always)]
    pub(super) fn prefetch_levels(
        &self,
        key: ShortKey,
        levels: u32,
        size: LinearHashSize,
    ) -> PrefetchedLevels {
        let mut prefetched = PrefetchedLevels::new();
        for level in deepest_first(levels) {
            let pair = self.engine.table.pair(key, level, size);
            if V::PREFETCH {
                self.engine.table.prefetch(pair);
            }
            prefetched.push((level, pair));
        }
        if V::PREFETCH {
            self.engine.top.prefetch(start_of(key.bits));
        }
        prefetched
    }

    /// Returns the word of a key's value.
    #[inline(always)]
    pub(super) fn lookup(&self, key: &[u8]) -> Option<u64> {
        let key = ShortKey::of(key)?;
        let levels = self.levels();
        match self.answer(key, levels, &self.prefetch_levels(key, levels, self.engine.table.size())) {
            Ok(answer) => answer,
            Err(Inconclusive) => self.lookup_again(key),
        }
    }

    /// Looks again at all levels, because the levels that matter were not enough or a node has
    /// changed.
    #[cold]
    #[inline(never)]
    pub(super) fn lookup_again(&self, key: ShortKey) -> Option<u64> {
        let mut backoff = Backoff::new();
        loop {
            if let Ok(answer) =
                self.answer(key, ALL, &self.prefetch_levels(key, ALL, self.engine.table.size()))
            {
                return answer;
            }
            backoff.wait();
        }
    }

    /// Returns the answer of the nodes at some levels.
    #[inline(always)]
    pub(super) fn answer(
        &self,
        key: ShortKey,
        levels: u32,
        prefetched: &PrefetchedLevels,
    ) -> Result<Option<u64>, Inconclusive> {
        for &(level, pair) in prefetched {
            if let Some(answer) = self.node_answer(key, level, pair) {
                return self.follow(key, levels, answer);
            }
        }
        if levels & 1 << LEVEL_MIN != 0 && !self.engine.top.has(start_of(key.bits)) {
            Ok(None)
        } else {
            Err(Inconclusive)
        }
    }

    /// Continues from the answer of the deepest node found.
    #[inline(always)]
    fn follow(
        &self,
        key: ShortKey,
        levels: u32,
        mut answer: NodeAnswer,
    ) -> Result<Option<u64>, Inconclusive> {
        loop {
            match answer {
                NodeAnswer::Value(value) => return Ok(Some(value)),
                NodeAnswer::Absent => return Ok(None),
                NodeAnswer::Deeper(level) if levels & 1 << level != 0 => return Err(Inconclusive),
                NodeAnswer::Deeper(level) => answer = self.look(key, level)?,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&self, key: ShortKey, level: u32) -> Result<NodeAnswer, Inconclusive> {
        let pair = self.engine.table.pair(key, level, self.engine.table.size());
        self.node_answer(key, level, pair).ok_or(Inconclusive)
    }

    /// Returns a node's answer about a key, if the node is found.
    #[inline(always)]
    pub(super) fn node_answer(&self, key: ShortKey, level: u32, pair: MlpBucketPair) -> Option<NodeAnswer> {
        let found =
            self.engine.table.find(key, level, pair, |view| answer_of(key, level, |word| view.word(word)));
        found.map(|found| found.what)
    }

    /// Follows a key from the top to the end of its path.
    pub(super) fn descend(&self, key: ShortKey, path: &mut MlpPath) -> Result<(), Inconclusive> {
        let size = self.engine.table.size();
        // The levels above the deepest one that matters are on the path, even if few nodes have
        // them.
        let prefetched = self.prefetch_levels(key, ALL & u32::MAX >> self.levels().leading_zeros(), size);
        path.above.clear();
        path.stop = None;
        let mut level = LEVEL_MIN;
        loop {
            let known = prefetched.iter().find(|(other, _)| *other == level);
            let pair = known.map_or_else(|| self.engine.table.pair(key, level, size), |(_, pair)| *pair);
            let Some(seen) = self.engine.table.node(key, level, pair) else {
                // At the least level, a missing node means that no key begins so, which the bitmap
                // must confirm. Further down, the parent has just proved that there is a node.
                let is_empty = level == LEVEL_MIN && !self.engine.top.has(start_of(key.bits));
                return if is_empty { Ok(()) } else { Err(Inconclusive) };
            };
            let NodeAnswer::Deeper(next) = answer_of(key, level, |word| seen.what.0[word]) else {
                path.stop = Some(seen);
                return Ok(());
            };
            path.above.push(seen);
            level = next;
        }
    }

    /// Returns the child of an inner node for a symbol that it has.
    pub(super) fn child(&self, parent: &MlpNode, symbol: u8) -> Result<FoundRawNode, Inconclusive> {
        let (key, level) = child_name(parent, symbol).ok_or(Inconclusive)?;
        self.node(key, level)
    }

    /// Returns the node with the key's name of this level. Fails if it is not found, which means
    /// that the index has changed.
    #[inline(always)]
    pub(super) fn node(&self, key: ShortKey, level: u32) -> Result<FoundRawNode, Inconclusive> {
        self.engine
            .table
            .node(key, level, self.engine.table.pair(key, level, self.engine.table.size()))
            .ok_or(Inconclusive)
    }
}

/// Returns a key and a level that name the child of an inner node for a symbol, or `None` for a
/// leaf.
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

/// Returns the answer of a node about a key that begins with the node's name. `word` must return
/// the words of the node.
#[inline(always)]
pub(super) fn answer_of(key: ShortKey, level: u32, word: impl Fn(usize) -> u64) -> NodeAnswer {
    let head = word(0);
    let kind = MlpNodeKind::of(head);
    // The names are equal, including the bits in the place of the header.
    let differing = (head ^ rotated(key.bits, level)) & !HEADER;
    if kind == MlpNodeKind::Leaf {
        let same = differing == 0 && length_in(head) == u32::from(key.len);
        return if same { NodeAnswer::Value(word(1)) } else { NodeAnswer::Absent };
    }
    let depth = length_in(head);
    if rotated_back(differing, level).leading_zeros() < 8 * depth {
        return NodeAnswer::Absent;
    }
    let has = has_child(kind, key.symbol(depth), word);
    if has { NodeAnswer::Deeper(depth + 1) } else { NodeAnswer::Absent }
}
