//! Nodes, and how a bucket's slots hold them.
//!
//! ```text
//!   slot, 16 bytes   │ key, turned (name.rs) │ header 11 │ 8 bytes ...                        │
//!   header           │ leaf: length; inner: depth 4 │ secondary │ kind 2 │ level 4 │
//!
//!   leaf     1 slot    the key, and in the 8 bytes the value
//!   small    1 slot    the least key below; in the 8 bytes up to 8 children, in order, the last one repeated
//!   medium   2 slots   9 to 16 children: the 8 bytes of both
//!   large    3 slots   a bit for each symbol: the 8 bytes of all three, and 32 bits in the first word of the second and of the third
//!   further slots      have the level MORE, which no node has
//! ```
//!
//! The level of a node is the length of its name: its parent's depth and one more. The depth of an inner node is how many symbols all keys below it
//! share; what it has beyond its name is the path compression (section 4.3, figure 8). A leaf or a small node is
//! one slot, and an inner node has two children, or more, but for those that a removal had no room to take away (`remove.rs`): so a key takes at most
//! two slots, 32 bytes, with its value.

use arrayvec::ArrayVec;

use super::children::Children;
use super::key::Key;
use super::name::{HEADER, LENGTH_SHIFT, LEVEL, SECONDARY, Seeds, bits_of, turned};

/// The level of slots that go on from the one before.
pub(super) const MORE: u64 = 0xf;
const KIND_SHIFT: u32 = 4;

/// The most children of a small and of a medium node.
const SMALL: usize = 8;
const MEDIUM: usize = 16;

/// The most words of a node.
pub(super) const WORDS_MAX: usize = 6;

/// The words of a node, for a bucket.
pub(super) type Words = ArrayVec<u64, WORDS_MAX>;

/// A node as its bucket has it: its words, and then whatever comes after them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw(pub(super) [u64; WORDS_MAX]);

impl Raw {
    /// The first word.
    #[inline(always)]
    pub(super) fn head(&self) -> u64 {
        self.0[0]
    }
}

/// What kind of node a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Leaf,
    Small,
    Medium,
    Large,
}

impl Kind {
    /// The kind in the first word of a node.
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

    /// How many slots such nodes have.
    #[inline(always)]
    pub(super) fn slots(self) -> usize {
        match self {
            Self::Leaf | Self::Small => 1,
            Self::Medium => 2,
            Self::Large => 3,
        }
    }
}

/// The level in the first word of a slot: 0 if it is free, [`MORE`] if it belongs to the slot before.
#[inline(always)]
pub(super) fn level_in(head: u64) -> u32 {
    (head & LEVEL) as u32
}

/// The length of a leaf's key, or the depth of an inner node.
#[inline(always)]
pub(super) fn length_in(head: u64) -> u32 {
    (head >> LENGTH_SHIFT & 0xf) as u32
}

/// Whether an inner node with these words has a child by a symbol; `word` gives those after the first one.
#[inline(always)]
pub(super) fn has_child(kind: Kind, symbol: u8, word: impl Fn(usize) -> u64) -> bool {
    match kind {
        Kind::Leaf => false,
        Kind::Small => has_byte(word(1), symbol),
        Kind::Medium => has_byte(word(1), symbol) | has_byte(word(3), symbol),
        Kind::Large => bitmap(word).contains(symbol),
    }
}

#[inline(always)]
fn has_byte(list: u64, byte: u8) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    let differing = list ^ (ONES * u64::from(byte));
    // The least zero byte, if any, borrows from its own first bit.
    differing.wrapping_sub(ONES) & !differing & (ONES << 7) != 0
}

/// The children of a large node.
#[inline(always)]
fn bitmap(word: impl Fn(usize) -> u64) -> Children {
    Children([word(1), word(3), word(5), word(2) >> 32 | word(4) & !(u64::MAX >> 32)])
}

/// A node, taken out of its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) level: u32,
    /// The key of a leaf; the least one below an inner node.
    pub(super) bits: u64,
    pub(super) body: Body,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Leaf { len: u8, value: u64 },
    Inner { depth: u32, children: Children },
}

impl Node {
    /// A leaf for a key, of a level.
    pub(super) fn leaf(key: Key, level: u32, value: u64) -> Self {
        Self { level, bits: key.bits, body: Body::Leaf { len: key.len, value } }
    }

