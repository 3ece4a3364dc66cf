//! Figure 12: beside an index that is made for keys of 8 bytes alone.
//!
//! The paper's is `MlpIndex`, which no package offers. What it is to show, the price of keys of any length, shows beside other indexes for
//! 8 bytes: a radix tree that holds keys itself, and hash tables, which have no order.

use linkme::distributed_slice;

use super::super::grid::{self, Grid, INSERT, Weigh};
use super::super::loops::{LOOKUP, Loop};
use super::super::partakers::{CUCKOO, Partakers};
use super::super::weigh::BESIDE;
use super::super::{EXPERIMENTS, Experiment, Findings, Judgement, Plan};
use super::ART;

const LOOPS: [Loop; 1] = [LOOKUP];
const HASH: [&str; 2] = ["hashbrown", "dense-hash-map"];

fn grid(plan: &Plan) -> Grid<'static> {
    let takes = Partakers::Named(&[CUCKOO, ART, HASH[0], HASH[1]]);
    Grid { memory: Weigh::Whole, ..super::over_sets(plan, &["rand-8", "osm"], &LOOPS, takes) }
}

#[distributed_slice(EXPERIMENTS)]
static FIG12: Experiment = Experiment {
    name: "cuckoo-fig12",
    rank: 252,
    title: "inserts, lookups and memory beside indexes for keys of 8 bytes alone",
    source: "Cuckoo Trie (SOSP 2021), figure 12 and section 6.7",
    claim: "MlpIndex, for keys of 8 bytes, inserts and looks up 1.3 to 1.8 times as fast and takes 3 times the memory. Here, for want of it, beside a radix tree and hash tables for such keys: a hash table is 1.3 times as fast",
    memory: |plan| grid(plan).memory(),
    steps: |plan| grid(plan).steps(plan),
    run: |bench| grid::run(bench, &grid(&bench.plan)),
    judge,
};

/// `MlpIndex` cannot be judged; a hash table can, which is the most that giving up order brings.
fn judge(findings: &Findings) -> Judgement {
    let missing = Judgement::untested("MlpIndex is in no package, so its words cannot be tested");
    let judged = HASH.iter().filter_map(|hash| {
        let of = |measure: &str| -> Vec<_> {
            let ratios = findings.ratios(measure, hash, CUCKOO).into_iter();
            ratios.map(|(set, ratio)| (format!("{measure} on {set}"), ratio)).collect()
        };
        let (rates, bytes) = ([of(LOOKUP.measure), of(INSERT)].concat(), of(BESIDE));
        let bytes: Vec<_> = bytes.into_iter().map(|(what, ratio)| format!("{what}: {ratio:.2}")).collect();
        let what = format!("{hash} / Cuckoo Trie ({})", bytes.join(", "));
        (!rates.is_empty()).then(|| Judgement::at_least(1.3, &what, &rates))
    });
    judged.fold(missing, Judgement::beside)
}

#[cfg(test)]
mod tests {
    use super::super::super::findings::Place;
    use super::*;
    use crate::result::{Answer, At, Better};

    #[test]
    fn a_hash_table_stands_for_what_is_missing() {
        let mut findings = Findings::default();
        assert_eq!(judge(&findings).each().len(), 1);
        let (at, place) =
            (At::name("key set", "osm"), |measure| Place { measure, unit: "", better: Better::More });
        for (name, figures) in
            [(CUCKOO, [2.0, 1.0, 20.0]), (HASH[0], [5.0, 3.0, 30.0]), (HASH[1], [2.0, 3.0, 30.0])]
        {
            for (measure, figure) in [LOOKUP.measure, INSERT, BESIDE].into_iter().zip(figures) {
                findings.add(place(measure), name, Some(&at), figure);
            }
        }
        let judged = judge(&findings).each();
        let answers: Vec<_> = judged.iter().map(|judged| judged.answer).collect();
        assert_eq!(answers, [Answer::CannotBeTested, Answer::Holds, Answer::DoesNotHold], "{judged:?}");
        assert!(judged[1].why.contains("(memory beside keys and values on osm: 1.50)"), "{judged:?}");
    }
}
