//! The table: buckets of four slots, their versions, and how a node is found.
//!
//! # Invariants
//! 1. The size goes from [`LEAST`] to [`MOST`], one up or one down at a time, by the holder of `resizing`, while the two buckets that trade nodes are
//!    locked.
//! 2. Buckets from the size on have no nodes. Their memory may have gone back to the system, and then is all zero, which is the same to who comes
//!    too late: a node that is not found is never evidence of anything (`search.rs`).

use skein_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use skein_sync::mutex::Mutex;
use skein_sync::reclaim::PROTECT;

use super::image::{MlpBucketImage, SLOTS, WORDS};
use super::key::ShortKey;
use super::name::{HEADER_BITS, MlpBucketPair, NameHashSeeds, NodeName, SECONDARY, places};
use super::node::RawNode;
use super::resize::ResizeState;
use super::variant::{CROWDED, WITHOUT_HUGE_PAGES, has};
use super::versions::StripeVersions;
use crate::counter::Counter;
use crate::linear_hashing::LinearHashSize;
use crate::memory::{Arena, CACHE_LINE, GrowingWords, prefetch_read};

/// The least number of buckets: they say eleven bits of each name.
pub(super) const LEAST: u32 = 1 << HEADER_BITS;
/// The greatest number of buckets, 16 GiB of them; few where memory is not taken as it is needed.
pub(super) const MOST: u32 = if cfg!(skein_loom) {
    LEAST
} else if cfg!(miri) {
    4 * LEAST
} else {
    1 << 28
};
/// The lines of so many buckets. Models have four, for names whose last bits are 0, 8, 16 or 24.
const LINES: usize = if cfg!(skein_loom) { 4 } else { MOST as usize };

/// The words of so many buckets. A model's table has all of its lines at once: its buckets share them.
const fn words_of(buckets: u32) -> usize {
    LINE * if cfg!(skein_loom) { LINES } else { buckets as usize }
}

/// The line of a bucket.
#[inline(always)]
pub(super) fn line_of(bucket: u32) -> usize {
    if cfg!(skein_loom) { bucket as usize / 8 % LINES } else { bucket as usize }
}

/// The words of a bucket, the first ones of its line.
pub(super) type BucketLine = [AtomicU64; LINE];
const LINE: usize = CACHE_LINE / 8;

/// What is known of a node that was found, its bucket, and the bucket's version.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundInBucket<T> {
    pub(super) bucket: u32,
    pub(super) version: u64,
    pub(super) what: T,
}

/// The buckets.
#[derive(Debug)]
pub(super) struct MlpTable<const V: usize> {
    size: AtomicU64,
    buckets: GrowingWords,
    pub(super) versions: StripeVersions,
    pub(super) seeds: NameHashSeeds,
    pub(super) sizing: Mutex<ResizeState>,
    /// Which levels most nodes are of, a bit for each: those that a search asks for at once, and above them those of a batch (`levels.rs`).
    pub(super) levels: AtomicU32,
    /// How many slots are in use.
    pub(super) used: Counter,
    /// How many times a node went to another bucket.
    pub(super) moved: Counter,
}

impl<const V: usize> MlpTable<V> {
    pub(super) fn new(arena: &Arena) -> Self {
        let buckets = GrowingWords::new(arena, words_of(MOST), !has(V, WITHOUT_HUGE_PAGES));
        buckets.resize(words_of(LEAST));
        let sizing = ResizeState::default();
        Self {
            size: AtomicU64::new(LEAST.into()),
            buckets,
            versions: StripeVersions::new(arena),
            seeds: NameHashSeeds::random(has(V, CROWDED)),
            levels: AtomicU32::new(sizing.levels()),
            sizing: Mutex::new(sizing),
            used: Counter::new(),
            moved: Counter::new(),
        }
    }

    /// The size, made ready for many places.
    #[inline(always)]
    pub(super) fn size(&self) -> LinearHashSize {
        // Acquire: pairs with the Release in `set_size`; so many buckets are ready.
        LinearHashSize::of(self.size.load(Ordering::Acquire) as u32)
    }

    /// Sets the size; see invariant 1.
    pub(super) fn set_size(&self, size: u32) {
        // Release: pairs with the Acquire in `size`.
        self.size.store(size.into(), Ordering::Release);
    }

