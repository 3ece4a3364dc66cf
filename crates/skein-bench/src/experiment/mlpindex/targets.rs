//! This project's targets for MlpIndex, each with a verdict of its own.

use super::super::aims::{Aims, Rate, rate};
use super::super::grid::{Grid, GridPoint, INSERT, MemoryDetail, of_grid};
use super::super::loops::{DEPENDENT, GET_MANY, GridLoop, LOOKUP, LOWER_BOUND, PreparedLoop};
use super::super::participants::{MLP, Participants};
use super::super::{Bench, BenchPlan, Experiment};
use super::{A, B, BOUND_ALONE};
use crate::Result;
use crate::keyset::KeySet;
use crate::rival::index::BTREE_OF_WORDS as TREE;

const LOOPS: [GridLoop; 5] = [LOOKUP, DEPENDENT, GET_MANY, LOWER_BOUND, BOUND_ALONE];

const FREE: &str = LOOKUP.measure;
const ALONE: &str = DEPENDENT.measure;
const ART: &str = "congee";

const KINDS: [&str; 4] = [A, B, "rand-8", "osm"];
/// The bytes of key and value.
const PAYLOAD: f64 = 16.0;
/// The most bytes per key, key and value included.
const IN_ALL: f64 = 48.0;
/// The most bytes per key while it grows.
const IN_ALL_GROWING: f64 = 72.0;

/// Returns the same target for all kinds.
const fn all(measure: &'static str, beside: (&'static str, &'static str), least: f64) -> Rate<4> {
    rate(measure, beside, [Some(least); 4])
}

const RATES: [Rate<4>; 9] = [
    all(ALONE, (ALONE, TREE), 1.3),
    all(FREE, (FREE, TREE), 2.5),
    all(LOWER_BOUND.measure, (LOWER_BOUND.measure, TREE), 1.0),
    all(BOUND_ALONE.measure, (BOUND_ALONE.measure, TREE), 1.0),
    all(INSERT, (INSERT, TREE), 1.0),
    all(GET_MANY.measure, (FREE, TREE), 4.0),
    // A stricter reading of the same target.
    all(GET_MANY.measure, (ALONE, MLP), 4.0),
    all(ALONE, (ALONE, ART), 1.0),
    all(FREE, (FREE, ART), 1.0),
];

const AIMS: Aims<4> = Aims {
    index: MLP,
    words: "MlpIndex",
    kinds: KINDS,
    rates: &RATES,
    bytes: [Some(IN_ALL - PAYLOAD); 4],
    part: None,
    growing: Some((IN_ALL_GROWING - PAYLOAD) / (IN_ALL - PAYLOAD)),
};

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let takes = Participants::Named(&[MLP, TREE, ART]);
    Grid {
        memory: MemoryDetail::ByPart,
        side_measurement: Some(side_measurement),
        ..super::over_sets(plan, &KINDS, &LOOPS, takes)
    }
}

pub static TARGETS: Experiment = Experiment {
    name: "mlpindex-targets",
    title: "our targets for MlpIndex on both distributions, random keys and osm, each with a verdict",
    source: "SkeinDB's own targets",
    claim: "beside std's BTreeMap<u64, u64> lookups are at least 1.3 times as fast in the \
            dependent loop and 2.5 times in the independent one, lower bounds and inserts as fast; \
            get_many(32) at least 4 times its lookups, and 4 times our own dependent ones; lookups \
            at least those of congee in both loops; at most 48 bytes for a key with its value (32 \
            beside the two), at most 72 (56) while it grows",
    // The steps of the growth hold a second copy of the keys.
    memory: |plan| Ok(2 * grid(plan).memory()?),
    judge: |findings| AIMS.judge(findings, FREE),
    ..of_grid!(grid)
};

/// Measures, once, the bytes of the index while it grows to these keys.
fn side_measurement(bench: &mut Bench, point: &GridPoint, set: &KeySet, _: &[PreparedLoop]) -> Result<()> {
    AIMS.weigh_growing(bench, point, set)
}

#[cfg(test)]
mod tests {
    use super::super::super::Findings;
    use super::super::super::index_memory::{BESIDE, per_key};
    use super::super::super::memory::MOST;
    use super::*;
    use crate::result::AxisPoint;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    /// MlpIndex has twice the rate of the others, `get_many` three times, and 30 bytes per key, 57
    /// while it grows.
    fn findings(sets: &[&str]) -> Findings {
        let mut findings = Findings::default();
        for set in sets {
            let at = AxisPoint::name("key set", set);
            for measure in LOOPS.map(|each| each.measure).into_iter().chain([INSERT]) {
                let ours = if measure == GET_MANY.measure { 6.0 } else { 2.0 };
                findings.add_rates(measure, set, &[(MLP, ours), (TREE, 1.0), (ART, 1.0)]);
            }
            findings.add(per_key(BESIDE), MLP, Some(&at), 30.0);
            findings.add(MOST, MLP, Some(&at), 57.0);
        }
        findings
    }

    #[test]
    fn each_target_has_its_verdict_on_each_key_set() {
        let judged = AIMS.judge(&findings(&KINDS), FREE);
        assert_eq!(judged.clone().each().len(), 4 * (9 + 2), "{judged:?}");
        for (text, expected) in [
            ("lookup, dependent, MlpIndex / btree-u64: osm: 2.00 (at least 1.3", Holds),
            ("lookup, MlpIndex / btree-u64: osm: 2.00 (at least 2.5", DoesNotHold),
            ("get_many(32), MlpIndex / its lookup, dependent: mlp-b: 3.00 (at least 4", DoesNotHold),
            ("get_many(32), MlpIndex / lookup of btree-u64: mlp-b: 6.00 (at least 4", Holds),
            ("memory beside keys and values, MlpIndex, rand-8: 30.0 B/key (at most 32", Holds),
            (
                "memory beside keys and values, most over a doubling, MlpIndex: rand-8: 57.00 (at most 56",
                DoesNotHold,
            ),
        ] {
            assert_eq!(judged.answer_of(text), expected, "{text}");
        }
    }

    #[test]
    fn measures_without_figures_are_not_judged() {
        assert_eq!(AIMS.judge(&findings(&["ints"]), FREE).each().len(), 1, "nothing is wanted of other keys");
        let mut alone = findings(&[A]);
        alone.cells.retain(|cell| cell.contender == MLP);
        let judged = AIMS.judge(&alone, FREE).each();
        let tested = judged.iter().filter(|judged| judged.answer != CannotBeTested);
        assert_eq!(tested.count(), 3, "get_many beside its own lookups, and bytes: {judged:?}");
    }
}
