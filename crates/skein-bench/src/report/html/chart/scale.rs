//! Scales: map figures to positions, linearly or logarithmically, with ticks at round figures.

/// The greatest distance of a linear scale's figures from 0, and of a logarithmic one's from 1 as a
/// factor.
const FURTHEST: f64 = 1e300;

/// A map from figures to positions in a range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AxisScale {
    logarithmic: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl AxisScale {
    /// Returns a linear scale from one figure to another.
    pub fn linear(low: f64, high: f64) -> Self {
        let low = if low.is_nan() { 0.0 } else { low.clamp(-FURTHEST, FURTHEST) };
        let least = low + (low.abs() * 1e-9).max(FURTHEST.recip());
        let high = if high > least { high.min(FURTHEST) } else { low + low.abs().max(1.0) };
        Self { logarithmic: false, low, high, from: 0.0, to: 1.0 }
    }

    /// Returns a logarithmic scale from one positive figure to another.
    pub fn logarithmic(low: f64, high: f64) -> Self {
        let low = if low.is_nan() { 1.0 } else { low.clamp(FURTHEST.recip(), FURTHEST) };
        let high = high.clamp(low * 1.001, FURTHEST * 10.0);
        Self { logarithmic: true, low, high, from: 0.0, to: 1.0 }
    }

    /// Sets the range of positions.
    #[must_use]
    pub fn over(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Returns the position of a figure; figures outside the scale are at its ends.
    pub fn at(&self, figure: f64) -> f64 {
        let (low, high, figure) = if self.logarithmic {
            (self.low.log10(), self.high.log10(), figure.max(self.low).log10())
        } else {
            (self.low, self.high, figure)
        };
        // Halves, since the full distance of two huge figures may overflow.
        let part = (figure / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        self.from + (self.to - self.from) * part
    }

    /// Widens the scale to round figures; returns it with about `about` ticks.
    pub fn rounded(self, about: usize) -> (Self, Vec<f64>) {
        if self.logarithmic {
            return self.rounded_logarithmic(about);
        }
        let ticks = linear_ticks(self.low, self.high, about);
        let end = |tick: Option<&f64>, end: f64| tick.copied().unwrap_or(end);
        let (low, high) = (end(ticks.first(), self.low), end(ticks.last(), self.high));
        (Self { low: low.min(self.low), high: high.max(self.high), ..self }, ticks)
    }

    /// Widens the scale to 1, 2 or 5 times a power of ten. The ticks are those figures, or only
    /// powers if the scale spans many.
    fn rounded_logarithmic(self, about: usize) -> (Self, Vec<f64>) {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let round = |power: i32| [1.0, 2.0, 5.0].map(|times| times * 10f64.powi(power));
        let inside: Vec<f64> = (first..=last).flat_map(round).collect();
        let below = inside.iter().rposition(|&tick| tick <= self.low * 1.000_001).unwrap_or(0);
        let above = inside.iter().position(|&tick| tick >= self.high * 0.999_999).unwrap_or(inside.len() - 1);
        let inside = &inside[below..=above.max(below)];
        let (low, high) = (inside[0].min(self.low), inside[inside.len() - 1].max(self.high));
        let scale = Self { low, high, ..self };
        let powers: Vec<f64> = (first..=last)
            .map(|power| 10f64.powi(power))
            .filter(|power| (low..=high).contains(power))
            .collect();
        if powers.len() <= 2 {
            return (scale, inside.to_vec());
        }
        let step = (powers.len() - 1).div_ceil(about.max(1));
        (scale, powers.into_iter().step_by(step).collect())
    }
}

/// Returns multiples of 1, 2 or 5 times a power of ten, from at most `low` to at least `high`.
fn linear_ticks(low: f64, high: f64, about: usize) -> Vec<f64> {
    let about = super::real(about.max(1));
    let step = (high / about - low / about).max(FURTHEST.recip());
    let power = 10f64.powf(step.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|&nice| nice >= step * 0.999_999);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step + 1e-6).floor();
    let count = ((high / step - 1e-6).ceil() - first).clamp(1.0, 100.0);
    #[expect(clippy::cast_sign_loss, reason = "between 1 and 100")]
    let count = count as usize;
    (0..=count).map(|place| (first + super::real(place)) * step).collect()
}

/// Given labels with these positions and widths, returns which can be shown without touching: the
/// first, the last, and as many between as fit.
pub(super) fn spaced(labels: &[(f64, f64)]) -> Vec<bool> {
    const GAP: f64 = 8.0;
    let ends = |&(at, width): &(f64, f64)| (at - width / 2.0, at + width / 2.0);
    let mut shown = vec![false; labels.len()];
    let (Some(first), Some(last)) = (labels.first(), labels.last()) else { return shown };
    let (mut free, until) = (ends(first).1, ends(last).0);
    shown[0] = true;
    for place in 1..labels.len().saturating_sub(1) {
        let (from, to) = ends(&labels[place]);
        if from >= free + GAP && to + GAP <= until {
            shown[place] = true;
            free = to;
        }
    }
    if until >= free + GAP {
        shown[labels.len() - 1] = true;
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(one: &[f64], other: &[f64]) -> bool {
        one.len() == other.len()
            && one.iter().zip(other).all(|(one, other)| (one - other).abs() <= 1e-9 * other.abs())
    }

    #[test]
    fn ticks_are_round_and_around_the_figures() {
        let ticks = |low, high| AxisScale::linear(low, high).rounded(5).1;
        assert!(close(&ticks(0.0, 7.3), &[0.0, 2.0, 4.0, 6.0, 8.0]));
        assert!(close(&ticks(0.0, 0.05), &[0.0, 0.01, 0.02, 0.03, 0.04, 0.05]));
        assert!(close(&ticks(-3.0, 4.0), &[-4.0, -2.0, 0.0, 2.0, 4.0]));
        assert!(close(&ticks(0.0, 0.0), &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]));
        let ticks = |low, high| AxisScale::logarithmic(low, high).rounded(5).1;
        assert!(close(&ticks(80.0, 9e5), &[100.0, 1e3, 1e4, 1e5, 1e6]));
        assert!(close(&ticks(30.0, 400.0), &[20.0, 50.0, 100.0, 200.0, 500.0]));
        assert!(close(&ticks(1.0, 1e10), &[1.0, 100.0, 1e4, 1e6, 1e8, 1e10]));
    }

    #[test]
    fn figures_lie_in_their_proportion() {
        let linear = AxisScale::linear(0.0, 10.0).over(100.0, 200.0);
        assert!((linear.at(2.5) - 125.0).abs() < 1e-9);
        assert!((linear.at(99.0) - 200.0).abs() < 1e-9);
        let logarithmic = AxisScale::logarithmic(1.0, 100.0).over(200.0, 0.0);
        assert!((logarithmic.at(10.0) - 100.0).abs() < 1e-9);
        assert!((logarithmic.at(-1.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn labels_do_not_touch() {
        let labels: Vec<(f64, f64)> = (0..64).map(|place| (f64::from(place) * 6.0, 14.0)).collect();
        let shown: Vec<f64> =
            labels.iter().zip(spaced(&labels)).filter(|(_, shown)| *shown).map(|((at, _), _)| *at).collect();
        assert!(shown.windows(2).all(|pair| pair[1] - pair[0] >= 14.0));
        assert_eq!((shown.first(), shown.last()), (Some(&0.0), Some(&378.0)));
        assert_eq!(spaced(&[(5.0, 20.0), (6.0, 20.0)]), [true, false]);
        assert!(spaced(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn any_figures_have_a_scale(low in any::<f64>(), high in any::<f64>(), figure in any::<f64>()) {
            for scale in [AxisScale::linear(low, high), AxisScale::logarithmic(low, high)] {
                let (scale, ticks) = scale.rounded(5);
                prop_assert!(!ticks.is_empty() && ticks.len() <= 102, "{ticks:?}");
                prop_assert!(ticks.iter().all(|tick| tick.is_finite()), "{ticks:?}");
                let at = scale.over(3.0, 7.0).at(figure);
                prop_assert!((3.0..=7.0).contains(&at), "{at}");
            }
        }
    }
}
