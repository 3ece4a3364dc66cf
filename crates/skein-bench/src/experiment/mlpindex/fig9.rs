//! Figures 9 and 10: the paper's two distributions of keys, with its hit ratios. Its table 3 has
//! the same figures as numbers.
//!
//! The paper's loop is the dependent one: each query waits for the answer to the one before
//! (section 4.4). We also run the independent loop.

use super::super::grid::{self, Grid, INSERT};
use super::super::loops::{GridLoop, LOOKUP_80, LOWER_BOUND};
use super::super::participants::{MLP, Participants};
use super::super::{BenchPlan, Experiment, Findings, Judgement};
use super::{A, B, BOUND_ALONE, LOOKUP_ALONE};
use crate::rival::index::{
    BTREE_OF_WORDS as TREE, MLP_INDEX_ALL_LEVELS as LEVELS, MLP_INDEX_SERIAL as SERIAL,
};

const LOOPS: [GridLoop; 4] = [LOOKUP_80, LOOKUP_ALONE, LOWER_BOUND, BOUND_ALONE];

/// The paper's hash table, and one in Rust.
const HASH: [&str; 2] = ["dense-hash-map", "hashbrown"];
/// The paper's ART, here one with optimistic locks.
const ART: [&str; 1] = ["congee"];
/// The paper's `std::set`, here with values.
const SET: [&str; 1] = ["std-map"];

const WHO: [&str; 8] = [MLP, LEVELS, SERIAL, ART[0], TREE, SET[0], HASH[0], HASH[1]];

/// The measures of table 3's columns.
const COLUMNS: [&str; 3] = [INSERT, LOOKUP_ALONE.measure, BOUND_ALONE.measure];

/// According to the paper, the dependent lookups of ordered indexes reach at least this fraction of
/// the independent ones' speed.
const OVERLAP: f64 = 0.9;

/// One half of table 3, in millions of operations per second.
struct Half {
    set: &'static str,
    ours: [f64; 3],
    others: [(&'static [&'static str], [Option<f64>; 3]); 3],
}

const OF_A: Half = Half {
    set: A,
    ours: [6.80, 9.03, 5.06],
    others: [
        (&HASH, [Some(10.44), Some(12.50), None]),
        (&ART, [Some(1.65), Some(2.00), None]),
        (&SET, [Some(0.71), Some(0.67), Some(0.67)]),
    ],
};

const OF_B: Half = Half {
    set: B,
    ours: [4.93, 7.40, 4.69],
    others: [
        (&HASH, [Some(10.37), Some(12.34), None]),
        (&ART, [Some(1.21), Some(1.31), None]),
        (&SET, [Some(0.73), Some(0.67), Some(0.67)]),
    ],
};

fn grid(plan: &BenchPlan, set: &str) -> Grid<'static> {
    super::over_sets(plan, &[set], &LOOPS, Participants::Named(&WHO))
}

pub static FIG9: Experiment = Experiment {
    name: "mlpindex-fig9",
    title: "inserts, lookups (80 % hits) and lower bounds (15 % hits) on distribution A, in both loops",
    source: "Haoran Xu, \"Efficient Data Structures via Memory Level Parallelism\", figure 9, \
             table 3 and section 4.4",
    claim: "MlpIndex takes 1.5 and 1.4 times the time of a hash table to insert and to look up; it \
            inserts 4.3 and looks up 4.5 times as fast as ART, and does 7.6 times the lower bounds \
            of std::set. Here: the ratios of table 3, in the paper's loop; and the gain by \
            prefetching",
    memory: |plan| grid(plan, A).memory(),
    steps: |plan| grid(plan, A).steps(plan),
    run: |bench| grid::run(bench, &grid(&bench.plan, A)),
    judge: |findings| judge(findings, &OF_A),
};

pub static FIG10: Experiment = Experiment {
    name: "mlpindex-fig10",
    title: "the same on distribution B, whose tries have more nodes",
    source: "Haoran Xu, \"Efficient Data Structures via Memory Level Parallelism\", figure 10, \
             table 3 and section 4.4",
    claim: "MlpIndex takes 2.1 and 1.7 times the time of a hash table to insert and to look up; it \
            inserts 4 and looks up 5.6 times as fast as ART, and does 7 times the lower bounds of \
            std::set. Here: the ratios of table 3, in the paper's loop; and the gain by \
            prefetching",
    memory: |plan| grid(plan, B).memory(),
    steps: |plan| grid(plan, B).steps(plan),
    run: |bench| grid::run(bench, &grid(&bench.plan, B)),
    judge: |findings| judge(findings, &OF_B),
};

