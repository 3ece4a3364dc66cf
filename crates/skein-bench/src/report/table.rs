//! The terminal's report: for each run the claim and its verdict, then a table per measure with a
//! row per point and contender. A run with aims by key set ends with a table of these.

use std::fmt::Write as _;

use super::aim_table::{AimTable, AimVerdict, column_name};
use super::figures::{Figures, answer, number, unit_and_direction};
use super::view::{MeasureView, ResultsView, RunView};
use super::{probe, text};
use crate::result::{AxisPoint, ResultLine};

/// Formats a results file for the terminal.
pub fn table(lines: &[ResultLine]) -> String {
    let view = ResultsView::of(lines);
    let mut out = String::new();
    for (number, run) in view.runs.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        head(&mut out, run);
        for measure in &run.measures {
            out.push('\n');
            figures(&mut out, measure);
        }
        tail(&mut out, run);
        if let Some(aims) = AimTable::of(run) {
            out.push('\n');
            aim_rows(&mut out, &aims);
        }
    }
    if view.runs.is_empty() {
        out.push_str("There is no run in these results.\n");
    }
    if view.strays > 0 {
        let _ = writeln!(out, "{} lines belong to runs that are not in these results.", view.strays);
    }
    out
}

/// Appends a line that begins with a name.
fn named(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "  {name:<9} {}", text::one_line(value));
}

fn head(out: &mut String, view: &RunView<'_>) {
    let run = view.run;
    let _ = writeln!(out, "{}: {}", text::one_line(&run.experiment), text::one_line(&run.title));
    named(out, "source", &run.source);
    named(out, "claim", &run.claim);
    for verdict in &view.verdicts {
        named(out, "verdict", &format!("{}: {}", answer(verdict.answer), verdict.why));
    }
    if view.verdicts.is_empty() {
        named(out, "verdict", "none: the run did not finish");
    }
    named(out, "machine", &run.machine.to_string());
    if let Some(probed) = &run.machine.probe {
        named(out, "probe", &format!("{}; {}", probe::reads(probed), probe::groups(probed)));
    }
    let setting: Vec<_> = run.setting.iter().map(|(name, value)| format!("{name} {value}")).collect();
    named(out, "setting", &setting.join(", "));
    named(out, "measured", &format!("{} by SkeinDB {}", text::date(run.started_unix_s), run.version));
    named(out, "again", &run.command);
}

fn tail(out: &mut String, view: &RunView<'_>) {
    if !(view.run.absent.is_empty() && view.remarks().is_empty()) {
        out.push('\n');
    }
    for remark in view.remarks() {
        named(out, "note", &remark);
    }
    for absent in &view.run.absent {
        named(out, "without", &format!("{}: {}", absent.name, absent.why));
    }
}

/// The widest name of a key set in a table of aims.
const KEY_SET_COLUMNS: usize = 16;

fn aim_rows(out: &mut String, table: &AimTable<'_>) {
    let _ = writeln!(out, "  aims: {} (✓ holds, ✗ does not, ? cannot be tested)", table.summary());
    let name = |set: &&str| text::cut(&text::one_line(column_name(set)), KEY_SET_COLUMNS);
    let titles = ["operation / beside".to_owned(), "aim".to_owned()];
    let mut rows: Vec<Vec<String>> = vec![titles.into_iter().chain(table.columns.iter().map(name)).collect()];
    for row in &table.rows {
        let verdicts = row.verdicts.iter().map(|verdict| verdict.map_or_else(String::new, AimVerdict::text));
        let titles = [text::one_line(row.title), text::one_line(row.aim)];
        rows.push(titles.into_iter().chain(verdicts).collect());
    }
    aligned(out, &rows);
}

fn figures(out: &mut String, measure: &MeasureView<'_>) {
    let about = unit_and_direction(measure.unit, measure.better);
    let _ = writeln!(out, "  {} ({})", text::one_line(measure.name), text::one_line(&about));
    let axis = measure.axis().map_or_else(String::new, text::one_line);
    let first = measure.contenders.first().map_or("", |first| *first);
    let beside = format!("/ {}", text::one_line(first));
    let titles = [axis, "contender".into(), "median".into(), "spread".into(), "rounds".into(), beside];
    let mut rows = vec![titles];
    for &point in &measure.points {
        let mut label = label(measure, point);
        for contender in &measure.contenders {
            let Some(row) = row(measure, contender, point) else { continue };
            let [median, spread, rounds, ratio] = row;
            rows.push([std::mem::take(&mut label), text::one_line(contender), median, spread, rounds, ratio]);
        }
    }
    aligned(out, &rows);
}

/// Returns the label of a point in a measure's first column.
pub(super) fn label(measure: &MeasureView<'_>, point: Option<&AxisPoint>) -> String {
    match (measure.axis(), point) {
        (Some(_), Some(at)) => text::one_line(&at.label),
        (None, Some(at)) => text::one_line(&format!("{} {}", at.axis, at.label)),
        (_, None) => String::new(),
    }
}

/// Returns the median, the spread, the rounds, and the ratio to the measure's first contender;
/// `None` if the contender was not measured there.
pub(super) fn row(
    measure: &MeasureView<'_>,
    contender: &str,
    point: Option<&AxisPoint>,
) -> Option<[String; 4]> {
    let cell = measure.cell(contender, point)?;
    let first = measure.contenders.first().and_then(|first| measure.cell(first, point));
    Some(match Figures::of(cell) {
        Some(figures) => [
            number(figures.summary.median),
            figures.spread(),
            figures.rounds.to_string(),
            figures.ratio(first.and_then(Figures::of)),
        ],
        None => ["-".into(), "-".into(), "0".into(), "-".into()],
    })
}

/// Appends columns of text: the first two left-aligned, the others right-aligned.
fn aligned<R: AsRef<[String]>>(out: &mut String, rows: &[R]) {
    let rows = || rows.iter().map(AsRef::as_ref);
    let width = |column: usize| rows().map(|row| text::columns(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows().map(<[String]>::len).max().unwrap_or(0)).map(width).collect();
    for row in rows() {
        let mut line = String::from("   ");
        for (column, field) in row.iter().enumerate().filter(|(column, _)| widths[*column] > 0) {
            let blank = " ".repeat(widths[column] - text::columns(field));
            let _ =
                if column < 2 { write!(line, " {field}{blank} ") } else { write!(line, " {blank}{field} ") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
