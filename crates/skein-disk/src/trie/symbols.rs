//! Symbols: the pieces of a key, one for each step down a trie.
//!
//! ```text
//!   key      0110 1000 0110 1001           "hi"
//!   b = 4    0110│1000│0110│1001           symbol i is bits i·b to (i + 1)·b
//!   b = 3    011│010│000│110│100│1..       the last one is padded with zeros
//! ```
//!
//! # Invariants
//! 1. A key with more bytes has more symbols, since b is at most 8. So a path and its length
//!    determine one key at most.
//! 2. The order of paths is the byte order of the keys; a path precedes its extensions.
//! 3. The bits of a path keep their position within a byte. The encoding of the symbols from `from`
//!    onwards begins with the byte in which symbol `from` begins, and foreign bits there are 0. So
//!    paths are compared, cut and joined by bytes.
//!
//! Source: section 3.1 (n children need symbols of log2 n bits); section 3.2 (characters: b is 8).

use std::ops::Range;

/// The number of bits of a symbol, 2 to 8. It determines how keys are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrieSymbols {
    bits: usize,
}

impl TrieSymbols {
    pub(crate) const fn of_bits(bits: u8) -> Self {
        Self { bits: bits as usize }
    }

    /// Returns the number of different symbols.
    pub(crate) fn range(self) -> usize {
        1 << self.bits
    }

    /// Returns how many symbols a key of `len` bytes has.
    #[inline]
    pub(crate) fn count(self, len: usize) -> usize {
        // A division would take as long as all other work for a node.
        match self.bits {
            8 => len,
            4 => 2 * len,
            bits => (8 * len).div_ceil(bits),
        }
    }

    /// Returns the length of the key with this many symbols (invariant 1).
    pub(crate) fn len(self, count: usize) -> usize {
        count * self.bits / 8
    }

    /// Returns a symbol of a key.
    pub(crate) fn at(self, key: &[u8], index: usize) -> u8 {
        self.at_in(key, 0, index)
    }

    /// Returns a symbol of a path; `path` starts with the byte in which symbol `at` begins.
    pub(crate) fn at_in(self, path: &[u8], at: usize, index: usize) -> u8 {
        let (base, bit) = (at * self.bits / 8, index * self.bits);
        let byte = |at: usize| path.get(at - base).copied().unwrap_or(0);
        let two = u16::from_be_bytes([byte(bit / 8), byte(bit / 8 + 1)]);
        ((two << (bit % 8)) >> (16 - self.bits)) as u8
    }

    /// Returns the bytes in which symbols lie (invariant 3).
    pub(crate) fn cover(self, symbols: Range<usize>) -> Range<usize> {
        let start = symbols.start * self.bits / 8;
        if symbols.is_empty() { start..start } else { start..(symbols.end * self.bits).div_ceil(8) }
    }

    /// Returns how many symbols from `from` onwards fit into this many bytes.
    pub(crate) fn fitting(self, from: usize, bytes: usize) -> usize {
        8 * (from * self.bits / 8 + bytes) / self.bits - from
    }

    /// Returns some symbols of a path as bytes; `path` starts with the byte in which symbol `at`
    /// begins.
    pub(crate) fn cut(self, path: &[u8], at: usize, symbols: Range<usize>) -> Vec<u8> {
        let base = at * self.bits / 8;
        let cover = self.cover(symbols.clone());
        let mut bytes: Vec<u8> = cover.map(|byte| path.get(byte - base).copied().unwrap_or(0)).collect();
        if let Some(first) = bytes.first_mut() {
            *first &= 0xff >> (symbols.start * self.bits % 8);
        }
        if let Some(last) = bytes.last_mut() {
            *last &= self.last_bits(symbols.end);
        }
        bytes
    }

    /// Returns a mask for the bits of the last byte that belong to symbols before `end`.
    fn last_bits(self, end: usize) -> u8 {
        0xff << ((8 - end * self.bits % 8) % 8)
    }

    /// Returns how many of the `count` symbols of a prefix, which begins at symbol `from`, agree
    /// with the key. The key must have at least `from` symbols.
    #[inline]
    pub(crate) fn common(self, key: &[u8], from: usize, prefix: &[u8], count: usize) -> usize {
        let Some((first, others)) = prefix.split_first() else { return 0 };
        let most = count.min(self.count(key.len()) - from);
        let start = from * self.bits / 8;
        let in_key = |at: usize| key.get(start + at).copied().unwrap_or(0);
        let differs_at = |at: usize, differs: u8| {
            let bit = 8 * (start + at) + differs.leading_zeros() as usize;
            most.min(bit / self.bits - from)
        };
        let differs = (first ^ in_key(0)) & (0xff >> (from * self.bits % 8));
        if differs != 0 {
            return differs_at(0, differs);
        }
        for (at, byte) in (1..).zip(others) {
            if *byte != in_key(at) {
                return differs_at(at, byte ^ in_key(at));
            }
        }
        most
    }
}

/// A path under construction, or its part from some symbol onwards.
#[derive(Clone, Debug)]
pub(crate) struct SymbolPath {
    symbols: TrieSymbols,
    /// The first byte of the part.
    base: usize,
    bytes: Vec<u8>,
    /// The number of symbols, including those before the part.
    depth: usize,
}

