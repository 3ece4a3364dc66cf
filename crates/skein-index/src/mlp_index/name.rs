//! Names: a prefix of a key names a node and leads to its buckets. The node need not store all of
//! it.
//!
//! ```text
//!   key        │ name: the first `level` symbols, 8·level bits │ tail   │
//!   rotated    │ tail   │ stem                        │ low 11 │
//!                stored in the node ────────────────►    the header takes this place
//!   buckets    hash(stem, level), 32 bits each, with the last 11 bits ⊕ low
//! ```
//!
//! A node is in one of two buckets. The last eleven bits of the bucket's number and the other bits
//! of the name determine the last eleven bits of the name. So the node does not store those: it has
//! its header in their place. That is how key and value of a leaf fit 16 bytes. (The paper needs 12
//! bytes for header and key, of a set without values; section 4.3.)
//!
//! The hash is a multiplication of 64 by 64 bits with two random seeds, folded to 64 bits. One hash
//! per prefix gives both buckets. It is the same for 2,048 neighbouring names, which so lie in
//! neighbouring buckets: inserts of consecutive numbers write one line after the other.

use std::hash::{BuildHasher, RandomState};

use super::key::{BYTES, ShortKey};
use crate::buckets::LinearHashSize;

pub(super) const HEADER_BITS: u32 = 11;
pub(super) const HEADER: u64 = (1 << HEADER_BITS) - 1;
/// The level in a header.
pub(super) const LEVEL: u64 = 0xf;
/// Set in a header if the node is in its secondary bucket.
pub(super) const SECONDARY: u64 = 1 << 6;
/// The place in a header of a leaf's length, or of an inner node's depth.
pub(super) const LENGTH_SHIFT: u32 = 7;
const LENGTH: u64 = 0xf << LENGTH_SHIFT;

/// The least level of a node. Above it there is a flat bitmap (`top_bitmap.rs`).
pub(super) const LEVEL_MIN: u32 = 3;
/// The level of leaves that are named by their whole key, including the length.
pub(super) const LEVEL_MAX: u32 = BYTES + 1;

#[derive(Clone, Copy, Debug)]
pub(super) struct NameHashSeeds {
    pub(super) stem: u64,
    pub(super) factor: u64,
    /// The bits of the hash that count: all of them, except in tests.
    pub(super) mask: u64,
}

impl NameHashSeeds {
    /// Draws random seeds. If `crowded`, names with the same last bits share a bucket, as long as
    /// the table is small.
    pub(super) fn random(crowded: bool) -> Self {
        let state = RandomState::new();
        let mask = if crowded { !(HEADER * BOTH) } else { u64::MAX };
        Self { stem: state.hash_one(0_u8), factor: state.hash_one(1_u8) | 1, mask }
    }
}

/// Returns the number of bits of a key in a name of this level, without the length. A key that is
/// rotated left by this number has its name in the last bits.
#[inline(always)]
fn name_bits(level: u32) -> u32 {
    8 * level.min(BYTES)
}

/// Returns the mask of the name in a rotated key.
#[inline(always)]
fn span(level: u32) -> u64 {
    u64::MAX >> (64 - name_bits(level))
}

/// Returns the bits of a key in the order in which a node of this level stores them, with all
/// eleven last bits.
#[inline(always)]
pub(super) fn rotated(bits: u64, level: u32) -> u64 {
    bits.rotate_left(name_bits(level))
}

/// Reverses [`rotated`].
#[inline(always)]
pub(super) fn rotated_back(bits: u64, level: u32) -> u64 {
    bits.rotate_right(name_bits(level))
}

/// The name of a node, in the form in which a bucket stores it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeName {
    /// The expected bits of the node's first word in its primary bucket.
    pub(super) want: u64,
    pub(super) mask: u64,
}

/// The two buckets of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MlpBucketPair {
    pub(super) primary: u32,
    pub(super) secondary: u32,
}

impl MlpBucketPair {
    /// Returns the buckets for a result of [`places`], which has the secondary bucket in its upper
    /// half.
    #[inline(always)]
    pub(super) fn of(places: u64, size: LinearHashSize) -> Self {
        Self { primary: size.bucket_of(places as u32), secondary: size.bucket_of((places >> 32) as u32) }
    }
}

