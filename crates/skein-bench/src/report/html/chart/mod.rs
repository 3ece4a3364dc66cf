//! Charts as SVG inside the page, so that the page's CSS colours them, dark or light.
//!
//! ```text
//!   bars     a bar per contender, grouped by point, with whiskers from least to greatest
//!   lines    the same over a numeric axis, logarithmic for wide ranges
//!   curves   quantiles of latencies, a panel per point
//!     scale (positions, ticks), axis (a panel), legend (names, marks), palette (appearance)
//! ```
//!
//! We draw them ourselves because no maintained chart crate fits: `plotters` writes each colour
//! into the SVG, so one drawing cannot be dark and light; `poloto` takes its colours from CSS, but
//! has neither grouped bars, nor whiskers, nor logarithms; wrappers of scripts need scripts. A
//! drawing is as narrow as a phone, so that its text is readable there; on wide screens charts
//! stand side by side.
//!
//! Order of reading: `scale.rs`, `axis.rs`, `lines.rs`; then the others.

mod axis;
mod bars;
mod curves;
mod legend;
mod lines;
mod palette;
mod scale;

use maud::{Markup, html};

pub(super) use palette::{DARK, HUES, LIGHT, Palette};

use crate::report::figures::{Figures, direction, number};
use crate::report::text::columns;
use crate::report::view::{MeasureView, point_name};
use crate::result::{AxisPoint, ProbeSummary};

/// The width of every drawing, in its own units.
const WIDTH: f64 = 440.0;

/// The width of a character in a chart, estimated high so that nothing overlaps.
const LETTER: f64 = 7.3;

/// Draws the chart of a measure.
pub(super) fn measure(measure: &MeasureView<'_>, palette: &Palette) -> Markup {
    if measure.is_numeric() { lines::draw(measure, palette) } else { bars::draw(measure, palette) }
}

/// Draws the latencies of a measure.
pub(super) fn quantiles(measure: &MeasureView<'_>, palette: &Palette) -> Markup {
    curves::draw(measure, palette)
}

/// Draws the cost of a read by footprint.
pub(super) fn probe(probe: &ProbeSummary) -> Markup {
    lines::footprint(probe)
}

/// Returns the element that holds a drawing.
fn svg(height: f64, about: &str, drawn: &Markup) -> Markup {
    html! {
        svg viewBox=(format!("0 0 {} {}", px(WIDTH), px(height))) role="img" aria-label=(about) { (drawn) }
    }
}

/// Formats a length in a drawing.
fn px(length: f64) -> String {
    let text = format!("{:.1}", if length.is_finite() { length } else { 0.0 });
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Returns a count as a length.
fn real(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// Returns an upper bound of the width of a text.
fn text_width(text: &str) -> f64 {
    LETTER * real(columns(text))
}

/// Returns the number of text columns that fit the width.
fn columns_in(width: f64) -> usize {
    #[expect(clippy::cast_sign_loss, reason = "not below 0")]
    let columns = (width / LETTER).max(1.0) as usize;
    columns
}

/// Returns the seconds in a unit of time; `None` for other units.
fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    })
}

/// Returns the title of an axis of figures.
fn axis_title(unit: &str, better: crate::result::Better) -> String {
    let what = if seconds(unit).is_some() { "time" } else { unit };
    [Some(what), direction(better)]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Formats a figure briefly: `1.5k`, `20M`; times with their unit, `1.5 µs`.
fn compact(figure: f64, unit: &str) -> String {
    let scaled = |steps: &[(f64, &str)], figure: f64, gap: &str| {
        let step = steps.iter().find(|(least, _)| figure.abs() >= *least * 0.999_5);
        let (divisor, suffix) = *step.or(steps.last()).unwrap_or(&(1.0, ""));
        let gap = if suffix.is_empty() { "" } else { gap };
        format!("{}{gap}{suffix}", three_digits(figure / divisor))
    };
    match seconds(unit) {
        _ if figure == 0.0 => "0".to_owned(),
        Some(second) => {
            let steps = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
            scaled(&steps, figure * second, " ")
        }
        None if figure.abs() < 1e4 => three_digits(figure),
        None => scaled(&[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")], figure, ""),
    }
}

/// Formats a figure with three significant digits, without trailing zeros.
fn three_digits(figure: f64) -> String {
    let size = figure.abs();
    if figure != 0.0 && !(1e-3..1e4).contains(&size) {
        let text = format!("{figure:.2e}");
        return match text.split_once('e') {
            Some((digits, power)) => format!("{}e{power}", trimmed(digits)),
            None => text,
        };
    }
    let decimals = match size {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.1.. => 3,
        _ => 4,
    };
    trimmed(&format!("{figure:.decimals$}")).to_owned()
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// Returns the tooltip of a mark.
fn tip(measure: &MeasureView<'_>, contender: &str, point: Option<&AxisPoint>, figures: Figures) -> String {
    let place = [contender.to_owned(), point_name(point)];
    let place: Vec<_> = place.into_iter().filter(|part| !part.is_empty()).collect();
    let rounds = match figures.rounds {
        1 => "1 round".to_owned(),
        many => format!("{many} rounds, {}", figures.range()),
    };
    format!("{}: {} {} ({rounds})", place.join(", "), number(figures.summary.median), measure.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_compact() {
        for (figure, unit, text) in [
            (0.0, "ns", "0"),
            (1500.0, "ns", "1.5 µs"),
            (999.9, "ns", "1 µs"),
            (0.25, "ns", "0.25 ns"),
            (3.0, "ms", "3 ms"),
            (90.0, "s", "90 s"),
            (9999.0, "Mops/s", "9999"),
            (20_000_000.0, "keys", "20M"),
            (0.300_000_000_000_000_04, "Mops/s", "0.3"),
            (-12_500.0, "", "-12.5k"),
            (1e300, "", "1e288T"),
            (1e-9, "", "1e-9"),
        ] {
            assert_eq!(compact(figure, unit), text);
        }
    }

    #[test]
    fn lengths_are_numbers() {
        assert_eq!(px(1.0), "1");
        assert_eq!(px(1.26), "1.3");
        assert_eq!(px(f64::NAN), "0");
    }
}
