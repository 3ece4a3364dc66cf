//! The legend: marks with names.

use maud::{Markup, html};

use super::axis::LINE;
use super::palette::{Palette, SeriesLook};
use super::{WIDTH, columns_in, px, real, text_width};
use crate::report::text::cut;

/// The length of the line before a name, and the gap around it.
const SAMPLE: f64 = 26.0;
const AROUND: f64 = 8.0;

/// Draws a contender's mark at a position.
pub(super) fn mark(look: SeriesLook, x: f64, y: f64, tip: &str) -> Markup {
    html! {
        path class="mark" d=(shape(look.mark(), x, y)) { @if !tip.is_empty() { title { (tip) } } }
    }
}

/// Returns the outline of a mark by its number: disc, square, triangle, diamond, inverted triangle,
/// cross, all of about the same area.
fn shape(number: usize, x: f64, y: f64) -> String {
    let corners = |corners: &[(f64, f64)]| {
        let places: Vec<_> =
            corners.iter().map(|(dx, dy)| format!("{} {}", px(x + dx), px(y + dy))).collect();
        format!("M{}Z", places.join("L"))
    };
    match number {
        0 => format!("M{} {}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z", px(x - 3.6), px(y)),
        1 => corners(&[(-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)]),
        2 => corners(&[(0.0, -4.4), (4.4, 3.4), (-4.4, 3.4)]),
        3 => corners(&[(0.0, -4.8), (4.8, 0.0), (0.0, 4.8), (-4.8, 0.0)]),
        4 => corners(&[(0.0, 4.4), (4.4, -3.4), (-4.4, -3.4)]),
        _ => format!("M{0} {1}l7 7m0 -7l-7 7", px(x - 3.5), px(y - 3.5)),
    }
}

/// Draws the contenders' marks and names in columns, from `top` down. Returns the drawing and its
/// height.
pub(super) fn legend(names: &[&str], palette: &Palette, top: f64) -> (Markup, f64) {
    let widest = names.iter().map(|name| text_width(name)).fold(0.0, f64::max);
    let column = (SAMPLE + widest + 2.0 * AROUND).min(WIDTH);
    #[expect(clippy::cast_sign_loss, reason = "a column is at most as wide as the drawing")]
    let columns = ((WIDTH / column) as usize).clamp(1, names.len().max(1));
    let rows = names.len().div_ceil(columns);
    let height = LINE * real(rows) + AROUND;
    let drawn = html! {
        @for (number, name) in names.iter().enumerate() {
            @let x = column * real(number / rows);
            @let y = top + AROUND + LINE * real(number % rows) + LINE / 2.0;
            @let look = palette.look(name);
            g class=(look.classes()) {
                path class="line" d=(format!("M{} {}h{}", px(x), px(y), px(SAMPLE))) {}
                (mark(look, x + SAMPLE / 2.0, y, ""))
            }
            text x=(px(x + SAMPLE + AROUND)) y=(px(y + 4.0)) {
                (cut(name, columns_in(column - SAMPLE - AROUND)))
                title { (name) }
            }
        }
    };
    (drawn, height)
}
