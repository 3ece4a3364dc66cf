//! Compares two results files: the cells that moved beyond the noise.
//!
//! A cell moved if its rounds in both files do not overlap, and if the medians differ by more than
//! the width of either file's rounds. With fewer than three rounds the noise is unknown: the cell
//! is shown but not judged.
//!
//! Cells are matched by experiment, measure, unit, contender and point. If a file has several runs
//! of an experiment, runs of equal settings are compared, the last of each.
//!
//! `run_differences` finds reasons for doubt, `cell_change` judges a cell, `display` prints both.

mod cell_change;
mod display;
mod run_differences;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::figures::Figures;
use super::view::{ResultsView, RunView, point_name, same_point};
use crate::result::{Better, ResultCell, ResultLine};
use cell_change::{CellChange, ChangeKind};

/// Settings that describe how a run went; they are not part of the request.
const OUTCOMES: [&str; 1] = ["took"];

/// The changes between the cells of two results files. Its `Display` formats them as text.
#[derive(Debug)]
pub struct Comparison {
    pairs: Vec<RunPair>,
    only_first: Vec<String>,
    only_second: Vec<String>,
}

/// A run and its counterpart.
#[derive(Debug)]
struct RunPair {
    experiment: String,
    started_unix_s: [u64; 2],
    doubts: Vec<String>,
    changes: Vec<CellChange>,
    only_first: Vec<String>,
    only_second: Vec<String>,
}

/// Compares two results files; `first` is before, `second` is after.
pub fn compare(first: &[ResultLine], second: &[ResultLine]) -> Comparison {
    let (first, second) = (ResultsView::of(first), ResultsView::of(second));
    let (first, second) = (latest(&first), latest(&second));
    let mut pairs = Vec::new();
    let mut used = vec![false; first.len()];
    let mut only_second = Vec::new();
    for after in &second {
        match counterpart(&first, after) {
            Some(place) => {
                used[place] = true;
                pairs.push(RunPair::of(first[place], after));
            }
            None => only_second.push(after.run.experiment.clone()),
        }
    }
    let unused = first.iter().zip(used).filter(|(_, used)| !used);
    let only_first = unused.map(|(view, _)| view.run.experiment.clone()).collect();
    Comparison { pairs, only_first, only_second }
}

impl Comparison {
    /// Returns the number of cells that got worse beyond the noise.
    pub fn worse(&self) -> usize {
        self.count(ChangeKind::Worse)
    }

    fn count(&self, moved: ChangeKind) -> usize {
        self.pairs.iter().flat_map(|pair| &pair.changes).filter(|change| change.moved() == moved).count()
    }
}

/// Returns the last run of each experiment and setting.
fn latest<'v, 'a>(view: &'v ResultsView<'a>) -> Vec<&'v RunView<'a>> {
    let mut latest: Vec<&RunView<'_>> = Vec::new();
    for run in &view.runs {
        let same = |known: &&RunView<'_>| {
            known.run.experiment == run.run.experiment && setting(known) == setting(run)
        };
        match latest.iter().position(same) {
            Some(place) if latest[place].run.started_unix_s <= run.run.started_unix_s => latest[place] = run,
            Some(_) => {}
            None => latest.push(run),
        }
    }
    latest
}

/// Returns the run to compare with: one of the same setting, else the last of the experiment.
fn counterpart(runs: &[&RunView<'_>], wanted: &RunView<'_>) -> Option<usize> {
    let of_experiment =
        || (0..runs.len()).filter(|&place| runs[place].run.experiment == wanted.run.experiment);
    of_experiment()
        .find(|&place| setting(runs[place]) == setting(wanted))
        .or_else(|| of_experiment().max_by_key(|&place| runs[place].run.started_unix_s))
}

/// Returns the request of a run.
fn setting<'a>(view: &RunView<'a>) -> BTreeMap<&'a str, &'a str> {
    let all = view.run.setting.iter().map(|(name, value)| (&**name, &**value));
    all.filter(|(name, _)| !OUTCOMES.contains(name)).collect()
}

impl RunPair {
    fn of(before: &RunView<'_>, after: &RunView<'_>) -> Self {
        let mut pair = Self {
            experiment: after.run.experiment.clone(),
            started_unix_s: [before.run.started_unix_s, after.run.started_unix_s],
            doubts: run_differences::between(before, after),
            changes: Vec::new(),
            only_first: Vec::new(),
            only_second: Vec::new(),
        };
        for old in before.cells() {
            let new = after.cells().find(|new| together(old, new));
            match (Figures::of(old), new.and_then(Figures::of)) {
                (Some(was), Some(is)) => {
                    let better = new.map_or(old.better, |new| new.better);
                    let better = if better == old.better { better } else { Better::Neither };
                    let unit = old.unit.clone();
                    pair.changes.push(CellChange { place: place(old), unit, before: was, after: is, better });
                }
                (Some(_), None) => pair.only_first.push(place(old)),
                (None, Some(_)) => pair.only_second.push(place(old)),
                (None, None) => {}
            }
        }
        let new = after.cells().filter(|new| !before.cells().any(|old| together(old, new)));
        pair.only_second.extend(new.map(place));
        pair.changes.sort_by_key(CellChange::moved);
        pair
    }
}

/// Returns whether two cells of one experiment are figures of the same measure, contender and
/// point.
fn together(one: &ResultCell, other: &ResultCell) -> bool {
    one.measure == other.measure
        && one.unit == other.unit
        && one.contender == other.contender
        && same_point(one.at.as_ref(), other.at.as_ref())
}

/// Returns the place of a cell as text: contender, measure and point.
fn place(cell: &ResultCell) -> String {
    let parts = [cell.contender.clone(), cell.measure.clone(), point_name(cell.at.as_ref())];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
