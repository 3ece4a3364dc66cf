//! Entries: the nodes of the trie, 15 bytes each, without their names.
//!
//! ```text
//!   lane   32 bits   0 │ parent's color 3 │ symbol + 1, 6 │ secondary 1 │ tag 21      0: no entry
//!   small   8 bits   link 3 │ kind 2 │ color 3
//!   low    64 bits   leaf: record 48
//!                    branch: depth 31 │ bitmap 33
//!                    jump: its symbols, five bits each, the last one in the lowest bits
//!   high   16 bits   jump: length 4 │ the first symbols of a long jump
//! ```
//!
//! No entry holds its name (Cuckoo Trie, sections 4.2 and 4.3, figure 4). Instead:
//!
//! - The tag and the bucket determine the hash of the node's name (`table.rs`).
//! - That hash and the last symbol determine the hash of the parent's name.
//! - The parent's color tells which of the nodes with that hash is the parent. So a search that
//!   holds the parent recognizes its child.
//! - The child of a jump is recognized by its own color, which the jump stores as its link.
//!
//! A branch stores the length of its name, for searches that begin below the root
//! (`search_start.rs`). The paper leaves these bits unused.

use super::symbols::{KeySymbols, SYMBOLS};
use crate::record::KeyRecord;

pub(super) const TAG_BITS: u32 = 21;
/// The mask of the lane for a search by tag.
pub(super) const TAG: u32 = (1 << TAG_BITS) - 1;
pub(super) const SECONDARY: u32 = 1 << TAG_BITS;
const SYMBOL_SHIFT: u32 = TAG_BITS + 1;
const PARENT_SHIFT: u32 = SYMBOL_SHIFT + 6;
/// The mask of the lane for a search for a child by its parent's color.
pub(super) const BY_PARENT: u32 = u32::MAX >> 1;
/// The mask of the lane for a search for a child by its own color.
pub(super) const BY_COLOR: u32 = BY_PARENT >> 3;

/// The number of colors: nodes have colors `0..COLORS`.
pub(super) const COLORS: u8 = 7;
/// The parent's color of a jump's child. No search by parent may find such a child.
pub(super) const UNDER_JUMP: u8 = 7;

/// The maximal number of symbols in a jump.
pub(super) const JUMP_MAX: u32 = 15;
const LENGTH_SHIFT: u32 = 76;
const RECORD: u64 = u64::MAX >> 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CuckooNodeKind {
    /// A node with two or more children; the root may have fewer.
    Branch,
    /// A compressed chain of nodes with one child each.
    Jump,
    /// A node that points to a record with key and value.
    Leaf,
    /// The leaf of a removed key, which is still in the table.
    Dead,
}

/// The data of a node that is independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CuckooNodeBody {
    kind: CuckooNodeKind,
    link: u8,
    low: u64,
    high: u16,
}

impl CuckooNodeBody {
    /// Makes a branch with a name of `depth` symbols. The bitmap has a bit for each child's symbol.
    pub(super) fn branch(bitmap: u64, depth: u32) -> Self {
        debug_assert!(bitmap >> SYMBOLS == 0 && depth >> (u64::BITS - SYMBOLS as u32) == 0);
        Self { kind: CuckooNodeKind::Branch, link: 0, low: u64::from(depth) << SYMBOLS | bitmap, high: 0 }
    }

    /// Makes a leaf. `record` is 0 if the record does not exist yet.
    pub(super) fn leaf(record: u64) -> Self {
        debug_assert!(record & !RECORD == 0);
        Self { kind: CuckooNodeKind::Leaf, link: 0, low: record, high: 0 }
    }

    /// Makes a jump over at most [`JUMP_MAX`] symbols, without an end among them, to the child with
    /// color `child`.
    pub(super) fn jump(symbols: impl Iterator<Item = u8>, child: u8) -> Self {
        let (mut bits, mut length) = (0_u128, 0);
        for symbol in symbols {
            bits = bits << 5 | u128::from(symbol - 1);
            length += 1;
        }
        debug_assert!((1..=JUMP_MAX).contains(&length));
        bits |= u128::from(length) << LENGTH_SHIFT;
        Self { kind: CuckooNodeKind::Jump, link: child, low: bits as u64, high: (bits >> 64) as u16 }
    }

