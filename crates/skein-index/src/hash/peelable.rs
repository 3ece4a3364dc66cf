//! A hash of symbol strings from which the last symbol can be taken off again.
//!
//! ```text
//!   extend(h, c):   x = (h ⊕ seed[c]) · M   mod 2^bits        peel(h, c):   the same steps backwards
//!                   x, its two halves exchanged
//! ```
//!
//! For each symbol, `extend` is a permutation of the hash values. So strings with the same last symbol have the same hash only if what is
//! left without that symbol has the same hash too, which is what lets a table drop its keys (Cuckoo Trie, section 4.2). The paper's
//! function is linear and known to all; ours is seeded at random, and multiplies both halves of the hash in turn, so that nobody can choose
//! keys that collide without knowing the seeds. A step takes five cycles, and each waits for the one before.

#[cfg(not(skein_loom))]
use std::hash::{BuildHasher, RandomState};

/// Odd, with about as many ones as zeros.
const MULTIPLIER: u32 = 0x9e37_79b1;

/// The hash of the empty string.
pub(crate) const EMPTY_HASH: u32 = 0;

/// A hash over symbols, with values of up to 32 bits. How many is said at each call, where it is a constant.
#[derive(Debug)]
pub(crate) struct Peelable {
    /// By symbol; for any byte, so that no look into them needs a check.
    seeds: [u32; 256],
}

/// All ones, so many.
const fn mask(bits: u32) -> u32 {
    u32::MAX >> (32 - bits)
}

/// The lower `low` bits of a number of `bits` bits moved above the others.
#[inline(always)]
const fn rotate(number: u32, low: u32, bits: u32) -> u32 {
    if bits == u32::BITS {
        number.rotate_right(low)
    } else {
        (number << (bits - low) | number >> low) & mask(bits)
    }
}

impl Peelable {
    /// A hash with random seeds.
    pub(crate) fn new() -> Self {
        Self { seeds: seeds() }
    }

    /// The hash, of `bits` bits, 2 to 32, of the string that is longer by `symbol`.
    #[inline(always)]
    pub(crate) fn extend(&self, bits: u32, hash: u32, symbol: u8) -> u32 {
        let mixed =
            (hash ^ self.seeds[usize::from(symbol)] & mask(bits)).wrapping_mul(MULTIPLIER) & mask(bits);
        rotate(mixed, bits / 2, bits)
    }
}

/// Random numbers.
#[cfg(not(skein_loom))]
fn seeds() -> [u32; 256] {
    let random = RandomState::new();
    std::array::from_fn(|symbol| random.hash_one(symbol) as u32)
}

/// The same numbers each time: the runs of a model repeat each other.
#[cfg(skein_loom)]
fn seeds() -> [u32; 256] {
    std::array::from_fn(|symbol| ((symbol as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32)
}

#[cfg(test)]
impl Peelable {
    /// The hash of the string without its last symbol.
    pub(crate) fn peel(&self, bits: u32, hash: u32, symbol: u8) -> u32 {
        let mixed = rotate(hash, bits - bits / 2, bits);
        (mixed.wrapping_mul(inverse(MULTIPLIER)) ^ self.seeds[usize::from(symbol)]) & mask(bits)
    }
}

/// The number that undoes a multiplication modulo 2^32, by Newton's method.
#[cfg(test)]
fn inverse(odd: u32) -> u32 {
    (0..5).fold(odd, |guess, _| guess.wrapping_mul(2_u32.wrapping_sub(odd.wrapping_mul(guess))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value is reached from exactly one, for every symbol, and the way back leads there.
    fn is_peelable(bits: u32) {
        let hash = Peelable::new();
        for symbol in 0..33 {
            let mut reached = vec![false; 1 << bits];
            for value in 0..1 << bits {
                let longer = hash.extend(bits, value, symbol);
                assert!(
                    !std::mem::replace(&mut reached[longer as usize], true),
                    "{bits} bits: two come to {longer}"
                );
                assert_eq!(hash.peel(bits, longer, symbol), value, "{bits} bits");
            }
        }
    }

    #[test]
    fn small_ones_are_peelable_without_exception() {
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
        // 16,500 values in 65,536 places: chance leaves about 14,600 of them taken.
        assert!(seen.len() > 13_000, "{} places", seen.len());
    }
}
