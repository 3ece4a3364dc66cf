//! The loops of a grid: their operations, the abilities that they need, and the unit of their
//! figures.

use crate::rival::index::IndexAbilities;
use crate::workload::run::LoopStyle;
use crate::workload::{OpKind, RankedKeySet, Script, ThreadShare, lookup, mix, scan};

/// One loop.
#[derive(Debug, Clone, Copy)]
pub struct GridLoop {
    /// The name of its measure.
    pub measure: &'static str,
    /// The abilities that a contender must have.
    pub needs: IndexAbilities,
    /// Whether it changes the index.
    pub changes: bool,
    /// The unit of the figure.
    pub counts: LoopUnit,
    /// How an operation depends on the one before.
    pub style: LoopStyle,
    /// The number of threads.
    pub threads: usize,
    /// Makes the script of one thread.
    pub script: MakeScript,
}

/// The scripts of a loop, ready to run.
#[derive(Debug)]
pub struct PreparedLoop {
    /// The name of the loop's measure.
    pub measure: &'static str,
    /// How an operation depends on the one before.
    pub style: LoopStyle,
    /// Reads before the clock starts; one script per thread.
    pub warm_up: Vec<Script>,
    /// The timed operations; one script per thread.
    pub scripts: Vec<Script>,
}

/// The unit of a loop's figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopUnit {
    /// Operations per second.
    Operations,
    /// Keys read per second.
    KeysRead,
    /// Operations per second, per thread.
    OperationsPerThread,
    /// Operations per second of the first thread. In [`LoopStyle::Timed`], also the tail of its
    /// latencies.
    Tail,
}

/// Makes the script of one thread: this many operations, from this seed.
pub type MakeScript = fn(&RankedKeySet<'_>, usize, u64, ThreadShare) -> Script;

/// Returns a loop that reads on one thread.
pub const fn reads(measure: &'static str, style: LoopStyle, script: MakeScript) -> GridLoop {
    let needs = IndexAbilities { batches: matches!(style, LoopStyle::Batches(_)), ..IndexAbilities::NOTHING };
    GridLoop { measure, needs, changes: false, counts: LoopUnit::Operations, style, threads: 1, script }
}

/// Lookups of present keys. The processor may overlap them.
pub const LOOKUP: GridLoop = reads("lookup", LoopStyle::Independent, present);

/// The same lookups, as Masstree's paper calls them.
pub const GET: GridLoop = GridLoop { measure: "get", ..LOOKUP };

/// The same lookups, each started after the one before has answered: the latency of a single query.
pub const DEPENDENT: GridLoop = LOOKUP.dependent("lookup, dependent");

/// The same lookups in batches.
pub const GET_MANY: GridLoop = reads("get_many(32)", LoopStyle::Batches(32), present);

/// Lookups. Four in five find their key.
pub const LOOKUP_80: GridLoop =
    reads("lookup, 80 % hits", LoopStyle::Independent, |asked, count, seed, share| {
        lookup::lookups(asked, count, 0.8, seed, share)
    });

/// Lower bounds: each finds the first key at or after its start. Three in twenty starts are keys
/// themselves.
pub const LOWER_BOUND: GridLoop = scans("lower bound, 15 % hits", false, |asked, count, seed, share| {
    lookup::lower_bounds(asked, count, 0.15, seed, share)
})
.starting_anywhere();

fn present(asked: &RankedKeySet<'_>, count: usize, seed: u64, share: ThreadShare) -> Script {
    lookup::lookups(asked, count, 1.0, seed, share)
}

/// Returns the loop of one of YCSB's workloads, given by its position among the letters, on one
/// thread.
macro_rules! letter {
    ($place:literal, $measure:literal, $popularity:ident, $style:ident) => {
        crate::experiment::loops::GridLoop {
            needs: crate::rival::index::IndexAbilities {
                scan: $place == 4,
                ..crate::rival::index::IndexAbilities::NOTHING
            },
            // Updates write the present value again; D and E add keys.
            changes: $place == 3 || $place == 4,
            ..crate::experiment::loops::reads(
                $measure,
                crate::workload::run::LoopStyle::$style,
                |asked, count, seed, share| {
                    use crate::workload::ycsb::{LETTERS, Popularity, ycsb};
                    ycsb(asked, LETTERS[$place], Popularity::$popularity, count, seed, share)
                },
            )
        }
    };
}
pub(super) use letter;

/// Returns a loop that scans on one thread.
pub const fn scans(measure: &'static str, back: bool, script: MakeScript) -> GridLoop {
    let needs = IndexAbilities { scan: !back, scan_back: back, ..IndexAbilities::NOTHING };
    GridLoop { needs, counts: LoopUnit::KeysRead, ..reads(measure, LoopStyle::Independent, script) }
}

/// Returns scans of `LENGTH` keys from random keys on, downward if `BACK`. There is one scan for
/// `PER` operations of other loops.
pub const fn ranges<const LENGTH: u16, const PER: usize, const BACK: bool>(
    measure: &'static str,
) -> GridLoop {
    scans(measure, BACK, |asked, count, seed, share| {
        scan::scans(asked, count / PER, LENGTH, BACK, seed, share)
    })
}

/// Returns inserts of absent keys, `PERCENT` of all operations, among lookups of present ones.
pub const fn inserts<const PERCENT: u8>(measure: &'static str) -> GridLoop {
    changes(measure, false, |asked, count, seed, share| {
        mix::inserts_and_lookups(asked, count, f64::from(PERCENT) / 100.0, seed, share)
    })
}

/// Inserts among lookups, from few inserts to many.
pub const INSERT_MIXES: [GridLoop; 3] =
    [inserts::<5>("5 % inserts"), inserts::<50>("50 % inserts"), inserts::<95>("95 % inserts")];

/// Returns a loop that changes the index, on one thread.
pub const fn changes(measure: &'static str, removes: bool, script: MakeScript) -> GridLoop {
    let needs = IndexAbilities { remove: removes, ..IndexAbilities::NOTHING };
    GridLoop { needs, changes: true, ..reads(measure, LoopStyle::Independent, script) }
}

/// Updates of present keys, which write the present value again.
pub const UPDATE: GridLoop = changes("put of present keys", false, |asked, count, seed, share| {
    let mut puts = present(asked, count, seed, share);
    puts.ops.iter_mut().for_each(|op| op.kind = OpKind::Put);
    puts
});

/// Removals of random keys, until a tenth is left.
pub const REMOVE: GridLoop =
    changes("remove all but a tenth", true, |asked, _, seed, share| mix::removes(asked, 0.1, seed, share));

impl GridLoop {
    /// Makes the scripts: this many operations in total, from this seed.
    pub fn prepare(&self, asked: &RankedKeySet<'_>, operations: usize, seed: u64) -> PreparedLoop {
        let of = self.threads;
        let script = |thread| (self.script)(asked, operations / of, seed, ThreadShare { thread, of });
        let scripts: Vec<Script> = (0..of).map(script).collect();
        let warm_up = scripts.iter().map(|script| script.warm_up(asked.keys().len())).collect();
        PreparedLoop { measure: self.measure, style: self.style, warm_up, scripts }
    }

    /// Returns this loop under another name, with each operation started after the one before has
    /// answered.
    pub const fn dependent(mut self, measure: &'static str) -> Self {
        self.measure = measure;
        self.style = LoopStyle::Dependent;
        self
    }

    /// Returns this loop with starts that need not be keys.
    pub const fn starting_anywhere(mut self) -> Self {
        self.needs.lower_bound = true;
        self
    }
}
