//! Formats a comparison for the terminal.

use std::fmt;

use super::cell_change::{CellChange, ChangeKind};
use super::{Comparison, RunPair};
use crate::report::figures::{number, percent};
use crate::report::text::{date, one_line};

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for pair in &self.pairs {
            writeln!(out, "{pair}")?;
        }
        for (side, runs) in [("first", &self.only_first), ("second", &self.only_second)] {
            for experiment in runs {
                writeln!(out, "{}: only in the {side} file", one_line(experiment))?;
            }
        }
        let compared: usize = self.pairs.iter().map(|pair| pair.changes.len()).sum();
        if compared == 0 {
            return write!(out, "No cell is in both files.");
        }
        write!(out, "Of {compared} cells in both files")?;
        for (moved, text) in ALL {
            write!(out, ", {} {text}", self.count(moved))?;
        }
        write!(out, ".")
    }
}

const ALL: [(ChangeKind, &str); 5] = [
    (ChangeKind::Worse, "got worse"),
    (ChangeKind::Better, "got better"),
    (ChangeKind::Elsewhere, "moved in a measure without a better direction"),
    (ChangeKind::Unknown, "have too few rounds to say"),
    (ChangeKind::Within, "stayed within the noise"),
];

impl fmt::Display for RunPair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.started_unix_s.map(date);
        writeln!(out, "{}: {first}, then {second}", one_line(&self.experiment))?;
        for doubt in &self.doubts {
            writeln!(out, "  differs  {}", one_line(doubt))?;
        }
        let mut within = 0;
        for change in &self.changes {
            let word = match change.moved() {
                ChangeKind::Worse => "worse",
                ChangeKind::Better => "better",
                ChangeKind::Elsewhere => "moved",
                ChangeKind::Unknown => "noise?",
                ChangeKind::Within => {
                    within += 1;
                    continue;
                }
            };
            writeln!(out, "  {word:<7}  {change}")?;
        }
        for (side, places) in [("first", &self.only_first), ("second", &self.only_second)] {
            for place in places {
                writeln!(out, "  only in the {side} file: {}", one_line(place))?;
            }
        }
        if within > 0 {
            writeln!(out, "  {within} of {} cells stayed within the noise", self.changes.len())?;
        }
        Ok(())
    }
}

impl fmt::Display for CellChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = self.part().map_or(String::new(), |part| {
            format!("{}{}, ", if part > 0.0 { "+" } else { "" }, percent(part))
        });
        let (before, after) = (self.before, self.after);
        write!(
            out,
            "{}: {}, then {} {} ({step}rounds {}, then {}",
            one_line(&self.place),
            number(before.summary.median),
            number(after.summary.median),
            one_line(&self.unit),
            before.range(),
            after.range()
        )?;
        if self.moved() == ChangeKind::Unknown {
            write!(out, "; {} and {} rounds are too few to know the noise", before.rounds, after.rounds)?;
        }
        write!(out, ")")
    }
}
