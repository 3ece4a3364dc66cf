//! Random numbers for commands that return random elements. Not for secrets.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

/// A generator with its own state (`SplitMix64`).
#[derive(Debug)]
pub(crate) struct CommandRng(u64);

impl CommandRng {
    /// Creates a generator with a random state.
    pub(crate) fn new() -> Self {
        Self(RandomState::new().hash_one(0_u64))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`. All are equally likely, up to a bias of `end` ÷ 2^64.
    /// REQUIRES: `end` > 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// Returns a number above 0 and up to 1.
    #[expect(clippy::cast_precision_loss, reason = "integers up to 2^53 are exact")]
    fn part(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Returns `count` different numbers below `end` in ascending order, in time that depends on
    /// `count` alone. REQUIRES: `count` ≤ `end`.
    pub(crate) fn choose(&mut self, count: usize, end: usize) -> Vec<usize> {
        if count < end / 4 {
            let mut chosen = BTreeSet::new();
            while chosen.len() < count {
                chosen.insert(self.below(end));
            }
            return chosen.into_iter().collect();
        }
        let mut chosen = Vec::with_capacity(count);
        for at in 0..end {
            if self.below(end - at) < count - chosen.len() {
                chosen.push(at);
            }
        }
        chosen
    }
}

/// Independent, equally likely numbers below an end, in ascending order, as if they had been drawn
/// and then sorted.
///
/// Of n random numbers between 0 and 1, the part of the range above the smallest one is distributed
/// as the n-th root of one such number. The remaining numbers lie in that part, and so on.
#[derive(Debug)]
pub(crate) struct SortedDraws {
    random: CommandRng,
    left: usize,
    end: usize,
    /// The part of the range above the last number.
    above: f64,
}

impl SortedDraws {
    /// Returns `count` numbers below `end`. REQUIRES: `end` > 0.
    pub(crate) fn new(count: usize, end: usize) -> Self {
        Self { random: CommandRng::new(), left: count, end, above: 1.0 }
    }

    /// Returns the next number.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "an error of 2^-53 does not matter, and all values are positive"
    )]
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.above *= self.random.part().powf(1.0 / self.left as f64);
        self.left -= 1;
        Some((((1.0 - self.above) * self.end as f64) as usize).min(self.end - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandRng, SortedDraws};

    #[test]
    fn chosen_numbers_are_distinct_and_cover_the_range() {
        let mut random = CommandRng::new();
        let mut seen = [0; 10];
        for _ in 0..1000 {
            let chosen = random.choose(3, seen.len());
            assert!(chosen.len() == 3 && chosen.is_sorted_by(|a, b| a < b), "{chosen:?}");
            for at in chosen {
                seen[at] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        let few = random.choose(3, 1 << 40);
        assert!(few.len() == 3 && few.is_sorted_by(|a, b| a < b), "{few:?}");
        assert_eq!(random.choose(4, 4), [0, 1, 2, 3]);
        assert!(random.choose(0, 0).is_empty());
    }

    #[test]
    fn sorted_draws_are_spread_evenly() {
        let mut seen = [0; 10];
        for count in [1, 2, 7, 1000] {
            seen.fill(0);
            for _ in 0..20_000 / count {
                let mut rising = SortedDraws::new(count, seen.len());
                let drawn: Vec<usize> = std::iter::from_fn(|| rising.next()).collect();
                assert!(drawn.len() == count && drawn.is_sorted(), "{drawn:?}");
                for at in drawn {
                    seen[at] += 1;
                }
            }
            // 2,000 each. A tenth more or less is five times the standard deviation.
            assert!(seen.iter().all(|count| (1780..2220).contains(count)), "{count}: {seen:?}");
        }
    }
}
