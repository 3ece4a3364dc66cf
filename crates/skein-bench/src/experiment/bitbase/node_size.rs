//! Figure 7: throughput and space over the size of a node.

use linkme::distributed_slice;
use skein_disk::Shape;

use super::requests::Requests;
use super::series::{GROWTH, SET, Series, options};
use super::{PAPER_LINKED, cache_pages, memory, wanted};
use crate::Result;
use crate::experiment::{Bench, EXPERIMENTS, Experiment, Findings, Judgement, Plan};
use crate::result::At;
use crate::rival::store::Trie;

/// The figure's workload.
const KEYS: &str = "intkey(2147483648)";

/// Children of a node: `trie_size`.
const SIZES: [u16; 8] = [2, 4, 6, 8, 12, 16, 24, 32];

/// The size from which on the paper's throughput falls.
const BEST: f64 = 8.0;

#[distributed_slice(EXPERIMENTS)]
static FIG7: Experiment = Experiment {
    name: "bitbase-fig7",
    rank: 263,
    title: "the size of a node, from 2 children to 32: throughput and space",
    source: "Xie (BitBase), figure 7 and section 4.2",
    claim: "as a node gets larger, space gets worse all the way, and throughput better at first and worse beyond 8 children (of the linked trie in the paper's layout; ours has lists of the length that they need)",
    memory: |plan| memory(plan, sets(plan).iter().map(String::as_str), cache_pages(plan)),
    steps: |plan| plan.rounds * SIZES.len() * sets(plan).len(),
    run,
    judge,
};

fn sets(plan: &Plan) -> Vec<String> {
    plan.sets_or(&[KEYS])
}

fn run(bench: &mut Bench) -> Result<()> {
    let (groups, pages) = (wanted(bench, &[PAPER_LINKED])?, cache_pages(&bench.plan));
    let scratch = bench.scratch()?;
    for name in sets(&bench.plan) {
        let asked = Requests::new(&name, groups[0].0, bench.plan.seed)?;
        for round in 0..bench.plan.rounds {
            for k in SIZES {
                bench.step(&format!("{name}: round {}, {k} children", round + 1));
                let trie = Trie { shape: Shape::FixedLinked { k }, ..*PAPER_LINKED };
                let at = Some(At::number("children of a node", f64::from(k)));
                let line = format!("{}, {name}", trie.words);
                Series { name: &line, options: options(&trie, pages), asked: &asked, at }
                    .measure(bench, &scratch)?;
            }
        }
    }
    Ok(())
}

/// For each line: that space rises at each step, and that throughput is best at the paper's size or beside it.
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
        let best = rate.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |best| best.0);
        let falls = (BEST / 2.0..=2.0 * BEST).contains(&best);
        let words = format!("{}, {line}: {} (best at 4 to 16 is claimed)", SET.measure, shown(&rate));
        [rises, Judgement::of(falls, words)]
    });
    Judgement::each_of(judged, "not measured")
}

/// The medians of a line over the axis.
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
    use crate::result::Answer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn space_rises_and_throughput_has_its_peak() {
        let judged = |rates: [f64; 4], spaces: [f64; 4]| {
            let mut findings = Findings::default();
            for ((size, rate), space) in [4.0, 8.0, 16.0, 32.0].into_iter().zip(rates).zip(spaces) {
                let at = At::number("children of a node", size);
                findings.add(SET, "trie", Some(&at), rate);
                findings.add(GROWTH, "trie", Some(&at), space);
            }
            judge(&findings).each().into_iter().map(|judged| judged.answer).collect::<Vec<_>>()
        };
        assert_eq!(judged([1.0, 2.0, 1.5, 1.0], [1.0, 1.0, 2.0, 3.0]), [Holds, Holds]);
        assert_eq!(judged([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 3.0]), [DoesNotHold, DoesNotHold]);
        assert_eq!(judge(&Findings::default()).answer, CannotBeTested);
    }
}
