//! Buckets: four entries and a version, one cache line, eight equal words.
//!
//! ```text
//!   word 0    small of entries 3, 2, 1, 0 │ version 30 │ changing │ locked
//!   words 1, 2    lanes of entries 1, 0 and 3, 2
//!   words 3 to 6  low of entry 0, 1, 2, 3
//!   word 7        high of entries 3, 2, 1, 0
//! ```
//!
//! A search looks at the first three words, and at two more if an entry has what it wants. A slot whose lane is 0 has no entry; what else it has means
//! nothing.
//!
//! # Invariants
//! 1. Only the holder of the lock changes a bucket. It marks the bucket as changing before, and unlocks it with the next version
//!    after; a bucket that was locked and not changed keeps its version.
//! 2. What a reader took from a bucket that was not changing, and whose version is the same afterwards, was there at one moment.
//!    (2^30 changes while one reader stands still, a minute's worth with nothing else going on, would deceive it.)

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::spin::Backoff;

use super::entry::{BY_COLOR, BY_PARENT, Entry, SECONDARY, TAG};

/// Entries in a bucket.
pub(super) const SLOTS: usize = 4;
/// Words in a bucket.
pub(super) const WORDS: usize = 8;
const LOCKED: u64 = 1;
const CHANGING: u64 = 2;
const VERSION_ONE: u64 = 4;
const LANES: usize = 1;
const LOWS: usize = 3;
const HIGHS: usize = 7;

/// A bucket in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket<'t>(pub(super) &'t [AtomicU64; WORDS]);

/// A bucket's version, as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Version(u32);

impl Version {
    fn of(word: u64) -> Self {
        Self((word & !LOCKED) as u32)
    }
}

/// What a search wants to find in a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// The lane, as far as it counts.
    lane: u32,
    /// What of it counts; not the first bit.
    mask: u32,
    /// The entry's own color, if it is known.
    color: Option<u8>,
}

impl Want {
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

    /// The slot of what is wanted in a bucket with these first words; [`SLOTS`] if it is not there.
    #[inline(always)]
    fn slot(&self, first: u64, lanes: Lanes) -> usize {
        let mut slots = lanes.with(self);
        match self.color {
            None => slots.first_or_none(),
            Some(color) => slots.find(|&slot| small_in(first, slot) & 7 == color).unwrap_or(SLOTS),
        }
    }
}

