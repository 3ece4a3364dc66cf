//! Ranges of keys: `SK.RANGE`, `SK.PREFIX`, `SK.COUNT`, `SK.DELRANGE`.

use std::ops::Bound;

use super::bounds::Range;
use crate::commands::fault::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::{CountTask, RangeTask, RemoveTask, Shape, Task};
use crate::commands::{Context, Fault, Next, is};
use crate::engine::Direction;
use crate::resp::number::{parse_i64, parse_u64};
use crate::resp::{Args, Reply};

/// What follows the bounds: `[REV] [LIMIT n] [NOVALUES | COLUMNS n name...] [SNAPSHOT]`, in any order, each at most once.
struct RangeOptions {
    direction: Option<Direction>,
    limit: Option<usize>,
    shape: Option<Shape>,
    snapshot: bool,
}

impl RangeOptions {
    fn parse(args: &Args<'_>, first: usize) -> Result<Self, Fault> {
        let mut options = Self { direction: None, limit: None, shape: None, snapshot: false };
        let mut rest = args.from(first);
        while let Some(word) = rest.next() {
            if is(word, "REV") && options.direction.is_none() {
                options.direction = Some(Direction::Backward);
            } else if is(word, "LIMIT") && options.limit.is_none() {
                let limit = parse_u64(rest.next().ok_or(SYNTAX)?).ok_or(NOT_AN_INTEGER)?;
                options.limit = Some(usize::try_from(limit).unwrap_or(usize::MAX));
            } else if is(word, "NOVALUES") && options.shape.is_none() {
                options.shape = Some(Shape::Keys);
            } else if is(word, "COLUMNS") && options.shape.is_none() {
                let count = parse_i64(rest.next().ok_or(SYNTAX)?).ok_or(NOT_AN_INTEGER)?;
                let count = usize::try_from(count).ok().filter(|count| *count > 0);
                let count =
                    count.ok_or(Fault::text("ERR COLUMNS takes a count of 1 or more, then the names"))?;
                if rest.len() < count {
                    return Err(SYNTAX);
                }
                options.shape = Some(Shape::Columns(rest.by_ref().take(count).map(<[u8]>::to_vec).collect()));
            } else if is(word, "SNAPSHOT") && !options.snapshot {
                options.snapshot = true;
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(options)
    }

    fn over(self, range: Option<Range>, context: &Context<'_>, reply: &mut Reply<'_>) -> Result<Next, Fault> {
        // Also for an empty range: whether it is one does not decide whether there are snapshots.
        let snapshot = if self.snapshot { context.session.snapshot()? } else { None };
        let limit = self.limit.unwrap_or(usize::MAX);
        let Some(range) = range.filter(|_| limit > 0) else {
            reply.array(0);
            return Ok(Next::Done);
        };
        let direction = self.direction.unwrap_or(Direction::Forward);
        let shape = self.shape.unwrap_or(Shape::Entries);
        let task = RangeTask::new(range, direction, limit, shape, snapshot);
        Ok(Next::Slices(Box::new(Task::Range(task))))
    }
}

pub(in crate::commands) fn range(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    let range = Range::parse(args.get(1), args.get(2))?;
    RangeOptions::parse(args, 3)?.over(range, context, reply)
}

pub(in crate::commands) fn prefix(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    let range = Range::with_prefix(args.get(1));
    RangeOptions::parse(args, 2)?.over(Some(range), context, reply)
}

pub(in crate::commands) fn count(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    match Range::parse(args.get(1), args.get(2))? {
        None => reply.int(0),
        Some(Range { lower: Bound::Unbounded, upper: Bound::Unbounded }) => {
            reply.count(context.session.len());
        }
        Some(range) => return Ok(Next::Slices(Box::new(Task::Count(CountTask::new(range))))),
    }
    Ok(Next::Done)
}

pub(in crate::commands) fn del_range(
    _: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    match Range::parse(args.get(1), args.get(2))? {
        None => {
            reply.int(0);
            Ok(Next::Done)
        }
        Some(range) => Ok(Next::Slices(Box::new(Task::Remove(RemoveTask::new(range, true))))),
    }
}
