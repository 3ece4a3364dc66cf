//! Keys: up to eight bytes, as an integer and a length.
//!
//! ```text
//!   "geese"   67 65 65 73 65 00 00 00 │ 5    nine symbols: eight bytes, zero-padded; the length
//! ```
//!
//! Keys are ordered by their padded bytes, then by their length. That is the order of the byte
//! strings: if the padded bytes of two keys are equal, the shorter key is a prefix of the longer.
//! So the trie has nine levels. Only keys that differ in nothing but trailing zeros need the ninth.

/// The maximal number of bytes in a key.
pub const MAX_LEN: usize = 8;

/// The number of symbols before the length.
pub(super) const BYTES: u32 = MAX_LEN as u32;

/// A key, ordered by its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShortKey {
    /// Its bytes, the first one in the highest place, padded with zeros.
    pub(super) bits: u64,
    pub(super) len: u8,
}

impl ShortKey {
    pub(super) const LAST: Self = Self { bits: u64::MAX, len: BYTES as u8 };

    /// Returns the key with these bytes, or `None` if there are more than eight.
    #[inline(always)]
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        if let Ok(all) = <[u8; MAX_LEN]>::try_from(bytes) {
            return Some(Self { bits: u64::from_be_bytes(all), len: BYTES as u8 });
        }
        if bytes.len() > MAX_LEN {
            return None;
        }
        let mut filled = [0; MAX_LEN];
        filled[..bytes.len()].copy_from_slice(bytes);
        Some(Self { bits: u64::from_be_bytes(filled), len: bytes.len() as u8 })
    }

    /// Returns the greatest key that is not greater than these bytes, which may be longer than a
    /// key.
    pub(super) fn last_up_to(bytes: &[u8]) -> Self {
        Self::of(&bytes[..bytes.len().min(MAX_LEN)]).unwrap_or(Self::LAST)
    }

    /// Returns the padded bytes of the key. Only the first `len` count.
    #[inline(always)]
    pub(super) fn bytes(self) -> [u8; MAX_LEN] {
        self.bits.to_be_bytes()
    }

    /// Returns the symbol at a position from 0 to 8.
    #[inline(always)]
    pub(super) fn symbol(self, place: u32) -> u8 {
        if place < BYTES { (self.bits >> (56 - 8 * place)) as u8 } else { self.len }
    }

    /// Returns how many leading padded bytes two keys share.
    #[inline(always)]
    pub(super) fn shared_bytes(self, other: u64) -> u32 {
        (self.bits ^ other).leading_zeros() / 8
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_their_bytes_are() {
        let strings: [&[u8]; 10] = [
            b"",
            b"\0",
            b"\0\0",
            b"\0\x01",
            b"a",
            b"a\0",
            b"a\0\0\0\0\0\0\0",
            b"a\0\0\0\0\0\0\x01",
            b"ab",
            b"\xff",
        ];
        for pair in strings.windows(2) {
            assert!(ShortKey::of(pair[0]) < ShortKey::of(pair[1]), "{pair:?}");
        }
        for bytes in strings {
            let key = ShortKey::of(bytes).unwrap();
            assert_eq!(&key.bytes()[..key.len.into()], bytes);
        }
        assert_eq!(ShortKey::of(b"nine byte"), None);
        assert_eq!(ShortKey::last_up_to(b"nine byte"), ShortKey::of(b"nine byt").unwrap());
    }
}
