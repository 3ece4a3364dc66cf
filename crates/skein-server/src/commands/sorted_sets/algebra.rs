//! ZUNION, ZINTER, ZDIFF, ZINTERCARD, and their forms that store what they find; ZRANGESTORE.
//!
//! All are exclusive (`Handler::Exclusive`), so that they are of one moment and, if they store, whole. Those that only read take views of sets that are large, and go on in slices
//! (`several_long`).

use std::collections::HashMap;
use std::ops::ControlFlow;

use skein_syntax::number::parse_i64;

use super::multi_set::replace_set;
use super::ranges::{RangeQuery, STORED};
use super::remove::{ScoredMembers, parse_count};
use super::set_operation_task::{SetOperationReply, SetOperationTask};
use super::{MEMBER_OVERHEAD, MemberFormat, check_reply_len, in_order};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::AT_ONCE;
use crate::commands::{AfterCommand, CommandContext, CommandError, SlicedTask, is};
use crate::engine::{Keyspace, Member, ScanDirection, SetReader};
use crate::resp::double::parse_double;
use crate::resp::{ReplyWriter, RequestArgs};

/// What is made of several sets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SetOperation {
    Union,
    Intersection,
    Difference,
}

/// How the scores of a member in several sets become one.
#[derive(Clone, Copy)]
pub(super) enum Aggregate {
    Sum,
    Least,
    Greatest,
}

impl Aggregate {
    pub(super) fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Sum => number(a + b),
            Self::Least => a.min(b),
            Self::Greatest => a.max(b),
        }
    }
}

/// Where infinities cancel each other out, 0 is left.
pub(super) fn number(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

/// A set to read from: its key, how many members it has, and what its scores are multiplied by.
#[derive(Clone, Copy)]
pub(super) struct WeightedInput<'a> {
    pub(super) key: &'a [u8],
    len: u64,
    pub(super) weight: f64,
}

/// What one of the commands asks for.
pub(super) struct SetOperationQuery<'a> {
    pub(super) operation: SetOperation,
    pub(super) inputs: Vec<WeightedInput<'a>>,
    pub(super) aggregate: Aggregate,
    scores: bool,
    /// How many members are counted, at most.
    limit: Option<u64>,
}

/// What the command does with the members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SetOperationUse {
    Reply,
    Store,
    Count,
}

impl<'a> SetOperationQuery<'a> {
    /// What the arguments from `first` on ask for: how many keys, the keys, and options.
    fn parse(
        keyspace: &mut Keyspace<'_>,
        args: &RequestArgs<'a>,
        (name, first): (&str, usize),
        operation: SetOperation,
        purpose: SetOperationUse,
    ) -> Result<Self, CommandError> {
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
        let mut inputs = Vec::with_capacity(count);
        for key in args.from(first + 1).take(count) {
            let len = with_set(keyspace, key, |set| set.map_or(0, SetReader::len))?;
            inputs.push(WeightedInput { key, len, weight: 1.0 });
        }
        let mut wanted = Self { operation, inputs, aggregate: Aggregate::Sum, scores: false, limit: None };
        wanted.options(args, first + 1 + count, purpose)?;
        Ok(wanted)
    }

    fn options(
        &mut self,
        args: &RequestArgs<'a>,
        first: usize,
        purpose: SetOperationUse,
    ) -> Result<(), CommandError> {
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
                let limit = parse_count(rest.next().unwrap_or_default());
                self.limit = Some(limit.map_err(|_| CommandError::text("ERR LIMIT can't be negative"))?);
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(())
    }

    /// The smallest set first, where it does not matter: of an intersection it is all that is gone through.
    fn sort(&mut self) {
        if self.operation != SetOperation::Difference {
            self.inputs.sort_by_key(|input| input.len);
        }
    }

    /// Whether many members have to be gone through, or looked up. REQUIRES: the sets are sorted.
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

    /// The members that are asked for, in no order.
    fn find(mut self, keyspace: &mut Keyspace<'_>) -> Result<ScoredMembers, CommandError> {
        self.sort();
        match self.operation {
            SetOperation::Union => self.union(keyspace),
            SetOperation::Intersection | SetOperation::Difference => self.reduce(keyspace),
        }
    }

    fn union(self, keyspace: &mut Keyspace<'_>) -> Result<ScoredMembers, CommandError> {
        let mut found: HashMap<Vec<u8>, f64> = HashMap::new();
        for input in self.inputs {
            with_set(keyspace, input.key, |set| {
                each(set, |score, member| {
                    let score = number(score * input.weight);
                    let present = found.entry(member.to_vec());
                    present.and_modify(|sum| *sum = self.aggregate.of(*sum, score)).or_insert(score);
                });
            })?;
        }
        Ok(found.into_iter().map(|(member, score)| (score, member)).collect())
    }

