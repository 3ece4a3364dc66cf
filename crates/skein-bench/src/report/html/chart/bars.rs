//! Horizontal bars: one row per contender, with its name and its figure, and one group of rows per
//! point.
//!
//! Each row shows the name, so colours need not identify contenders, and any number of rows fits on
//! any screen. Names are left of the bars, or above them if one is too long.

use maud::{Markup, html};

use super::axis::LINE;
use super::palette::Palette;
use super::scale::{AxisScale, spaced};
use super::{WIDTH, axis_title, columns_in, compact, px, real, svg, text_width, tip};
use crate::report::figures::Figures;
use crate::report::text::cut;
use crate::report::view::{MeasureView, point_name};
use crate::result::AxisPoint;

const GAP: f64 = 6.0;
/// The height of a name above its bar.
const ABOVE: f64 = 16.0;
/// The thickness of a bar in its row.
const THICK: f64 = 11.0;
/// The fraction of the width that names left of the bars may take.
const NAMES: f64 = 0.36;

/// The horizontal positions of the parts.
struct BarLayout {
    scale: AxisScale,
    ticks: Vec<f64>,
    zero: f64,
    left: f64,
    right: f64,
    /// Whether names are above the bars.
    above: bool,
}

/// Draws the chart of a measure.
pub(super) fn draw(measure: &MeasureView<'_>, palette: &Palette) -> Markup {
    let layout = BarLayout::of(measure);
    let headed = measure.has_points();
    let heading = if headed { LINE + GAP } else { 0.0 };
    let group = heading + layout.row_height() * real(measure.contenders.len());
    let rows = group * real(measure.points.len());
    let groups: Vec<_> = (0..measure.points.len())
        .map(|number| (group * real(number) + heading, group * real(number + 1)))
        .collect();
    let drawn = html! {
        (layout.axis(measure, &groups, rows))
        @for (number, &point) in measure.points.iter().enumerate() {
            @let top = group * real(number);
            @if headed {
                text class="heading" x="0" y=(px(top + heading - GAP)) {
                    (cut(&point_name(point), columns_in(WIDTH)))
                }
            }
            @for (row, contender) in measure.contenders.iter().enumerate() {
                (layout.row(measure, contender, point, top + heading + layout.row_height() * real(row), palette))
            }
        }
    };
    svg(rows + 2.0 * LINE + GAP, &format!("bars: {}", measure.name), &drawn)
}

impl BarLayout {
    fn of(measure: &MeasureView<'_>) -> Self {
        let all: Vec<Figures> = measure.figures().collect();
        let low = all.iter().map(|figures| figures.summary.least).fold(0.0, f64::min);
        let high = all.iter().map(|figures| figures.summary.greatest).fold(0.0, f64::max);
        let widest = |widths: &mut dyn Iterator<Item = f64>| widths.fold(0.0, f64::max);
        let names = widest(&mut measure.contenders.iter().map(|name| text_width(name)));
        let above = names > NAMES * WIDTH;
        let figure =
            widest(&mut all.iter().map(|figures| text_width(&compact(figures.summary.median, measure.unit))));
        let (left, right) = (if above { GAP } else { names + GAP }, WIDTH - figure - 2.0 * GAP);
        let (scale, ticks) = AxisScale::linear(low, high).rounded(4);
        let scale = scale.over(left, right);
        Self { zero: scale.at(0.0), scale, ticks, left, right, above }
    }

    fn row_height(&self) -> f64 {
        if self.above { ABOVE + LINE } else { LINE }
    }

    /// Draws lines at round figures behind the rows of each group, and their labels below the last.
    fn axis(&self, measure: &MeasureView<'_>, groups: &[(f64, f64)], bottom: f64) -> Markup {
        let upright = |x: f64| {
            let piece = |(from, to): &(f64, f64)| format!("M{} {}V{}", px(x), px(*from), px(*to));
            groups.iter().map(piece).collect::<Vec<_>>().concat()
        };
        let labels: Vec<(f64, String)> =
            self.ticks.iter().map(|&tick| (self.scale.at(tick), compact(tick, measure.unit))).collect();
        let widths: Vec<_> = labels.iter().map(|(x, label)| (*x, text_width(label))).collect();
        html! {
            @for ((x, label), shown) in labels.iter().zip(spaced(&widths)) {
                path class="grid" d=(upright(*x)) {}
                @if shown { text class="middle" x=(px(*x)) y=(px(bottom + LINE)) { (label) } }
            }
            path class="axis" d=(upright(self.zero)) {}
            text class="middle quiet" x=(px(WIDTH / 2.0)) y=(px(bottom + 2.0 * LINE)) {
                (cut(&axis_title(measure.unit, measure.better), columns_in(WIDTH)))
            }
        }
    }

    fn row(
        &self,
        measure: &MeasureView<'_>,
        contender: &str,
        point: Option<&AxisPoint>,
        top: f64,
        palette: &Palette,
    ) -> Markup {
        let bar = if self.above { top + ABOVE } else { top };
        let letters = px(bar + LINE / 2.0 + 4.0);
        let figures = measure.cell(contender, point).and_then(Figures::of);
        html! {
            @if self.above {
                text x=(px(self.left + 3.0)) y=(px(bar - 1.0)) { (cut(contender, columns_in(WIDTH))) title { (contender) } }
            } @else {
                text class="end" x=(px(self.left - GAP)) y=(letters) { (contender) }
            }
            @if let Some(figures) = figures {
                g class=(palette.look(contender).classes()) {
                    title { (tip(measure, contender, point, figures)) }
                    (self.bar(figures, bar))
                }
                text x=(px(self.beside(figures))) y=(letters) { (compact(figures.summary.median, measure.unit)) }
            } @else {
                text class="quiet" x=(px(self.zero + GAP)) y=(letters) { "not measured" }
            }
        }
    }

    fn bar(&self, figures: Figures, top: f64) -> Markup {
        let end = self.scale.at(figures.summary.median);
        let (least, greatest) =
            (self.scale.at(figures.summary.least), self.scale.at(figures.summary.greatest));
        let middle = top + LINE / 2.0;
        let (upper, lower) = (px(middle - 3.0), px(middle + 3.0));
        let whisker = format!(
            "M{0} {upper}V{lower}M{0} {2}H{1}M{1} {upper}V{lower}",
            px(least),
            px(greatest),
            px(middle)
        );
        html! {
            rect class="bar" x=(px(end.min(self.zero))) y=(px(middle - THICK / 2.0))
                width=(px((end - self.zero).abs())) height=(px(THICK)) {}
            @if figures.rounds > 1 {
                // First a wider line in the page's colour, so that the whisker is visible on any
                // bar.
                path class="halo" d=(whisker) {}
                path class="spread" d=(whisker) {}
            }
        }
    }

    /// Returns the position of a bar's figure: right of the bar and its whisker.
    fn beside(&self, figures: Figures) -> f64 {
        let end = self.scale.at(figures.summary.greatest.max(figures.summary.median));
        end.max(self.zero).min(self.right) + GAP
    }
}