    pub(super) fn dead(self) -> Self {
        Self { kind: CuckooNodeKind::Dead, ..self }
    }
}

/// An entry of the table: a node at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CuckooEntry {
    pub(super) lane: u32,
    pub(super) small: u8,
    pub(super) low: u64,
    pub(super) high: u16,
}

#[inline(always)]
pub(super) const fn lane(tag: u32, secondary: bool, symbol: u8, parent: u8) -> u32 {
    tag | (secondary as u32) << TAG_BITS
        | (symbol as u32 + 1) << SYMBOL_SHIFT
        | (parent as u32) << PARENT_SHIFT
}

#[inline(always)]
pub(super) fn symbol_in(lane: u32) -> u8 {
    (((lane >> SYMBOL_SHIFT) & 63) - 1) as u8
}

#[inline(always)]
pub(super) fn with_parent(lane: u32, color: u8) -> u32 {
    lane & BY_COLOR | u32::from(color) << PARENT_SHIFT
}

impl CuckooEntry {
    pub(super) const NONE: Self = Self { lane: 0, small: 0, low: 0, high: 0 };

    pub(super) fn new(lane: u32, color: u8, body: CuckooNodeBody) -> Self {
        Self { lane, small: color, low: 0, high: 0 }.with_body(body)
    }

    /// Returns the initial root. The root has a bucket of its own, so no search needs its name.
    pub(super) fn root() -> Self {
        Self::new(lane(0, false, 0, UNDER_JUMP), 0, CuckooNodeBody::branch(0, 0))
    }

    pub(super) fn is_none(self) -> bool {
        self.lane == 0
    }

    #[inline(always)]
    pub(super) fn kind(self) -> CuckooNodeKind {
        match (self.small >> 3) & 3 {
            0 => CuckooNodeKind::Branch,
            1 => CuckooNodeKind::Jump,
            2 => CuckooNodeKind::Leaf,
            _ => CuckooNodeKind::Dead,
        }
    }

    pub(super) fn body(self) -> CuckooNodeBody {
        CuckooNodeBody { kind: self.kind(), link: self.link(), low: self.low, high: self.high }
    }

    /// Returns another node with the same name. Its parent still leads to it.
    pub(super) fn with_body(self, body: CuckooNodeBody) -> Self {
        let small = self.small & 7 | (body.kind as u8) << 3 | body.link << 5;
        Self { lane: self.lane, small, low: body.low, high: body.high }
    }

    pub(super) fn with_parent(self, color: u8) -> Self {
        Self { lane: with_parent(self.lane, color), ..self }
    }

    /// Returns the same node for its other bucket.
    pub(super) fn moved(self) -> Self {
        Self { lane: self.lane ^ SECONDARY, ..self }
    }

    pub(super) fn is_secondary(self) -> bool {
        self.lane & SECONDARY != 0
    }

    pub(super) fn symbol(self) -> u8 {
        symbol_in(self.lane)
    }

    pub(super) fn parent(self) -> u8 {
        (self.lane >> PARENT_SHIFT) as u8 & 7
    }

    #[inline(always)]
    pub(super) fn color(self) -> u8 {
        self.small & 7
    }

    /// Returns the color of a jump's child.
    #[inline(always)]
    pub(super) fn link(self) -> u8 {
        self.small >> 5
    }

    /// Returns the symbols of a branch's children, one bit each.
    #[inline(always)]
    pub(super) fn bitmap(self) -> u64 {
        self.low & ((1 << SYMBOLS) - 1)
    }

    /// Returns the length of a branch's name in symbols.
    #[inline(always)]
    pub(super) fn depth(self) -> u32 {
        (self.low >> SYMBOLS) as u32
    }

    pub(super) fn first_child(self) -> Option<u8> {
        let bitmap = self.bitmap();
        (bitmap != 0).then(|| bitmap.trailing_zeros() as u8)
    }

