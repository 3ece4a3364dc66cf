//! Masstree's figure 8: the gain of each design feature, from a binary tree to Masstree, and
//! Masstree without one feature each.

use super::grid::{Grid, of_grid, over_key_sets};
use super::loops::GET;
use super::participants::{OURS, Participants};
use super::{BenchPlan, Experiment, Findings, Judgement};

/// The steps; each adds a feature to the one before.
const STEPS: [&str; 6] = [
    "binary tree",
    "binary tree + huge pages",
    "binary tree + huge pages + integers",
    "masstree - prefetch - permutation",
    "masstree - permutation",
    OURS,
];

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let count = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 140_000_000]);
    let points = over_key_sets(plan.sets_or(&["decimal"]), count, 0);
    Grid::new(points, &[GET], Participants::Steps(OURS))
}

pub static FIG8: Experiment = Experiment {
    name: "masstree-fig8",
    title: "gets and puts from a binary tree to Masstree, and Masstree without one feature each",
    source: "Masstree (EuroSys 2012), figure 8 and section 6.2",
    claim: "each step helps: huge pages 27 to 37 %, integer comparison 15 to 24 %, prefetching 9 \
            to 31 %, permutation 4 % of puts; Masstree is fastest",
    judge,
    ..of_grid!(grid)
};

/// The paper's gain in gets of each step over the one before. The third step changes the tree's
/// shape; the paper has other steps there.
const GAINS: [(f64, f64); 4] = [(1.27, 1.37), (1.15, 1.24), (1.0, f64::INFINITY), (1.09, 1.31)];
/// The paper's gain in puts by permutations.
const PERMUTATION: f64 = 1.04;

/// Judges the gain of each step by the paper's number. Permutations only make puts faster.
fn judge(findings: &Findings) -> Judgement {
    let steps = STEPS.windows(2).zip(GAINS).map(|(pair, (least, most))| {
        let what = format!("gets, {} / {}", pair[1], pair[0]);
        let ratios = findings.ratios("get", pair[1], pair[0]);
        if most.is_finite() {
            Judgement::from_to((least, most), &what, &ratios)
        } else {
            Judgement::at_least(least, &what, &ratios)
        }
    });
    let puts = findings.ratios("insert", OURS, "masstree - permutation");
    let permutation = Judgement::at_least(PERMUTATION, "puts with / without permutation", &puts);
    Judgement::each_of(steps.chain([permutation]), "no steps")
}
