//! Keys: up to eight bytes, as an integer and a length.
//!
//! ```text
//!   "geese"   67 65 65 73 65 00 00 00 │ 5        nine symbols: eight bytes, filled up with zeros, and the length
//! ```
//!
//! Keys are in order by their bytes, and then by their length, which is the same as the order of the byte strings: of two whose filled-up bytes are
//! equal, the shorter one is a prefix of the other. So the trie has nine levels, and the ninth only for keys that differ in trailing zeros alone.

/// The most bytes in a key.
pub const MAX_LEN: usize = 8;

/// How many symbols come before the length.
pub(super) const BYTES: u32 = MAX_LEN as u32;

/// A key. Ordered as its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShortKey {
    /// Its bytes, the first one in the highest place, filled up with zeros.
    pub(super) bits: u64,
    pub(super) len: u8,
}

impl ShortKey {
    /// The last of all keys.
    pub(super) const LAST: Self = Self { bits: u64::MAX, len: BYTES as u8 };

    /// The key of these bytes; none if there are more than eight.
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

    /// The last key that is at or before these bytes, however long they are.
    pub(super) fn last_up_to(bytes: &[u8]) -> Self {
        Self::of(&bytes[..bytes.len().min(MAX_LEN)]).unwrap_or(Self::LAST)
    }

    /// The key's bytes, of which the first `len` count.
    #[inline(always)]
    pub(super) fn bytes(self) -> [u8; MAX_LEN] {
        self.bits.to_be_bytes()
    }

    /// The symbol at a place, 0 to 8.
    #[inline(always)]
    pub(super) fn symbol(self, place: u32) -> u8 {
        if place < BYTES { (self.bits >> (56 - 8 * place)) as u8 } else { self.len }
    }

    /// How many bytes two keys share, the zeros at their ends included.
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
