//! Items: the inner nodes of the trie. An item stands for a prefix of an anchor that is not a whole
//! anchor.
//!
//! ```text
//!   word 0     prefix length 16, number of children 16, then four counts of 8 bits:
//!              the children below bytes 0, 64, 128 and 192. The first count is 1 if an anchor
//!              ends here (the terminator is a child below all bytes), otherwise 0
//!   words 1-4  which bytes have a child: 256 bits
//!   words 5 -  the leaf left of this subtree, then the last leaf of each child, in order
//! ```
//!
//! If a key leaves the trie at an item, its leaf is one word of the item: the word at the number of
//! children below the key's next byte. The paper keeps the subtree's first and last leaf and finds
//! the neighbouring child by another probe of the hash table (section 2.4, `searchTrieHT`). Ours
//! uses a word per child and saves that probe, which is a dependent read, and often a second one to
//! step left.
//!
//! # Invariants
//! 1. Length, bits and number of leaves never change after the item is linked: inserting or
//!    removing a child makes a new item. The leaf at a position changes under the table's lock.
//! 2. An item is used only while it is live, as a leaf is (`leaf/`).
//! 3. An item has at least one child. Its last word is a leaf of its subtree, so that leaf's anchor
//!    starts with the prefix.

use std::ptr::NonNull;

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::reclaim::{GracePeriod, Guard, PROTECT};

use super::leaf::WormholeLeaf;
use crate::index::MAX_KEY_LEN;
use crate::memory::{Arena, CACHE_LINE, MemoryPart, address_of, at_address, prefetch_read};

const LEAVES: usize = 5;
const COUNT_SHIFT: u32 = 16;
const BELOW_SHIFT: u32 = 32;
const TERMINATOR: u64 = 1 << BELOW_SHIFT;

/// A child of an item: a byte, or the terminator (`None`), which sorts first.
pub(super) type TrieItemChild = Option<u8>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrieItem(NonNull<AtomicU64>);

impl TrieItem {
    /// Allocates an item for a prefix of `len` bytes, with one child.
    pub(super) fn with_child(
        arena: &Arena,
        len: usize,
        before: Option<WormholeLeaf>,
        child: TrieItemChild,
        last: WormholeLeaf,
    ) -> Self {
        let mut bits = [0; 4];
        if let Some(byte) = child {
            set(&mut bits, byte);
        }
        let leaves = [before.map_or(0, WormholeLeaf::address), last.address()];
        Self::new(arena, len, child.is_none(), bits, leaves.into_iter())
    }

    fn new(
        arena: &Arena,
        len: usize,
        terminator: bool,
        bits: [u64; 4],
        leaves: impl Iterator<Item = u64>,
    ) -> Self {
        let head = head(len, terminator, bits);
        let words = std::iter::once(head).chain(bits).chain(leaves);
        let block = arena.alloc(size(children(head)), MemoryPart::Nodes).cast::<AtomicU64>();
        block.as_ptr().expose_provenance();
        for (index, word) in words.enumerate() {
            // SAFETY: `size` counts these words; the block is exclusively ours.
            unsafe { block.add(index).write(AtomicU64::new(word)) };
        }
        Self(block)
    }