impl NodeName {
    /// Returns the name that is the first `level` symbols of a key.
    #[inline(always)]
    pub(super) fn of(key: ShortKey, level: u32) -> Self {
        let kept = span(level) & !HEADER;
        let (want, mask) = (rotated(key.bits, level) & kept | u64::from(level), kept | LEVEL | SECONDARY);
        if level > BYTES {
            return Self { want: want | u64::from(key.len) << LENGTH_SHIFT, mask: mask | LENGTH };
        }
        Self { want, mask }
    }
}

/// Returns the numbers that determine the two buckets of a key's name of this level, the secondary
/// bucket in the upper half.
#[inline(always)]
pub(super) fn places(key: ShortKey, level: u32, seeds: &NameHashSeeds) -> u64 {
    let rotated = rotated(key.bits, level);
    let salt = if level > BYTES { level + u32::from(key.len) } else { level };
    hash(rotated & span(level) & !HEADER, salt, seeds) ^ ((rotated & HEADER) * BOTH)
}

/// The last bit of both halves.
const BOTH: u64 = 1 << 32 | 1;

#[inline(always)]
fn hash(stem: u64, salt: u32, seeds: &NameHashSeeds) -> u64 {
    if cfg!(skein_loom) {
        // In models the last bits of a name are its primary bucket, one of four (`table.rs`), so
        // the test knows which nodes meet. The secondary bucket depends on the level. So a node can
        // move to a bucket that the new node cannot use.
        return if salt.is_multiple_of(2) { 8 << 32 } else { 16 << 32 };
    }
    let salted = stem ^ seeds.stem.wrapping_add(u64::from(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    folded(folded(salted, seeds.factor), seeds.factor) & seeds.mask
}

/// Returns the product of two numbers, the upper half xored into the lower.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Returns the same numbers as [`places`], for a node in a bucket.
#[inline(always)]
pub(super) fn places_of(head: u64, bucket: u32, seeds: &NameHashSeeds) -> u64 {
    let (hash, low) = hash_of(head, bucket, seeds);
    hash ^ (low * BOTH)
}

/// Returns the hash of the name of a node in a bucket, and the last bits of the name.
#[inline(always)]
fn hash_of(head: u64, bucket: u32, seeds: &NameHashSeeds) -> (u64, u64) {
    let level = (head & LEVEL) as u32;
    let salt = if level > BYTES { level + ((head & LENGTH) >> LENGTH_SHIFT) as u32 } else { level };
    let hash = hash(head & span(level) & !HEADER, salt, seeds);
    let half = if head & SECONDARY == 0 { hash } else { hash >> 32 };
    (hash, (half ^ u64::from(bucket)) & HEADER)
}

/// Returns the key of a node in a bucket, from its stored bits and those that the bucket implies.
#[inline(always)]
pub(super) fn bits_of(head: u64, bucket: u32, seeds: &NameHashSeeds) -> u64 {
    let (_, low) = hash_of(head, bucket, seeds);
    rotated_back(head & !HEADER | low, (head & LEVEL) as u32)
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_and_the_stored_bits_give_the_key() {
        let seeds =
            NameHashSeeds { stem: 0x1234_5678_9abc_def0, factor: 0xdead_beef_cafe_f00d, mask: u64::MAX };
        for size in [2048, 2049, 3000, 4096, 1 << 20].map(LinearHashSize::of) {
            for number in 0..2000_u64 {
                let key =
                    ShortKey { bits: number.wrapping_mul(0x9e37_79b9_7f4a_7c15), len: (number % 9) as u8 };
                for level in LEVEL_MIN..=LEVEL_MAX {
                    let name = NodeName::of(key, level);
                    let pair = MlpBucketPair::of(places(key, level, &seeds), size);
                    let kept = rotated(key.bits, level) & !HEADER;
                    let header = u64::from(level) | u64::from(key.len) << LENGTH_SHIFT;
                    assert_eq!(bits_of(kept | header, pair.primary, &seeds), key.bits);
                    assert_eq!(bits_of(kept | header | SECONDARY, pair.secondary, &seeds), key.bits);
                    assert_eq!((kept | header) & name.mask, name.want);
                }
            }
        }
    }
}
