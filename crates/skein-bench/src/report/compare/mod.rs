//! Two results files beside each other: which cells moved beyond the noise.
//!
//! A cell moved if the rounds of the one file and those of the other do not overlap, and their medians are further apart than either
//! cell's rounds are among themselves. Fewer than three rounds say too little of the noise: such a cell is shown, and not judged. Cells
//! belong together by experiment, measure, unit, contender and point; where a file has several runs of an experiment, those of equal
//! settings are compared, the last of each.

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

/// Settings that say how a run went, not what it did.
const OUTCOMES: [&str; 1] = ["took"];

/// What became of the cells of one results file in another. Shown as text by its `Display`.
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

/// Compares two results files: what the first holds is before, what the second holds is after.
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
    /// How many cells got worse beyond the noise.
    pub fn worse(&self) -> usize {
        self.count(ChangeKind::Worse)
    }

    fn count(&self, moved: ChangeKind) -> usize {
        self.pairs.iter().flat_map(|pair| &pair.changes).filter(|change| change.moved() == moved).count()
    }
}

/// The last run of each experiment and setting.
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

/// The run to compare with: of the same setting, else the last of the experiment.
fn counterpart(runs: &[&RunView<'_>], wanted: &RunView<'_>) -> Option<usize> {
    let of_experiment =
        || (0..runs.len()).filter(|&place| runs[place].run.experiment == wanted.run.experiment);
    of_experiment()
        .find(|&place| setting(runs[place]) == setting(wanted))
        .or_else(|| of_experiment().max_by_key(|&place| runs[place].run.started_unix_s))
}

/// What a run was asked to do.
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

/// Whether two cells of one experiment are figures of the same thing.
fn together(one: &ResultCell, other: &ResultCell) -> bool {
    one.measure == other.measure
        && one.unit == other.unit
        && one.contender == other.contender
        && same_point(one.at.as_ref(), other.at.as_ref())
}

/// Where a cell is, in words.
fn place(cell: &ResultCell) -> String {
    let parts = [cell.contender.clone(), cell.measure.clone(), point_name(cell.at.as_ref())];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
