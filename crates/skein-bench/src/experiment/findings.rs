//! What a run has found so far, and what is asked of it to judge a claim.

use crate::result::{AbsentContender, AxisPoint, Better, ClaimAnswer, ContenderRecord, ResultCell, Summary};

/// Figures, notes and contenders of one run.
#[derive(Debug, Default)]
pub struct Findings {
    /// The run's name.
    pub run: String,
    /// Everything measured, in the order in which it first came.
    pub cells: Vec<ResultCell>,
    /// What a reader has to know.
    pub notes: Vec<String>,
    /// Who was measured.
    pub contenders: Vec<ContenderRecord>,
    /// Who was not.
    pub absent: Vec<AbsentContender>,
}

/// Whether a claim holds, and the figures that say so.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The answer.
    pub answer: ClaimAnswer,
    /// The figures.
    pub why: String,
    /// What else is judged, each with an answer of its own.
    pub further: Vec<Judgement>,
}

/// A figure's place.
#[derive(Debug, Clone, Copy)]
pub struct MeasureSpec<'a> {
    /// What was measured.
    pub measure: &'a str,
    /// In what unit.
    pub unit: &'a str,
    /// Which way is better.
    pub better: Better,
}

impl Findings {
    /// Adds one round's figure.
    pub fn add(
        &mut self,
        place: MeasureSpec<'_>,
        contender: &str,
        at: Option<&AxisPoint>,
        figure: f64,
    ) -> &mut ResultCell {
        let known = self.cells.iter().position(|cell| {
            cell.measure == place.measure && cell.contender == contender && cell.at.as_ref() == at
        });
        let index = known.unwrap_or_else(|| {
            self.cells.push(ResultCell {
                run: self.run.clone(),
                measure: place.measure.to_owned(),
                unit: place.unit.to_owned(),
                better: place.better,
                contender: contender.to_owned(),
                at: at.cloned(),
                rounds: Vec::new(),
                quantiles: Vec::new(),
            });
            self.cells.len() - 1
        });
        let cell = &mut self.cells[index];
        cell.rounds.push(figure);
        cell
    }

    /// Adds a note, once.
    pub fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Notes who is measured, once.
    pub fn contender(&mut self, name: &str, about: &str) {
        if self.contenders.iter().all(|known| known.name != name || known.about != about) {
            self.contenders.push(ContenderRecord { name: name.to_owned(), about: about.to_owned() });
        }
    }

    /// Notes who is not measured, once.
    pub fn absent(&mut self, name: &str, why: String) {
        if self.absent.iter().all(|known| known.name != name) {
            self.absent.push(AbsentContender { name: name.to_owned(), why });
        }
    }

    /// The cell of a contender at a point.
    pub fn cell(&self, measure: &str, contender: &str, label: Option<&str>) -> Option<&ResultCell> {
        self.cells.iter().find(|cell| {
            cell.measure == measure
                && cell.contender == contender
                && cell.at.as_ref().map(|at| &*at.label) == label
        })
    }

    /// Its summary.
    pub fn summary(&self, measure: &str, contender: &str, label: Option<&str>) -> Option<Summary> {
        self.cell(measure, contender, label).map(ResultCell::summary)
    }

    /// Its median.
    pub fn median(&self, measure: &str, contender: &str, label: Option<&str>) -> Option<f64> {
        self.summary(measure, contender, label).map(|summary| summary.median)
    }

