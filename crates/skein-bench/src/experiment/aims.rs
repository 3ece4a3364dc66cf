//! This project's aims for its own indexes, by kind of key set: rates relative to other contenders
//! or measures, and bytes per key. Each aim has a verdict on each key set.

use super::Bench;
use super::findings::{Findings, Judgement};
use super::grid::GridPoint;
use super::index_memory::{BESIDE, PARTS, part_of};
use super::memory::{MOST, add_most};
use crate::Result;
use crate::keyset::KeySet;
use crate::rival::index;

/// The aim for a rate relative to another rate, by kind of key set.
#[derive(Debug)]
pub struct Rate<const KINDS: usize> {
    measure: &'static str,
    beside: (&'static str, &'static str),
    least: [Option<f64>; KINDS],
}

/// Returns the aim that the rate of `measure` is at least `least` times that of another measure or
/// contender, by kind of key set.
pub const fn rate<const KINDS: usize>(
    measure: &'static str,
    beside: (&'static str, &'static str),
    least: [Option<f64>; KINDS],
) -> Rate<KINDS> {
    Rate { measure, beside, least }
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

    /// Judges each aim on each key set of the measure.
    pub fn judge(&self, findings: &Findings, measure: &str) -> Judgement {
        let sets: Vec<&str> = findings.labels(measure).into_iter().flatten().collect();
        let judged = sets.iter().filter_map(|set| Some((set, self.kind(set)?))).flat_map(|(set, kind)| {
            let rates = self.rates.iter().filter_map(move |rate| Some((rate, rate.least[kind]?)));
            let rates = rates.map(|(rate, least)| self.judge_rate(findings, set, rate, least));
            let bytes = self.bytes[kind].map(|most| self.judge_bytes(findings, set, most));
            let growing = self.bytes[kind].zip(self.growing);
            let growing = growing.map(|(most, times)| self.judge_growing(findings, set, times * most));
            rates.chain(bytes).chain(growing)
        });
        Judgement::each_of(
            judged,
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
        let held = findings.median(MOST.measure, self.index, Some(set)).map(|held| (set.to_owned(), held));
        Judgement::at_most(most, &format!("{}, {}", MOST.measure, self.words), &Vec::from_iter(held))
    }

    fn judge_rate(&self, findings: &Findings, set: &str, rate: &Rate<KINDS>, least: f64) -> Judgement {
        let (other, contender) = rate.beside;
        let median = |measure: &str, contender: &str| findings.median(measure, contender, Some(set));
        let ratio = median(rate.measure, self.index).zip(median(other, contender));
        let ratios: Vec<_> = ratio.map(|(ours, its)| (set.to_owned(), ours / its)).into_iter().collect();
        let words = match contender {
            _ if other == rate.measure => contender.to_owned(),
            ours if ours == self.index => format!("its {other}"),
            others => format!("{other} of {others}"),
        };
        Judgement::at_least(least, &format!("{}, {} / {words}", rate.measure, self.words), &ratios)
    }

    /// Judges the bytes beyond keys and values, and shows the share of one part.
    fn judge_bytes(&self, findings: &Findings, set: &str, most: f64) -> Judgement {
        let words = self.words;
        let Some(bytes) = findings.median(BESIDE, self.index, Some(set)) else {
            return Judgement::untested(format!("{BESIDE}, {words}, {set}: not measured"));
        };
        let share = |name| {
            let part = findings.median(PARTS, self.index, Some(&part_of(set, name).label))?;
            Some(format!(", {part:.2} of them the {name}"))
        };
        let part = self.part.and_then(share).unwrap_or_default();
        let why = format!("{BESIDE}, {words}, {set}: {bytes:.1} B/key{part} (at most {most} is claimed)");
        Judgement::of(bytes <= most, why)
    }
}
