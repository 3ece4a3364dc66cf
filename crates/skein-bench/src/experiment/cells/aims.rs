//! The aims for the page tree, by operation and kind of key set.

use super::super::aims::{Aims, Beside, Rate, rate};
use super::super::grid::INSERT;
use super::super::index_memory::BESIDE;
use super::super::loops::{DEPENDENT, GET_MANY, LOOKUP, LOWER_BOUND, REMOVE, UPDATE};
use super::super::participants::{MLP, PAGE_TREE};
use super::super::{Findings, Judgement};
use super::{BY_TWO, INSERT_BY_TWO, INSERT_IN_ORDER, OF_AN_EIGHTH, SCANS, YCSB};
use crate::rival::index::BTREE_OF_WORDS;

/// The kinds of key sets, by the prefix of their names. The last is any other set: strings.
const KINDS: [&str; 5] = ["rand-8", "osm", "mlp-", "rand-16", ""];
/// The name of absl's B-tree in reports. The aims beside it are untested in builds without it.
const ABSL: &str = "absl-btree";
/// The page tree in two processes.
pub const PROCESSES: &str = "skein-page-tree, processes";

type CellRate = Rate<5>;

/// Returns an aim for all key sets.
const fn all(least: f64) -> [Option<f64>; 5] {
    [Some(least); 5]
}

/// Returns an aim for keys of 8 bytes.
const fn integers(least: f64) -> [Option<f64>; 5] {
    [Some(least), Some(least), Some(least), None, None]
}

/// Returns an aim for other keys.
const fn strings(least: f64) -> [Option<f64>; 5] {
    [None, None, None, Some(least), Some(least)]
}

/// Returns an aim beside the best peer in the same measure.
const fn peer(measure: &'static str, least: [Option<f64>; 5]) -> CellRate {
    Rate { measure, beside: Beside::BestPeer(measure), least }
}

/// Returns an aim for scans of integers, beside a B-tree without concurrency.
const fn integer_scan(measure: &'static str) -> CellRate {
    Rate { measure, beside: Beside::FirstOf(measure, &[ABSL, BTREE_OF_WORDS]), least: integers(1.0) }
}

/// Returns an aim for two threads beside two processes.
const fn two_threads(measure: &'static str) -> CellRate {
    rate(measure, (measure, PROCESSES), all(0.95))
}

/// Returns an aim for scans backward, beside the same scans forward.
const fn backward(back: &'static str, forward: &'static str) -> CellRate {
    rate(back, (forward, PAGE_TREE), all(0.8))
}

const ALONE: &str = DEPENDENT.measure;

const RATES: [CellRate; 28] = [
    peer(ALONE, all(1.2)),
    rate(ALONE, (ALONE, MLP), integers(0.6)),
    rate(ALONE, (ALONE, ABSL), integers(1.0)),
    // At most 1.25 times the cost.
    rate(ALONE, (OF_AN_EIGHTH.measure, PAGE_TREE), all(0.8)),
    peer(LOOKUP.measure, all(1.0)),
    Rate { measure: GET_MANY.measure, beside: Beside::BestPeer(LOOKUP.measure), least: all(2.0) },
    peer(INSERT, all(1.0)),
    peer(INSERT_IN_ORDER, all(1.5)),
    peer(LOWER_BOUND.measure, all(1.2)),
    peer(SCANS[0].measure, strings(1.5)),
    peer(SCANS[1].measure, strings(1.5)),
    peer(SCANS[2].measure, strings(1.5)),
    integer_scan(SCANS[0].measure),
    integer_scan(SCANS[1].measure),
    integer_scan(SCANS[2].measure),
    backward(SCANS[3].measure, SCANS[0].measure),
    backward(SCANS[4].measure, SCANS[1].measure),
    backward(SCANS[5].measure, SCANS[2].measure),
    peer(UPDATE.measure, all(1.1)),
    peer(YCSB[0].measure, all(1.1)),
    peer(YCSB[1].measure, all(1.1)),
    peer(YCSB[2].measure, all(1.1)),
    peer(YCSB[4].measure, all(1.1)),
    peer(YCSB[3].measure, all(1.1)),
    peer(REMOVE.measure, all(1.0)),
    two_threads(BY_TWO[0].measure),
    two_threads(INSERT_BY_TWO),
    two_threads(BY_TWO[1].measure),
];

pub const AIMS: Aims<5> = Aims {
    index: PAGE_TREE,
    words: "page tree",
    kinds: KINDS,
    rates: &RATES,
    bytes: [Some(16.0), Some(16.0), None, None, Some(8.0)],
    part: None,
    growing: Some(1.3),
};

/// Judges each aim on each key set. Only the main grid weighs all contenders, once per key set.
pub fn judge(findings: &Findings) -> Judgement {
    AIMS.judge(findings, BESIDE)
}
