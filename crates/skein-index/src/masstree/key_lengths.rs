//! The key lengths of a border node, four bits each, and the node's width, packed in one word.
//!
//! ```text
//!   nibble    15     14 ............ 0     code of a slot:
//!          ┌───────┬─────┬───┬────┬────┐   0..=8  the key ends here, with that many bytes
//!          │ width │ c14 │...│ c1 │ c0 │   9      the key continues: the slot holds a link
//!          └───────┴─────┴───┴────┴────┘   14     free, was in use before
//!                                          15     free, never used
//! ```
//!
//! A slot's code shows whether the slot is live, and one store of the word inserts or removes a
//! key. So a lookup does not read the permutation: it compares all slices of the node and then
//! checks the code of the matching slot. Masstree keeps a byte per slot (`keylen`, section 4.2). A
//! packed word is read and changed in one access.

/// The code of a slot whose key continues past this slice.
pub(super) const LINK: u8 = 9;
/// The code of a free slot that held a key before. A reader may still be reading it, so the node is
/// marked when the slot is reused.
pub(super) const REUSED: u8 = 14;
/// The code of a free slot that never held a key.
#[cfg(test)]
const FRESH: u8 = 15;

/// The codes of all slots, and the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyLengths(u64);

impl KeyLengths {
    /// Returns the codes of an empty node of `width` slots.
    pub(super) const fn empty(width: usize) -> Self {
        debug_assert!(width >= 1 && width <= 15);
        Self(((1 << 60) - 1) | ((width as u64) << 60))
    }

    #[inline(always)]
    pub(super) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    #[inline(always)]
    pub(super) const fn word(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(super) const fn width(self) -> usize {
        (self.0 >> 60) as usize
    }

    /// Returns the code of a slot.
    #[inline(always)]
    pub(super) const fn code(self, slot: usize) -> u8 {
        (self.0 >> (4 * slot) & 15) as u8
    }

    #[inline(always)]
    pub(super) const fn is_live(self, slot: usize) -> bool {
        self.code(slot) <= LINK
    }

    /// Returns whether any slot holds a link.
    #[inline(always)]
    pub(super) const fn any_link(self) -> bool {
        const ONES: u64 = 0x1111_1111_1111_1111;
        // A nibble of `differ` is 0 where the code is `LINK`. If there is such a nibble, the borrow
        // of the subtraction shows it.
        let differ = (self.0 ^ (LINK as u64 * ONES)) | (15 << 60);
        differ.wrapping_sub(ONES) & !differ & (8 * ONES) != 0
    }

    /// Returns these codes with the code of one slot replaced.
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
        let mut lengths = KeyLengths::empty(15);
        assert!((0..15).all(|slot| lengths.code(slot) == FRESH && !lengths.is_live(slot)));
        for slot in 0..15 {
            lengths = lengths.with(slot, (slot % 10) as u8);
        }
        assert!((0..15).all(|slot| lengths.code(slot) == (slot % 10) as u8 && lengths.is_live(slot)));
        assert_eq!(lengths.width(), 15);
        assert_eq!(lengths.with(3, REUSED).code(3), REUSED);
        assert!(!lengths.with(3, REUSED).is_live(3));
    }
}
