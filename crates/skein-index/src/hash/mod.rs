//! Prefix hashes. The hash of a longer prefix is computed from the state of a shorter one and the
//! bytes between.
//!
//! ```text
//!   start ─ step(8 bytes) ─► state ─ step(8 bytes) ─► state ...   one state per 8 bytes of a key
//!                              │ finish(0 to 7 bytes more, length)
//!                              ▼
//!                     64 bits: the position in a table, and the tag
//! ```
//!
//! The hash of a prefix depends on its bytes only. [`PrefixHasher`] computes the states of a key
//! once, in one pass without branches except the loop's. Every prefix's hash is two steps away from
//! one of these states. Source: Wormhole (2019), section 3.1. Difference: we keep a state per word
//! instead of continuing from the last probe's state, because no processor can predict how many
//! bytes lie between two probes.
//!
//! There are two kinds of hash behind one interface. CRC-32C is fast, but linear: an attacker can
//! choose any number of keys that collide, for every start value. An index that meets more
//! collisions than chance allows switches to the keyed hash. Its key is drawn at random.
//!
//! Read `prefix_hasher.rs` next, and `prefix_states.rs` for all prefixes of a key; `crc32c/` has
//! the processor's instruction. `peelable.rs` is a separate hash, for the Cuckoo Trie.

mod crc32c;
pub(crate) mod peelable;
mod prefix_hasher;
mod prefix_states;

use std::hash::{BuildHasher, RandomState};

pub(crate) use prefix_hasher::PrefixHasher;
pub(crate) use prefix_states::PrefixStates;

/// A hash function over prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefixHash {
    /// CRC-32C by the processor's own instruction.
    Hardware,
    /// CRC-32C without that instruction. It returns the same values.
    Portable,
    /// One multiplication per word, with a key.
    Keyed(u64),
}

impl PrefixHash {
    /// Returns CRC-32C, by the processor's instruction if it has one.
    pub(crate) fn crc32c() -> Self {
        if crc32c::in_hardware() { Self::Hardware } else { Self::Portable }
    }

    /// Returns a keyed hash with a random key.
    pub(crate) fn keyed() -> Self {
        Self::Keyed(RandomState::new().hash_one(0_u64) | 1)
    }

    /// Returns true if this is the keyed hash.
    #[inline(always)]
    pub(crate) fn is_keyed(self) -> bool {
        matches!(self, Self::Keyed(_))
    }

    /// Returns the hash of all of `bytes`.
    pub(crate) fn of(self, bytes: &[u8]) -> u64 {
        let words = bytes.as_chunks::<8>().0;
        let state =
            words.iter().fold(self.start(), |state, word| self.step(state, u64::from_le_bytes(*word)));
        self.finish(state, prefix_hasher::tail(bytes), bytes.len())
    }

    #[inline(always)]
    pub(crate) fn start(self) -> u64 {
        match self {
            Self::Hardware | Self::Portable => u32::MAX.into(),
            Self::Keyed(key) => key,
        }
    }

    /// Returns the state after eight more bytes.
    #[inline(always)]
    pub(crate) fn step(self, state: u64, word: u64) -> u64 {
        match self {
            Self::Hardware => crc32c::step(state, word),
            Self::Portable => portable(state, word),
            Self::Keyed(key) => keyed(key, state, word),
        }
    }

    /// Returns the hash of a prefix of `len` bytes. `rest` holds its last bytes, which are not in
    /// the state yet. Each of the 64 bits depends on all bytes; the upper bits are the best mixed.
    #[inline(always)]
    fn finish(self, state: u64, rest: u64, len: usize) -> u64 {
        let state = self.step(state, rest);
        // The length is part of the hash, because a partial word is padded with zeros.
        let sum = match self {
            Self::Hardware | Self::Portable => state | (len as u64) << 32,
            Self::Keyed(key) => keyed(key, state, len as u64),
        };
        mixed(sum)
    }

    /// Returns the hash of the `len` bytes, a multiple of eight, that led to this CRC-32C state.
    #[inline(always)]
    pub(crate) fn of_words(state: u64, len: usize) -> u64 {
        mixed(state | (len as u64) << 32)
    }
}

/// Mixes `sum` so that the upper bits of the result depend on all of its bits.
#[inline(always)]
fn mixed(sum: u64) -> u64 {
    sum.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Steps CRC-32C in software. The crate `crc32c` inverts the register between calls, as the
/// checksum's definition says; our state is not inverted.
fn portable(register: u64, word: u64) -> u64 {
    u64::from(!::crc32c::crc32c_append(!(register as u32), &word.to_le_bytes()))
}

/// Mixes eight bytes in by a full multiplication, so that no difference of inputs has a known
/// effect.
#[cold]
fn keyed(key: u64, state: u64, word: u64) -> u64 {
    let wide = u128::from(state ^ word) * u128::from(key ^ 0xa076_1d64_78bd_642f);
    // The state is mixed in once more, so that a product of zero does not erase it.
    (wide as u64) ^ ((wide >> 64) as u64) ^ state.rotate_left(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_and_portable_agree_with_the_definition() {
        // The check value of CRC-32C is that of "123456789". The whole word "12345678" is hashed
        // here; the crate hashes the last byte.
        let after_word = |hash: PrefixHash| hash.step(hash.start(), u64::from_le_bytes(*b"12345678"));
        for hash in [PrefixHash::Portable, PrefixHash::crc32c()] {
            assert_eq!(::crc32c::crc32c_append(!(after_word(hash) as u32), b"9"), 0xe306_9283, "{hash:?}");
        }
        for len in 0..100_u8 {
            let bytes: Vec<u8> = (0..len).map(|byte| byte.wrapping_mul(37) ^ 5).collect();
            assert_eq!(PrefixHash::Portable.of(&bytes), PrefixHash::crc32c().of(&bytes));
        }
    }

    #[test]
    fn keys_of_two_hashes_differ_and_zero_bytes_count() {
        let (one, other) = (PrefixHash::keyed(), PrefixHash::keyed());
        assert_ne!(one.of(b"goose"), other.of(b"goose"));
        for hash in [one, PrefixHash::Portable] {
            for len in 0..20 {
                assert_ne!(
                    hash.of(&vec![0; len]),
                    hash.of(&vec![0; len + 1]),
                    "{hash:?}, {len} zeros and one more"
                );
            }
        }
    }
}
