//! Names: what a node is found by, and what of it the node need not hold.
//!
//! ```text
//!   key, the first `level` symbols are the name     │ name, 8·level bits            │ tail        │
//!   turned                                          │ tail        │ stem                    │ low 11 │
//!                                                     kept in the node ───────────────────►    its header stands there
//!   buckets                                         hash(stem, level), 32 bits each, with low in place of ⊕ the last 11
//! ```
//!
//! A node is in one of two buckets, and which bucket it is says the last eleven bits of the name once the rest of it is known. So these bits are not
//! kept: the node has its header there. That is how key and value of a leaf fit 16 bytes. (The paper has 12 bytes for header and key, a set and no
//! values; section 4.3.)
//!
//! The hash is a multiplication of 64 by 64 bits, both sides keyed at random, folded; one for each prefix, and each gives both places. It is the same for
//! 2,048 neighbouring names, which so lie in neighbouring buckets: who counts upward writes one line after the other.

use std::hash::{BuildHasher, RandomState};

use super::key::{BYTES, ShortKey};
use crate::linear_hashing::LinearHashSize;

/// The bits of a header.
pub(super) const HEADER_BITS: u32 = 11;
pub(super) const HEADER: u64 = (1 << HEADER_BITS) - 1;
/// The level, in a header.
pub(super) const LEVEL: u64 = 0xf;
/// Set in a header if the node is in its secondary bucket.
pub(super) const SECONDARY: u64 = 1 << 6;
/// Where a header has a leaf's length, or the depth of an inner node.
pub(super) const LENGTH_SHIFT: u32 = 7;
const LENGTH: u64 = 0xf << LENGTH_SHIFT;

/// The least level: above, there is a flat bitmap (`top.rs`).
pub(super) const LEVEL_MIN: u32 = 3;
/// The level of leaves whose name is all of their key, the length included.
pub(super) const LEVEL_MAX: u32 = BYTES + 1;

/// The keys of the hash.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameHashSeeds {
    pub(super) stem: u64,
    pub(super) factor: u64,
    /// Which bits of the hash count: all of them, but in tests.
    pub(super) mask: u64,
}

impl NameHashSeeds {
    /// Keys drawn at random. If names are to be `crowded`, those whose last bits are the same meet in one bucket, as long as there are few.
    pub(super) fn random(crowded: bool) -> Self {
        let state = RandomState::new();
        let mask = if crowded { !(HEADER * BOTH) } else { u64::MAX };
        Self { stem: state.hash_one(0_u8), factor: state.hash_one(1_u8) | 1, mask }
    }
}

/// How many bits of a key are its name of a level, apart from the length; and so how far it is turned for them to end at the last bit.
#[inline(always)]
fn turn(level: u32) -> u32 {
    8 * level.min(BYTES)
}

/// The bits of a turned key that are its name.
#[inline(always)]
fn span(level: u32) -> u64 {
    u64::MAX >> (64 - turn(level))
}

/// A key's bits as a node of a level keeps them, with all eleven last bits.
#[inline(always)]
pub(super) fn turned(bits: u64, level: u32) -> u64 {
    bits.rotate_left(turn(level))
}

/// The reverse of [`turned`].
#[inline(always)]
pub(super) fn turned_back(bits: u64, level: u32) -> u64 {
    bits.rotate_right(turn(level))
}

/// The name of a node, as its bucket has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeName {
    /// What the first word of its node is in the primary bucket, as far as `mask` goes.
    pub(super) want: u64,
    pub(super) mask: u64,
}

/// The buckets of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MlpBucketPair {
    pub(super) primary: u32,
    pub(super) secondary: u32,
}

impl MlpBucketPair {
    /// The buckets for these places, of which the secondary one's bits are in the upper half.
    #[inline(always)]
    pub(super) fn of(places: u64, size: LinearHashSize) -> Self {
        Self { primary: size.bucket_of(places as u32), secondary: size.bucket_of((places >> 32) as u32) }
    }
}

