//! The table: buckets of four slots, and how a search finds a node in them.
//!
//! # Invariants
//! 1. The size ranges from [`LEAST`] to [`MOST`]. The holder of `sizing` has the right to change
//!    it.
//! 2. Buckets from the size on have no nodes. Their memory may have been returned to the system,
//!    and then reads as zeros. A late reader finds no node there either way, and a node that was
//!    not found is no evidence of anything (`search.rs`).

use std::marker::PhantomData;

use skein_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use skein_sync::mutex::Mutex;
use skein_sync::reclaim::PROTECT;

use super::image::{MlpBucketImage, SLOTS, WORDS};
use super::key::ShortKey;
use super::name::{HEADER_BITS, MlpBucketPair, NameHashSeeds, NodeName, SECONDARY, places};
use super::node::RawNode;
use super::resize::ResizeState;
use super::variant::MlpSettings;
use super::versions::StripeVersions;
use crate::buckets::{LinearHashSize, TableSize};
use crate::counter::Counter;
use crate::memory::{Arena, CACHE_LINE, GrowingWords, prefetch_read};

/// The least number of buckets. A bucket's number implies eleven bits of a name.
pub(super) const LEAST: u32 = 1 << HEADER_BITS;
/// The greatest number of buckets (16 GiB); few where the system does not commit memory lazily.
pub(super) const MOST: u32 = if cfg!(skein_loom) {
    LEAST
} else if cfg!(miri) {
    4 * LEAST
} else {
    1 << 28
};
/// The number of lines. Models have four, for names that end in the bits 0, 8, 16 or 24.
const LINES: usize = if cfg!(skein_loom) { 4 } else { MOST as usize };

/// Returns the words of this many buckets. A model allocates all of its lines at once, because its
/// buckets share them.
const fn words_of(buckets: u32) -> usize {
    LINE * if cfg!(skein_loom) { LINES } else { buckets as usize }
}

#[inline(always)]
pub(super) fn line_of(bucket: u32) -> usize {
    if cfg!(skein_loom) { bucket as usize / 8 % LINES } else { bucket as usize }
}

/// The cache line of a bucket, which begins with the bucket's words.
pub(super) type BucketLine = [AtomicU64; LINE];
const LINE: usize = CACHE_LINE / 8;

/// A result about a node that was found, with its bucket and the bucket's version.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundInBucket<T> {
    pub(super) bucket: u32,
    pub(super) version: u64,
    pub(super) what: T,
}

#[derive(Debug)]
pub(super) struct MlpTable<V: MlpSettings> {
    pub(super) size: TableSize,
    buckets: GrowingWords,
    pub(super) versions: StripeVersions,
    pub(super) seeds: NameHashSeeds,
    pub(super) sizing: Mutex<ResizeState>,
    /// The levels of most nodes, one bit each: in the lower half those that a lookup prefetches, in
    /// the upper half those of a batch (`levels.rs`).
    pub(super) levels: AtomicU32,
    pub(super) used: Counter,
    /// How many times a node moved to another bucket.
    pub(super) moved: Counter,
    variant: PhantomData<V>,
}

impl<V: MlpSettings> MlpTable<V> {
    pub(super) fn new(arena: &Arena) -> Self {
        let buckets = GrowingWords::new(arena, words_of(MOST), V::HUGE_PAGES);
        buckets.resize(words_of(LEAST));
        let sizing = ResizeState::default();
        Self {
            size: TableSize::new(LEAST),
            buckets,
            versions: StripeVersions::new(arena),
            seeds: NameHashSeeds::random(V::CROWDED),
            levels: AtomicU32::new(sizing.levels()),
            sizing: Mutex::new(sizing),
            used: Counter::new(),
            moved: Counter::new(),
            variant: PhantomData,
        }
    }

    /// Returns the size in a form that maps many hashes to buckets quickly.
    #[inline(always)]
    pub(super) fn size(&self) -> LinearHashSize {
        self.size.present()
    }

    /// Prepares memory for this many buckets, and returns memory beyond them to the system.
    pub(super) fn prepare(&self, buckets: u32) {
        self.buckets.resize(words_of(buckets));
    }

