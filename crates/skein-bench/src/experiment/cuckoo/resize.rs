//! Growth under load: the latency of single operations while an index grows to twice its size.
//!
//! ```text
//!   growing       N keys ── N inserts, each timed ──► 2N keys         the table grows
//!   not growing   N keys ── the same inserts      ──► 2N keys         its table had room before
//! ```
//!
//! The two differ only in the growth: same keys, same order, records in new memory in both.
//!
//! Alternatives for a table that does not grow were rejected. Removing keys as fast as others are
//! added, or before, leaves retired records and memory to reuse, so the inserts do other work;
//! updates and lookups do less work. The table with room even has an advantage, since it is half
//! empty at first. So the measured cost of growth is too high rather than too low. The machine's
//! own pauses are in both.
//!
//! A second loop has one thread that looks keys up while another inserts. Its lookups must not wait
//! for the growth either.

use hdrhistogram::Histogram;
use skein_index::{CuckooTrie, Inline, OrderedIndex};

use super::super::findings::MeasureSpec;
use super::super::grid::{self, Grid, GridPoint, InsertMode, LONGEST, NEARLY_ALL, over_key_sets};
use super::super::latency;
use super::super::loops::{GridLoop, LoopUnit, PreparedLoop, changes, inserts};
use super::super::participants::{CUCKOO, OURS, Participants, WORMHOLE};
use super::super::{Bench, BenchPlan, Experiment, Findings, Judgement};
use super::TREE;
use crate::keyset::{KeySet, PackedKeys};
use crate::result::{AxisPoint, Better};
use crate::rival::index::CUCKOO_TRIE_WITH_ROOM as ROOM;
use crate::sys::pinned;
use crate::workload::run::LoopStyle;
use crate::workload::{ThreadShare, lookup, mix, value_of};
use crate::{Error, Result};

const ADDED: &str = "insert from N to 2N keys";
const BESIDE: &str = "lookup while another thread inserts";

/// Returns a loop in which the first thread's operations are timed one by one.
const fn timed(mut each: GridLoop, threads: usize) -> GridLoop {
    each.counts = LoopUnit::Tail;
    each.style = LoopStyle::Timed;
    each.threads = threads;
    each
}

const LOOPS: [GridLoop; 2] = [
    timed(inserts::<100>(ADDED), 1),
    timed(
        changes(BESIDE, false, |asked, count, seed, share| match share.thread {
            0 => lookup::lookups(asked, count, 1.0, seed, share),
            _ => mix::inserts_and_lookups(asked, count, 1.0, seed, ThreadShare::ALL),
        }),
        2,
    ),
];

const MOVED: MeasureSpec<'_> = MeasureSpec::less("entries moved by an insert", "entries");
const TABLE: MeasureSpec<'_> = MeasureSpec { measure: "table", unit: "MiB", better: Better::Neither };
/// The moments at which the table is measured.
const ENDS: [&str; 2] = ["at N keys", "at 2N keys"];

/// An operation may take at most this many times as long as without growth.
const TIMES: f64 = 2.0;
/// An insert may move at most this many entries: three steps of eight buckets with four entries
/// each, and some to make room.
const MOVED_MOST: f64 = 128.0;
/// A table counts as grown if its size has grown by this factor.
const GROWN: f64 = 1.5;

/// Returns N: the number of keys before the first timed insert.
fn count(plan: &BenchPlan) -> usize {
    plan.keys_or([300_000, 2_000_000, 10_000_000, 10_000_000])
}

fn grid(plan: &BenchPlan) -> Grid<'static> {
    let points = over_key_sets(plan.sets_or(&["rand-8"]), count(plan), count(plan));
    let takes = Participants::Named(&[CUCKOO, ROOM, OURS, WORMHOLE, TREE, "hashbrown"]);
    Grid {
        operations: count(plan),
        inserts: InsertMode::Untimed,
        side_measurement: Some(count_moves),
        ..Grid::new(points, &LOOPS, takes)
    }
}

pub static RESIZE: Experiment = Experiment {
    name: "cuckoo-resize",
    title: "latencies while an index grows from N to 2N keys (--count: N), beside the same inserts \
            into a table that has the room",
    source: "SkeinDB's own targets",
    claim: "no operation waits for a whole table: an insert moves at most 128 entries, and 99.99 % \
            of inserts, and of lookups beside them, stay within twice the time that they stay \
            within if the table need not grow; nor is the longest pause more than twice as long",
    // In the end the index also holds the added keys.
    memory: |plan| Ok(2 * grid(plan).memory()?),
    steps: |plan| grid(plan).steps(plan),
    run: |bench| grid::run(bench, &grid(&bench.plan)),
    judge,
};

/// Counts the entries that inserts move, one by one in a separate pass, so that no counting is
/// timed.
fn count_moves(bench: &mut Bench, point: &GridPoint, set: &KeySet, _: &[PreparedLoop]) -> Result<()> {
    for (name, room) in [(CUCKOO, 0), (ROOM, 2 * set.keys.len())] {
        if !bench.plan.wants(name) {
            continue;
        }
        bench.step(&format!("{}: moves, {name}", set.name));
        let (moved, tables) = pinned(0, || moves(set, room))??;
        let most = latency::quantile(&moved, 1.0, 1.0);
        let figures =
            [("mean", moved.mean()), ("99.99 %", latency::quantile(&moved, 0.9999, 1.0)), ("most", most)];
        for (label, figure) in figures {
            bench.add(MOVED, name, Some(&at(&point.keys, label)), figure)?;
        }
        for (label, bytes) in ENDS.into_iter().zip(tables) {
            bench.add(TABLE, name, Some(&at(&point.keys, label)), bytes as f64 / f64::from(1 << 20))?;
        }
    }
    Ok(())
}

