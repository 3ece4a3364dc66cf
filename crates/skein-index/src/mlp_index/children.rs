//! Sets of children: the symbols for which a node has a child.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChildSet(pub(super) [u64; 4]);

impl ChildSet {
    pub(super) fn of(symbols: impl IntoIterator<Item = u8>) -> Self {
        let mut children = Self::default();
        symbols.into_iter().for_each(|symbol| children.insert(symbol));
        children
    }

    pub(super) fn insert(&mut self, symbol: u8) {
        self.0[usize::from(symbol / 64)] |= 1 << (symbol % 64);
    }

    pub(super) fn remove(&mut self, symbol: u8) {
        self.0[usize::from(symbol / 64)] &= !(1 << (symbol % 64));
    }

    pub(super) fn contains(self, symbol: u8) -> bool {
        self.0[usize::from(symbol / 64)] >> (symbol % 64) & 1 != 0
    }

    pub(super) fn len(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline(always)]
    pub(super) fn first(self) -> Option<u8> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some((64 * word as u32 + self.0[word].trailing_zeros()) as u8)
    }

    #[inline(always)]
    pub(super) fn last(self) -> Option<u8> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        Some((64 * word as u32 + self.0[word].ilog2()) as u8)
    }

    pub(super) fn above(mut self, symbol: u8) -> Self {
        let word = usize::from(symbol / 64);
        self.0[..word].fill(0);
        self.0[word] &= (!1_u64) << (symbol % 64);
        self
    }

    pub(super) fn below(mut self, symbol: u8) -> Self {
        let word = usize::from(symbol / 64);
        self.0[word] &= !(u64::MAX << (symbol % 64));
        self.0[word + 1..].fill(0);
        self
    }

    #[inline(always)]
    pub(super) fn iter(mut self) -> impl Iterator<Item = u8> {
        let mut word = 0;
        std::iter::from_fn(move || {
            while self.0[word] == 0 {
                word += 1;
                if word == self.0.len() {
                    word -= 1;
                    return None;
                }
            }
            let bit = self.0[word].trailing_zeros();
            self.0[word] &= self.0[word] - 1;
            Some((64 * word as u32 + bit) as u8)
        })
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_set_returns_its_symbols_in_order() {
        let symbols = [0, 1, 63, 64, 127, 128, 200, 255];
        let mut set = ChildSet::of(symbols);
        assert!(set.iter().eq(symbols));
        assert_eq!((set.first(), set.last(), set.len()), (Some(0), Some(255), 8));
        assert!(set.above(63).iter().eq([64, 127, 128, 200, 255]) && set.above(255).len() == 0);
        assert!(set.below(64).iter().eq([0, 1, 63]) && set.below(0).len() == 0);
        for symbol in symbols {
            assert!(set.contains(symbol) && !set.contains(symbol ^ 2));
            set.remove(symbol);
        }
        assert_eq!((set.len(), set.first(), set.last()), (0, None, None));
    }
}