impl SymbolPath {
    /// Returns an empty part that begins after `depth` symbols.
    pub(crate) fn new(symbols: TrieSymbols, depth: usize) -> Self {
        Self { symbols, base: depth * symbols.bits / 8, bytes: Vec::new(), depth }
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Appends symbols in the encoding of [`TrieSymbols::cut`]. Errors if the number of bytes is
    /// wrong.
    pub(crate) fn push_all(&mut self, prefix: &[u8], count: usize) -> Result<(), String> {
        let cover = self.symbols.cover(self.depth..self.depth + count);
        if cover.len() != prefix.len() {
            let (has, needs) = (prefix.len(), cover.len());
            return Err(format!("a prefix of {count} symbols has {has} bytes, and needs {needs}"));
        }
        let start = cover.start - self.base;
        self.bytes.resize(self.bytes.len().max(start + prefix.len()), 0);
        self.bytes[start..].iter_mut().zip(prefix).for_each(|(byte, more)| *byte |= more);
        self.depth += count;
        Ok(())
    }

    /// Appends a symbol.
    pub(crate) fn push(&mut self, symbol: u8) {
        let bit = self.depth * self.symbols.bits;
        let two = (u16::from(symbol) << (16 - self.symbols.bits)) >> (bit % 8);
        let cover = self.symbols.cover(self.depth..self.depth + 1);
        self.bytes.resize(cover.end - self.base, 0);
        let bytes = self.bytes[cover.start - self.base..].iter_mut();
        bytes.zip(two.to_be_bytes()).for_each(|(byte, more)| *byte |= more);
        self.depth += 1;
    }

    /// Shortens the path to this many symbols.
    pub(crate) fn truncate(&mut self, depth: usize) {
        self.depth = depth;
        self.bytes.truncate((depth * self.symbols.bits).div_ceil(8) - self.base);
        if let Some(last) = self.bytes.last_mut() {
            *last &= self.symbols.last_bits(depth);
        }
    }

    /// Returns the bytes of the part.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the key of this path, or `None` if no key has it.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        let len = self.symbols.len(self.depth);
        let (key, rest) = self.bytes.split_at_checked(len)?;
        (self.symbols.count(len) == self.depth && rest.iter().all(|byte| *byte == 0)).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn symbols_of(symbols: TrieSymbols, key: &[u8]) -> Vec<u8> {
        (0..symbols.count(key.len())).map(|index| symbols.at(key, index)).collect()
    }

    fn keys() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![Just(0), Just(1), Just(255), any::<u8>()], 0..12)
    }

    proptest! {
        #[test]
        fn paths_have_the_order_of_their_keys(one in keys(), other in keys()) {
            for symbols in (2..=8).map(TrieSymbols::of_bits) {
                let (a, b) = (symbols_of(symbols, &one), symbols_of(symbols, &other));
                prop_assert!(a.iter().all(|symbol| usize::from(*symbol) < symbols.range()));
                prop_assert_eq!(a.cmp(&b), one.cmp(&other), "{:?}", symbols);
                prop_assert_eq!(symbols.len(a.len()), one.len());
            }
        }

        #[test]
        fn paths_are_joined_from_symbols_and_parts(key in keys(), cuts in (any::<usize>(), any::<usize>())) {
            for symbols in (2..=8).map(TrieSymbols::of_bits) {
                let all = symbols_of(symbols, &key);
                let first = cuts.0 % (all.len() + 1);
                let second = first + cuts.1 % (all.len() - first + 1);
                let mut path = SymbolPath::new(symbols, 0);
                all[..first].iter().for_each(|symbol| path.push(*symbol));
                path.push_all(&symbols.cut(&key, 0, first..second), second - first).unwrap();
                all[second..].iter().for_each(|symbol| path.push(*symbol));
                prop_assert_eq!(path.key(), Some(&key[..]));
                prop_assert_eq!(path.depth(), all.len());
                path.truncate(first);
                let mut part = SymbolPath::new(symbols, first);
                all[first..].iter().for_each(|symbol| {
                    path.push(*symbol);
                    part.push(*symbol);
                });
                prop_assert_eq!(path.key(), Some(&key[..]));
                prop_assert_eq!(part.bytes(), &symbols.cut(&key, 0, first..all.len())[..]);
                let middle = symbols.cut(part.bytes(), first, second..all.len());
                prop_assert_eq!(middle, symbols.cut(&key, 0, second..all.len()));
            }
        }

        #[test]
        fn common_symbols_are_counted(one in keys(), other in keys(), from in any::<usize>(), count in any::<usize>()) {
            for symbols in (2..=8).map(TrieSymbols::of_bits) {
                let (a, b) = (symbols_of(symbols, &one), symbols_of(symbols, &other));
                let from = from % (a.len().min(b.len()) + 1);
                let count = count % (a.len() - from + 1);
                let prefix = symbols.cut(&one, 0, from..from + count);
                let same = a[from..from + count].iter().zip(&b[from..]).take_while(|(a, b)| a == b).count();
                prop_assert_eq!(symbols.common(&other, from, &prefix, count), same);
            }
        }
    }

    #[test]
    fn fitting_is_the_most_symbols_that_fit() {
        for symbols in (2..=8).map(TrieSymbols::of_bits) {
            for from in 0..40 {
                let most = symbols.fitting(from, 5);
                assert!(symbols.cover(from..from + most).len() <= 5);
                assert!(symbols.cover(from..from + most + 1).len() > 5);
            }
        }
    }

    #[test]
    fn a_path_that_ends_within_a_byte_has_no_key() {
        let mut path = SymbolPath::new(TrieSymbols::of_bits(4), 0);
        path.push(3);
        assert_eq!(path.key(), None);
        let mut path = SymbolPath::new(TrieSymbols::of_bits(3), 0);
        for symbol in [1, 2, 3] {
            path.push(symbol);
        }
        assert_eq!(path.key(), None, "its last bit is one of a next byte");
        assert!(path.push_all(&[1, 2, 3], 2).unwrap_err().contains("has 3 bytes, and needs 1"));
    }
}
