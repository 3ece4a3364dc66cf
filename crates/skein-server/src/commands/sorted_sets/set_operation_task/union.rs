//! Unions: walks all sets together, each in the order of its members, so no member is looked up.
//!
//! ```text
//!   set 0   a  c │ f ...
//!   set 1   c  d │ ...       ─► heads: the next member of each ─► a, c (of sets 0 and 1), d, ...
//!   set 2   g │
//! ```
//!
//! When the read-ahead members of a set are used up, the set must be read again. Until all such
//! sets have a head, the least member is unknown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::ControlFlow;
use std::vec;

use super::{InputSet, ScoredMembers, taken_together};
use crate::commands::CommandResult;
use crate::commands::sorted_sets::aggregate::Aggregate;
use crate::commands::sorted_sets::algebra::SetOperationQuery;
use crate::commands::sorted_sets::distinct_sources::{ScoreWeights, each_once};
use skein_data::{EngineKeys, MembersView};

/// The search for a union.
pub(super) struct Union {
    aggregate: Aggregate,
    sets: Vec<UnionSource>,
    /// Maximum number of members read from a set at a time.
    together: usize,
    /// The sets with an unknown next member.
    owing: Vec<usize>,
    heads: BinaryHeap<Reverse<UnionHead>>,
    /// The current least member and the part of its score that is known.
    last: Option<(f64, Vec<u8>)>,
    /// Bytes of the sets, and of the members that were read but are not in the result yet.
    bytes: usize,
}

/// A set and its read-ahead members.
struct UnionSource {
    /// `None` after the end of the set.
    view: Option<MembersView>,
    weights: ScoreWeights,
    taken: vec::IntoIter<(f64, Vec<u8>)>,
}

/// Bytes for each set besides itself: in the list of sets to read, and in the heap.
const SOURCE: usize =
    size_of::<UnionSource>() - size_of::<InputSet>() + size_of::<usize>() + size_of::<UnionHead>();

impl UnionSource {
    fn new(set: InputSet) -> Self {
        Self { view: Some(set.view), weights: set.weights, taken: Vec::new().into_iter() }
    }
}

/// The next member of a set. Ordered by member, then by set.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct UnionHead {
    member: Vec<u8>,
    set: usize,
    /// The bits of its score. No two heads are of one set, so they never decide.
    score: u64,
}

/// Returns the bytes of a member that was read.
fn weight(member: &[u8]) -> usize {
    size_of::<(f64, Vec<u8>)>() + member.len()
}

impl Union {
    pub(super) fn new(engine_keys: &mut EngineKeys, wanted: &SetOperationQuery<'_>) -> CommandResult<Self> {
        let sets = InputSet::all(engine_keys, wanted.kinds, each_once(&wanted.inputs))?;
        Ok(Self {
            aggregate: wanted.aggregate,
            bytes: sets.iter().map(|set| SOURCE + set.memory()).sum(),
            owing: (0..sets.len()).collect(),
            heads: BinaryHeap::with_capacity(sets.len()),
            sets: sets.into_iter().map(UnionSource::new).collect(),
            together: taken_together(wanted.inputs.len()),
            last: None,
        })
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_done(&self) -> bool {
        self.owing.is_empty() && self.heads.is_empty() && self.last.is_none()
    }

    /// Reads some members of a set without a head, or appends the least member of all to `found`.
    /// Returns the work, in lookups.
    pub(super) fn advance(&mut self, found: &mut ScoredMembers) -> CommandResult<usize> {
        if let Some(set) = self.owing.pop() {
            return self.take(set);
        }
        let Some(mut head) = self.heads.peek_mut() else {
            found.extend(self.last.take());
            return Ok(1);
        };
        let Reverse(UnionHead { member, set, score: bits }) = &mut *head;
        let score = f64::from_bits(*bits);
        self.bytes = self.bytes.saturating_sub(weight(member));
        let source = &mut self.sets[*set];
        match &mut self.last {
            Some((sum, last)) if last == member => {
                *sum = source.weights.add_to(Some(*sum), score, self.aggregate);
            }
            last => {
                let sum = source.weights.add_to(None, score, self.aggregate);
                found.extend(last.replace((sum, std::mem::take(member))));
            }
        }
        if let Some((next, name)) = source.taken.next() {
            (*bits, *member) = (next.to_bits(), name);
        } else {
            if source.view.is_some() {
                self.owing.push(*set);
            }
            PeekMut::pop(head);
        }
        Ok(1)
    }

    /// Reads the next members of a set. Returns the work, in lookups.
    fn take(&mut self, at: usize) -> CommandResult<usize> {
        let Self { sets, together, owing, heads, bytes, .. } = self;
        let UnionSource { view: owner, weights, taken } = &mut sets[at];
        let Some(view) = owner else { return Ok(0) };
        let mut next = ScoredMembers::new();
        let more = view.step(*together, |name, value| {
            *bytes += weight(name);
            next.push((MembersView::score_in(value), name.to_vec()));
            ControlFlow::Continue(())
        })?;
        let work = weights.work(next.len());
        if !more {
            *owner = None;
        }
        *taken = next.into_iter();
        match taken.next() {
            Some((score, member)) => {
                heads.push(Reverse(UnionHead { member, set: at, score: score.to_bits() }));
            }
            // All members of this step were added after the command began.
            None if more => owing.push(at),
            None => {}
        }
        Ok(work)
    }
}
