//! The table: buckets that are added and taken away one by one, and where the entry of a hash may be.
//!
//! ```text
//!   hash, 32 bits      │ tag 21                    │ low 11 │         stays the same for ever
//!   primary bucket     its last bits, as many as the table has buckets for
//!   secondary          the last bits of  mix(tag) ⊕ low
//!
//!   buckets            0 ········ split ········ 2^level ········ size         linear hashing: the bucket at `split` is the next to be split,
//!                      │ two each │ one for each │ the other halves │         into itself and the one at `size`
//! ```
//!
//! The entry's tag and the last eleven bits of its place give its hash, whatever the size; so an entry can be moved to its other bucket, and a bucket
//! can be split, by what is in it alone. The paper takes its hash modulo the table's size, which changes all hashes, colors and locators
//! with the size; we take a hash of one width, and spend seventeen more bits on the tag.
//!
//! Names that share a hash are told apart by color, and there are seven: so the table ends at sixteen hashes per bucket, 2^28
//! buckets with hashes of 32 bits. Full to its aim it then has 0.2 names per hash, and chance brings an eighth to some hash in one index of five;
//! at half of that size, in one of a thousand. The key that would be the eighth is refused.
//!
//! # Invariants
//! 1. `size` goes from 2^least to 2^(bits - 4), one up or one down at a time, by the holder of `resizing`, while the two buckets that
//!    trade entries are locked.
//! 2. Buckets from `size` on have no entries. Their memory may have gone back to the system, and then they are all zero, which is the same to
//!    who comes too late: it finds nothing there, and looks at the size again.
//! 3. A bucket that comes begins with another version than it ever had, by all chance: so nobody takes it for what it was before it went.

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::mutex::{Mutex, MutexGuard, try_lock};

use super::bucket::{Bucket, WORDS};
use super::depths::LeafDepths;
use super::entry::{CuckooEntry, TAG, TAG_BITS};
use super::hints::Hints;
use super::prefixes::PREFETCH_DEPTH;
use super::variant::{WITHOUT_HUGE_PAGES, has, least_bits};
use crate::counter::Counter;
use crate::hash::peelable::Peelable;
pub(super) use crate::linear_hashing::LinearHashSize;
use crate::memory::{Arena, GrowingWords, prefetch_read};

/// Where the root is.
pub(super) const ROOT: u32 = u32::MAX;

/// The buckets.
#[derive(Debug)]
pub(super) struct CuckooTable<const V: usize> {
    size: AtomicU64,
    /// How many nodes ahead searches ask for buckets.
    pub(super) ahead: u32,
    pub(super) depths: LeafDepths,
    pub(super) hints: Hints,
    /// The root's bucket, then the others.
    buckets: GrowingWords,
    /// How many buckets were ever added.
    resizing: Mutex<u32>,
    /// How many times an entry went to another bucket.
    pub(super) moved: Counter,
    hash: Peelable,
}

/// The buckets of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CuckooBucketPair {
    pub(super) primary: u32,
    pub(super) secondary: u32,
}

impl CuckooBucketPair {
    /// The buckets of a hash in a table of a size.
    #[inline(always)]
    pub(super) fn of<const V: usize>(hash: u32, size: LinearHashSize) -> Self {
        Self { primary: size.bucket_of(hash), secondary: size.bucket_of(CuckooTable::<V>::second(hash)) }
    }
}

impl<const V: usize> CuckooTable<V> {
    const LEAST_BITS: u32 = least_bits(V);
    const HASH_BITS: u32 = TAG_BITS + Self::LEAST_BITS;
    const LOW: u32 = (1 << Self::LEAST_BITS) - 1;
    /// The least number of buckets.
    pub(super) const LEAST: u32 = 1 << Self::LEAST_BITS;
    /// The greatest number of buckets; few where memory is not taken as it is needed.
    pub(super) const MOST: u32 = if cfg!(skein_loom) {
        4 << Self::LEAST_BITS
    } else if cfg!(miri) {
        64 << Self::LEAST_BITS
    } else {
        1 << (Self::HASH_BITS - 4)
    };