    /// Returns the item at an address.
    ///
    /// # Safety
    /// The address came from [`Self::address`], and invariant 2 holds for the item.
    #[inline(always)]
    pub(super) unsafe fn from_address(address: u64) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { at_address(address) })
    }

    #[inline(always)]
    pub(super) fn address(self) -> u64 {
        address_of(self.0)
    }

    /// Prefetches the item's first two lines, which are all of an item with few children.
    #[inline(always)]
    pub(super) fn prefetch(self) {
        let start = self.0.as_ptr().cast::<u8>();
        prefetch_read(start);
        prefetch_read(start.wrapping_add(CACHE_LINE));
    }

    #[inline(always)]
    fn word<'a>(self, index: usize) -> &'a AtomicU64 {
        // SAFETY: callers stay within the item's words; it is live (invariant 2).
        unsafe { self.0.add(index).as_ref() }
    }

    #[inline(always)]
    fn head(self) -> u64 {
        // Relaxed: never changes (invariant 1); the link to the item orders it.
        self.word(0).load(Ordering::Relaxed)
    }

    fn bits(self) -> [u64; 4] {
        // Relaxed: as in `head`.
        std::array::from_fn(|index| self.word(1 + index).load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub(super) fn len(self) -> usize {
        (self.head() as u16).into()
    }

    /// Returns the number of children, the terminator included.
    pub(super) fn children(self) -> usize {
        children(self.head())
    }

    /// Returns whether an anchor ends here.
    pub(super) fn has_terminator(self) -> bool {
        self.head() & TERMINATOR != 0
    }

    /// Returns whether the item has this child.
    pub(super) fn has(self, child: TrieItemChild) -> bool {
        match child {
            None => self.has_terminator(),
            Some(byte) => self.bits()[usize::from(byte) / 64] & 1 << (byte % 64) != 0,
        }
    }

    /// Returns the number of children below `child`.
    #[inline(always)]
    fn rank(self, child: TrieItemChild) -> usize {
        let Some(byte) = child else { return 0 };
        let (whole, part) = (u32::from(byte) / 64, byte % 64);
        let below = (self.head() >> (BELOW_SHIFT + 8 * whole)) as u8;
        let bits = self.word(1 + whole as usize).load(Ordering::Relaxed);
        usize::from(below) + (bits & ((1 << part) - 1)).count_ones() as usize
    }

    #[inline(always)]
    fn leaf_at(self, place: usize) -> Option<WormholeLeaf> {
        let address = self.word(LEAVES + place).load(PROTECT);
        // SAFETY: a leaf is removed from all items before it is retired; callers hold a guard.
        (address != 0).then(|| unsafe { WormholeLeaf::from_address(address) })
    }

    /// Returns the leaf for keys that leave the trie here: those that continue with `next`, or end
    /// here, where no child leads further. Returns `None` if all leaves are above such keys.
    #[inline(always)]
    pub(super) fn target(self, next: TrieItemChild) -> Option<WormholeLeaf> {
        let place = match next {
            // The key is the prefix itself. A terminator is not above it.
            None => usize::from(self.has_terminator()),
            next => self.rank(next),
        };
        self.leaf_at(place)
    }

    /// Returns the leaf left of the subtree.
    pub(super) fn before(self) -> Option<WormholeLeaf> {
        self.leaf_at(0)
    }

    /// Replaces the leaf left of the subtree. Here and below, the caller must hold the table's
    /// lock.
    pub(super) fn set_before(self, leaf: Option<WormholeLeaf>) {
        // Release: pairs with the load in `leaf_at`; the leaf is initialised.
        self.word(LEAVES).store(leaf.map_or(0, WormholeLeaf::address), Ordering::Release);
    }

    /// Returns the last leaf of a child, which must be present.
    pub(super) fn last_of(self, child: TrieItemChild) -> Option<WormholeLeaf> {
        self.leaf_at(self.rank(child) + 1)
    }

    /// Replaces the last leaf of a child.
    pub(super) fn set_last_of(self, child: TrieItemChild, leaf: WormholeLeaf) {
        // Release: as in `set_before`.
        self.word(LEAVES + self.rank(child) + 1).store(leaf.address(), Ordering::Release);
    }

    /// Returns a leaf of the subtree.
    #[inline(always)]
    pub(super) fn sample(self) -> Option<WormholeLeaf> {
        self.leaf_at(self.children())
    }

    /// Returns a copy of this item with one more child.
    pub(super) fn with(self, arena: &Arena, child: TrieItemChild, last: WormholeLeaf) -> Self {
        let (place, mut bits) = (self.rank(child) + 1, self.bits());
        if let Some(byte) = child {
            set(&mut bits, byte);
        }
        let old = |index: usize| self.word(LEAVES + index).load(Ordering::Relaxed);
        let leaves = (0..=self.children() + 1).map(|index| match index.cmp(&place) {
            std::cmp::Ordering::Less => old(index),
            std::cmp::Ordering::Equal => last.address(),
            std::cmp::Ordering::Greater => old(index - 1),
        });
        Self::new(arena, self.len(), child.is_none() || self.has_terminator(), bits, leaves)
    }

    /// Returns a copy of this item with one child less; `None` if that was the only child.
    pub(super) fn without(self, arena: &Arena, child: TrieItemChild) -> Option<Self> {
        if self.children() == 1 {
            return None;
        }
        let (place, mut bits) = (self.rank(child) + 1, self.bits());
        if let Some(byte) = child {
            bits[usize::from(byte) / 64] &= !(1 << (byte % 64));
        }
        let old = |index: usize| self.word(LEAVES + index).load(Ordering::Relaxed);
        let leaves = (0..self.children()).map(|index| old(if index < place { index } else { index + 1 }));
        Some(Self::new(arena, self.len(), child.is_some() && self.has_terminator(), bits, leaves))
    }

    /// Frees the item.
    ///
    /// # Safety
    /// No thread can reach the item, and it is counted as `part`.
    pub(super) unsafe fn free(self, part: MemoryPart) {
        let size = size(self.children());
        // SAFETY: allocated in `new` with this size; the rest is the caller's promise.
        unsafe { Arena::free(self.0.cast(), size, part) };
    }

    /// Frees the item when no thread can see it any more.
    ///
    /// # Safety
    /// The item is unlinked: no guard entered from now on can reach it.
    pub(super) unsafe fn retire(self, guard: &impl Guard) {
        unsafe fn reclaim(word: *mut AtomicU64, _: &GracePeriod) {
            // SAFETY: the collector passes the pointer that `retire` gave it, after the grace
            // period.
            unsafe { TrieItem(NonNull::new_unchecked(word)).free(MemoryPart::Retired) };
        }
        // SAFETY: live and counted as `Nodes`; the caller guarantees that it is unlinked.
        unsafe {
            Arena::recount(self.0.cast(), size(self.children()), MemoryPart::Nodes, MemoryPart::Retired);
            guard.defer_retire(self.0.as_ptr(), reclaim);
        }
    }
}

/// Returns an item's first word.
fn head(len: usize, terminator: bool, bits: [u64; 4]) -> u64 {
    debug_assert!(len <= MAX_KEY_LEN);
    let (mut head, mut below) = (len as u64, u64::from(terminator));
    for (part, bits) in (0..).zip(bits) {
        // At most 193, so it fits.
        head |= below << (BELOW_SHIFT + 8 * part);
        below += u64::from(bits.count_ones());
    }
    head | below << COUNT_SHIFT
}

#[inline(always)]
fn children(head: u64) -> usize {
    usize::from((head >> COUNT_SHIFT) as u16)
}

fn size(children: usize) -> usize {
    (LEAVES + 1 + children) * size_of::<AtomicU64>()
}

fn set(bits: &mut [u64; 4], byte: u8) {
    bits[usize::from(byte) / 64] |= 1 << (byte % 64);
}
