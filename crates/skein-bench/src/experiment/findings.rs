//! The figures that a run has found so far, and the judgement of a claim by them.

use crate::keyset::KeySet;
use crate::result::{
    AbsentContender, AimCell, AxisPoint, Better, ClaimAnswer, ContenderRecord, ResultCell, Summary,
};

/// Figures, notes and contenders of one run.
#[derive(Debug, Default)]
pub struct Findings {
    /// The run's name.
    pub run: String,
    /// All cells, in the order of their first figure.
    pub cells: Vec<ResultCell>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// The contenders that were measured.
    pub contenders: Vec<ContenderRecord>,
    /// The contenders that were not measured.
    pub absent: Vec<AbsentContender>,
}

/// Whether a claim holds, with the figures that prove it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The answer.
    pub answer: ClaimAnswer,
    /// The figures.
    pub why: String,
    /// Its place in a table of aims.
    pub cell: Option<AimCell>,
    /// Further claims, each with an answer of its own.
    pub further: Vec<Judgement>,
}

/// A measure: its name, its unit and its direction.
#[derive(Debug, Clone, Copy)]
pub struct MeasureSpec<'a> {
    /// The name.
    pub measure: &'a str,
    /// The unit of the figures.
    pub unit: &'a str,
    /// The direction in which figures are better.
    pub better: Better,
}

impl<'a> MeasureSpec<'a> {
    /// Returns a measure whose greater figures are better.
    pub const fn more(measure: &'a str, unit: &'a str) -> Self {
        Self { measure, unit, better: Better::More }
    }

    /// Returns a measure whose smaller figures are better.
    pub const fn less(measure: &'a str, unit: &'a str) -> Self {
        Self { measure, unit, better: Better::Less }
    }
}

impl Findings {
    /// Adds one round's figure to its cell, and returns the cell.
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
                ..ResultCell::default()
            });
            self.cells.len() - 1
        });
        let cell = &mut self.cells[index];
        cell.rounds.push(figure);
        cell
    }

    /// Adds a note, unless it is already there.
    pub fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Adds the note of a key set, if it has one.
    pub fn note_on(&mut self, set: &KeySet) {
        if let Some(text) = &set.note {
            self.note(text.clone());
        }
    }

    /// Records a contender as measured, unless it is already recorded.
    pub fn contender(&mut self, name: &str, about: &str) {
        if self.contenders.iter().all(|known| known.name != name || known.about != about) {
            self.contenders.push(ContenderRecord { name: name.to_owned(), about: about.to_owned() });
        }
    }

    /// Records a contender as not measured, unless it is already recorded.
    pub fn absent(&mut self, name: &str, why: String) {
        if self.absent.iter().all(|known| known.name != name) {
            self.absent.push(AbsentContender { name: name.to_owned(), why });
        }
    }

    /// Returns the cell of a contender at a point.
    pub fn cell(&self, measure: &str, contender: &str, label: Option<&str>) -> Option<&ResultCell> {
        self.cells.iter().find(|cell| {
            cell.measure == measure
                && cell.contender == contender
                && cell.at.as_ref().map(|at| &*at.label) == label
        })
    }

    /// Returns the summary of a cell.
    pub fn summary(&self, measure: &str, contender: &str, label: Option<&str>) -> Option<Summary> {
        self.cell(measure, contender, label).map(ResultCell::summary)
    }

    /// Returns the median of a cell.
    pub fn median(&self, measure: &str, contender: &str, label: Option<&str>) -> Option<f64> {
        self.summary(measure, contender, label).map(|summary| summary.median)
    }

    /// Returns the labels of a measure's points, in order.
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

    /// Returns the contender's rate as a multiple of `other`'s, at each point where both were
    /// measured: pairs of a label and a ratio.
    pub fn ratios(&self, measure: &str, contender: &str, other: &str) -> Vec<(String, f64)> {
        let at = |label: Option<&str>| {
            let ratio = self.median(measure, contender, label)? / self.median(measure, other, label)?;
            Some((label.unwrap_or("all").to_owned(), ratio))
        };
        self.labels(measure).into_iter().filter_map(at).collect()
    }

    /// Returns these ratios at the points that `of` admits.
    pub fn ratios_at(
        &self,
        measure: &str,
        contender: &str,
        other: &str,
        of: impl Fn(&str) -> bool,
    ) -> Vec<(String, f64)> {
        let ratios = self.ratios(measure, contender, other).into_iter();
        ratios.filter(|(label, _)| of(label)).collect()
    }

    /// Returns the ratios of [`ratios_at`](Self::ratios_at) in several measures, each with its
    /// measure's name.
    pub fn ratios_in(
        &self,
        measures: &[&str],
        contender: &str,
        other: &str,
        of: impl Fn(&str) -> bool,
    ) -> Vec<(String, f64)> {
        let all = measures.iter().flat_map(|measure| {
            let ratios = self.ratios_at(measure, contender, other, &of).into_iter();
            ratios.map(move |(label, ratio)| (format!("{measure} on {label}"), ratio))
        });
        all.collect()
    }

    /// Returns the contender with the greatest rate at a point, and the rate; `None` if none of them
    /// was measured there.
    pub fn best<'n>(
        &self,
        measure: &str,
        contenders: &[&'n str],
        label: Option<&str>,
    ) -> Option<(&'n str, f64)> {
        let rates = contenders.iter().filter_map(|name| Some((*name, self.median(measure, name, label)?)));
        rates.max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Returns the contender's rate as a multiple of the best of `others`, at each point where the
    /// contender and one of them were measured: pairs of a label and a ratio.
    pub fn ratios_to_best(&self, measure: &str, contender: &str, others: &[&str]) -> Vec<(String, f64)> {
        let at = |label: Option<&str>| {
            let (_, best) = self.best(measure, others, label)?;
            let ratio = self.median(measure, contender, label)? / best;
            Some((label.unwrap_or("all").to_owned(), ratio))
        };
        self.labels(measure).into_iter().filter_map(at).collect()
    }

    /// Returns the contender's rate at the measure's last point as a fraction of its rate at the
    /// first.
    pub fn kept(&self, measure: &str, contender: &str) -> Option<f64> {
        let labels = self.labels(measure);
        let (first, last) = (*labels.first()?, *labels.last()?);
        Some(self.median(measure, contender, last)? / self.median(measure, contender, first)?)
    }
}

