//! The permutation word of a border node: which slots hold keys, and in which order.
//!
//! ```text
//!   nibble   15 ............ 1   0
//!          ┌─────┬───┬─────┬───┬──────┐   s0 .. s(count-1): slots in key order
//!          │ s14 │...│ s1  │s0 │count │   the rest: free slots
//!          └─────┴───┴─────┴───┴──────┘
//! ```
//!
//! One store of this word inserts or removes a key without moving any other. An insert uses the
//! first free slot. A removed slot moves to the far end, so that it is reused as late as possible.
//! Source: Masstree, section 4.6.2.

/// A permutation of up to 15 slots. The first `count` of them are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotPermutation(u64);

/// Returns `n` nibbles of ones. `n` must be at most 15.
#[inline(always)]
const fn nibbles(n: usize) -> u64 {
    (1 << (4 * n)) - 1
}

impl SlotPermutation {
    /// Returns the permutation with slots `0..count` in order, and the others up to `width` free.
    pub(super) const fn identity(count: usize, width: usize) -> Self {
        debug_assert!(count <= width && width <= 15);
        let slots = 0x0edc_ba98_7654_3210 & nibbles(width);
        Self(slots << 4 | count as u64)
    }

    #[inline(always)]
    pub(super) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(super) const fn word(self) -> u64 {
        self.0
    }

    /// Returns how many slots are in use.
    #[inline(always)]
    pub(super) const fn count(self) -> usize {
        (self.0 & 15) as usize
    }

    /// Returns the slot at `position` in key order; past `count`, a free slot.
    #[inline(always)]
    pub(super) const fn slot(self, position: usize) -> usize {
        ((self.0 >> (4 * position + 4)) & 15) as usize
    }

    /// Inserts the first free slot at `position`. Returns the new permutation and that slot.
    #[inline]
    #[must_use]
    pub(super) fn insert_at(self, position: usize) -> (Self, usize) {
        let count = self.count();
        debug_assert!(position <= count && count < 15);
        let slot = self.slot(count);
        let slots = self.0 >> 4;
        let below = slots & nibbles(position);
        let moved = (slots & nibbles(count) & !nibbles(position)) << 4;
        let free = slots & !nibbles(count + 1);
        let slots = below | (slot as u64) << (4 * position) | moved | free;
        (Self(slots << 4 | (count as u64 + 1)), slot)
    }

    /// Removes the slot at `position`. It becomes the last free one of `width`.
    #[inline]
    #[must_use]
    pub(super) fn remove_at(self, position: usize, width: usize) -> Self {
        let count = self.count();
        debug_assert!(position < count && count <= width);
        let slot = self.slot(position) as u64;
        let slots = self.0 >> 4;
        let below = slots & nibbles(position);
        let moved = (slots >> 4) & !nibbles(position);
        let slots = below | moved | slot << (4 * (width - 1));
        Self(slots << 4 | (count as u64 - 1))
    }

    /// Keeps the first `count` positions; the slots of the others become the first free ones.
    #[inline]
    #[must_use]
    pub(super) fn truncate(self, count: usize) -> Self {
        debug_assert!(count <= self.count());
        Self(self.0 & !15 | count as u64)
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    fn order(permutation: SlotPermutation) -> Vec<usize> {
        (0..permutation.count()).map(|position| permutation.slot(position)).collect()
    }

    #[test]
    fn identity_lists_slots_in_order() {
        assert_eq!(order(SlotPermutation::identity(15, 15)), (0..15).collect::<Vec<_>>());
        assert_eq!(order(SlotPermutation::identity(0, 3)), Vec::<usize>::new());
        assert_eq!(SlotPermutation::identity(0, 3).slot(2), 2);
    }

    #[test]
    fn a_removed_slot_is_reused_last() {
        let permutation = SlotPermutation::identity(2, 4).remove_at(0, 4);
        let (permutation, first) = permutation.insert_at(0);
        let (permutation, second) = permutation.insert_at(0);
        let (permutation, third) = permutation.insert_at(3);
        assert_eq!((first, second, third), (2, 3, 0));
        assert_eq!(order(permutation), vec![3, 2, 1, 0]);
    }

    /// Compares with a plain vector, at every width.
    #[test]
    fn behaves_like_a_vector() {
        for width in 1..=15 {
            let mut permutation = SlotPermutation::identity(0, width);
            let mut used: Vec<usize> = Vec::new();
            let mut free: Vec<usize> = (0..width).collect();
            let mut state = 0x9e37_79b9_7f4a_7c15_u64;
            for _ in 0..2000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let random = (state >> 33) as usize;
                if used.len() < width && (used.is_empty() || random.is_multiple_of(2)) {
                    let position = (random >> 1) % (used.len() + 1);
                    let (next, slot) = permutation.insert_at(position);
                    assert_eq!(slot, free.remove(0));
                    used.insert(position, slot);
                    permutation = next;
                } else if random.is_multiple_of(7) {
                    let count = (random >> 3) % (used.len() + 1);
                    let mut freed = used.split_off(count);
                    freed.append(&mut free);
                    free = freed;
                    permutation = permutation.truncate(count);
                } else {
                    let position = (random >> 1) % used.len();
                    free.push(used.remove(position));
                    permutation = permutation.remove_at(position, width);
                }
                assert_eq!(order(permutation), used);
                let rest: Vec<_> = (used.len()..width).map(|position| permutation.slot(position)).collect();
                assert_eq!(rest, free);
            }
        }
    }
}
