//! ZUNION, ZINTER, ZDIFF, ZINTERCARD, their forms that store the result, and ZRANGESTORE. The same
//! commands on unsorted sets use this module, too (`commands::sets`).
//!
//! All are exclusive (`Handler::Exclusive`), so they see a single moment, and their writes are
//! atomic. For large sets, the commands that only read take views and continue in slices
//! (`set_operation_task`).

use std::ops::ControlFlow;

use skein_syntax::number::parse_i64;

use super::aggregate::{Aggregate, number};
use super::distinct_sources::{
    DistinctSource, SourceGrouping, each_once, each_run, merge_into, walked_and_looked_up,
};
use super::merge::{merges, retain_by_merge};
use super::multi_set::replace_set;
use super::ranges::{RangeQuery, STORED};
use super::remove::{ScoredMembers, parse_count};
use super::set_operation_task::{SetOperationReply, SetOperationTask};
use super::{MEMBER_OVERHEAD, MemberFormat, check_reply_len, in_order};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::AT_ONCE;
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::resp::double::parse_double;
use crate::resp::{Args, Reply};
use skein_data::{CollectionKind, EngineKeys, Error, Member, RowView, ScanDirection, SetReader};

/// The operation on several sets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetOperation {
    Union,
    Intersection,
    Difference,
}

/// The kinds of sets that a command reads.
#[derive(Clone, Copy)]
pub(super) enum SetKinds {
    /// Sorted or not. The members of a set that is not sorted have the score 1, as in Redis.
    Any,
    Only(CollectionKind),
}

impl SetKinds {
    /// Calls `look` with the set of a row, or with `None`.
    fn look_at<R>(
        self,
        row: Result<Option<RowView>, Error>,
        look: impl FnOnce(Option<&SetReader>) -> R,
    ) -> CommandResult<R> {
        let Some(row) = row? else { return Ok(look(None)) };
        let look = |set: &SetReader<'_>| look(Some(set));
        let found = match self {
            Self::Any => row.any_set(look),
            Self::Only(kind) => row.set_of(kind, look),
        };
        found?.ok_or_else(CommandError::wrong_type)
    }
}

/// One input set: its key, its length, and the factor for its scores.
#[derive(Clone, Copy)]
pub(super) struct WeightedInput<'a> {
    pub(super) key: &'a [u8],
    pub(super) len: u64,
    pub(super) weight: f64,
}

/// The parsed arguments of one of the commands.
pub(crate) struct SetOperationQuery<'a> {
    pub(super) operation: SetOperation,
    pub(super) kinds: SetKinds,
    pub(super) inputs: Vec<WeightedInput<'a>>,
    pub(super) aggregate: Aggregate,
    scores: bool,
    /// Maximum number of members to count.
    limit: Option<u64>,
}

/// The use of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SetOperationUse {
    Reply,
    Store,
    Count,
}

impl<'a> SetOperationQuery<'a> {
    /// Makes a query on sets that are not sorted. Errors if a key holds another kind.
    pub(crate) fn of_plain_sets(
        context: &mut CommandContext,
        operation: SetOperation,
        keys: impl Iterator<Item = &'a [u8]>,
    ) -> CommandResult<Self> {
        let mut wanted = Self {
            operation,
            kinds: SetKinds::Only(CollectionKind::Set),
            inputs: Vec::new(),
            // All scores are the same, and so remain the same.
            aggregate: Aggregate::Least,
            scores: false,
            limit: None,
        };
        wanted.add_inputs(context, keys)?;
        Ok(wanted)
    }

    fn add_inputs(
        &mut self,
        context: &mut CommandContext,
        keys: impl Iterator<Item = &'a [u8]>,
    ) -> CommandResult<()> {
        for key in keys {
            let len_of = |set: Option<&SetReader>| set.map_or(0, SetReader::len);
            let len = context.look_up(key, |row| self.kinds.look_at(row, len_of))?;
            self.inputs.push(WeightedInput { key, len, weight: 1.0 });
        }
        Ok(())
    }