impl NodeName {
    /// The name that is the first `level` symbols of a key.
    #[inline(always)]
    pub(super) fn of(key: ShortKey, level: u32) -> Self {
        let kept = span(level) & !HEADER;
        let (want, mask) = (turned(key.bits, level) & kept | u64::from(level), kept | LEVEL | SECONDARY);
        if level > BYTES {
            return Self { want: want | u64::from(key.len) << LENGTH_SHIFT, mask: mask | LENGTH };
        }
        Self { want, mask }
    }
}

/// What the places of a key's name of a level are computed from, of the secondary one in the upper half.
#[inline(always)]
pub(super) fn places(key: ShortKey, level: u32, seeds: &NameHashSeeds) -> u64 {
    let turned = turned(key.bits, level);
    let salt = if level > BYTES { level + u32::from(key.len) } else { level };
    hash(turned & span(level) & !HEADER, salt, seeds) ^ ((turned & HEADER) * BOTH)
}

/// A bit of either place.
const BOTH: u64 = 1 << 32 | 1;

#[inline(always)]
fn hash(stem: u64, salt: u32, seeds: &NameHashSeeds) -> u64 {
    if cfg!(skein_loom) {
        // In models the last bits of a name are its primary bucket, of four (`table.rs`), and so it is known which nodes meet. The secondary one depends
        // on the level: so a node can make way to a bucket where the one that comes cannot go.
        return if salt.is_multiple_of(2) { 8 << 32 } else { 16 << 32 };
    }
    let salted = stem ^ seeds.stem.wrapping_add(u64::from(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    folded(folded(salted, seeds.factor), seeds.factor) & seeds.mask
}

/// The product of two numbers, its upper half upon its lower one.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The same for a node in a bucket.
#[inline(always)]
pub(super) fn places_of(head: u64, bucket: u32, seeds: &NameHashSeeds) -> u64 {
    let (hash, low) = hash_of(head, bucket, seeds);
    hash ^ (low * BOTH)
}

/// The hash of the name of a node in a bucket, and the last bits of the name.
#[inline(always)]
fn hash_of(head: u64, bucket: u32, seeds: &NameHashSeeds) -> (u64, u64) {
    let level = (head & LEVEL) as u32;
    let salt = if level > BYTES { level + ((head & LENGTH) >> LENGTH_SHIFT) as u32 } else { level };
    let hash = hash(head & span(level) & !HEADER, salt, seeds);
    let half = if head & SECONDARY == 0 { hash } else { hash >> 32 };
    (hash, (half ^ u64::from(bucket)) & HEADER)
}

/// The key of a node in a bucket: what the node keeps, and what the bucket says.
#[inline(always)]
pub(super) fn bits_of(head: u64, bucket: u32, seeds: &NameHashSeeds) -> u64 {
    let (_, low) = hash_of(head, bucket, seeds);
    turned_back(head & !HEADER | low, (head & LEVEL) as u32)
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_place_and_what_is_kept_give_the_key_back() {
        let seeds =
            NameHashSeeds { stem: 0x1234_5678_9abc_def0, factor: 0xdead_beef_cafe_f00d, mask: u64::MAX };
        for size in [2048, 2049, 3000, 4096, 1 << 20].map(LinearHashSize::of) {
            for number in 0..2000_u64 {
                let key =
                    ShortKey { bits: number.wrapping_mul(0x9e37_79b9_7f4a_7c15), len: (number % 9) as u8 };
                for level in LEVEL_MIN..=LEVEL_MAX {
                    let name = NodeName::of(key, level);
                    let pair = MlpBucketPair::of(places(key, level, &seeds), size);
                    let kept = turned(key.bits, level) & !HEADER;
                    let header = u64::from(level) | u64::from(key.len) << LENGTH_SHIFT;
                    assert_eq!(bits_of(kept | header, pair.primary, &seeds), key.bits);
                    assert_eq!(bits_of(kept | header | SECONDARY, pair.secondary, &seeds), key.bits);
                    assert_eq!((kept | header) & name.mask, name.want);
                }
            }
        }
    }
}
