//! Results: what a run writes, one JSON object per line, and what reports and comparisons read.
//!
//! ```text
//!   {"kind":"run", ...}       one experiment was begun: what, where, how, with whom
//!   {"kind":"cell", ...}      one contender at one point: a figure per round, perhaps quantiles
//!   {"kind":"note", ...}      what a reader has to know
//!   {"kind":"verdict", ...}   whether the claim holds
//! ```
//!
//! The lines of one run carry its name in `run`, so files may be joined with `cat`. `docs/benchmarks/` documents every field.

mod file;
mod stats;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use file::{ResultSink, read};
pub use stats::Summary;

/// The version of this schema; a reader refuses greater ones.
pub const SCHEMA: u32 = 1;

/// The measure that says how many MiB an index has; a report looks up what a random read in so much memory costs.
pub const FOOTPRINT: &str = "footprint";

/// One line of a results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ResultLine {
    /// An experiment was begun.
    Run(RunRecord),
    /// Figures of one contender at one point.
    Cell(ResultCell),
    /// What a reader has to know.
    Note(ResultNote),
    /// Whether the claim holds.
    Verdict(ClaimVerdict),
}

/// One run of one experiment: what was done, on what machine, with which contenders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The schema's version, [`SCHEMA`].
    pub schema: u32,
    /// The run's name: unique, and what its other lines refer to.
    pub run: String,
    /// The experiment's name, for instance `masstree-fig8`.
    pub experiment: String,
    /// What it compares, in a line.
    pub title: String,
    /// The paper, and the figure or table in it.
    pub source: String,
    /// What the paper claims, in our words.
    pub claim: String,
    /// When it began, in seconds since 1970.
    pub started_unix_s: u64,
    /// The version of SkeinDB that measured.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// The parameters by name: size, key set, counts, rounds, clock, huge pages.
    pub setting: BTreeMap<String, String>,
    /// The machine.
    pub machine: Machine,
    /// Who was measured, in the order of their turns.
    pub contenders: Vec<ContenderRecord>,
    /// Who was not, and why.
    pub absent: Vec<AbsentContender>,
}

/// The machine that a figure is from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Cores that the process may use.
    pub cores: usize,
    /// Caches of data, from the first level on, for instance `L1 48K`.
    pub caches: Vec<String>,
    /// Main memory in bytes.
    pub memory_bytes: u64,
    /// The kernel's word on transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: String,
    /// The kernel's release.
    pub kernel: String,
    /// What the probe measured, if it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSummary>,
}

/// The part of the probe's result that every report carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeSummary {
    /// Time of a dependent random read by footprint in bytes, in nanoseconds, on huge pages.
    pub read_ns_by_footprint: Vec<(u64, f64)>,
    /// The constant c of T = 1 + c(K - 1), on huge pages, in the greatest footprint measured.
    pub mlp_c: f64,
    /// The same on pages of 4 KiB.
    pub mlp_c_small_pages: f64,
    /// Which part of the memory that asked for huge pages was given them, 0 to 1.
    pub huge_share: f64,
}

/// A contender as it was measured.
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
    /// Why not, and what would bring it in.
    pub why: String,
}

/// Figures of one contender at one point of one measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultCell {
    /// The run it belongs to.
    pub run: String,
    /// What was measured, for instance `lookup`. Cells of one measure share a chart, and a unit.
    pub measure: String,
    /// What the figures are, for instance `Mops/s`.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Who.
    pub contender: String,
    /// Where on the chart's axis; none where a measure has one point per contender.
    pub at: Option<AxisPoint>,
    /// One figure per round.
    pub rounds: Vec<f64>,
    /// For latencies: pairs of quantile (0 to 1) and figure, rising, over all rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<(f64, f64)>,
}

/// Whether more or less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A rate.
    More,
    /// A time, a size.
    Less,
    /// Neither: a description.
    Neither,
}

/// A point on a chart's axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisPoint {
    /// What the axis is, with its unit if it has one: `threads`, `keys`, `key bytes`, `key set`.
    pub axis: String,
    /// How the point is called.
    pub label: String,
    /// Where it lies, on an axis of numbers; none on one of names.
    pub value: Option<f64>,
}

/// What a reader has to know.
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
}

/// The answer to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimAnswer {
    /// It holds.
    Holds,
    /// It does not.
    DoesNotHold,
    /// It cannot be tested here: too small, too few cores, a contender is missing.
    CannotBeTested,
}

impl ResultLine {
    /// The name of the run it belongs to.
    pub fn run(&self) -> &str {
        match self {
            Self::Run(run) => &run.run,
            Self::Cell(cell) => &cell.run,
            Self::Note(note) => &note.run,
            Self::Verdict(verdict) => &verdict.run,
        }
    }
}

impl AxisPoint {
    /// A point on an axis of numbers.
    pub fn number(axis: &str, value: f64) -> Self {
        Self { axis: axis.to_owned(), label: format!("{value}"), value: Some(value) }
    }

    /// A point on an axis of names.
    pub fn name(axis: &str, label: &str) -> Self {
        Self { axis: axis.to_owned(), label: label.to_owned(), value: None }
    }
}

impl ResultCell {
    /// Median and extremes of the rounds.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.rounds)
    }
}
