//! Pseudo-random permutations without a table: the numbers below a bound, each exactly once.

use super::random::mix;

/// A permutation of the numbers below a bound, decided by a seed.
///
/// It works on the least number of bits that holds the bound. Each step (exclusive or, odd factor,
/// shift) is invertible there. If a result is not below the bound, the steps run on it again. That
/// takes fewer than two rounds on average.
#[derive(Debug, Clone)]
pub struct NumberPermutation {
    items: u64,
    mask: u64,
    shift: u32,
    rounds: [(u64, u64); 3],
}

impl NumberPermutation {
    /// Returns a permutation of the numbers below `items`, which must not be 0.
    pub fn new(items: u64, seed: u64) -> Self {
        let bits = (u64::BITS - (items - 1).leading_zeros()).max(1);
        let mask = u64::MAX >> (u64::BITS - bits);
        let word = |n: u64| mix(mix(seed).wrapping_add(n));
        let rounds = [1, 3, 5].map(|n| (word(n) & mask, word(n + 1) | 1));
        Self { items, mask, shift: bits.div_ceil(2), rounds }
    }

    /// Returns the bound.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Returns the image of `number`. REQUIRES: it is below [`items`](Self::items).
    pub fn at(&self, number: u64) -> u64 {
        let mut place = number;
        loop {
            for (key, factor) in self.rounds {
                place = (place ^ key).wrapping_mul(factor) & self.mask;
                place ^= place >> self.shift;
            }
            if place < self.items {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_occurs_once() {
        for items in [1, 2, 3, 7, 8, 100, 1000, 4096, 65_537] {
            let mut seen: Vec<u64> = {
                let permutation = NumberPermutation::new(items, 7);
                (0..items).map(|n| permutation.at(n)).collect()
            };
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..items), "{items}");
        }
    }

    #[test]
    fn the_first_numbers_spread_over_all() {
        let permutation = NumberPermutation::new(1 << 40, 3);
        let mut quarters = [0; 4];
        for n in 0..4000 {
            quarters[(permutation.at(n) >> 38) as usize] += 1;
        }
        assert!(quarters.iter().all(|count| (900..1100).contains(count)), "{quarters:?}");
    }

    #[test]
    fn the_seed_decides_over_the_full_range() {
        let (one, two) = (NumberPermutation::new(u64::MAX, 1), NumberPermutation::new(u64::MAX, 2));
        assert_eq!(one.at(5), NumberPermutation::new(u64::MAX, 1).at(5));
        assert!((0..100).all(|n| one.at(n) != two.at(n)));
    }
}
