//! The results as reports show them: runs in the order of the file, measures in the order of their
//! first cell, and for each measure its points and contenders in order.

use std::collections::HashMap;

use super::figures::Figures;
use super::footprint;
use crate::result::{AxisPoint, Better, ClaimVerdict, ResultCell, ResultLine, RunRecord};

/// The view of a results file.
#[derive(Debug)]
pub(super) struct ResultsView<'a> {
    /// Its runs.
    pub runs: Vec<RunView<'a>>,
    /// The number of lines of runs that the file does not hold.
    pub strays: usize,
}

/// A run and all its lines.
#[derive(Debug)]
pub(super) struct RunView<'a> {
    /// The run's own line.
    pub run: &'a RunRecord,
    /// Its measures.
    pub measures: Vec<MeasureView<'a>>,
    /// Its notes.
    pub notes: Vec<&'a str>,
    /// Its verdicts.
    pub verdicts: Vec<&'a ClaimVerdict>,
    /// The number of cells and run lines that the file holds again; the first counts.
    pub doubles: usize,
}

/// A measure: the cells that share a chart.
#[derive(Debug)]
pub(super) struct MeasureView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its unit.
    pub unit: &'a str,
    /// The direction in which figures are better.
    pub better: Better,
    /// Its points: sorted if they are numbers, else in the order of the file. Without an axis, one
    /// `None`.
    pub points: Vec<Option<&'a AxisPoint>>,
    /// The contenders with figures, in the order of their turns.
    pub contenders: Vec<&'a str>,
    cells: Vec<&'a ResultCell>,
}

impl<'a> ResultsView<'a> {
    /// Builds the view of these lines.
    pub fn of(lines: &'a [ResultLine]) -> Self {
        let mut runs: Vec<RunView<'a>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for line in lines {
            let ResultLine::Run(run) = line else { continue };
            if let Some(&place) = places.get(&*run.run) {
                runs[place].doubles += 1;
                continue;
            }
            places.insert(&run.run, runs.len());
            runs.push(RunView {
                run,
                measures: Vec::new(),
                notes: Vec::new(),
                verdicts: Vec::new(),
                doubles: 0,
            });
        }
        let mut strays = 0;
        for line in lines {
            match places.get(line.run()) {
                Some(&place) => runs[place].add(line),
                None => strays += 1,
            }
        }
        runs.iter_mut().for_each(RunView::sort);
        Self { runs, strays }
    }
}

impl<'a> RunView<'a> {
    fn add(&mut self, line: &'a ResultLine) {
        match line {
            ResultLine::Cell(cell) => self.add_cell(cell),
            ResultLine::Note(note) if !self.notes.contains(&&*note.text) => self.notes.push(&note.text),
            ResultLine::Verdict(verdict) if !self.verdicts.contains(&verdict) => self.verdicts.push(verdict),
            ResultLine::Run(_) | ResultLine::Note(_) | ResultLine::Verdict(_) => {}
        }
    }

    fn add_cell(&mut self, cell: &'a ResultCell) {
        let of = |measure: &MeasureView<'_>| measure.name == cell.measure && measure.unit == cell.unit;
        let place = self.measures.iter().position(of).unwrap_or_else(|| {
            self.measures.push(MeasureView::begun_by(cell));
            self.measures.len() - 1
        });
        if !self.measures[place].add(cell) {
            self.doubles += 1;
        }
    }

    fn sort(&mut self) {
        for measure in &mut self.measures {
            measure.sort(self.run);
        }
    }

    /// Returns its cells, measure by measure.
    pub fn cells(&self) -> impl Iterator<Item = &'a ResultCell> {
        self.measures.iter().flat_map(|measure| measure.cells.iter().copied())
    }

    /// Returns the notes, with remarks on the figures and on the file itself.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.notes.iter().map(|&note| note.to_owned()).collect();
        remarks.extend(footprint::remarks(self));
        if self.doubles > 0 {
            remarks.push(format!(
                "the file holds {} lines of this run more than once; the first of each is shown",
                self.doubles
            ));
        }
        remarks
    }
}

impl<'a> MeasureView<'a> {
    fn begun_by(cell: &'a ResultCell) -> Self {
        Self {
            name: &cell.measure,
            unit: &cell.unit,
            better: cell.better,
            points: Vec::new(),
            contenders: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Adds a cell; returns false if there is one at its point already.
    fn add(&mut self, cell: &'a ResultCell) -> bool {
        let point = cell.at.as_ref();
        if self.cell(&cell.contender, point).is_some() {
            return false;
        }
        if !self.points.iter().any(|&known| same_point(known, point)) {
            self.points.push(point);
        }
        if !self.contenders.contains(&&*cell.contender) {
            self.contenders.push(&cell.contender);
        }
        self.cells.push(cell);
        true
    }

    fn sort(&mut self, run: &RunRecord) {
        let turn = |name: &str| run.contenders.iter().position(|contender| contender.name == name);
        self.contenders.sort_by_key(|name| turn(name).unwrap_or(usize::MAX));
        if self.is_numeric() {
            let value = |point: Option<&AxisPoint>| point.and_then(|at| at.value).unwrap_or(f64::NAN);
            self.points.sort_by(|one, other| value(*one).total_cmp(&value(*other)));
        }
    }

    /// Returns the cell of a contender at a point.
    pub fn cell(&self, contender: &str, point: Option<&AxisPoint>) -> Option<&'a ResultCell> {
        self.cells
            .iter()
            .copied()
            .find(|cell| cell.contender == contender && same_point(cell.at.as_ref(), point))
    }

    /// Returns the axis of its points; `None` if it has no axis or several.
    pub fn axis(&self) -> Option<&'a str> {
        let mut axes = self.points.iter().map(|point| point.map(|at| &*at.axis));
        let first = axes.next()??;
        axes.all(|axis| axis == Some(first)).then_some(first)
    }

    /// Returns whether its cells have points.
    pub fn has_points(&self) -> bool {
        self.points.iter().any(Option::is_some)
    }

    /// Returns whether its points are numbers, at least two different ones, of one axis, so that
    /// lines may join them.
    pub fn is_numeric(&self) -> bool {
        let values: Option<Vec<f64>> = self
            .points
            .iter()
            .map(|point| point.and_then(|at| at.value).filter(|value| value.is_finite()))
            .collect();
        let Some(values) = values else { return false };
        #[expect(clippy::float_cmp, reason = "the same number is the same point")]
        let different = values.iter().any(|&value| value != values[0]);
        different && self.axis().is_some()
    }

    /// Returns the figures of all its cells.
    pub fn figures(&self) -> impl Iterator<Item = Figures> {
        self.cells.iter().filter_map(|cell| Figures::of(cell))
    }

    /// Returns its cells with quantiles.
    pub fn quantiles(&self) -> impl Iterator<Item = &'a ResultCell> {
        self.cells.iter().copied().filter(|cell| !cell.quantiles.is_empty())
    }

    /// Returns whether a cell at this point has quantiles.
    pub fn has_curve(&self, point: Option<&AxisPoint>) -> bool {
        self.quantiles().any(|cell| same_point(cell.at.as_ref(), point))
    }
}

/// Returns whether two cells are at the same point: the same axis and the same label.
pub(super) fn same_point(one: Option<&AxisPoint>, other: Option<&AxisPoint>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.axis == other.axis && one.label == other.label,
        _ => false,
    }
}

/// Returns the name of a point: `key set rand-8`, `threads 2`.
pub(super) fn point_name(point: Option<&AxisPoint>) -> String {
    point.map_or_else(String::new, |at| format!("{} {}", at.axis, at.label))
}
