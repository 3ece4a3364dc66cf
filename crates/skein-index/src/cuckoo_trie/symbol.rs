//! Keys as strings of symbols: five bits each, and an end.
//!
//! ```text
//!   key      01101011 01100101        8 n bits, filled up with zeros
//!   symbols  01101 01101 10010 1····  END
//! ```
//!
//! Keys of different lengths have different numbers of symbols, so the end, which is less than all others, makes no key's symbols a prefix of
//! another's, and symbols compare as bytes do. Source: Cuckoo Trie, section 4.6 on the size of symbols; the end is ours.

/// The end of a key.
pub(crate) const END: u8 = 0;
/// How many symbols there are: the end, and `1..=32` for five bits.
pub(crate) const SYMBOLS: usize = 33;

/// A key's symbols.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbols<'k> {
    key: &'k [u8],
}

impl<'k> Symbols<'k> {
    pub(crate) fn of(key: &'k [u8]) -> Self {
        Self { key }
    }

    /// How many there are, the end included.
    #[inline(always)]
    pub(crate) fn count(self) -> u32 {
        (8 * self.key.len()).div_ceil(5) as u32 + 1
    }

    /// The symbol at a position; the end from the end on.
    #[inline(always)]
    pub(crate) fn at(self, index: u32) -> u8 {
        let bit = 5 * index as usize;
        let byte = bit / 8;
        let Some(&high) = self.key.get(byte) else { return END };
        let low = self.key.get(byte + 1).copied().unwrap_or(0);
        let window = u16::from_be_bytes([high, low]);
        ((window >> (11 - bit % 8)) & 31) as u8 + 1
    }

    /// The position of the first symbol that differs. The keys differ.
    pub(crate) fn first_difference(self, other: Self) -> u32 {
        let same = self.key.iter().zip(other.key).take_while(|(a, b)| a == b).count();
        let start = (8 * same / 5) as u32;
        (start..=self.count())
            .find(|&index| self.at(index) != other.at(index))
            .expect("different keys differ somewhere")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(key: &[u8]) -> Vec<u8> {
        let symbols = Symbols::of(key);
        (0..symbols.count()).map(|index| symbols.at(index)).collect()
    }

    #[test]
    fn symbols_order_as_bytes_and_none_is_a_prefix() {
        let mut keys: Vec<Vec<u8>> = vec![vec![]];
        for first in [0_u8, 1, 7, 8, 0x80, 0xff] {
            keys.push(vec![first]);
            for second in [0_u8, 1, 0x3f, 0x40, 0xff] {
                keys.push(vec![first, second]);
                keys.extend((1..8).map(|zeros| [vec![first, second], vec![0; zeros]].concat()));
            }
        }
        keys.sort();
        for (a, b) in keys.iter().zip(&keys[1..]) {
            assert!(list(a) < list(b), "{a:?} and {b:?}");
            assert!(!list(b).starts_with(&list(a)), "{a:?} and {b:?}");
            let same = list(a).iter().zip(list(b)).take_while(|(a, b)| **a == *b).count();
            assert_eq!(Symbols::of(a).first_difference(Symbols::of(b)), same as u32, "{a:?} and {b:?}");
        }
    }
}