    /// Parses the arguments from `first` on: a number of keys, the keys, and options. Errors if a
    /// key holds no set.
    fn parse(
        context: &mut CommandContext,
        args: &Args<'a>,
        name: &str,
        first: usize,
        operation: SetOperation,
        purpose: SetOperationUse,
    ) -> CommandResult<Self> {
        let count = parse_i64(args.get(first)).ok_or(NOT_AN_INTEGER)?;
        if count < 1 {
            return Err(CommandError::owned(format!(
                "ERR at least 1 input key is needed for '{name}' command"
            )));
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > args.len() - first - 1 {
            return Err(SYNTAX);
        }
        let mut wanted = Self {
            operation,
            kinds: SetKinds::Any,
            inputs: Vec::with_capacity(count),
            aggregate: Aggregate::Sum,
            scores: false,
            limit: None,
        };
        wanted.add_inputs(context, args.from(first + 1).take(count))?;
        wanted.options(args, first + 1 + count, purpose)?;
        Ok(wanted)
    }

    fn options(&mut self, args: &Args<'a>, first: usize, purpose: SetOperationUse) -> CommandResult<()> {
        let combines = self.operation != SetOperation::Difference && purpose != SetOperationUse::Count;
        let mut rest = args.from(first);
        while let Some(word) = rest.next() {
            if combines && is(word, "WEIGHTS") && rest.len() >= self.inputs.len() {
                for (input, weight) in self.inputs.iter_mut().zip(rest.by_ref()) {
                    let weight = parse_double(weight);
                    input.weight = weight.ok_or(CommandError::text("ERR weight value is not a float"))?;
                }
            } else if combines && is(word, "AGGREGATE") && rest.len() > 0 {
                let by = rest.next().unwrap_or_default();
                let known =
                    [("SUM", Aggregate::Sum), ("MIN", Aggregate::Least), ("MAX", Aggregate::Greatest)];
                let known = known.into_iter().find(|(name, _)| is(by, name));
                self.aggregate = known.ok_or(SYNTAX)?.1;
            } else if purpose == SetOperationUse::Reply && is(word, "WITHSCORES") {
                self.scores = true;
            } else if purpose == SetOperationUse::Count && is(word, "LIMIT") && rest.len() > 0 {
                self.limit = Some(parse_limit(rest.next().unwrap_or_default())?);
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(())
    }

    /// Sorts the inputs by length if their order does not matter. An intersection walks only the
    /// first one.
    fn sort(&mut self) {
        if self.operation != SetOperation::Difference {
            self.inputs.sort_by_key(|input| input.len);
        }
    }

    /// Returns whether the operation walks or looks up many members. REQUIRES: the inputs are
    /// sorted.
    fn is_long(&self) -> bool {
        let mut lens = self.inputs.iter().map(|input| input.len);
        let work = match self.operation {
            SetOperation::Union => lens.sum(),
            SetOperation::Intersection | SetOperation::Difference => {
                lens.next().unwrap_or(0).saturating_mul(self.inputs.len() as u64)
            }
        };
        work > AT_ONCE as u64
    }

    /// Returns the members of the result: of a union in their order, else in the order of the first
    /// set.
    pub(crate) fn find(mut self, engine_keys: &mut EngineKeys) -> CommandResult<ScoredMembers> {
        self.sort();
        match self.operation {
            SetOperation::Union => self.union(engine_keys),
            SetOperation::Intersection | SetOperation::Difference => self.reduce(engine_keys),
        }
    }

    /// Returns how names of one set are grouped. Only the order of additions may matter.
    fn grouping(&self) -> SourceGrouping<'a> {
        let adds = matches!(self.aggregate, Aggregate::Sum) && self.operation != SetOperation::Difference;
        if adds { each_run } else { each_once }
    }

    /// Returns the members in their order: a collection is filled in order several times faster.
    fn union(self, engine_keys: &mut EngineKeys) -> CommandResult<ScoredMembers> {
        let (mut found, mut distinct) = (ScoredMembers::new(), 0);
        for DistinctSource { key, len, weights } in self.grouping()(&self.inputs) {
            let (len, mut set) = (usize::try_from(len).unwrap_or(usize::MAX), ScoredMembers::new());
            // Otherwise a merge is cheaper than a copy of the set for each of its names.
            let copies = len.saturating_mul(weights.count()) <= found.len() + len;
            with_set(engine_keys, self.kinds, key, |input| {
                each(input, |score, member| {
                    if copies {
                        let products = weights.each(score).map(number);
                        found.extend(products.map(|product| (product, member.to_vec())));
                    } else {
                        set.push((score, member.to_vec()));
                    }
                });
            })?;
            if !copies {
                self.aggregate.combine(&mut found);
                set.sort_by(|(_, one), (_, other)| one.cmp(other));
                merge_into(&mut found, set, &weights, self.aggregate);
                distinct = found.len();
            }
            // Sets that are alike take the room of two.
            if found.len() > 2 * distinct {
                self.aggregate.combine(&mut found);
                distinct = found.len();
            }
        }
        self.aggregate.combine(&mut found);
        Ok(found)
    }

    /// Returns the members of the first set that are in all others, or in none of them.
    fn reduce(self, engine_keys: &mut EngineKeys) -> CommandResult<ScoredMembers> {
        let mut found = ScoredMembers::new();
        let Some((first, others)) = walked_and_looked_up(self.operation, &self.inputs, self.grouping())
        else {
            return Ok(found);
        };
        with_set(engine_keys, self.kinds, first.key, |set| {
            each(set, |score, member| {
                found.push((first.weights.combined_first(score, self.aggregate), member.to_vec()));
            });
        })?;
        let kept = self.operation == SetOperation::Intersection;
        for other in others {
            if found.is_empty() {
                break;
            }
            let merges = merges(self.kinds, other.len, found.len());
            with_set(engine_keys, self.kinds, other.key, |set| {
                if let Some(set) = set.filter(|_| merges) {
                    return retain_by_merge(&mut found, set, kept);
                }
                found.retain_mut(|(score, member)| match set.and_then(|set| set.score(member)) {
                    Some(theirs) => {
                        // As in Redis, NaN is the product of a later set and makes the sum 0.
                        *score = other.weights.each(theirs).fold(*score, |a, b| self.aggregate.of(a, b));
                        kept
                    }
                    None => !kept,
                });
            })?;
        }
        Ok(found)
    }
}

/// Parses the argument of LIMIT in ZINTERCARD and SINTERCARD.
pub(crate) fn parse_limit(text: &[u8]) -> CommandResult<u64> {
    parse_count(text).map_err(|_| CommandError::text("ERR LIMIT can't be negative"))
}

/// Calls `look` with the set of a key, or with `None`.
pub(super) fn with_set<R>(
    engine_keys: &mut EngineKeys,
    kinds: SetKinds,
    key: &[u8],
    look: impl FnOnce(Option<&SetReader>) -> R,
) -> CommandResult<R> {
    engine_keys.get_with(key, |row| kinds.look_at(row, look))
}

/// Calls `show` for each member of a set.
fn each(set: Option<&SetReader>, mut show: impl FnMut(f64, Member<'_>)) {
    if let Some(set) = set {
        set.walk(0, ScanDirection::Forward, |score, member| {
            show(score, member);
            ControlFlow::Continue(())
        });
    }
}

pub(super) fn answer(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    name: &str,
    operation: SetOperation,
) -> CommandResult {
    let purpose = SetOperationUse::Reply;
    let wanted = SetOperationQuery::parse(context, args, name, 1, operation, purpose)?;
    let shape = MemberFormat::of(wanted.scores, reply);
    reply_with(context, wanted, shape, reply)
}

/// Replies with the members of the result.
pub(crate) fn reply_with(
    context: &mut CommandContext,
    mut wanted: SetOperationQuery<'_>,
    shape: MemberFormat,
    reply: &mut Reply,
) -> CommandResult {
    let engine_keys = &mut context.session;
    wanted.sort();
    if wanted.is_long() {
        let task = SetOperationTask::new(engine_keys, &wanted, SetOperationReply::Members(shape))?;
        return Ok(AfterCommand::slices(task));
    }
    let mut found = wanted.find(engine_keys)?;
    check_reply_len(found.iter().map(|(_, member)| member.len() + MEMBER_OVERHEAD).sum())?;
    found.sort_unstable_by(in_order);
    shape.head(found.len(), reply);
    for (score, member) in &found {
        shape.member(*score, Member::of(member), reply);
    }
    Ok(AfterCommand::Done)
}

pub(super) fn store(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    name: &str,
    operation: SetOperation,
) -> CommandResult {
    let found = SetOperationQuery::parse(context, args, name, 2, operation, SetOperationUse::Store)?
        .find(&mut context.session)?;
    put_found(context, CollectionKind::SortedSet, args.get(1), &found, reply)
}

/// Stores the members in a set of this kind, and replies with their number.
pub(crate) fn put_found(
    context: &mut CommandContext,
    kind: CollectionKind,
    key: &[u8],
    found: &ScoredMembers,
    reply: &mut Reply,
) -> CommandResult {
    context.write(|writer| replace_set(writer, kind, key, found))?;
    reply.count(found.len());
    Ok(AfterCommand::Done)
}

pub(super) fn zinter_card(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let wanted = SetOperationQuery::parse(
        context,
        args,
        "zintercard",
        1,
        SetOperation::Intersection,
        SetOperationUse::Count,
    )?;
    let limit = wanted.limit.unwrap_or(0);
    count_with(context, wanted, limit, reply)
}

/// Replies with the number of members of the result, up to `limit`. A limit of 0 means no limit.
pub(crate) fn count_with(
    context: &mut CommandContext,
    mut wanted: SetOperationQuery<'_>,
    limit: u64,
    reply: &mut Reply,
) -> CommandResult {
    let engine_keys = &mut context.session;
    let limit = if limit > 0 { limit } else { u64::MAX };
    wanted.sort();
    if wanted.is_long() {
        let task = SetOperationTask::new(engine_keys, &wanted, SetOperationReply::Count(limit))?;
        return Ok(AfterCommand::slices(task));
    }
    reply.places((wanted.find(engine_keys)?.len() as u64).min(limit));
    Ok(AfterCommand::Done)
}

pub(super) fn zrange_store(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let asked = RangeQuery::parse(args, 3, STORED)?;
    let kinds = SetKinds::Only(CollectionKind::SortedSet);
    let members_of = |set: Option<&SetReader>| {
        let mut found = ScoredMembers::new();
        if let Some(set) = set {
            asked.walk(set, &asked.places(set)?, |score, member| {
                found.push((score, member.to_vec()));
                ControlFlow::Continue(())
            });
        }
        Ok::<_, CommandError>(found)
    };
    let found = context.look_up(args.get(2), |row| kinds.look_at(row, members_of))??;
    put_found(context, CollectionKind::SortedSet, args.get(1), &found, reply)
}
