//! Popularity distributions over many items: Zipfian, scrambled and latest, as in YCSB.

use super::permutation::NumberPermutation;
use super::random::SeededRandom;

/// The Zipfian distribution: rank k (from 1) has a probability proportional to 1 / k^theta.
///
/// Drawn by rejection-inversion (Hörmann and Derflinger, 1996): a random point under the curve
/// x^-theta, which has an invertible integral, is rounded to a rank. The point is rejected in the
/// area between the curve and its steps. The method is exact and needs no table, for any number of
/// items.
#[derive(Debug, Clone)]
pub struct Zipf {
    items: u64,
    theta: f64,
    /// The value of the integral at the start of the first rank, and at the end of the last.
    from: f64,
    to: f64,
    /// A point within this distance of its rank is never rejected.
    sure: f64,
}

impl Zipf {
    /// Returns the distribution over `items` ranks, at least one; `theta` must be 0 (uniform) or
    /// more. Past 2^52 items the rounding is below the probability of the ends.
    pub fn new(items: u64, theta: f64) -> Self {
        Self {
            items,
            theta,
            from: integral(1.5, theta) - 1.0,
            to: integral(items as f64 + 0.5, theta),
            sure: 2.0 - inverse(integral(2.5, theta) - 2f64.powf(-theta), theta),
        }
    }

    /// Returns the number of ranks.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Draws a rank, from 0; rank 0 is the most popular.
    #[expect(clippy::cast_sign_loss, reason = "points lie between 0.5 and `items` + 0.5")]
    pub fn rank(&self, random: &mut SeededRandom) -> u64 {
        loop {
            let area = self.to + random.unit() * (self.from - self.to);
            let point = inverse(area, self.theta);
            let rank = (point.round() as u64).clamp(1, self.items);
            let middle = rank as f64;
            let accepted = middle - point <= self.sure
                || area >= integral(middle + 0.5, self.theta) - middle.powf(-self.theta);
            if accepted {
                return rank - 1;
            }
        }
    }
}

/// Returns the integral of x^-theta from 1 to `x`.
fn integral(x: f64, theta: f64) -> f64 {
    let log = x.ln();
    let power = (1.0 - theta) * log;
    // Near theta = 1 the quotient tends to 1.
    if power.abs() < 1e-8 { log * (1.0 + power / 2.0) } else { log * power.exp_m1() / power }
}

/// Returns the x at which that integral has this value.
fn inverse(area: f64, theta: f64) -> f64 {
    // Rounding could push the product below -1, where the curve has no point.
    let power = (area * (1.0 - theta)).max(-1.0);
    let log = if power.abs() < 1e-8 { 1.0 - power / 2.0 } else { power.ln_1p() / power };
    (area * log).exp()
}

/// The Zipfian distribution with its popular items scattered over all: YCSB's "scrambled". Each
/// rank has an item of its own. (YCSB hashes ranks to items, so there some items have two ranks and
/// others have no rank.)
#[derive(Debug, Clone)]
pub struct Scrambled {
    zipf: Zipf,
    places: NumberPermutation,
}

impl Scrambled {
    /// Returns the distribution over `items` items. The seed decides which are popular.
    pub fn new(items: u64, theta: f64, seed: u64) -> Self {
        Self { zipf: Zipf::new(items, theta), places: NumberPermutation::new(items, seed) }
    }

    /// Draws an item.
    pub fn item(&self, random: &mut SeededRandom) -> u64 {
        self.places.at(self.zipf.rank(random))
    }
}

/// The distribution in which the newest items are the most popular: rank 0 is the item added last.
#[derive(Debug, Clone)]
pub struct Latest(Zipf);

impl Latest {
    /// Returns the distribution over the items that exist now, `items` in number.
    pub fn new(items: u64, theta: f64) -> Self {
        Self(Zipf::new(items, theta))
    }

    /// Draws an item's number, when `items` items have been added.
    pub fn item(&mut self, random: &mut SeededRandom, items: u64) -> u64 {
        if items != self.0.items {
            self.0 = Zipf::new(items, self.0.theta);
        }
        items - 1 - self.0.rank(random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exponent that YCSB uses.
    const YCSB_THETA: f64 = 0.99;

    const DRAWS: usize = 200_000;

    /// Compares how often each item was drawn with the formula.
    fn against_formula(theta: f64, counts: &[usize]) {
        let weight = |rank: usize| (rank as f64 + 1.0).powf(-theta);
        let sum: f64 = (0..counts.len()).map(weight).sum();
        for (rank, &count) in counts.iter().enumerate() {
            let expected = DRAWS as f64 * weight(rank) / sum;
            // Allows five standard deviations.
            let allowed = 5.0 * expected.sqrt();
            assert!(
                (count as f64 - expected).abs() < allowed,
                "theta {theta} rank {rank}: {count}, not {expected}"
            );
        }
    }

    fn counted(items: usize, mut draw: impl FnMut() -> u64) -> Vec<usize> {
        let mut counts = vec![0; items];
        (0..DRAWS).for_each(|_| counts[draw() as usize] += 1);
        counts
    }

    #[test]
    fn ranks_have_the_frequencies_of_the_formula() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.3] {
            for items in [1, 2, 10, 100] {
                let (zipf, mut random) = (Zipf::new(items, theta), SeededRandom::new(11));
                against_formula(theta, &counted(items as usize, || zipf.rank(&mut random)));
            }
        }
    }

    #[test]
    fn a_huge_number_of_ranks_needs_no_table() {
        let (zipf, mut random) = (Zipf::new(1 << 50, YCSB_THETA), SeededRandom::new(5));
        let first = (0..DRAWS).filter(|_| zipf.rank(&mut random) == 0).count();
        // Zeta of 2^50 items at 0.99, by the integral from 1.5 on: 1 + ((2^50)^0.01 - 1.5^0.01) /
        // 0.01 = 42.0.
        let expected = DRAWS as f64 / 42.0;
        assert!((first as f64 / expected - 1.0).abs() < 0.1, "{first}, not {expected}");
    }

    #[test]
    fn scrambled_items_have_the_same_frequencies_elsewhere() {
        let (scrambled, mut random) = (Scrambled::new(100, YCSB_THETA, 3), SeededRandom::new(11));
        let mut counts = counted(100, || scrambled.item(&mut random));
        let most = counts.iter().max().copied();
        assert_ne!(most, Some(counts[0]), "the first item is not the most popular one");
        let ranked: Vec<usize> = (0..100).map(|rank| scrambled.places.at(rank) as usize).collect();
        counts = ranked.iter().map(|&item| counts[item]).collect();
        against_formula(YCSB_THETA, &counts);
    }

    #[test]
    fn the_latest_item_is_the_most_popular_while_items_are_added() {
        let (mut latest, mut random) = (Latest::new(10, YCSB_THETA), SeededRandom::new(11));
        for items in [10, 11, 50] {
            let mut counts = counted(items as usize, || latest.item(&mut random, items));
            counts.reverse();
            against_formula(YCSB_THETA, &counts);
        }
    }
}
