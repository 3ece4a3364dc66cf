//! How deep the trie is, to judge by the leaves that were added lately: hints for where a search may begin, and how far it should look ahead.

use skein_sync::atomic::{AtomicU64, Ordering};

/// One leaf in so many is noted.
const NOTED: u32 = 16;
/// Depths are kept in parts of this.
const ONE: u64 = 256;
/// How much a leaf above the start moves it up, and one below it down: one leaf in twelve is above.
const UP: u64 = 44;
const DOWN: u64 = 4;
/// Trials are kept in parts of this, and the start is used while at most so many of them fail.
const SURE: u64 = 1 << 16;
const FAILURES_MAX: u64 = SURE / 8;

/// What is known of the leaves' depths.
///
/// One word: the average depth 24 bits, the depth to begin at 24 bits, the share of trials that failed 16 bits.
#[derive(Debug)]
pub(super) struct LeafDepths(AtomicU64);

/// The same, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DepthStats {
    average: u64,
    start: u64,
    failures: u64,
}

const FIELD: u32 = 24;
const FIELD_MAX: u64 = (1 << FIELD) - 1;

impl DepthStats {
    fn of(word: u64) -> Self {
        Self { average: word & FIELD_MAX, start: word >> FIELD & FIELD_MAX, failures: word >> (2 * FIELD) }
    }

    fn word(self) -> u64 {
        self.average | self.start << FIELD | self.failures << (2 * FIELD)
    }

    fn start(self) -> u32 {
        ((self.start + ONE / 2) / ONE) as u32
    }

    /// After another leaf, of a depth, and a trial that found a node where a search would begin, or did not.
    fn with(self, depth: u32, found: bool) -> Self {
        let depth = (u64::from(depth) * ONE).min(FIELD_MAX);
        let start = if depth < self.start {
            self.start.saturating_sub(UP).max(depth)
        } else {
            (self.start + DOWN).min(depth)
        };
        let failed = if found { 0 } else { SURE / 64 };
        Self {
            average: self.average - self.average / ONE + depth / ONE,
            start,
            failures: (self.failures - self.failures / 64 + failed).min(SURE - 1),
        }
    }
}

impl Default for LeafDepths {
    fn default() -> Self {
        Self(AtomicU64::new(DepthStats { average: 0, start: 0, failures: SURE - 1 }.word()))
    }
}

impl LeafDepths {
    // Relaxed, here and below: hints. Notes that are lost matter little.
    #[inline(always)]
    fn known(&self) -> DepthStats {
        DepthStats::of(self.0.load(Ordering::Relaxed))
    }

    /// The depth that most leaves do not exceed.
    #[inline(always)]
    pub(super) fn reach(&self) -> u32 {
        (self.known().average / ONE) as u32 + 1
    }

    /// The depth of the average leaf.
    #[inline(always)]
    pub(super) fn middle(&self) -> u32 {
        ((self.known().average + ONE / 2) / ONE) as u32
    }

    /// A depth at which most keys have a node; none if there is no such depth but that of the root.
    #[inline(always)]
    pub(super) fn start(&self) -> Option<u32> {
        let known = self.known();
        Some(known.start()).filter(|&start| start > 0 && known.failures <= FAILURES_MAX)
    }

    /// Takes note of a leaf that was added, with the hash of its name; `is_there` is asked for some of them whether the key has a node at a depth.
    #[inline(always)]
    pub(super) fn note(&self, hash: u32, depth: u32, is_there: impl FnOnce(u32) -> bool) {
        if hash.is_multiple_of(NOTED) {
            let known = self.known();
            let start = known.start();
            // The leaf itself is not there yet.
            let found = start > 0 && (depth == start || depth > start && is_there(start));
            self.0.store(known.with(depth, found).word(), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    fn noted(depths: impl Iterator<Item = u32>, is_there: impl Fn(u32) -> bool) -> LeafDepths {
        let known = LeafDepths::default();
        depths.for_each(|depth| known.note(0, depth, &is_there));
        known
    }

    #[test]
    fn searches_begin_at_the_depth_that_nearly_all_leaves_reach() {
        let depths = noted((0..10_000).map(|leaf| 5 + leaf % 7 / 4), |_| true);
        assert_eq!((depths.start(), depths.reach()), (Some(5), 6));
        let depths = noted((0..10_000).map(|leaf| if leaf % 4 == 0 { 4 } else { 7 }), |_| true);
        assert_eq!(depths.start(), Some(4));
    }

    #[test]
    fn no_search_begins_at_the_root_by_a_hint() {
        let depths = noted((0..10_000).map(|leaf| if leaf < 5_000 { 5 } else { 0 }), |_| true);
        assert_eq!(depths.start(), None);
    }

    /// Incident: the share of failures went one beyond its field, and came back as none. Consequence: now and then a table of long keys was
    /// taken for one of random keys, and lookups began where nothing was. Fix: the share ends at the greatest that the field holds.
    #[test]
    fn however_many_trials_fail_no_search_begins_there() {
        let depths = LeafDepths::default();
        for leaf in 0..10_000 {
            depths.note(0, 30 + leaf % 40, |_| false);
            assert_eq!(depths.start(), None, "after {leaf} more");
        }
    }

    #[test]
    fn where_nodes_are_at_any_depth_searches_begin_at_the_root() {
        let depths = noted((0..10_000).map(|leaf| 30 + leaf % 40), |start| start < 20);
        assert_eq!(depths.start(), None);
    }
}
