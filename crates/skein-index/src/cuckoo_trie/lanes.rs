//! The lanes of a bucket, which say what entries it has; and looking for one among the four.

use super::entry::{BY_COLOR, BY_PARENT, SECONDARY, TAG};

/// Entries in a bucket.
pub(super) const SLOTS: usize = 4;

/// What a search wants to find in a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryQuery {
    /// The lane, as far as it counts.
    lane: u32,
    /// What of it counts; not the first bit.
    mask: u32,
    /// The entry's own color, if it is known.
    pub(super) color: Option<u8>,
}

impl EntryQuery {
    /// An entry whose lane is this one as far as `mask` goes, which leaves out the first bit.
    #[inline(always)]
    fn new(lane: u32, mask: u32, color: Option<u8>) -> Self {
        Self { lane: lane & mask, mask, color }
    }

    /// A node with this lane: a branch's child.
    #[inline(always)]
    pub(super) fn by_parent(lane: u32) -> Self {
        Self::new(lane, BY_PARENT, None)
    }

    /// A node with this lane, whatever its parent's color is.
    #[inline(always)]
    pub(super) fn by_name(lane: u32) -> Self {
        Self::new(lane, BY_COLOR, None)
    }

    /// A node with this lane, whatever its parent's color is, and this color: a jump's child.
    #[inline(always)]
    pub(super) fn by_color(lane: u32, color: u8) -> Self {
        Self::new(lane, BY_COLOR, Some(color))
    }

    /// The same in the entry's other bucket.
    #[inline(always)]
    pub(super) fn moved(&self) -> Self {
        Self { lane: self.lane ^ SECONDARY, ..*self }
    }

    /// Whether it is for the entry's secondary bucket.
    #[inline(always)]
    pub(super) fn is_moved(&self) -> bool {
        self.lane & SECONDARY != 0
    }
}

/// The lanes of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes(pub(super) [u64; 2]);

impl Lanes {
    /// The lane of a slot.
    #[inline(always)]
    pub(super) fn get(self, slot: usize) -> u32 {
        let Self([low, high]) = self;
        // A choice, where an index would send both words through memory.
        let pair = if slot < SLOTS / 2 { low } else { high };
        (pair >> (32 * (slot % 2))) as u32
    }

    /// The slots whose lanes are as wanted.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn with(self, want: &EntryQuery) -> SlotBits {
        use std::arch::x86_64 as simd;
        let Self([low, high]) = self;
        // SAFETY: each of these processors has SSE2.
        unsafe {
            let all = |number: u32| simd::_mm_set1_epi32(number.cast_signed());
            let lanes = simd::_mm_set_epi64x(high.cast_signed(), low.cast_signed());
            let equal = simd::_mm_cmpeq_epi32(simd::_mm_and_si128(lanes, all(want.mask)), all(want.lane));
            SlotBits(simd::_mm_movemask_ps(simd::_mm_castsi128_ps(equal)).cast_unsigned() as u8)
        }
    }

    /// The slots whose lanes are as wanted.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    pub(super) fn with(self, want: &EntryQuery) -> SlotBits {
        self.with_by_words(want)
    }

    /// The same on any processor.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    #[inline(always)]
    fn with_by_words(self, want: &EntryQuery) -> SlotBits {
        const REST: u64 = 0x7fff_ffff_7fff_ffff;
        let twice = |half: u32| u64::from(half) << 32 | u64::from(half);
        // What differs, without first bits: adding carries into the first bit unless nothing does.
        let found = self.0.map(|pair| !(((pair & twice(want.mask)) ^ twice(want.lane)) + REST) & !REST);
        // Slots 0 and 1 at bits 0 and 32, slots 2 and 3 at bits 2 and 34.
        let slots = found[0] >> 31 | found[1] >> 29;
        SlotBits((slots | slots >> 31) as u8 & 15)
    }

    /// The slots without an entry.
    #[inline(always)]
    pub(super) fn free(self) -> SlotBits {
        self.with(&EntryQuery::new(0, BY_PARENT, None))
    }

    #[inline(always)]
    pub(super) fn has_room(self) -> bool {
        self.free().0 != 0
    }

    /// Whether there is an entry with a tag, or a free slot that seems so.
    #[inline(always)]
    pub(super) fn may_have_tag(self, tag: u32) -> bool {
        self.with(&EntryQuery::new(tag, TAG, None)).0 != 0
    }
}

/// Slots of a bucket, a bit for each.
#[derive(Debug)]
pub(super) struct SlotBits(pub(super) u8);

impl SlotBits {
    /// The first one; [`SLOTS`] if there is none.
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
        // Four bits for each set of slots: not all of these processors count ones by themselves.
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
