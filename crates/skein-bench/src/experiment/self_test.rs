//! The bench measures itself: one index under two names, in turn like all contenders. Any
//! difference found is the bench's fault.
//!
//! Rounds scatter, so two medians of the same index differ. They must not differ by more than the
//! width of either's rounds. With three rounds that happens by chance to one in sixteen pairs of
//! figures; with seven, to one in four thousand (for a normal distribution). So the experiment runs
//! at least seven rounds.

use super::grid::{self, Grid, MemoryDetail, over_key_sets};
use super::loops::{GET, GET_MANY, GridLoop, ranges};
use super::participants::{OURS, Participants};
use super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::Result;

const AGAIN: &str = "skein-masstree, again";
const ROUNDS: usize = 7;
/// Differences below this fraction are not visible in a table. Memory is measured once, to the
/// byte, and has no spread.
const PRINTED: f64 = 1e-3;
const SETS: [&str; 2] = ["rand-8", "url"];

const LOOPS: [GridLoop; 4] =
    [GET, GET.dependent("get, dependent"), GET_MANY, ranges::<100, 50, false>("scan of 100")];

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let count = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 20_000_000]);
    let points = over_key_sets(plan.sets_or(&SETS), count, 0);
    Grid { memory: MemoryDetail::Whole, ..Grid::new(points, &LOOPS, Participants::Twins) }
}

fn rounds(plan: &BenchPlan) -> usize {
    plan.rounds.max(ROUNDS)
}

pub static SELF_TEST: Experiment = Experiment {
    name: "self-test",
    title: "the bench itself: one index under two names, seven rounds at least",
    source: "SkeinDB's own targets",
    claim: "one index under two names shows no difference: no two medians differ by more than the \
            spread of their rounds",
    memory: |plan| grid(plan).memory(),
    steps: |plan| grid(plan).points.len() * rounds(plan) * Participants::Twins.count(),
    run,
    judge: |findings| no_difference(findings, OURS, AGAIN),
};

fn run(bench: &mut Bench) -> Result<()> {
    bench.plan.rounds = rounds(&bench.plan);
    bench.set("rounds", bench.plan.rounds);
    grid::run(bench, &grid(&bench.plan))
}

/// Judges whether the medians of two contenders differ by no more than their rounds do.
fn no_difference(findings: &Findings, one: &str, other: &str) -> Judgement {
    let (mut compared, mut apart) = (0, Vec::new());
    for cell in findings.cells.iter().filter(|cell| cell.contender == one) {
        let label = cell.at.as_ref().map(|at| &*at.label);
        let (a, Some(b)) = (cell.summary(), findings.summary(&cell.measure, other, label)) else { continue };
        compared += 1;
        let ratio = b.median / a.median;
        if a.far_from(b) && (ratio - 1.0).abs() > PRINTED {
            apart.push(format!(
                "{}, {}: ratio {:.3}, spreads {:.1} % and {:.1} %",
                cell.measure,
                label.unwrap_or("all"),
                ratio,
                100.0 * a.spread(),
                100.0 * b.spread()
            ));
        }
    }
    match (compared, apart.len()) {
        (0, _) => Judgement::untested(format!("{one} and {other} were not both measured")),
        (_, 0) => Judgement::of(true, format!("no difference in {compared} pairs of figures")),
        (_, differ) => {
            let figures = apart.join("; ");
            Judgement::of(false, format!("{differ} of {compared} pairs of figures differ: {figures}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer;

    /// Returns three rounds of each measure for both names; the second's are the given multiples of
    /// the first's.
    fn findings(measures: &[(&str, f64)]) -> Findings {
        let mut findings = Findings::default();
        for (measure, times) in measures {
            // A width of 2 %.
            for figure in [0.99, 1.0, 1.01] {
                findings.add_rates(measure, "rand-8", &[(OURS, figure), (AGAIN, times * figure)]);
            }
        }
        findings
    }

    #[test]
    fn equal_figures_hold() {
        let judged = no_difference(&findings(&[("get", 1.0), ("insert", 1.015)]), OURS, AGAIN);
        assert_eq!(
            (judged.answer, &*judged.why),
            (ClaimAnswer::Holds, "no difference in 2 pairs of figures")
        );
    }

    #[test]
    fn a_difference_beyond_the_spread_is_named() {
        for times in [0.8, 1.2] {
            let judged = no_difference(&findings(&[("get", times), ("insert", 1.0)]), OURS, AGAIN);
            assert_eq!(judged.answer, ClaimAnswer::DoesNotHold);
            let why = format!(
                "1 of 2 pairs of figures differ: get, rand-8: ratio {times:.3}, spreads 2.0 % and 2.0 %"
            );
            assert_eq!(judged.why, why);
        }
    }

    #[test]
    fn one_name_alone_cannot_be_tested() {
        let mut alone = findings(&[("get", 1.0)]);
        alone.cells.retain(|cell| cell.contender == OURS);
        assert_eq!(no_difference(&alone, OURS, AGAIN).answer, ClaimAnswer::CannotBeTested);
    }
}
