//! Figures 4, 5 and 6: requests over the length of keys. In `editstr` each key resembles the one
//! before; in `randstr` it does not.
//!
//! The lengths and the alphabet's size are ours, since the paper's text gives none.

use super::requests::KeyRequests;
use super::series::{GET, GROWTH, SET, TrieSeries, as_in_paper};
use super::{
    CLASSICAL, HASH, LINKED, PAPER_CLASSICAL, PAPER_HASH, PAPER_LINKED, cache_pages, memory, wanted,
};
use crate::Result;
use crate::experiment::scratch::Scratch;
use crate::experiment::{Bench, BenchPlan, Experiment, Findings, Judgement};
use crate::result::AxisPoint;
use crate::rival::store::DiskTrieSetup;

/// The bytes of a key.
const LENGTHS: [u32; 5] = [4, 8, 16, 32, 64];
const GENERATORS: [&str; 2] = ["editstr", "randstr"];

/// "Not sensitive" means within a fifth.
const ALIKE: f64 = 0.8;

fn name(generator: &str, length: u32) -> String {
    format!("{generator}({length},26)")
}

/// Returns the name of a line of the figure.
fn line(trie: &DiskTrieSetup, generator: &str) -> String {
    format!("{}, {generator}", trie.words)
}

fn longest(plan: &BenchPlan) -> Result<u64> {
    let names = GENERATORS.map(|generator| name(generator, LENGTHS[LENGTHS.len() - 1]));
    memory(plan, names.iter().map(String::as_str), cache_pages(plan))
}

fn steps(plan: &BenchPlan, tries: usize) -> usize {
    plan.rounds * LENGTHS.len() * GENERATORS.len() * tries
}

