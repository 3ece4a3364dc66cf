//! Keys as strings of symbols: five bits each, then an end symbol.
//!
//! ```text
//!   key      01101011 01100101        8 n bits, padded with zeros
//!   symbols  01101 01101 10010 1····  END
//! ```
//!
//! The end is less than every other symbol. So no key's symbols are a prefix of another key's, and
//! symbol strings have the order of the byte strings. Source: Cuckoo Trie, section 4.6 (size of
//! symbols). The end symbol is ours.

/// The symbol after a key's last bits.
pub(crate) const END: u8 = 0;
/// The number of different symbols: the end, and `1..=32` for five bits.
pub(crate) const SYMBOLS: usize = 33;

/// The symbols of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySymbols<'k> {
    key: &'k [u8],
}

impl<'k> KeySymbols<'k> {
    pub(crate) fn of(key: &'k [u8]) -> Self {
        Self { key }
    }

    pub(super) fn key(self) -> &'k [u8] {
        self.key
    }

    /// Returns the number of symbols, including the end.
    #[inline(always)]
    pub(crate) fn count(self) -> u32 {
        (8 * self.key.len()).div_ceil(5) as u32 + 1
    }

    /// Returns the symbol at a position. Past the last bits, it returns the end.
    #[inline(always)]
    pub(crate) fn at(self, index: u32) -> u8 {
        let bit = 5 * index as usize;
        let byte = bit / 8;
        let Some(&high) = self.key.get(byte) else { return END };
        let low = self.key.get(byte + 1).copied().unwrap_or(0);
        let window = u16::from_be_bytes([high, low]);
        ((window >> (11 - bit % 8)) & 31) as u8 + 1
    }

    /// Returns the eight symbols from position `8 * block` on, one per byte, the first in the
    /// lowest byte. Past the last bits, they are ends.
    #[inline(always)]
    pub(super) fn block(self, block: u32) -> u64 {
        let first = 5 * block as usize;
        match self.key.get(first..).and_then(<[u8]>::first_chunk::<8>) {
            Some(bytes) => spread(u64::from_be_bytes(*bytes) >> 24),
            None => self.last_block(first),
        }
    }

    /// Returns the symbol at position `index`, and advances `window`, which holds the next symbols.
    /// The window must come from [`Self::window`], or be 0 for position 0, and positions must be
    /// consecutive.
    #[inline(always)]
    pub(super) fn next(self, index: u32, window: &mut u64) -> u8 {
        if index.is_multiple_of(8) {
            *window = self.block(index / 8);
        }
        let symbol = *window as u8;
        *window >>= 8;
        symbol
    }

    /// Returns the window to pass to [`Self::next`] for position `index`.
    #[inline(always)]
    pub(super) fn window(self, index: u32) -> u64 {
        self.block(index / 8) >> (8 * (index % 8))
    }

    /// Returns the bits of `count` symbols, at most 15, from position `index` on. The first symbol
    /// has the highest bits. Past the end of the key, bits are zeros.
    #[inline(always)]
    pub(super) fn bits(self, index: u32, count: u32) -> u128 {
        let bit = 5 * index as usize;
        let window = match self.key.get(bit / 8..).and_then(<[u8]>::first_chunk::<16>) {
            Some(bytes) => u128::from_be_bytes(*bytes),
            None => self.last_bits(bit / 8),
        };
        (window << (bit % 8)) >> (128 - 5 * count)
    }

    /// Returns the bits from byte `first` on, where the key has fewer than 16 bytes left.
    #[inline(never)]
    fn last_bits(self, first: usize) -> u128 {
        let rest = self.key.get(first..).unwrap_or_default();
        rest.iter().enumerate().fold(0, |bits, (at, &byte)| bits | u128::from(byte) << (120 - 8 * at))
    }

    /// Returns the block that begins at byte `first`, where the key has fewer than eight bytes
    /// left.
    #[inline(never)]
    fn last_block(self, first: usize) -> u64 {
        let rest = self.key.get(first..).unwrap_or_default();
        let five = rest
            .iter()
            .take(5)
            .enumerate()
            .fold(0, |bits, (at, &byte)| bits | u64::from(byte) << (32 - 8 * at));
        let symbols = (8 * rest.len()).div_ceil(5);
        if symbols < 8 { spread(five) & ((1 << (8 * symbols)) - 1) } else { spread(five) }
    }

    /// Returns the position of the first symbol that differs. Panics if the keys are equal.
    pub(crate) fn first_difference(self, other: Self) -> u32 {
        let words = self.key.as_chunks::<8>().0.iter().zip(other.key.as_chunks::<8>().0);
        let start = 8 * words.take_while(|(a, b)| a == b).count();
        let rest = self.key[start..].iter().zip(&other.key[start..]);
        let same = start + rest.take_while(|(a, b)| a == b).count();
        ((8 * same / 5) as u32..=self.count())
            .find(|&index| self.at(index) != other.at(index))
            .expect("the keys must differ")
    }

    /// Returns whether the first `count` symbols equal those of another key. Neither key may end
    /// within them.
    pub(super) fn begins_as(self, other: Self, count: u32) -> bool {
        let (bytes, bits) = (5 * count as usize / 8, 5 * count % 8);
        let last = |key: &[u8]| u32::from(key.get(bytes).copied().unwrap_or(0)) >> (8 - bits);
        self.count().min(other.count()) > count
            && self.key[..bytes] == other.key[..bytes]
            && last(self.key) == last(other.key)
    }
}

/// Spreads forty bits into eight symbols, one per byte, the first in the lowest byte.
#[inline(always)]
fn spread(bits: u64) -> u64 {
    let halves = (bits & 0xff_fff0_0000) << 12 | bits & 0xf_ffff;
    let quarters = (halves & 0x000f_fc00_000f_fc00) << 6 | halves & 0x0000_03ff_0000_03ff;
    let eighths = (quarters & 0x03e0_03e0_03e0_03e0) << 3 | quarters & 0x001f_001f_001f_001f;
    (eighths + 0x0101_0101_0101_0101).swap_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_symbols_and_the_end() {
        for len in 0..30_u8 {
            let key: Vec<u8> = (0..len).map(|at| at.wrapping_mul(151) ^ 0x5a).collect();
            let symbols = KeySymbols::of(&key);
            for index in 0..60 {
                let in_block = symbols.block(index / 8) >> (8 * (index % 8)) & 0xff;
                assert_eq!(in_block, u64::from(symbols.at(index)), "symbol {index} of {len} bytes");
                let mut window = symbols.window(index);
                for next in index..index + 20 {
                    assert_eq!(symbols.next(next, &mut window), symbols.at(next), "from {index} to {next}");
                }
            }
        }
    }

    fn list(key: &[u8]) -> Vec<u8> {
        let symbols = KeySymbols::of(key);
        (0..symbols.count()).map(|index| symbols.at(index)).collect()
    }

    #[test]
    fn symbols_have_the_order_of_bytes_without_prefixes() {
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
            let (a, b) = (KeySymbols::of(a), KeySymbols::of(b));
            assert_eq!(a.first_difference(b), same as u32, "{a:?} and {b:?}");
            for count in 0..a.count() {
                assert_eq!(a.begins_as(b, count), count <= same as u32, "{a:?} and {b:?}, {count} symbols");
            }
        }
    }
}
