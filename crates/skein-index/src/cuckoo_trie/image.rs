//! Copies of buckets, which a change is made in.

use super::bucket::{BucketVersion, CHANGING, HIGHS, LANES, LOCKED, LOWS, WORDS};
use super::entry::CuckooEntry;
use super::lanes::{Lanes, SLOTS, SlotBits};

/// What a version is more than the one before; beside it are two marks.
const VERSION_ONE: u32 = 4;

/// A copy of a bucket, field by field in the order of its words, so that reading and writing them back moves little.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct CuckooBucketImage {
    /// The last half of the first word.
    version: u32,
    small: [u8; SLOTS],
    lane: [u32; SLOTS],
    low: [u64; SLOTS],
    high: [u16; SLOTS],
}

impl CuckooBucketImage {
    #[inline(always)]
    pub(super) fn of(words: [u64; WORDS]) -> Self {
        let lanes = Lanes([words[LANES], words[LANES + 1]]);
        Self {
            version: words[0] as u32,
            small: std::array::from_fn(|slot| small_in(words[0], slot)),
            lane: std::array::from_fn(|slot| lanes.get(slot)),
            low: std::array::from_fn(|slot| words[LOWS + slot]),
            high: std::array::from_fn(|slot| high_in(words[HIGHS], slot)),
        }
    }

    #[inline(always)]
    pub(super) fn words(&self) -> [u64; WORDS] {
        let Lanes(lanes) = self.lanes();
        let highs = (0..SLOTS).fold(0, |highs, slot| highs | u64::from(self.high[slot]) << (16 * slot));
        let low = &self.low;
        [self.first(), lanes[0], lanes[1], low[0], low[1], low[2], low[3], highs]
    }

    #[inline(always)]
    pub(super) fn version(&self) -> BucketVersion {
        BucketVersion::of(self.version.into())
    }

    /// The first word.
    #[inline(always)]
    pub(super) fn first(&self) -> u64 {
        let small = (0..SLOTS).fold(0, |small, slot| small | u64::from(self.small[slot]) << (32 + 8 * slot));
        small | u64::from(self.version)
    }

    /// The same with the next version.
    #[inline(always)]
    pub(super) fn as_next_version(&self) -> Self {
        self.with_version(self.version.wrapping_add(VERSION_ONE))
    }

    /// The same with another version.
    pub(super) fn with_version(self, version: u32) -> Self {
        Self { version: version & !(LOCKED | CHANGING) as u32, ..self }
    }

    /// The bucket without those entries whose lanes go, and with them alone.
    #[inline(always)]
    pub(super) fn split(&self, goes: impl Fn(u32) -> bool) -> (Self, Self) {
        let (mut kept, mut gone) = (*self, *self);
        for slot in 0..SLOTS {
            let left = if goes(self.lane[slot]) { &mut kept } else { &mut gone };
            left.lane[slot] = 0;
        }
        (kept, gone)
    }

    #[inline(always)]
    pub(super) fn get(&self, slot: usize) -> CuckooEntry {
        CuckooEntry {
            lane: self.lane[slot],
            small: self.small[slot],
            low: self.low[slot],
            high: self.high[slot],
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, slot: usize, entry: CuckooEntry) {
        self.lane[slot] = entry.lane;
        self.small[slot] = entry.small;
        self.low[slot] = entry.low;
        self.high[slot] = entry.high;
    }

    #[inline(always)]
    pub(super) fn set_low(&mut self, slot: usize, low: u64) {
        self.low[slot] = low;
    }

    #[inline(always)]
    pub(super) fn lanes(&self) -> Lanes {
        let [a, b, c, d] = self.lane.map(u64::from);
        Lanes([b << 32 | a, d << 32 | c])
    }

    /// The slots without an entry.
    #[inline(always)]
    pub(super) fn free(&self) -> SlotBits {
        self.lanes().free()
    }

    /// The entries, with their slots.
    #[inline(always)]
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, CuckooEntry)> + '_ {
        (0..SLOTS).map(|slot| (slot, self.get(slot))).filter(|(_, entry)| !entry.is_none())
    }
}

#[inline(always)]
pub(super) fn small_in(first: u64, slot: usize) -> u8 {
    (first >> (32 + 8 * slot)) as u8
}

#[inline(always)]
pub(super) fn high_in(highs: u64, slot: usize) -> u16 {
    (highs >> (16 * slot)) as u16
}

/// The color of the entry in a slot.
#[inline(always)]
pub(super) fn color_in(first: u64, slot: usize) -> u8 {
    small_in(first, slot) & 7
}
