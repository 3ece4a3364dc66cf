//! The sets of ZUNION and its relatives, each once, however often it is named. Its scores are
//! combined one after the other, as if its names were neighbours.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::aggregate::{Aggregate, number};
use super::algebra::{SetOperation, WeightedInput};
use super::remove::ScoredMembers;

/// This number of weights takes as long as one lookup.
const WEIGHTS_PER_LOOKUP: usize = 64;

/// The factors for the scores of a set: one weight for each of its names.
pub(super) struct ScoreWeights(Vec<f64>);

impl ScoreWeights {
    /// Returns a score multiplied by each weight. A product of 0 and infinity is NaN.
    pub(super) fn each(&self, score: f64) -> impl Iterator<Item = f64> {
        self.0.iter().map(move |weight| score * weight)
    }

    /// Adds these products to the score of a union's member, if another set has it: each NaN counts
    /// as 0, as in Redis.
    pub(super) fn add_to(&self, sum: Option<f64>, score: f64, aggregate: Aggregate) -> f64 {
        let products = sum.into_iter().chain(self.each(score).map(number));
        products.reduce(|sum, score| aggregate.of(sum, score)).unwrap_or_default()
    }

    /// Returns these products combined for the first set of an intersection. As in Redis only a
    /// first NaN counts as 0, and a later one makes the sum 0.
    pub(super) fn combined_first(&self, score: f64, aggregate: Aggregate) -> f64 {
        let mut products = self.each(score);
        let first = products.next().map_or(0.0, number);
        products.fold(first, |sum, score| aggregate.of(sum, score))
    }

    /// Returns the number of names.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the work for this number of scores, in lookups.
    pub(super) fn work(&self, scores: usize) -> usize {
        scores * (1 + self.0.len() / WEIGHTS_PER_LOOKUP)
    }

    pub(super) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<f64>()
    }
}

/// A set, and how often it is named.
pub(super) struct DistinctSource<'a> {
    pub(super) key: &'a [u8],
    pub(super) len: u64,
    pub(super) weights: ScoreWeights,
}

/// Returns each set once, in the order in which they are named first.
pub(super) fn each_once<'a>(inputs: &[WeightedInput<'a>]) -> Vec<DistinctSource<'a>> {
    let mut sources = Vec::<DistinctSource<'_>>::new();
    let mut places = HashMap::<&[u8], usize>::with_capacity(inputs.len());
    for input in inputs {
        match places.entry(input.key) {
            Entry::Occupied(place) => sources[*place.get()].weights.0.push(input.weight),
            Entry::Vacant(place) => {
                place.insert(sources.len());
                let weights = ScoreWeights(vec![input.weight]);
                sources.push(DistinctSource { key: input.key, len: input.len, weights });
            }
        }
    }
    sources
}

/// Returns each set once for each run of its names.
pub(super) fn each_run<'a>(inputs: &[WeightedInput<'a>]) -> Vec<DistinctSource<'a>> {
    let runs = inputs.chunk_by(|one, other| one.key == other.key);
    runs.flat_map(each_once).collect()
}

/// Groups the names of sets.
pub(super) type SourceGrouping<'a> = fn(&[WeightedInput<'a>]) -> Vec<DistinctSource<'a>>;

/// Returns the set that an intersection or a difference walks, and the sets in which its members
/// are looked up. Returns `None` if the result has no members.
pub(super) fn walked_and_looked_up<'a>(
    operation: SetOperation,
    inputs: &[WeightedInput<'a>],
    grouping: SourceGrouping<'a>,
) -> Option<(DistinctSource<'a>, Vec<DistinctSource<'a>>)> {
    if operation == SetOperation::Difference {
        // The first set counts once.
        let (first, others) = inputs.split_at_checked(1)?;
        let (first, others) = (grouping(first).pop()?, grouping(others));
        let is_empty = others.iter().any(|other| other.key == first.key);
        return (!is_empty).then_some((first, others));
    }
    let mut sources = grouping(inputs).into_iter();
    Some((sources.next()?, sources.collect()))
}

/// Adds the members of a set to those of a union. Both are in the order of the members, each once.
pub(super) fn merge_into(
    found: &mut ScoredMembers,
    set: ScoredMembers,
    weights: &ScoreWeights,
    aggregate: Aggregate,
) {
    let mut merged = ScoredMembers::with_capacity(found.len().max(set.len()));
    let mut set = set.into_iter().peekable();
    for (mut sum, member) in found.drain(..) {
        while let Some((score, before)) = set.next_if(|(_, next)| *next < member) {
            merged.push((weights.add_to(None, score, aggregate), before));
        }
        if let Some((score, _)) = set.next_if(|(_, next)| *next == member) {
            sum = weights.add_to(Some(sum), score, aggregate);
        }
        merged.push((sum, member));
    }
    merged.extend(set.map(|(score, member)| (weights.add_to(None, score, aggregate), member)));
    *found = merged;
}
