//! Intersections and differences: some members of the first set at a time, looked up in the others one after the other.

use std::ops::ControlFlow;

use super::{InputSet, ScoredMembers, taken_together};
use crate::commands::CommandError;
use crate::commands::sorted_sets::algebra::{Aggregate, SetOperation, SetOperationQuery};
use crate::engine::{Keyspace, MembersView};

/// What remains of a set.
pub(super) struct Reduction {
    operation: SetOperation,
    aggregate: Aggregate,
    /// The set that is gone through, until it is.
    first: Option<InputSet>,
    others: Vec<InputSet>,
    /// Members that are taken together, at most.
    together: usize,
    /// Bytes that the sets take.
    bytes: usize,
    /// Members that may be in the answer, and the set in which they are looked up next.
    taken: ScoredMembers,
    next: usize,
}

impl Reduction {
    pub(super) fn new(
        keyspace: &mut Keyspace<'_>,
        wanted: &SetOperationQuery<'_>,
    ) -> Result<Self, CommandError> {
        let (first, others) = wanted.inputs.split_at(1.min(wanted.inputs.len()));
        let (first, others) = (InputSet::all(keyspace, first)?.pop(), InputSet::all(keyspace, others)?);
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

    /// Takes some members, or looks those that were taken up in one more set, or gives what is left of them to `found`; how much work that was.
    pub(super) fn advance(&mut self, found: &mut ScoredMembers) -> usize {
        let count = self.taken.len();
        if count == 0 {
            self.take();
            return self.taken.len();
        }
        let Some(set) = self.others.get(self.next) else {
            found.append(&mut self.taken);
            return count;
        };
        self.next += 1;
        let (operation, aggregate) = (self.operation, self.aggregate);
        self.taken.retain_mut(|(score, member)| match (set.view.score(member), operation) {
            (Some(theirs), SetOperation::Intersection) => {
                *score = set.weights.each(theirs).fold(*score, |sum, theirs| aggregate.of(sum, theirs));
                true
            }
            (theirs, _) => theirs.is_none() && operation == SetOperation::Difference,
        });
        set.weights.work(count)
    }

    /// Takes the next members of the first set. They are looked up when it is let go: nobody waits for a set with another one in his hands.
    fn take(&mut self) {
        let Self { first, taken, together, aggregate, .. } = self;
        self.next = 0;
        let Some(set) = first else { return };
        let InputSet { view, weights } = set;
        let more = view.step(*together, |name, value| {
            let score = MembersView::score_in(value);
            taken.push((weights.combined(score, *aggregate), name.to_vec()));
            ControlFlow::Continue(())
        });
        if !more {
            *first = None;
        }
    }
}
