//! The loops of a grid: what each asks, what it needs a contender to be able to do, and what its figure counts.

use crate::rival::index::IndexAbilities;
use crate::workload::run::LoopStyle;
use crate::workload::{RankedKeySet, Script, ThreadShare, lookup};

/// One loop.
#[derive(Debug, Clone, Copy)]
pub struct GridLoop {
    /// The name of its measure.
    pub measure: &'static str,
    /// What it needs.
    pub needs: IndexAbilities,
    /// Whether it changes the index.
    pub changes: bool,
    /// What is counted.
    pub counts: LoopUnit,
    /// From one operation to the next.
    pub style: LoopStyle,
    /// Threads.
    pub threads: usize,
    /// Makes a thread's operations: so many, by this seed.
    pub script: fn(&RankedKeySet<'_>, usize, u64, ThreadShare) -> Script,
}

/// What the threads of a loop do.
#[derive(Debug)]
pub struct PreparedLoop {
    /// The name of the loop's measure.
    pub measure: &'static str,
    /// From one operation to the next.
    pub style: LoopStyle,
    /// Reads before the clock starts, a script for each thread.
    pub warm_up: Vec<Script>,
    /// What is timed.
    pub scripts: Vec<Script>,
}

/// What a loop's figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopUnit {
    /// Operations per second.
    Operations,
    /// Keys read per second.
    KeysRead,
    /// Operations per second and thread.
    OperationsPerThread,
    /// Operations per second of the first thread; and of its latencies the tail, in [`Style::Timed`].
    Tail,
}

/// A loop that reads on one thread.
pub const fn reads(
    measure: &'static str,
    style: LoopStyle,
    script: fn(&RankedKeySet<'_>, usize, u64, ThreadShare) -> Script,
) -> GridLoop {
    let needs = IndexAbilities { batches: matches!(style, LoopStyle::Batches(_)), ..IndexAbilities::NOTHING };
    GridLoop { measure, needs, changes: false, counts: LoopUnit::Operations, style, threads: 1, script }
}

/// Lookups of present keys, which the processor may overlap.
pub const LOOKUP: GridLoop = reads("lookup", LoopStyle::Independent, present);

/// The same, each once the one before has answered: what a single query feels.
pub const DEPENDENT: GridLoop = LOOKUP.dependent("lookup, dependent");

/// The same in batches.
pub const GET_MANY: GridLoop = reads("get_many(32)", LoopStyle::Batches(32), present);

/// Lookups of which four in five find their key.
pub const LOOKUP_80: GridLoop =
    reads("lookup, 80 % hits", LoopStyle::Independent, |asked, count, seed, share| {
        lookup::lookups(asked, count, 0.8, seed, share)
    });

/// The first keys at or after some of which three in twenty are keys themselves.
pub const LOWER_BOUND: GridLoop = scans("lower bound, 15 % hits", false, |asked, count, seed, share| {
    lookup::lower_bounds(asked, count, 0.15, seed, share)
})
.starting_anywhere();

fn present(asked: &RankedKeySet<'_>, count: usize, seed: u64, share: ThreadShare) -> Script {
    lookup::lookups(asked, count, 1.0, seed, share)
}

/// A loop of one of YCSB's workloads, by its place among the letters: on one thread, under this name.
macro_rules! letter {
    ($place:literal, $measure:literal, $popularity:ident, $style:ident) => {
        crate::experiment::loops::GridLoop {
            measure: $measure,
            needs: crate::rival::index::IndexAbilities {
                scan: $place == 4,
                ..crate::rival::index::IndexAbilities::NOTHING
            },
            // Updates put the value that is there; D and E add keys.
            changes: $place == 3 || $place == 4,
            counts: crate::experiment::loops::LoopUnit::Operations,
            style: crate::workload::run::LoopStyle::$style,
            threads: 1,
            script: |asked, count, seed, share| {
                use crate::workload::ycsb::{LETTERS, Popularity, ycsb};
                ycsb(asked, LETTERS[$place], Popularity::$popularity, count, seed, share)
            },
        }
    };
}
pub(super) use letter;

/// A loop that scans on one thread.
pub const fn scans(
    measure: &'static str,
    back: bool,
    script: fn(&RankedKeySet<'_>, usize, u64, ThreadShare) -> Script,
) -> GridLoop {
    let needs = IndexAbilities { scan: !back, scan_back: back, ..IndexAbilities::NOTHING };
    GridLoop {
        measure,
        needs,
        changes: false,
        counts: LoopUnit::KeysRead,
        style: LoopStyle::Independent,
        threads: 1,
        script,
    }
}

/// A loop that changes the index, on one thread.
pub const fn changes(
    measure: &'static str,
    removes: bool,
    script: fn(&RankedKeySet<'_>, usize, u64, ThreadShare) -> Script,
) -> GridLoop {
    let needs = IndexAbilities { remove: removes, ..IndexAbilities::NOTHING };
    GridLoop {
        measure,
        needs,
        changes: true,
        counts: LoopUnit::Operations,
        style: LoopStyle::Independent,
        threads: 1,
        script,
    }
}

impl GridLoop {
    /// Its operations: so many, by this seed.
    pub fn prepare(&self, asked: &RankedKeySet<'_>, operations: usize, seed: u64) -> PreparedLoop {
        let of = self.threads;
        let script = |thread| (self.script)(asked, operations / of, seed, ThreadShare { thread, of });
        let scripts: Vec<Script> = (0..of).map(script).collect();
        let warm_up = scripts.iter().map(|script| script.warm_up(asked.keys().len())).collect();
        PreparedLoop { measure: self.measure, style: self.style, warm_up, scripts }
    }

    /// The same under another name, each operation once the one before has answered.
    pub const fn dependent(mut self, measure: &'static str) -> Self {
        self.measure = measure;
        self.style = LoopStyle::Dependent;
        self
    }

    /// The same, from starts of which some are no keys.
    pub const fn starting_anywhere(mut self) -> Self {
        self.needs.lower_bound = true;
        self
    }
}
