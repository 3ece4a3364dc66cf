//! Figure 11: bytes per key without keys and values. For the paper's bar of a resized table: the
//! mean and the maximum over one doubling.

use super::super::findings::MeasureSpec;
use super::super::grid::{self, GridPoint, over_key_sets};
use super::super::index_memory::{BESIDE, per_key};
use super::super::memory::{MOST, comparable, least_mean_most, over_doubling};
use super::super::participants::{CUCKOO, Participants, WORMHOLE};
use super::super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use super::{ART, SETS, TREE, count};
use crate::Result;

const MEAN: MeasureSpec<'_> = per_key("memory beside keys and values, mean over a doubling");
/// The greatest ratio of the paper's bytes to those of the leanest trees.
const ABOVE_TREES: f64 = 2.56;

fn points(plan: &BenchPlan) -> Vec<GridPoint> {
    over_key_sets(plan.sets_or(&SETS), count(plan), 0)
}

pub static FIG11: Experiment = Experiment {
    name: "cuckoo-fig11",
    title: "bytes per key beside keys and values; and their mean and most while an index grows to \
            twice its size",
    source: "Cuckoo Trie (SOSP 2021), figure 11 and section 6.5",
    claim: "the Cuckoo Trie takes less than ARTOLC and Wormhole, by up to 28 %, and more than HOT \
            and a B-tree, by up to 156 %; with resizing (the mean) it is comparable to ARTOLC and \
            Wormhole on most key sets, at most 1.25 times here",
    // The steps hold a second copy of the keys.
    memory: |plan| Ok(2 * grid::memory(&points(plan), 0, 0)?),
    steps: |plan| points(plan).len() * Participants::Ordered.count(),
    run,
    judge,
};

fn run(bench: &mut Bench) -> Result<()> {
    for point in points(&bench.plan) {
        let (set, entries) = grid::admit(bench, &point, Participants::Ordered)?;
        for entry in entries {
            bench.step(&format!("{}: {}", set.name, entry.name));
            let sizes = over_doubling(&set.keys, entry);
            let [_, mean, most] = least_mean_most(&sizes, |held| held.overhead);
            let all = sizes.last().map_or(mean, |held| held.overhead);
            for (place, bytes) in [(per_key(BESIDE), all), (MEAN, mean), (MOST, most)] {
                bench.add(place, entry.name, point.at.as_ref(), bytes)?;
            }
        }
    }
    Ok(())
}

fn judge(findings: &Findings) -> Judgement {
    let measured = |other: &&str| !findings.ratios(BESIDE, CUCKOO, other).is_empty();
    let beside = [ART, WORMHOLE].into_iter().filter(measured).flat_map(|other| {
        let what = format!("{BESIDE}, Cuckoo Trie / {other}");
        let less = Judgement::at_most(1.0, &what, &findings.ratios(BESIDE, CUCKOO, other));
        [less, comparable(findings, MEAN.measure, CUCKOO, "Cuckoo Trie", other)]
    });
    let trees = findings.ratios(BESIDE, CUCKOO, TREE);
    let trees = Judgement::at_most(ABOVE_TREES, &format!("{BESIDE}, Cuckoo Trie / {TREE}"), &trees);
    beside.chain([trees]).reduce(Judgement::alongside).unwrap_or_else(|| Judgement::untested("not measured"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{AxisPoint, ClaimAnswer};

    #[test]
    fn bytes_are_judged_against_both_kinds_of_trees() {
        let mut findings = Findings::default();
        for (set, [ours, art, tree]) in [("rand-8", [25.0, 30.0, 20.0]), ("osm", [31.0, 30.0, 10.0])] {
            let at = AxisPoint::name("key set", set);
            for (name, bytes) in [(CUCKOO, ours), (ART, art), (TREE, tree)] {
                findings.add(per_key(BESIDE), name, Some(&at), bytes);
                findings.add(MEAN, name, Some(&at), if name == CUCKOO { 1.3 * bytes } else { bytes });
            }
            let judged = judge(&findings).each();
            assert_eq!(judged.len(), 3, "there is no Wormhole: {judged:?}");
            let answer = if set == "rand-8" { ClaimAnswer::Holds } else { ClaimAnswer::DoesNotHold };
            assert!(judged.iter().all(|judged| judged.answer == answer), "{judged:?}");
            assert!(judged[1].why.contains(MEAN.measure), "{judged:?}");
        }
        assert_eq!(judge(&Findings::default()).answer, ClaimAnswer::CannotBeTested);
    }
}
