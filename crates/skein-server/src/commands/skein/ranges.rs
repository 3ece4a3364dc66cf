//! Ranges of keys: `SK.RANGE`, `SK.PREFIX`, `SK.COUNT`, `SK.DELRANGE`.

use std::ops::Bound;

use skein_syntax::{Range, RangeOptions};

use crate::commands::task::{CountTask, RangeTask, RemoveTask, Task};
use crate::commands::{Context, Fault, Next};
use crate::engine::Direction;
use crate::resp::{Args, Reply};

fn over(
    range: Option<Range>,
    options: RangeOptions,
    context: &Context<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    // Also for an empty range: whether it is one does not decide whether there are snapshots.
    let snapshot = if options.snapshot { context.session.snapshot()? } else { None };
    let Some(range) = range.filter(|_| options.limit > 0) else {
        reply.array(0);
        return Ok(Next::Done);
    };
    let direction = if options.reverse { Direction::Backward } else { Direction::Forward };
    let task = RangeTask::new(range, direction, options.limit, options.shown.into(), snapshot);
    Ok(Next::Slices(Box::new(Task::Range(task))))
}

pub(in crate::commands) fn range(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    let range = Range::parse(args.get(1), args.get(2))?;
    over(range, RangeOptions::parse(args.from(3))?, context, reply)
}

pub(in crate::commands) fn prefix(
    context: &mut Context<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<Next, Fault> {
    let range = Range::with_prefix(args.get(1));
    over(Some(range), RangeOptions::parse(args.from(2))?, context, reply)
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