/// Runs all lines over all lengths.
fn run(bench: &mut Bench, tries: &[&'static DiskTrieSetup]) -> Result<()> {
    let (groups, scratch) = (wanted(bench, tries)?, bench.scratch()?);
    bench.set("cache pages", cache_pages(&bench.plan));
    for length in LENGTHS {
        for (count, tries) in &groups {
            for generator in GENERATORS {
                let asked = KeyRequests::new(&name(generator, length), *count, bench.plan.seed)?;
                on_point(bench, &scratch, tries, generator, length, &asked)?;
            }
        }
    }
    Ok(())
}

/// Runs all rounds of some tries on the keys of one generator and length.
fn on_point(
    bench: &mut Bench,
    scratch: &Scratch,
    tries: &[&DiskTrieSetup],
    generator: &str,
    length: u32,
    asked: &KeyRequests,
) -> Result<()> {
    for round in 0..bench.plan.rounds {
        for trie in tries {
            bench.step(&format!("{}: round {}, {}", asked.name, round + 1, trie.words));
            let at = Some(AxisPoint::number("key bytes", f64::from(length)));
            let (name, options) = (line(trie, generator), as_in_paper(trie, cache_pages(&bench.plan)));
            TrieSeries { name: &name, options, asked, at }.measure(bench, scratch)?;
        }
    }
    Ok(())
}

pub static FIG4: Experiment = Experiment {
    name: "bitbase-fig4",
    title: "the linked trie over the length of keys: editstr and randstr",
    source: "Xie (BitBase), figure 4 and section 4.1",
    claim: "editstr is easier than randstr, since its keys tend to share prefixes: throughput is \
            higher at every length, and the file grows less",
    memory: longest,
    steps: |plan| steps(plan, 2),
    run: |bench| run(bench, &[LINKED, PAPER_LINKED]),
    judge: |findings| judge_sharing(findings, LINKED).alongside(judge_sharing(findings, PAPER_LINKED)),
};

pub static FIG5: Experiment = Experiment {
    name: "bitbase-fig5",
    title: "the classical trie over the length of keys, and the linked trie beside it",
    source: "Xie (BitBase), figure 5 and section 4.1",
    claim: "the classical trie tends to keep its throughput as keys get longer, the linked trie \
            does not: from the shortest to the longest keys it keeps the greater part",
    memory: longest,
    steps: |plan| steps(plan, 4),
    run: |bench| run(bench, &[LINKED, CLASSICAL, PAPER_LINKED, PAPER_CLASSICAL]),
    judge: |findings| {
        let paper = judge_keeping(findings, PAPER_CLASSICAL, PAPER_LINKED);
        judge_keeping(findings, CLASSICAL, LINKED).alongside(paper)
    },
};

pub static FIG6: Experiment = Experiment {
    name: "bitbase-fig6",
    title: "the hash trie over the length of keys",
    source: "Xie (BitBase), figure 6 and section 4.1",
    claim: "the hash trie is not sensitive to the length of keys, nor to how they are made: here, \
            within a fifth",
    memory: longest,
    steps: |plan| steps(plan, 2),
    run: |bench| run(bench, &[HASH, PAPER_HASH]),
    judge: |findings| judge_insensitive(findings, HASH).alongside(judge_insensitive(findings, PAPER_HASH)),
};

/// Judges that keys which share prefixes are set faster, are read faster, and make the file grow
/// less.
fn judge_sharing(findings: &Findings, trie: &DiskTrieSetup) -> Judgement {
    let [edited, random] = GENERATORS.map(|generator| line(trie, generator));
    let words = |what: &str| format!("{what}, {edited} / {random}");
    let faster = |measure: &str| {
        Judgement::at_least(1.0, &words(measure), &findings.ratios(measure, &edited, &random))
    };
    let growth = findings.ratios(GROWTH.measure, &edited, &random);
    faster(SET.measure).alongside(faster(GET.measure)).alongside(Judgement::at_most(
        1.0,
        &words(GROWTH.measure),
        &growth,
    ))
}

/// Judges that the classical trie keeps more of its rate than the linked trie.
fn judge_keeping(findings: &Findings, classical: &DiskTrieSetup, linked: &DiskTrieSetup) -> Judgement {
    let tries = [classical, linked];
    let judged = GENERATORS.into_iter().filter_map(|generator| {
        let [classical, linked] = tries.map(|trie| findings.kept(SET.measure, &line(trie, generator)));
        let (classical, linked) = (classical?, linked?);
        let why = format!(
            "kept of the rate of {} keys from {} to {} bytes: {} {classical:.2}, {} {linked:.2}",
            generator,
            LENGTHS[0],
            LENGTHS[LENGTHS.len() - 1],
            tries[0].words,
            tries[1].words
        );
        Some(Judgement::of(classical > linked, why))
    });
    Judgement::each_of(judged, "both tries must be measured")
}

/// Judges that neither the length nor the generator affects the hash trie.
fn judge_insensitive(findings: &Findings, trie: &DiskTrieSetup) -> Judgement {
    let lines = GENERATORS.map(|generator| line(trie, generator));
    let alike = |(label, ratio): (String, f64)| (label, ratio.min(1.0 / ratio));
    let generators: Vec<_> =
        findings.ratios(SET.measure, &lines[0], &lines[1]).into_iter().map(alike).collect();
    let kept: Vec<_> = lines
        .iter()
        .filter_map(|line| Some(alike((line.clone(), findings.kept(SET.measure, line)?))))
        .collect();
    Judgement::at_least(ALIKE, "set, the slower generator / the faster one", &generators)
        .alongside(Judgement::at_least(ALIKE, "set, the slower length / the faster one", &kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::findings::MeasureSpec;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    fn add(findings: &mut Findings, measure: MeasureSpec<'_>, name: &str, figures: [f64; 2]) {
        for (length, figure) in [4.0, 64.0].into_iter().zip(figures) {
            findings.add(measure, name, Some(&AxisPoint::number("key bytes", length)), figure);
        }
    }

    #[test]
    fn shared_prefixes_must_be_faster_everywhere() {
        let mut findings = Findings::default();
        assert_eq!(judge_sharing(&findings, LINKED).answers(), [CannotBeTested; 3]);
        for (place, edited) in [(SET, [2.0, 2.0]), (GET, [2.0, 0.5]), (GROWTH, [0.5, 1.0])] {
            add(&mut findings, place, &line(LINKED, "editstr"), edited);
            add(&mut findings, place, &line(LINKED, "randstr"), [1.0, 1.0]);
        }
        assert_eq!(judge_sharing(&findings, LINKED).answers(), [Holds, DoesNotHold, Holds]);
    }

    #[test]
    fn the_classical_trie_must_keep_more() {
        let mut findings = Findings::default();
        assert_eq!(judge_keeping(&findings, CLASSICAL, LINKED).answers(), [CannotBeTested]);
        for (trie, kept) in [(CLASSICAL, [1.0, 0.6]), (LINKED, [4.0, 2.0])] {
            add(&mut findings, SET, &line(trie, "editstr"), kept);
        }
        assert_eq!(judge_keeping(&findings, CLASSICAL, LINKED).answers(), [Holds]);
        add(&mut findings, SET, &line(CLASSICAL, "randstr"), [1.0, 0.1]);
        add(&mut findings, SET, &line(LINKED, "randstr"), [1.0, 0.2]);
        assert_eq!(judge_keeping(&findings, CLASSICAL, LINKED).answers(), [Holds, DoesNotHold]);
    }

    #[test]
    fn being_faster_counts_as_sensitive() {
        let mut findings = Findings::default();
        add(&mut findings, SET, &line(HASH, "editstr"), [1.0, 0.9]);
        add(&mut findings, SET, &line(HASH, "randstr"), [1.0, 0.95]);
        assert_eq!(judge_insensitive(&findings, HASH).answers(), [Holds, Holds]);
        let mut findings = Findings::default();
        add(&mut findings, SET, &line(HASH, "editstr"), [1.3, 1.0]);
        add(&mut findings, SET, &line(HASH, "randstr"), [1.0, 1.0]);
        assert_eq!(judge_insensitive(&findings, HASH).answers(), [DoesNotHold, DoesNotHold]);
    }
}
