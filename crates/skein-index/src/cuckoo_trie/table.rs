//! The table: an array of buckets that grows and shrinks by one bucket at a time, and the rule for
//! where the entry of a hash may be.
//!
//! ```text
//!   hash, 32 bits      │ tag 21                    │ low 11 │       never changes
//!   primary bucket     the last bits of the hash, as many as the number of buckets needs
//!   secondary bucket   the last bits of  mix(tag) ⊕ low
//!
//!   buckets            0 ········ split ········ 2^level ········ size
//!                      │ two each │ one for each │ the other halves │
//! ```
//!
//! The buckets follow linear hashing. The bucket at `split` is the next to be split, into itself
//! and a new bucket at `size`.
//!
//! The tag of an entry and the last eleven bits of its bucket's number give its hash, at every
//! size. So an entry can move to its other bucket, and a bucket can be split, without any other
//! data. The paper takes the hash modulo the size of the table, so a new size changes all hashes,
//! colors and locators. Our hash has one width, which costs seventeen more bits for the tag.
//!
//! Names with the same hash need different colors, and there are seven. So the table ends at
//! sixteen hashes per bucket: 2^28 buckets with hashes of 32 bits. When such a table is as full as
//! it may be, there are 0.2 names per hash. In one of five such tables some hash gets an eighth
//! name by chance; at half that size, in one of a thousand. The key of an eighth name is refused.
//!
//! # Invariants
//! 1. `size` ranges from 2^least to 2^(bits - 4). The holder of `resizing` has the right to change
//!    it.
//! 2. Buckets from `size` on have no entries. Their memory may have been returned to the system,
//!    and then reads as zeros. A late reader finds no entry there either way, and reads the size
//!    again.
//! 3. A new bucket begins with a version that, by all probability, it never had before. So no
//!    reader takes it for the bucket that was once removed at the same place.

use std::marker::PhantomData;

use skein_sync::mutex::{Mutex, MutexGuard, try_lock};

use super::bucket::{Bucket, WORDS};
use super::entry::{CuckooEntry, TAG, TAG_BITS};
use super::hints::Hints;
use super::prefixes::PREFETCH_DEPTH;
use super::search_start::LeafDepths;
use super::variant::CuckooSettings;
pub(super) use crate::buckets::LinearHashSize;
use crate::buckets::TableSize;
use crate::counter::Counter;
use crate::hash::peelable::Peelable;
use crate::memory::{Arena, GrowingWords, prefetch_read};

pub(super) const ROOT: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct CuckooTable<V: CuckooSettings> {
    pub(super) size: TableSize,
    pub(super) ahead: u32,
    pub(super) depths: LeafDepths,
    pub(super) hints: Hints,
    /// The bucket of the root, then the other buckets.
    buckets: GrowingWords,
    /// The number of buckets that were ever added. Its lock is the right to change the size.
    resizing: Mutex<u32>,
    /// How many times an entry moved to another bucket.
    pub(super) moved: Counter,
    hash: Peelable,
    variant: PhantomData<V>,
}

/// The two buckets of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CuckooBucketPair {
    pub(super) primary: u32,
    pub(super) secondary: u32,
}

impl CuckooBucketPair {
    /// Returns the buckets of a hash in a table of this size.
    #[inline(always)]
    pub(super) fn of<V: CuckooSettings>(hash: u32, size: LinearHashSize) -> Self {
        Self { primary: size.bucket_of(hash), secondary: size.bucket_of(CuckooTable::<V>::second(hash)) }
    }
}

impl<V: CuckooSettings> CuckooTable<V> {
    const LEAST_BITS: u32 = V::LEAST_BITS;
    const HASH_BITS: u32 = TAG_BITS + Self::LEAST_BITS;
    const LOW: u32 = (1 << Self::LEAST_BITS) - 1;
    pub(super) const LEAST: u32 = 1 << Self::LEAST_BITS;
    /// The greatest number of buckets; few where the system does not commit memory lazily.
    pub(super) const MOST: u32 = if cfg!(skein_loom) {
        4 << Self::LEAST_BITS
    } else if cfg!(miri) {
        64 << Self::LEAST_BITS
    } else {
        1 << (Self::HASH_BITS - 4)
    };

