//! ZUNION, ZINTER, ZDIFF and ZINTERCARD of large sets, in slices.
//!
//! ```text
//!   views of all sets, as of one moment
//!     ─► `union`: the least member of all sets          ┐
//!        `reduction`: members looked up in other sets   ┴─► sorted run   … until the sets end
//!     ─► `packed_runs`: runs merged by score ─► reply
//! ```
//!
//! The views are taken together, one for each key, however often it is named. After that, no slice
//! does work that grows with the sets or with their number. Members are sorted run by run, and the
//! runs are merged while the reply is written. The runs are packed, so they need about as many
//! bytes as in the reply, and they count towards its limit.

mod packed_runs;
mod reduction;
mod union;

use super::MemberFormat;
use super::algebra::{SetKinds, SetOperation, SetOperationQuery, with_set};
use super::distinct_sources::{DistinctSource, ScoreWeights};
use super::remove::ScoredMembers;
use crate::commands::CommandResult;
use crate::commands::task::{SliceResult, SlicedTask, TaskProgress, TaskSlice};
use crate::resp::Reply;
use packed_runs::PackedRuns;
use reduction::Reduction;
use skein_data::{EngineKeys, MembersView, SetReader};
use union::Union;

/// Approximate number of members that are taken or looked up in a slice.
const SLICE_LOOKUPS: usize = 128;
/// Approximate number of members in a run; only the last one has fewer.
const RUN_MEMBERS: usize = 64;
/// Approximate number of members that are read ahead from all sets together.
const AHEAD: usize = 8192;

/// Returns the maximum number of members read from a set at a time: few if there are many sets, or
/// one set with many weights.
fn taken_together(keys: usize) -> usize {
    (AHEAD / keys.max(1)).clamp(1, RUN_MEMBERS)
}

/// The form of the reply.
#[derive(Clone, Copy)]
pub(super) enum SetOperationReply {
    Members(MemberFormat),
    /// The number of members, up to this limit.
    Count(u64),
}

/// A set with members, as of the start of the command.
struct InputSet {
    view: MembersView,
    weights: ScoreWeights,
}

impl InputSet {
    /// Returns a source with its members, or `None` if it has no members.
    fn of(
        engine_keys: &mut EngineKeys,
        kinds: SetKinds,
        source: DistinctSource<'_>,
    ) -> CommandResult<Option<Self>> {
        let view = with_set(engine_keys, kinds, source.key, |set| {
            set.filter(|set| !set.is_empty()).and_then(SetReader::view_members)
        })?;
        Ok(view.map(|view| Self { view, weights: source.weights }))
    }

    /// Returns the sources that have members.
    fn all(
        engine_keys: &mut EngineKeys,
        kinds: SetKinds,
        sources: Vec<DistinctSource<'_>>,
    ) -> CommandResult<Vec<Self>> {
        let sets = sources.into_iter().map(|source| Self::of(engine_keys, kinds, source).transpose());
        sets.flatten().collect()
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.view.memory() + self.weights.memory()
    }
}

/// The search for members.
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

    /// Takes one step and appends to `found`. Returns the work of the step, in lookups.
    fn advance(&mut self, found: &mut ScoredMembers) -> CommandResult<usize> {
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
    /// Found members that are not in a run yet.
    taken: ScoredMembers,
    runs: PackedRuns,
    found: usize,
    /// The head of the reply is written.
    writes: bool,
}

impl SetOperationTask {
    /// Takes the views. REQUIRES: no client writes meanwhile, and the inputs are sorted.
    pub(super) fn new(
        engine_keys: &mut EngineKeys,
        wanted: &SetOperationQuery<'_>,
        answer: SetOperationReply,
    ) -> CommandResult<Self> {
        let search = match wanted.operation {
            SetOperation::Union => MemberSearch::Union(Union::new(engine_keys, wanted)?),
            SetOperation::Intersection | SetOperation::Difference => {
                MemberSearch::Reduction(Reduction::new(engine_keys, wanted)?)
            }
        };
        let (taken, runs) = (ScoredMembers::new(), PackedRuns::default());
        Ok(Self { answer, search, taken, runs, found: 0, writes: false })
    }

    /// Returns whether the search has found all requested members.
    fn has_all(&self) -> bool {
        let enough = matches!(self.answer, SetOperationReply::Count(limit) if self.found as u64 >= limit);
        enough || self.search.is_done()
    }

    /// Counts the found members. Makes a run of them if there are enough, or if the search is done.
    fn keep(&mut self) {
        match self.answer {
            SetOperationReply::Count(_) => {
                self.found += self.taken.len();
                self.taken.clear();
            }
            SetOperationReply::Members(_) if self.taken.len() >= RUN_MEMBERS || self.search.is_done() => {
                self.found += self.taken.len();
                self.runs.push(std::mem::take(&mut self.taken));
            }
            SetOperationReply::Members(_) => {}
        }
    }
}

impl SlicedTask for SetOperationTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let mut steps = 0;
        while steps < SLICE_LOOKUPS && !self.has_all() {
            steps += self.search.advance(&mut self.taken)?.max(1);
            self.keep();
        }
        slice.check_memory(self.held(), TOO_LONG)?;
        match self.answer {
            SetOperationReply::Count(limit) if self.has_all() => {
                reply.places((self.found as u64).min(limit));
                Ok(TaskProgress::Done)
            }
            SetOperationReply::Members(shape) if steps == 0 => {
                if !std::mem::replace(&mut self.writes, true) {
                    shape.head(self.found, reply);
                }
                let more = self.runs.write(shape, reply);
                slice.check_len(reply, TOO_LONG)?;
                Ok(if more { TaskProgress::More } else { TaskProgress::Done })
            }
            _ => Ok(TaskProgress::More),
        }
    }

    fn held(&self) -> usize {
        self.search.memory() + self.runs.memory()
    }
}

const TOO_LONG: &str = "store the result and read it in parts";
