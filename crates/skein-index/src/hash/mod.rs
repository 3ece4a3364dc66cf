//! Hashes of prefixes that grow: the hash of a longer prefix follows from that of a shorter one and the bytes between.
//!
//! ```text
//!   start ─ step(8 bytes) ─► state ─ step(8 bytes) ─► state ...      one state for each eight bytes of a key
//!                              │ finish(0 to 7 bytes more, length)
//!                              ▼
//!                     64 bits: where in a table, which tag
//! ```
//!
//! The hash of a prefix depends on its bytes alone. [`Prefixes`] computes a key's states once, in one pass without a branch but the loop's; each
//! prefix's hash is two steps away from one of them. Source: Wormhole (2019), section 3.1; that
//! states are kept by the word instead of going on from the last probe's is ours: how many bytes lie between two probes is what no
//! processor can predict.
//!
//! Two hashes stand behind one interface. CRC-32C is fast, but it is linear: whoever chooses keys can make as many collide as they
//! like, whatever its start value is. An index that meets more collisions than chance allows goes over to the keyed one, whose key
//! is drawn at random when it is made.

mod crc32c;
pub(crate) mod peelable;
mod prefix_hasher;

use std::hash::{BuildHasher, RandomState};

pub(crate) use prefix_hasher::PrefixHasher;

/// A hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefixHash {
    /// CRC-32C by the processor's own instruction.
    Hardware,
    /// CRC-32C without it; the same values.
    Portable,
    /// A multiplication per word, keyed.
    Keyed(u64),
}

impl PrefixHash {
    /// CRC-32C, the best way this processor can.
    pub(crate) fn crc32c() -> Self {
        if crc32c::in_hardware() { Self::Hardware } else { Self::Portable }
    }

    /// A keyed hash with a key of its own.
    pub(crate) fn keyed() -> Self {
        Self::Keyed(RandomState::new().hash_one(0_u64) | 1)
    }

    /// Whether it is the keyed one.
    #[inline(always)]
    pub(crate) fn is_keyed(self) -> bool {
        matches!(self, Self::Keyed(_))
    }

    /// The hash of all of `bytes`, from the first one on.
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

    /// The state eight bytes further.
    #[inline(always)]
    pub(crate) fn step(self, state: u64, word: u64) -> u64 {
        match self {
            Self::Hardware => crc32c::step(state, word),
            Self::Portable => portable(state, word),
            Self::Keyed(key) => keyed(key, state, word),
        }
    }

    /// The hash of a prefix of `len` bytes, of which the last ones are not in the state yet: 64 bits that each depend on all
    /// bytes, the upper ones best.
    #[inline(always)]
    fn finish(self, state: u64, rest: u64, len: usize) -> u64 {
        let state = self.step(state, rest);
        // The length, since zeros stand for the bytes that a word lacks.
        let sum = match self {
            Self::Hardware | Self::Portable => state | (len as u64) << 32,
            Self::Keyed(key) => keyed(key, state, len as u64),
        };
        mixed(sum)
    }

    /// The hash of the `len` bytes, whole words, that led to a state of the plain hash.
    #[inline(always)]
    pub(crate) fn of_words(state: u64, len: usize) -> u64 {
        mixed(state | (len as u64) << 32)
    }
}

/// A sum whose upper bits depend on all of it.
#[inline(always)]
fn mixed(sum: u64) -> u64 {
    sum.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The crate keeps the register inverted between calls, as the checksum is defined; we keep it as it is.
fn portable(register: u64, word: u64) -> u64 {
    u64::from(!::crc32c::crc32c_append(!(register as u32), &word.to_le_bytes()))
}

/// Folds eight bytes in by a full multiplication, so that no difference of inputs has a known effect.
#[cold]
fn keyed(key: u64, state: u64, word: u64) -> u64 {
    let wide = u128::from(state ^ word) * u128::from(key ^ 0xa076_1d64_78bd_642f);
    // The state once more, so that a product of zero does not make it forget.
    (wide as u64) ^ ((wide >> 64) as u64) ^ state.rotate_left(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_and_portable_agree_with_the_definition() {
        // The check value of CRC-32C, of "123456789", by whole words: after "12345678", then one byte is left to the crate.
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