fn at(set: &str, label: &str) -> AxisPoint {
    AxisPoint::name("key set", &format!("{set}, {label}"))
}

/// Returns the number of entries that each insert of an absent key moves, and the bytes of the
/// table before the first insert and after the last.
fn moves(set: &KeySet, room: usize) -> Result<(Histogram<u64>, [usize; 2])> {
    let index: CuckooTrie<Inline<u64>> = CuckooTrie::new();
    let failed = |refused: skein_index::IndexError| Error::Failed(format!("{CUCKOO}: {refused}"));
    index.reserve(room).map_err(failed)?;
    let insert = |keys: &PackedKeys, first: usize, mut done: Box<dyn FnMut() + '_>| {
        for number in 0..keys.len() {
            let guard = index.collector().enter();
            index.insert(keys.get(number), Inline(value_of(first + number)), &guard).map_err(failed)?;
            done();
        }
        Ok::<(), Error>(())
    };
    insert(&set.keys, 0, Box::new(|| ()))?;
    let before = index.memory().nodes;
    let (mut moved, mut last) = (latency::histogram(), index.moved());
    let count = || {
        let now = index.moved();
        moved.saturating_record((now - last) as u64);
        last = now;
    };
    insert(&set.absent, set.keys.len(), Box::new(count))?;
    Ok((moved, [before, index.memory().nodes]))
}

fn judge(findings: &Findings) -> Judgement {
    let sets: Vec<&str> = findings.labels(ADDED).into_iter().flatten().collect();
    let judged = sets.iter().map(|set| why_untested(findings, set).unwrap_or_else(|| on_set(findings, set)));
    Judgement::each_of(judged, "not measured")
}

/// Returns why nothing can be judged: the one table did not grow, or the other did.
fn why_untested(findings: &Findings, set: &str) -> Option<Judgement> {
    let grown = |name: &str| {
        let [before, after] = ENDS.map(|end| findings.median(TABLE.measure, name, Some(&at(set, end).label)));
        Some(after? / before?)
    };
    let (Some(one), Some(other)) = (grown(CUCKOO), grown(ROOM)) else {
        return Some(Judgement::untested(format!("{set}: {CUCKOO} and {ROOM} were not both measured")));
    };
    let why =
        format!("{set}: the table is {one:.2} times as large in the end, that with room {other:.2} times");
    (one < GROWN || other > 1.0).then(|| Judgement::untested(why))
}

fn on_set(findings: &Findings, set: &str) -> Judgement {
    let most = findings.median(MOVED.measure, CUCKOO, Some(&at(set, "most").label));
    let most = most.map(|most| (set.to_owned(), most));
    let moved = Judgement::at_most(MOVED_MOST, &format!("{}, most", MOVED.measure), &Vec::from_iter(most));
    let tails =
        [ADDED, BESIDE].into_iter().flat_map(|measure| [NEARLY_ALL, LONGEST].map(|end| (measure, end)));
    let tails = tails.map(|(measure, end)| {
        let measure = format!("{measure}{end}");
        let ratios = findings.ratios_at(&measure, CUCKOO, ROOM, |label| label == set);
        Judgement::at_most(TIMES, &format!("{measure}, growing / with room"), &ratios)
    });
    tails.fold(moved, Judgement::alongside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyset;
    use crate::result::ClaimAnswer;

    /// Returns findings with a table that grows by `grown`. Its tails are `times` those of a table
    /// with room, and an insert moves `most` entries.
    fn found(grown: f64, times: f64, most: f64) -> Findings {
        let mut findings = Findings::default();
        let here = AxisPoint::name("key set", "rand-8");
        for (name, grown, times) in [(CUCKOO, grown, times), (ROOM, 1.0, 1.0)] {
            for measure in [ADDED, BESIDE] {
                findings.add(TABLE, name, Some(&at("rand-8", ENDS[0])), 8.0);
                findings.add(TABLE, name, Some(&at("rand-8", ENDS[1])), 8.0 * grown);
                findings.add(MOVED, name, Some(&at("rand-8", "most")), most);
                for end in ["", NEARLY_ALL, LONGEST] {
                    let measure = format!("{measure}{end}");
                    findings.add(MeasureSpec::less(&measure, "us"), name, Some(&here), 5.0 * times);
                }
            }
        }
        findings
    }

    #[test]
    fn moves_and_tails_have_a_verdict_each() {
        assert_eq!(judge(&found(2.0, 1.9, 40.0)).answers(), [ClaimAnswer::Holds; 5]);
        assert_eq!(judge(&found(2.0, 2.1, 500.0)).answers(), [ClaimAnswer::DoesNotHold; 5]);
        assert_eq!(judge(&found(1.0, 1.0, 4.0)).answers(), [ClaimAnswer::CannotBeTested]);
        assert_eq!(judge(&Findings::default()).answers(), [ClaimAnswer::CannotBeTested]);
    }

    #[test]
    fn inserts_move_entries_and_only_one_table_grows() {
        let set = keyset::make("rand-8", 40_000, 40_000, 3).expect("a good name");
        let (moved, [before, after]) = moves(&set, 0).expect("room enough");
        assert_eq!(moved.len(), 40_000);
        assert!(2 * after > 3 * before, "{before} to {after}");
        assert!((5..=128).contains(&moved.max()), "{}", moved.max());
        let (_, [before, after]) = moves(&set, 80_000).expect("room enough");
        assert_eq!(before, after);
    }
}
