//! Intersections and differences: reads some members of the first set at a time, and looks them up
//! in one other set after another.

use std::ops::ControlFlow;

use super::{InputSet, ScoredMembers, taken_together};
use crate::commands::CommandError;
use crate::commands::sorted_sets::algebra::{Aggregate, SetOperation, SetOperationQuery};
use skein_data::{EngineKeys, MembersView};

/// The search for an intersection or difference.
pub(super) struct Reduction {
    operation: SetOperation,
    aggregate: Aggregate,
    /// The set that is walked; `None` after its end.
    first: Option<InputSet>,
    others: Vec<InputSet>,
    /// Maximum number of members read at a time.
    together: usize,
    /// Bytes of the sets.
    bytes: usize,
    /// Candidates for the result, and the set in which they are looked up next.
    taken: ScoredMembers,
    next: usize,
}

impl Reduction {
    pub(super) fn new(
        engine_keys: &mut EngineKeys<'_>,
        wanted: &SetOperationQuery<'_>,
    ) -> Result<Self, CommandError> {
        let (first, others) = wanted.inputs.split_at(1.min(wanted.inputs.len()));
        let mut all = |inputs| InputSet::all(engine_keys, wanted.kinds, inputs);
        let (first, others) = (all(first)?.pop(), all(others)?);
        Ok(Self {
            operation: wanted.operation,
            aggregate: wanted.aggregate,
            bytes: first.iter().chain(&others).map(InputSet::memory).sum(),
            first,
            others,
            together: taken_together(wanted.inputs.len()),
            taken: ScoredMembers::new(),
            next: 0,
        })
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_done(&self) -> bool {
        self.first.is_none() && self.taken.is_empty()
    }

    /// Reads some members, or looks the candidates up in one more set, or appends the remaining
    /// candidates to `found`. Returns the work, in lookups.
    pub(super) fn advance(&mut self, found: &mut ScoredMembers) -> Result<usize, CommandError> {
        let count = self.taken.len();
        if count == 0 {
            self.take()?;
            return Ok(self.taken.len());
        }
        let Some(set) = self.others.get(self.next) else {
            found.append(&mut self.taken);
            return Ok(count);
        };
        self.next += 1;
        let (operation, aggregate) = (self.operation, self.aggregate);
        for (mut score, member) in std::mem::take(&mut self.taken) {
            let theirs = set.view.score(&member)?;
            if theirs.is_some() == (operation == SetOperation::Intersection) {
                for theirs in theirs.into_iter().flat_map(|theirs| set.weights.each(theirs)) {
                    score = aggregate.of(score, theirs);
                }
                self.taken.push((score, member));
            }
        }
        Ok(set.weights.work(count))
    }

    /// Reads the next members of the first set. They are looked up in other sets only after this
    /// one is released: no thread waits for a set while it holds another one.
    fn take(&mut self) -> Result<(), CommandError> {
        let Self { first, taken, together, aggregate, .. } = self;
        self.next = 0;
        let Some(set) = first else { return Ok(()) };
        let InputSet { view, weights } = set;
        let more = view.step(*together, |name, value| {
            let score = MembersView::score_in(value);
            taken.push((weights.combined_first(score, *aggregate), name.to_vec()));
            ControlFlow::Continue(())
        })?;
        if !more {
            *first = None;
        }
        Ok(())
    }
}