    /// The labels of a measure's points, in order.
    pub fn labels(&self, measure: &str) -> Vec<Option<&str>> {
        let mut labels = Vec::new();
        for cell in self.cells.iter().filter(|cell| cell.measure == measure) {
            let label = cell.at.as_ref().map(|at| &*at.label);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    /// How many times the rate of `other` a contender has, at each point where both were measured: label and ratio.
    pub fn ratios(&self, measure: &str, contender: &str, other: &str) -> Vec<(String, f64)> {
        let at = |label: Option<&str>| {
            let ratio = self.median(measure, contender, label)? / self.median(measure, other, label)?;
            Some((label.unwrap_or("all").to_owned(), ratio))
        };
        self.labels(measure).into_iter().filter_map(at).collect()
    }

    /// How many times the rate of the best of `others` a contender has, at each point where it and one of
    /// them were measured: label and ratio.
    pub fn ratios_to_best(&self, measure: &str, contender: &str, others: &[&str]) -> Vec<(String, f64)> {
        let at = |label: Option<&str>| {
            let rates = others.iter().filter_map(|other| self.median(measure, other, label));
            let ratio = self.median(measure, contender, label)? / rates.max_by(f64::total_cmp)?;
            Some((label.unwrap_or("all").to_owned(), ratio))
        };
        self.labels(measure).into_iter().filter_map(at).collect()
    }
}

impl Findings {
    /// Which part of its rate at a measure's first point a contender has at the last.
    pub fn kept(&self, measure: &str, contender: &str) -> Option<f64> {
        let labels = self.labels(measure);
        let (first, last) = (*labels.first()?, *labels.last()?);
        Some(self.median(measure, contender, last)? / self.median(measure, contender, first)?)
    }
}

impl Judgement {
    fn with(answer: ClaimAnswer, why: String) -> Self {
        Self { answer, why, further: Vec::new() }
    }

    /// The claim cannot be tested, because of this.
    pub fn untested(why: impl Into<String>) -> Self {
        Self::with(ClaimAnswer::CannotBeTested, why.into())
    }

    /// Whether it holds, and why.
    pub fn of(holds: bool, why: impl Into<String>) -> Self {
        Self::with(if holds { ClaimAnswer::Holds } else { ClaimAnswer::DoesNotHold }, why.into())
    }

    /// Judges both bounds of a claim, each with an answer of its own: every ratio is at least `least`,
    /// and every ratio is at most `most`. Untested if there is none.
    pub fn from_to((least, most): (f64, f64), what: &str, ratios: &[(String, f64)]) -> Self {
        let lower = Self::at_least(least, what, ratios);
        if ratios.is_empty() { lower } else { lower.beside(Self::at_most(most, what, ratios)) }
    }

    /// Whether every ratio is at least `least`; untested if there is none.
    pub fn at_least(least: f64, what: &str, ratios: &[(String, f64)]) -> Self {
        Self::of_all(|ratio| ratio >= least, ("at least", least), what, ratios)
    }

    /// Whether every ratio is at most `most`; untested if there is none.
    pub fn at_most(most: f64, what: &str, ratios: &[(String, f64)]) -> Self {
        Self::of_all(|ratio| ratio <= most, ("at most", most), what, ratios)
    }

    fn of_all(
        holds: impl Fn(f64) -> bool,
        (words, limit): (&str, f64),
        what: &str,
        ratios: &[(String, f64)],
    ) -> Self {
        if ratios.is_empty() {
            return Self::untested(format!("{what}: not measured"));
        }
        let figures: Vec<_> = ratios.iter().map(|(label, ratio)| format!("{label}: {ratio:.2}")).collect();
        let holds = ratios.iter().all(|(_, ratio)| holds(*ratio));
        let limit = (limit * 100.0).round() / 100.0;
        Self::of(holds, format!("{what}: {} ({words} {limit} is claimed)", figures.join(", ")))
    }

    /// All of them, each with an answer of its own; untested, for this reason, if there is none.
    pub fn each_of(judged: impl IntoIterator<Item = Self>, why: &str) -> Self {
        judged.into_iter().reduce(Self::beside).unwrap_or_else(|| Self::untested(why))
    }

    /// Both together: what is untested counts less than what does not hold.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let rank = |answer| match answer {
            ClaimAnswer::Holds => 0,
            ClaimAnswer::CannotBeTested => 1,
            ClaimAnswer::DoesNotHold => 2,
        };
        let answer = if rank(self.answer) >= rank(other.answer) { self.answer } else { other.answer };
        self.further.extend(other.further);
        Self { answer, why: format!("{}; {}", self.why, other.why), further: self.further }
    }

    /// Both, each with an answer of its own.
    #[must_use]
    pub fn beside(mut self, other: Self) -> Self {
        self.further.push(other);
        self
    }

