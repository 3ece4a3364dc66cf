//! ZRANDMEMBER: random members of a set. Finds a few members by rank; for many, walks all in slices
//! (`commands::random_entries`).

use std::ops::ControlFlow;

use super::{MemberFormat, answer_of};
use crate::commands::random_entries::{RandomEntryKind, RandomQuery, RandomTask};
use crate::commands::task::AT_ONCE;
use crate::commands::{AfterCommand, CommandContext, CommandError, SlicedTask};
use crate::random::CommandRng;
use crate::resp::{ReplyWriter, RequestArgs};
use skein_data::{RowView, ScanDirection, SetReader};

/// Replies at once if that is quick. Otherwise writes nothing and calls `long`.
fn answer(
    row: Option<RowView<'_>>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
    long: impl FnOnce(&SetReader<'_>, RandomQuery, &mut ReplyWriter<'_>),
) -> Result<(), CommandError> {
    let asked = RandomQuery::parse(RandomEntryKind::Members, args)?;
    answer_of(row, reply, |set, reply| {
        match set {
            None => asked.nothing(reply),
            Some(set) => {
                let len = len_of(set);
                let count = if asked.distinct { asked.count.min(len) } else { asked.count };
                if count <= AT_ONCE { write_some(set, &asked, count, reply) } else { long(set, asked, reply) }
            }
        }
        Ok(())
    })
}

pub(in crate::commands) fn zrand_member(
    row: Option<RowView<'_>>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) {
    let start = reply.position();
    if let Err(fault) = answer(row, args, reply, |_, _, reply| reply.put_off()) {
        reply.truncate(start);
        fault.write(reply);
    }
}

pub(in crate::commands) fn zrand_member_in_slices(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    let mut task = None;
    context.look_up(args.get(1), |row| {
        answer(row?, args, reply, |set, asked, _| {
            task = set.view_members().map(|view| RandomTask::new(view, asked));
        })
    })?;
    Ok(task.map_or(AfterCommand::Done, |task| AfterCommand::Slices(Box::new(SlicedTask::Any(task)))))
}

fn len_of(set: &SetReader<'_>) -> usize {
    usize::try_from(set.len()).unwrap_or(usize::MAX)
}

/// Writes `count` members. Distinct ones are written in order.
fn write_some(set: &SetReader<'_>, asked: &RandomQuery, count: usize, reply: &mut ReplyWriter<'_>) {
    let (mut random, len) = (CommandRng::new(), len_of(set));
    let places = if asked.distinct {
        random.choose(count, len)
    } else {
        (0..count).map(|_| random.below(len)).collect()
    };
    let shape = MemberFormat::of(asked.values, reply);
    asked.head(count, reply);
    for at in places {
        set.walk(at as u64, ScanDirection::Forward, |score, member| {
            shape.member(score, member, reply);
            ControlFlow::Break(())
        });
    }
}
