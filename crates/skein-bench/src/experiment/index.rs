//! Experiments on indexes that are from no single paper: the first questions of users.

use linkme::distributed_slice;

use super::grid::{self, Grid, GridPoint, InsertMode, MemoryDetail, over_key_sets};
use super::loops::{DEPENDENT, GET_MANY, GridLoop, LOOKUP, LOOKUP_80, LOWER_BOUND, changes, letter, scans};
use super::participants::{OURS, Participants};
use super::{BenchPlan, EXPERIMENTS, Experiment, Findings, Judgement};
use crate::workload::run::LoopStyle;
use crate::workload::{OpKind, lookup, mix, scan};

const COUNTS: [usize; 4] = [300_000, 5_000_000, 20_000_000, 20_000_000];
const SETS: [&str; 3] = ["rand-8", "decimal", "url"];

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or(COUNTS)
}

fn operations(plan: &BenchPlan) -> usize {
    count(plan).clamp(1_000, 2_000_000)
}

fn steps_over_sets(plan: &BenchPlan) -> usize {
    plan.sets_or(&SETS).len() * plan.rounds * Participants::All.count()
}

/// Judges whether ours is at least `least` times as fast as a rival, by measure and point.
fn ours_against(findings: &Findings, measures: &[&str], least: f64, rival: &str) -> Judgement {
    let judged = measures.iter().map(|measure| {
        Judgement::at_least(
            least,
            &format!("{measure}, ours / {rival}"),
            &findings.ratios(measure, OURS, rival),
        )
    });
    judged.reduce(Judgement::and).unwrap_or_else(|| Judgement::untested("nothing was measured"))
}

const LOOKUPS: [GridLoop; 5] = [
    LOOKUP,
    LOOKUP_80,
    DEPENDENT,
    GET_MANY,
    GridLoop { measure: "lookup, timed one by one", style: LoopStyle::Timed, ..LOOKUP },
];

fn lookups_grid(plan: &BenchPlan) -> Grid<'static> {
    Grid {
        points: over_key_sets(plan.sets_or(&SETS), count(plan), count(plan) / 10),
        loops: &LOOKUPS,
        operations: operations(plan),
        inserts: InsertMode::Timed,
        memory: MemoryDetail::Whole,
        takes: Participants::All,
        side_measurement: None,
    }
}

#[distributed_slice(EXPERIMENTS)]
static LOOKUPS_OF_ALL: Experiment = Experiment {
    name: "lookup",
    rank: 0,
    title: "inserts, lookups one by one and in batches, latency and memory of all indexes",
    source: "SkeinDB's own targets",
    claim: "Masstree inserts and looks up at least 1.3 times as fast as the crate masstree, and 3 \
            times as fast as crossbeam-skiplist",
    memory: |plan| grid::memory(&lookups_grid(plan).points, LOOKUPS.len(), operations(plan)),
    steps: steps_over_sets,
    run: |bench| grid::run(bench, &lookups_grid(&bench.plan)),
    judge: |findings| {
        let measures = ["insert", "lookup", "lookup, dependent"];
        ours_against(findings, &measures, 1.3, "masstree-crate").and(ours_against(
            findings,
            &measures,
            3.0,
            "crossbeam-skiplist",
        ))
    },
};

/// The loops scan a hundredth of the keys that lookups ask for, since each scan reads a hundred.
const SCANS: [GridLoop; 8] = [
    scans("scan of 10", false, |asked, count, seed, share| {
        scan::scans(asked, count / 10, 10, false, seed, share)
    }),
    scans("scan of 100", false, |asked, count, seed, share| {
        scan::scans(asked, count / 50, 100, false, seed, share)
    }),
    scans("scan of 1000", false, |asked, count, seed, share| {
        scan::scans(asked, count / 500, 1000, false, seed, share)
    }),
    scans("scan of 10, backward", true, |asked, count, seed, share| {
        scan::scans(asked, count / 10, 10, true, seed, share)
    }),
    scans("scan of 100, backward", true, |asked, count, seed, share| {
        scan::scans(asked, count / 50, 100, true, seed, share)
    }),
    scans("scan of 1000, backward", true, |asked, count, seed, share| {
        scan::scans(asked, count / 500, 1000, true, seed, share)
    }),
    LOWER_BOUND,
    scans("scan of 1", false, |asked, count, seed, share| {
        scan::scans(asked, count / 4, 1, false, seed, share)
    }),
];

fn scans_grid(plan: &BenchPlan) -> Grid<'static> {
    Grid {
        points: over_key_sets(plan.sets_or(&SETS), count(plan), count(plan) / 10),
        loops: &SCANS,
        operations: operations(plan),
        inserts: InsertMode::Untimed,
        memory: MemoryDetail::No,
        takes: Participants::Ordered,
        side_measurement: None,
    }
}

#[distributed_slice(EXPERIMENTS)]
static SCAN_100: Experiment = Experiment {
    name: "scan-100",
    rank: 1,
    title: "scans of 1 to 1000 keys, upward and downward, and lower bounds",
    source: "SkeinDB's own targets",
    claim: "Masstree scans 100 keys at least 1.5 times as fast as the crate masstree",
    memory: |plan| grid::memory(&scans_grid(plan).points, SCANS.len(), operations(plan)),
    steps: steps_over_sets,
    run: |bench| grid::run(bench, &scans_grid(&bench.plan)),
    judge: |findings| ours_against(findings, &["scan of 100"], 1.5, "masstree-crate"),
};

