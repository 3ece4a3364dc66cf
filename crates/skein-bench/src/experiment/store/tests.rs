use super::super::{BenchSettings, bench};
use super::levels::DURING_SHARE;
use super::*;
use crate::result::{ClaimAnswer, ResultLine};

/// Runs an experiment on our store alone; returns the lines that it wrote.
fn tiny(name: &str) -> Vec<ResultLine> {
    tiny_with(name, &[])
}

fn tiny_with(name: &str, settings: &[String]) -> Vec<ResultLine> {
    let plan = BenchPlan {
        count: Some(3000),
        only: vec![OURS.to_owned()],
        settings: BenchSettings::parse(settings, &[name]).expect("its settings"),
        ..BenchPlan::of_a_test()
    };
    let (lines, done) = bench::run_in_test(super::super::named(name).expect("registered"), plan);
    done.expect("it runs");
    lines
}

/// Checks that each measure has a positive figure for each round.
fn assert_measures(lines: &[ResultLine], measures: &[&str]) {
    let cells: Vec<_> = lines.iter().filter_map(ResultLine::cell).collect();
    let mut found: Vec<&str> = cells.iter().map(|cell| &*cell.measure).collect();
    found.dedup();
    assert_eq!(found, measures);
    for cell in cells {
        assert_eq!(cell.rounds.len(), 2, "{}", cell.measure);
        assert!(cell.rounds.iter().all(|&figure| figure > 0.0), "{}", cell.measure);
    }
}

#[test]
fn every_row_of_ours_is_found() {
    let lines = tiny("store");
    assert_measures(&lines, &["load", "get", "sync put, latency", "sync put, p99"]);
    let curves = lines.iter().filter_map(ResultLine::cell).filter(|cell| !cell.quantiles.is_empty());
    assert_eq!(curves.count(), 1);
    let untested = |line: &ResultLine| matches!(line, ResultLine::Verdict(verdict) if verdict.answer == ClaimAnswer::CannotBeTested);
    assert!(lines.iter().any(untested), "there is nobody to compare with");
}

#[test]
fn levels_have_a_rate_each() {
    let lines = tiny("store-levels");
    let at = lines.iter().filter_map(ResultLine::cell).filter_map(|cell| cell.at.as_ref());
    let at: Vec<_> = at.map(|at| &*at.label).collect();
    assert_eq!(at, ["none", "buffered", "sync"]);
}

#[test]
fn each_loop_of_transactions_has_a_rate_and_conflicts() {
    let lines = tiny_with("transactions", &["window=10".to_owned()]);
    let cells: Vec<_> = lines.iter().filter_map(ResultLine::cell).collect();
    let labels = |measure: &str| -> Vec<&str> {
        let cells = cells.iter().filter(|cell| cell.measure == measure);
        cells.filter_map(|cell| cell.at.as_ref()).map(|at| &*at.label).collect()
    };
    for measure in ["two rows", "a range", "two rows, durable"] {
        let with_all = ["low, 1 thread", "low, 2 threads", "high, 1 thread", "high, 2 threads"];
        assert_eq!(labels(measure), with_all, "{measure}");
        let conflicts = format!("{measure}, conflicts");
        assert_eq!(labels(&conflicts), ["low, 2 threads", "high, 2 threads"]);
    }
    for cell in cells {
        assert_eq!(cell.rounds.len(), 2, "{}", cell.measure);
        let least = if cell.measure.ends_with("conflicts") { 0.0 } else { f64::MIN_POSITIVE };
        assert!(cell.rounds.iter().all(|&figure| figure >= least), "{}", cell.measure);
    }
}

#[test]
fn recovery_finds_every_row() {
    let lines = tiny("masstree-sec5");
    let measures = ["recovery from logs", DURING_SHARE, "checkpoint", "recovery from checkpoint"];
    assert_measures(&lines, &measures);
    let note = |text: &str| {
        lines.iter().any(|line| matches!(line, ResultLine::Note(note) if note.text.contains(text)))
    };
    assert!(note("recovery from logs: 0 rows from a checkpoint, 3000 log records"));
    assert!(note("recovery from checkpoint: 3000 rows from a checkpoint, 0 log records"));
}

#[test]
fn a_store_that_loses_rows_ends_the_run() {
    let rows = BenchRows::new(100, 20, 1);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = own_store::open(folder.path(), skein_store::Durability::None).expect("it opens");
    own_store::load(&store, &rows, 7).expect("it loads");
    own_store::check(&store, &rows, "load").expect("all rows are there");
    store.remove(&rows.key(5)).expect("removed");
    let error = own_store::check(&store, &rows, "load").expect_err("a row is gone").to_string();
    assert!(error.contains("skein returned") && error.contains("'load'"), "{error}");
}
