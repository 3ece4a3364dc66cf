//! Figure 7: throughput and space over the size of a node.

use skein_disk::TrieShape;

use super::requests::KeyRequests;
use super::series::{GROWTH, SET, TrieSeries, as_in_paper};
use super::{PAPER_LINKED, cache_pages, memory, wanted};
use crate::Result;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::result::AxisPoint;
use crate::rival::store::DiskTrieSetup;

/// The figure's workload.
const KEYS: &str = "intkey(2147483648)";

/// The children of a node: `trie_size`.
const SIZES: [u16; 8] = [2, 4, 6, 8, 12, 16, 24, 32];

/// The size up to which the paper's throughput rises, and beyond which it falls.
const BEST: f64 = 8.0;
/// The difference of two equal runs; a smaller step counts as level.
const LEVEL: f64 = 0.02;

pub static FIG7: Experiment = Experiment {
    name: "bitbase-fig7",
    title: "the size of a node, from 2 children to 32: throughput and space",
    source: "Xie (BitBase), figure 7 and section 4.2",
    claim: "as a node gets larger, space gets worse all the way, and throughput better up to 8 \
            children and worse beyond (of the linked trie in the paper's layout; ours has lists of \
            the length that they need)",
    memory: |plan| memory(plan, sets(plan).iter().map(String::as_str), cache_pages(plan)),
    steps: |plan| plan.rounds * SIZES.len() * sets(plan).len(),
    run,
    judge,
};

fn sets(plan: &BenchPlan) -> Vec<String> {
    plan.sets_or(&[KEYS])
}

fn run(bench: &mut Bench) -> Result<()> {
    let (groups, pages) = (wanted(bench, &[PAPER_LINKED])?, cache_pages(&bench.plan));
    let scratch = bench.scratch()?;
    for name in sets(&bench.plan) {
        let asked = KeyRequests::new(&name, groups[0].0, bench.plan.seed)?;
        for round in 0..bench.plan.rounds {
            for k in SIZES {
                bench.step(&format!("{name}: round {}, {k} children", round + 1));
                let trie = DiskTrieSetup { shape: TrieShape::FixedLinked { k }, ..*PAPER_LINKED };
                let at = Some(AxisPoint::number("children of a node", f64::from(k)));
                let line = format!("{}, {name}", trie.words);
                TrieSeries { name: &line, options: as_in_paper(&trie, pages), asked: &asked, at }
                    .measure(bench, &scratch)?;
            }
        }
    }
    Ok(())
}

/// Judges each line: space rises at each step; throughput rises at each step up to the paper's
/// size, and falls at each step beyond it.
fn judge(findings: &Findings) -> Judgement {
    let mut lines: Vec<&str> = findings.cells.iter().map(|cell| &*cell.contender).collect();
    lines.dedup();
    lines.sort_unstable();
    lines.dedup();
    let judged = lines.into_iter().flat_map(|line| {
        let curve = |measure| curve(findings, measure, line);
        let (space, rate) = (curve(GROWTH.measure), curve(SET.measure));
        let rises = space.windows(2).all(|pair| pair[1].1 >= pair[0].1);
        let rises = Judgement::of(rises, format!("{}, {line}: {}", GROWTH.measure, shown(&space)));
        let (up, down): (Vec<_>, Vec<_>) = rate.windows(2).partition(|step| step[1].0 <= BEST);
        let better = all_steps(&up, |gain| gain >= 1.0 - LEVEL) && gain(&up) > 1.0;
        let worse = all_steps(&down, |gain| gain <= 1.0 + LEVEL) && gain(&down) < 1.0;
        let words = |claim: &str| format!("{}, {line}: {} ({claim} is claimed)", SET.measure, shown(&rate));
        [
            rises,
            Judgement::of(better, words("a rise at each step up to 8")),
            Judgement::of(worse, words("a fall at each step beyond 8")),
        ]
    });
    Judgement::each_of(judged, "not measured")
}

/// Two neighbouring points of a curve.
type CurveStep<'a> = &'a [(f64, f64)];

/// Returns whether the ratio of every step satisfies `wanted`.
fn all_steps(steps: &[CurveStep<'_>], wanted: impl Fn(f64) -> bool) -> bool {
    steps.iter().all(|step| wanted(step[1].1 / step[0].1))
}

/// Returns the ratio of the last point to the first; 1 if there is no step.
fn gain(steps: &[CurveStep<'_>]) -> f64 {
    steps.iter().map(|step| step[1].1 / step[0].1).product()
}

/// Returns the medians of a line over the axis.
fn curve(findings: &Findings, measure: &str, line: &str) -> Vec<(f64, f64)> {
    let cells = findings.cells.iter().filter(|cell| cell.measure == measure && cell.contender == line);
    cells.filter_map(|cell| Some((cell.at.as_ref()?.value?, cell.summary().median))).collect()
}

fn shown(curve: &[(f64, f64)]) -> String {
    curve.iter().map(|(at, figure)| format!("{at}: {figure:.1}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn space_rises_and_throughput_has_its_peak() {
        let judged = |rates: [f64; 5], spaces: [f64; 5]| {
            let mut findings = Findings::default();
            for ((size, rate), space) in [2.0, 4.0, 8.0, 16.0, 32.0].into_iter().zip(rates).zip(spaces) {
                let at = AxisPoint::number("children of a node", size);
                findings.add(SET, "trie", Some(&at), rate);
                findings.add(GROWTH, "trie", Some(&at), space);
            }
            judge(&findings).answers()
        };
        let rising = [1.0, 1.0, 2.0, 2.5, 3.0];
        assert_eq!(judged([1.0, 1.5, 2.0, 1.5, 1.0], rising), [Holds, Holds, Holds]);
        // A peak next to the paper's size does not count.
        assert_eq!(judged([1.0, 2.0, 1.5, 1.2, 1.0], rising), [Holds, DoesNotHold, Holds]);
        assert_eq!(judged([1.0, 1.5, 2.0, 2.5, 1.0], rising), [Holds, Holds, DoesNotHold]);
        // Within the difference of two equal runs a step counts as level. A line that is level all
        // the way neither rises nor falls.
        assert_eq!(judged([1.0, 0.99, 2.0, 2.01, 1.0], rising), [Holds, Holds, Holds]);
        let [_, rises, falls] = judged([1.0; 5], rising)[..] else { panic!("three verdicts") };
        assert_eq!([rises, falls], [DoesNotHold, DoesNotHold]);
        assert_eq!(judged([1.0; 5], [1.0, 3.0, 2.0, 3.0, 3.0])[0], DoesNotHold);
        assert_eq!(judge(&Findings::default()).answer, CannotBeTested);
    }
}
