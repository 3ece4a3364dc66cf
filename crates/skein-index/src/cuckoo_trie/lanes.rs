//! The lanes of a bucket: 32 bits per entry. One comparison of a vector register tells a search
//! which of the four entries match.

use super::entry::{BY_COLOR, BY_PARENT, SECONDARY, TAG};

/// The number of entries in a bucket.
pub(super) const SLOTS: usize = 4;

/// A description of the entry that a search looks for in a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryQuery {
    /// The expected bits of the lane.
    lane: u32,
    /// The bits of the lane that count. The highest bit never counts.
    mask: u32,
    /// The color of the entry, if the search knows it.
    pub(super) color: Option<u8>,
}

impl EntryQuery {
    /// Matches entries with the bits of `lane` in `mask`, which must not have the highest bit.
    #[inline(always)]
    fn new(lane: u32, mask: u32, color: Option<u8>) -> Self {
        Self { lane: lane & mask, mask, color }
    }

    /// Matches the node with this lane, including the parent's color: the child of a branch.
    #[inline(always)]
    pub(super) fn by_parent(lane: u32) -> Self {
        Self::new(lane, BY_PARENT, None)
    }

    /// Matches a node with this lane, under a parent of any color.
    #[inline(always)]
    pub(super) fn by_name(lane: u32) -> Self {
        Self::new(lane, BY_COLOR, None)
    }

    /// Matches the node with this lane and this color, under a parent of any color: the child of a
    /// jump.
    #[inline(always)]
    pub(super) fn by_color(lane: u32, color: u8) -> Self {
        Self::new(lane, BY_COLOR, Some(color))
    }

    /// Returns the same query for the other bucket of the entry.
    #[inline(always)]
    pub(super) fn moved(&self) -> Self {
        Self { lane: self.lane ^ SECONDARY, ..*self }
    }

    /// Returns whether the query is for the secondary bucket of the entry.
    #[inline(always)]
    pub(super) fn is_moved(&self) -> bool {
        self.lane & SECONDARY != 0
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes(pub(super) [u64; 2]);

impl Lanes {
    #[inline(always)]
    pub(super) fn get(self, slot: usize) -> u32 {
        let Self([low, high]) = self;
        // A select instruction; indexing would write both words to the stack first.
        let pair = if slot < SLOTS / 2 { low } else { high };
        (pair >> (32 * (slot % 2))) as u32
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn with(self, want: &EntryQuery) -> SlotBits {
        use std::arch::x86_64 as simd;
        let Self([low, high]) = self;
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            let all = |number: u32| simd::_mm_set1_epi32(number.cast_signed());
            let lanes = simd::_mm_set_epi64x(high.cast_signed(), low.cast_signed());
            let equal = simd::_mm_cmpeq_epi32(simd::_mm_and_si128(lanes, all(want.mask)), all(want.lane));
            SlotBits(simd::_mm_movemask_ps(simd::_mm_castsi128_ps(equal)).cast_unsigned() as u8)
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    pub(super) fn with(self, want: &EntryQuery) -> SlotBits {
        self.with_by_words(want)
    }

    /// Does the same as [`Self::with`], in a portable way.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    #[inline(always)]
    fn with_by_words(self, want: &EntryQuery) -> SlotBits {
        const REST: u64 = 0x7fff_ffff_7fff_ffff;
        let twice = |half: u32| u64::from(half) << 32 | u64::from(half);
        // The differing bits, without the highest. The addition carries into the highest bit unless
        // all are 0.
        let found = self.0.map(|pair| !(((pair & twice(want.mask)) ^ twice(want.lane)) + REST) & !REST);
        // Slots 0 and 1 are at bits 0 and 32, slots 2 and 3 at bits 2 and 34.
        let slots = found[0] >> 31 | found[1] >> 29;
        SlotBits((slots | slots >> 31) as u8 & 15)
    }

    #[inline(always)]
    pub(super) fn free(self) -> SlotBits {
        self.with(&EntryQuery::new(0, BY_PARENT, None))
    }

    #[inline(always)]
    pub(super) fn has_room(self) -> bool {
        self.free().0 != 0
    }

    /// Returns whether a slot has this tag. A free slot may count as one.
    #[inline(always)]
    pub(super) fn may_have_tag(self, tag: u32) -> bool {
        self.with(&EntryQuery::new(tag, TAG, None)).0 != 0
    }
}

#[derive(Debug)]
pub(super) struct SlotBits(pub(super) u8);

impl SlotBits {
    /// Returns the first slot, or [`SLOTS`] if the set is empty.
    #[inline(always)]
    pub(super) fn first_or_none(&self) -> usize {
        (self.0 | 1 << SLOTS).trailing_zeros() as usize
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        // A table of four bits per set: not every one of these processors has an instruction that
        // counts ones.
        const LENGTHS: u64 = 0x4332_3221_3221_2110;
        (LENGTHS >> (4 * self.0)) as u32 & 15
    }
}

impl Iterator for SlotBits {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let slot = self.first()?;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_found_in_the_same_slots_on_any_processor() {
        let some = [0, 1, 0x7fff_ffff, 0x0fff_ffff, 0x7000_0001, SECONDARY, SECONDARY | 1];
        for index in 0..some.len().pow(3) {
            let [a, b, c] = [1, 7, 49].map(|base| u64::from(some[index / base % some.len()]));
            let lanes = Lanes([b << 32 | a, a << 32 | c]);
            for want in
                some.into_iter().flat_map(|lane| [EntryQuery::by_parent(lane), EntryQuery::by_name(lane)])
            {
                let slots = lanes.with(&want).0;
                assert_eq!(slots, lanes.with_by_words(&want).0, "{want:?} in {lanes:?}");
                let expected = (0..SLOTS).filter(|&slot| lanes.get(slot) & want.mask == want.lane);
                assert!(SlotBits(slots).eq(expected), "{want:?} in {lanes:?}");
            }
        }
    }
}
