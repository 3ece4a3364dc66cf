//! The judgement of the cells, and a small run.

use super::aims::{PROCESSES, judge};
use super::*;
use crate::experiment::bench;
use crate::experiment::index_memory::{BESIDE, per_key};
use crate::experiment::memory::MOST;
use crate::experiment::scaling::processes_of;
use crate::experiment::{Findings, Judgement};
use crate::result::ClaimAnswer::{CannotBeTested, DoesNotHold, Holds};
use crate::result::{AxisPoint, Machine, ResultLine, ResultSink, read};

/// A peer in every build.
const PEER: &str = "btreemap-rwlock";

/// Returns findings on these key sets: the peer has the rate 1 in all measures, the page tree 2, and
/// others, which are no peers, 100. The page tree has 12 bytes per key, and 13 while it grows.
fn findings(sets: &[&str]) -> Findings {
    let mut findings = Findings::default();
    let measures = LOOPS.map(|each| each.measure);
    for set in sets {
        for measure in measures.into_iter().chain([grid::INSERT, INSERT_IN_ORDER]) {
            findings.add_rates(measure, set, &[(PAGE_TREE, 2.0), (PEER, 1.0)]);
            findings.add_rates(
                measure,
                set,
                &[("btreemap", 100.0), ("papaya", 100.0), ("skein-masstree", 100.0)],
            );
        }
        for measure in [BY_TWO[0].measure, INSERT_BY_TWO, BY_TWO[1].measure] {
            findings.add_rates(measure, set, &[(PAGE_TREE, 0.9), (PROCESSES, 1.0)]);
        }
        findings.add_rates(OF_AN_EIGHTH.measure, set, &[(PAGE_TREE, 2.4)]);
        let at = AxisPoint::name("key set", set);
        findings.add(per_key(BESIDE), PAGE_TREE, Some(&at), 12.0);
        findings.add(MOST, PAGE_TREE, Some(&at), 13.0);
    }
    findings
}

fn with_rate(mut findings: Findings, measure: &str, contender: &str, rate: f64) -> Findings {
    let of = |cell: &&mut crate::result::ResultCell| cell.measure == measure && cell.contender == contender;
    findings.cells.iter_mut().find(of).expect("it is measured").rounds = vec![rate];
    findings
}

#[test]
fn each_cell_has_its_verdict() {
    let judged = judge(&findings(&["rand-8", "rand-16", "url"]));
    assert_eq!(judged.clone().each().len(), (25 + 2) + 23 + (23 + 2), "{judged:?}");
    for (text, expected) in [
        (
            "lookup, dependent, page tree / best peer: rand-8: 2.00 (at least 1.2 is claimed): 2.00 / 1.00",
            Holds,
        ),
        ("lookup, dependent, page tree / its lookup, dependent, 1/8 of the keys: url: 0.83", Holds),
        ("get_many(32), page tree / lookup of best peer: url: 2.00 (at least 2", Holds),
        ("scan of 10, page tree / best peer: url: 2.00 (at least 1.5", Holds),
        ("scan of 10, backward, page tree / its scan of 10: url: 1.00 (at least 0.8", Holds),
        ("lookup, two threads, page tree / skein-page-tree, processes: url: 0.90", DoesNotHold),
        ("memory beside keys and values, page tree, rand-8: 12.0 B/key (at most 16", Holds),
        ("memory beside keys and values, page tree, url: 12.0 B/key (at most 8", DoesNotHold),
        ("memory beside keys and values, most over a doubling, page tree: rand-8: 13.00", Holds),
        ("memory beside keys and values, most over a doubling, page tree: url: 13.00", DoesNotHold),
    ] {
        assert_eq!(judged.answer_of(text), expected, "{text}");
    }
}

#[test]
fn a_losing_cell_is_a_loss_beside_the_best_peer_by_its_name() {
    let lost = judge(&with_rate(findings(&["rand-8", "url"]), "YCSB A", PEER, 4.0));
    let text = "YCSB A, page tree / best peer: rand-8: 0.50 (at least 1.1 is claimed): 2.00 / 4.00 Mops/s of";
    assert_eq!(lost.answer_of(text), DoesNotHold);
    let judged = lost.each();
    let row = judged.iter().filter_map(|it| it.cell.as_ref().zip(Some(it.answer)));
    let row: Vec<_> = row.filter(|(cell, _)| cell.row == "YCSB A / best peer").collect();
    let shown = row.iter().map(|(cell, answer)| (&*cell.column, &*cell.aim, cell.figure, *answer));
    assert!(shown.eq([("rand-8", "≥ 1.1", Some(0.5), DoesNotHold), ("url", "≥ 1.1", Some(2.0), Holds)]));
    assert!(judged.iter().any(|it| it.why.ends_with(&format!("of {PEER}"))));
}

