//! Heights of towers: each level holds half of the nodes of the level below (section 3.1).
//!
//! A key's height is drawn from a hash of the key, under a seed that the list drew. So threads
//! share no state for it, a client that chooses keys cannot know their heights, and a test that
//! sets the seed gets the same towers again.

use std::hash::{BuildHasher, RandomState};

use crate::hash::PrefixHash;

/// Draws heights from 1 to `most`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heights {
    hash: PrefixHash,
    most: usize,
}

impl Heights {
    /// Returns heights with a random seed.
    pub(super) fn new(most: usize) -> Self {
        Self::with_seed(most, RandomState::new().hash_one(0_u64))
    }

    /// Returns heights with this seed.
    pub(super) fn with_seed(most: usize, seed: u64) -> Self {
        Self { hash: PrefixHash::Keyed(seed | 1), most }
    }

    /// Returns the height of a key's tower.
    #[inline(always)]
    pub(super) fn of(self, key: &[u8]) -> usize {
        // The upper bits are the best mixed.
        (1 + self.hash.of(key).leading_ones() as usize).min(self.most)
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_towers_of_each_height_are_higher() {
        for seed in 0..8 {
            let heights = Heights::with_seed(32, seed);
            // Keys in order, and keys that share all but their last bytes.
            for key in
                [|n: u32| n.to_be_bytes().to_vec(), |n: u32| format!("/a/long/path/{n:08}").into_bytes()]
            {
                let mut counts = [0_i64; 33];
                (0..100_000).for_each(|n| counts[heights.of(&key(n))] += 1);
                for (height, &there) in counts.iter().enumerate().take(8).skip(1) {
                    let expected = 100_000 >> height;
                    assert!(
                        (there - expected).abs() < expected / 8 + 50,
                        "{there} of height {height}, seed {seed}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_seed_gives_the_same_heights_and_no_key_is_too_high() {
        let (one, same, other) =
            (Heights::with_seed(3, 7), Heights::with_seed(3, 7), Heights::with_seed(3, 9));
        let all = |heights: Heights| (0..200_u8).map(|byte| heights.of(&[byte])).collect::<Vec<_>>();
        assert_eq!(all(one), all(same));
        assert_ne!(all(one), all(other));
        assert!(all(one).iter().all(|height| (1..=3).contains(height)));
    }
}
