//! ZUNION, ZINTER, ZDIFF and ZINTERCARD of large sets, in slices.
//!
//! ```text
//!   views of all sets, of one moment ─► some members of a set ─► looked up in the others ─► sorted piece   … until all are gone through
//!                                       pieces ─► merged by score ─► reply
//! ```
//!
//! No slice does what grows with the sets or with how many they are: members are sorted piece by piece, and the pieces merged as they are written. What was found is packed, so
//! that it takes about what it takes in the reply, and is counted with all that it takes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::ControlFlow;

use super::algebra::{Aggregate, Operation, Wanted, number, with_set};
use super::{Shape, in_order};
use crate::commands::Fault;
use crate::commands::task::{Progress, SLICE_KEYS, Slice, full_from};
use crate::engine::{Keyspace, Member, MembersView, SetReader};
use crate::resp::Reply;

/// Members that are taken or looked up in a slice, about.
const SLICE_LOOKUPS: usize = 128;
/// Members that are taken from a set together, at most.
const TAKEN: usize = 64;

/// What is answered.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Members(Shape),
    /// How many there are; this many at most.
    Count(u64),
}

/// A set that has members, as it was when the command began.
struct Input {
    /// To go through it; `None` for one in which members are only looked up, and for one that is done.
    members: Option<MembersView>,
    /// To look members up.
    lookup: MembersView,
    weight: f64,
}

/// A command on large sets.
pub(crate) struct SeveralTask {
    operation: Operation,
    aggregate: Aggregate,
    answer: Answer,
    inputs: Vec<Input>,
    /// The set that is being gone through.
    at: usize,
    /// Members of it that may be in the answer, and the set in which they are looked up next.
    taken: Vec<(f64, Vec<u8>)>,
    other: usize,
    /// What was found: pieces in order, each from its least member on.
    pieces: BinaryHeap<Piece>,
    found: usize,
    /// Bytes that the pieces take.
    bytes: usize,
    /// The head of the reply is written.
    writes: bool,
}

impl SeveralTask {
    /// REQUIRES: nobody writes meanwhile, and the sets are sorted.
    pub(super) fn new(
        keyspace: &mut Keyspace<'_>,
        wanted: &Wanted<'_>,
        answer: Answer,
    ) -> Result<Self, Fault> {
        let mut inputs = Vec::with_capacity(wanted.inputs.len());
        for (at, input) in wanted.inputs.iter().enumerate() {
            let goes_through = at == 0 || wanted.operation == Operation::Union;
            let views = with_set(keyspace, input.key, |set| {
                let set = set.filter(|set| !set.is_empty())?;
                let members = if goes_through { Some(set.view_members()?) } else { None };
                Some((members, SetReader::view_members(set)?))
            })?;
            if let Some((members, lookup)) = views {
                inputs.push(Input { members, lookup, weight: input.weight });
            }
        }
        let Wanted { operation, aggregate, .. } = *wanted;
        Ok(Self {
            operation,
            aggregate,
            answer,
            inputs,
            at: 0,
            taken: Vec::new(),
            other: 0,
            pieces: BinaryHeap::new(),
            found: 0,
            bytes: 0,
            writes: false,
        })
    }

    pub(in crate::commands) fn step(
        &mut self,
        slice: &Slice<'_>,
        reply: &mut Reply<'_>,
    ) -> Result<Progress, Fault> {
        let mut steps = 0;
        while steps < SLICE_LOOKUPS && !self.has_all() {
            steps += self.advance().max(1);
        }
        match self.answer {
            Answer::Members(_) => slice.check_held(self.bytes, TOO_LONG)?,
            Answer::Count(limit) if self.has_all() => {
                reply.places((self.found as u64).min(limit));
                return Ok(Progress::Done);
            }
            Answer::Count(_) => {}
        }
        match self.answer {
            Answer::Members(shape) if steps == 0 => {
                let more = self.write(shape, reply);
                slice.check_len(reply, TOO_LONG)?;
                Ok(if more { Progress::More } else { Progress::Done })
            }
            _ => Ok(Progress::More),
        }
    }

    /// Whether all is found that is asked for.
    fn has_all(&self) -> bool {
        let enough = matches!(self.answer, Answer::Count(limit) if self.found as u64 >= limit);
        enough || (self.at == self.inputs.len() && self.taken.is_empty())
    }

    /// Takes some members, or looks those that were taken up in one more set, or keeps them; how many that were. REQUIRES: not all is found.
    fn advance(&mut self) -> usize {
        let count = self.taken.len();
        if count == 0 {
            self.take();
            return self.taken.len();
        }
        // Not in the set that they are of.
        self.other += usize::from(self.other == self.at);
        if self.other < self.inputs.len() {
            self.look_up();
            self.other += 1;
        } else {
            self.keep();
        }
        count
    }

