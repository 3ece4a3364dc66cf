//! One cell, before and after.

use crate::report::figures::Figures;
use crate::result::Better;

/// Rounds that it takes to know the noise.
const ROUNDS: usize = 3;

/// A cell of both files.
#[derive(Debug)]
pub(super) struct CellChange {
    /// Contender, measure and point.
    pub place: String,
    /// The unit of both.
    pub unit: String,
    /// In the first file.
    pub before: Figures,
    /// In the second.
    pub after: Figures,
    /// Which way is better.
    pub better: Better,
}

/// What became of a cell, in the order in which it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChangeKind {
    /// Beyond the noise, for the worse.
    Worse,
    /// Beyond the noise, for the better.
    Better,
    /// Beyond the noise; neither way is better.
    Elsewhere,
    /// There are too few rounds to say.
    Unknown,
    /// Not beyond the noise.
    Within,
}

impl CellChange {
    /// What became of it.
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

    /// The step of the median as a part of what it was; none from 0.
    pub fn part(&self) -> Option<f64> {
        let (before, after) = (self.before.summary.median, self.after.summary.median);
        Some((after - before) / before.abs()).filter(|part| part.is_finite())
    }
}
