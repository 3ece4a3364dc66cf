//! How ZUNION and its relatives combine the scores of a member that is in several sets.

use super::remove::ScoredMembers;

/// Combines the scores of a member that is in several sets.
#[derive(Clone, Copy)]
pub(super) enum Aggregate {
    Sum,
    Least,
    Greatest,
}

impl Aggregate {
    pub(super) fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Sum => number(a + b),
            Self::Least => a.min(b),
            Self::Greatest => a.max(b),
        }
    }

    /// Sorts members, and makes one of equal ones. Their scores are combined in the order that they
    /// have here.
    pub(super) fn combine(self, members: &mut ScoredMembers) {
        // Stable, and fast for a plain set, which is one sorted run.
        members.sort_by(|(_, one), (_, other)| one.cmp(other));
        members.dedup_by(|(score, member), (sum, kept)| {
            let is_same = member == kept;
            if is_same {
                *sum = self.of(*sum, *score);
            }
            is_same
        });
    }
}

/// Returns 0 for NaN, the sum of opposite infinities.
pub(super) fn number(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}