    /// All that have an answer of their own.
    pub fn each(self) -> Vec<Self> {
        let Self { answer, why, further } = self;
        let mut all = vec![Self::with(answer, why)];
        all.extend(further.into_iter().flat_map(Self::each));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: MeasureSpec<'_> = MeasureSpec { measure: "lookup", unit: "Mops/s", better: Better::More };

    #[test]
    fn rounds_gather_in_one_cell_per_place() {
        let mut findings = Findings::default();
        let one = AxisPoint::name("key set", "one");
        for figure in [1.0, 3.0] {
            findings.add(RATE, "a", Some(&one), 2.0 * figure);
            findings.add(RATE, "b", Some(&one), figure);
        }
        assert_eq!(findings.cells.len(), 2);
        assert_eq!(findings.ratios("lookup", "a", "b"), [("one".to_owned(), 2.0)]);
        assert!(findings.ratios("lookup", "a", "c").is_empty());
        findings.add(RATE, "c", Some(&one), 16.0);
        assert_eq!(findings.ratios_to_best("lookup", "a", &["b", "c", "d"]), [("one".to_owned(), 0.25)]);
        assert!(findings.ratios_to_best("lookup", "a", &["d"]).is_empty());
    }

    #[test]
    fn judgements_name_their_figures() {
        let ratios = [("x".to_owned(), 1.5), ("y".to_owned(), 0.9)];
        let judged = Judgement::at_least(1.0, "a / b", &ratios);
        assert_eq!(judged.answer, ClaimAnswer::DoesNotHold);
        assert!(judged.why.contains("y: 0.90"));
        assert_eq!(Judgement::at_least(0.5, "a / b", &ratios).answer, ClaimAnswer::Holds);
        assert!(Judgement::at_least(1.0 / 1.3, "a / b", &ratios).why.ends_with("(at least 0.77 is claimed)"));
        assert_eq!(Judgement::at_least(0.5, "a / b", &[]).answer, ClaimAnswer::CannotBeTested);
        assert_eq!(Judgement::at_most(1.0, "a / b", &ratios).answer, ClaimAnswer::DoesNotHold);
        let most = Judgement::at_most(1.5, "a / b", &ratios);
        assert_eq!(most.answer, ClaimAnswer::Holds);
        assert!(most.why.ends_with("x: 1.50, y: 0.90 (at most 1.5 is claimed)"), "{most:?}");
        let bounds = |range| {
            let judged = Judgement::from_to(range, "a / b", &ratios).each();
            judged.into_iter().map(|judged| judged.answer).collect::<Vec<_>>()
        };
        assert_eq!(bounds((0.9, 1.5)), [ClaimAnswer::Holds, ClaimAnswer::Holds]);
        assert_eq!(bounds((1.0, 1.4)), [ClaimAnswer::DoesNotHold, ClaimAnswer::DoesNotHold]);
        assert_eq!(Judgement::from_to((0.5, 1.0), "a / b", &[]).each().len(), 1);
        let both = Judgement::of(true, "p").and(Judgement::untested("q"));
        assert_eq!((both.answer, &*both.why), (ClaimAnswer::CannotBeTested, "p; q"));
    }

    #[test]
    fn what_is_kept_is_the_last_points_part_of_the_first() {
        let mut findings = Findings::default();
        for (keys, rate) in [(1.0, 8.0), (4.0, 5.0), (16.0, 2.0)] {
            findings.add(RATE, "a", Some(&AxisPoint::number("keys", keys)), rate);
        }
        assert_eq!(findings.kept("lookup", "a"), Some(0.25));
        assert_eq!(findings.kept("lookup", "b"), None);
        assert_eq!(findings.kept("scan", "a"), None);
    }

    #[test]
    fn what_stands_beside_keeps_its_answer() {
        let (p, q, r) = (Judgement::of(true, "p"), Judgement::of(false, "q"), Judgement::of(true, "r"));
        let all = p.and(r.clone().beside(q.clone())).beside(r.clone()).each();
        assert_eq!(all, [Judgement::of(true, "p; r"), q.clone(), r.clone()]);
        assert_eq!(Judgement::each_of([q.clone(), r.clone()], "none").each(), [q, r]);
        assert_eq!(Judgement::each_of([], "none"), Judgement::untested("none"));
    }
}
