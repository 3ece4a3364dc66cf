//! A contender that gives a wrong answer ends the run.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::super::loops::LOOKUP;
use super::super::{BenchPlan, Experiment, Judgement, bench};
use super::*;
use crate::result::{ClaimAnswer, Machine, ResultLine, ResultSink, read};
use crate::rival::index::{IndexAbilities, IndexContender};

/// A map that forgets the values of keys that end with a 7.
struct Forgetful(RefCell<BTreeMap<Vec<u8>, u64>>);

impl IndexContender for Forgetful {
    const NAME: &'static str = "forgetful";
    const ABOUT: &'static str = "";
    const CAN: IndexAbilities = IndexAbilities::NOTHING;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        Self(RefCell::default())
    }

    fn pin(&self) {}

    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        self.0.borrow_mut().insert(key.to_owned(), value);
    }

    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        self.0.borrow().get(key).copied().filter(|_| !key.ends_with(b"7"))
    }
}

static FORGETFUL: RegisteredIndex = RegisteredIndex::alone::<Forgetful>();

fn lookups(bench: &mut Bench) -> Result<()> {
    let point = GridPoint { keys: "decimal".into(), count: 500, absent: 0, at: None };
    let set = keyset::make(&point.keys, point.count, point.absent, 1)?;
    let grid = Grid { operations: 500, ..Grid::new(vec![point.clone()], &[LOOKUP], Participants::All) };
    measure_point(bench, &grid, &point, &set, &[&FORGETFUL])
}

/// Not registered: only this test runs it.
const EXPERIMENT: Experiment = Experiment {
    name: "lookups of a forgetful map",
    title: "",
    source: "",
    claim: "",
    memory: |_| Ok(0),
    steps: |_| 1,
    run: lookups,
    judge: |_| Judgement::of(true, "it ran"),
};

#[test]
fn a_wrong_answer_ends_the_run_and_is_in_its_results() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = folder.path().join("results.jsonl");
    let mut sink = ResultSink::append(&results).expect("a file");
    let done = bench::run(&EXPERIMENT, &BenchPlan::of_a_test(), &Machine::default(), true, &mut sink);
    let error = done.expect_err("a tenth of the answers is wrong");
    let Error::Wrong { contender, measure, wrong } = &error else { panic!("{error}") };
    assert_eq!((&**contender, &**measure), ("forgetful", "lookup"));
    assert!((10..200).contains(wrong), "{wrong} of 500");
    let lines = read(&results).expect("readable");
    assert!(lines.iter().filter_map(ResultLine::cell).all(|cell| cell.measure != "lookup"), "{lines:?}");
    let verdict = lines.iter().find_map(|line| match line {
        ResultLine::Verdict(verdict) => Some(verdict),
        _ => None,
    });
    let verdict = verdict.expect("every run has one");
    assert_eq!(verdict.answer, ClaimAnswer::CannotBeTested);
    assert!(verdict.why.contains("wrong answers in 'lookup'"), "{}", verdict.why);
}
