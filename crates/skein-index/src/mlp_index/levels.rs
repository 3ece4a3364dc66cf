//! Which levels searches ask for at once.
//!
//! The paper asks for all six levels below the flat bitmap, twelve lines a lookup. But most nodes of an index are of two or three levels: 20 million random
//! keys have theirs at levels 3 and 4, and those counted upward at level 8. So a lookup asks for the levels that matter, and what it finds there says
//! where to look next, if it has to: the answer is never taken from what was not found (`search.rs`). Which levels these are is learned
//! from the buckets that are split as the table grows.

use super::name::{LEVEL_MAX, LEVEL_MIN};

/// All levels, a bit for each; `loom`'s models have keys for three.
pub(super) const ALL: u32 = if super::SMALL_MODELS { 0b11_1000 } else { (2 << LEVEL_MAX) - (1 << LEVEL_MIN) };
/// All but the last, which only keys have that differ in trailing zeros alone.
const USUAL: u32 = ALL & !(1 << LEVEL_MAX);
/// A level matters to a lookup by itself if it has this share of the nodes, or more: then it need not wait again.
pub(super) const ONE_IN: u32 = 24;
/// The same for lookups of a batch, which go on together, and for whom each level more is a line more.
pub(super) const ONE_IN_BATCH: u32 = 6;
/// Where, in the word that searches read, the levels of batches begin.
pub(super) const BATCH_SHIFT: u32 = 16;
/// Nodes that are remembered; the older ones fade.
const REMEMBERED: u32 = 1 << 14;

/// How many nodes were seen of each level.
#[derive(Debug, Default)]
pub(super) struct LevelCounts {
    counts: [u32; LEVEL_MAX as usize + 1],
    total: u32,
}

impl LevelCounts {
    /// Takes a node of a level into account.
    pub(super) fn meet(&mut self, level: u32) {
        self.counts[level as usize] += 1;
        self.total += 1;
        if self.total >= REMEMBERED {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
    }

    /// The levels that have such a share of the nodes.
    pub(super) fn that_matter(&self, one_in: u32) -> u32 {
        if self.total == 0 {
            // Models, whose keys are few, look at two levels first.
            return if cfg!(skein_loom) { 0b1_1000 } else { USUAL };
        }
        let matters = |level: &u32| self.counts[*level as usize] * one_in >= self.total;
        (LEVEL_MIN..=LEVEL_MAX).filter(matters).fold(0, |levels, level| levels | 1 << level)
    }
}

/// The levels of a set, the deepest one first.
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
        (0..100_000).for_each(|node| levels.meet(if node % 100 == 0 { 5 } else { 3 + node % 2 }));
        assert_eq!(levels.that_matter(ONE_IN), 0b1_1000);
        (0..100_000).for_each(|_| levels.meet(8));
        assert_eq!(levels.that_matter(ONE_IN), 0b1_0000_0000);
        assert!(deepest_first(0b1_0000_1000).eq([8, 3]));
    }
}