#[cfg(feature = "rivals")]
#[test]
fn the_best_of_several_peers_counts() {
    let mut findings = findings(&["rand-8"]);
    findings.add_rates("YCSB A", "rand-8", &[("congee", 8.0), ("masstree-crate", 5.0)]);
    let judged = judge(&findings);
    let text =
        "YCSB A, page tree / best peer: rand-8: 0.25 (at least 1.1 is claimed): 2.00 / 8.00 Mops/s of congee";
    assert_eq!(judged.answer_of(text), DoesNotHold);
}

#[test]
fn a_missing_contender_makes_a_cell_untestable() {
    let mut alone = findings(&["rand-8"]);
    alone.cells.retain(|cell| cell.contender != PEER);
    let judged = judge(&alone);
    let missing = |judged: &Judgement, text: &str| assert_eq!(judged.answer_of(text), CannotBeTested);
    missing(&judged, "lookup, page tree / best peer: rand-8: best peer was not measured");
    missing(&judged, "lookup, dependent, page tree / skein-mlp: rand-8: skein-mlp was not measured");
    let mut others = findings(&["rand-8"]);
    others.cells.retain(|cell| cell.contender != PAGE_TREE);
    others.add_rates(grid::INSERT, "rand-8", &[]);
    others.add(per_key(BESIDE), PEER, Some(&AxisPoint::name("key set", "rand-8")), 40.0);
    let judged = judge(&others);
    missing(&judged, "lookup, page tree / best peer: rand-8: page tree was not measured");
    missing(&judged, "memory beside keys and values, page tree, rand-8: not measured");
    assert!(judged.answers().iter().all(|answer| *answer == CannotBeTested));
}

#[test]
fn scans_of_integers_are_beside_a_tree_without_threads() {
    let mut findings = findings(&["osm"]);
    findings.add_rates("scan of 100", "osm", &[("btree-u64", 3.0)]);
    let judged = judge(&findings);
    let text =
        "scan of 100, page tree / absl-btree or btree-u64: osm: 0.67 (at least 1 is claimed): 2.00 / 3.00";
    assert_eq!(judged.answer_of(text), DoesNotHold);
    let judged = judged.each();
    assert!(judged.iter().all(|it| !it.why.starts_with("scan of 100, page tree / best peer")));
}

#[test]
fn the_processes_have_the_name_that_the_aims_look_for() {
    assert_eq!(PROCESSES, processes_of(PAGE_TREE));
}

#[test]
fn a_small_run_measures_each_cell() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().join("results.jsonl");
    let mut sink = ResultSink::append(&results).expect("a file");
    let plan = BenchPlan {
        count: Some(400),
        rounds: 1,
        keys: vec!["rand-8".to_owned(), "reddit".to_owned()],
        only: [PAGE_TREE, PEER, "btree-u64"].map(str::to_owned).into(),
        ..BenchPlan::of_a_test()
    };
    bench::run(&CELLS, &plan, &Machine::default(), true, &mut sink).expect("right answers");
    let lines = read(&results).expect("readable");
    let verdicts = lines.iter().filter_map(|line| match line {
        ResultLine::Verdict(verdict) => Some((verdict.answer, verdict.cell.as_ref().expect("a cell"))),
        _ => None,
    });
    let untested = verdicts.clone().filter(|(answer, _)| *answer == CannotBeTested);
    // Tests have several threads, and such a process is not forked.
    let excused = |row: &str| ["absl-btree", "skein-mlp", "processes"].iter().any(|end| row.ends_with(end));
    let untested: Vec<_> = untested.filter(|(_, cell)| !excused(&cell.row)).collect();
    assert!(untested.is_empty(), "{untested:?}");
    assert_eq!(verdicts.count(), (25 + 2) + (23 + 2));
}