impl Judgement {
    fn with(answer: ClaimAnswer, why: String) -> Self {
        Self { answer, why, cell: None, further: Vec::new() }
    }

    /// Returns the judgement that the claim cannot be tested, for this reason.
    pub fn untested(why: impl Into<String>) -> Self {
        Self::with(ClaimAnswer::CannotBeTested, why.into())
    }

    /// Returns the judgement that the claim holds or does not hold, for this reason.
    pub fn of(holds: bool, why: impl Into<String>) -> Self {
        Self::with(if holds { ClaimAnswer::Holds } else { ClaimAnswer::DoesNotHold }, why.into())
    }

    /// Judges both bounds of a claim, each with an answer of its own: every ratio must be at least
    /// `least` and at most `most`. Untested if there is no ratio.
    pub fn from_to((least, most): (f64, f64), what: &str, ratios: &[(String, f64)]) -> Self {
        let lower = Self::at_least(least, what, ratios);
        if ratios.is_empty() { lower } else { lower.alongside(Self::at_most(most, what, ratios)) }
    }

    /// Judges whether every ratio is at least `least`. Untested if there is no ratio.
    pub fn at_least(least: f64, what: &str, ratios: &[(String, f64)]) -> Self {
        Self::of_all(|ratio| ratio >= least, ("at least", least), what, ratios)
    }

    /// Judges whether every ratio is at most `most`. Untested if there is no ratio.
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
        let holds = ratios.iter().all(|(_, ratio)| holds(*ratio));
        Self::of(holds, format!("{what}: {} ({words} {} is claimed)", shown(ratios), rounded(limit)))
    }

    /// Returns this judgement as a cell of a table of aims.
    #[must_use]
    pub fn in_cell(self, cell: AimCell) -> Self {
        Self { cell: Some(cell), ..self }
    }

    /// Returns one judgement on all of these. Untested, for the given reason, if there is no
    /// judgement.
    pub fn all_of(judged: impl IntoIterator<Item = Self>, why: &str) -> Self {
        judged.into_iter().reduce(Self::and).unwrap_or_else(|| Self::untested(why))
    }

    /// Combines the judgements so that each keeps its own answer. Untested, for the given reason,
    /// if there is no judgement.
    pub fn each_of(judged: impl IntoIterator<Item = Self>, why: &str) -> Self {
        judged.into_iter().reduce(Self::alongside).unwrap_or_else(|| Self::untested(why))
    }

    /// Returns one judgement on both. "Does not hold" outweighs "cannot be tested", which outweighs
    /// "holds".
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let rank = |answer| match answer {
            ClaimAnswer::Holds => 0,
            ClaimAnswer::CannotBeTested => 1,
            ClaimAnswer::DoesNotHold => 2,
        };
        let answer = if rank(self.answer) >= rank(other.answer) { self.answer } else { other.answer };
        self.further.extend(other.further);
        let why = format!("{}; {}", self.why, other.why);
        Self { further: self.further, ..Self::with(answer, why) }
    }

    /// Combines both so that each keeps its own answer.
    #[must_use]
    pub fn alongside(mut self, other: Self) -> Self {
        self.further.push(other);
        self
    }

    /// Returns all judgements that have an answer of their own.
    pub fn each(self) -> Vec<Self> {
        let Self { answer, why, cell, further } = self;
        let mut all = vec![Self { cell, ..Self::with(answer, why) }];
        all.extend(further.into_iter().flat_map(Self::each));
        all
    }
}