    /// The node that a bucket has so.
    #[inline(always)]
    pub(super) fn read(raw: &Raw, bucket: u32, seeds: &Seeds) -> Self {
        let (head, word) = (raw.head(), |word: usize| raw.0[word]);
        let kind = Kind::of(head);
        let length = length_in(head);
        let body = match kind {
            Kind::Leaf => Body::Leaf { len: length as u8, value: word(1) },
            Kind::Small => Body::Inner { depth: length, children: Children::of(word(1).to_le_bytes()) },
            Kind::Medium => {
                let symbols = [word(1), word(3)].map(u64::to_le_bytes);
                Body::Inner { depth: length, children: Children::of(symbols.into_iter().flatten()) }
            }
            Kind::Large => Body::Inner { depth: length, children: bitmap(word) },
        };
        Self { level: level_in(head), bits: bits_of(head, bucket, seeds), body }
    }

    /// A key with the node's name: its own, or, if it is an inner node, one whose length does not count.
    pub(super) fn key(&self) -> Key {
        let len = match self.body {
            Body::Leaf { len, .. } => len,
            Body::Inner { .. } => 0,
        };
        Key { bits: self.bits, len }
    }

    /// Whether it is an inner node of one child.
    pub(super) fn is_single(&self) -> bool {
        matches!(self.body, Body::Inner { children, .. } if children.len() == 1)
    }

    /// How many slots it takes.
    pub(super) fn slots(&self) -> usize {
        self.kind().slots()
    }

    fn kind(&self) -> Kind {
        match self.body {
            Body::Leaf { .. } => Kind::Leaf,
            Body::Inner { children, .. } => Kind::for_children(children.len()),
        }
    }

    /// The node's words, for its primary or its secondary bucket.
    pub(super) fn words(&self, secondary: bool) -> Words {
        let kind = self.kind();
        let length = match self.body {
            Body::Leaf { len, .. } => len.into(),
            Body::Inner { depth, .. } => u64::from(depth),
        };
        let header = u64::from(self.level) | (kind as u64) << KIND_SHIFT | length << LENGTH_SHIFT;
        let head = turned(self.bits, self.level) & !HEADER | header | if secondary { SECONDARY } else { 0 };
        let mut words = Words::new();
        words.push(head);
        match self.body {
            Body::Leaf { value, .. } => words.push(value),
            Body::Inner { children, .. } if kind == Kind::Large => {
                let Children([first, second, third, fourth]) = children;
                let halves = [fourth << 32, fourth & !(u64::MAX >> 32)];
                words.extend([first, halves[0] | MORE, second, halves[1] | MORE, third]);
            }
            Body::Inner { children, .. } => {
                let mut list = [children.last().unwrap_or_default(); MEDIUM];
                list.iter_mut().zip(children.iter()).for_each(|(place, symbol)| *place = symbol);
                let (lists, _) = list.as_chunks::<SMALL>();
                words.push(u64::from_le_bytes(lists[0]));
                if kind == Kind::Medium {
                    words.extend([MORE, u64::from_le_bytes(lists[1])]);
                }
            }
        }
        words
    }
}

/// The first word of a node, moved to its other bucket.
pub(super) fn moved(head: u64) -> u64 {
    head ^ SECONDARY
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::super::name::{Pair, places};
    use super::*;
    use crate::linear::Size;

    #[test]
    fn every_kind_of_node_comes_back_from_its_words() {
        let seeds = Seeds { stem: 77, factor: 0x9e37_79b9_7f4a_7c15, mask: u64::MAX };
        let key = Key { bits: 0x0123_4567_89ab_cdef, len: 8 };
        for level in 3..=8 {
            let pair = Pair::of(places(key, level, &seeds), Size::of(5000));
            for count in (1..=256_usize).chain([0]) {
                let children = Children::of((0..count).map(|number| (number * 151) as u8));
                let body = Body::Inner { depth: 8, children };
                let leaf = Body::Leaf { len: 7, value: 1 << 63 | 5 };
                let node = Node { level, bits: key.bits, body: if count == 0 { leaf } else { body } };
                for (secondary, bucket) in [(false, pair.primary), (true, pair.secondary)] {
                    let words = node.words(secondary);
                    assert_eq!(words.len(), 2 * node.slots());
                    let raw =
                        Raw(std::array::from_fn(|word| words.get(word).copied().unwrap_or(word as u64)));
                    assert_eq!(Node::read(&raw, bucket, &seeds), node);
                    for symbol in 0..=255 {
                        let has = has_child(Kind::of(words[0]), symbol, |word| words[word]);
                        assert_eq!(has, count > 0 && children.contains(symbol), "{count} {symbol}");
                    }
                    assert!(words.iter().skip(2).step_by(2).all(|&more| level_in(more) == MORE as u32));
                }
            }
        }
    }
}