    /// Returns the line of a bucket, which must be or have been in use.
    #[inline(always)]
    pub(super) fn line(&self, bucket: u32) -> &BucketLine {
        // SAFETY: `LinearHashSize::place` returned the number for a size that the table had, or it
        // is the next bucket and its memory was prepared.
        unsafe { self.buckets.line(line_of(bucket)) }
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + use<V> {
        let step = if cfg!(skein_loom) { 8 } else { 1 };
        (0..self.size().buckets()).step_by(step).take(LINES)
    }

    #[inline(always)]
    pub(super) fn prefetch_bucket(&self, bucket: u32) {
        prefetch_read(self.buckets.line_address(line_of(bucket)));
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, pair: MlpBucketPair) {
        self.prefetch_bucket(pair.primary);
        self.prefetch_bucket(pair.secondary);
    }

    /// Returns the buckets of a key's name of this level in a table of this size.
    #[inline(always)]
    pub(super) fn pair(&self, key: ShortKey, level: u32, size: LinearHashSize) -> MlpBucketPair {
        MlpBucketPair::of(places(key, level, &self.seeds), size)
    }

    /// Finds the node with the name of this key and level. Returns the result of `take`, which sees
    /// all words of the node as they were at one moment.
    #[inline(always)]
    pub(super) fn find<T>(
        &self,
        key: ShortKey,
        level: u32,
        pair: MlpBucketPair,
        take: impl Fn(BucketNode<'_>) -> T,
    ) -> Option<FoundInBucket<T>> {
        let (name, MlpBucketPair { primary, secondary }) = (NodeName::of(key, level), pair);
        loop {
            let versions = (self.versions.stable(primary), self.versions.stable(secondary));
            let lines = (self.line(primary), self.line(secondary));
            let hits = slots_of(lines.0, name.want, name.mask)
                | slots_of(lines.1, name.want | SECONDARY, name.mask) << SLOTS;
            if hits == 0 {
                return None;
            }
            let slot = hits.trailing_zeros() as usize;
            // A select instruction: a branch between the two buckets would be unpredictable.
            let (bucket, line, version) =
                if slot < SLOTS { (primary, lines.0, versions.0) } else { (secondary, lines.1, versions.1) };
            let what = take(BucketNode { line, slot: slot % SLOTS });
            // A planted bug: reads of a bucket during a change count as valid.
            if cfg!(feature = "planted-bugs") || !self.versions.changed(bucket, version) {
                return Some(FoundInBucket { bucket, version, what });
            }
        }
    }

    /// Does the same for the primary bucket of the name alone.
    #[inline(always)]
    pub(super) fn find_first<T>(
        &self,
        key: ShortKey,
        level: u32,
        pair: MlpBucketPair,
        take: impl Fn(BucketNode<'_>) -> T,
    ) -> Option<T> {
        let (name, bucket) = (NodeName::of(key, level), pair.primary);
        loop {
            let version = self.versions.stable(bucket);
            let line = self.line(bucket);
            let hits = slots_of(line, name.want, name.mask);
            if hits == 0 {
                return None;
            }
            let what = take(BucketNode { line, slot: hits.trailing_zeros() as usize });
            if !self.versions.changed(bucket, version) {
                return Some(what);
            }
        }
    }

    /// Returns the words of the node with the name of this key and level.
    #[inline(always)]
    pub(super) fn node(
        &self,
        key: ShortKey,
        level: u32,
        pair: MlpBucketPair,
    ) -> Option<FoundInBucket<RawNode>> {
        self.find(key, level, pair, |view| RawNode(std::array::from_fn(|word| view.word(word))))
    }

    /// Returns a consistent copy of a bucket, and its version.
    pub(super) fn image(&self, bucket: u32) -> (MlpBucketImage, u64) {
        loop {
            let version = self.versions.stable(bucket);
            let image = MlpBucketImage(std::array::from_fn(|word| load(self.line(bucket), word)));
            if !self.versions.changed(bucket, version) {
                return (image, version);
            }
        }
    }

    /// Returns a copy of a bucket that may be inconsistent: a hint.
    #[inline(always)]
    pub(super) fn glance(&self, bucket: u32) -> MlpBucketImage {
        // Relaxed: the bucket is read again before anything depends on it.
        MlpBucketImage(std::array::from_fn(|word| self.line(bucket)[word].load(Ordering::Relaxed)))
    }

    /// Writes a bucket, which must be locked.
    pub(super) fn write_bucket(&self, bucket: u32, image: &MlpBucketImage) {
        for (word, &value) in self.line(bucket).iter().zip(&image.0) {
            // Release: pairs with the Acquire in `load`. A reader that sees this word sees the
            // lock.
            word.store(value, Ordering::Release);
        }
    }
}

#[inline(always)]
pub(super) fn load(line: &BucketLine, word: usize) -> u64 {
    // PROTECT implies Acquire: pairs with the Release in `write`. A reader that sees a new word
    // also sees the lock. PROTECT because a word may be a value that the guard must protect.
    line[word].load(PROTECT)
}

/// Returns the slots of a bucket with a matching first word, one bit each.
#[inline(always)]
fn slots_of(line: &BucketLine, want: u64, mask: u64) -> u32 {
    (0..SLOTS).fold(0, |slots, slot| slots | u32::from(load(line, 2 * slot) & mask == want) << slot)
}

/// A node in its bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketNode<'t> {
    line: &'t BucketLine,
    slot: usize,
}

impl BucketNode<'_> {
    /// Returns a word of the node. Any index is valid: if the node is changing, the caller discards
    /// the result.
    #[inline(always)]
    pub(super) fn word(&self, word: usize) -> u64 {
        load(self.line, (2 * self.slot + word) % WORDS)
    }
}