/// Returns a limit as verdicts show it.
pub fn rounded(limit: f64) -> f64 {
    (limit * 100.0).round() / 100.0
}

/// Returns ratios as text for verdicts.
pub fn shown(ratios: &[(String, f64)]) -> String {
    ratios.iter().map(|(label, ratio)| format!("{label}: {ratio:.2}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
impl Findings {
    /// Adds the rates of contenders in a measure on a key set.
    pub fn add_rates(&mut self, measure: &str, set: &str, rates: &[(&str, f64)]) {
        for &(contender, rate) in rates {
            let at = AxisPoint::name("key set", set);
            self.add(MeasureSpec::more(measure, "Mops/s"), contender, Some(&at), rate);
        }
    }
}

#[cfg(test)]
impl Judgement {
    /// Returns the answers of all judgements that have one of their own.
    pub fn answers(self) -> Vec<ClaimAnswer> {
        self.each().into_iter().map(|judged| judged.answer).collect()
    }

    /// Returns the answer of the judgement whose figures begin with this text.
    ///
    /// # Panics
    /// If there is not exactly one.
    pub fn answer_of(&self, text: &str) -> ClaimAnswer {
        let judged = self.clone().each();
        let found: Vec<_> = judged.iter().filter(|judged| judged.why.starts_with(text)).collect();
        assert_eq!(found.len(), 1, "{text}: {judged:?}");
        found[0].answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: MeasureSpec<'_> = MeasureSpec::more("lookup", "Mops/s");

    #[test]
    fn rounds_share_one_cell_per_point() {
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
        assert_eq!(findings.best("lookup", &["b", "c", "d"], Some("one")), Some(("c", 16.0)));
        assert_eq!(findings.best("lookup", &["d"], Some("one")), None);
        assert_eq!(findings.best("lookup", &["b", "c"], Some("two")), None);
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
        let bounds = |range| Judgement::from_to(range, "a / b", &ratios).answers();
        assert_eq!(bounds((0.9, 1.5)), [ClaimAnswer::Holds, ClaimAnswer::Holds]);
        assert_eq!(bounds((1.0, 1.4)), [ClaimAnswer::DoesNotHold, ClaimAnswer::DoesNotHold]);
        assert_eq!(Judgement::from_to((0.5, 1.0), "a / b", &[]).each().len(), 1);
        let both = Judgement::of(true, "p").and(Judgement::untested("q"));
        assert_eq!((both.answer, &*both.why), (ClaimAnswer::CannotBeTested, "p; q"));
    }

    #[test]
    fn kept_is_the_ratio_of_the_last_point_to_the_first() {
        let mut findings = Findings::default();
        for (keys, rate) in [(1.0, 8.0), (4.0, 5.0), (16.0, 2.0)] {
            findings.add(RATE, "a", Some(&AxisPoint::number("keys", keys)), rate);
        }
        assert_eq!(findings.kept("lookup", "a"), Some(0.25));
        assert_eq!(findings.kept("lookup", "b"), None);
        assert_eq!(findings.kept("scan", "a"), None);
    }

    #[test]
    fn further_judgements_keep_their_answers() {
        let (p, q, r) = (Judgement::of(true, "p"), Judgement::of(false, "q"), Judgement::of(true, "r"));
        let all = p.and(r.clone().alongside(q.clone())).alongside(r.clone()).each();
        assert_eq!(all, [Judgement::of(true, "p; r"), q.clone(), r.clone()]);
        assert_eq!(Judgement::each_of([q.clone(), r.clone()], "none").each(), [q, r]);
        assert_eq!(Judgement::each_of([], "none"), Judgement::untested("none"));
    }
}
