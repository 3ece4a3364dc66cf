//! A chart panel: a frame with figures on its left and points below, and in it each contender's
//! points, joined by lines.

use maud::{Markup, html};

use super::legend::mark;
use super::palette::SeriesLook;
use super::scale::{AxisScale, spaced};
use super::{WIDTH, columns_in, compact, px, text_width};
use crate::report::text::cut;

/// The height of a line of text.
pub(super) const LINE: f64 = 17.0;
/// The gap between text and the mark that it labels.
const GAP: f64 = 6.0;

/// A drawing of figures over points.
#[derive(Debug)]
pub(super) struct ChartPanel<'a> {
    /// The top edge in the drawing.
    pub top: f64,
    /// The heading.
    pub heading: &'a str,
    /// The height of the part with the points.
    pub height: f64,
    /// The positions of the points on the axis, with their labels.
    pub points: &'a [(f64, String)],
    /// The name of the axis.
    pub axis: &'a str,
    /// The scale of the figures; its range of positions does not matter.
    pub scale: &'a AxisScale,
    /// The figures to label on the left.
    pub ticks: &'a [f64],
    /// The unit of the figures.
    pub unit: &'a str,
    /// The lines to draw.
    pub series: &'a [ChartSeries],
}

/// The points of one contender. Positions are fractions of the width, 0 to 1.
#[derive(Debug)]
pub(super) struct ChartSeries {
    /// Its appearance.
    pub look: SeriesLook,
    /// The points, in groups that lines join. A gap between groups stays open.
    pub pieces: Vec<Vec<ChartPoint>>,
}

/// A point with its spread.
#[derive(Debug)]
pub(super) struct ChartPoint {
    /// The position as a fraction of the width.
    pub x: f64,
    /// The figure.
    pub figure: f64,
    /// The least and the greatest figure.
    pub spread: Option<(f64, f64)>,
    /// The text of the tooltip.
    pub tip: String,
}

impl ChartPanel<'_> {
    /// Returns the total height of the panel.
    pub fn full_height(&self) -> f64 {
        LINE + self.height + 2.0 * LINE + GAP
    }

    /// Draws the panel.
    pub fn draw(&self) -> Markup {
        let labels: Vec<String> = self.ticks.iter().map(|&tick| compact(tick, self.unit)).collect();
        let left = labels.iter().map(|label| text_width(label)).fold(20.0, f64::max) + GAP;
        let right = WIDTH - 2.0 * GAP;
        let (top, bottom) = (self.top + LINE, self.top + LINE + self.height);
        let scale = self.scale.clone().over(bottom - GAP, top + GAP);
        let x = |part: f64| left + 2.0 * GAP + (right - left - 3.0 * GAP) * part;
        html! {
            text class="heading" x="0" y=(px(self.top + LINE - GAP)) {
                (cut(self.heading, columns_in(WIDTH)))
            }
            @for (&tick, label) in self.ticks.iter().zip(&labels) {
                @let y = scale.at(tick);
                line class="grid" x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
                text class="end" x=(px(left - GAP)) y=(px(y + 4.0)) { (label) }
            }
            path class="axis" d=(format!("M{} {}V{}H{}", px(left), px(top), px(bottom), px(right))) {}
            (self.below(&x, bottom))
            @for series in self.series { (series.draw(&x, &scale)) }
        }
    }

    /// Draws the points' labels below the frame, as many as fit.
    fn below(&self, x: &impl Fn(f64) -> f64, bottom: f64) -> Markup {
        let most = columns_in(WIDTH / 5.0);
        // A label that would extend past either side is moved inward.
        let placed: Vec<(f64, f64, String)> = self
            .points
            .iter()
            .map(|(part, label)| {
                let label = cut(label, most);
                let half = text_width(&label) / 2.0;
                (x(*part), x(*part).clamp(half, WIDTH - half), label)
            })
            .collect();
        let widths: Vec<_> = placed.iter().map(|(_, middle, label)| (*middle, text_width(label))).collect();
        html! {
            @for ((at, middle, label), shown) in placed.iter().zip(spaced(&widths)) {
                line class="axis" x1=(px(*at)) x2=(px(*at)) y1=(px(bottom)) y2=(px(bottom + 4.0)) {}
                @if shown { text class="middle" x=(px(*middle)) y=(px(bottom + LINE)) { (label) } }
            }
            text class="middle quiet" x=(px(WIDTH / 2.0)) y=(px(bottom + 2.0 * LINE)) {
                (cut(self.axis, columns_in(WIDTH)))
            }
        }
    }
}

impl ChartSeries {
    fn draw(&self, x: &impl Fn(f64) -> f64, scale: &AxisScale) -> Markup {
        html! {
            g class=(self.look.classes()) {
                @for piece in &self.pieces {
                    path class="line" d=(path(piece, x, scale)) {}
                    @for spot in piece {
                        @if let Some((least, greatest)) = spot.spread {
                            (whisker(x(spot.x), scale.at(least), scale.at(greatest)))
                        }
                        (mark(self.look, x(spot.x), scale.at(spot.figure), &spot.tip))
                    }
                }
            }
        }
    }
}

fn path(piece: &[ChartPoint], x: &impl Fn(f64) -> f64, scale: &AxisScale) -> String {
    let place = |spot: &ChartPoint| format!("{} {}", px(x(spot.x)), px(scale.at(spot.figure)));
    format!("M{}", piece.iter().map(place).collect::<Vec<_>>().join("L"))
}

/// Draws a vertical line with caps, from the least figure to the greatest.
fn whisker(x: f64, least: f64, greatest: f64) -> Markup {
    let (from, to) = (px(x - 3.0), px(x + 3.0));
    let (least, greatest, x) = (px(least), px(greatest), px(x));
    html! { path class="spread" d=(format!("M{from} {least}H{to}M{x} {least}V{greatest}M{from} {greatest}H{to}")) {} }
}
