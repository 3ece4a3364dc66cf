//! The rate per thread as threads are added: one index for all threads, and beside it as many
//! independent processes, each with its own index of the same size.
//!
//! Cores share caches, memory and its bandwidth, whatever runs on them. So the difference between
//! threads and processes is caused by the shared index.

use super::findings::MeasureSpec;
use super::grid::{self, Grid, GridPoint, INSERT, InsertMode, PER_THREAD};
use super::key_lengths;
use super::loops::{GridLoop, LoopUnit, PreparedLoop};
use super::participants::Participants;
use super::{Bench, BenchPlan, Findings, Judgement};
use crate::keyset::KeySet;
use crate::result::AxisPoint;
use crate::rival::index::{self, DynIndex, RegisteredIndex};
use crate::sys::{LoopClock, in_processes, one_thread};
use crate::workload::run::{LoopOutcome, RunMode};
use crate::{Error, Result};

/// An experiment on scaling: inserts, then one loop of reads.
#[derive(Debug)]
pub struct Scaling {
    /// The key set, unless the user names another.
    pub keys: &'static str,
    /// The number of keys, by size.
    pub counts: [usize; 4],
    /// The loop that reads.
    pub reads: GridLoop,
    /// The greatest number of its operations, over all threads.
    pub most_operations: usize,
}

/// Returns the number of threads that can run at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the numbers of threads to measure: all up to the cores.
fn threads() -> Vec<usize> {
    (1..=cores()).collect()
}

/// Returns our indexes that support several threads.
fn own() -> impl Iterator<Item = &'static RegisteredIndex> {
    index::all().into_iter().filter(|entry| entry.role == index::IndexRole::Ours && entry.threads)
}

/// Returns the name in reports of processes with one such index each.
pub fn processes_of(name: &str) -> String {
    format!("{name}, processes")
}

impl Scaling {
    fn point(&self, plan: &BenchPlan, threads: usize) -> GridPoint {
        GridPoint {
            keys: plan.sets_or(&[self.keys]).swap_remove(0),
            count: plan.keys_or(self.counts),
            absent: 0,
            at: Some(AxisPoint::number("threads", threads as f64)),
        }
    }

    fn operations(&self, plan: &BenchPlan) -> usize {
        plan.keys_or(self.counts).clamp(1_000, self.most_operations)
    }

    /// Returns the bytes of memory that it needs at most; every process has an index.
    ///
    /// # Errors
    /// If there is no such key set.
    pub fn memory(&self, plan: &BenchPlan) -> Result<u64> {
        let (point, more) = (self.point(plan, 1), cores() - 1);
        let beside = grid::memory_of_more(&point, more)?;
        Ok(grid::memory(&[point], 1, self.operations(plan))? + beside)
    }

    /// Returns the number of steps.
    pub fn steps(plan: &BenchPlan) -> usize {
        let numbers = cores();
        plan.rounds * (numbers * Participants::ForThreads.count() + (numbers - 1) * own().count())
    }

    /// Measures.
    ///
    /// # Errors
    /// If a key set cannot be made, if an answer is wrong, or if a system call fails.
    pub fn run(&self, bench: &mut Bench) -> Result<()> {
        for threads in threads() {
            let points = vec![self.point(&bench.plan, threads)];
            let loops = [GridLoop { threads, counts: LoopUnit::OperationsPerThread, ..self.reads }];
            let grid = Grid {
                operations: self.operations(&bench.plan),
                inserts: InsertMode::Together(threads),
                side_measurement: (threads > 1).then_some(processes as grid::SideMeasurement),
                ..Grid::new(points, &loops, Participants::ForThreads)
            };
            grid::run(bench, &grid)?;
        }
        Ok(())
    }
}

/// Measures each of our indexes with one process per thread of the point.
fn processes(bench: &mut Bench, point: &GridPoint, set: &KeySet, prepared: &[PreparedLoop]) -> Result<()> {
    own().try_for_each(|entry| processes_with(entry, bench, point, set, INSERT, prepared))
}

