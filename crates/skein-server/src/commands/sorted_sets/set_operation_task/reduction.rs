//! Intersections and differences: reads some members of the first set at a time, and looks them up
//! in one other set after another.

use std::ops::ControlFlow;

use super::{InputSet, ScoredMembers, taken_together};
use crate::commands::CommandResult;
use crate::commands::sorted_sets::aggregate::Aggregate;
use crate::commands::sorted_sets::algebra::{SetOperation, SetOperationQuery};
use crate::commands::sorted_sets::distinct_sources::{each_once, walked_and_looked_up};
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
    pub(super) fn new(engine_keys: &mut EngineKeys, wanted: &SetOperationQuery<'_>) -> CommandResult<Self> {
        let (mut first, mut others) = (None, Vec::new());
        if let Some((walked, looked_up)) = walked_and_looked_up(wanted.operation, &wanted.inputs, each_once) {
            first = InputSet::of(engine_keys, wanted.kinds, walked)?;
            others = InputSet::all(engine_keys, wanted.kinds, looked_up)?;
        }
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
    pub(super) fn advance(&mut self, found: &mut ScoredMembers) -> CommandResult<usize> {
        let count = self.taken.len();
        if count == 0 {
            return self.take();
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

    /// Reads the next members of the first set. Returns the work, in lookups. The members are
    /// looked up in other sets only after this one is released: no thread waits for a set while it
    /// holds another one.
    fn take(&mut self) -> CommandResult<usize> {
        let Self { first, taken, together, aggregate, .. } = self;
        self.next = 0;
        let Some(set) = first else { return Ok(0) };
        let InputSet { view, weights } = set;
        let more = view.step(*together, |name, value| {
            let score = MembersView::score_in(value);
            taken.push((weights.combined_first(score, *aggregate), name.to_vec()));
            ControlFlow::Continue(())
        })?;
        let work = weights.work(taken.len());
        if !more {
            *first = None;
        }
        Ok(work)
    }
}