impl Bucket<'_> {
    /// The first word, once nobody is changing the bucket.
    #[inline(always)]
    fn stable(self) -> u64 {
        // Acquire: pairs with the Release of `unlock`.
        let word = self.0[0].load(Ordering::Acquire);
        if word & CHANGING == 0 { word } else { self.wait() }
    }

    #[cold]
    #[inline(never)]
    fn wait(self) -> u64 {
        let mut backoff = Backoff::new();
        loop {
            backoff.wait();
            let word = self.0[0].load(Ordering::Acquire);
            if word & CHANGING == 0 {
                return word;
            }
        }
    }

    /// Whether the bucket is not what it was at `version`.
    #[inline(always)]
    pub(super) fn changed(self, version: Version) -> bool {
        // The loads before this one are Acquire, so it comes after them; whoever wrote what they saw had marked the bucket.
        Version::of(self.0[0].load(Ordering::Relaxed)) != version
    }

    #[inline(always)]
    fn word(self, index: usize) -> u64 {
        // Acquire: pairs with the Release in `write`; what is seen of a change brings its mark along.
        self.0[index].load(Ordering::Acquire)
    }

    /// The entry that is wanted, with its slot, which is [`SLOTS`] if there is none, and the bucket's version.
    #[inline(always)]
    pub(super) fn find(self, want: &Want) -> (usize, Entry, Version) {
        loop {
            let first = self.stable();
            let lanes = self.lanes();
            let slot = want.slot(first, lanes);
            let entry = self.entry_in(first, lanes, slot % SLOTS);
            let version = Version::of(first);
            if !self.changed(version) {
                return (slot, entry, version);
            }
        }
    }

    /// The entry with a lane, and so with its parent's color, in this bucket or in its other one; with its slot, those of the other one from
    /// [`SLOTS`] on, and twice as much if there is none; and with the version of the bucket that has it.
    ///
    /// For many searches, whose buckets are in the cache by now: a core need not guess in which of both it is.
    #[inline(always)]
    pub(super) fn find_in_both(self, other: Self, lane: u32) -> (usize, Entry, Version) {
        let want = Want::by_parent(lane);
        loop {
            let firsts = (self.stable(), other.stable());
            let lanes = (self.lanes(), other.lanes());
            let slots = lanes.0.with(&want).0 | lanes.1.with(&want.moved()).0 << SLOTS;
            let slot = (u32::from(slots) | 1 << (2 * SLOTS)).trailing_zeros() as usize;
            let (bucket, first) = if slot < SLOTS { (self, firsts.0) } else { (other, firsts.1) };
            let entry = bucket.entry_in(first, bucket.lanes(), slot % SLOTS);
            let version = Version::of(first);
            if !bucket.changed(version) {
                return (slot, entry, version);
            }
        }
    }

    /// An entry of a bucket whose first words were read.
    #[inline(always)]
    fn entry_in(self, first: u64, lanes: Lanes, slot: usize) -> Entry {
        let (low, high) = (self.word(LOWS + slot), high_in(self.word(HIGHS), slot));
        Entry { lane: lanes.get(slot), small: small_in(first, slot), low, high }
    }

    /// The entry in a slot, with the bucket's version.
    #[inline(always)]
    pub(super) fn entry(self, slot: usize) -> (Entry, Version) {
        loop {
            let first = self.stable();
            let entry = self.entry_in(first, self.lanes(), slot);
            let version = Version::of(first);
            if !self.changed(version) {
                return (entry, version);
            }
        }
    }

    /// The lanes; a hint.
    #[inline(always)]
    pub(super) fn lanes(self) -> Lanes {
        Lanes([self.word(LANES), self.word(LANES + 1)])
    }

    /// All of the bucket at one moment.
    #[inline(always)]
    pub(super) fn image(self) -> Image {
        loop {
            let mut words = [self.stable(), 0, 0, 0, 0, 0, 0, 0];
            for (index, word) in words.iter_mut().enumerate().skip(1) {
                *word = self.word(index);
            }
            if !self.changed(Version::of(words[0])) {
                return Image::of(words);
            }
        }
    }

    /// Locks the bucket if its first word is still `seen`.
    #[inline(always)]
    pub(super) fn lock(self, seen: u64) -> bool {
        let unlocked = seen & !LOCKED;
        // Acquire: pairs with the Release of whoever unlocked it. Relaxed on failure: nothing is read then.
        let exchange =
            self.0[0].compare_exchange(unlocked, unlocked | LOCKED, Ordering::Acquire, Ordering::Relaxed);
        exchange.is_ok()
    }

    /// Marks the locked bucket, which is as in `image`, as changing.
    #[inline(always)]
    pub(super) fn mark(self, image: &Image) {
        // Relaxed: the words that follow are stored with Release.
        self.0[0].store(image.first() | LOCKED | CHANGING, Ordering::Relaxed);
    }

    /// Stores all words but the first of a bucket that is locked and marked.
    #[inline(always)]
    pub(super) fn write(self, image: &Image) {
        for (word, value) in self.0.iter().zip(image.words()).skip(1) {
            // Words that stay what they are have no need of a store; without them a model has fewer orders to go through.
            if cfg!(skein_loom) && word.load(Ordering::Relaxed) == value {
                continue;
            }
            // Release: pairs with the Acquire in `word`: who sees this sees the mark.
            word.store(value, Ordering::Release);
        }
    }

    /// Unlocks a bucket that was marked and written, with the next version.
    #[inline(always)]
    pub(super) fn unlock_changed(self, image: &Image) {
        let version = (image.version & !(LOCKED | CHANGING) as u32).wrapping_add(VERSION_ONE as u32);
        self.unlock(image.first() & !u64::from(u32::MAX) | u64::from(version));
    }

    /// Unlocks a bucket that was not changed, and whose first word was `seen` before it was locked.
    #[inline(always)]
    pub(super) fn unlock_unchanged(self, seen: u64) {
        self.unlock(seen & !LOCKED);
    }

    fn unlock(self, word: u64) {
        // Release: pairs with the Acquire in `stable` and `lock`.
        self.0[0].store(word, Ordering::Release);
    }
}

#[inline(always)]
fn lane_in([low, high]: [u64; 2], slot: usize) -> u32 {
    // A choice, where an index would send both words through memory.
    let pair = if slot < 2 { low } else { high };
    (pair >> (32 * (slot % 2))) as u32
}

#[inline(always)]
fn small_in(first: u64, slot: usize) -> u8 {
    (first >> (32 + 8 * slot)) as u8
}

#[inline(always)]
fn high_in(highs: u64, slot: usize) -> u16 {
    (highs >> (16 * slot)) as u16
}

/// The lanes of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes([u64; 2]);

impl Lanes {
    /// The lane of a slot.
    #[inline(always)]
    pub(super) fn get(self, slot: usize) -> u32 {
        lane_in(self.0, slot)
    }

