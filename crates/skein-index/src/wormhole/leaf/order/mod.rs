//! The order of a leaf's keys: a byte per rank, the slot of the key, and eight ranks in a word.
//!
//! ```text
//!   rank        0      ..      sorted     ..      count
//!               │ in key order │ in any order      │ old bytes
//!   removal     the ranks after it move down, up to `sorted`; the last rank fills the gap there
//! ```
//!
//! A scan reads the words where they are: while the version is unchanged, the bytes below the count
//! that the scan has read are unchanged too. An append writes a byte past that count, and
//! everything else marks the leaf.
//!
//! `x86_64` reads a byte in one instruction; other processors shift a word.

#[cfg(all(target_arch = "x86_64", not(miri), not(skein_loom)))]
mod x86_64;

#[cfg(any(not(target_arch = "x86_64"), miri, skein_loom))]
use portable as byte_at;
#[cfg(all(target_arch = "x86_64", not(miri), not(skein_loom)))]
use x86_64::byte_at;

use skein_sync::atomic::{AtomicU64, Ordering};

use super::{LeafOrder, SLOTS, WormholeLeaf};

/// Ranks in a word.
const RANKS: usize = size_of::<u64>();
const ONES: u64 = u64::from_le_bytes([1; RANKS]);
const HIGH_BITS: u64 = ONES << 7;

/// Returns the byte of a rank.
#[cfg(any(test, not(target_arch = "x86_64"), miri, skein_loom))]
#[inline(always)]
fn portable(order: &LeafOrder, rank: usize) -> usize {
    let word = order.0[rank % SLOTS / RANKS].load(Ordering::Relaxed);
    usize::from((word >> byte_shift(rank)) as u8)
}

impl WormholeLeaf {
    #[inline(always)]
    fn order_word<'a>(self, rank: usize) -> &'a AtomicU64 {
        &self.body().order.0[rank % SLOTS / RANKS]
    }

    /// Returns the slot at a rank. As for all readers here, the result means something only if the
    /// version has not changed.
    #[inline(always)]
    pub(in crate::wormhole) fn slot_at(self, rank: usize) -> usize {
        // Relaxed here and below: `count` orders the bytes of appends, and the check of the version
        // all others.
        byte_at(&self.body().order, rank) % SLOTS
    }

    /// Returns the rank of a slot, if it is below `count`. Compares eight ranks at once.
    #[inline(always)]
    pub(in crate::wormhole) fn rank_of(self, slot: usize, count: usize) -> Option<usize> {
        let wanted = ONES * slot as u64;
        let words = &self.body().order.0[..count.min(SLOTS).div_ceil(RANKS)];
        // A byte is below 128, so only a byte of zero leaves its high bit.
        let equal = |word: &AtomicU64| (HIGH_BITS - (word.load(Ordering::Relaxed) ^ wanted)) & HIGH_BITS;
        let at = words.iter().position(|word| equal(word) != 0)?;
        // Bytes after the ranks are old ones.
        Some(at * RANKS + equal(&words[at]).trailing_zeros() as usize / 8).filter(|&rank| rank < count)
    }

    /// Appends a rank. The caller must hold the lock.
    #[inline(always)]
    pub(super) fn push_rank(self, slot: usize) {
        let count = self.body().count.load(Ordering::Relaxed);
        self.set_slot_at(count.into(), slot);
        // Release: pairs with the Acquire in `count`; the rank is written.
        self.body().count.store(count + 1, Ordering::Release);
    }

    /// Removes the rank of a slot. The caller must hold the lock and have marked the leaf.
    #[inline]
    pub(in crate::wormhole) fn remove_rank(self, slot: usize) {
        let (count, sorted) = self.count_and_sorted();
        let Some(rank) = self.rank_of(slot, count) else { return };
        let mut gap = rank;
        if rank < sorted {
            gap = sorted - 1;
            self.move_ranks_down(rank, gap);
            self.body().sorted.store(gap as u8, Ordering::Relaxed);
        }
        let last = count - 1;
        if gap != last {
            self.set_slot_at(gap, self.slot_at(last));
        }
        self.body().count.store(last as u8, Ordering::Release);
    }

    /// Moves the first rank that is not in order to `rank`, and makes it part of the order. The
    /// caller must hold the lock and have marked the leaf.
    pub(in crate::wormhole) fn insert_in_order(self, rank: usize) {
        let end = self.count_and_sorted().1;
        let (mut carry, mut low) = (self.slot_at(end) as u64, rank);
        while low <= end {
            let place = self.order_word(low);
            let (word, bytes) = (place.load(Ordering::Relaxed), byte_mask(low, end));
            // Bytes up to the end of the word, or up to `end`, move up by one.
            let moved = word << 8 & bytes & !(0xff << byte_shift(low)) | carry << byte_shift(low);
            carry = word >> (u64::BITS - 8);
            place.store(word & !bytes | moved, Ordering::Relaxed);
            low = low / RANKS * RANKS + RANKS;
        }
        self.body().sorted.store(end as u8 + 1, Ordering::Relaxed);
    }

