//! One verdict for each cell of key set and operation: whether the page tree reaches its aims
//! beside its peers.
//!
//! ```text
//!   for each key set
//!       all contenders   inserts, lookups, scans, updates, YCSB, removals, memory     one thread
//!       all contenders   inserts in key order
//!       the page tree    inserts, lookups and a mix by two threads, and by two processes
//!       all contenders   dependent lookups among an eighth of the keys
//! ```
//!
//! The parts at one point are grids of their own, with other names for the measures that the first
//! grid has too. `aims.rs` has the aims, which judge the figures of all parts.

mod aims;
#[cfg(test)]
mod tests;

use super::grid::{self, Grid, GridPoint, InsertMode, MemoryDetail, over_key_sets};
use super::loops::{
    DEPENDENT, GET_MANY, GridLoop, INSERT_MIXES, LOOKUP, LOWER_BOUND, LoopUnit, PreparedLoop, REMOVE, UPDATE,
    letter, ranges,
};
use super::participants::{PAGE_TREE, Participants};
use super::scaling::{cores, processes_with};
use super::{Bench, BenchPlan, Experiment};
use crate::Result;
use crate::keyset::{self, KeySet};
use crate::rival::index::{self, RegisteredIndex};
use crate::workload::ycsb::{LETTERS, Popularity, ycsb};

/// The key sets that need no file.
const SETS: [&str; 6] = ["rand-8", "osm", "rand-16", "az1", "reddit", "url"];
const COUNTS: [usize; 4] = [100_000, 1_000_000, 10_000_000, 20_000_000];
/// The growth of the index between the two sizes that are compared.
const GROWTH: usize = 8;
/// The greatest number of operations of a loop. There are many loops and contenders.
const MOST_OPERATIONS: usize = 1_000_000;
/// The greatest number of absent keys. Half of the operations of a loop may insert, and by chance a
/// few more.
const MOST_ABSENT: usize = MOST_OPERATIONS * 11 / 20;

const SCANS: [GridLoop; 6] = [
    ranges::<10, 10, false>("scan of 10"),
    ranges::<100, 50, false>("scan of 100"),
    ranges::<1000, 500, false>("scan of 1000"),
    ranges::<10, 10, true>("scan of 10, backward"),
    ranges::<100, 50, true>("scan of 100, backward"),
    ranges::<1000, 500, true>("scan of 1000, backward"),
];
const YCSB: [GridLoop; 5] = [
    letter!(0, "YCSB A", Zipfian, Independent),
    letter!(1, "YCSB B", Zipfian, Independent),
    letter!(2, "YCSB C", Zipfian, Independent),
    letter!(5, "YCSB F", Zipfian, Independent),
    // A scan reads 50 keys on average.
    GridLoop {
        changes: false,
        script: |asked, count, seed, share| {
            ycsb(asked, LETTERS[4], Popularity::Zipfian, count / 10, seed, share)
        },
        ..letter!(4, "YCSB E", Zipfian, Independent)
    },
];
/// All loops use one index, which saves two fills: updates write the present values again, and the
/// few keys that E adds do not disturb the removals.
const LOOPS: [GridLoop; 17] = [
    LOOKUP,
    DEPENDENT,
    GET_MANY,
    LOWER_BOUND,
    SCANS[0],
    SCANS[1],
    SCANS[2],
    SCANS[3],
    SCANS[4],
    SCANS[5],
    YCSB[2],
    YCSB[1],
    YCSB[0],
    YCSB[3],
    GridLoop { changes: false, ..UPDATE },
    YCSB[4],
    REMOVE,
];

const INSERT_IN_ORDER: &str = "insert in key order";
const INSERT_BY_TWO: &str = "insert, two threads";
const BY_TWO: [GridLoop; 2] =
    [by_two("lookup, two threads", LOOKUP), by_two("50 % inserts, two threads", INSERT_MIXES[1])];
const OF_AN_EIGHTH: GridLoop = LOOKUP.dependent("lookup, dependent, 1/8 of the keys");

/// Returns a loop on two threads.
const fn by_two(measure: &'static str, each: GridLoop) -> GridLoop {
    GridLoop { measure, threads: 2, counts: LoopUnit::OperationsPerThread, ..each }
}

pub static CELLS: Experiment = Experiment {
    name: "cells",
    title: "all indexes on all operations and key sets, with a verdict on the page tree in each cell",
    source: "SkeinDB's own targets",
    claim: "beside the best peer, which is a rival with an order that supports several threads, the \
            page tree has 1.2 times the dependent lookups and lower bounds, as many independent \
            lookups, random inserts and removals, 1.5 times the inserts in key order and the scans \
            of strings, and 1.1 times the updates and YCSB; get_many(32) twice the peer's lookups; \
            scans of integers as many keys as a B-tree without threads, backward 0.8 of forward; two \
            threads 0.95 of two processes; dependent lookups 0.8 of the rate among an eighth of the \
            keys; at most 16 bytes per key beside keys and values on rand-8 and osm and 8 on \
            strings, and 1.3 times that while it grows",
    memory,
    steps,
    run,
    judge: aims::judge,
};

