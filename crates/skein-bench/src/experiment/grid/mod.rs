//! The grid of an index experiment: points × contenders × loops, in rounds.
//!
//! ```text
//!   for each point (a key set, a size, a prefix length …)
//!       make the keys, and the scripts of all loops           once: the same for all contenders
//!       for each round, for each contender                     A B C A B C
//!           fill an empty index            ──► the measure "insert"
//!           run the loops, in order        ──► a measure each, after a warm-up
//! ```
//!
//! If a contender rejects a few keys of a set, those keys are left out for all contenders
//! (`key_lengths.rs`). If a contender cannot run a loop, only that contender is left out of the
//! loop (`participants.rs`). Both are noted.
//!
//! Loops that change the index run after those that only read. Each of them gets an index of its
//! own.

use super::findings::MeasureSpec;
use super::index_memory::{footprint, weigh_index, weigh_parts};
use super::key_lengths;
use super::latency;
use super::loops::{GridLoop, LoopUnit, PreparedLoop};
use super::participants::{Participants, missing_ability, note_left_out};
mod point;

use super::{Bench, BenchPlan};
use crate::keyset::{self, KeySet};
use crate::result::{AxisPoint, FOOTPRINT};
use crate::rival::index::{self, DynIndex, RegisteredIndex};
use crate::sys::{LoopClock, pinned};
use crate::workload::run::{LoopOutcome, RunMode};
use crate::workload::{RankedKeySet, Script};
use crate::{Error, Result};

pub use point::{GridPoint, memory, memory_of_more, over_key_sets, over_sizes};

/// A grid.
#[derive(Debug)]
pub struct Grid<'a> {
    /// The points.
    pub points: Vec<GridPoint>,
    /// The loops that follow the insertion.
    pub loops: &'a [GridLoop],
    /// The number of operations per loop.
    pub operations: usize,
    /// How the keys are inserted.
    pub inserts: InsertMode,
    /// The name of the measure of inserts.
    pub insert_measure: &'static str,
    /// Whether, and in which detail, the size of the indexes is measured.
    pub memory: MemoryDetail,
    /// The contenders.
    pub takes: Participants,
    /// A further measurement, made in each round after all contenders.
    pub side_measurement: Option<SideMeasurement>,
}

impl<'a> Grid<'a> {
    /// Returns a grid over these points. Inserts are timed and nothing is weighed. Each loop has as
    /// many operations as the greatest point has keys, within limits.
    pub fn new(points: Vec<GridPoint>, loops: &'a [GridLoop], takes: Participants) -> Self {
        let most = points.iter().map(|point| point.count).max().unwrap_or(0);
        Self {
            points,
            loops,
            operations: most.clamp(1_000, 2_000_000),
            inserts: InsertMode::Timed,
            insert_measure: INSERT,
            memory: MemoryDetail::No,
            takes,
            side_measurement: None,
        }
    }

    /// Returns the number of steps.
    pub fn steps(&self, plan: &BenchPlan) -> usize {
        self.points.len() * plan.rounds * self.takes.count()
    }

    /// Returns the bytes of memory that the grid needs at most.
    ///
    /// # Errors
    /// If a key set does not exist.
    pub fn memory(&self) -> Result<u64> {
        memory(&self.points, self.loops.len(), self.operations)
    }
}

/// Returns the parts of an experiment that follow from its grid. The experiment adds the others.
macro_rules! of_grid {
    ($grid:ident) => {
        crate::experiment::Experiment {
            name: "",
            title: "",
            source: "",
            claim: "",
            memory: |plan| $grid(plan).memory(),
            steps: |plan| $grid(plan).steps(plan),
            run: |bench| crate::experiment::grid::run(bench, &$grid(&bench.plan)),
            judge: |_| crate::experiment::Judgement::untested("the experiment judges"),
        }
    };
}
pub(super) use of_grid;

/// How the keys are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsertMode {
    /// By one thread; the time is not reported.
    Untimed,
    /// By one thread; the rate is reported.
    Timed,
    /// By this many threads, each with its share of the keys. The measure is the rate per thread.
    /// Only contenders that support several threads may take part.
    Together(usize),
}

/// How the size of each index is measured. It is measured once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryDetail {
    /// Not by the allocator; indexes that count their own bytes report them.
    No,
    /// As a whole.
    Whole,
    /// As a whole, and by part for indexes that report their parts.
    ByPart,
}

/// A further measurement at a point. It gets the prepared scripts of each loop.
pub type SideMeasurement = fn(&mut Bench, &GridPoint, &KeySet, &[PreparedLoop]) -> Result<()>;

