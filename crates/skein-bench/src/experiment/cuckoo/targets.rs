//! This project's targets for the Cuckoo Trie, each with a verdict of its own. The targets for
//! threads are in `fig6.rs`, those for growth in `resize.rs`.

use super::super::aims::{Aims, Rate, rate};
use super::super::findings::MeasureSpec;
use super::super::grid::{Grid, GridPoint, INSERT, MemoryDetail, of_grid};
use super::super::loops::{DEPENDENT, GET_MANY, GridLoop, LOOKUP, PreparedLoop};
use super::super::memory_read;
use super::super::participants::{CUCKOO, OURS, Participants, WORMHOLE};
use super::super::wormhole::SCAN;
use super::super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use super::TREE;
use crate::Result;
use crate::keyset::KeySet;
use crate::result::AxisPoint;
use crate::rival::index::CUCKOO_TRIE_TABLE;

const LOOPS: [GridLoop; 4] = [LOOKUP, DEPENDENT, GET_MANY, SCAN];

const LOOKUPS: &str = LOOKUP.measure;
const HUNDRED: &str = SCAN.measure;
const IN_READS: MeasureSpec<'_> = MeasureSpec::less("lookup, dependent, in reads of memory", "reads");

/// The kinds of key sets, by the prefix of their names.
const KINDS: [&str; 6] = ["rand-8", "osm", "rand-16", "reddit", "az1", "file:"];
/// A dependent lookup may take at most as long as this many memory reads, on the first kind.
const READS: f64 = 3.0;

/// Returns the same target for all kinds.
const fn all(least: f64) -> [Option<f64>; 6] {
    [Some(least); 6]
}

const RATES: [Rate<6>; 5] = [
    rate(LOOKUPS, (LOOKUPS, TREE), [Some(2.5), Some(2.5), None, None, Some(1.0), Some(1.0)]),
    rate(LOOKUPS, (LOOKUPS, OURS), [Some(1.5), Some(1.5), None, None, Some(1.0), Some(1.0)]),
    rate(GET_MANY.measure, (DEPENDENT.measure, CUCKOO), all(2.0)),
    rate(INSERT, (INSERT, OURS), all(0.9)),
    rate(HUNDRED, (HUNDRED, WORMHOLE), all(0.5)),
];

const AIMS: Aims<6> = Aims {
    index: CUCKOO,
    words: "Cuckoo Trie",
    kinds: KINDS,
    rates: &RATES,
    bytes: [Some(27.0), None, None, None, Some(30.0), Some(40.0)],
    part: Some(CUCKOO_TRIE_TABLE),
    growing: Some(1.5),
};

fn points(plan: &BenchPlan) -> Vec<GridPoint> {
    let point = |keys: String| {
        let large = if matches!(AIMS.kind(&keys), Some(..3)) { 20_000_000 } else { 10_000_000 };
        let count = plan.keys_or([300_000, 5_000_000, large, large]);
        GridPoint { at: Some(AxisPoint::name("key set", &keys)), keys, count, absent: 0 }
    };
    plan.sets_or(&KINDS[..5]).into_iter().map(point).collect()
}

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let takes = Participants::Named(&[CUCKOO, OURS, WORMHOLE, TREE]);
    Grid {
        memory: MemoryDetail::ByPart,
        side_measurement: Some(side_measurement),
        ..Grid::new(points(plan), &LOOPS, takes)
    }
}

pub static TARGETS: Experiment = Experiment {
    name: "cuckoo-targets",
    title: "our targets for the Cuckoo Trie on random keys, osm, reddit, az1 and files of real \
            keys (--keys file:PATH), each with a verdict",
    source: "SkeinDB's own targets",
    claim: "lookups at least 2.5 times those of std's BTreeMap and 1.5 times those of our Masstree \
            on rand-8 and osm, and as many as either on az1 and real paths; a dependent lookup on \
            rand-8 takes at most three reads of memory; get_many(32) twice the dependent lookups; \
            inserts 0.9 times those of our Masstree; scans of 100 half of Wormhole's; at most 27, \
            30 and 40 bytes per key beside keys and values on rand-8, az1 and real paths, and 1.5 \
            times that at most while it grows",
    memory: |plan| {
        let most = points(plan).iter().map(|point| point.count).max().unwrap_or(0);
        Ok(grid(plan).memory()? + memory_read::memory(most))
    },
    judge,
    ..of_grid!(grid)
};

