//! Lines over a numeric axis, with whiskers.

use maud::{Markup, html};

use super::axis::{ChartPanel, ChartPoint, ChartSeries};
use super::legend::legend;
use super::palette::{Palette, SeriesLook};
use super::scale::AxisScale;
use super::{axis_title, compact, svg, tip};
use crate::probe::size;
use crate::report::figures::{Figures, clamped, number};
use crate::report::view::MeasureView;
use crate::result::{Better, ProbeSummary};

/// An axis of points is logarithmic if the last is at least this many times the first, unless it
/// starts at
/// 1. Such an axis counts things, for instance threads, and linear growth must look linear on it.
const WIDE: f64 = 30.0;
/// An axis of figures is logarithmic if the greatest is at least this many times the least.
const TALL: f64 = 1000.0;
const HEIGHT: f64 = 210.0;

/// Draws the chart of a measure with numbers as points.
pub(super) fn draw(measure: &MeasureView<'_>, palette: &Palette) -> Markup {
    let values: Vec<f64> =
        measure.points.iter().filter_map(|point| point.and_then(|at| at.value)).map(clamped).collect();
    let labels = measure.points.iter().zip(&values).map(|(point, &value)| {
        let label = point.map_or(String::new(), |at| at.label.clone());
        // A long plain number tells no more than its first digits.
        if label.parse::<f64>().is_ok() { compact(value, "") } else { label }
    });
    let points: Vec<(f64, String)> = places(&values).into_iter().zip(labels).collect();
    let series: Vec<ChartSeries> =
        measure.contenders.iter().map(|contender| series(measure, contender, &points, palette)).collect();
    let extremes = measure.figures().map(|figures| figures.summary);
    let extremes = extremes.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), summary| {
        (low.min(summary.least), high.max(summary.greatest))
    });
    let (scale, ticks) = figures_scale(extremes);
    let title = axis_title(measure.unit, measure.better);
    let panel = ChartPanel {
        top: 0.0,
        heading: &title,
        height: HEIGHT,
        points: &points,
        axis: measure.axis().unwrap_or_default(),
        scale: &scale,
        ticks: &ticks,
        unit: measure.unit,
        series: &series,
    };
    let (names, names_height) = legend(&measure.contenders, palette, panel.full_height());
    let drawn = html! { (panel.draw()) (names) };
    svg(panel.full_height() + names_height, &format!("lines: {}", measure.name), &drawn)
}

fn series(
    measure: &MeasureView<'_>,
    contender: &str,
    points: &[(f64, String)],
    palette: &Palette,
) -> ChartSeries {
    let mut pieces = vec![Vec::new()];
    for (&point, (x, _)) in measure.points.iter().zip(points) {
        let Some(figures) = measure.cell(contender, point).and_then(Figures::of) else {
            pieces.push(Vec::new());
            continue;
        };
        let summary = figures.summary;
        let spot = ChartPoint {
            x: *x,
            figure: summary.median,
            spread: (figures.rounds > 1).then_some((summary.least, summary.greatest)),
            tip: tip(measure, contender, point, figures),
        };
        if let Some(piece) = pieces.last_mut() {
            piece.push(spot);
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    ChartSeries { look: palette.look(contender), pieces }
}

/// Returns the positions of these rising numbers, as fractions of the axis.
fn places(values: &[f64]) -> Vec<f64> {
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return Vec::new() };
    let scale = if first > 1.0 && last / first >= WIDE {
        AxisScale::logarithmic(first, last)
    } else {
        AxisScale::linear(first, last)
    };
    values.iter().map(|&value| scale.at(value)).collect()
}

/// Returns the scale between two figures, with its ticks. It starts at 0 unless it is logarithmic.
fn figures_scale((low, high): (f64, f64)) -> (AxisScale, Vec<f64>) {
    let scale = if low > 0.0 && high / low >= TALL {
        AxisScale::logarithmic(low, high)
    } else {
        AxisScale::linear(low.min(0.0), high.max(0.0))
    };
    scale.rounded(5)
}

/// Draws the time of a dependent read by footprint.
pub(super) fn footprint(probe: &ProbeSummary) -> Markup {
    let mut reads: Vec<(f64, f64, String)> = probe
        .read_ns_by_footprint
        .iter()
        .filter(|(_, ns)| ns.is_finite())
        .map(|&(bytes, ns)| {
            let place = bytes as f64;
            (place, clamped(ns), size(bytes))
        })
        .collect();
    reads.sort_by(|one, other| one.0.total_cmp(&other.0));
    let values: Vec<f64> = reads.iter().map(|(bytes, ..)| *bytes).collect();
    let points: Vec<(f64, String)> =
        places(&values).into_iter().zip(reads.iter().map(|(.., size)| size.clone())).collect();
    let spot = |((x, size), (_, ns, _)): (&(f64, String), &(f64, f64, String))| ChartPoint {
        x: *x,
        figure: *ns,
        spread: None,
        tip: format!("{} ns in {size}", number(*ns)),
    };
    let spots: Vec<ChartPoint> = points.iter().zip(&reads).map(spot).collect();
    let times = || reads.iter().map(|(_, ns, _)| *ns);
    let (low, high) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    // Caches are plateaus of the logarithm; on a linear scale all but one would lie at the bottom.
    let scale = if low > 0.0 { AxisScale::logarithmic(low, high) } else { AxisScale::linear(0.0, high) };
    let (scale, ticks) = scale.rounded(5);
    let panel = ChartPanel {
        top: 0.0,
        heading: &axis_title("ns", Better::Neither),
        height: HEIGHT,
        points: &points,
        axis: "footprint",
        scale: &scale,
        ticks: &ticks,
        unit: "ns",
        series: &[ChartSeries { look: SeriesLook::first(), pieces: vec![spots] }],
    };
    svg(panel.full_height(), "a random read by footprint", &panel.draw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_axes_are_logarithmic() {
        let wide = places(&[1e4, 1e5, 1e6]);
        assert!((wide[1] - 0.5).abs() < 1e-9);
        let narrow = places(&[1.0, 2.0, 4.0]);
        assert!((narrow[1] - 1.0 / 3.0).abs() < 1e-9);
        assert!((places(&[1.0, 60.5, 120.0])[1] - 0.5).abs() < 1e-9, "counted from 1 on");
        assert!(places(&[-5.0, 0.0, 500.0])[1] < 0.02, "below 0 there is no logarithm");
        assert!(places(&[]).is_empty());
    }

    #[test]
    fn rates_begin_at_0() {
        assert_eq!(figures_scale((3.0, 4.0)).1.first(), Some(&0.0));
        assert!(figures_scale((1.0, 5000.0)).1.first() > Some(&0.0));
    }
}
