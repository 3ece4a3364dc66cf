//! The results format: a run writes one JSON object per line; reports and comparisons read them.
//!
//! ```text
//!   {"kind":"run", ...}       an experiment started: its setting, its machine, its contenders
//!   {"kind":"cell", ...}      one contender at one point: a figure per round, perhaps quantiles
//!   {"kind":"note", ...}      a remark for the reader of the report
//!   {"kind":"verdict", ...}   whether the claim holds
//! ```
//!
//! Every line carries the name of its run in the field `run`, so `cat` may join files.
//! `docs/benchmarks/results-files.md` documents every field. Read this file first, then `file.rs`,
//! and `stats.rs` for the median and the spread of a figure's rounds.

mod file;
mod stats;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use file::{ResultSink, read};
pub use stats::Summary;

/// The version of this format. Readers reject greater versions.
pub const SCHEMA: u32 = 1;

/// The measure of an index's size in MiB. A report looks up the cost of a random read in that much
/// memory.
pub const FOOTPRINT: &str = "footprint";

/// One line of a results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ResultLine {
    /// The start of an experiment.
    Run(RunRecord),
    /// Figures of one contender at one point.
    Cell(ResultCell),
    /// A remark for the reader.
    Note(ResultNote),
    /// Whether the claim holds.
    Verdict(ClaimVerdict),
}

/// One run of one experiment: its setting, its machine and its contenders.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The schema's version, [`SCHEMA`].
    pub schema: u32,
    /// The run's name. It is unique, and the run's other lines refer to it.
    pub run: String,
    /// The experiment's name, for instance `masstree-fig8`.
    pub experiment: String,
    /// The comparison, in one line.
    pub title: String,
    /// The paper, and the figure or table in it.
    pub source: String,
    /// The paper's claim, in our words.
    pub claim: String,
    /// The time of the start, in seconds since 1970.
    pub started_unix_s: u64,
    /// The version of SkeinDB that took the figures.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// The parameters by name: size, key set, counts, rounds, clock, huge pages.
    pub setting: BTreeMap<String, String>,
    /// The machine that ran it.
    pub machine: Machine,
    /// The contenders that were measured, in the order of their turns.
    pub contenders: Vec<ContenderRecord>,
    /// The contenders that were not measured, with the reason.
    pub absent: Vec<AbsentContender>,
}

/// The machine that a figure was measured on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// The number of cores that the process may use.
    pub cores: usize,
    /// The data caches, from the first level on, for instance `L1 48K`.
    pub caches: Vec<String>,
    /// Main memory in bytes.
    pub memory_bytes: u64,
    /// The kernel's setting of transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: String,
    /// The kernel's release.
    pub kernel: String,
    /// The probe's figures, if the probe ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSummary>,
}

/// The part of the probe's result that every report carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeSummary {
    /// Pairs of a footprint in bytes and the nanoseconds of a dependent random read in it, on huge
    /// pages.
    pub read_ns_by_footprint: Vec<(u64, f64)>,
    /// The constant c of T = 1 + c(K - 1), on huge pages, in the greatest footprint measured.
    pub mlp_c: f64,
    /// The same constant on pages of 4 KiB.
    pub mlp_c_small_pages: f64,
    /// The share of the memory that the system put on huge pages, of all that asked for them: 0 to
    /// 1.
    pub huge_share: f64,
}

/// A contender that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContenderRecord {
    /// Its name.
    pub name: String,
    /// Its version and configuration.
    pub about: String,
}

/// A contender that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbsentContender {
    /// Its name.
    pub name: String,
    /// The reason, and how to make the contender available.
    pub why: String,
}

/// Figures of one contender at one point of one measure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultCell {
    /// The run it belongs to.
    pub run: String,
    /// The name of the measure, for instance `lookup`. Cells of one measure share a chart and a
    /// unit.
    pub measure: String,
    /// The unit of the figures, for instance `Mops/s`.
    pub unit: String,
    /// The direction in which figures are better.
    pub better: Better,
    /// The contender's name.
    pub contender: String,
    /// The point on the chart's axis; `None` if the measure has one point per contender.
    pub at: Option<AxisPoint>,
    /// One figure per round.
    pub rounds: Vec<f64>,
    /// For latencies: pairs of a quantile (0 to 1) and its figure, rising, over all rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<(f64, f64)>,
}

/// The direction in which figures are better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better: a rate.
    More,
    /// Less is better: a time, a size.
    Less,
    /// Neither is better: the figure is a description.
    #[default]
    Neither,
}

/// A point on a chart's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisPoint {
    /// The axis, with its unit if it has one: `threads`, `keys`, `key bytes`, `key set`.
    pub axis: String,
    /// The label of the point.
    pub label: String,
    /// The position on an axis of numbers; `None` on an axis of names.
    pub value: Option<f64>,
}

/// A remark for the reader of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultNote {
    /// The run it belongs to.
    pub run: String,
    /// The text.
    pub text: String,
}

/// Whether a claim holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// The run it belongs to.
    pub run: String,
    /// The answer.
    pub answer: ClaimAnswer,
    /// The figures that it rests on.
    pub why: String,
    /// Its place in a table of aims; `None` if it is not an aim for a key set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<AimCell>,
}

/// The place of a verdict in a table of aims, and the figure there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AimCell {
    /// The row: an operation, and the rate that it is compared with.
    pub row: String,
    /// The bound of the aim, for instance `≥ 1.2`.
    pub aim: String,
    /// The column: the key set.
    pub column: String,
    /// The ratio, or the bytes per key; `None` if it was not measured.
    pub figure: Option<f64>,
}

/// The answer to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimAnswer {
    /// It holds.
    Holds,
    /// It does not hold.
    DoesNotHold,
    /// It cannot be tested in this run: the data is too small, there are too few cores, or a
    /// contender is missing.
    CannotBeTested,
}

impl ResultLine {
    /// Returns the name of the run that the line belongs to.
    pub fn run(&self) -> &str {
        match self {
            Self::Run(run) => &run.run,
            Self::Cell(cell) => &cell.run,
            Self::Note(note) => &note.run,
            Self::Verdict(verdict) => &verdict.run,
        }
    }

    /// Returns the figures of the line, if it has some.
    pub fn cell(&self) -> Option<&ResultCell> {
        if let Self::Cell(cell) = self { Some(cell) } else { None }
    }
}

impl AxisPoint {
    /// Returns a point on an axis of numbers.
    pub fn number(axis: &str, value: f64) -> Self {
        Self { axis: axis.to_owned(), label: format!("{value}"), value: Some(value) }
    }

    /// Returns a point on an axis of names.
    pub fn name(axis: &str, label: &str) -> Self {
        Self { axis: axis.to_owned(), label: label.to_owned(), value: None }
    }
}

impl ResultCell {
    /// Returns the median and the extremes of the rounds.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.rounds)
    }
}