/// Measures a memory read beside the lookups of each round; and, once, the bytes of the index while
/// it grows to these keys.
fn side_measurement(bench: &mut Bench, point: &GridPoint, set: &KeySet, _: &[PreparedLoop]) -> Result<()> {
    let read = memory_read::measure(bench, point)?;
    memory_read::add_in_reads(bench, DEPENDENT.measure, point, IN_READS, read)?;
    AIMS.weigh_growing(bench, point, set)
}

fn judge(findings: &Findings) -> Judgement {
    let sets: Vec<&str> = findings.labels(LOOKUPS).into_iter().flatten().collect();
    let reads = sets.iter().filter(|set| AIMS.kind(set) == Some(0)).map(|set| {
        let reads =
            findings.median(IN_READS.measure, CUCKOO, Some(set)).map(|reads| ((*set).to_owned(), reads));
        Judgement::at_most(READS, &format!("{}, Cuckoo Trie", IN_READS.measure), &Vec::from_iter(reads))
    });
    reads.fold(AIMS.judge(findings, LOOKUPS), Judgement::alongside)
}

#[cfg(test)]
mod tests {
    use super::super::super::index_memory::{BESIDE, per_key};
    use super::super::super::memory::MOST;
    use super::*;
    use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};

    /// The Cuckoo Trie has twice the rate of all others, `get_many` five times, and 28 bytes per
    /// key, 41 while it grows.
    fn findings(sets: &[&str]) -> Findings {
        let mut findings = Findings::default();
        for set in sets {
            let at = AxisPoint::name("key set", set);
            for measure in [INSERT, LOOKUPS, DEPENDENT.measure, GET_MANY.measure, HUNDRED] {
                let ours = if measure == GET_MANY.measure { 10.0 } else { 2.0 };
                findings.add_rates(
                    measure,
                    set,
                    &[(CUCKOO, ours), (OURS, 1.0), (TREE, 1.0), (WORMHOLE, 1.0)],
                );
            }
            findings.add(per_key(BESIDE), CUCKOO, Some(&at), 28.0);
            findings.add(MOST, CUCKOO, Some(&at), 41.0);
            findings.add(IN_READS, CUCKOO, Some(&at), 2.5);
        }
        findings
    }

    #[test]
    fn each_target_has_its_verdict_on_each_key_set() {
        let judged = judge(&findings(&["rand-8", "reddit", "az1"]));
        assert_eq!(judged.clone().each().len(), (5 + 1 + 2) + 3 + (5 + 1 + 1), "{judged:?}");
        for (text, expected) in [
            ("lookup, Cuckoo Trie / btreemap: rand-8: 2.00 (at least 2.5", DoesNotHold),
            ("lookup, Cuckoo Trie / btreemap: az1: 2.00 (at least 1 ", Holds),
            ("lookup, Cuckoo Trie / skein-masstree: rand-8: 2.00 (at least 1.5", Holds),
            ("get_many(32), Cuckoo Trie / its lookup, dependent: reddit: 5.00", Holds),
            ("scan of 100, Cuckoo Trie / skein-wormhole: az1: 2.00", Holds),
            ("memory beside keys and values, Cuckoo Trie, rand-8: 28.0 B/key (at most 27", DoesNotHold),
            ("memory beside keys and values, Cuckoo Trie, az1: 28.0 B/key (at most 30", Holds),
            ("memory beside keys and values, most over a doubling, Cuckoo Trie: rand-8", DoesNotHold),
            ("memory beside keys and values, most over a doubling, Cuckoo Trie: az1", Holds),
            ("lookup, dependent, in reads of memory, Cuckoo Trie: rand-8: 2.50", Holds),
        ] {
            assert_eq!(judged.answer_of(text), expected, "{text}");
        }
    }

    #[test]
    fn measures_without_figures_are_not_judged() {
        assert_eq!(judge(&findings(&["url"])).answer, CannotBeTested);
        let mut alone = findings(&["osm"]);
        alone.cells.retain(|cell| cell.contender == CUCKOO);
        let judged = judge(&alone).each();
        let tested = judged.iter().filter(|judged| judged.answer != CannotBeTested);
        assert_eq!(tested.count(), 1, "get_many beside its own lookups: {judged:?}");
    }
}
