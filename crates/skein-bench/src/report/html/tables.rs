//! The tables of figures below a chart, and the table of a run's aims.

use maud::{Markup, html};

use super::answer_class;
use crate::report::aim_table::{AimTable, column_name};
use crate::report::figures::{Figures, number, unit_and_direction};
use crate::report::table::{label, row};
use crate::report::view::MeasureView;
use crate::result::{AxisPoint, ResultCell};

/// Returns median, extremes and ratio of each contender at each point.
pub(super) fn figures(measure: &MeasureView<'_>) -> Markup {
    html! {
        p class="quiet" {
            (unit_and_direction(measure.unit, measure.better))
            @if let Some(first) = measure.contenders.first() { "; ratio to " (first) }
        }
        table {
            tr {
                (places(measure))
                th { "median" } th { "spread" } th { "ratio" } th { "least" } th { "greatest" } th { "rounds" }
            }
            @for &point in &measure.points {
                @for (place, (contender, cell)) in cells(measure, point).into_iter().enumerate() {
                    @if let Some([median, spread, rounds, ratio]) = row(measure, contender, point) {
                        @let [least, greatest] = extremes(cell);
                        tr class=[(place == 0).then_some("begins")] {
                            (place_of(measure, point, place, contender))
                            td { (median) } td { (spread) } td { (ratio) } td { (least) } td { (greatest) } td { (rounds) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the verdict on each aim on each key set.
pub(super) fn aims(table: &AimTable<'_>) -> Markup {
    html! {
        p class="quiet" { (table.summary()) ". Point at a figure to see its origin." }
        table {
            tr {
                th class="name" { "operation / beside" }
                th class="name" { "aim" }
                @for set in &table.columns { th { (column_name(set)) } }
            }
            @for row in &table.rows {
                tr {
                    td class="name" { (row.title) }
                    td class="name" { (row.aim) }
                    @for verdict in &row.verdicts {
                        td { @if let Some(verdict) = verdict {
                            span class=(answer_class(verdict.answer())) title=(verdict.why()) { (verdict.text()) }
                        } }
                    }
                }
            }
        }
    }
}

/// Returns every quantile of each contender at each point.
pub(super) fn quantiles(measure: &MeasureView<'_>) -> Markup {
    let mut columns: Vec<f64> =
        measure.quantiles().flat_map(|cell| &cell.quantiles).map(|(quantile, _)| *quantile).collect();
    columns.sort_by(f64::total_cmp);
    columns.dedup_by(|one, other| one.total_cmp(other).is_eq());
    let at = |cell: &ResultCell, wanted: f64| {
        let found = cell.quantiles.iter().find(|(quantile, _)| quantile.total_cmp(&wanted).is_eq());
        found.map_or_else(|| "-".to_owned(), |(_, figure)| number(*figure))
    };
    html! {
        p class="quiet" { (unit_and_direction(measure.unit, measure.better)) }
        table {
            tr { (places(measure)) @for &quantile in &columns { th { (name(quantile)) } } }
            @for &point in measure.points.iter().filter(|&&point| measure.has_curve(point)) {
                @let cells = cells(measure, point);
                @let cells = cells.iter().filter(|(_, cell)| !cell.quantiles.is_empty());
                @for (place, (contender, cell)) in cells.enumerate() {
                    tr class=[(place == 0).then_some("begins")] {
                        (place_of(measure, point, place, contender))
                        @for &quantile in &columns { td { (at(cell, quantile)) } }
                    }
                }
            }
        }
    }
}

/// Returns the name of a quantile: `50 %`, `99.99 %`, `max`.
fn name(quantile: f64) -> String {
    match quantile {
        0.0 => "min".to_owned(),
        1.0 => "max".to_owned(),
        _ => {
            // Rounded, since 100 times 0.999 is not 99.9.
            let percent = format!("{:.6}", 100.0 * quantile);
            format!("{} %", percent.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

fn extremes(cell: &ResultCell) -> [String; 2] {
    Figures::of(cell).map_or_else(
        || ["-".to_owned(), "-".to_owned()],
        |figures| [number(figures.summary.least), number(figures.summary.greatest)],
    )
}

fn cells<'a>(measure: &MeasureView<'a>, point: Option<&AxisPoint>) -> Vec<(&'a str, &'a ResultCell)> {
    let of = |contender: &&'a str| Some((*contender, measure.cell(contender, point)?));
    measure.contenders.iter().filter_map(of).collect()
}

/// Returns the titles of the columns with the point and the contender.
fn places(measure: &MeasureView<'_>) -> Markup {
    html! {
        @if measure.has_points() { th class="name" { (measure.axis().unwrap_or("point")) } }
        th class="name" { "contender" }
    }
}

/// Returns the cells with the point and the contender; the point is in the first row only.
fn place_of(measure: &MeasureView<'_>, point: Option<&AxisPoint>, row: usize, contender: &str) -> Markup {
    html! {
        @if measure.has_points() { td class="name" { @if row == 0 { (label(measure, point)) } } }
        td class="name" { (contender) }
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn quantiles_have_names() {
        let names: Vec<String> = [0.0, 0.5, 0.999, 0.9999, 1.0].map(name).into();
        assert_eq!(names, ["min", "50 %", "99.9 %", "99.99 %", "max"]);
    }
}
