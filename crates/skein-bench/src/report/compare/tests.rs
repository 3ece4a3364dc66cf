//! The conditions under which a cell counts as moved.

use super::*;
use crate::result::{AxisPoint, ContenderRecord, Machine, RunRecord, SCHEMA};

fn run(experiment: &str, name: &str) -> RunRecord {
    RunRecord {
        schema: SCHEMA,
        run: name.into(),
        experiment: experiment.into(),
        started_unix_s: 7,
        version: "1".into(),
        setting: [("size", "small"), ("took", name)].map(|(name, value)| (name.into(), value.into())).into(),
        machine: Machine { cores: 2, ..Machine::default() },
        contenders: vec![ContenderRecord { name: "ours".into(), about: "plain".into() }],
        ..RunRecord::default()
    }
}

fn cell(run: &str, measure: &str, better: Better, at: Option<AxisPoint>, rounds: &[f64]) -> ResultLine {
    ResultLine::Cell(ResultCell {
        run: run.into(),
        measure: measure.into(),
        unit: "u".into(),
        better,
        contender: "ours".into(),
        at,
        rounds: rounds.into(),
        ..ResultCell::default()
    })
}

/// Returns the kind of change of one cell, before and after.
fn moved(better: Better, before: &[f64], after: &[f64]) -> ChangeKind {
    let file =
        |name: &str, rounds| vec![ResultLine::Run(run("e", name)), cell(name, "m", better, None, rounds)];
    compare(&file("a", before), &file("b", after)).pairs[0].changes[0].moved()
}

#[test]
fn overlapping_rounds_are_noise() {
    assert_eq!(moved(Better::More, &[1.0, 1.1, 1.2], &[1.15, 1.3, 1.4]), ChangeKind::Within);
    assert_eq!(moved(Better::More, &[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0]), ChangeKind::Within);
}

#[test]
fn rounds_apart_by_less_than_their_spread_are_noise() {
    assert_eq!(moved(Better::More, &[1.0, 1.9, 2.0], &[2.1, 2.2, 3.1]), ChangeKind::Within);
}

#[test]
fn beyond_the_noise_the_cells_direction_decides() {
    let (low, high) = (&[1.0, 1.05, 1.1], &[2.0, 2.05, 2.1]);
    assert_eq!(moved(Better::More, low, high), ChangeKind::Better);
    assert_eq!(moved(Better::More, high, low), ChangeKind::Worse);
    assert_eq!(moved(Better::Less, low, high), ChangeKind::Worse);
    assert_eq!(moved(Better::Less, high, low), ChangeKind::Better);
    assert_eq!(moved(Better::Neither, high, low), ChangeKind::Elsewhere);
}

#[test]
fn few_rounds_leave_the_noise_unknown() {
    assert_eq!(moved(Better::More, &[1.0, 1.0], &[9.0, 9.0, 9.0]), ChangeKind::Unknown);
    assert_eq!(moved(Better::More, &[1.0, 1.0, f64::NAN], &[9.0, 9.0, 9.0]), ChangeKind::Unknown);
}

#[test]
fn worse_cells_are_counted_and_named() {
    let at = |label: &str| Some(AxisPoint::name("set", label));
    let low: &[f64] = &[1.0, 1.0, 1.0];
    let high: &[f64] = &[2.0, 2.0, 2.0];
    let first = [
        ResultLine::Run(run("e", "a")),
        cell("a", "m", Better::More, at("x"), high),
        cell("a", "m", Better::More, at("y"), high),
        cell("a", "m", Better::More, at("z"), low),
        cell("a", "gone", Better::More, None, low),
        cell("a", "few", Better::More, None, &[1.0]),
        ResultLine::Run(run("lost", "c")),
    ];
    let second = [
        ResultLine::Run(run("e", "b")),
        cell("b", "m", Better::More, at("x"), low),
        cell("b", "m", Better::More, at("y"), high),
        cell("b", "m", Better::More, at("z"), high),
        cell("b", "new", Better::More, None, low),
        cell("b", "few", Better::More, None, &[2.0]),
    ];
    let compared = compare(&first, &second);
    assert_eq!(compared.worse(), 1);
    let text = compared.to_string();
    for wanted in [
        "worse    ours, m, set x: 2.00, then 1.00 u (-50 %, rounds 2.00 to 2.00, then 1.00 to 1.00)",
        "better   ours, m, set z",
        "noise?   ours, few: 1.00, then 2.00 u (+100 %",
        "1 and 1 rounds are too few",
        "only in the first file: ours, gone",
        "only in the second file: ours, new",
        "lost: only in the first file",
        "1 of 4 cells stayed within the noise",
        "Of 4 cells in both files, 1 got worse, 1 got better, 0 moved",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn differences_between_the_runs_are_named() {
    let mut other = run("e", "b");
    other.version = "2".into();
    other.machine.cores = 4;
    other.setting.insert("size".into(), "large".into());
    other.setting.insert("clock".into(), "cpu".into());
    other.contenders[0].about = "tuned".into();
    let compared = compare(&[ResultLine::Run(run("e", "a"))], &[ResultLine::Run(other)]);
    assert_eq!(
        compared.pairs[0].doubts,
        [
            "version of SkeinDB: 1, then 2",
            "cores: 2, then 4",
            "setting clock: none, then cpu",
            "setting size: small, then large",
            "ours: plain, then tuned",
        ]
    );
}

#[test]
fn runs_of_equal_settings_belong_together_and_the_last_counts() {
    let small = run("e", "small");
    let mut large = run("e", "large");
    large.setting.insert("size".into(), "large".into());
    let mut again = run("e", "again");
    again.started_unix_s = 8;
    let three = |figure: f64| [figure; 3];
    let rounds = |name: &str, figure| cell(name, "m", Better::More, None, &three(figure));
    let first = [
        ResultLine::Run(again),
        rounds("again", 2.0),
        ResultLine::Run(large),
        rounds("large", 9.0),
        ResultLine::Run(small.clone()),
        rounds("small", 1.0),
    ];
    let second = [ResultLine::Run(small), rounds("small", 2.0)];
    let compared = compare(&first, &second);
    assert_eq!((compared.pairs.len(), compared.worse()), (1, 0));
    assert!((compared.pairs[0].changes[0].before.summary.median - 2.0).abs() < 1e-9);
    assert_eq!(compared.only_first, ["e"]);
}
