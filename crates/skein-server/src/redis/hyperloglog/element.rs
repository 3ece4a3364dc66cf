//! From an element to its register, and to the value that the register must have at least.

use super::{REGISTER_BITS, REGISTERS};

/// Redis's seed. With another one, the same elements would make other bytes.
const SEED: u64 = 0xadc8_3b19;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;

/// Returns the hash of an element: `MurmurHash64A` (A. Appleby, public domain), little-endian.
fn hash(element: &[u8]) -> u64 {
    let mix = |word: u64| word ^ (word >> SHIFT);
    // Redis gives the function the length as 32 bits with a sign.
    let len = i64::from((element.len() as u32).cast_signed()).cast_unsigned();
    let (words, rest) = element.as_chunks::<8>();
    let mut hash = SEED ^ len.wrapping_mul(MULTIPLIER);
    for word in words {
        let word = mix(u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    mix(mix(hash).wrapping_mul(MULTIPLIER))
}

/// Returns the register of an element, and the position of the lowest set bit of the rest of its
/// hash: 1 to 51.
pub(super) fn position_of(element: &[u8]) -> (usize, u8) {
    let hash = hash(element);
    // A bit above the rest ends the search.
    let rest = hash >> REGISTER_BITS | 1 << (64 - REGISTER_BITS);
    (hash as usize % REGISTERS, rest.trailing_zeros() as u8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_hash_gives_at_least_1() {
        for number in 0..10_000_u32 {
            let (register, value) = position_of(&number.to_le_bytes());
            assert!(register < REGISTERS && (1..=51).contains(&value));
        }
    }

    /// The registers that redis-server 7.0.15 shows after `PFADD k ELEMENT`.
    #[test]
    fn elements_of_every_length_hash_as_in_redis() {
        for (element, position) in [
            ("", (5938, 2)),
            ("a", (12711, 2)),
            ("ab", (719, 1)),
            ("abc", (9474, 1)),
            ("abcd", (11070, 8)),
            ("abcde", (3726, 4)),
            ("abcdef", (13647, 2)),
            ("abcdefg", (5634, 2)),
            ("abcdefgh", (1383, 1)),
            ("abcdefghi", (6903, 1)),
            ("0123456789abcdef", (5949, 1)),
            ("the quick brown fox jumps", (7253, 2)),
        ] {
            assert_eq!(position_of(element.as_bytes()), position, "{element:?}");
        }
    }
}
