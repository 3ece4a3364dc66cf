//! Nodes, and their layout in the slots of a bucket.
//!
//! ```text
//!   slot, 16 bytes   │ key, rotated (`name.rs`) │ header 11 │ 8 bytes ...                      │
//!   header           │ leaf: length; inner: depth 4 │ secondary │ kind 2 │ level 4 │
//!
//!   leaf     1 slot    the key; the 8 bytes are the value
//!   small    1 slot    the least key below; the 8 bytes are up to 8 children, in order,
//!                      the last one repeated
//!   medium   2 slots   9 to 16 children: the 8 bytes of both
//!   large    3 slots   a bit for each symbol: the 8 bytes of all three, and 32 bits in the first
//!                      word of the second and of the third
//!   further slots      have the level MORE, which no node has
//! ```
//!
//! The level of a node is the length of its name: one more than its parent's depth. The depth of an
//! inner node is the number of symbols that all keys below it share. The symbols beyond its name
//! are the path compression (section 4.3, figure 8).
//!
//! A leaf or a small node takes one slot. An inner node has two or more children, except where a
//! removal had no room to merge it (`remove.rs`). So a key takes at most two slots, 32 bytes, with
//! its value.

use arrayvec::ArrayVec;

use super::children::ChildSet;
use super::key::ShortKey;
use super::name::{HEADER, LENGTH_SHIFT, LEVEL, NameHashSeeds, SECONDARY, bits_of, rotated};

/// The level of slots that continue the slot before.
pub(super) const MORE: u64 = 0xf;
const KIND_SHIFT: u32 = 4;

/// The most children of a small and of a medium node.
const SMALL: usize = 8;
const MEDIUM: usize = 16;

pub(super) const WORDS_MAX: usize = 6;

/// The words of a node, in the form in which a bucket stores them.
pub(super) type MlpNodeWords = ArrayVec<u64, WORDS_MAX>;

/// The words of a node as read from its bucket, followed by arbitrary words.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawNode(pub(super) [u64; WORDS_MAX]);

impl RawNode {
    #[inline(always)]
    pub(super) fn head(&self) -> u64 {
        self.0[0]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MlpNodeKind {
    Leaf,
    Small,
    Medium,
    Large,
}

impl MlpNodeKind {
    #[inline(always)]
    pub(super) fn of(head: u64) -> Self {
        match head >> KIND_SHIFT & 3 {
            0 => Self::Leaf,
            1 => Self::Small,
            2 => Self::Medium,
            _ => Self::Large,
        }
    }

    fn for_children(count: usize) -> Self {
        if count <= SMALL {
            Self::Small
        } else if count <= MEDIUM {
            Self::Medium
        } else {
            Self::Large
        }
    }

    #[inline(always)]
    pub(super) fn slots(self) -> usize {
        match self {
            Self::Leaf | Self::Small => 1,
            Self::Medium => 2,
            Self::Large => 3,
        }
    }
}

/// Returns the level in the first word of a slot: 0 if the slot is free, [`MORE`] if it continues
/// the slot before.
#[inline(always)]
pub(super) fn level_in(head: u64) -> u32 {
    (head & LEVEL) as u32
}

/// Returns the length of a leaf's key, or the depth of an inner node.
#[inline(always)]
pub(super) fn length_in(head: u64) -> u32 {
    (head >> LENGTH_SHIFT & 0xf) as u32
}

/// Returns whether an inner node has a child for a symbol. `word` must return the words of the
/// node.
#[inline(always)]
pub(super) fn has_child(kind: MlpNodeKind, symbol: u8, word: impl Fn(usize) -> u64) -> bool {
    match kind {
        MlpNodeKind::Leaf => false,
        MlpNodeKind::Small => has_byte(word(1), symbol),
        MlpNodeKind::Medium => has_byte(word(1), symbol) | has_byte(word(3), symbol),
        MlpNodeKind::Large => bitmap(word).contains(symbol),
    }
}

#[inline(always)]
fn has_byte(list: u64, byte: u8) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    let differing = list ^ (ONES * u64::from(byte));
    // The least zero byte, if there is one, borrows from its own highest bit.
    differing.wrapping_sub(ONES) & !differing & (ONES << 7) != 0
}

/// Returns the children of a large node.
#[inline(always)]
fn bitmap(word: impl Fn(usize) -> u64) -> ChildSet {
    ChildSet([word(1), word(3), word(5), word(2) >> 32 | word(4) & !(u64::MAX >> 32)])
}

/// A decoded node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MlpNode {
    pub(super) level: u32,
    /// The key of a leaf, or the least key below an inner node.
    pub(super) bits: u64,
    pub(super) body: MlpNodeBody,
}

/// The data of a node besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MlpNodeBody {
    Leaf { len: u8, value: u64 },
    Inner { depth: u32, children: ChildSet },
}

impl MlpNode {
    pub(super) fn leaf(key: ShortKey, level: u32, value: u64) -> Self {
        Self { level, bits: key.bits, body: MlpNodeBody::Leaf { len: key.len, value } }
    }

