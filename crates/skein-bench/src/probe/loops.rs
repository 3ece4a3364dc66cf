//! The timed loops. In each, the address of a read depends on the results of all reads before it,
//! so the processor cannot run ahead. Addresses are random, so no prefetcher can predict them
//! (sections 2.1 to 2.3 of the paper).

use std::hint::black_box;
use std::time::Duration;

use super::array::ArrayLine;
use crate::keyset::SeededRandom;
use crate::sys::LoopClock;

/// The number of random numbers that the loops combine with the values. They are few enough to stay
/// in a near cache. Sums differ from pass to pass, so no pass reads the lines of the pass before.
const PICKS: usize = 1 << 14;
/// The steps of a walk between two looks at the clock.
const STEPS: usize = 1 << 13;
/// The number of reads before the one that is measured, in the loops about neighbours.
const BEFORE: usize = 8;

/// Repeats `pass`, which returns a number of units, for at least this long; returns nanoseconds per
/// unit. The clock is the thread's CPU time, which excludes moments when other programs had the
/// core.
pub fn time(slice: Duration, mut pass: impl FnMut() -> usize) -> f64 {
    let clock = LoopClock::Cpu;
    let start = clock.now();
    let mut units = 0.0;
    loop {
        units += super::fit::real(pass());
        let spent = clock.since(start);
        if spent >= slice {
            return spent.as_secs_f64() * 1e9 / units;
        }
    }
}

/// A walk along the links of lines: each read returns the address of the next.
#[derive(Debug)]
pub struct LinkWalk<'a> {
    lines: &'a [ArrayLine],
    at: *const ArrayLine,
}

impl<'a> LinkWalk<'a> {
    /// Starts at the first of these lines, which must be all filled lines of the array.
    pub fn new(lines: &'a [ArrayLine]) -> Self {
        Self { lines, at: lines.as_ptr() }
    }

    /// Walks this many steps.
    pub fn go(&mut self, steps: usize) -> usize {
        if self.lines.is_empty() {
            return steps;
        }
        let mut at = self.at;
        for _ in 0..steps {
            // SAFETY: the first line is filled, every filled line links to one (array.rs, 2), and
            // `lines` keeps them alive.
            at = unsafe { (*at).next };
        }
        self.at = black_box(at);
        steps
    }

    /// Returns nanoseconds per step.
    pub fn time(&mut self, slice: Duration) -> f64 {
        time(slice, || self.go(STEPS))
    }
}

/// Random reads, with addresses that depend on the sum of all values read so far.
#[derive(Debug)]
pub struct RandomReads<'a> {
    lines: &'a [ArrayLine],
    mask: u32,
    picks: Vec<u32>,
    sum: u64,
}

/// The read after eight random lines; their sum selects one of the eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraRead {
    /// No read: the time of the eight alone.
    Nothing,
    /// The selected line, which is in the first cache now.
    Same,
    /// The other line in its block of 128 bytes.
    Neighbour,
    /// The line on its other side, in another block.
    Across,
    /// A random line.
    Random,
}

impl ExtraRead {
    /// All variants.
    pub const ALL: [Self; 5] = [Self::Nothing, Self::Same, Self::Neighbour, Self::Across, Self::Random];

    /// Returns the line to read, if `sum` selected the line `chosen`. Line numbers start at a
    /// multiple of 128 bytes.
    fn line(self, chosen: u32, sum: u64) -> u32 {
        match self {
            Self::Nothing | Self::Same => chosen,
            Self::Neighbour => chosen ^ 1,
            Self::Across => chosen.wrapping_add(2 * (chosen & 1)).wrapping_sub(1),
            // These bits had no part in the selection.
            Self::Random => (sum >> 24) as u32,
        }
    }
}

impl<'a> RandomReads<'a> {
    /// Reads within the first lines; their number is rounded down to a power of two.
    ///
    /// # Panics
    /// If there is no line.
    pub fn new(lines: &'a [ArrayLine], seed: u64) -> Self {
        assert!(!lines.is_empty(), "an array without lines cannot be read");
        let bits = lines.len().ilog2().min(32);
        let mut random = SeededRandom::new(seed);
        let picks = (0..PICKS).map(|_| random.next() as u32).collect();
        Self { lines, mask: ((1u64 << bits) - 1) as u32, picks, sum: random.next() }
    }

    #[inline(always)]
    fn value(&self, line: u32) -> u64 {
        // SAFETY: the mask is less than the number of lines. A bounds check would compete with the
        // reads in flight.
        unsafe { self.lines.get_unchecked((line & self.mask) as usize).value }
    }

    /// Returns nanoseconds per group of `k` reads that may overlap; each group waits for the one
    /// before (section 2.2).
    pub fn time_groups(&mut self, k: usize, slice: Duration) -> f64 {
        time(slice, || self.groups(k))
    }

