//! Masstree's figure 9, and the costs of flexibility in its section 6.4 (EuroSys 2012).

use super::grid::{self, Grid, GridPoint, InsertMode, of_grid};
use super::loops::GET;
use super::participants::{OURS, Participants};
use super::{BenchPlan, Experiment, Judgement};
use crate::result::AxisPoint;

/// The bytes of the common prefix, before the 8 bytes that differ.
const PREFIXES: [usize; 6] = [0, 8, 16, 24, 32, 40];

fn fig9_grid(plan: &BenchPlan) -> Grid<'static> {
    let count = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 80_000_000]);
    let point = |prefix: usize| GridPoint {
        keys: format!("prefixed({prefix})"),
        count,
        absent: 0,
        at: Some(AxisPoint::number("key bytes", (prefix + 8) as f64)),
    };
    let grid = Grid::new(PREFIXES.map(point).into(), &[GET], Participants::Ordered);
    Grid { inserts: InsertMode::Untimed, ..grid }
}

pub static FIG9: Experiment = Experiment {
    name: "masstree-fig9",
    title: "lookups of keys that share a prefix of 0 to 40 bytes",
    source: "Masstree (EuroSys 2012), figure 9 and section 6.4",
    claim: "with common prefixes, a trie of B+-trees gains on a B-tree: 1.4 times its rate at 16 \
            bytes, 3.4 times at long keys; here beside std's B-tree",
    judge: |findings| {
        let ratio = |label: &str| findings.ratios_at("get", OURS, "btreemap", |at| at == label);
        Judgement::at_least(1.4, "at 16 bytes, ours / btreemap", &ratio("16")).and(Judgement::at_least(
            3.4,
            "at 48 bytes, ours / btreemap",
            &ratio("48"),
        ))
    },
    ..of_grid!(fig9_grid)
};

fn flexibility_grid(plan: &BenchPlan) -> Grid<'static> {
    let count = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 80_000_000]);
    let points = grid::over_key_sets(plan.sets_or(&["rand-8", "decimal"]), count, 0);
    Grid::new(points, &[GET], Participants::All)
}

pub static FLEXIBILITY: Experiment = Experiment {
    name: "masstree-sec6.4",
    title: "the cost of order: gets and puts beside hash tables",
    source: "Masstree (EuroSys 2012), section 6.4",
    claim: "a hash table near its best case does 2.5 times the operations of Masstree, so order is \
            the main cost; keys of any length cost 1 %, concurrency 13 %",
    judge: |findings| {
        let ratios = findings.ratios_at("get", "hashbrown", OURS, |set| set == "rand-8");
        Judgement::at_least(2.5, "gets of hashbrown / ours", &ratios)
    },
    ..of_grid!(flexibility_grid)
};
