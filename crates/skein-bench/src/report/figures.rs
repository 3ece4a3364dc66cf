//! What reports say of a cell: the rounds that are numbers, and how figures are written.

use crate::result::{Better, ClaimAnswer, ResultCell, Summary};

/// Beyond this, and closer to 0 than its reciprocal, a figure is drawn as if it were there: differences of such figures still are numbers.
const GREATEST: f64 = 1e300;

/// A cell's rounds, as far as they are numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figures {
    /// Median and extremes.
    pub summary: Summary,
    /// How many rounds they are from.
    pub rounds: usize,
}

impl Figures {
    /// Of a cell; none if it has no number.
    pub fn of(cell: &ResultCell) -> Option<Self> {
        let numbers: Vec<f64> =
            cell.rounds.iter().filter(|figure| figure.is_finite()).map(|&figure| tame(figure)).collect();
        (!numbers.is_empty()).then(|| Self { summary: Summary::of(&numbers), rounds: numbers.len() })
    }

    /// The spread in words: `3 %`; of one round, or around 0, there is none.
    pub fn spread(self) -> String {
        let part = self.summary.spread().abs();
        if self.rounds < 2 || !part.is_finite() { "-".to_owned() } else { percent(part) }
    }

    /// The median beside another's.
    pub fn ratio(self, other: Option<Self>) -> String {
        let ratio = other.map_or(f64::NAN, |other| self.summary.median / other.summary.median);
        if ratio.is_finite() { format!("{}×", number(ratio)) } else { "-".to_owned() }
    }

    /// From the least to the greatest.
    pub fn range(self) -> String {
        format!("{} to {}", number(self.summary.least), number(self.summary.greatest))
    }
}

/// A figure that can be computed with.
pub(super) fn tame(figure: f64) -> f64 {
    if figure.abs() < GREATEST.recip() { 0.0 } else { figure.clamp(-GREATEST, GREATEST) }
}

/// A part of one: `12 %`, `0.4 %`.
pub(super) fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        ..0.95 => format!("{percent:.1} %"),
        ..1e6 => format!("{percent:.0} %"),
        _ => format!("{percent:.1e} %"),
    }
}

/// A figure with three digits that count, or all before the point: `0.0123`, `1.27`, `33.25`, `1,460`.
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
        1000.0..1e15 => thousands(&format!("{:.0}", figure.abs())),
        _ if figure.is_finite() => return format!("{figure:.2e}"),
        _ => return "-".to_owned(),
    };
    let negative = figure < 0.0 && !text.starts_with('-');
    if negative { format!("-{text}") } else { text }
}

/// Digits in groups of three.
fn thousands(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Which way is better, in words; nothing where neither is.
pub(super) fn direction(better: Better) -> Option<&'static str> {
    match better {
        Better::More => Some("more is better"),
        Better::Less => Some("less is better"),
        Better::Neither => None,
    }
}

/// Unit and direction: `Mops/s, more is better`.
pub(super) fn unit_and_direction(unit: &str, better: Better) -> String {
    let parts = [Some(unit).filter(|unit| !unit.is_empty()), direction(better)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// An answer in words.
pub(super) fn answer(answer: ClaimAnswer) -> &'static str {
    match answer {
        ClaimAnswer::Holds => "holds",
        ClaimAnswer::DoesNotHold => "does not hold",
        ClaimAnswer::CannotBeTested => "cannot be tested here",
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
    fn parts_of_one() {
        assert_eq!(percent(0.123), "12 %");
        assert_eq!(percent(0.004), "0.4 %");
        assert_eq!(percent(-0.5), "-50 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