/// Runs a grid.
///
/// # Errors
/// If a key set cannot be made, or if a contender gives a wrong answer.
pub fn run(bench: &mut Bench, grid: &Grid<'_>) -> Result<()> {
    for point in &grid.points {
        let (set, entries) = admit(bench, point, grid.takes)?;
        measure_point(bench, grid, point, &set, &entries)?;
    }
    Ok(())
}

/// Returns the keys of a point, without those few that some contenders reject, and the contenders
/// that take part on them.
///
/// # Errors
/// If the key set cannot be made.
pub fn admit(
    bench: &mut Bench,
    point: &GridPoint,
    takes: Participants,
) -> Result<(KeySet, Vec<&'static RegisteredIndex>)> {
    let mut set = keyset::make(&point.keys, point.count, point.absent, bench.plan.seed)?;
    let wanted: Vec<&RegisteredIndex> =
        index::all().into_iter().filter(|entry| takes.admit(entry) && bench.plan.wants(entry.name)).collect();
    let left_out = key_lengths::leave_out_few(&mut set, &wanted);
    for note in set.note.iter().chain(&left_out) {
        bench.findings.note(note.clone());
    }
    let concerned = index::all().into_iter().filter(|entry| takes.concern(entry));
    let entries = bench.contenders(concerned, |entry| match takes.without(entry) {
        Some(why) => Err(why.to_owned()),
        None => key_lengths::takes_keys(entry, &set),
    });
    Ok((set, entries))
}

/// Measures the contenders at one point, on keys that are made already.
///
/// # Errors
/// If a contender gives a wrong answer.
pub fn measure_point(
    bench: &mut Bench,
    grid: &Grid<'_>,
    point: &GridPoint,
    set: &KeySet,
    entries: &[&'static RegisteredIndex],
) -> Result<()> {
    let asked = RankedKeySet::new(set);
    let prepared: Vec<PreparedLoop> = grid
        .loops
        .iter()
        .zip(0..)
        .map(|(each, number)| each.prepare(&asked, grid.operations, bench.plan.seed.wrapping_add(number)))
        .collect();
    drop(asked);
    note_left_out(&mut bench.findings, grid.loops, entries, set);
    for round in 0..bench.plan.rounds {
        for entry in entries {
            bench.step(&format!("{}: round {}, {}", set.name, round + 1, entry.name));
            if round == 0 && grid.memory != MemoryDetail::No {
                weigh(bench, grid.memory, point, set, entry)?;
            }
            let turn = GridTurn { grid, at: point.at.as_ref(), set, entry };
            turn.measure(bench, &prepared, round == 0 && grid.memory == MemoryDetail::No)?;
        }
        if let Some(measure) = grid.side_measurement {
            measure(bench, point, set, &prepared)?;
        }
    }
    Ok(())
}

/// Measures the size of one contender at one point.
fn weigh(
    bench: &mut Bench,
    how: MemoryDetail,
    point: &GridPoint,
    set: &KeySet,
    entry: &RegisteredIndex,
) -> Result<()> {
    let mut scales = weigh_index(bench, point.at.as_ref(), &set.keys, entry)?;
    footprint(bench, point.at.as_ref(), entry, scales.bytes())?;
    if how == MemoryDetail::ByPart { weigh_parts(bench, &set.name, entry, &mut scales) } else { Ok(()) }
}

/// One contender's turn at one point.
struct GridTurn<'a> {
    grid: &'a Grid<'a>,
    at: Option<&'a AxisPoint>,
    set: &'a KeySet,
    entry: &'a RegisteredIndex,
}