/// Starts one process per script of the loops. Each inserts all keys into its own index, which is
/// the measure `insert`, and then runs its script of each loop. Does nothing if the user left the
/// index out, or if it rejects the keys.
///
/// # Errors
/// If an answer is wrong, or if a process ends too early.
pub fn processes_with(
    entry: &RegisteredIndex,
    bench: &mut Bench,
    point: &GridPoint,
    set: &KeySet,
    insert: &str,
    loops: &[PreparedLoop],
) -> Result<()> {
    if !bench.plan.wants(entry.name) || key_lengths::takes_keys(entry, set).is_err() {
        return Ok(());
    }
    let Some(processes) = loops.first().map(|first| first.scripts.len()) else { return Ok(()) };
    let name = processes_of(entry.name);
    bench.step(&format!("{}: {processes} processes, {}", set.name, entry.name));
    if let Err(why) = one_thread() {
        bench.findings.absent(&name, why.to_string());
        return Ok(());
    }
    let begin = |number: usize| (number, (entry.make)(set.keys.len()));
    let phase = |(number, index): &mut (usize, Box<dyn DynIndex>), phase: usize| {
        let Some(each) = phase.checked_sub(1).map(|place| &loops[place]) else {
            return figures(&index.fill(&set.keys, 0, 1, LoopClock::Wall));
        };
        let how = RunMode { clock: LoopClock::Wall, style: each.style };
        index.run(&each.warm_up[*number], how);
        figures(&index.run(&each.scripts[*number], how))
    };
    let measures = std::iter::once(insert).chain(loops.iter().map(|each| each.measure));
    let found = in_processes(processes, 1 + loops.len(), begin, phase)?;
    bench.findings.contender(
        &name,
        "an independent process for each thread, pinned as it, each with an index of its own that \
         has all keys",
    );
    for (measure, of_all) in measures.zip(found) {
        let sum = |at: usize| of_all.iter().map(|figures| figures[at]).sum::<f64>();
        #[expect(clippy::cast_sign_loss, reason = "a count")]
        let wrong = sum(1) as usize;
        Error::check_answers(&name, measure, wrong)?;
        let rate = sum(0) / of_all.len() as f64;
        bench.add(MeasureSpec::more(measure, PER_THREAD), &name, point.at.as_ref(), rate)?;
    }
    Ok(())
}

/// Returns a process's figures: its rate, and its number of wrong answers.
fn figures(outcome: &LoopOutcome) -> [f64; 2] {
    [outcome.mops(), outcome.wrong as f64]
}

/// Judges whether an index keeps these fractions of its rate per thread, by measure, with as many
/// threads as there are cores. A paper's claim about 16 cores tells little about fewer.
pub fn beside_one_thread(findings: &Findings, contender: &str, least: &[(&str, f64)]) -> Judgement {
    let most = cores();
    if most == 1 {
        return Judgement::untested("there is one core");
    }
    let last = most.to_string();
    judge_each(least, |measure| {
        let at = |label: &str| findings.median(measure, contender, Some(label));
        let ratios = at("1").zip(at(&last)).map(|(one, all)| (format!("{most} threads"), all / one));
        (format!("{measure} per thread, beside one thread"), ratios.into_iter().collect())
    })
}

/// Judges whether threads of an index reach these fractions of the rate of as many processes, by
/// measure.
pub fn beside_processes(findings: &Findings, contender: &str, least: &[(&str, f64)]) -> Judgement {
    judge_each(least, |measure| {
        let ratios = findings.ratios(measure, contender, &processes_of(contender));
        (format!("{measure}, threads / processes"), ratios)
    })
}

fn judge_each(least: &[(&str, f64)], ratios: impl Fn(&str) -> (String, Vec<(String, f64)>)) -> Judgement {
    let judged = least.iter().map(|&(measure, least)| {
        let (what, ratios) = ratios(measure);
        Judgement::at_least(least, &what, &ratios)
    });
    Judgement::all_of(judged, "nothing was asked")
}