/// Returns MlpIndex's ratios to another contender in a measure, on the distribution of this half of
/// table 3.
fn ratios(findings: &Findings, measure: &str, other: &str, set: &str) -> Vec<(String, f64)> {
    findings.ratios_at(measure, MLP, other, |label| label == set)
}

fn judge(findings: &Findings, half: &Half) -> Judgement {
    let table = half.others.iter().flat_map(|(names, theirs)| {
        let cells = COLUMNS.iter().zip(half.ours.iter().zip(theirs));
        cells.flat_map(|(measure, (ours, theirs))| {
            let least = theirs.map(|theirs| ours / theirs);
            names.iter().filter_map(move |name| {
                let ratios = ratios(findings, measure, name, half.set);
                (!ratios.is_empty()).then_some(())?;
                Some(Judgement::at_least(least?, &format!("{measure}, MlpIndex / {name}"), &ratios))
            })
        })
    });
    let none = format!("beside a hash table, ART and std::set on {}: not measured", half.set);
    Judgement::each_of(table, &none)
        .alongside(judge_overlap(findings, half.set))
        .alongside(judge_ahead(findings, half.set, SERIAL, "with / without prefetching"))
        .alongside(judge_ahead(
            findings,
            half.set,
            LEVELS,
            "levels that matter / all levels, as in the paper",
        ))
}

/// Judges that an ordered index gains little if it need not wait for answers.
fn judge_overlap(findings: &Findings, set: &str) -> Judgement {
    let kept = [(LOOKUP_80, LOOKUP_ALONE), (LOWER_BOUND, BOUND_ALONE)].iter().filter_map(|(free, waits)| {
        let median = |each: &GridLoop| findings.median(each.measure, MLP, Some(set));
        Some((free.measure.to_owned(), median(waits)? / median(free)?))
    });
    Judgement::at_least(OVERLAP, "MlpIndex, dependent / independent", &kept.collect::<Vec<_>>())
}

/// Judges that the feature which a step lacks makes dependent lookups faster.
fn judge_ahead(findings: &Findings, set: &str, step: &str, words: &str) -> Judgement {
    let ratios = ratios(findings, LOOKUP_ALONE.measure, step, set);
    Judgement::at_least(1.0, &format!("{}, {words}", LOOKUP_ALONE.measure), &ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer;

    fn add(findings: &mut Findings, set: &str, name: &str, measures: &[&str], rates: &[f64]) {
        for (measure, rate) in measures.iter().zip(rates) {
            findings.add_rates(measure, set, &[(name, *rate)]);
        }
    }

    /// Returns findings with the paper's own figures, as far as it has any.
    fn paper(half: &Half) -> Findings {
        let mut findings = Findings::default();
        add(&mut findings, half.set, MLP, &COLUMNS, &half.ours);
        add(&mut findings, half.set, MLP, &[LOOKUP_80.measure, LOWER_BOUND.measure], &half.ours[1..]);
        for step in [SERIAL, LEVELS] {
            add(&mut findings, half.set, step, &COLUMNS, &[1.0; 3]);
        }
        for (names, theirs) in half.others {
            let theirs: Vec<f64> = theirs.into_iter().flatten().collect();
            add(&mut findings, half.set, names[0], &COLUMNS, &theirs);
        }
        findings
    }

    #[test]
    fn the_papers_own_figures_hold() {
        for half in [OF_A, OF_B] {
            let judged = judge(&paper(&half), &half).each();
            assert_eq!(judged.len(), 2 + 2 + 3 + 3, "{judged:?}");
            assert!(judged.iter().all(|judged| judged.answer == ClaimAnswer::Holds), "{judged:?}");
        }
    }

    #[test]
    fn each_of_the_papers_ratios_is_judged_by_itself() {
        let mut findings = paper(&OF_A);
        add(&mut findings, A, HASH[1], &COLUMNS, &[20.0, 5.0]);
        let judged = judge(&findings, &OF_A);
        assert_eq!(
            judged.answer_of("insert, MlpIndex / hashbrown: mlp-a: 0.34 (at least 0.65"),
            ClaimAnswer::DoesNotHold
        );
        assert_eq!(
            judged.answer_of("lookup, 80 % hits, dependent, MlpIndex / hashbrown: mlp-a: 1.81"),
            ClaimAnswer::Holds
        );
        assert_eq!(judged.answer_of("insert, MlpIndex / congee: mlp-a: 4.12"), ClaimAnswer::Holds);
    }

    #[test]
    fn other_keys_are_not_judged_by_table_3() {
        let judged = judge(&paper(&OF_A), &OF_B).each();
        assert_eq!(judged.len(), 4);
        assert!(judged.iter().all(|judged| judged.answer == ClaimAnswer::CannotBeTested), "{judged:?}");
    }
}