impl GridTurn<'_> {
    fn measure(&self, bench: &mut Bench, prepared: &[PreparedLoop], weighed_by_itself: bool) -> Result<()> {
        let (mut index, rate) = self.filled(bench.plan.clock)?;
        if weighed_by_itself {
            self.own_footprint(bench, index.as_ref())?;
        }
        let unit = match self.grid.inserts {
            InsertMode::Untimed => None,
            InsertMode::Timed => Some("Mops/s"),
            InsertMode::Together(_) => Some(PER_THREAD),
        };
        if let Some(unit) = unit {
            let place = MeasureSpec::more(self.grid.insert_measure, unit);
            bench.add(place, self.entry.name, self.at, rate)?;
        }
        let mut spoilt = false;
        for (each, prepared) in self.grid.loops.iter().zip(prepared) {
            if missing_ability(self.entry, each, self.set).is_some() {
                continue;
            }
            if spoilt {
                index = self.filled(bench.plan.clock)?.0;
            }
            spoilt = each.changes;
            run_loop(bench, index.as_ref(), each, &prepared.warm_up)?;
            let outcomes = run_loop(bench, index.as_ref(), each, &prepared.scripts)?;
            record(bench, each, self.entry, self.at, &outcomes)?;
        }
        Ok(())
    }

    /// Records the footprint of an index that counts its own bytes; that costs no second fill. Does
    /// nothing if another grid has recorded it at this point.
    fn own_footprint(&self, bench: &mut Bench, index: &dyn DynIndex) -> Result<()> {
        let label = self.at.map(|at| &*at.label);
        if bench.findings.cell(FOOTPRINT, self.entry.name, label).is_some() {
            return Ok(());
        }
        let own: usize = index.own_bytes().iter().map(|(_, bytes)| bytes).sum();
        if own > 0 { footprint(bench, self.at, self.entry, own as f64) } else { Ok(()) }
    }

    /// Fills an index with all keys. Returns the index and the rate per thread.
    fn filled(&self, clock: LoopClock) -> Result<(Box<dyn DynIndex>, f64)> {
        let keys = &self.set.keys;
        let make = || (self.entry.make)(keys.len());
        let InsertMode::Together(number @ 2..) = self.grid.inserts else {
            return pinned(0, || {
                let index = make();
                let outcome = index.fill(keys, 0, 1, clock);
                (index, outcome.mops())
            });
        };
        let index = make();
        let Some(threads) = index.threads() else {
            return Err(Error::Failed(format!("{} supports one thread only", self.entry.name)));
        };
        let outcomes = threads.fill_together(keys, number)?;
        let rate = outcomes.iter().map(LoopOutcome::mops).sum::<f64>() / number as f64;
        Ok((index, rate))
    }
}

fn run_loop(
    bench: &Bench,
    index: &dyn DynIndex,
    each: &GridLoop,
    scripts: &[Script],
) -> Result<Vec<LoopOutcome>> {
    let clock = bench.plan.clock;
    match (scripts, index.threads()) {
        ([one], _) => Ok(vec![pinned(0, || index.run(one, RunMode { clock, style: each.style }))?]),
        (many, Some(threads)) => {
            threads.run_together(many, RunMode { clock: LoopClock::Wall, style: each.style })
        }
        (_, None) => unreachable!("`why_not` asks for a contender that takes threads"),
    }
}

fn record(
    bench: &mut Bench,
    each: &GridLoop,
    entry: &RegisteredIndex,
    at: Option<&AxisPoint>,
    outcomes: &[LoopOutcome],
) -> Result<()> {
    let wrong: usize = outcomes.iter().map(|outcome| outcome.wrong).sum();
    Error::check_answers(entry.name, each.measure, wrong)?;
    let sum = |figure: fn(&LoopOutcome) -> f64| outcomes.iter().map(figure).sum::<f64>();
    let (figure, unit) = match each.counts {
        LoopUnit::Operations => (sum(LoopOutcome::mops), "Mops/s"),
        LoopUnit::KeysRead => (sum(LoopOutcome::mkeys), "Mkeys/s"),
        LoopUnit::Tail => (outcomes.first().map_or(f64::NAN, LoopOutcome::mops), "Mops/s"),
        LoopUnit::OperationsPerThread => (sum(LoopOutcome::mops) / outcomes.len() as f64, PER_THREAD),
    };
    bench.add(MeasureSpec::more(each.measure, unit), entry.name, at, figure)?;
    if let Some(latency) = outcomes.iter().find_map(|outcome| outcome.latency_ns.as_ref()) {
        if each.counts == LoopUnit::Tail {
            for (end, part) in [(NEARLY_ALL, 0.9999), (LONGEST, 1.0)] {
                let measure = format!("{}{end}", each.measure);
                let place = MeasureSpec::less(&measure, "us");
                bench.add(place, entry.name, at, latency::quantile(latency, part, 1e3))?;
            }
        }
        let measure = format!("{}, latency", each.measure);
        let place = MeasureSpec::less(&measure, "ns");
        let cell = bench.findings.add(place, entry.name, at, latency::quantile(latency, 0.5, 1.0));
        // Only the last round's curve is kept; one cell per round would be an unreadable chart.
        cell.quantiles = latency::curve(latency, 1.0);
    }
    Ok(())
}

/// The measure of filling an index.
pub const INSERT: &str = "insert";

/// The suffix of a measure's name: the time within which all but one of ten thousand operations
/// end.
pub const NEARLY_ALL: &str = ", latency of 99.99 %";

/// The suffix of a measure's name: the time of the slowest operation.
pub const LONGEST: &str = ", longest";

/// The unit of measures that vary the number of threads.
pub const PER_THREAD: &str = "Mops/s per thread";

#[cfg(test)]
mod tests;
