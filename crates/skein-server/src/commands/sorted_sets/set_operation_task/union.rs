//! Unions: all sets are gone through together, each in the order of its members, so that no member is looked up anywhere.
//!
//! ```text
//!   set 0   a  c │ f ...
//!   set 1   c  d │ ...       ─► heads: the next member of each ─► a, c (of sets 0 and 1), d, ...
//!   set 2   g │
//! ```
//!
//! A set whose members that were taken are used up owes its next ones: until all have shown theirs, nobody knows which is the least.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::ControlFlow;
use std::vec;

use super::{InputSet, ScoredMembers, taken_together};
use crate::commands::CommandError;
use crate::commands::sorted_sets::algebra::{Aggregate, SetOperationQuery};
use crate::engine::{Keyspace, MembersView};

/// All members of some sets.
pub(super) struct Union {
    aggregate: Aggregate,
    sets: Vec<UnionSource>,
    /// Members that are taken from a set together, at most.
    together: usize,
    /// Sets whose next member is not known.
    owing: Vec<usize>,
    heads: BinaryHeap<Reverse<UnionHead>>,
    /// The last member that was the least, as far as its score is known.
    last: Option<(f64, Vec<u8>)>,
    /// Bytes that the sets take, and the members that were taken and are not in the answer yet.
    bytes: usize,
}

/// A set, and what was taken of it.
struct UnionSource {
    /// `None` when it has been gone through.
    set: Option<InputSet>,
    taken: vec::IntoIter<(f64, Vec<u8>)>,
}

/// Bytes that a set takes here beside itself: among those that owe, and among the heads.
const SOURCE: usize =
    size_of::<UnionSource>() - size_of::<InputSet>() + size_of::<usize>() + size_of::<UnionHead>();

impl UnionSource {
    fn new(set: InputSet) -> Self {
        Self { set: Some(set), taken: Vec::new().into_iter() }
    }
}

/// The next member of a set, by the member and then by the set.
struct UnionHead {
    member: Vec<u8>,
    set: usize,
    score: f64,
}

/// Bytes that a member takes that was taken.
fn weight(member: &[u8]) -> usize {
    size_of::<(f64, Vec<u8>)>() + member.len()
}

impl Union {
    pub(super) fn new(
        keyspace: &mut Keyspace<'_>,
        wanted: &SetOperationQuery<'_>,
    ) -> Result<Self, CommandError> {
        let sets = InputSet::all(keyspace, &wanted.inputs)?;
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

    /// Takes some members of a set that owes them, or gives the least member of all to `found`; how much work that was.
    pub(super) fn advance(&mut self, found: &mut ScoredMembers) -> usize {
        if let Some(set) = self.owing.pop() {
            return self.take(set);
        }
        let Some(mut head) = self.heads.peek_mut() else {
            found.extend(self.last.take());
            return 1;
        };
        let Reverse(UnionHead { member, set, score }) = &mut *head;
        self.bytes = self.bytes.saturating_sub(weight(member));
        match &mut self.last {
            Some((sum, last)) if last == member => *sum = self.aggregate.of(*sum, *score),
            last => found.extend(last.replace((*score, std::mem::take(member)))),
        }
        let source = &mut self.sets[*set];
        if let Some((next, name)) = source.taken.next() {
            (*score, *member) = (next, name);
        } else {
            if source.set.is_some() {
                self.owing.push(*set);
            }
            PeekMut::pop(head);
        }
        1
    }

    /// Takes the next members of a set.
    fn take(&mut self, at: usize) -> usize {
        let Self { aggregate, sets, together, owing, heads, bytes, .. } = self;
        let UnionSource { set: owner, taken } = &mut sets[at];
        let Some(set) = owner else { return 0 };
        let mut next = ScoredMembers::new();
        let InputSet { view, weights } = set;
        let more = view.step(*together, |name, value| {
            *bytes += weight(name);
            let score = weights.combined(MembersView::score_in(value), *aggregate);
            next.push((score, name.to_vec()));
            ControlFlow::Continue(())
        });
        let work = weights.work(next.len());
        if !more {
            *owner = None;
        }
        *taken = next.into_iter();
        match taken.next() {
            Some((score, member)) => heads.push(Reverse(UnionHead { member, set: at, score })),
            // It was at members that came after the command began.
            None if more => owing.push(at),
            None => {}
        }
        work
    }
}

impl Ord for UnionHead {
    fn cmp(&self, other: &Self) -> Ordering {
        self.member.cmp(&other.member).then(self.set.cmp(&other.set))
    }
}

impl PartialOrd for UnionHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for UnionHead {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for UnionHead {}
