//! Figure 8: throughput over the size of the cache.

use super::requests::KeyRequests;
use super::series::{SET, TrieSeries, as_in_paper};
use super::{ALL, CLASSICAL, HASH, LINKED, PAPER_CLASSICAL, PAPER_HASH, PAPER_LINKED, memory, wanted};
use crate::Result;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::result::AxisPoint;
use crate::rival::store::DiskTrieSetup;

/// The keys; the paper does not name them, so they are those of the figure before.
const KEYS: &str = "intkey(2147483648)";
/// The pages of the cache, as powers of two.
const POWERS: [u32; 7] = [6, 8, 10, 11, 12, 14, 16];
/// The point from which the linked trie's curve is flat in the paper, and the fraction that counts
/// as flat.
const FLAT_FROM: u32 = 11;
const FLAT: f64 = 0.9;

fn sets(plan: &BenchPlan) -> Vec<String> {
    plan.sets_or(&[KEYS])
}

fn line(trie: &DiskTrieSetup, set: &str, sets: usize) -> String {
    if sets == 1 { trie.words.to_owned() } else { format!("{}, {set}", trie.words) }
}

pub static FIG8: Experiment = Experiment {
    name: "bitbase-fig8",
    title: "throughput over the size of the cache, from 2^6 to 2^16 pages",
    source: "Xie (BitBase), figure 8 and section 4.3",
    claim: "all three tries gain from a larger cache; the linked trie gains significantly more \
            than the others, and its curve becomes flat beyond 2^11 pages",
    memory: |plan| memory(plan, sets(plan).iter().map(String::as_str), 1 << 16),
    steps: |plan| plan.rounds * sets(plan).len() * POWERS.len() * ALL.len(),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let (groups, sets) = (wanted(bench, &ALL)?, sets(&bench.plan));
    let scratch = bench.scratch()?;
    for (name, (count, tries)) in sets.iter().flat_map(|name| groups.iter().map(move |group| (name, group))) {
        let asked = KeyRequests::new(name, *count, bench.plan.seed)?;
        for round in 0..bench.plan.rounds {
            for (power, trie) in POWERS.iter().flat_map(|power| tries.iter().map(move |trie| (power, trie))) {
                let pages = 1_usize << power;
                bench.step(&format!("{name}: round {}, {pages} pages, {}", round + 1, trie.words));
                let (name, at) = (line(trie, name, sets.len()), Some(at(*power)));
                TrieSeries { name: &name, options: as_in_paper(trie, pages), asked: &asked, at }
                    .measure(bench, &scratch)?;
            }
        }
    }
    Ok(())
}

fn at(power: u32) -> AxisPoint {
    AxisPoint::number("cache pages", f64::from(1_u32 << power))
}

fn judge(findings: &Findings) -> Judgement {
    judge_layout(findings, [LINKED, CLASSICAL, HASH])
        .alongside(judge_layout(findings, [PAPER_LINKED, PAPER_CLASSICAL, PAPER_HASH]))
}

/// Judges the three claims, for the three tries in one layout.
fn judge_layout(findings: &Findings, tries: [&DiskTrieSetup; 3]) -> Judgement {
    let linked = tries[0].words;
    let gain = |trie: &DiskTrieSetup| {
        findings.kept(SET.measure, trie.words).map(|gain| (trie.words.to_owned(), gain))
    };
    let gains: Vec<_> = tries.into_iter().filter_map(gain).collect();
    let all = Judgement::at_least(1.0, "set, cache of 2^16 pages / of 2^6", &gains);
    let others: Vec<_> =
        gains.iter().skip(1).map(|(name, other)| (name.clone(), gains[0].1 / other)).collect();
    let more = Judgement::at_least(1.0, &format!("that gain, {linked} / the others"), &others);
    let rate = |power: u32| findings.median(SET.measure, linked, Some(&at(power).label));
    let flat = rate(FLAT_FROM).zip(rate(POWERS[POWERS.len() - 1]));
    let flat = flat.map(|(before, last)| (linked.to_owned(), before / last));
    let flat = Judgement::at_least(FLAT, "set, cache of 2^11 pages / of 2^16", flat.as_slice());
    all.alongside(more).alongside(flat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn the_linked_trie_gains_most_and_flattens() {
        let judged = |linked: [f64; 3]| {
            let mut findings = Findings::default();
            for (trie, rates) in [(LINKED, linked), (CLASSICAL, [1.0, 1.5, 2.0]), (HASH, [1.0, 1.1, 1.2])] {
                for (power, rate) in [6, 11, 16].into_iter().zip(rates) {
                    findings.add(SET, trie.words, Some(&at(power)), rate);
                }
            }
            judge_layout(&findings, [LINKED, CLASSICAL, HASH]).answers()
        };
        assert_eq!(judged([1.0, 5.0, 5.1]), [Holds; 3]);
        assert_eq!(judged([1.0, 1.1, 1.5]), [Holds, DoesNotHold, DoesNotHold]);
        assert_eq!(judge(&Findings::default()).each().len(), 6);
        assert_eq!(judge(&Findings::default()).answer, CannotBeTested);
    }
}
