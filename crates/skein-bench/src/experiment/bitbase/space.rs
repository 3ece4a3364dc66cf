//! Figure 9: the size of the file, over the length of keys (as its caption says) and over the size
//! of the key space (as its text says).

use super::requests::KeyRequests;
use super::series::{GROWTH, TrieSeries, as_in_paper};
use super::{
    ALL, CLASSICAL, HASH, LINKED, PAPER_CLASSICAL, PAPER_HASH, PAPER_LINKED, cache_pages, memory, wanted,
};
use crate::Result;
use crate::experiment::findings::MeasureSpec;
use crate::experiment::{Bench, Experiment, Findings, Judgement};
use crate::result::AxisPoint;
use crate::rival::store::DiskTrieSetup;

/// The bytes of a key of `randstr`.
const LENGTHS: [u32; 4] = [8, 16, 32, 64];
/// The key space of `intkey` in bits. Even in the least one, few of a million keys repeat.
const SPACES: [u32; 5] = [24, 31, 40, 50, 63];

/// Returns a measure of the file over one axis.
const fn file(measure: &str) -> MeasureSpec<'_> {
    MeasureSpec { measure, ..GROWTH }
}

const BY_LENGTH: MeasureSpec<'_> = file("file per request, by key length");
const BY_SPACE: MeasureSpec<'_> = file("file per request, by key space");

/// "Does not change" allows this difference.
const SAME: f64 = 0.05;

/// Returns the points: the generator's name, the measure of the file, and the point on the axis.
fn points() -> impl Iterator<Item = (String, MeasureSpec<'static>, AxisPoint)> {
    let lengths = LENGTHS.into_iter().map(|length| {
        (format!("randstr({length},26)"), BY_LENGTH, AxisPoint::number("key bytes", f64::from(length)))
    });
    let spaces = SPACES.into_iter().map(|bits| {
        (
            format!("intkey({})", 1_u64 << bits),
            BY_SPACE,
            AxisPoint::number("bits of the key space", f64::from(bits)),
        )
    });
    lengths.chain(spaces)
}

pub static FIG9: Experiment = Experiment {
    name: "bitbase-fig9",
    title: "file bytes per request, by length of keys and by size of the key space",
    source: "Xie (BitBase), figure 9 and section 4.4",
    claim: "the classical trie's file grows the fastest with the keys, the linked trie's is the \
            smallest in the beginning, the hash trie's does not change with them",
    memory: |plan| {
        let names: Vec<_> = points().map(|(name, ..)| name).collect();
        memory(plan, names.iter().map(String::as_str), cache_pages(plan))
    },
    steps: |plan| plan.rounds * (LENGTHS.len() + SPACES.len()) * ALL.len(),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    let (groups, scratch) = (wanted(bench, &ALL)?, bench.scratch()?);
    for (name, place, at) in points() {
        for (count, tries) in &groups {
            let asked = KeyRequests::new(&name, *count, bench.plan.seed)?;
            for (round, trie) in
                (0..bench.plan.rounds).flat_map(|round| tries.iter().map(move |trie| (round, trie)))
            {
                bench.step(&format!("{name}: round {}, {}", round + 1, trie.words));
                let (line, options) = (trie.words, as_in_paper(trie, cache_pages(&bench.plan)));
                let series = TrieSeries { name: line, options, asked: &asked, at: Some(at.clone()) };
                let grown = series.measure_space(&scratch)?;
                bench.add(place, line, Some(&at), grown)?;
            }
        }
    }
    Ok(())
}

fn judge(findings: &Findings) -> Judgement {
    let layouts = [[CLASSICAL, LINKED, HASH], [PAPER_CLASSICAL, PAPER_LINKED, PAPER_HASH]];
    let judged = [BY_LENGTH, BY_SPACE]
        .into_iter()
        .flat_map(|place| layouts.into_iter().map(move |tries| judge_axis(findings, place.measure, tries)));
    Judgement::each_of(judged, "not measured")
}

/// Judges the three claims over one axis, for the three tries in one layout.
fn judge_axis(findings: &Findings, measure: &str, tries: [&DiskTrieSetup; 3]) -> Judgement {
    let [Some(classical), Some(linked), Some(hash)] = tries.map(|trie| findings.kept(measure, trie.words))
    else {
        return Judgement::untested(format!("{measure}: all three tries must be measured"));
    };
    let times = format!(
        "{measure}, last / first: {} {classical:.2}, {} {linked:.2}, {} {hash:.2}",
        tries[0].words, tries[1].words, tries[2].words
    );
    let fastest = Judgement::of(
        classical > linked && classical > hash,
        format!("{times}; classical must be the greatest"),
    );
    let unchanged = Judgement::of((hash - 1.0).abs() <= SAME, format!("{times}; hash must be 1"));
    let first = findings.labels(measure).first().copied().flatten();
    let linked = tries[1].words;
    let smallest = [tries[0], tries[2]].map(|trie| {
        let ratio = findings.median(measure, linked, first)? / findings.median(measure, trie.words, first)?;
        Some((format!("/ {}", trie.words), ratio))
    });
    let smallest: Vec<_> = smallest.into_iter().flatten().collect();
    fastest
        .alongside(Judgement::at_most(1.0, &format!("{measure}, at first, {linked}"), &smallest))
        .alongside(unchanged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    #[test]
    fn each_claim_has_its_figures() {
        let mut findings = Findings::default();
        assert_eq!(judge(&findings).answers(), [CannotBeTested; 4]);
        let files = [(CLASSICAL, [50.0, 400.0]), (LINKED, [40.0, 200.0]), (HASH, [90.0, 91.0])];
        for (trie, [first, last]) in files {
            for (at, figure) in [(8.0, first), (64.0, last)] {
                findings.add(BY_LENGTH, trie.words, Some(&AxisPoint::number("key bytes", at)), figure);
                findings.add(BY_SPACE, trie.words, Some(&AxisPoint::number("bits", at)), figure * at);
            }
        }
        assert_eq!(
            judge(&findings).answers(),
            [Holds, Holds, Holds, CannotBeTested, Holds, Holds, DoesNotHold, CannotBeTested]
        );
    }
}