    /// Moves the ranks after `from`, to `end` inclusive, down by one. The rank `end` keeps an old
    /// byte.
    #[inline(always)]
    fn move_ranks_down(self, from: usize, end: usize) {
        let words = &self.body().order.0[from / RANKS..=end / RANKS];
        let mut kept = !(u64::MAX << byte_shift(from));
        let mut word = words[0].load(Ordering::Relaxed);
        for pair in words.windows(2) {
            let next = pair[1].load(Ordering::Relaxed);
            pair[0].store(word & kept | (word >> 8 | next << (u64::BITS - 8)) & !kept, Ordering::Relaxed);
            (word, kept) = (next, 0);
        }
        let kept = kept | !(u64::MAX >> byte_shift(RANKS - 1 - end % RANKS));
        words[words.len() - 1].store(word & kept | word >> 8 & !kept, Ordering::Relaxed);
    }

    #[inline(always)]
    fn set_slot_at(self, rank: usize, slot: usize) {
        let (place, shift) = (self.order_word(rank), byte_shift(rank));
        let others = place.load(Ordering::Relaxed) & !(0xff << shift);
        place.store(others | (slot as u64) << shift, Ordering::Relaxed);
    }
}

/// Returns the shift of a rank's byte in its word.
#[inline(always)]
fn byte_shift(rank: usize) -> usize {
    8 * (rank % RANKS)
}

/// Returns the bytes of `low`'s word for the ranks `low` to `end` inclusive.
#[inline(always)]
fn byte_mask(low: usize, end: usize) -> u64 {
    let last = (end - low / RANKS * RANKS).min(RANKS - 1);
    u64::MAX << byte_shift(low) & u64::MAX >> byte_shift(RANKS - 1 - last)
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::memory::Arena;
    use crate::wormhole::leaf::LeafRanks;
    use skein_sync::version::Version;

    /// Returns a leaf with these slots in order, of which the first `sorted` are in key order.
    fn leaf_of(arena: &Arena, slots: &[usize], sorted: usize) -> WormholeLeaf {
        let leaf = WormholeLeaf::new(arena, Version::BORDER, b"");
        for &slot in slots {
            leaf.push_rank(slot);
        }
        leaf.body().sorted.store(sorted as u8, Ordering::Relaxed);
        leaf
    }

    fn slots_of(leaf: WormholeLeaf) -> Vec<usize> {
        leaf.ranks().as_slice().iter().map(|&slot| slot.into()).collect()
    }

    #[test]
    fn slots_and_ranks_lead_to_each_other() {
        let arena = Arena::new();
        let slots: Vec<usize> = (0..SLOTS).map(|rank| rank * 5 % SLOTS).collect();
        let leaf = leaf_of(&arena, &slots, SLOTS);
        for (rank, &slot) in slots.iter().enumerate() {
            assert_eq!((leaf.slot_at(rank), portable(&leaf.body().order, rank)), (slot, slot));
            assert_eq!(leaf.rank_of(slot, SLOTS), Some(rank));
            assert_eq!(leaf.rank_of(slot, rank), None, "an old byte is no rank");
        }
        // SAFETY: exclusively ours.
        unsafe { leaf.free(crate::memory::MemoryPart::Nodes) };
    }

    #[test]
    fn a_removed_rank_keeps_the_others_in_order() {
        let arena = Arena::new();
        let slots: Vec<usize> = (0..40).map(|rank| 100 - rank).collect();
        for count in [1, 7, 8, 9, 24, 40] {
            for sorted in (0..=count).filter(|sorted| sorted % 3 != 1) {
                for gone in 0..count {
                    let leaf = leaf_of(&arena, &slots[..count], sorted);
                    leaf.remove_rank(slots[gone]);
                    let mut expected = slots[..count].to_vec();
                    if gone < sorted {
                        expected.remove(gone);
                        expected[sorted - 1..].rotate_right(usize::from(count > sorted));
                    } else {
                        expected.swap_remove(gone);
                    }
                    let LeafRanks { count: left, sorted: in_order, .. } = leaf.ranks();
                    assert_eq!((left, in_order), (count - 1, sorted - usize::from(gone < sorted)));
                    assert_eq!(slots_of(leaf), expected, "{gone} of {count}, {sorted} sorted");
                    // SAFETY: exclusively ours.
                    unsafe { leaf.free(crate::memory::MemoryPart::Nodes) };
                }
            }
        }
    }

    #[test]
    fn a_rank_moves_into_the_order() {
        let arena = Arena::new();
        let slots: Vec<usize> = (0..40).collect();
        for sorted in 0..slots.len() {
            for to in 0..=sorted {
                let leaf = leaf_of(&arena, &slots, sorted);
                leaf.insert_in_order(to);
                let mut expected = slots.clone();
                expected[to..=sorted].rotate_right(1);
                assert_eq!(slots_of(leaf), expected, "from {sorted} to {to}");
                assert_eq!(leaf.ranks().sorted, sorted + 1);
                // SAFETY: exclusively ours.
                unsafe { leaf.free(crate::memory::MemoryPart::Nodes) };
            }
        }
    }
}