const YCSB: [GridLoop; 12] = [
    letter!(0, "A, Zipfian", Zipfian, Timed),
    letter!(1, "B, Zipfian", Zipfian, Timed),
    letter!(2, "C, Zipfian", Zipfian, Timed),
    letter!(3, "D, latest", Latest, Timed),
    letter!(4, "E, Zipfian", Zipfian, Timed),
    letter!(5, "F, Zipfian", Zipfian, Timed),
    letter!(0, "A, uniform", Uniform, Timed),
    letter!(1, "B, uniform", Uniform, Timed),
    letter!(2, "C, uniform", Uniform, Timed),
    letter!(3, "D, uniform", Uniform, Timed),
    letter!(4, "E, uniform", Uniform, Timed),
    letter!(5, "F, uniform", Uniform, Timed),
];

fn ycsb_grid(plan: &BenchPlan) -> Grid<'static> {
    Grid {
        points: over_key_sets(plan.sets_or(&SETS), count(plan), count(plan) / 4),
        loops: &YCSB,
        operations: operations(plan),
        inserts: InsertMode::Timed,
        memory: MemoryDetail::No,
        takes: Participants::All,
        side_measurement: None,
    }
}

#[distributed_slice(EXPERIMENTS)]
static YCSB_EXPERIMENT: Experiment = Experiment {
    name: "ycsb",
    rank: 2,
    title: "LOAD (the measure insert) and YCSB A to F, with latencies",
    source: "YCSB (Cooper et al., SoCC 2010)",
    claim: "Masstree is at least as fast as std's BTreeMap on every workload",
    memory: |plan| grid::memory(&ycsb_grid(plan).points, YCSB.len(), operations(plan)),
    steps: steps_over_sets,
    run: |bench| grid::run(bench, &ycsb_grid(&bench.plan)),
    judge: |findings| ours_against(findings, &YCSB.map(|each| each.measure), 1.0, "btreemap"),
};

const MIXES: [GridLoop; 6] = [
    changes("5 % inserts", false, |asked, count, seed, share| {
        mix::inserts_and_lookups(asked, count, 0.05, seed, share)
    }),
    changes("50 % inserts", false, |asked, count, seed, share| {
        mix::inserts_and_lookups(asked, count, 0.5, seed, share)
    }),
    changes("95 % inserts", false, |asked, count, seed, share| {
        mix::inserts_and_lookups(asked, count, 0.95, seed, share)
    }),
    changes("remove all but a tenth", true, |asked, _, seed, share| mix::removes(asked, 0.1, seed, share)),
    changes("churn", true, mix::churn),
    changes("put of present keys", false, |asked, count, seed, share| {
        let mut puts = lookup::lookups(asked, count, 1.0, seed, share);
        puts.ops.iter_mut().for_each(|op| op.kind = OpKind::Put);
        puts
    }),
];

fn mixes_grid(plan: &BenchPlan) -> Grid<'static> {
    Grid {
        points: over_key_sets(plan.sets_or(&SETS), count(plan), count(plan)),
        loops: &MIXES,
        operations: operations(plan),
        inserts: InsertMode::Timed,
        memory: MemoryDetail::No,
        takes: Participants::All,
        side_measurement: None,
    }
}

#[distributed_slice(EXPERIMENTS)]
static MIX: Experiment = Experiment {
    name: "mix",
    rank: 3,
    title: "5, 50 and 95 % inserts among lookups, removal, churn, puts of present keys",
    source: "the workloads of Wormhole (EuroSys 2019) and of the Cuckoo Trie (SOSP 2021)",
    claim: "Masstree is at least as fast as std's BTreeMap on every mix",
    memory: |plan| grid::memory(&mixes_grid(plan).points, MIXES.len(), operations(plan)),
    steps: steps_over_sets,
    run: |bench| grid::run(bench, &mixes_grid(&bench.plan)),
    judge: |findings| ours_against(findings, &MIXES.map(|each| each.measure), 1.0, "btreemap"),
};

fn growth_points(plan: &BenchPlan) -> Vec<GridPoint> {
    grid::over_sizes(&plan.sets_or(&["rand-8"]).swap_remove(0), count(plan))
}

fn growth_grid(plan: &BenchPlan) -> Grid<'static> {
    Grid {
        points: growth_points(plan),
        loops: &LOOKUPS[2..4],
        operations: operations(plan).min(1_000_000),
        inserts: InsertMode::Timed,
        memory: MemoryDetail::Whole,
        takes: Participants::All,
        side_measurement: None,
    }
}

#[distributed_slice(EXPERIMENTS)]
static GROWTH: Experiment = Experiment {
    name: "growth",
    rank: 4,
    title: "inserts, dependent and batched lookups, and memory, as the number of keys grows",
    source: "SkeinDB's own targets",
    claim: "Masstree's dependent lookups slow down less than those of std's BTreeMap between the \
            smallest and the greatest size",
    memory: |plan| grid::memory(&growth_points(plan), 2, operations(plan)),
    steps: |plan| growth_points(plan).len() * plan.rounds * Participants::All.count(),
    run: |bench| grid::run(bench, &growth_grid(&bench.plan)),
    judge: |findings| {
        let kept = |contender: &str| findings.kept(DEPENDENT.measure, contender);
        match (kept(OURS), kept("btreemap")) {
            (Some(ours), Some(theirs)) => Judgement::of(
                ours > theirs,
                format!("rate at the greatest size / at the smallest: ours {ours:.2}, btreemap {theirs:.2}"),
            ),
            _ => Judgement::untested("not measured"),
        }
    },
};
