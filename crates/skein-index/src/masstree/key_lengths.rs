//! The key lengths of a border node, four bits each, in one word; and the node's width.
//!
//! ```text
//!   nibble    15     14 ............ 0
//!          ┌───────┬─────┬───┬────┬────┐     0..=8  the key ends here, with that many bytes in this slice
//!          │ width │ c14 │...│ c1 │ c0 │     9      the key goes on: the slot holds a link
//!          └───────┴─────┴───┴────┴────┘     14     free, was in use before       15  free, never used
//! ```
//!
//! The code of a slot says whether it is live, and one store of the word makes a key come or go. So a lookup
//! needs no permutation: it compares all slices of the node at once and asks the matching slot's code.
//! Masstree keeps a byte per slot (`keylen`, section 4.2); packed, the codes are read and changed as one.

/// The code of a slot whose key goes on past this slice.
pub(super) const LINK: u8 = 9;
/// The code of a free slot that held a key before: a reader may still look at it, so its reuse is marked.
pub(super) const REUSED: u8 = 14;
/// The code of a free slot that never held a key.
#[cfg(test)]
const FRESH: u8 = 15;

/// The codes of all slots, and the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyLengths(u64);

impl KeyLengths {
    /// No keys, in a node of `width` slots.
    pub(super) const fn empty(width: usize) -> Self {
        debug_assert!(width >= 1 && width <= 15);
        Self(((1 << 60) - 1) | ((width as u64) << 60))
    }

    /// The codes stored as `word`.
    #[inline(always)]
    pub(super) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The word to store.
    #[inline(always)]
    pub(super) const fn word(self) -> u64 {
        self.0
    }

    /// How many slots the node has.
    #[inline(always)]
    pub(super) const fn width(self) -> usize {
        (self.0 >> 60) as usize
    }

    /// The code of a slot.
    #[inline(always)]
    pub(super) const fn code(self, slot: usize) -> u8 {
        (self.0 >> (4 * slot) & 15) as u8
    }

    /// Whether the slot holds a key.
    #[inline(always)]
    pub(super) const fn is_live(self, slot: usize) -> bool {
        self.code(slot) <= LINK
    }

    /// Whether any slot holds a link.
    #[inline(always)]
    pub(super) const fn any_link(self) -> bool {
        const ONES: u64 = 0x1111_1111_1111_1111;
        // A nibble of `differ` is 0 where the code is `LINK`; the borrow of a subtraction finds one, if there is any.
        let differ = (self.0 ^ (LINK as u64 * ONES)) | (15 << 60);
        differ.wrapping_sub(ONES) & !differ & (8 * ONES) != 0
    }

    /// These codes with one replaced.
    #[inline(always)]
    #[must_use]
    pub(super) const fn with(self, slot: usize, code: u8) -> Self {
        Self(self.0 & !(15 << (4 * slot)) | (code as u64) << (4 * slot))
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn codes_are_independent() {
        let mut lens = KeyLengths::empty(15);
        assert!((0..15).all(|slot| lens.code(slot) == FRESH && !lens.is_live(slot)));
        for slot in 0..15 {
            lens = lens.with(slot, (slot % 10) as u8);
        }
        assert!((0..15).all(|slot| lens.code(slot) == (slot % 10) as u8 && lens.is_live(slot)));
        assert_eq!(lens.width(), 15);
        assert_eq!(lens.with(3, REUSED).code(3), REUSED);
        assert!(!lens.with(3, REUSED).is_live(3));
    }
}
