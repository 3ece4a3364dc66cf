//! Masstree's figures 9 and 10, and what section 6.4 says of flexibility (EuroSys 2012).

use linkme::distributed_slice;

use super::grid::{self, Grid, Point};
use super::loops::{Counts, Loop, reads};
use super::{EXPERIMENTS, Experiment, Findings, Judgement, Plan};
use crate::result::At;
use crate::workload::lookup;
use crate::workload::run::Style;

const OURS: &str = "skein-masstree";

const GET: Loop = reads("get", Style::Independent, |asked, count, seed, share| {
    lookup::lookups(asked, count, 1.0, seed, share)
});

/// Bytes of the common prefix, before the 8 bytes that differ.
const PREFIXES: [usize; 6] = [0, 8, 16, 24, 32, 40];

fn fig9_grid(plan: &Plan) -> Grid<'static> {
    let count = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 80_000_000]);
    let point = |prefix: usize| Point {
        keys: format!("prefixed({prefix})"),
        count,
        absent: 0,
        #[allow(clippy::cast_precision_loss)] // Some tens of bytes.
        at: Some(At::number("key bytes", (prefix + 8) as f64)),
    };
    Grid {
        points: PREFIXES.map(point).into(),
        loops: &[GET],
        operations: count.clamp(1_000, 2_000_000),
        inserts: false,
        memory: false,
        takes: |entry| entry.can.scan && !entry.step,
    }
}

#[distributed_slice(EXPERIMENTS)]
static FIG9: Experiment = Experiment {
    name: "masstree-fig9",
    rank: 109,
    title: "lookups of keys that share a prefix of 0 to 40 bytes",
    source: "Masstree (EuroSys 2012), figure 9 and section 6.4",
    claim: "with common prefixes, a trie of B+-trees gains on a B-tree: 1.4 times its rate at 16 bytes, 3.4 times at long keys; here beside std's B-tree",
    memory: |plan| {
        let grid = fig9_grid(plan);
        grid::memory(&grid.points, 1, grid.operations)
    },
    steps: |plan| PREFIXES.len() * plan.rounds * grid::contenders(),
    run: |bench| grid::run(bench, &fig9_grid(&bench.plan)),
    judge: |findings| {
        let ratio = |label: &str| -> Vec<(String, f64)> {
            let ratios = findings.ratios("get", OURS, "btreemap");
            ratios.into_iter().filter(|(at, _)| at == label).collect()
        };
        Judgement::at_least(1.4, "at 16 bytes, ours / btreemap", &ratio("16")).and(Judgement::at_least(
            3.4,
            "at 48 bytes, ours / btreemap",
            &ratio("48"),
        ))
    },
};

/// The numbers of threads to measure: all up to the cores.
fn threads() -> Vec<usize> {
    (1..=std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

fn fig10_points(plan: &Plan) -> Vec<(usize, Point)> {
    let count = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 140_000_000]);
    let keys = plan.sets_or(&["decimal"]).swap_remove(0);
    let point = |threads: usize| Point {
        keys: keys.clone(),
        count,
        absent: 0,
        #[allow(clippy::cast_precision_loss)] // A few threads.
        at: Some(At::number("threads", threads as f64)),
    };
    threads().into_iter().map(|number| (number, point(number))).collect()
}

fn fig10_operations(plan: &Plan) -> usize {
    fig10_points(plan)[0].1.count.clamp(1_000, 4_000_000)
}

#[distributed_slice(EXPERIMENTS)]
static FIG10: Experiment = Experiment {
    name: "masstree-fig10",
    rank: 110,
    title: "rate per thread of gets and puts, from one thread to all cores",
    source: "Masstree (EuroSys 2012), figure 10 and section 6.5",
    claim: "at 16 cores Masstree does 12.7 times the gets and 12.5 times the puts of one core: 0.79 and 0.78 per core",
    memory: |plan| {
        let points: Vec<Point> = fig10_points(plan).into_iter().map(|(_, point)| point).collect();
        grid::memory(&points, 1, fig10_operations(plan))
    },
    steps: |plan| threads().len() * plan.rounds * grid::contenders(),
    run: |bench| {
        for (threads, point) in fig10_points(&bench.plan) {
            let get = Loop { threads, counts: Counts::OperationsPerThread, ..GET };
            let grid = Grid {
                points: vec![point],
                loops: &[get],
                operations: fig10_operations(&bench.plan),
                inserts: true,
                memory: false,
                takes: |entry| entry.threads && !entry.step,
            };
            grid::run_on(bench, &grid, threads)?;
        }
        Ok(())
    },
    judge: scales,
};

/// Whether the rate per thread holds up; a claim about 16 cores says little about fewer.
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
    of("get", 0.79).and(of("insert", 0.78))
}

fn flexibility_grid(plan: &Plan) -> Grid<'static> {
    let count = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 80_000_000]);
    Grid {
        points: grid::over_key_sets(plan.sets_or(&["rand-8", "decimal"]), count, 0),
        loops: &[GET],
        operations: count.clamp(1_000, 2_000_000),
        inserts: true,
        memory: false,
        takes: |entry| !entry.step,
    }
}

#[distributed_slice(EXPERIMENTS)]
static FLEXIBILITY: Experiment = Experiment {
    name: "masstree-sec6.4",
    rank: 114,
    title: "what order costs: gets and puts beside hash tables",
    source: "Masstree (EuroSys 2012), section 6.4",
    claim: "a hash table near its best case does 2.5 times the operations of Masstree, so order is what costs; keys of any length cost 1 %, concurrency 13 %",
    memory: |plan| {
        let grid = flexibility_grid(plan);
        grid::memory(&grid.points, 1, grid.operations)
    },
    steps: |plan| 2 * plan.rounds * grid::contenders(),
    run: |bench| grid::run(bench, &flexibility_grid(&bench.plan)),
    judge: |findings| {
        let ratios: Vec<_> = findings
            .ratios("get", "hashbrown", OURS)
            .into_iter()
            .filter(|(label, _)| label == "rand-8")
            .collect();
        Judgement::at_least(2.5, "gets of hashbrown / ours", &ratios)
    },
};
