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

use super::entry::CuckooEntry;
use super::image::{CuckooBucketImage, color_in, high_in, small_in};
use super::lanes::{EntryQuery, Lanes, SLOTS};

/// Words in a bucket.
pub(super) const WORDS: usize = 8;
pub(super) const LOCKED: u64 = 1;
pub(super) const CHANGING: u64 = 2;
pub(super) const LANES: usize = 1;
pub(super) const LOWS: usize = 3;
pub(super) const HIGHS: usize = 7;

/// A bucket in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket<'t>(pub(super) &'t [AtomicU64; WORDS]);

/// A bucket's version, as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BucketVersion(u32);

impl BucketVersion {
    pub(super) fn of(word: u64) -> Self {
        Self((word & !LOCKED) as u32)
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
    pub(super) fn changed(self, version: BucketVersion) -> bool {
        // The loads before this one are Acquire, so it comes after them; whoever wrote what they saw had marked the bucket.
        BucketVersion::of(self.0[0].load(Ordering::Relaxed)) != version
    }

    #[inline(always)]
    fn word(self, index: usize) -> u64 {
        // Acquire: pairs with the Release in `write`; what is seen of a change brings its mark along.
        self.0[index].load(Ordering::Acquire)
    }

    /// The entry that is wanted, with its slot, which is [`SLOTS`] if there is none, and the bucket's version.
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

    /// The entry with a lane, and so with its parent's color, in this bucket or in its other one; with its slot, those of the other one from
    /// [`SLOTS`] on, and twice as much if there is none; and with the version of the bucket that has it.
    ///
    /// For many searches, whose buckets are in the cache by now: a core need not guess in which of both it is.
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

    /// An entry of a bucket whose first words were read.
    #[inline(always)]
    fn entry_in(self, first: u64, lanes: Lanes, slot: usize) -> CuckooEntry {
        let (low, high) = (self.word(LOWS + slot), high_in(self.word(HIGHS), slot));
        CuckooEntry { lane: lanes.get(slot), small: small_in(first, slot), low, high }
    }

    /// The entry in a slot, with the bucket's version.
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

    /// The lanes; a hint.
    #[inline(always)]
    pub(super) fn lanes(self) -> Lanes {
        Lanes([self.word(LANES), self.word(LANES + 1)])
    }

    /// All of the bucket at one moment.
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
    pub(super) fn mark(self, image: &CuckooBucketImage) {
        // Relaxed: the words that follow are stored with Release.
        self.0[0].store(image.first() | LOCKED | CHANGING, Ordering::Relaxed);
    }

    /// Stores all words but the first of a bucket that is locked and marked.
    #[inline(always)]
    pub(super) fn write(self, image: &CuckooBucketImage) {
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
    pub(super) fn unlock_changed(self, image: &CuckooBucketImage) {
        self.unlock(image.as_next_version().first());
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

/// The slot of what is wanted in a bucket with these first words; [`SLOTS`] if it is not there.
#[inline(always)]
fn slot_of(want: &EntryQuery, first: u64, lanes: Lanes) -> usize {
    let mut slots = lanes.with(want);
    match want.color {
        None => slots.first_or_none(),
        Some(color) => slots.find(|&slot| color_in(first, slot) == color).unwrap_or(SLOTS),
    }
}
