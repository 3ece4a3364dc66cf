//! Results: a table for people, JSON lines for programs.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// All rounds of one contender in one loop.
pub struct Cell {
    /// Who.
    pub contender: &'static str,
    /// What was measured, for instance `lookup`.
    pub measure: String,
    /// What the figures are, for instance `Mops/s`.
    pub unit: &'static str,
    /// One figure per round.
    pub rounds: Vec<f64>,
}

impl Cell {
    /// The middle figure.
    pub fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            len if len % 2 == 1 => sorted[len / 2],
            len => f64::midpoint(sorted[len / 2 - 1], sorted[len / 2]),
        }
    }

    /// The distance from the least to the greatest figure, in per cent of the median.
    pub fn spread(&self) -> f64 {
        let least = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = self.rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (greatest - least) / self.median() * 100.0
    }
}

/// The results of one run.
pub struct Report {
    /// The experiment's name.
    pub experiment: &'static str,
    /// The parameters, as text.
    pub setting: String,
    /// The machine's line.
    pub machine: String,
    /// Everything measured, in the order in which it came.
    pub cells: Vec<Cell>,
    /// What a reader has to know: wrong answers, contenders left out.
    pub notes: Vec<String>,
}

impl Report {
    /// An empty report.
    pub fn new(experiment: &'static str, setting: String) -> Self {
        Self { experiment, setting, machine: crate::machine::line(), cells: Vec::new(), notes: Vec::new() }
    }

    /// Adds one round's figure.
    pub fn add(&mut self, contender: &'static str, measure: &str, unit: &'static str, figure: f64) {
        let known = self.cells.iter_mut().find(|cell| cell.contender == contender && cell.measure == measure);
        if let Some(cell) = known {
            cell.rounds.push(figure);
        } else {
            self.cells.push(Cell { contender, measure: measure.to_owned(), unit, rounds: vec![figure] });
        }
    }

    /// Adds a note, once.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The median of a cell, if it was measured.
    pub fn median(&self, contender: &str, measure: &str) -> Option<f64> {
        let cell = self.cells.iter().find(|cell| cell.contender == contender && cell.measure == measure)?;
        Some(cell.median())
    }

    /// The table: one line per measure and contender, with the ratio to the first contender's median.
    pub fn table(&self) -> String {
        let mut text = format!("{}: {}\n{}\n\n", self.experiment, self.setting, self.machine);
        let _ = writeln!(
            text,
            "{:<26} {:<20} {:>10} {:<9} {:>7}  {:>12}",
            "measure", "contender", "median", "unit", "spread", "first / this"
        );
        let mut measures: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !measures.contains(&cell.measure.as_str()) {
                measures.push(&cell.measure);
            }
        }
        for measure in measures {
            let mut first = None;
            for cell in self.cells.iter().filter(|cell| cell.measure == measure) {
                let median = cell.median();
                let ratio = *first.get_or_insert(median) / median;
                let _ = writeln!(
                    text,
                    "{:<26} {:<20} {:>10.3} {:<9} {:>6.1}%  {:>12.2}",
                    measure,
                    cell.contender,
                    median,
                    cell.unit,
                    cell.spread(),
                    ratio
                );
            }
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    /// Appends one JSON object per cell to the file.
    pub fn append_json(&self, path: &Path) -> Result<(), String> {
        let failed = |error| format!("cannot write results to {}: {error}", path.display());
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        for cell in &self.cells {
            let rounds: Vec<String> = cell.rounds.iter().map(|figure| number(*figure)).collect();
            let notes: Vec<String> = self.notes.iter().map(|note| quoted(note)).collect();
            let line = format!(
                "{{\"experiment\":{},\"setting\":{},\"machine\":{},\"measure\":{},\"contender\":{},\"unit\":{},\
                 \"median\":{},\"rounds\":[{}],\"notes\":[{}]}}\n",
                quoted(self.experiment),
                quoted(&self.setting),
                quoted(&self.machine),
                quoted(&cell.measure),
                quoted(cell.contender),
                quoted(cell.unit),
                number(cell.median()),
                rounds.join(","),
                notes.join(",")
            );
            file.write_all(line.as_bytes()).map_err(failed)?;
        }
        Ok(())
    }
}

/// A JSON number; JSON has none for what is not finite.
fn number(figure: f64) -> String {
    if figure.is_finite() { format!("{figure}") } else { "null".to_owned() }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_spread() {
        let cell = |rounds: &[f64]| Cell {
            contender: "",
            measure: String::new(),
            unit: "",
            rounds: rounds.to_vec(),
        };
        assert!((cell(&[3.0, 1.0, 2.0]).median() - 2.0).abs() < 1e-9);
        assert!((cell(&[4.0, 1.0, 2.0, 3.0]).median() - 2.5).abs() < 1e-9);
        assert!((cell(&[1.0, 2.0, 3.0]).spread() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn json_is_escaped() {
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
        assert_eq!(number(f64::NAN), "null");
    }
}
