//! A peelable hash of symbol strings: the last symbol can be removed from the hash again.
//!
//! ```text
//!   extend(h, c):   x = (h ⊕ seed[c]) · M   mod 2^bits      peel(h, c):   the same steps backwards
//!                   swap the two halves of x
//! ```
//!
//! For each symbol, `extend` is a permutation of the hash values. So two strings with the same last
//! symbol have the same hash only if the strings without that symbol have the same hash too. That
//! is why a table does not have to store its keys (Cuckoo Trie, section 4.2). The paper's function
//! is linear and publicly known. Ours is seeded at random and multiplies both halves of the hash in
//! turn, so without the seeds an attacker cannot choose keys that collide. A step takes
//! five cycles and depends on the step before.

#[cfg(not(skein_loom))]
use std::hash::{BuildHasher, RandomState};

/// An odd number with about as many ones as zeros.
const MULTIPLIER: u32 = 0x9e37_79b1;

/// The hash of the empty string.
pub(crate) const EMPTY_HASH: u32 = 0;

/// A hash over symbols, with values of up to 32 bits. Every call passes the number of bits, which
/// is a constant there.
#[derive(Debug)]
pub(crate) struct Peelable {
    /// One seed per symbol. There is one for every byte value, so that no access needs a bounds
    /// check.
    seeds: [u32; 256],
}

/// Returns a number with the lowest `bits` bits set.
const fn mask(bits: u32) -> u32 {
    u32::MAX >> (32 - bits)
}

/// Rotates a number of `bits` bits to the right by `low` bits.
#[inline(always)]
const fn rotate(number: u32, low: u32, bits: u32) -> u32 {
    if bits == u32::BITS {
        number.rotate_right(low)
    } else {
        (number << (bits - low) | number >> low) & mask(bits)
    }
}

impl Peelable {
    /// Returns a hash with random seeds.
    pub(crate) fn new() -> Self {
        Self { seeds: seeds() }
    }

    /// Returns the hash, of 2 to 32 `bits`, of the string that is longer by `symbol`.
    #[inline(always)]
    pub(crate) fn extend(&self, bits: u32, hash: u32, symbol: u8) -> u32 {
        let mixed =
            (hash ^ self.seeds[usize::from(symbol)] & mask(bits)).wrapping_mul(MULTIPLIER) & mask(bits);
        rotate(mixed, bits / 2, bits)
    }
}

/// Returns random seeds.
#[cfg(not(skein_loom))]
fn seeds() -> [u32; 256] {
    let random = RandomState::new();
    std::array::from_fn(|symbol| random.hash_one(symbol) as u32)
}

/// Returns the same seeds every time, because the runs of a `loom` model must repeat each other.
#[cfg(skein_loom)]
fn seeds() -> [u32; 256] {
    std::array::from_fn(|symbol| ((symbol as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32)
}

#[cfg(test)]
impl Peelable {
    /// Returns the hash of the string without its last symbol.
    pub(crate) fn peel(&self, bits: u32, hash: u32, symbol: u8) -> u32 {
        let mixed = rotate(hash, bits - bits / 2, bits);
        (mixed.wrapping_mul(inverse(MULTIPLIER)) ^ self.seeds[usize::from(symbol)]) & mask(bits)
    }
}

/// Returns the multiplicative inverse modulo 2^32, by Newton's method.
#[cfg(test)]
fn inverse(odd: u32) -> u32 {
    (0..5).fold(odd, |guess, _| guess.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(guess))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks for every symbol that `extend` reaches every value exactly once, and that `peel`
    /// undoes it.
    fn is_peelable(bits: u32) {
        let hash = Peelable::new();
        for symbol in 0..33 {
            let mut reached = vec![false; 1 << bits];
            for value in 0..1 << bits {
                let longer = hash.extend(bits, value, symbol);
                assert!(
                    !std::mem::replace(&mut reached[longer as usize], true),
                    "{bits} bits: two values extend to {longer}"
                );
                assert_eq!(hash.peel(bits, longer, symbol), value, "{bits} bits");
            }
        }
    }

    #[test]
    fn every_value_of_a_small_hash_is_peelable() {
        is_peelable(2);
        is_peelable(7);
        is_peelable(12);
        is_peelable(15);
    }

    #[test]
    fn the_full_width_is_peelable() {
        let hash = Peelable::new();
        for value in (0..u32::MAX).step_by(65_537) {
            for symbol in 0..33 {
                assert_eq!(hash.peel(32, hash.extend(32, value, symbol), symbol), value);
            }
        }
    }

    #[test]
    fn neighbours_and_repetitions_spread() {
        let hash = Peelable::new();
        let mut seen = std::collections::HashSet::new();
        for first in 0..33 {
            let mut value = hash.extend(32, EMPTY_HASH, first);
            for _ in 0..500 {
                value = hash.extend(32, value, 7);
                seen.insert(value >> 16);
            }
        }
        // 16,500 values in 65,536 places: chance leaves about 14,600 of them occupied.
        assert!(seen.len() > 13_000, "{} places", seen.len());
    }
}