    /// The members of the first set that are in all others, or in none of them.
    fn reduce(self, keyspace: &mut Keyspace<'_>) -> Result<ScoredMembers, CommandError> {
        let Some((first, others)) = self.inputs.split_first() else { return Ok(ScoredMembers::new()) };
        let mut found = ScoredMembers::new();
        with_set(keyspace, first.key, |set| {
            each(set, |score, member| found.push((number(score * first.weight), member.to_vec())));
        })?;
        let kept = self.operation == SetOperation::Intersection;
        for other in others {
            if found.is_empty() {
                break;
            }
            with_set(keyspace, other.key, |set| {
                found.retain_mut(|(score, member)| match set.and_then(|set| set.score(member)) {
                    Some(theirs) => {
                        *score = self.aggregate.of(*score, number(theirs * other.weight));
                        kept
                    }
                    None => !kept,
                });
            })?;
        }
        Ok(found)
    }
}

/// Shows `look` the set at a key, or none.
pub(super) fn with_set<R>(
    keyspace: &mut Keyspace<'_>,
    key: &[u8],
    look: impl FnOnce(Option<&SetReader<'_>>) -> R,
) -> Result<R, CommandError> {
    keyspace.get_with(key, |row| {
        let Some(row) = row? else { return Ok(look(None)) };
        let set = row.sorted_set().ok_or_else(CommandError::wrong_type)?.read();
        Ok(look(Some(&set)))
    })
}

/// Shows `show` all members of a set.
fn each(set: Option<&SetReader<'_>>, mut show: impl FnMut(f64, Member<'_>)) {
    if let Some(set) = set {
        set.walk(0, ScanDirection::Forward, |score, member| {
            show(score, member);
            ControlFlow::Continue(())
        });
    }
}

fn answer(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
    name: &str,
    operation: SetOperation,
) -> Result<AfterCommand, CommandError> {
    let keyspace = &mut context.session;
    let mut wanted = SetOperationQuery::parse(keyspace, args, (name, 1), operation, SetOperationUse::Reply)?;
    let shape = MemberFormat::of(wanted.scores, reply);
    wanted.sort();
    if wanted.is_long() {
        let task = SetOperationTask::new(keyspace, &wanted, SetOperationReply::Members(shape))?;
        return Ok(AfterCommand::Slices(Box::new(SlicedTask::Several(task))));
    }
    let mut found = wanted.find(keyspace)?;
    check_reply_len(found.iter().map(|(_, member)| member.len() + MEMBER_OVERHEAD).sum())?;
    found.sort_unstable_by(in_order);
    shape.head(found.len(), reply);
    for (score, member) in &found {
        shape.member(*score, Member::of(member), reply);
    }
    Ok(AfterCommand::Done)
}

fn store(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
    name: &str,
    operation: SetOperation,
) -> Result<AfterCommand, CommandError> {
    let keyspace = &mut context.session;
    let found = SetOperationQuery::parse(keyspace, args, (name, 2), operation, SetOperationUse::Store)?
        .find(keyspace)?;
    put_found(context, args.get(1), &found, reply)
}

fn put_found(
    context: &mut CommandContext<'_>,
    key: &[u8],
    found: &ScoredMembers,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    let (stored, ticket) = context.session.write(|writer| replace_set(writer, key, found, None));
    context.ticket = context.ticket.max(ticket);
    stored??;
    reply.count(found.len());
    Ok(AfterCommand::Done)
}

pub(in crate::commands) fn zunion(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    answer(context, args, reply, "zunion", SetOperation::Union)
}

pub(in crate::commands) fn zinter(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    answer(context, args, reply, "zinter", SetOperation::Intersection)
}

pub(in crate::commands) fn zdiff(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    answer(context, args, reply, "zdiff", SetOperation::Difference)
}

pub(in crate::commands) fn zunion_store(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    store(context, args, reply, "zunionstore", SetOperation::Union)
}

pub(in crate::commands) fn zinter_store(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    store(context, args, reply, "zinterstore", SetOperation::Intersection)
}

pub(in crate::commands) fn zdiff_store(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    store(context, args, reply, "zdiffstore", SetOperation::Difference)
}

pub(in crate::commands) fn zinter_card(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    let keyspace = &mut context.session;
    let mut wanted = SetOperationQuery::parse(
        keyspace,
        args,
        ("zintercard", 1),
        SetOperation::Intersection,
        SetOperationUse::Count,
    )?;
    // A limit of 0 is none.
    let limit = wanted.limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
    wanted.sort();
    if wanted.is_long() {
        let task = SetOperationTask::new(keyspace, &wanted, SetOperationReply::Count(limit))?;
        return Ok(AfterCommand::Slices(Box::new(SlicedTask::Several(task))));
    }
    reply.places((wanted.find(keyspace)?.len() as u64).min(limit));
    Ok(AfterCommand::Done)
}

pub(in crate::commands) fn zrange_store(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    let asked = RangeQuery::parse(args, 3, STORED)?;
    let found = with_set(&mut context.session, args.get(2), |set| {
        let mut found = ScoredMembers::new();
        if let Some(set) = set {
            asked.walk(set, &asked.places(set), |score, member| {
                found.push((score, member.to_vec()));
                ControlFlow::Continue(())
            });
        }
        found
    })?;
    put_found(context, args.get(1), &found, reply)
}