    pub(super) fn new(arena: &Arena) -> Self {
        const { assert!(Self::LEAST_BITS >= 1 && Self::HASH_BITS <= 32, "hashes have 22 to 32 bits") };
        let buckets =
            GrowingWords::new(arena, (Self::MOST as usize + 1) * WORDS, !has(V, WITHOUT_HUGE_PAGES));
        buckets.resize((Self::LEAST as usize + 1) * WORDS);
        let table = Self {
            size: AtomicU64::new(Self::LEAST.into()),
            ahead: PREFETCH_DEPTH,
            depths: LeafDepths::default(),
            hints: Hints::new(arena, Self::MOST as usize, !has(V, WITHOUT_HUGE_PAGES)),
            buckets,
            resizing: Mutex::new(0),
            moved: Counter::new(),
            hash: Peelable::new(),
        };
        table.put_root();
        table
    }

    fn put_root(&self) {
        let bucket = self.bucket(ROOT);
        let mut image = bucket.image();
        image.set(0, CuckooEntry::root());
        bucket.write(&image);
        bucket.unlock_changed(&image);
    }

    /// How many buckets there are.
    #[inline(always)]
    pub(super) fn size(&self) -> u32 {
        // Acquire: pairs with the Release in `set_size`; so many buckets are ready.
        self.size.load(Ordering::Acquire) as u32
    }

    /// The size, made ready for many places.
    #[inline(always)]
    pub(super) fn places(&self) -> LinearHashSize {
        LinearHashSize::of(self.size())
    }

    /// Sets the size; see invariant 1.
    pub(super) fn set_size(&self, size: u32) {
        // Release: pairs with the Acquire in `size`.
        self.size.store(size.into(), Ordering::Release);
    }

    /// The right to change the size, unless another thread has it.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, u32>> {
        try_lock(&self.resizing)
    }

    /// Makes buckets ready to be added, so that there are `size`.
    pub(super) fn reserve(&self, size: u32) {
        self.buckets.resize((size as usize + 1) * WORDS);
        self.hints.resize(size as usize, false);
    }

    /// The first version of the next bucket.
    pub(super) fn next_version(added: &mut u32) -> u32 {
        *added = added.wrapping_add(1);
        added.wrapping_mul(0x9e37_79b1)
    }

    /// Gives back memory beyond the last bucket.
    pub(super) fn release(&self) {
        self.buckets.resize((self.size() as usize + 1) * WORDS);
        let size = self.size();
        self.hints.resize(if size == Self::LEAST { 0 } else { size as usize }, false);
    }

    /// Whether the nodes on the way of a key that was added are to be noted.
    #[inline(always)]
    pub(super) fn wants_hints(&self, key: &[u8]) -> bool {
        self.depths.start().is_none() && Hints::wants(key)
    }

    /// Makes place for hints, unless the table is small, or another thread is changing its size.
    #[cold]
    pub(super) fn want_hints(&self) {
        if self.size() > Self::LEAST
            && let Some(_resizing) = self.try_lock()
        {
            self.hints.resize(self.size() as usize, true);
        }
    }

    /// The line of a bucket; the root's comes first.
    #[inline(always)]
    fn line(bucket: u32) -> usize {
        // With its sign, so that the root's number is one less than the first one's.
        (bucket.cast_signed() as isize + 1).cast_unsigned()
    }

    /// A bucket, which was in use once.
    #[inline(always)]
    pub(super) fn bucket(&self, bucket: u32) -> Bucket<'_> {
        // SAFETY: numbers of buckets come from `place`, for a size that the table had, or are the next one that was made ready, or the root's.
        Bucket(unsafe { self.buckets.line(Self::line(bucket)) })
    }

    /// Shows `each` all entries but the root, with their bucket and slot. Nobody else uses the table.
    pub(super) fn each(&mut self, mut each: impl FnMut(u32, usize, CuckooEntry)) {
        for number in 0..self.size() {
            self.bucket(number).image().entries().for_each(|(slot, entry)| each(number, slot, entry));
        }
    }

    /// Asks for a bucket.
    #[inline(always)]
    pub(super) fn prefetch_bucket(&self, bucket: u32) {
        prefetch_read(self.buckets.line_address(Self::line(bucket)));
    }

    /// Asks for both buckets of a hash.
    #[inline(always)]
    pub(super) fn prefetch(&self, pair: CuckooBucketPair) {
        self.prefetch_bucket(pair.primary);
        self.prefetch_bucket(pair.secondary);
    }

    /// The hash of the name that is longer by `symbol`.
    #[inline(always)]
    pub(super) fn extend(&self, hash: u32, symbol: u8) -> u32 {
        self.hash.extend(Self::HASH_BITS, hash, symbol)
    }

    /// The hash of the name without its last symbol.
    #[cfg(all(test, not(skein_loom)))]
    pub(super) fn peel(&self, hash: u32, symbol: u8) -> u32 {
        self.hash.peel(Self::HASH_BITS, hash, symbol)
    }

    /// The tag of a hash.
    #[inline(always)]
    pub(super) fn tag(hash: u32) -> u32 {
        hash >> Self::LEAST_BITS
    }

    /// What a tag makes of the low bits in the secondary bucket.
    #[inline(always)]
    fn mix(tag: u32) -> u32 {
        let wide = u64::from(tag | 1 << TAG_BITS).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (wide >> (64 - Self::HASH_BITS)) as u32
    }

    /// The bits that say where the entry of a hash is if it is not in its primary bucket.
    #[inline(always)]
    fn second(hash: u32) -> u32 {
        Self::mix(Self::tag(hash)) ^ (hash & Self::LOW)
    }

    /// The buckets of a hash.
    #[inline(always)]
    pub(super) fn pair(&self, hash: u32) -> CuckooBucketPair {
        CuckooBucketPair::of::<V>(hash, self.places())
    }

    /// The hash of the name of an entry with this lane in a bucket.
    #[inline(always)]
    pub(super) fn hash_of(lane: u32, bucket: u32) -> u32 {
        let tag = lane & TAG;
        let low = bucket ^ Self::mix(tag) & if_secondary(lane);
        tag << Self::LEAST_BITS | low & Self::LOW
    }

    /// Where an entry with this lane, which is in a bucket, belongs in a table of a size.
    #[inline(always)]
    pub(super) fn home(lane: u32, bucket: u32, size: LinearHashSize) -> u32 {
        let tag = lane & TAG;
        let (first, second) = (tag << Self::LEAST_BITS, Self::mix(tag));
        let above = first ^ (first ^ second) & if_secondary(lane);
        size.bucket_of(above & !Self::LOW | bucket & Self::LOW)
    }

    /// The other bucket of an entry with this lane in a bucket, in a table of a size.
    #[inline(always)]
    pub(super) fn other_at(lane: u32, bucket: u32, size: LinearHashSize) -> u32 {
        let tag = lane & TAG;
        let (first, second) = (tag << Self::LEAST_BITS, Self::mix(tag));
        let above = second ^ (first ^ second) & if_secondary(lane);
        size.bucket_of(above & !Self::LOW | (bucket ^ second) & Self::LOW)
    }
}

