//! Statistics over the rounds of one figure.

/// The median and the extremes of several figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The middle figure.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Summary {
    /// Summarises these figures. All fields are NaN if there are no figures.
    pub fn of(rounds: &[f64]) -> Self {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = match sorted.len() {
            0 => f64::NAN,
            len if len % 2 == 1 => sorted[len / 2],
            len => f64::midpoint(sorted[len / 2 - 1], sorted[len / 2]),
        };
        let end = |figure: Option<&f64>| figure.copied().unwrap_or(f64::NAN);
        Self { median, least: end(sorted.first()), greatest: end(sorted.last()) }
    }

    /// Returns the distance from the least figure to the greatest.
    pub fn width(self) -> f64 {
        self.greatest - self.least
    }

    /// Returns that distance as a fraction of the median.
    pub fn spread(self) -> f64 {
        self.width() / self.median
    }

    /// Returns whether the medians differ by more than the width of either summary.
    pub fn far_from(self, other: Self) -> bool {
        (self.median - other.median).abs() > self.width().max(other.width())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_spread() {
        assert!((Summary::of(&[3.0, 1.0, 2.0]).median - 2.0).abs() < 1e-9);
        assert!((Summary::of(&[4.0, 1.0, 2.0, 3.0]).median - 2.5).abs() < 1e-9);
        assert!((Summary::of(&[1.0, 2.0, 3.0]).spread() - 1.0).abs() < 1e-9);
        assert!(Summary::of(&[]).median.is_nan());
    }
}
