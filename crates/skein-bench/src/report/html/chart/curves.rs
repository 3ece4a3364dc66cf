//! Latency curves: the time within which a fraction of the operations ends. The axis of quantiles
//! gives each nine (90 %, 99 %, 99.9 %) the same width, since its end matters most. Times are on a
//! logarithmic axis.

use maud::{Markup, html};

use super::axis::{ChartPanel, ChartPoint, ChartSeries};
use super::legend::legend;
use super::palette::Palette;
use super::scale::AxisScale;
use super::{axis_title, svg};
use crate::report::figures::{clamped, number};
use crate::report::view::{MeasureView, point_name};
use crate::result::{AxisPoint, ResultCell};

const HEIGHT: f64 = 170.0;
/// The greatest number of panels in a drawing. If there are more points, the first, the last and
/// some between are drawn.
const PANELS: usize = 6;
/// The width of the greatest figure's part, after the last quantile, in nines.
const BEYOND: f64 = 0.6;

/// Draws the latencies of a measure.
pub(super) fn draw(measure: &MeasureView<'_>, palette: &Palette) -> Markup {
    let all: Vec<(f64, f64)> = measure.quantiles().flat_map(quantiles).collect();
    let last =
        all.iter().map(|(quantile, _)| *quantile).filter(|quantile| *quantile < 1.0).fold(0.9, f64::max);
    let nines = Nines { last: depth(last) };
    let labels = nines.labels();
    let times = || all.iter().map(|(_, time)| *time).filter(|time| *time > 0.0);
    let low = times().fold(f64::INFINITY, f64::min);
    let (scale, ticks) = AxisScale::logarithmic(low, times().fold(low, f64::max)).rounded(5);

    let points: Vec<Option<&AxisPoint>> =
        measure.points.iter().copied().filter(|&point| measure.has_curve(point)).collect();
    let shown = spread_out(points.len(), PANELS);
    let left_out = points.len() - shown.len();
    let mut top = 0.0;
    let drawn = html! {
        @for point in shown.into_iter().map(|place| points[place]) {
            @let series: Vec<ChartSeries> = measure.contenders.iter()
                .filter_map(|contender| series(measure, contender, point, &nines, palette)).collect();
            @let panel = ChartPanel {
                top, heading: &heading(measure, point), height: HEIGHT, points: &labels,
                axis: "part of the operations that took no longer", scale: &scale, ticks: &ticks, unit: measure.unit,
                series: &series,
            };
            ({ top += panel.full_height() + 6.0; panel.draw() })
        }
    };
    let (names, names_height) = legend(&measure.contenders, palette, top);
    let drawing =
        svg(top + names_height, &format!("quantiles: {}", measure.name), &html! { (drawn) (names) });
    html! {
        (drawing)
        @if left_out > 0 { p class="quiet" { (left_out) " points are left out here; the table has all." } }
    }
}

fn heading(measure: &MeasureView<'_>, point: Option<&AxisPoint>) -> String {
    let parts = [point_name(point), axis_title(measure.unit, measure.better)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

/// Returns a cell's valid quantiles, rising.
fn quantiles(cell: &ResultCell) -> Vec<(f64, f64)> {
    let of = |&(quantile, time): &(f64, f64)| {
        ((0.0..=1.0).contains(&quantile) && time.is_finite()).then(|| (quantile, clamped(time)))
    };
    let mut all: Vec<_> = cell.quantiles.iter().filter_map(of).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    all
}

fn series(
    measure: &MeasureView<'_>,
    contender: &str,
    point: Option<&AxisPoint>,
    nines: &Nines,
    palette: &Palette,
) -> Option<ChartSeries> {
    let cell = measure.cell(contender, point).filter(|cell| !cell.quantiles.is_empty())?;
    let spot = |(quantile, time): (f64, f64)| ChartPoint {
        x: nines.at(quantile),
        figure: time,
        spread: None,
        tip: format!("{contender}: {} % took {} {} or less", 100.0 * quantile, number(time), measure.unit),
    };
    let piece: Vec<ChartPoint> = quantiles(cell).into_iter().map(spot).collect();
    Some(ChartSeries {
        look: palette.look(contender),
        pieces: if piece.is_empty() { Vec::new() } else { vec![piece] },
    })
}

/// The axis of quantiles.
struct Nines {
    /// The greatest quantile below 1, in nines.
    last: f64,
}

/// Returns a quantile in nines: 0.9 is one, 0.99 two.
fn depth(quantile: f64) -> f64 {
    -(1.0 - quantile).max(1e-12).log10()
}

impl Nines {
    /// Returns the position of a quantile as a fraction of the axis. The greatest figure is at its
    /// end.
    fn at(&self, quantile: f64) -> f64 {
        if quantile >= 1.0 { 1.0 } else { depth(quantile).min(self.last) / (self.last + BEYOND) }
    }

    fn labels(&self) -> Vec<(f64, String)> {
        let mut labels = vec![(0.0, "0 %".to_owned()), (self.at(0.5), "50 %".to_owned())];
        for nines in 1..=12_usize {
            let quantile = 1.0 - 10f64.powi(-i32::try_from(nines).unwrap_or(i32::MAX));
            if depth(quantile) > self.last + 1e-6 {
                break;
            }
            labels.push((self.at(quantile), format!("{:.*} %", nines.saturating_sub(2), 100.0 * quantile)));
        }
        labels.push((1.0, "max".to_owned()));
        labels
    }
}

/// Returns at most `most` of these positions, the first and the last among them.
fn spread_out(places: usize, most: usize) -> Vec<usize> {
    if places <= most {
        (0..places).collect()
    } else {
        (0..most).map(|n| n * (places - 1) / (most - 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nine_has_the_same_width() {
        let nines = Nines { last: depth(0.9999) };
        let gap = nines.at(0.99) - nines.at(0.9);
        assert!((nines.at(0.9999) - nines.at(0.999) - gap).abs() < 1e-9);
        assert!((nines.at(1.0) - 1.0).abs() < 1e-9 && nines.at(0.0).abs() < 1e-9);
        let names: Vec<String> = nines.labels().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "max"]);
    }

    #[test]
    fn thinned_points_keep_the_ends() {
        assert_eq!(spread_out(3, 6), [0, 1, 2]);
        assert_eq!(spread_out(64, 6), [0, 12, 25, 37, 50, 63]);
    }
}
