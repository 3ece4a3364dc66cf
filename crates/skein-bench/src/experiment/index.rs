//! Experiments on indexes that are from no single paper: the first questions of users.

use super::grid::{self, Grid, InsertMode, MemoryDetail, of_grid, over_key_sets};
use super::loops::{
    DEPENDENT, GET_MANY, GridLoop, INSERT_MIXES, LOOKUP, LOOKUP_80, LOWER_BOUND, REMOVE, UPDATE, changes,
    letter, ranges,
};
use super::participants::{OURS, Participants};
use super::{BenchPlan, Experiment, Findings, Judgement};
use crate::workload::mix;
use crate::workload::run::LoopStyle;

const COUNTS: [usize; 4] = [300_000, 5_000_000, 20_000_000, 20_000_000];
const SETS: [&str; 3] = ["rand-8", "decimal", "url"];

fn count(plan: &BenchPlan) -> usize {
    plan.keys_or(COUNTS)
}

/// Returns a grid over the key sets, with this many absent keys.
fn over_sets(
    plan: &BenchPlan,
    absent: usize,
    loops: &'static [GridLoop],
    takes: Participants,
) -> Grid<'static> {
    Grid::new(over_key_sets(plan.sets_or(&SETS), count(plan), absent), loops, takes)
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
    Judgement::all_of(judged, "nothing was measured")
}

const LOOKUPS: [GridLoop; 5] = [
    LOOKUP,
    LOOKUP_80,
    DEPENDENT,
    GET_MANY,
    GridLoop { measure: "lookup, timed one by one", style: LoopStyle::Timed, ..LOOKUP },
];

fn lookups_grid(plan: &BenchPlan) -> Grid<'static> {
    let grid = over_sets(plan, count(plan) / 10, &LOOKUPS, Participants::All);
    Grid { memory: MemoryDetail::Whole, ..grid }
}

pub static LOOKUPS_OF_ALL: Experiment = Experiment {
    name: "lookup",
    title: "inserts, lookups one by one and in batches, latency and memory of all indexes",
    source: "SkeinDB's own targets",
    claim: "Masstree inserts and looks up at least 1.3 times as fast as the crate masstree, and 3 \
            times as fast as crossbeam-skiplist",
    judge: |findings| {
        let measures = ["insert", "lookup", "lookup, dependent"];
        ours_against(findings, &measures, 1.3, "masstree-crate").and(ours_against(
            findings,
            &measures,
            3.0,
            "crossbeam-skiplist",
        ))
    },
    ..of_grid!(lookups_grid)
};

/// The loops scan a hundredth of the keys that lookups ask for, since each scan reads a hundred.
const SCANS: [GridLoop; 8] = [
    ranges::<10, 10, false>("scan of 10"),
    ranges::<100, 50, false>("scan of 100"),
    ranges::<1000, 500, false>("scan of 1000"),
    ranges::<10, 10, true>("scan of 10, backward"),
    ranges::<100, 50, true>("scan of 100, backward"),
    ranges::<1000, 500, true>("scan of 1000, backward"),
    LOWER_BOUND,
    ranges::<1, 4, false>("scan of 1"),
];

fn scans_grid(plan: &BenchPlan) -> Grid<'static> {
    let grid = over_sets(plan, count(plan) / 10, &SCANS, Participants::Ordered);
    Grid { inserts: InsertMode::Untimed, ..grid }
}

pub static SCAN_100: Experiment = Experiment {
    name: "scan-100",
    title: "scans of 1 to 1000 keys, upward and downward, and lower bounds",
    source: "SkeinDB's own targets",
    claim: "Masstree scans 100 keys at least 1.5 times as fast as the crate masstree",
    judge: |findings| ours_against(findings, &["scan of 100"], 1.5, "masstree-crate"),
    ..of_grid!(scans_grid)
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
    over_sets(plan, count(plan) / 4, &YCSB, Participants::All)
}

pub static YCSB_EXPERIMENT: Experiment = Experiment {
    name: "ycsb",
    title: "LOAD (the measure insert) and YCSB A to F, with latencies",
    source: "YCSB (Cooper et al., SoCC 2010)",
    claim: "Masstree is at least as fast as std's BTreeMap on every workload",
    judge: |findings| ours_against(findings, &YCSB.map(|each| each.measure), 1.0, "btreemap"),
    ..of_grid!(ycsb_grid)
};

const MIXES: [GridLoop; 6] =
    [INSERT_MIXES[0], INSERT_MIXES[1], INSERT_MIXES[2], REMOVE, changes("churn", true, mix::churn), UPDATE];

fn mixes_grid(plan: &BenchPlan) -> Grid<'static> {
    over_sets(plan, count(plan), &MIXES, Participants::All)
}

pub static MIX: Experiment = Experiment {
    name: "mix",
    title: "5, 50 and 95 % inserts among lookups, removal, churn, puts of present keys",
    source: "the workloads of Wormhole (EuroSys 2019) and of the Cuckoo Trie (SOSP 2021)",
    claim: "Masstree is at least as fast as std's BTreeMap on every mix",
    judge: |findings| ours_against(findings, &MIXES.map(|each| each.measure), 1.0, "btreemap"),
    ..of_grid!(mixes_grid)
};

fn growth_grid(plan: &BenchPlan) -> Grid<'static> {
    let points = grid::over_sizes(&plan.sets_or(&["rand-8"]).swap_remove(0), count(plan));
    let grid = Grid::new(points, &LOOKUPS[2..4], Participants::All);
    Grid { memory: MemoryDetail::Whole, operations: grid.operations.min(1_000_000), ..grid }
}

pub static GROWTH: Experiment = Experiment {
    name: "growth",
    title: "inserts, dependent and batched lookups, and memory, as the number of keys grows",
    source: "SkeinDB's own targets",
    claim: "Masstree's dependent lookups slow down less than those of std's BTreeMap between the \
            smallest and the greatest size",
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
    ..of_grid!(growth_grid)
};