    pub(super) fn new(arena: &Arena) -> Self {
        const { assert!(Self::LEAST_BITS >= 1 && Self::HASH_BITS <= 32, "hashes have 22 to 32 bits") };
        let buckets = GrowingWords::new(arena, (Self::MOST as usize + 1) * WORDS, true);
        buckets.resize((Self::LEAST as usize + 1) * WORDS);
        let table = Self {
            size: TableSize::new(Self::LEAST),
            ahead: PREFETCH_DEPTH,
            depths: LeafDepths::default(),
            hints: Hints::new(arena, Self::MOST as usize, true),
            buckets,
            resizing: Mutex::new(0),
            moved: Counter::new(),
            hash: Peelable::new(),
            variant: PhantomData,
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

    #[inline(always)]
    pub(super) fn size(&self) -> u32 {
        self.size.buckets()
    }

    /// Returns the size in a form that maps many hashes to buckets quickly.
    #[inline(always)]
    pub(super) fn places(&self) -> LinearHashSize {
        self.size.present()
    }

    /// Acquires the right to change the size, or returns `None` if another thread has it.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, u32>> {
        try_lock(&self.resizing)
    }

    /// Prepares memory for `size` buckets.
    pub(super) fn reserve(&self, size: u32) {
        self.buckets.resize((size as usize + 1) * WORDS);
        self.hints.resize(size as usize, false);
    }

    /// Returns the first version of the next bucket.
    pub(super) fn next_version(added: &mut u32) -> u32 {
        *added = added.wrapping_add(1);
        added.wrapping_mul(0x9e37_79b1)
    }

    /// Returns the memory beyond the last bucket to the system.
    pub(super) fn release(&self) {
        self.buckets.resize((self.size() as usize + 1) * WORDS);
        let size = self.size();
        self.hints.resize(if size == Self::LEAST { 0 } else { size as usize }, false);
    }

    /// Returns whether an insert of this key should record hints.
    #[inline(always)]
    pub(super) fn wants_hints(&self, key: &[u8]) -> bool {
        self.depths.start().is_none() && Hints::wants(key)
    }

    /// Allocates hints, unless the table is small or another thread is changing its size.
    #[cold]
    pub(super) fn want_hints(&self) {
        if self.size() > Self::LEAST
            && let Some(_resizing) = self.try_lock()
        {
            self.hints.resize(self.size() as usize, true);
        }
    }

    /// Returns the line of a bucket. The root's bucket is line 0.
    #[inline(always)]
    fn line(bucket: u32) -> usize {
        // Sign-extended, so that the root's number is one less than the number of the first bucket.
        (bucket.cast_signed() as isize + 1).cast_unsigned()
    }

    /// Returns a bucket, which must be or have been in use.
    #[inline(always)]
    pub(super) fn bucket(&self, bucket: u32) -> Bucket<'_> {
        // SAFETY: the number is the root's, or `place` returned it for a size that the table had,
        // or it is the next bucket and its memory was prepared.
        Bucket(unsafe { self.buckets.line(Self::line(bucket)) })
    }

    /// Calls `each` with all entries but the root, with their bucket and slot. The caller must be
    /// the only user of the table.
    pub(super) fn each(&mut self, mut each: impl FnMut(u32, usize, CuckooEntry)) {
        for number in 0..self.size() {
            self.bucket(number).image().entries().for_each(|(slot, entry)| each(number, slot, entry));
        }
    }

    #[inline(always)]
    pub(super) fn prefetch_bucket(&self, bucket: u32) {
        prefetch_read(self.buckets.line_address(Self::line(bucket)));
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, pair: CuckooBucketPair) {
        self.prefetch_bucket(pair.primary);
        self.prefetch_bucket(pair.secondary);
    }

    /// Returns the hash of the name that is longer by `symbol`.
    #[inline(always)]
    pub(super) fn extend(&self, hash: u32, symbol: u8) -> u32 {
        self.hash.extend(Self::HASH_BITS, hash, symbol)
    }

