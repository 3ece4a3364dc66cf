//! Buckets: one cache line of eight words, with four entries and a version; and private copies of
//! buckets.
//!
//! ```text
//!   word 0        small of entries 3, 2, 1, 0 │ version 30 │ changing │ locked
//!   words 1, 2    lanes of entries 1, 0 and 3, 2
//!   words 3 to 6  low of entry 0, 1, 2, 3
//!   word 7        high of entries 3, 2, 1, 0
//! ```
//!
//! A search reads the first three words, and two more if a lane matches. A slot with a lane of 0
//! has no entry; its other fields mean nothing.
//!
//! # Invariants
//! The first word is a [`VersionLock`], with its invariants. Readers wait only while a bucket is
//! changing.
//! 1. A bucket that was locked but not changed keeps its version.
//! 2. 2^30 changes during one reader's pause, a minute of writes to one bucket, would deceive the
//!    reader.

use skein_sync::atomic::{AtomicU64, Ordering};

use super::entry::CuckooEntry;
use super::lanes::{EntryQuery, Lanes, SLOTS, SlotBits};
use crate::buckets::{LOCKED, VersionLock};

pub(super) const WORDS: usize = 8;
const CHANGING: u64 = 2;
const LANES: usize = 1;
const LOWS: usize = 3;
const HIGHS: usize = 7;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket<'t>(pub(super) &'t [AtomicU64; WORDS]);

/// The version of a bucket that a reader saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BucketVersion(u32);

impl BucketVersion {
    pub(super) fn of(word: u64) -> Self {
        Self((word & !LOCKED) as u32)
    }
}

impl Bucket<'_> {
    #[inline(always)]
    fn version_lock(&self) -> VersionLock<'_, CHANGING> {
        VersionLock(&self.0[0])
    }

    /// Returns the first word; waits while a writer is changing the bucket.
    #[inline(always)]
    fn stable(self) -> u64 {
        self.version_lock().stable()
    }

    /// Returns whether the bucket has changed since `version`.
    #[inline(always)]
    pub(super) fn changed(self, version: BucketVersion) -> bool {
        BucketVersion::of(self.version_lock().after_reads()) != version
    }

    #[inline(always)]
    fn word(self, index: usize) -> u64 {
        // Acquire: pairs with the Release in `write`. A reader that sees a new word also sees the
        // mark.
        self.0[index].load(Ordering::Acquire)
    }

    /// Returns the slot and the entry that match `want`, and the version of the bucket. If no entry
    /// matches, the slot is [`SLOTS`] and the entry means nothing.
    #[inline(always)]
    pub(super) fn find(self, want: &EntryQuery) -> (usize, CuckooEntry, BucketVersion) {
        loop {
            let first = self.stable();
            let lanes = self.lanes();
            let slot = slot_of(want, first, lanes);
            let entry = self.entry_in(first, lanes, slot % SLOTS);
            let version = BucketVersion::of(first);
            if !self.changed(version) {
                return (slot, entry, version);
            }
        }
    }

    /// Finds the entry with this lane, which includes the parent's color, in this bucket or in its
    /// other bucket. Returns the slot, the entry, and the version of the bucket that has it. Slots
    /// of the other bucket begin at [`SLOTS`]. If no entry matches, the slot is `2 * SLOTS`.
    ///
    /// Use it for searches whose buckets are probably in the cache: without a branch between the
    /// two buckets, the processor has nothing to mispredict.
    #[inline(always)]
    pub(super) fn find_in_both(self, other: Self, lane: u32) -> (usize, CuckooEntry, BucketVersion) {
        let want = EntryQuery::by_parent(lane);
        loop {
            let firsts = (self.stable(), other.stable());
            let lanes = (self.lanes(), other.lanes());
            let slots = lanes.0.with(&want).0 | lanes.1.with(&want.moved()).0 << SLOTS;
            let slot = (u32::from(slots) | 1 << (2 * SLOTS)).trailing_zeros() as usize;
            let (bucket, first) = if slot < SLOTS { (self, firsts.0) } else { (other, firsts.1) };
            let entry = bucket.entry_in(first, bucket.lanes(), slot % SLOTS);
            let version = BucketVersion::of(first);
            if !bucket.changed(version) {
                return (slot, entry, version);
            }
        }
    }

    /// Returns the entry in a slot of this bucket, from these first words.
    #[inline(always)]
    fn entry_in(self, first: u64, lanes: Lanes, slot: usize) -> CuckooEntry {
        let (low, high) = (self.word(LOWS + slot), high_in(self.word(HIGHS), slot));
        CuckooEntry { lane: lanes.get(slot), small: small_in(first, slot), low, high }
    }

    /// Returns the entry in a slot, and the version of the bucket.
    #[inline(always)]
    pub(super) fn entry(self, slot: usize) -> (CuckooEntry, BucketVersion) {
        loop {
            let first = self.stable();
            let entry = self.entry_in(first, self.lanes(), slot);
            let version = BucketVersion::of(first);
            if !self.changed(version) {
                return (entry, version);
            }
        }
    }

    /// Returns the lanes without a check of the version: a hint.
    #[inline(always)]
    pub(super) fn lanes(self) -> Lanes {
        Lanes([self.word(LANES), self.word(LANES + 1)])
    }

    /// Returns a consistent copy of the bucket.
    #[inline(always)]
    pub(super) fn image(self) -> CuckooBucketImage {
        loop {
            let mut words = [self.stable(), 0, 0, 0, 0, 0, 0, 0];
            for (index, word) in words.iter_mut().enumerate().skip(1) {
                *word = self.word(index);
            }
            if !self.changed(BucketVersion::of(words[0])) {
                return CuckooBucketImage::of(words);
            }
        }
    }

    /// Locks the bucket if its first word is still `seen`. Returns whether it did.
    #[inline(always)]
    pub(super) fn lock(self, seen: u64) -> bool {
        self.version_lock().lock(seen & !LOCKED)
    }

    /// Marks the bucket as changing. The bucket must be locked and equal `image`.
    #[inline(always)]
    pub(super) fn mark(self, image: &CuckooBucketImage) {
        self.version_lock().mark(image.first() | LOCKED | CHANGING);
    }

    /// Stores all words but the first. The bucket must be locked and marked.
    #[inline(always)]
    pub(super) fn write(self, image: &CuckooBucketImage) {
        for (word, value) in self.0.iter().zip(image.words()).skip(1) {
            // Unchanged words need no store. Models skip them, to have fewer interleavings to
            // explore.
            if cfg!(skein_loom) && word.load(Ordering::Relaxed) == value {
                continue;
            }
            // Release: pairs with the Acquire in `word`. A reader that sees this word sees the
            // mark.
            word.store(value, Ordering::Release);
        }
    }

    /// Unlocks the changed bucket with the next version.
    #[inline(always)]
    pub(super) fn unlock_changed(self, image: &CuckooBucketImage) {
        self.version_lock().unlock(image.as_next_version().first());
    }

    /// Unlocks an unchanged bucket. `seen` must be its first word before it was locked.
    #[inline(always)]
    pub(super) fn unlock_unchanged(self, seen: u64) {
        self.version_lock().unlock(seen & !LOCKED);
    }
}

