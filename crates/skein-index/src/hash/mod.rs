//! Hashes of prefixes that grow: the hash of a longer prefix follows from that of a shorter one and the bytes between.
//!
//! ```text
//!   start ─ extend("Jam") ─► state of "Jam" ─ extend("es") ─► state of "James"
//!                                │ mix                            │ mix
//!                                ▼                                ▼
//!                             64 bits: where in a table, which tag
//! ```
//!
//! The state after some bytes depends on the bytes alone, not on where they were cut. Source: Wormhole (2019), section 3.1.
//!
//! Two hashes stand behind one interface. CRC-32C is fast, but it is linear: whoever chooses keys can make as many collide as they
//! like, whatever its start value is. An index that meets more collisions than chance allows goes over to the keyed one, whose key
//! is drawn at random when it is made.

mod crc32c;

use std::hash::{BuildHasher, RandomState};

/// A hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefixHash {
    /// CRC-32C by the processor's own instruction.
    Hardware,
    /// CRC-32C without it; the same values.
    Portable,
    /// A multiplication per byte, keyed.
    Keyed(u64),
}

/// What is known of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    /// 64 bits that each depend on the state, the upper ones best.
    #[inline(always)]
    pub(crate) fn mix(self) -> u64 {
        (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
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
    pub(crate) fn is_keyed(self) -> bool {
        matches!(self, Self::Keyed(_))
    }

    /// The state of the empty prefix.
    #[inline(always)]
    pub(crate) fn start(self) -> State {
        match self {
            Self::Hardware | Self::Portable => State(u32::MAX.into()),
            Self::Keyed(key) => State(key),
        }
    }

    /// The state of the prefix that is longer by `bytes`.
    #[inline(always)]
    pub(crate) fn extend(self, state: State, bytes: &[u8]) -> State {
        match self {
            Self::Hardware => State(crc32c::extend(state.0, bytes)),
            Self::Portable => State(portable(state.0, bytes)),
            Self::Keyed(key) => State(keyed(key, state.0, bytes)),
        }
    }
}

/// The crate keeps the register inverted between calls, as the checksum is defined; we keep it as it is.
fn portable(register: u64, bytes: &[u8]) -> u64 {
    u64::from(!::crc32c::crc32c_append(!(register as u32), bytes))
}

/// Folds each byte in by a full multiplication, so that no difference of inputs has a known effect.
#[cold]
fn keyed(key: u64, state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, &byte| {
        // 256 keeps a zero byte from being nothing.
        let wide = u128::from(state ^ (256 | u64::from(byte))) * u128::from(key ^ 0xa076_1d64_78bd_642f);
        (wide as u64) ^ ((wide >> 64) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_does_not_depend_on_where_bytes_were_cut() {
        let bytes: Vec<u8> = (0..=255_u8).map(|byte| byte.wrapping_mul(37) ^ 5).collect();
        for hash in [PrefixHash::crc32c(), PrefixHash::Portable, PrefixHash::keyed()] {
            for end in [0, 1, 2, 3, 7, 8, 9, 16, 31, 64, 255] {
                let whole = hash.extend(hash.start(), &bytes[..end]);
                for cut in 0..=end {
                    let part = hash.extend(hash.start(), &bytes[..cut]);
                    assert_eq!(hash.extend(part, &bytes[cut..end]), whole, "{hash:?}, {cut} of {end}");
                }
            }
        }
    }

    #[test]
    fn hardware_and_portable_agree_with_the_definition() {
        // The check value of CRC-32C, with the register's final inversion.
        let check = |hash: PrefixHash| !(hash.extend(hash.start(), b"123456789").0 as u32);
        assert_eq!(check(PrefixHash::Portable), 0xe306_9283);
        assert_eq!(check(PrefixHash::crc32c()), 0xe306_9283);
    }

    #[test]
    fn keys_of_two_hashes_differ_and_zero_bytes_count() {
        let (one, other) = (PrefixHash::keyed(), PrefixHash::keyed());
        assert_ne!(one.extend(one.start(), b"goose"), other.extend(other.start(), b"goose"));
        for hash in [one, PrefixHash::Portable] {
            assert_ne!(hash.extend(hash.start(), b"\0"), hash.extend(hash.start(), b"\0\0"));
        }
    }
}