    #[inline(always)]
    pub(super) fn record_word(self) -> u64 {
        self.low & RECORD
    }

    /// Returns the record of a leaf, or `None` if the leaf has no record yet. Only the thread that
    /// builds such a leaf sees it.
    ///
    /// # Safety
    /// The entry must be a leaf. Either it was read under a guard that is still held, or the index
    /// is borrowed mutably.
    #[inline(always)]
    pub(super) unsafe fn record(self) -> Option<KeyRecord> {
        // SAFETY: the word came from a record; the rest is promised by the caller.
        unsafe { KeyRecord::from_word(self.record_word()) }
    }

    #[inline(always)]
    fn bits(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    /// Returns the number of symbols in a jump.
    #[inline(always)]
    pub(super) fn length(self) -> u32 {
        (self.bits() >> LENGTH_SHIFT) as u32
    }

    #[inline(always)]
    pub(super) fn jump_symbol(self, index: u32) -> u8 {
        ((self.bits() >> (5 * (self.length() - 1 - index))) & 31) as u8 + 1
    }

    /// Returns how many symbols of the jump match the key from position `from` on.
    #[inline(always)]
    pub(super) fn shared(self, symbols: KeySymbols<'_>, from: u32) -> u32 {
        let length = self.length();
        let differ = (self.bits() ^ symbols.bits(from, length)) & ((1 << (5 * length)) - 1);
        let same = (differ.leading_zeros() - (128 - 5 * length)) / 5;
        // Past the end of the key, `bits` returns zeros, which are not symbols of the key.
        same.min((symbols.count() - 1).saturating_sub(from))
    }

    pub(super) fn jump_symbols(self, start: u32, end: u32) -> impl Iterator<Item = u8> + Clone {
        // The next symbol has the highest bits.
        let mut bits = self.bits().wrapping_shl(u128::BITS - 5 * (self.length() - start));
        (start..end).map(move |_| {
            let symbol = (bits >> (u128::BITS - 5)) as u8 + 1;
            bits <<= 5;
            symbol
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_returns_its_fields() {
        let lane = lane(0x1f_0f0f, true, 32, 6);
        let entry = CuckooEntry::new(lane, 5, CuckooNodeBody::branch(0x1_8000_0001, 104_858));
        assert_eq!((entry.lane & TAG, entry.is_secondary(), entry.symbol()), (0x1f_0f0f, true, 32));
        assert_eq!((entry.parent(), entry.color(), entry.kind()), (6, 5, CuckooNodeKind::Branch));
        assert_eq!((entry.bitmap(), entry.depth()), (0x1_8000_0001, 104_858));
        assert_eq!((entry.moved().is_secondary(), entry.moved().moved()), (false, entry));
        assert_eq!((entry.with_parent(0).parent(), entry.with_parent(0).symbol()), (0, 32));
        let leaf = entry.with_body(CuckooNodeBody::leaf(0x7fff_1234_5678));
        assert_eq!(
            (leaf.kind(), leaf.record_word(), leaf.color()),
            (CuckooNodeKind::Leaf, 0x7fff_1234_5678, 5)
        );
        assert_eq!(leaf.with_body(leaf.body().dead()).kind(), CuckooNodeKind::Dead);
    }

    #[test]
    fn jumps_hold_up_to_fifteen_symbols() {
        for length in 1..=JUMP_MAX {
            let symbols = (0..length).map(|index| (index * 7 % 32) as u8 + 1);
            let jump = CuckooEntry::new(lane(1, false, 3, 2), 4, CuckooNodeBody::jump(symbols.clone(), 6));
            assert_eq!(
                (jump.kind(), jump.length(), jump.link(), jump.color()),
                (CuckooNodeKind::Jump, length, 6, 4)
            );
            assert!(jump.jump_symbols(0, length).eq(symbols));
        }
    }

    #[test]
    fn no_entry_has_the_lane_of_a_free_slot() {
        assert!(!CuckooEntry::new(lane(0, false, 0, 0), 0, CuckooNodeBody::branch(0, 0)).is_none());
        assert!(!CuckooEntry::root().is_none());
    }
}