/// Returns the slot of the entry that matches `want`, or [`SLOTS`] if no entry matches.
#[inline(always)]
fn slot_of(want: &EntryQuery, first: u64, lanes: Lanes) -> usize {
    let mut slots = lanes.with(want);
    match want.color {
        None => slots.first_or_none(),
        Some(color) => slots.find(|&slot| color_in(first, slot) == color).unwrap_or(SLOTS),
    }
}

/// The difference between two consecutive versions. The two bits below are the marks.
const VERSION_ONE: u32 = 4;

/// A private copy of a bucket. Its fields have the order of the bucket's words, so that copying in
/// and out moves little.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct CuckooBucketImage {
    /// The lower half of the first word.
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

    #[inline(always)]
    pub(super) fn first(&self) -> u64 {
        let small = (0..SLOTS).fold(0, |small, slot| small | u64::from(self.small[slot]) << (32 + 8 * slot));
        small | u64::from(self.version)
    }

    #[inline(always)]
    pub(super) fn as_next_version(&self) -> Self {
        self.with_version(self.version.wrapping_add(VERSION_ONE))
    }

    pub(super) fn with_version(self, version: u32) -> Self {
        Self { version: version & !(LOCKED | CHANGING) as u32, ..self }
    }

    /// Splits the bucket. Returns a copy without the entries with lanes that satisfy `moves`, and a
    /// copy with only those.
    #[inline(always)]
    pub(super) fn split(&self, moves: impl Fn(u32) -> bool) -> (Self, Self) {
        let (mut kept, mut gone) = (*self, *self);
        for slot in 0..SLOTS {
            let left = if moves(self.lane[slot]) { &mut kept } else { &mut gone };
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

    #[inline(always)]
    pub(super) fn free(&self) -> SlotBits {
        self.lanes().free()
    }

    #[inline(always)]
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, CuckooEntry)> + '_ {
        (0..SLOTS).map(|slot| (slot, self.get(slot))).filter(|(_, entry)| !entry.is_none())
    }
}

#[inline(always)]
fn small_in(first: u64, slot: usize) -> u8 {
    (first >> (32 + 8 * slot)) as u8
}

#[inline(always)]
fn high_in(highs: u64, slot: usize) -> u16 {
    (highs >> (16 * slot)) as u16
}

#[inline(always)]
fn color_in(first: u64, slot: usize) -> u8 {
    small_in(first, slot) & 7
}
