//! Which levels a search prefetches.
//!
//! The paper prefetches all six levels below the flat bitmap, twelve lines per lookup. But most
//! nodes of an index are at two or three levels: those of 20 million random keys at levels 3 and 4,
//! those of consecutive numbers at level 8. So a lookup prefetches only the levels that matter. If
//! the node found there is not the answer, it names the next level to look at. A node that is not
//! found is never an answer (`search.rs`). The index learns the levels from the buckets that it
//! splits while it grows.

use super::name::{LEVEL_MAX, LEVEL_MIN};

/// All levels, one bit each. The keys of `loom`'s models have three.
pub(super) const ALL: u32 = if super::SMALL_MODELS { 0b11_1000 } else { (2 << LEVEL_MAX) - (1 << LEVEL_MIN) };
/// All levels but the last, which only keys need that differ in nothing but trailing zeros.
const USUAL: u32 = ALL & !(1 << LEVEL_MAX);
/// A level matters to a single lookup if it has at least one in this many nodes: then the lookup
/// need not wait twice.
pub(super) const ONE_IN: u32 = 24;
/// The same for a lookup in a batch. Batched lookups overlap, so each further level costs a line
/// and saves little.
pub(super) const ONE_IN_BATCH: u32 = 6;
/// The place of the batch's levels in the word that searches read.
pub(super) const BATCH_SHIFT: u32 = 16;
/// The number of nodes to count. Beyond it, older ones lose weight.
const REMEMBERED: u32 = 1 << 14;

/// The number of recent nodes at each level.
#[derive(Debug, Default)]
pub(super) struct LevelCounts {
    counts: [u32; LEVEL_MAX as usize + 1],
    total: u32,
}

impl LevelCounts {
    pub(super) fn count(&mut self, level: u32) {
        self.counts[level as usize] += 1;
        self.total += 1;
        if self.total >= REMEMBERED {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
    }

    /// Returns the levels that have at least one in `one_in` nodes.
    pub(super) fn that_matter(&self, one_in: u32) -> u32 {
        if self.total == 0 {
            // Models have few keys. They begin with two levels.
            return if cfg!(skein_loom) { 0b1_1000 } else { USUAL };
        }
        let matters = |level: &u32| self.counts[*level as usize] * one_in >= self.total;
        (LEVEL_MIN..=LEVEL_MAX).filter(matters).fold(0, |levels, level| levels | 1 << level)
    }
}

/// Returns the levels of a set, the deepest first.
#[inline(always)]
pub(super) fn deepest_first(mut levels: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let level = levels.checked_ilog2()?;
        levels ^= 1 << level;
        Some(level)
    })
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn levels_with_few_nodes_do_not_matter() {
        let mut levels = LevelCounts::default();
        assert_eq!(levels.that_matter(ONE_IN), 0b1_1111_1000);
        (0..100_000).for_each(|node| levels.count(if node % 100 == 0 { 5 } else { 3 + node % 2 }));
        assert_eq!(levels.that_matter(ONE_IN), 0b1_1000);
        (0..100_000).for_each(|_| levels.count(8));
        assert_eq!(levels.that_matter(ONE_IN), 0b1_0000_0000);
        assert!(deepest_first(0b1_0000_1000).eq([8, 3]));
    }
}