fn points(plan: &BenchPlan) -> Vec<GridPoint> {
    let count = plan.keys_or(COUNTS);
    over_key_sets(plan.sets_or(&SETS), count, (count / 2).min(MOST_ABSENT))
}

fn grid_of(points: Vec<GridPoint>, loops: &'static [GridLoop], takes: Participants) -> Grid<'static> {
    let grid = Grid::new(points, loops, takes);
    Grid { operations: grid.operations.min(MOST_OPERATIONS), ..grid }
}

/// Returns the main grid, on one thread.
fn alone(plan: &BenchPlan) -> Grid<'static> {
    Grid { memory: MemoryDetail::Whole, ..grid_of(points(plan), &LOOPS, Participants::All) }
}

/// Returns the inserts of sorted keys.
fn in_order(plan: &BenchPlan) -> Grid<'static> {
    Grid { insert_measure: INSERT_IN_ORDER, ..grid_of(points(plan), &[], Participants::All) }
}

/// Returns the loops of the page tree on two threads, and beside each in two processes.
fn by_threads(plan: &BenchPlan) -> Grid<'static> {
    Grid {
        inserts: InsertMode::Together(2),
        insert_measure: INSERT_BY_TWO,
        side_measurement: Some(processes),
        ..grid_of(points(plan), &BY_TWO, Participants::Named(&[PAGE_TREE]))
    }
}

/// Returns the lookups in a smaller index.
fn smaller(plan: &BenchPlan) -> Grid<'static> {
    let count = (plan.keys_or(COUNTS) / GROWTH).max(1);
    let points = over_key_sets(plan.sets_or(&SETS), count, 0);
    Grid { inserts: InsertMode::Untimed, ..grid_of(points, &[OF_AN_EIGHTH], Participants::All) }
}

/// Returns the memory of the main grid, or of the two processes with an index each, whichever is
/// more. The sorted keys are a second copy.
fn memory(plan: &BenchPlan) -> Result<u64> {
    let points = points(plan);
    let copies = points.iter().map(|point| keyset::estimated_bytes(&point.keys, point.count));
    let more = points.iter().map(|point| grid::memory_of_more(point, 1));
    let one = alone(plan).memory()? + keyset::greatest(copies)?;
    Ok(one.max(by_threads(plan).memory()? + keyset::greatest(more)?))
}

fn steps(plan: &BenchPlan) -> usize {
    // The processes are as many steps as the threads.
    let grids = [alone(plan), in_order(plan), by_threads(plan), by_threads(plan), smaller(plan)];
    grids.iter().map(|grid| grid.steps(plan)).sum()
}

fn run(bench: &mut Bench) -> Result<()> {
    let plan = bench.plan.clone();
    bench.set("keys", plan.keys_or(COUNTS));
    for (point, smaller_point) in points(&plan).iter().zip(smaller(&plan).points) {
        measure_set(bench, point)?;
        grid::run(bench, &Grid { points: vec![smaller_point], ..smaller(&plan) })?;
    }
    Ok(())
}

/// Measures all grids on the full key set of a point.
fn measure_set(bench: &mut Bench, point: &GridPoint) -> Result<()> {
    let plan = bench.plan.clone();
    let (set, entries) = grid::admit(bench, point, Participants::All)?;
    grid::measure_point(bench, &alone(&plan), point, &set, &entries)?;
    aims::AIMS.weigh_growing(bench, point, &set)?;
    let tree: Vec<_> = entries.iter().copied().filter(|entry| entry.name == PAGE_TREE).collect();
    if !tree.is_empty() && cores() > 1 {
        grid::measure_point(bench, &by_threads(&plan), point, &set, &tree)?;
    }
    let sorted = set.in_key_order();
    drop(set);
    grid::measure_point(bench, &in_order(&plan), point, &sorted, &entries)
}

/// Measures the page tree in two processes.
fn processes(bench: &mut Bench, point: &GridPoint, set: &KeySet, prepared: &[PreparedLoop]) -> Result<()> {
    let tree = |entry: &&RegisteredIndex| entry.name == PAGE_TREE;
    index::all()
        .into_iter()
        .filter(tree)
        .try_for_each(|entry| processes_with(entry, bench, point, set, INSERT_BY_TWO, prepared))
}
