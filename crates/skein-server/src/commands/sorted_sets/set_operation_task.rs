//! ZUNION, ZINTER, ZDIFF and ZINTERCARD of large sets, in slices.
//!
//! ```text
//!   views of all sets, of one moment ─► `union`: the least member of all     ┐
//!                                       `reduction`: looked up in the others ┴─► sorted piece   … until all are gone through
//!                                       `pieces`: merged by score ─► reply
//! ```
//!
//! The views are taken at once, one for each key, however often it is named. After that no slice does what grows with the sets or with how many they are: members are sorted piece by
//! piece, and the pieces merged as they are written. What was found is packed, so that it takes about what it takes in the reply, and is counted with all that is held for it.

mod packed_runs;
mod reduction;
mod union;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::MemberFormat;
use super::algebra::{Aggregate, SetOperation, SetOperationQuery, WeightedInput, number, with_set};
use super::remove::ScoredMembers;
use crate::commands::CommandError;
use crate::commands::task::{TaskProgress, TaskSlice};
use crate::engine::{Keyspace, MembersView, SetReader};
use crate::resp::ReplyWriter;
use packed_runs::PackedRuns;
use reduction::Reduction;
use union::Union;

/// Members that are taken or looked up in a slice, about.
const SLICE_LOOKUPS: usize = 128;
/// Members of a piece, at least but for the last one, and about at most.
const PIECE: usize = 64;
/// Members of all sets that are taken ahead of the answer, about.
const AHEAD: usize = 8192;
/// So many weights take as long as a lookup.
const WEIGHTS_PER_LOOKUP: usize = 64;

/// Members that are taken from a set together, at most: of many sets, or of one with many weights, few.
fn taken_together(keys: usize) -> usize {
    (AHEAD / keys.max(1)).clamp(1, PIECE)
}

/// What is answered.
#[derive(Clone, Copy)]
pub(super) enum SetOperationReply {
    Members(MemberFormat),
    /// How many there are; this many at most.
    Count(u64),
}

/// What the scores of a set are multiplied by: a weight for each time that its key is named.
struct ScoreWeights(Vec<f64>);

impl ScoreWeights {
    /// A score by each weight.
    fn each(&self, score: f64) -> impl Iterator<Item = f64> {
        self.0.iter().map(move |weight| number(score * weight))
    }

    /// What that is together.
    fn combined(&self, score: f64, aggregate: Aggregate) -> f64 {
        self.each(score).reduce(|sum, score| aggregate.of(sum, score)).unwrap_or_default()
    }

    /// How much work so many scores are, in lookups.
    fn work(&self, scores: usize) -> usize {
        scores * (1 + self.0.len() / WEIGHTS_PER_LOOKUP)
    }
}

/// A set that has members, as it was when the command began.
struct InputSet {
    view: MembersView,
    weights: ScoreWeights,
}

impl InputSet {
    /// Those of the inputs that have members, each once: scores of a set that is named again are combined before those of other sets come.
    fn all(keyspace: &mut Keyspace<'_>, inputs: &[WeightedInput<'_>]) -> Result<Vec<Self>, CommandError> {
        let mut sets = Vec::<Self>::new();
        let mut places = HashMap::<&[u8], usize>::with_capacity(inputs.len());
        for input in inputs {
            match places.entry(input.key) {
                Entry::Occupied(place) => sets[*place.get()].weights.0.push(input.weight),
                Entry::Vacant(place) => {
                    let view = with_set(keyspace, input.key, |set| {
                        set.filter(|set| !set.is_empty()).and_then(SetReader::view_members)
                    })?;
                    if let Some(view) = view {
                        place.insert(sets.len());
                        sets.push(Self { view, weights: ScoreWeights(vec![input.weight]) });
                    }
                }
            }
        }
        Ok(sets)
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.view.memory() + self.weights.0.capacity() * size_of::<f64>()
    }
}

/// How members are found.
enum MemberSearch {
    Union(Union),
    Reduction(Reduction),
}

impl MemberSearch {
    fn is_done(&self) -> bool {
        match self {
            Self::Union(union) => union.is_done(),
            Self::Reduction(reduction) => reduction.is_done(),
        }
    }

    /// Goes on, and gives to `found` what it finds; how much work that was, in lookups.
    fn advance(&mut self, found: &mut ScoredMembers) -> usize {
        match self {
            Self::Union(union) => union.advance(found),
            Self::Reduction(reduction) => reduction.advance(found),
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Union(union) => union.memory(),
            Self::Reduction(reduction) => reduction.memory(),
        }
    }
}

/// A command on large sets.
pub(crate) struct SetOperationTask {
    answer: SetOperationReply,
    search: MemberSearch,
    /// Members that were found, and are in no piece yet.
    taken: ScoredMembers,
    pieces: PackedRuns,
    found: usize,
    /// The head of the reply is written.
    writes: bool,
}

impl SetOperationTask {
    /// REQUIRES: nobody writes meanwhile, and the sets are sorted.
    pub(super) fn new(
        keyspace: &mut Keyspace<'_>,
        wanted: &SetOperationQuery<'_>,
        answer: SetOperationReply,
    ) -> Result<Self, CommandError> {
        let search = match wanted.operation {
            SetOperation::Union => MemberSearch::Union(Union::new(keyspace, wanted)?),
            SetOperation::Intersection | SetOperation::Difference => {
                MemberSearch::Reduction(Reduction::new(keyspace, wanted)?)
            }
        };
        let (taken, pieces) = (ScoredMembers::new(), PackedRuns::default());
        Ok(Self { answer, search, taken, pieces, found: 0, writes: false })
    }

    pub(in crate::commands) fn step(
        &mut self,
        slice: &TaskSlice<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<TaskProgress, CommandError> {
        let mut steps = 0;
        while steps < SLICE_LOOKUPS && !self.has_all() {
            steps += self.search.advance(&mut self.taken).max(1);
            self.keep();
        }
        slice.check_held(self.memory(), TOO_LONG)?;
        match self.answer {
            SetOperationReply::Count(limit) if self.has_all() => {
                reply.places((self.found as u64).min(limit));
                Ok(TaskProgress::Done)
            }
            SetOperationReply::Members(shape) if steps == 0 => {
                if !std::mem::replace(&mut self.writes, true) {
                    shape.head(self.found, reply);
                }
                let more = self.pieces.write(shape, reply);
                slice.check_len(reply, TOO_LONG)?;
                Ok(if more { TaskProgress::More } else { TaskProgress::Done })
            }
            _ => Ok(TaskProgress::More),
        }
    }

    /// Bytes that it holds.
    pub(in crate::commands) fn memory(&self) -> usize {
        self.search.memory() + self.pieces.memory()
    }

    /// Whether all is found that is asked for.
    fn has_all(&self) -> bool {
        let enough = matches!(self.answer, SetOperationReply::Count(limit) if self.found as u64 >= limit);
        enough || self.search.is_done()
    }

    /// Counts what was found, and makes a piece of it when it is enough for one, or all.
    fn keep(&mut self) {
        match self.answer {
            SetOperationReply::Count(_) => {
                self.found += self.taken.len();
                self.taken.clear();
            }
            SetOperationReply::Members(_) if self.taken.len() >= PIECE || self.search.is_done() => {
                self.found += self.taken.len();
                self.pieces.push(std::mem::take(&mut self.taken));
            }
            SetOperationReply::Members(_) => {}
        }
    }
}

const TOO_LONG: &str = "store the answer, and read it in parts";