/// All bits for the lane of an entry that is in its secondary bucket, none otherwise: as good as a coin toss, so computed without a branch.
#[inline(always)]
fn if_secondary(lane: u32) -> u32 {
    (lane >> TAG_BITS & 1).wrapping_neg()
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::cuckoo_trie::entry::lane;

    type Small = CuckooTable<3>;

    #[test]
    fn an_entry_and_its_place_tell_the_hash_at_any_size() {
        for size in [8, 9, 15, 16, 17, 31, 100, 128, 4000].map(LinearHashSize::of) {
            for hash in (0..1 << Small::HASH_BITS).step_by(997) {
                let pair = CuckooBucketPair::of::<3>(hash, size);
                assert!(pair.primary < size.buckets() && pair.secondary < size.buckets());
                let (first, second) =
                    (lane(Small::tag(hash), false, 1, 0), lane(Small::tag(hash), true, 1, 0));
                assert_eq!(Small::hash_of(first, pair.primary), hash);
                assert_eq!(Small::hash_of(second, pair.secondary), hash);
                assert_eq!(Small::home(first, pair.primary, size), pair.primary);
                assert_eq!(Small::home(second, pair.secondary, size), pair.secondary);
                assert_eq!(Small::other_at(first, pair.primary, size), pair.secondary);
                assert_eq!(Small::other_at(second, pair.secondary, size), pair.primary);
                // A split moves an entry to the new bucket, or leaves it.
                let next = Small::home(first, pair.primary, LinearHashSize::of(size.buckets() + 1));
                assert!(next == pair.primary || next == size.buckets());
            }
        }
    }
}