    /// Makes buckets ready, so many in all, or gives back the memory of those beyond.
    pub(super) fn ready(&self, buckets: u32) {
        self.buckets.resize(words_of(buckets));
    }

    /// A bucket, which was in use once.
    #[inline(always)]
    pub(super) fn line(&self, bucket: u32) -> &BucketLine {
        // SAFETY: numbers of buckets come from `Size::place`, for a size that the table had, or are the next one that was made ready.
        unsafe { self.buckets.line(line_of(bucket)) }
    }

    /// All buckets.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + use<V> {
        let step = if cfg!(skein_loom) { 8 } else { 1 };
        (0..self.size().buckets()).step_by(step).take(LINES)
    }

    /// Asks for a bucket.
    #[inline(always)]
    pub(super) fn prefetch_bucket(&self, bucket: u32) {
        prefetch_read(self.buckets.line_address(line_of(bucket)));
    }

    /// Asks for the buckets of a name.
    #[inline(always)]
    pub(super) fn prefetch(&self, pair: MlpBucketPair) {
        self.prefetch_bucket(pair.primary);
        self.prefetch_bucket(pair.secondary);
    }

    /// The buckets of a key's name of a level, in a table of a size.
    #[inline(always)]
    pub(super) fn pair(&self, key: ShortKey, level: u32, size: LinearHashSize) -> MlpBucketPair {
        MlpBucketPair::of(places(key, level, &self.seeds), size)
    }

    /// What `take` makes of the node of a key's name of a level, all as it was at one moment.
    ///
    /// That there is none, or none yet, or that it was just being moved, is all the same: none is no evidence.
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
            // A choice and no branch: which of both it is, nobody can guess.
            let (bucket, line, version) =
                if slot < SLOTS { (primary, lines.0, versions.0) } else { (secondary, lines.1, versions.1) };
            let what = take(BucketNode { line, slot: slot % SLOTS });
            // Planted: what was read of a bucket while it changed is taken for what was there.
            if cfg!(feature = "planted-bugs") || !self.versions.changed(bucket, version) {
                return Some(FoundInBucket { bucket, version, what });
            }
        }
    }

    /// The same for the name's primary bucket alone.
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

    /// The node of a key's name of a level, with all that it has.
    #[inline(always)]
    pub(super) fn node(
        &self,
        key: ShortKey,
        level: u32,
        pair: MlpBucketPair,
    ) -> Option<FoundInBucket<RawNode>> {
        self.find(key, level, pair, |view| RawNode(std::array::from_fn(|word| view.word(word))))
    }

    /// All of a bucket at one moment, with its version.
    pub(super) fn image(&self, bucket: u32) -> (MlpBucketImage, u64) {
        loop {
            let version = self.versions.stable(bucket);
            let image = MlpBucketImage(std::array::from_fn(|word| load(self.line(bucket), word)));
            if !self.versions.changed(bucket, version) {
                return (image, version);
            }
        }
    }

    /// A bucket as it may be: a hint.
    #[inline(always)]
    pub(super) fn glance(&self, bucket: u32) -> MlpBucketImage {
        // Relaxed: nothing is made of it before the bucket is read again.
        MlpBucketImage(std::array::from_fn(|word| self.line(bucket)[word].load(Ordering::Relaxed)))
    }

    /// Writes a bucket, which is locked.
    pub(super) fn write(&self, bucket: u32, image: &MlpBucketImage) {
        for (word, &value) in self.line(bucket).iter().zip(&image.0) {
            // Release: pairs with the Acquire in `load`: who sees this sees the lock.
            word.store(value, Ordering::Release);
        }
    }
}

/// A word of a bucket.
#[inline(always)]
pub(super) fn load(line: &BucketLine, word: usize) -> u64 {
    // PROTECT, and so Acquire: pairs with the Release in `write`; what is seen of a change brings its lock along. A word may be a value that the
    // guard is to protect.
    line[word].load(PROTECT)
}

/// The slots of a bucket whose first words are as wanted, a bit for each.
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
    /// A word of the node, the first one being 0. Any number will do: the node may be changing, and then what is read of it counts for nothing.
    #[inline(always)]
    pub(super) fn word(&self, word: usize) -> u64 {
        load(self.line, (2 * self.slot + word) % WORDS)
    }
}
