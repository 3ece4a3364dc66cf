//! Ranges of keys: `SK.RANGE`, `SK.PREFIX`, `SK.COUNT`, `SK.DELRANGE`.

use std::ops::Bound;

use skein_syntax::{KeyRange, RangeMoment, RangeOptions};

use super::snapshot::NONE_HELD;
use crate::commands::task::{CountTask, RangeSnapshot, RangeTask, RemoveRangeTask};
use crate::commands::{AfterCommand, CommandContext, CommandResult};
use crate::resp::{Args, Reply};
use skein_data::ScanDirection;

fn over(
    range: Option<KeyRange>,
    options: RangeOptions,
    context: &CommandContext,
    reply: &mut Reply,
) -> CommandResult {
    // This stands before the check for an empty range, because an engine without snapshots rejects
    // the option in any case.
    let snapshot = match options.moment {
        RangeMoment::Present => None,
        RangeMoment::Snapshot => context.session.snapshot()?.map(RangeSnapshot::Own),
        RangeMoment::Held => Some(RangeSnapshot::Held(context.client.snapshot.held().ok_or(NONE_HELD)?)),
    };
    let Some(range) = range.filter(|_| options.limit > 0) else {
        reply.array(0);
        return Ok(AfterCommand::Done);
    };
    let direction = if options.reverse { ScanDirection::Backward } else { ScanDirection::Forward };
    let keyspace = match &snapshot {
        // Databases may have been swapped since.
        Some(RangeSnapshot::Held(held)) => held.keyspace(context.client.database()),
        _ => context.client.keyspace(),
    };
    let task = RangeTask::new(keyspace, range, direction, options.limit, options.shown.into(), snapshot);
    Ok(AfterCommand::slices(task))
}

pub(super) fn range(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let range = KeyRange::parse(args.get(1), args.get(2))?;
    over(range, RangeOptions::parse(args.from(3))?, context, reply)
}

pub(super) fn prefix(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let range = KeyRange::with_prefix(args.get(1));
    over(Some(range), RangeOptions::parse(args.from(2))?, context, reply)
}

pub(super) fn count(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    match KeyRange::parse(args.get(1), args.get(2))? {
        None => reply.int(0),
        Some(KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }) => {
            reply.count(context.keys());
        }
        Some(range) => {
            let task = CountTask::new(context.client.keyspace(), range);
            return Ok(AfterCommand::slices(task));
        }
    }
    Ok(AfterCommand::Done)
}

pub(super) fn del_range(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    match KeyRange::parse(args.get(1), args.get(2))? {
        None => {
            reply.int(0);
            Ok(AfterCommand::Done)
        }
        Some(range) => {
            let task = RemoveRangeTask::counting(context.client.keyspace(), range);
            Ok(AfterCommand::slices(task))
        }
    }
}
