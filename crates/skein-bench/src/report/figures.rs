//! The figures of a cell in a report, and how numbers are written.

use skein_terminal::progress::grouped;

use crate::result::{Better, ClaimAnswer, ResultCell, Summary};

/// The greatest magnitude of a figure in a report, and the reciprocal of the least. Figures are
/// clamped to it, so that differences of figures stay finite.
const GREATEST: f64 = 1e300;

/// The finite rounds of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    /// Median and extremes.
    pub summary: Summary,
    /// The number of rounds.
    pub rounds: usize,
}

impl Figures {
    /// Returns the figures of a cell; `None` if no round is finite.
    pub fn of(cell: &ResultCell) -> Option<Self> {
        let numbers: Vec<f64> =
            cell.rounds.iter().filter(|figure| figure.is_finite()).map(|&figure| clamped(figure)).collect();
        (!numbers.is_empty()).then(|| Self { summary: Summary::of(&numbers), rounds: numbers.len() })
    }

    /// Formats the spread: `3 %`; `-` for a single round or a median of 0.
    pub fn spread(self) -> String {
        let part = self.summary.spread().abs();
        if self.rounds < 2 || !part.is_finite() { "-".to_owned() } else { percent(part) }
    }

    /// Formats the ratio of the median to another's.
    pub fn ratio(self, other: Option<Self>) -> String {
        let ratio = other.map_or(f64::NAN, |other| self.summary.median / other.summary.median);
        if ratio.is_finite() { format!("{}×", number(ratio)) } else { "-".to_owned() }
    }

    /// Formats the range from the least to the greatest.
    pub fn range(self) -> String {
        format!("{} to {}", number(self.summary.least), number(self.summary.greatest))
    }
}

/// Clamps a figure so that calculations with it stay finite.
pub(super) fn clamped(figure: f64) -> f64 {
    if figure.abs() < GREATEST.recip() { 0.0 } else { figure.clamp(-GREATEST, GREATEST) }
}

/// Formats a fraction: `12 %`, `0.4 %`.
pub(super) fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        ..0.95 => format!("{percent:.1} %"),
        ..1e6 => format!("{percent:.0} %"),
        _ => format!("{percent:.1e} %"),
    }
}

/// Formats a figure with three significant digits, or with all digits before the point: `0.0123`,
/// `1.27`, `33.25`, `1,460`.
pub(super) fn number(figure: f64) -> String {
    let text = match figure.abs() {
        0.0 => "0".to_owned(),
        1e-4..1.0 => {
            #[expect(clippy::cast_sign_loss, reason = "the figure is below 1, so its logarithm is below 0")]
            let zeros = -figure.abs().log10().floor() as usize;
            format!("{figure:.*}", zeros + 2)
        }
        1.0..100.0 => format!("{figure:.2}"),
        100.0..1000.0 => format!("{figure:.1}"),
        #[expect(clippy::cast_sign_loss, reason = "an absolute value")]
        1000.0..1e15 => grouped(figure.abs().round_ties_even() as u64),
        _ if figure.is_finite() => return format!("{figure:.2e}"),
        _ => return "-".to_owned(),
    };
    let negative = figure < 0.0 && !text.starts_with('-');
    if negative { format!("-{text}") } else { text }
}

/// Returns the better direction as text; `None` if neither is better.
pub(super) fn direction(better: Better) -> Option<&'static str> {
    match better {
        Better::More => Some("more is better"),
        Better::Less => Some("less is better"),
        Better::Neither => None,
    }
}

/// Formats unit and direction: `Mops/s, more is better`.
pub(super) fn unit_and_direction(unit: &str, better: Better) -> String {
    let parts = [Some(unit).filter(|unit| !unit.is_empty()), direction(better)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns an answer as text.
pub(super) fn answer(answer: ClaimAnswer) -> &'static str {
    match answer {
        ClaimAnswer::Holds => "holds",
        ClaimAnswer::DoesNotHold => "does not hold",
        ClaimAnswer::CannotBeTested => "cannot be tested here",
    }
}

/// Returns the sign of an answer.
pub(super) fn sign(answer: ClaimAnswer) -> &'static str {
    match answer {
        ClaimAnswer::Holds => "✓",
        ClaimAnswer::DoesNotHold => "✗",
        ClaimAnswer::CannotBeTested => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_all_before_the_point() {
        for (figure, text) in [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (0.999_9, "1.000"),
            (1.266, "1.27"),
            (-33.251, "-33.25"),
            (123.44, "123.4"),
            (1460.4, "1,460"),
            (-20e6, "-20,000,000"),
            (1e-9, "1.00e-9"),
            (1e300, "1.00e300"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(number(figure), text, "{figure}");
        }
    }

    #[test]
    fn fractions_are_shown_as_percentages() {
        assert_eq!(percent(0.123), "12 %");
        assert_eq!(percent(0.004), "0.4 %");
        assert_eq!(percent(-0.5), "-50 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
