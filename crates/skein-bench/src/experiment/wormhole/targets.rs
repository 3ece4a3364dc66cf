//! This project's targets for Wormhole, each with a verdict of its own. The targets for threads are
//! in `fig9.rs`.

use super::super::aims::{Aims, Rate, rate};
use super::super::grid::{Grid, GridPoint, INSERT, MemoryDetail, of_grid};
use super::super::loops::{DEPENDENT, GET_MANY, GridLoop, LOOKUP};
use super::super::participants::{OURS, Participants, WORMHOLE};
use super::super::{BenchPlan, Experiment, Findings, Judgement};
use super::{SCAN, TREE};
use crate::result::AxisPoint;
use crate::rival::index::{WORMHOLE_FOR_ONE_THREAD, WORMHOLE_TRIE};

const LOOPS: [GridLoop; 4] = [LOOKUP, DEPENDENT, GET_MANY, SCAN];

const INDEPENDENT: &str = LOOKUP.measure;
const ALONE: &str = DEPENDENT.measure;
const MANY: &str = GET_MANY.measure;
const HUNDRED: &str = SCAN.measure;

const RATES: [Rate<3>; 7] = [
    rate(ALONE, (ALONE, TREE), [Some(2.0), Some(2.0), Some(1.8)]),
    rate(INDEPENDENT, (INDEPENDENT, TREE), [Some(4.0), Some(3.5), Some(2.7)]),
    // Neighbouring keys of these sets share long prefixes.
    rate(INDEPENDENT, (INDEPENDENT, OURS), [None, Some(1.2), Some(1.2)]),
    rate(MANY, (ALONE, WORMHOLE), [Some(3.0); 3]),
    rate(HUNDRED, (HUNDRED, OURS), [Some(0.8), Some(2.0), Some(2.0)]),
    rate(INSERT, (INSERT, TREE), [Some(1.3); 3]),
    rate(INDEPENDENT, (INDEPENDENT, WORMHOLE_FOR_ONE_THREAD), [Some(0.9); 3]),
];

const AIMS: Aims<3> = Aims {
    index: WORMHOLE,
    words: "Wormhole",
    kinds: ["rand-8", "az1", "file:"],
    rates: &RATES,
    bytes: [Some(22.0), Some(22.0), Some(26.0)],
    part: Some(WORMHOLE_TRIE),
    growing: None,
};

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let point = |keys: String| {
        let large = if AIMS.kind(&keys) == Some(0) { 20_000_000 } else { 10_000_000 };
        let count = plan.keys_or([300_000, 5_000_000, large, large]);
        GridPoint { at: Some(AxisPoint::name("key set", &keys)), keys, count, absent: 0 }
    };
    let points = plan.sets_or(&AIMS.kinds[..2]).into_iter().map(point).collect();
    let takes = Participants::Named(&[WORMHOLE, OURS, TREE, WORMHOLE_FOR_ONE_THREAD]);
    Grid { memory: MemoryDetail::ByPart, ..Grid::new(points, &LOOPS, takes) }
}

pub static TARGETS_OF_WORMHOLE: Experiment = Experiment {
    name: "wormhole-targets",
    title: "our targets for Wormhole on rand-8, az1 and files of real keys (--keys file:PATH), \
            each with a verdict",
    source: "SkeinDB's own targets",
    claim: "on rand-8, az1 and real paths: dependent lookups at least 2, 2 and 1.8 times those of \
            std's BTreeMap, independent ones 4, 3.5 and 2.7 times, and on the latter two 1.2 times \
            those of our Masstree; get_many(32) 3 times the dependent lookups; scans of 100 0.8, 2 \
            and 2 times those of our Masstree; inserts 1.3 times those of std's BTreeMap; at most \
            22, 22 and 26 bytes per key beside keys and values; 0.9 of the lookups of the variant \
            for one thread",
    judge,
    ..of_grid!(grid)
};

fn judge(findings: &Findings) -> Judgement {
    AIMS.judge(findings, INDEPENDENT)
}

#[cfg(test)]
mod tests {
    use super::super::super::index_memory::{BESIDE, PARTS, part_of, per_key};
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    /// Wormhole has twice the rate of all others, `get_many` five times, and 24 bytes per key.
    fn findings(sets: &[&str]) -> Findings {
        let mut findings = Findings::default();
        for set in sets {
            let at = AxisPoint::name("key set", set);
            for measure in [INSERT, INDEPENDENT, ALONE, MANY, HUNDRED] {
                let ours = if measure == MANY { 10.0 } else { 2.0 };
                let others = [OURS, TREE, WORMHOLE_FOR_ONE_THREAD].map(|other| (other, 1.0));
                findings.add_rates(measure, set, &[(WORMHOLE, ours)]);
                findings.add_rates(measure, set, &others);
            }
            findings.add(per_key(BESIDE), WORMHOLE, Some(&at), 24.0);
            findings.add(per_key(PARTS), WORMHOLE, Some(&part_of(set, WORMHOLE_TRIE)), 1.25);
        }
        findings
    }

    #[test]
    fn each_target_has_its_verdict_on_each_key_set() {
        let judged = judge(&findings(&["rand-8", "file:/a/paths.txt"]));
        let count = judged.clone().each().len();
        assert_eq!(count, 7 + 8, "one target is for keys with long prefixes alone");
        for (text, expected) in [
            ("lookup, dependent, Wormhole / btreemap: rand-8: 2.00", Holds),
            ("lookup, Wormhole / btreemap: rand-8: 2.00 (at least 4", DoesNotHold),
            ("lookup, Wormhole / btreemap: file:/a/paths.txt: 2.00 (at least 2.7", DoesNotHold),
            ("get_many(32), Wormhole / its lookup, dependent: rand-8: 5.00", Holds),
            ("memory beside keys and values, Wormhole, rand-8: 24.0 B/key, 1.25 of", DoesNotHold),
            ("memory beside keys and values, Wormhole, file:/a/paths.txt: 24.0 B/key", Holds),
        ] {
            assert_eq!(judged.answer_of(text), expected, "{text}");
        }
    }

    #[test]
    fn measures_without_figures_are_not_judged() {
        assert_eq!(judge(&findings(&["url"])).each(), [judge(&Findings::default())]);
        let mut alone = findings(&["az1"]);
        alone.cells.retain(|cell| cell.contender == WORMHOLE);
        let judged = judge(&alone).each();
        let tested = judged.iter().filter(|judged| judged.answer != CannotBeTested);
        assert_eq!(tested.count(), 2, "get_many beside its own lookups, and bytes: {judged:?}");
    }
}