    /// Decodes the node that a bucket stores as `raw`.
    #[inline(always)]
    pub(super) fn read(raw: &RawNode, bucket: u32, seeds: &NameHashSeeds) -> Self {
        let (head, word) = (raw.head(), |word: usize| raw.0[word]);
        let kind = MlpNodeKind::of(head);
        let length = length_in(head);
        let body = match kind {
            MlpNodeKind::Leaf => MlpNodeBody::Leaf { len: length as u8, value: word(1) },
            MlpNodeKind::Small => {
                MlpNodeBody::Inner { depth: length, children: ChildSet::of(word(1).to_le_bytes()) }
            }
            MlpNodeKind::Medium => {
                let symbols = [word(1), word(3)].map(u64::to_le_bytes);
                MlpNodeBody::Inner { depth: length, children: ChildSet::of(symbols.into_iter().flatten()) }
            }
            MlpNodeKind::Large => MlpNodeBody::Inner { depth: length, children: bitmap(word) },
        };
        Self { level: level_in(head), bits: bits_of(head, bucket, seeds), body }
    }

    /// Returns a key with the node's name. A leaf returns its own key. An inner node returns a key
    /// with a length that does not count.
    pub(super) fn key(&self) -> ShortKey {
        let len = match self.body {
            MlpNodeBody::Leaf { len, .. } => len,
            MlpNodeBody::Inner { .. } => 0,
        };
        ShortKey { bits: self.bits, len }
    }

    pub(super) fn is_single(&self) -> bool {
        matches!(self.body, MlpNodeBody::Inner { children, .. } if children.len() == 1)
    }

    pub(super) fn slots(&self) -> usize {
        self.kind().slots()
    }

    fn kind(&self) -> MlpNodeKind {
        match self.body {
            MlpNodeBody::Leaf { .. } => MlpNodeKind::Leaf,
            MlpNodeBody::Inner { children, .. } => MlpNodeKind::for_children(children.len()),
        }
    }

    /// Encodes the node for its primary or its secondary bucket.
    pub(super) fn words(&self, secondary: bool) -> MlpNodeWords {
        let kind = self.kind();
        let length = match self.body {
            MlpNodeBody::Leaf { len, .. } => len.into(),
            MlpNodeBody::Inner { depth, .. } => u64::from(depth),
        };
        let header = u64::from(self.level) | (kind as u64) << KIND_SHIFT | length << LENGTH_SHIFT;
        let head = rotated(self.bits, self.level) & !HEADER | header | if secondary { SECONDARY } else { 0 };
        let mut words = MlpNodeWords::new();
        words.push(head);
        match self.body {
            MlpNodeBody::Leaf { value, .. } => words.push(value),
            MlpNodeBody::Inner { children, .. } if kind == MlpNodeKind::Large => {
                let ChildSet([first, second, third, fourth]) = children;
                let halves = [fourth << 32, fourth & !(u64::MAX >> 32)];
                words.extend([first, halves[0] | MORE, second, halves[1] | MORE, third]);
            }
            MlpNodeBody::Inner { children, .. } => {
                let mut list = [children.last().unwrap_or_default(); MEDIUM];
                list.iter_mut().zip(children.iter()).for_each(|(place, symbol)| *place = symbol);
                let (lists, _) = list.as_chunks::<SMALL>();
                words.push(u64::from_le_bytes(lists[0]));
                if kind == MlpNodeKind::Medium {
                    words.extend([MORE, u64::from_le_bytes(lists[1])]);
                }
            }
        }
        words
    }
}

/// Returns the first word of a node after a move to its other bucket.
pub(super) fn moved(head: u64) -> u64 {
    head ^ SECONDARY
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::super::name::{MlpBucketPair, places};
    use super::*;
    use crate::buckets::LinearHashSize;

    #[test]
    fn every_kind_of_node_survives_encoding() {
        let seeds = NameHashSeeds { stem: 77, factor: 0x9e37_79b9_7f4a_7c15, mask: u64::MAX };
        let key = ShortKey { bits: 0x0123_4567_89ab_cdef, len: 8 };
        for level in 3..=8 {
            let pair = MlpBucketPair::of(places(key, level, &seeds), LinearHashSize::of(5000));
            for count in (1..=256_usize).chain([0]) {
                let children = ChildSet::of((0..count).map(|number| (number * 151) as u8));
                let body = MlpNodeBody::Inner { depth: 8, children };
                let leaf = MlpNodeBody::Leaf { len: 7, value: 1 << 63 | 5 };
                let node = MlpNode { level, bits: key.bits, body: if count == 0 { leaf } else { body } };
                for (secondary, bucket) in [(false, pair.primary), (true, pair.secondary)] {
                    let words = node.words(secondary);
                    assert_eq!(words.len(), 2 * node.slots());
                    let raw =
                        RawNode(std::array::from_fn(|word| words.get(word).copied().unwrap_or(word as u64)));
                    assert_eq!(MlpNode::read(&raw, bucket, &seeds), node);
                    for symbol in 0..=255 {
                        let has = has_child(MlpNodeKind::of(words[0]), symbol, |word| words[word]);
                        assert_eq!(has, count > 0 && children.contains(symbol), "{count} {symbol}");
                    }
                    assert!(words.iter().skip(2).step_by(2).all(|&more| level_in(more) == MORE as u32));
                }
            }
        }
    }
}