    /// The slots whose lanes are as wanted.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn with(self, want: &Want) -> Slots {
        use std::arch::x86_64 as simd;
        let Self([low, high]) = self;
        // SAFETY: each of these processors has SSE2.
        unsafe {
            let all = |number: u32| simd::_mm_set1_epi32(number.cast_signed());
            let lanes = simd::_mm_set_epi64x(high.cast_signed(), low.cast_signed());
            let equal = simd::_mm_cmpeq_epi32(simd::_mm_and_si128(lanes, all(want.mask)), all(want.lane));
            Slots(simd::_mm_movemask_ps(simd::_mm_castsi128_ps(equal)).cast_unsigned() as u8)
        }
    }

    /// The slots whose lanes are as wanted.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn with(self, want: &Want) -> Slots {
        self.with_by_words(want)
    }

    /// The same on any processor.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    #[inline(always)]
    fn with_by_words(self, want: &Want) -> Slots {
        const REST: u64 = 0x7fff_ffff_7fff_ffff;
        let twice = |half: u32| u64::from(half) << 32 | u64::from(half);
        // What differs, without first bits: adding carries into the first bit unless nothing does.
        let found = self.0.map(|pair| !(((pair & twice(want.mask)) ^ twice(want.lane)) + REST) & !REST);
        // Slots 0 and 1 at bits 0 and 32, slots 2 and 3 at bits 2 and 34.
        let slots = found[0] >> 31 | found[1] >> 29;
        Slots((slots | slots >> 31) as u8 & 15)
    }

    /// The slots without an entry.
    #[inline(always)]
    pub(super) fn free(self) -> Slots {
        self.with(&Want::new(0, BY_PARENT, None))
    }

    #[inline(always)]
    pub(super) fn has_room(self) -> bool {
        self.free().0 != 0
    }

    /// Whether there is an entry with a tag, or a free slot that seems so.
    #[inline(always)]
    pub(super) fn may_have_tag(self, tag: u32) -> bool {
        self.with(&Want::new(tag, TAG, None)).0 != 0
    }
}

/// A copy of a bucket, field by field.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Image {
    /// The last half of the first word.
    version: u32,
    small: [u8; SLOTS],
    lane: [u32; SLOTS],
    low: [u64; SLOTS],
    high: [u16; SLOTS],
}

impl Image {
    #[inline(always)]
    fn of(words: [u64; WORDS]) -> Self {
        let lanes = [words[LANES], words[LANES + 1]];
        Self {
            version: words[0] as u32,
            small: std::array::from_fn(|slot| small_in(words[0], slot)),
            lane: std::array::from_fn(|slot| lane_in(lanes, slot)),
            low: std::array::from_fn(|slot| words[LOWS + slot]),
            high: std::array::from_fn(|slot| high_in(words[HIGHS], slot)),
        }
    }

    #[inline(always)]
    fn words(&self) -> [u64; WORDS] {
        let Lanes(lanes) = self.lanes();
        let highs = (0..SLOTS).fold(0, |highs, slot| highs | u64::from(self.high[slot]) << (16 * slot));
        let low = &self.low;
        [self.first(), lanes[0], lanes[1], low[0], low[1], low[2], low[3], highs]
    }

    #[inline(always)]
    pub(super) fn version(&self) -> Version {
        Version::of(self.version.into())
    }

    /// The first word.
    #[inline(always)]
    pub(super) fn first(&self) -> u64 {
        let small = (0..SLOTS).fold(0, |small, slot| small | u64::from(self.small[slot]) << (32 + 8 * slot));
        small | u64::from(self.version)
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
    pub(super) fn get(&self, slot: usize) -> Entry {
        Entry { lane: self.lane[slot], small: self.small[slot], low: self.low[slot], high: self.high[slot] }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, slot: usize, entry: Entry) {
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
    pub(super) fn free(&self) -> Slots {
        self.lanes().free()
    }

    /// The entries, with their slots.
    #[inline(always)]
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, Entry)> + '_ {
        (0..SLOTS).map(|slot| (slot, self.get(slot))).filter(|(_, entry)| !entry.is_none())
    }
}

/// Slots of a bucket, a bit for each.
#[derive(Debug)]
pub(super) struct Slots(u8);

impl Slots {
    /// The first one; [`SLOTS`] if there is none.
    #[inline(always)]
    fn first_or_none(&self) -> usize {
        (self.0 | 1 << SLOTS).trailing_zeros() as usize
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        // Four bits for each set of slots.
        const LENGTHS: u64 = 0x4332_3221_3221_2110;
        (LENGTHS >> (4 * self.0)) as u32 & 15
    }
}

impl Iterator for Slots {
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
            for want in some.into_iter().flat_map(|lane| [Want::by_parent(lane), Want::by_name(lane)]) {
                let slots = lanes.with(&want).0;
                assert_eq!(slots, lanes.with_by_words(&want).0, "{want:?} in {lanes:?}");
                let expected = (0..SLOTS).filter(|&slot| lanes.get(slot) & want.mask == want.lane);
                assert!(Slots(slots).eq(expected), "{want:?} in {lanes:?}");
            }
        }
    }
}
