//! Figure 9: lookups as the number of keys grows.

use linkme::distributed_slice;

use super::super::grid::{self, Grid, Inserts, Weigh, over_sizes};
use super::super::loops::{LOOKUP, Loop};
use super::super::partakers::{CUCKOO, Partakers};
use super::super::{EXPERIMENTS, Experiment, Findings, Judgement, Plan};
use super::{ART, TREE};

const LOOPS: [Loop; 1] = [LOOKUP];
/// By how much it slows down at most while it grows to 64 times its size.
const SLOWER: f64 = 1.23;

fn grid(plan: &Plan) -> Grid<'static> {
    let most = plan.keys_or([1_000_000, 5_000_000, 20_000_000, 640_000_000]);
    Grid {
        points: over_sizes(&plan.sets_or(&["rand-8"]).swap_remove(0), most),
        loops: &LOOPS,
        operations: most.clamp(1_000, 2_000_000),
        inserts: Inserts::Untimed,
        memory: Weigh::No,
        takes: Partakers::Ordered,
        beside: None,
    }
}

#[distributed_slice(EXPERIMENTS)]
static FIG9: Experiment = Experiment {
    name: "cuckoo-fig9",
    rank: 249,
    title: "lookups as the number of keys grows, by steps of four",
    source: "Cuckoo Trie (SOSP 2021), figure 9 and section 6.3",
    claim: "from 10 to 640 million keys the Cuckoo Trie slows down 1.23 times, HOT 1.7, ARTOLC 1.66 and a B-tree 1.69 times; Wormhole hardly, and it is much slower at every size",
    memory: |plan| grid(plan).memory(),
    steps: |plan| grid(plan).steps(plan),
    run: |bench| grid::run(bench, &grid(&bench.plan)),
    judge,
};

fn judge(findings: &Findings) -> Judgement {
    let measure = LOOKUP.measure;
    let slower = |name: &str| findings.kept(measure, name).map(|kept| 1.0 / kept);
    let Some(ours) = slower(CUCKOO) else { return Judgement::untested("not measured") };
    let alone = [("from the least size to the greatest".to_owned(), ours)];
    let alone = Judgement::at_most(SLOWER, "how many times slower the Cuckoo Trie gets", &alone);
    let beside = [ART, TREE].into_iter().filter_map(|name| {
        let why = format!("times slower: Cuckoo Trie {ours:.2}, {name} {:.2}", slower(name)?);
        Some(Judgement::of(ours < slower(name)?, why))
    });
    beside.fold(alone, Judgement::beside).beside(super::ahead(
        findings,
        &[measure],
        &[super::WORMHOLE],
        |_| true,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::super::findings::Place;
    use super::*;
    use crate::result::{Answer, At, Better};

    #[test]
    fn it_slows_down_little_and_less_than_trees() {
        let mut findings = Findings::default();
        assert_eq!(judge(&findings).answer, Answer::CannotBeTested);
        let place = Place { measure: LOOKUP.measure, unit: "Mops/s", better: Better::More };
        for (name, rates) in [(CUCKOO, [2.0, 1.5]), (TREE, [1.0, 0.5]), (super::super::WORMHOLE, [1.6, 1.6])]
        {
            for (keys, rate) in [10.0, 640.0].into_iter().zip(rates) {
                findings.add(place, name, Some(&At::number("keys", keys)), rate);
            }
        }
        let answers: Vec<_> = judge(&findings).each().iter().map(|judged| judged.answer).collect();
        assert_eq!(answers, [Answer::DoesNotHold, Answer::Holds, Answer::DoesNotHold]);
    }
}
