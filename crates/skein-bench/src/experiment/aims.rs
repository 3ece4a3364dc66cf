//! This project's aims for its own indexes, by kind of key set: rates relative to other contenders
//! or measures, and bytes per key. Each aim has a verdict on each key set.

use super::Bench;
use super::findings::{Findings, Judgement, rounded};
use super::grid::GridPoint;
use super::index_memory::{BESIDE, PARTS, part_of};
use super::memory::{MOST, add_most};
use crate::Result;
use crate::keyset::KeySet;
use crate::result::AimCell;
use crate::rival::index;

/// The rate that an aim compares with.
#[derive(Debug, Clone, Copy)]
pub enum Beside {
    /// A measure of a contender.
    Contender(&'static str, &'static str),
    /// A measure of the first of these contenders that was measured.
    FirstOf(&'static str, &'static [&'static str]),
    /// A measure of the peer that is best in it: a rival that has an order and supports several
    /// threads.
    BestPeer(&'static str),
}

impl Beside {
    /// Returns the contender on a key set, with its rate; `None` if it was not measured.
    fn rate(self, findings: &Findings, set: &str) -> Option<(&'static str, f64)> {
        match self {
            Self::Contender(measure, name) => findings.best(measure, &[name], Some(set)),
            Self::FirstOf(measure, names) => {
                names.iter().find_map(|name| findings.best(measure, &[name], Some(set)))
            }
            Self::BestPeer(measure) => findings.best(measure, &index::peers(), Some(set)),
        }
    }

    /// Returns the rate's name in a verdict on the rate `measure` of the index `ours`.
    fn words(self, measure: &str, ours: &str) -> String {
        let (other, contender) = match self {
            Self::Contender(other, contender) if contender == ours => return format!("its {other}"),
            Self::Contender(other, contender) => (other, contender.to_owned()),
            Self::FirstOf(other, contenders) => (other, contenders.join(" or ")),
            Self::BestPeer(other) => (other, "best peer".to_owned()),
        };
        if other == measure { contender } else { format!("{other} of {contender}") }
    }
}

/// The aim for a rate relative to another rate, by kind of key set.
#[derive(Debug)]
pub struct Rate<const KINDS: usize> {
    /// The measure of the index.
    pub measure: &'static str,
    /// The other rate.
    pub beside: Beside,
    /// The least ratio; `None`: there is no aim.
    pub least: [Option<f64>; KINDS],
}

/// Returns the aim that the rate of `measure` is at least `least` times that of another measure or
/// contender, by kind of key set.
pub const fn rate<const KINDS: usize>(
    measure: &'static str,
    (other, contender): (&'static str, &'static str),
    least: [Option<f64>; KINDS],
) -> Rate<KINDS> {
    Rate { measure, beside: Beside::Contender(other, contender), least }
}

/// The aims for one index.
#[derive(Debug)]
pub struct Aims<const KINDS: usize> {
    /// The index's name in reports.
    pub index: &'static str,
    /// The index's name in sentences.
    pub words: &'static str,
    /// The prefixes of key set names, by kind.
    pub kinds: [&'static str; KINDS],
    /// The aims for rates.
    pub rates: &'static [Rate<KINDS>],
    /// The greatest bytes per key, without keys and values, by kind.
    pub bytes: [Option<f64>; KINDS],
    /// The part of these bytes that the verdict shows as a share.
    pub part: Option<&'static str>,
    /// While the index grows to twice its size, its bytes may be this many times `bytes`. `None`:
    /// not judged.
    pub growing: Option<f64>,
}

impl<const KINDS: usize> Aims<KINDS> {
    /// Returns the kind of a key set; `None` if there is no aim for it.
    pub fn kind(&self, set: &str) -> Option<usize> {
        self.kinds.iter().position(|kind| set.starts_with(kind))
    }

    /// Judges each aim on each key set of the measure. Verdicts on one aim follow each other.
    pub fn judge(&self, findings: &Findings, measure: &str) -> Judgement {
        let labels = findings.labels(measure).into_iter().flatten();
        let sets: Vec<_> = labels.filter_map(|set| Some((set, self.kind(set)?))).collect();
        let rates = self.rates.iter().flat_map(|rate| {
            let aimed = sets.iter().filter_map(|&(set, kind)| Some((set, rate.least[kind]?)));
            aimed.map(|(set, least)| self.judge_rate(findings, set, rate, least))
        });
        let bounds: Vec<_> = sets.iter().filter_map(|&(set, kind)| Some((set, self.bytes[kind]?))).collect();
        let bytes = bounds.iter().map(|&(set, most)| self.judge_bytes(findings, set, most));
        let growing = bounds.iter().filter_map(|&(set, most)| Some((set, self.growing? * most)));
        let growing = growing.map(|(set, most)| self.judge_growing(findings, set, most));
        Judgement::each_of(
            rates.chain(bytes).chain(growing),
            &format!("there are aims only for key sets named {}", self.kinds.join(", ")),
        )
    }

    /// Measures, once at a point, the most bytes that the index takes while it grows to these keys.
    /// Does nothing if the user left the index out.
    ///
    /// # Errors
    /// If the figure is not finite.
    pub fn weigh_growing(&self, bench: &mut Bench, point: &GridPoint, set: &KeySet) -> Result<()> {
        let label = point.at.as_ref().map(|at| &*at.label);
        let weighed = bench.findings.cell(MOST.measure, self.index, label).is_some();
        if weighed || !bench.plan.wants(self.index) {
            return Ok(());
        }
        let entry = index::all().into_iter().find(|entry| entry.name == self.index);
        entry.map_or(Ok(()), |entry| add_most(bench, point.at.as_ref(), &set.keys, entry))
    }

    fn judge_growing(&self, findings: &Findings, set: &str, most: f64) -> Judgement {
        let held = findings.median(MOST.measure, self.index, Some(set));
        let shown: Vec<_> = held.map(|held| (set.to_owned(), held)).into_iter().collect();
        let judged = Judgement::at_most(most, &format!("{}, {}", MOST.measure, self.words), &shown);
        judged.in_cell(cell(MOST.measure.to_owned(), ("≤", most), set, held))
    }

    fn judge_rate(&self, findings: &Findings, set: &str, rate: &Rate<KINDS>, least: f64) -> Judgement {
        let other = rate.beside.words(rate.measure, self.index);
        let what = format!("{}, {} / {other}", rate.measure, self.words);
        let place = |figure| cell(format!("{} / {other}", rate.measure), ("≥", least), set, figure);
        let ours = findings.cell(rate.measure, self.index, Some(set));
        let Some((ours, (contender, theirs))) = ours.zip(rate.beside.rate(findings, set)) else {
            let missing = if ours.is_none() { self.words } else { &*other };
            let why = format!("{what}: {set}: {missing} was not measured");
            return Judgement::untested(why).in_cell(place(None));
        };
        let (median, unit) = (ours.summary().median, &ours.unit);
        let judged = Judgement::at_least(least, &what, &[(set.to_owned(), median / theirs)]);
        let why = format!("{}: {median:.2} / {theirs:.2} {unit} of {contender}", judged.why);
        Judgement { why, ..judged }.in_cell(place(Some(median / theirs)))
    }

    /// Judges the bytes beyond keys and values, and shows the share of one part.
    fn judge_bytes(&self, findings: &Findings, set: &str, most: f64) -> Judgement {
        let words = self.words;
        let bytes = findings.median(BESIDE, self.index, Some(set));
        let judged = match bytes {
            Some(bytes) => {
                let part = self.part.and_then(|part| share(findings, self.index, set, part));
                let part = part.unwrap_or_default();
                let claimed = format!("at most {most} is claimed");
                let why = format!("{BESIDE}, {words}, {set}: {bytes:.1} B/key{part} ({claimed})");
                Judgement::of(bytes <= most, why)
            }
            None => Judgement::untested(format!("{BESIDE}, {words}, {set}: not measured")),
        };
        judged.in_cell(cell(BESIDE.to_owned(), ("≤", most), set, bytes))
    }
}

/// Returns the bytes per key of a part, as text for verdicts.
fn share(findings: &Findings, index: &str, set: &str, part: &str) -> Option<String> {
    let bytes = findings.median(PARTS, index, Some(&part_of(set, part).label))?;
    Some(format!(", {bytes:.2} of them the {part}"))
}

/// Returns the place of a verdict on a key set.
fn cell(row: String, (sign, limit): (&str, f64), set: &str, figure: Option<f64>) -> AimCell {
    AimCell { row, aim: format!("{sign} {}", rounded(limit)), column: set.to_owned(), figure }
}