    fn groups(&mut self, k: usize) -> usize {
        let mut sum = self.sum;
        for group in self.picks.chunks_exact(k) {
            let before = sum as u32;
            for pick in group {
                sum = sum.wrapping_add(self.value(pick ^ before));
            }
        }
        self.sum = black_box(sum);
        self.picks.len() / k
    }

    /// Returns nanoseconds for eight reads and the one after them (section 2.3).
    pub fn time_after(&mut self, after: ExtraRead, slice: Duration) -> f64 {
        // Each variant gets its own loop, so that the loop has no branch.
        match after {
            ExtraRead::Nothing => time(slice, || self.eights(|_, _, sum| sum)),
            ExtraRead::Same => {
                time(slice, || self.eights(|reads, chosen, sum| reads.one_more(ExtraRead::Same, chosen, sum)))
            }
            ExtraRead::Neighbour => time(slice, || {
                self.eights(|reads, chosen, sum| reads.one_more(ExtraRead::Neighbour, chosen, sum))
            }),
            ExtraRead::Across => time(slice, || {
                self.eights(|reads, chosen, sum| reads.one_more(ExtraRead::Across, chosen, sum))
            }),
            ExtraRead::Random => time(slice, || {
                self.eights(|reads, chosen, sum| reads.one_more(ExtraRead::Random, chosen, sum))
            }),
        }
    }

    #[inline(always)]
    fn one_more(&self, after: ExtraRead, chosen: &[u32; BEFORE], sum: u64) -> u64 {
        let chosen = chosen[(sum % BEFORE as u64) as usize];
        sum.wrapping_add(self.value(after.line(chosen, sum)))
    }

    #[inline(always)]
    fn eights(&mut self, then: impl Fn(&Self, &[u32; BEFORE], u64) -> u64) -> usize {
        let mut sum = self.sum;
        let (eights, _) = self.picks.as_chunks::<BEFORE>();
        for eight in eights {
            let chosen = eight.map(|pick| pick ^ sum as u32);
            sum = chosen.iter().fold(sum, |sum, line| sum.wrapping_add(self.value(*line)));
            sum = then(self, &chosen, sum);
        }
        self.sum = black_box(sum);
        PICKS / BEFORE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::array::{Array, PageKind};

    #[test]
    fn neighbours_are_in_and_across_blocks_of_two_lines() {
        for (chosen, neighbour, across) in [(6, 7, 5), (7, 6, 8), (0, 1, u32::MAX)] {
            assert_eq!(ExtraRead::Same.line(chosen, 1), chosen);
            assert_eq!(ExtraRead::Neighbour.line(chosen, 1), neighbour);
            assert_eq!(ExtraRead::Across.line(chosen, 1), across);
        }
        assert_eq!(ExtraRead::Random.line(6, 5 << 24 | 3), 5);
    }

    #[test]
    fn every_read_depends_on_those_before_it() {
        let mut array = Array::map(1 << 20, PageKind::Small).expect("a mebibyte");
        array.fill(1 << 20);
        // The same picks with another initial sum read other lines, and end with another sum.
        let end = |first: u64, k: usize| {
            let mut reads = RandomReads { sum: first, ..RandomReads::new(array.lines(), 1) };
            assert_eq!(reads.groups(k), PICKS / k);
            reads.sum.wrapping_sub(first)
        };
        for k in [1, 7, 120] {
            assert_eq!(end(5, k), end(5, k));
            assert_ne!(end(5, k), end(6, k));
        }
        // Reading one by one and all at once adds up different lines. In the first group only the
        // initial sum counts.
        assert_ne!(end(5, 1), end(5, 120));
    }

    #[test]
    fn a_walk_reports_its_number_of_steps() {
        let mut array = Array::map(1 << 20, PageKind::Small).expect("a mebibyte");
        array.fill(100 * 64);
        let mut walk = LinkWalk::new(array.lines());
        assert_eq!(walk.go(99), 99);
        assert_ne!(walk.at, array.lines().as_ptr());
        walk.go(1);
        assert_eq!(walk.at, array.lines().as_ptr());
    }

    #[test]
    fn a_time_is_per_unit() {
        let slice = Duration::from_millis(1);
        let mut units = 0;
        let mut passes = || {
            units += 10;
            black_box((0..1000).fold(0u64, |sum, n| black_box(sum + n)));
            10
        };
        let ns = time(slice, &mut passes);
        // All passes together took at least the slice.
        assert!(ns * f64::from(units) >= 1e6, "{ns} ns for each of {units}");
    }

    #[test]
    fn all_loops_give_times() {
        let mut array = Array::map(1 << 20, PageKind::Huge).expect("a mebibyte");
        array.fill(1 << 20);
        let slice = Duration::from_micros(100);
        let mut reads = RandomReads::new(array.lines(), 1);
        for after in ExtraRead::ALL {
            assert!(reads.time_after(after, slice) > 0.0, "{after:?}");
        }
        assert!(reads.time_groups(3, slice) > 0.0);
        assert!(LinkWalk::new(array.lines()).time(slice) > 0.0);
    }
}
