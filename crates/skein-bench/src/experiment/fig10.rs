//! Masstree's figure 10: whether the rate per core holds up as cores are added (EuroSys 2012).
//!
//! Cores share caches, memory and its bandwidth, whatever runs on them. So beside the paper's question, what all threads of one tree
//! reach of one thread, stands another: what they reach of as many independent processes, each with a tree of its own of the same
//! size. What is missing there is the tree's doing.

use linkme::distributed_slice;

use super::findings::Place;
use super::grid::{self, Grid, Inserts, PER_THREAD, Point};
use super::loops::{Counts, Loop, Prepared};
use super::masstree::GET;
use super::partakers::{OURS, Partakers};
use super::{Bench, EXPERIMENTS, Experiment, Findings, Judgement, Plan};
use crate::keyset::KeySet;
use crate::result::{At, Better};
use crate::rival::index::{self, Running};
use crate::sys::{Clock, in_processes, one_thread};
use crate::workload::run::{How, Outcome, Style};
use crate::{Error, Result};

const PROCESSES: &str = "skein-masstree, processes";

/// What the processes measure, one after the other.
const PHASES: [&str; 2] = ["insert", GET.measure];

/// What threads should reach of processes, in those.
const OF_PROCESSES: [f64; 2] = [0.85, 0.95];

/// The numbers of threads to measure: all up to the cores.
fn threads() -> Vec<usize> {
    (1..=std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

fn points(plan: &Plan) -> Vec<(usize, Point)> {
    let count = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 140_000_000]);
    let keys = plan.sets_or(&["decimal"]).swap_remove(0);
    let point = |threads: usize| Point {
        keys: keys.clone(),
        count,
        absent: 0,
        #[expect(clippy::cast_precision_loss, reason = "a few threads")]
        at: Some(At::number("threads", threads as f64)),
    };
    threads().into_iter().map(|number| (number, point(number))).collect()
}

fn operations(plan: &Plan) -> usize {
    points(plan)[0].1.count.clamp(1_000, 4_000_000)
}

fn memory(plan: &Plan) -> Result<u64> {
    let (numbers, points): (Vec<usize>, Vec<Point>) = points(plan).into_iter().unzip();
    let more = numbers.len() - 1;
    Ok(grid::memory(&points, 1, operations(plan))? + grid::memory_of_more(&points[0], more)?)
}

#[distributed_slice(EXPERIMENTS)]
static FIG10: Experiment = Experiment {
    name: "masstree-fig10",
    rank: 110,
    title: "rate per thread of gets and puts, from one thread to all cores, and of as many independent processes",
    source: "Masstree (EuroSys 2012), figure 10 and section 6.5",
    claim: "at 16 cores Masstree does 12.7 times the gets and 12.5 times the puts of one core: 0.79 and 0.78 per core; and, our own aim, threads do 0.95 of the gets and 0.85 of the puts of as many independent processes",
    memory,
    steps: |plan| {
        let numbers = threads().len();
        plan.rounds * (numbers * Partakers::ForThreads.count() + numbers - 1)
    },
    run,
    judge: scales,
};

fn run(bench: &mut Bench) -> Result<()> {
    for (threads, point) in points(&bench.plan) {
        let get = Loop { threads, counts: Counts::OperationsPerThread, ..GET };
        let grid = Grid {
            points: vec![point],
            loops: &[get],
            operations: operations(&bench.plan),
            inserts: Inserts::Together(threads),
            memory: false,
            takes: Partakers::ForThreads,
            beside: (threads > 1).then_some(processes as grid::Beside),
        };
        grid::run(bench, &grid)?;
    }
    Ok(())
}

/// A process for each thread of the point: it inserts all keys into a tree of its own, and then gets what the thread gets.
fn processes(bench: &mut Bench, point: &Point, set: &KeySet, prepared: &[Prepared]) -> Result<()> {
    let Some(entry) = index::all().into_iter().find(|entry| entry.name == OURS) else {
        return Err(Error::Failed(format!("{OURS} is not in this build")));
    };
    if !bench.plan.wants(OURS) {
        return Ok(());
    }
    let Prepared { warm_up, scripts } = &prepared[0];
    bench.step(&format!("{}: {} processes", set.name, scripts.len()));
    if let Err(why) = one_thread() {
        bench.findings.absent(PROCESSES, why.to_string());
        return Ok(());
    }
    let begin = |number: usize| (number, (entry.make)(set.keys.len()));
    let how = How { clock: Clock::Wall, style: Style::Independent };
    let phase = |(number, tree): &mut (usize, Box<dyn Running>), phase: usize| {
        if phase == 0 {
            return figures(&tree.fill(&set.keys, 0, 1, how.clock));
        }
        tree.run(&warm_up[*number], how);
        figures(&tree.run(&scripts[*number], how))
    };
    let found = in_processes(scripts.len(), PHASES.len(), begin, phase)?;
    bench.findings.contender(
        PROCESSES,
        "an independent process for each thread, pinned as it, each with a tree of its own that has all keys",
    );
    for (measure, of_all) in PHASES.into_iter().zip(found) {
        let sum = |at: usize| of_all.iter().map(|figures| figures[at]).sum::<f64>();
        #[expect(clippy::cast_sign_loss, reason = "a count")]
        let wrong = sum(1) as usize;
        if wrong > 0 {
            return Err(Error::Wrong { contender: PROCESSES.to_owned(), measure: measure.to_owned(), wrong });
        }
        let place = Place { measure, unit: PER_THREAD, better: Better::More };
        #[expect(clippy::cast_precision_loss, reason = "a few processes")]
        let rate = sum(0) / of_all.len() as f64;
        bench.add(place, PROCESSES, point.at.as_ref(), rate)?;
    }
    Ok(())
}

/// A process's figures: its rate, and how many answers were wrong.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn figures(outcome: &Outcome) -> [f64; 2] {
    [outcome.mops(), outcome.wrong as f64]
}

/// Whether the rate per thread holds up, beside one thread and beside processes; a claim about 16 cores says little about fewer.
fn scales(findings: &Findings) -> Judgement {
    let most = threads().len();
    if most == 1 {
        return Judgement::untested("there is one core");
    }
    let of = |measure: &str, least: f64| {
        let last = most.to_string();
        let (one, all) =
            (findings.median(measure, OURS, Some("1")), findings.median(measure, OURS, Some(&last)));
        let ratios: Vec<_> =
            one.zip(all).map(|(one, all)| (format!("{most} threads"), all / one)).into_iter().collect();
        Judgement::at_least(least, &format!("{measure} per thread, beside one thread"), &ratios)
    };
    let beside = PHASES.into_iter().zip(OF_PROCESSES).map(|(measure, least)| {
        let ratios = findings.ratios(measure, OURS, PROCESSES);
        Judgement::at_least(least, &format!("{measure}, threads / processes"), &ratios)
    });
    beside.fold(of(GET.measure, 0.79).and(of("insert", 0.78)), Judgement::and)
}