    /// Returns the hash of the name without its last symbol.
    #[cfg(all(test, not(skein_loom)))]
    pub(super) fn peel(&self, hash: u32, symbol: u8) -> u32 {
        self.hash.peel(Self::HASH_BITS, hash, symbol)
    }

    #[inline(always)]
    pub(super) fn tag(hash: u32) -> u32 {
        hash >> Self::LEAST_BITS
    }

    /// Returns the bits that the tag contributes to the number of the secondary bucket.
    #[inline(always)]
    fn mix(tag: u32) -> u32 {
        let wide = u64::from(tag | 1 << TAG_BITS).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (wide >> (64 - Self::HASH_BITS)) as u32
    }

    /// Returns bits that end with the number of the secondary bucket.
    #[inline(always)]
    fn second(hash: u32) -> u32 {
        Self::mix(Self::tag(hash)) ^ (hash & Self::LOW)
    }

    #[inline(always)]
    pub(super) fn pair(&self, hash: u32) -> CuckooBucketPair {
        CuckooBucketPair::of::<V>(hash, self.places())
    }

    /// Returns the hash of the name of an entry, from its lane and its bucket.
    #[inline(always)]
    pub(super) fn hash_of(lane: u32, bucket: u32) -> u32 {
        let tag = lane & TAG;
        let low = bucket ^ Self::mix(tag) & if_secondary(lane);
        tag << Self::LEAST_BITS | low & Self::LOW
    }

    /// Returns where an entry, now in `bucket`, belongs in a table of this size.
    #[inline(always)]
    pub(super) fn home(lane: u32, bucket: u32, size: LinearHashSize) -> u32 {
        let tag = lane & TAG;
        let (first, second) = (tag << Self::LEAST_BITS, Self::mix(tag));
        let above = first ^ (first ^ second) & if_secondary(lane);
        size.bucket_of(above & !Self::LOW | bucket & Self::LOW)
    }

    /// Returns the other bucket of an entry, now in `bucket`, in a table of this size.
    #[inline(always)]
    pub(super) fn other_at(lane: u32, bucket: u32, size: LinearHashSize) -> u32 {
        let tag = lane & TAG;
        let (first, second) = (tag << Self::LEAST_BITS, Self::mix(tag));
        let above = second ^ (first ^ second) & if_secondary(lane);
        size.bucket_of(above & !Self::LOW | (bucket ^ second) & Self::LOW)
    }
}

/// Returns all bits if the entry is in its secondary bucket, else 0. A branch would be mispredicted
/// half the time, so this is arithmetic.
#[inline(always)]
fn if_secondary(lane: u32) -> u32 {
    (lane >> TAG_BITS & 1).wrapping_neg()
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::super::variant::CuckooOfLeastBits;
    use super::*;
    use crate::cuckoo_trie::entry::lane;

    type SmallBits = CuckooOfLeastBits<3>;
    type Small = CuckooTable<SmallBits>;

    #[test]
    fn an_entry_and_its_bucket_give_the_hash_at_any_size() {
        for size in [8, 9, 15, 16, 17, 31, 100, 128, 4000].map(LinearHashSize::of) {
            for hash in (0..1 << Small::HASH_BITS).step_by(997) {
                let pair = CuckooBucketPair::of::<SmallBits>(hash, size);
                assert!(pair.primary < size.buckets() && pair.secondary < size.buckets());
                let (first, second) =
                    (lane(Small::tag(hash), false, 1, 0), lane(Small::tag(hash), true, 1, 0));
                assert_eq!(Small::hash_of(first, pair.primary), hash);
                assert_eq!(Small::hash_of(second, pair.secondary), hash);
                assert_eq!(Small::home(first, pair.primary, size), pair.primary);
                assert_eq!(Small::home(second, pair.secondary, size), pair.secondary);
                assert_eq!(Small::other_at(first, pair.primary, size), pair.secondary);
                assert_eq!(Small::other_at(second, pair.secondary, size), pair.primary);
                // A split moves an entry to the new bucket or leaves it in place.
                let next = Small::home(first, pair.primary, LinearHashSize::of(size.buckets() + 1));
                assert!(next == pair.primary || next == size.buckets());
            }
        }
    }
}
