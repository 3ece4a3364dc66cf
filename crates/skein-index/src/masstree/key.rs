//! Cutting a key into slices.
//!
//! Layer `l` of the trie compares the key's bytes from `8 * l` on. Eight bytes read as a big-endian
//! number compare as the bytes do. A shorter rest is padded with zeros and its length breaks the
//! tie, so keys that differ only in trailing zero bytes are different keys. Source: Masstree,
//! section 4.1.

use super::key_lengths::LINK;

/// The part of a key that one layer compares: the slice, and its code (the length, or [`LINK`] if
/// the key continues).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeySlice {
    pub(super) bits: u64,
    pub(super) code: u8,
}

impl KeySlice {
    /// Returns the slice of `key` at `offset`, which must be at most the key's length.
    #[inline(always)]
    pub(super) fn at(key: &[u8], offset: usize) -> Self {
        let rest = &key[offset..];
        if let Some(whole) = rest.first_chunk::<8>() {
            let code = if rest.len() > 8 { LINK } else { 8 };
            return Self { bits: u64::from_be_bytes(*whole), code };
        }
        let code = rest.len() as u8;
        // A short rest of a long key: load the key's last eight bytes and shift out those before
        // the rest.
        let bits = match key.last_chunk::<8>() {
            Some(last) if code > 0 => u64::from_be_bytes(*last) << (64 - 8 * u32::from(code)),
            Some(_) => 0,
            None => rest.iter().rev().fold(0, |bits, &byte| bits >> 8 | u64::from(byte) << 56),
        };
        Self { bits, code }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn slices_order_like_the_keys() {
        let mut keys: Vec<Vec<u8>> = vec![b"".into(), b"a".into(), b"ab".into(), vec![0], vec![0, 0]];
        keys.extend((0..12).map(|length| vec![0xff; length]));
        keys.extend((0..12).map(|length| vec![7; length]));
        keys.sort();
        keys.dedup();
        for pair in keys.windows(2) {
            let (a, b) = (KeySlice::at(&pair[0], 0), KeySlice::at(&pair[1], 0));
            assert!(a < b || (a == b && a.code == LINK), "{pair:?}");
        }
    }

    #[test]
    fn a_rest_is_the_same_wherever_it_lies() {
        let key = b"0123456789abcdefXYZ";
        for start in 0..=key.len() {
            let alone = KeySlice::at(&key[start..], 0);
            let mut shifted = vec![0xaa; 16];
            shifted.extend_from_slice(&key[start..]);
            assert_eq!(KeySlice::at(&shifted, 16), alone, "rest from {start}");
        }
    }
}
