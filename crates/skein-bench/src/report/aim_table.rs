//! The verdicts of a run as a table: a row for each aim, a column for each key set.
//!
//! Operations are the rows: there are several dozen of them, and few key sets.

use super::figures::{number, sign};
use super::view::RunView;
use crate::result::{AimCell, ClaimAnswer, ClaimVerdict};

/// The table of a run's aims.
pub(super) struct AimTable<'a> {
    /// The key sets.
    pub columns: Vec<&'a str>,
    /// The aims.
    pub rows: Vec<AimRow<'a>>,
}

/// An aim with its verdict on each key set.
pub(super) struct AimRow<'a> {
    /// The operation, and the rate that it is compared with.
    pub title: &'a str,
    /// The bound.
    pub aim: &'a str,
    /// The verdict in each column; `None` if there is no such aim for the key set.
    pub verdicts: Vec<Option<AimVerdict<'a>>>,
}

/// A verdict with its place in the table.
#[derive(Clone, Copy)]
pub(super) struct AimVerdict<'a> {
    verdict: &'a ClaimVerdict,
    cell: &'a AimCell,
}

impl<'a> AimTable<'a> {
    /// Returns the table of a run; `None` if no verdict of the run has a place in it.
    pub fn of(run: &RunView<'a>) -> Option<Self> {
        let placed = |verdict: &&'a ClaimVerdict| Some(AimVerdict { verdict, cell: verdict.cell.as_ref()? });
        let all: Vec<_> = run.verdicts.iter().filter_map(placed).collect();
        let mut columns: Vec<&str> = Vec::new();
        let mut titles: Vec<[&str; 2]> = Vec::new();
        for AimVerdict { cell, .. } in &all {
            if !columns.contains(&&*cell.column) {
                columns.push(&cell.column);
            }
            if !titles.contains(&[&cell.row, &cell.aim]) {
                titles.push([&cell.row, &cell.aim]);
            }
        }
        let row = |[title, aim]: [&'a str; 2]| {
            let at = |column: &&str| {
                let mut found = all
                    .iter()
                    .filter(|it| [&it.cell.row, &it.cell.aim, &it.cell.column] == [title, aim, column]);
                found.next().copied()
            };
            AimRow { title, aim, verdicts: columns.iter().map(at).collect() }
        };
        let rows: Vec<_> = titles.into_iter().map(row).collect();
        (!rows.is_empty()).then_some(Self { columns, rows })
    }

    /// Returns how many aims have each answer, in words.
    pub fn summary(&self) -> String {
        let all = || self.rows.iter().flat_map(|row| &row.verdicts).flatten();
        let count = |answer| all().filter(|it| it.answer() == answer).count();
        format!(
            "of {} cells {} hold, {} do not, {} cannot be tested",
            all().count(),
            count(ClaimAnswer::Holds),
            count(ClaimAnswer::DoesNotHold),
            count(ClaimAnswer::CannotBeTested)
        )
    }
}

impl<'a> AimVerdict<'a> {
    /// Returns the answer.
    pub fn answer(self) -> ClaimAnswer {
        self.verdict.answer
    }

    /// Returns the figures behind the answer.
    pub fn why(self) -> &'a str {
        &self.verdict.why
    }

    /// Returns the figure with the sign of its answer; the sign alone if nothing was measured.
    pub fn text(self) -> String {
        let sign = sign(self.answer());
        match self.cell.figure.filter(|figure| figure.is_finite()) {
            Some(figure) => format!("{} {sign}", number(figure)),
            None => sign.to_owned(),
        }
    }
}

/// Returns the name of a key set in a column: of a file, its name without the folders.
pub(super) fn column_name(set: &str) -> &str {
    set.rsplit('/').next().unwrap_or(set)
}
