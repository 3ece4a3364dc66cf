//! The gain by prefetching buckets; and note 10 of the paper, on its trie without a list of leaves,
//! which ours never had.

use super::super::grid::{Grid, INSERT, of_grid};
use super::super::loops::{DEPENDENT, GET_MANY, GridLoop, LOOKUP};
use super::super::participants::{CUCKOO, OURS, Participants};
use super::super::wormhole::SCAN;
use super::super::{BenchPlan, Experiment, Findings, Judgement};
use super::{ART, SETS, ratios};
use crate::rival::index::{CUCKOO_TRIE_SERIAL as SERIAL, CUCKOO_TRIE_WITH_ROOM as ROOM};

const LOOPS: [GridLoop; 4] = [LOOKUP, DEPENDENT, GET_MANY, SCAN];

fn grid(plan: &BenchPlan) -> Grid<'static> {
    super::over_sets(plan, &SETS, &LOOPS, Participants::Named(&[CUCKOO, SERIAL, ROOM, ART, OURS]))
}

pub static ABLATION: Experiment = Experiment {
    name: "cuckoo-ablation",
    title: "with and without prefetching of buckets; and inserts without a list of leaves, beside \
            a radix tree",
    source: "Cuckoo Trie (SOSP 2021), figure 1, section 4.1 and note 10",
    claim: "the Cuckoo Trie is fast because it reads all nodes of a key's path at once; without \
            the list of leaves its inserts are within 5 % of ARTOLC's on rand-8, rand-16 and osm \
            (ours has no such list)",
    judge,
    ..of_grid!(grid)
};

fn judge(findings: &Findings) -> Judgement {
    let ahead = ratios(findings, &[LOOKUP.measure, DEPENDENT.measure], SERIAL, |_| true);
    let inserts = ratios(findings, &[INSERT], ART, |set| ["rand-8", "rand-16", "osm"].contains(&set));
    Judgement::at_least(1.0, "with / without prefetching", &ahead).alongside(Judgement::at_least(
        0.95,
        &format!("note 10, Cuckoo Trie / {ART}"),
        &inserts,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ClaimAnswer;

    #[test]
    fn prefetching_and_note_10_have_a_verdict_each() {
        let mut findings = Findings::default();
        for (set, art) in [("rand-8", 1.0), ("reddit", 9.0)] {
            findings.add_rates(LOOKUP.measure, set, &[(CUCKOO, 2.0), (SERIAL, 1.0)]);
            findings.add_rates(DEPENDENT.measure, set, &[(CUCKOO, 1.5), (SERIAL, 1.0)]);
            findings.add_rates(INSERT, set, &[(CUCKOO, 0.97), (ART, art)]);
        }
        let judged = judge(&findings).each();
        assert!(judged.iter().all(|judged| judged.answer == ClaimAnswer::Holds), "{judged:?}");
        for measure in [LOOKUP.measure, INSERT] {
            findings.add_rates(measure, "osm", &[(CUCKOO, 0.9), (SERIAL, 1.0), (ART, 1.0)]);
        }
        let judged = judge(&findings).each();
        assert!(judged.iter().all(|judged| judged.answer == ClaimAnswer::DoesNotHold), "{judged:?}");
    }
}