    /// Takes the next members of the present set.
    fn take(&mut self) {
        let Self { inputs, at, taken, other, .. } = self;
        let Input { members, weight, .. } = &mut inputs[*at];
        *other = 0;
        // They are looked up when this set is let go: nobody waits for a set with another one in his hands.
        let more = members.as_mut().is_some_and(|members| {
            members.step(TAKEN, |name, value| {
                taken.push((number(MembersView::score_in(value) * *weight), name.to_vec()));
                ControlFlow::Continue(())
            })
        });
        if !more {
            *members = None;
        }
        if taken.is_empty() {
            self.go_to_next_set();
        }
    }

    fn go_to_next_set(&mut self) {
        self.at = if self.operation == Operation::Union { self.at + 1 } else { self.inputs.len() };
    }

    /// Looks up in one other set what was taken: what is not in the answer goes, and the scores of the others change.
    fn look_up(&mut self) {
        let Self { operation, aggregate, inputs, at, other, taken, .. } = self;
        let Input { lookup, weight, .. } = &inputs[*other];
        taken.retain_mut(|(score, member)| match (lookup.score(member), *operation) {
            (Some(_), Operation::Difference) | (None, Operation::Intersection) => false,
            // It came up already.
            (Some(_), Operation::Union) if *other < *at => false,
            (Some(theirs), _) => {
                *score = aggregate.of(*score, number(theirs * *weight));
                true
            }
            (None, _) => true,
        });
    }

    /// What was taken is in the answer.
    fn keep(&mut self) {
        let kept = std::mem::take(&mut self.taken);
        self.found += kept.len();
        if matches!(self.answer, Answer::Members(_))
            && let Some(piece) = Piece::new(kept)
        {
            self.bytes += piece.memory();
            self.pieces.push(piece);
        }
    }

    /// Writes some of what was found; whether there is more.
    fn write(&mut self, shape: Shape, reply: &mut Reply<'_>) -> bool {
        if !std::mem::replace(&mut self.writes, true) {
            shape.head(self.found, reply);
        }
        let (full, mut count) = (full_from(reply.position()), 0);
        while count < SLICE_KEYS && full(reply).is_continue() {
            let Some(mut piece) = self.pieces.peek_mut() else { break };
            let (score, member) = piece.least();
            shape.member(score, Member::of(member), reply);
            count += 1;
            if !piece.advance() {
                PeekMut::pop(piece);
            }
        }
        !self.pieces.is_empty()
    }
}

const TOO_LONG: &str = "store the answer, and read it in parts";

/// Members in order, the greatest piece being that with the least member: of each its score and its length, 8 and 4 bytes, and its own.
struct Piece {
    packed: Box<[u8]>,
    /// Where the least member begins.
    at: usize,
}

/// Bytes before each member of a piece.
const PIECE_HEAD: usize = size_of::<f64>() + size_of::<u32>();

impl Piece {
    /// `None` without members.
    fn new(mut members: Vec<(f64, Vec<u8>)>) -> Option<Self> {
        members.sort_unstable_by(in_order);
        let bytes = members.iter().map(|(_, member)| PIECE_HEAD + member.len()).sum();
        let mut packed = Vec::with_capacity(bytes);
        for (score, member) in &members {
            packed.extend_from_slice(&score.to_le_bytes());
            packed.extend_from_slice(&(member.len() as u32).to_le_bytes());
            packed.extend_from_slice(member);
        }
        (bytes > 0).then(|| Self { packed: packed.into_boxed_slice(), at: 0 })
    }

    /// Bytes that it takes, with its place among the others, which are given twice the room that they need at most.
    fn memory(&self) -> usize {
        self.packed.len() + 2 * size_of::<Self>()
    }

    fn least(&self) -> (f64, &[u8]) {
        let (score, rest) = self.packed[self.at..].split_first_chunk().unwrap_or((&[0; 8], &[]));
        let (len, rest) = rest.split_first_chunk().unwrap_or((&[0; 4], &[]));
        (f64::from_le_bytes(*score), &rest[..u32::from_le_bytes(*len) as usize])
    }

    /// Goes on to the next member; whether there is one.
    fn advance(&mut self) -> bool {
        self.at += PIECE_HEAD + self.least().1.len();
        self.at < self.packed.len()
    }
}

impl Ord for Piece {
    fn cmp(&self, other: &Self) -> Ordering {
        in_order(&other.least(), &self.least())
    }
}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Piece {}
