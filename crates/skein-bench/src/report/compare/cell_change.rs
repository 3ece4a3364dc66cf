//! The figures of one cell, before and after.

use crate::report::figures::Figures;
use crate::result::Better;

/// The number of rounds needed to know the noise.
const ROUNDS: usize = 3;

/// A cell that both files hold.
#[derive(Debug)]
pub(super) struct CellChange {
    /// Contender, measure and point.
    pub place: String,
    /// The unit of both.
    pub unit: String,
    /// The figures in the first file.
    pub before: Figures,
    /// The figures in the second.
    pub after: Figures,
    /// The direction in which figures are better.
    pub better: Better,
}

/// The kind of change, in the order in which changes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChangeKind {
    /// Worse beyond the noise.
    Worse,
    /// Better beyond the noise.
    Better,
    /// Beyond the noise; neither direction is better.
    Elsewhere,
    /// Unknown: there are too few rounds.
    Unknown,
    /// Within the noise.
    Within,
}

impl CellChange {
    /// Returns the kind of change.
    pub fn moved(&self) -> ChangeKind {
        let (before, after) = (self.before.summary, self.after.summary);
        if self.before.rounds.min(self.after.rounds) < ROUNDS {
            return ChangeKind::Unknown;
        }
        let apart = before.greatest < after.least || after.greatest < before.least;
        let rose = after.median > before.median;
        match self.better {
            _ if !(apart && after.far_from(before)) => ChangeKind::Within,
            Better::Neither => ChangeKind::Elsewhere,
            Better::More if rose => ChangeKind::Better,
            Better::Less if !rose => ChangeKind::Better,
            Better::More | Better::Less => ChangeKind::Worse,
        }
    }

    /// Returns the change of the median as a fraction of its value before; `None` if that was 0.
    pub fn part(&self) -> Option<f64> {
        let (before, after) = (self.before.summary.median, self.after.summary.median);
        Some((after - before) / before.abs()).filter(|part| part.is_finite())
    }
}
