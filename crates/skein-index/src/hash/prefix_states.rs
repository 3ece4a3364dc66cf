//! The hashes of all prefixes of one key, for callers that need most of them.
//!
//! [`PrefixHasher`](super::PrefixHasher) keeps few states, so that it fits the stack: of a key of
//! 60,000 bytes one in 2,048 bytes. For all prefixes of such a key, its steps grow with the square
//! of the length. Here each word has its state, so every prefix takes one step.

use super::PrefixHash;
use super::prefix_hasher::{WORD, first, tail};

/// A key, with the state before each of its words.
#[derive(Debug)]
pub(crate) struct PrefixStates<'k> {
    bytes: &'k [u8],
    hash: PrefixHash,
    states: Vec<u64>,
}

impl<'k> PrefixStates<'k> {
    /// Returns the states of the empty key.
    pub(crate) fn empty(hash: PrefixHash) -> Self {
        Self { bytes: &[], hash, states: vec![hash.start()] }
    }

    /// Computes the states of `bytes`.
    pub(crate) fn set(&mut self, hash: PrefixHash, bytes: &'k [u8]) {
        (self.hash, self.bytes) = (hash, bytes);
        let mut state = hash.start();
        self.states.clear();
        self.states.push(state);
        for word in bytes.as_chunks::<WORD>().0 {
            state = hash.step(state, u64::from_le_bytes(*word));
            self.states.push(state);
        }
    }

    /// Returns the key.
    pub(crate) fn bytes(&self) -> &'k [u8] {
        self.bytes
    }

    /// Returns the hash of the prefix of `len` bytes.
    pub(crate) fn at(&self, len: usize) -> u64 {
        let rest = &self.bytes[len / WORD * WORD..];
        let word = rest.first_chunk().map_or_else(|| tail(self.bytes), |word| u64::from_le_bytes(*word));
        self.hash.finish(self.states[len / WORD], first(word, len), len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_has_its_hash() {
        let key: Vec<u8> = (0..1000_u32).map(|number| (number * 37 % 251) as u8).collect();
        for hash in [PrefixHash::Portable, PrefixHash::crc32c(), PrefixHash::keyed()] {
            let mut states = PrefixStates::empty(hash);
            assert_eq!(states.at(0), hash.of(&[]));
            for bytes in [&key[..], &key[..7], &key[..16], &[]] {
                states.set(hash, bytes);
                for len in 0..=bytes.len() {
                    assert_eq!(states.at(len), hash.of(&bytes[..len]), "{hash:?}, {len} of {}", bytes.len());
                }
            }
        }
    }
}
