//! Odd results files, which no run writes: no report panics, and no text leaks into the page as
//! markup or controls the terminal.

use proptest::prelude::*;
use skein_bench::report;
use skein_bench::result::{
    AimCell, AxisPoint, Better, ClaimAnswer, ClaimVerdict, ResultCell, ResultLine, ResultNote, RunRecord,
};

use crate::sample;
use crate::wellformed::HtmlDocument;

const NASTY: &str = "</style><script>alert(\"1\")</script>\u{1b}[31m & 測試 \u{202e}\0 é'";

fn odd_run(name: &str) -> RunRecord {
    let ResultLine::Run(mut run) = sample::lines().swap_remove(0) else { panic!("a file begins with a run") };
    name.clone_into(&mut run.run);
    run
}

fn odd_cell(measure: &str, contender: &str, at: Option<AxisPoint>, rounds: Vec<f64>) -> ResultCell {
    ResultCell {
        run: "r".into(),
        measure: measure.into(),
        unit: NASTY.into(),
        better: Better::More,
        contender: contender.into(),
        at,
        rounds,
        quantiles: Vec::new(),
    }
}

/// Runs every report on the lines.
fn everything(lines: &[ResultLine]) {
    HtmlDocument::parse(&report::html(lines));
    let table = report::table(lines);
    assert!(table.chars().all(|c| !c.is_control() || c == '\n'), "{table:?}");
    let compared = report::compare(lines, lines);
    assert_eq!(compared.worse(), 0, "{compared}");
}

#[test]
fn text_is_never_markup() {
    let mut run = odd_run("r");
    for field in [
        &mut run.experiment,
        &mut run.title,
        &mut run.source,
        &mut run.claim,
        &mut run.version,
        &mut run.command,
    ] {
        NASTY.clone_into(field);
    }
    run.setting.insert(NASTY.into(), NASTY.into());
    run.machine.processor = NASTY.into();
    run.contenders[0].name = NASTY.into();
    run.contenders[0].about = NASTY.into();
    run.absent[0].why = NASTY.into();
    let mut cell = odd_cell(NASTY, NASTY, Some(AxisPoint::name(NASTY, NASTY)), vec![1.0, 2.0]);
    cell.quantiles = vec![(0.5, 3.0)];
    let lines = [
        ResultLine::Run(run),
        ResultLine::Cell(cell),
        ResultLine::Note(ResultNote { run: "r".into(), text: NASTY.into() }),
        ResultLine::Verdict(ClaimVerdict {
            run: "r".into(),
            answer: ClaimAnswer::Holds,
            why: format!("{NASTY}; {NASTY}"),
            cell: Some(AimCell {
                row: NASTY.into(),
                aim: NASTY.into(),
                column: NASTY.into(),
                figure: Some(f64::NAN),
            }),
        }),
    ];
    everything(&lines);
    let page = report::html(&lines);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;alert(&quot;1&quot;)"));
}

#[test]
fn missing_and_extreme_figures() {
    let mut lines = vec![ResultLine::Run(odd_run("r"))];
    let figures = [
        vec![],
        vec![f64::NAN],
        vec![f64::NAN, f64::INFINITY, 1.0],
        vec![0.0, 0.0],
        vec![-1.0, 2.0],
        vec![f64::MAX, -f64::MAX],
        vec![f64::MIN_POSITIVE / 2.0],
    ];
    for (number, rounds) in (0_u32..).zip(figures) {
        let contender = format!("contender {number}");
        let value = [0.0, -4.0, f64::NAN, f64::MAX, 1.0, f64::INFINITY, 5e-324][number as usize];
        for (measure, at) in [
            ("none", None),
            ("names", Some(AxisPoint::name("set", &number.to_string()))),
            ("numbers", Some(AxisPoint::number("threads", f64::from(number)))),
            ("odd numbers", Some(AxisPoint::number("threads", value))),
            ("one number", Some(AxisPoint::number("threads", 3.0))),
        ] {
            let mut cell = odd_cell(measure, &contender, at.clone(), rounds.clone());
            cell.quantiles = rounds.iter().map(|&figure| (figure, figure)).collect();
            lines.push(ResultLine::Cell(cell.clone()));
            cell.unit = "ns".into();
            lines.push(ResultLine::Cell(cell));
        }
    }
    everything(&lines);
    for line in &lines[1..] {
        everything(&[lines[0].clone(), line.clone()]);
    }
}

#[test]
fn doubled_and_stray_lines_are_reported() {
    let run = || ResultLine::Run(odd_run("r"));
    let cell = || ResultLine::Cell(odd_cell("m", "c", None, vec![1.0]));
    let lines = [
        run(),
        run(),
        cell(),
        cell(),
        ResultLine::Note(ResultNote { run: "other".into(), text: "lost".into() }),
    ];
    everything(&lines);
    for text in [report::table(&lines), report::html(&lines)] {
        assert!(text.contains("2 lines of this run more than once"), "{text}");
        assert!(text.contains("1 lines belong to runs that are not"), "{text}");
        assert!(!text.contains("lost"));
    }
}

fn any_cell() -> impl Strategy<Value = ResultLine> {
    let figure = prop_oneof![any::<f64>(), Just(f64::NAN), 0.0..10.0_f64, Just(0.0)];
    let at = prop::option::of(("[ab]", any::<String>(), prop::option::of(any::<f64>())));
    let text = prop_oneof!["[abc]", any::<String>()];
    let parts = (
        text.clone(),
        text,
        at,
        prop::collection::vec(figure, 0..5),
        prop::collection::vec(any::<(f64, f64)>(), 0..4),
    );
    parts.prop_map(|(measure, contender, at, rounds, quantiles)| {
        let at = at.map(|(axis, label, value)| AxisPoint { axis, label, value });
        ResultLine::Cell(ResultCell { quantiles, ..odd_cell(&measure, &contender, at, rounds) })
    })
}

proptest! {
    #[test]
    fn any_cells(cells in prop::collection::vec(any_cell(), 0..12)) {
        let mut lines = vec![ResultLine::Run(odd_run("r"))];
        lines.extend(cells);
        everything(&lines);
    }
}
