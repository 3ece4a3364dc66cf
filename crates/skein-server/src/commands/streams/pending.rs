//! XACK and XPENDING.

use std::ops::ControlFlow;

use super::ids::{parse_end, parse_ids, parse_start};
use super::ranges::{IdRange, parse_count};
use super::replies::{write_counted, write_id};
use super::{answer_of, no_group};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{EngineWriter, Group, PendingEntry, StreamId, StreamReader, name_within};
use skein_syntax::number::parse_i64;

/// The pending entries of a consumer that a search lists at a time.
const LISTED: usize = 256;

pub(super) fn xack(writer: &mut EngineWriter, args: &Args, reply: &mut Reply) -> Replied {
    let count = writer.change_stream(args.get(1), false, |stream| {
        if stream.group(args.get(2))?.is_none() {
            return Ok(0);
        }
        let ids = parse_ids(args.from(3))?;
        Ok::<_, CommandError>(stream.acknowledge(args.get(2), &ids)?)
    })?;
    reply.places(count.unwrap_or(0));
    Ok(())
}

/// Which pending entries a request asks for.
struct PendingQuery<'a> {
    range: IdRange,
    most: u64,
    min_idle: u64,
    consumer: Option<&'a [u8]>,
}

impl<'a> PendingQuery<'a> {
    /// Reads a request; `None` if it asks for a summary.
    fn parse(args: &Args<'a>) -> CommandResult<Option<Self>> {
        if args.len() == 3 {
            return Ok(None);
        }
        if !(6..=9).contains(&args.len()) {
            return Err(SYNTAX);
        }
        let (mut at, mut min_idle) = (3, 0);
        if is(args.get(3), "IDLE") {
            let idle = parse_i64(args.get(4)).ok_or(NOT_AN_INTEGER)?;
            if args.len() < 8 {
                return Err(SYNTAX);
            }
            min_idle = u64::try_from(idle).unwrap_or(0);
            at = 5;
        }
        let most = parse_count(args.get(at + 2))?;
        let range = (parse_start(args.get(at))?, parse_end(args.get(at + 1))?);
        let consumer = (at + 3 < args.len()).then(|| args.get(at + 3));
        Ok(Some(Self { range, most, min_idle, consumer }))
    }

    fn asks_for(&self, entry: &PendingEntry, now: u64) -> bool {
        entry.idle(now) >= self.min_idle
    }
}

pub(super) fn xpending(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let (query, now) = (PendingQuery::parse(args)?, context.session.now());
    context.look_up(args.get(1), |row| {
        answer_of(row?, reply, |stream, reply| {
            let absent = || {
                no_group(&[
                    b"No such key '",
                    name_within(args.get(1)),
                    b"' or consumer group '",
                    args.get(2),
                    b"'",
                ])
            };
            let stream = stream.ok_or_else(absent)?;
            let group = stream.group(args.get(2))?.ok_or_else(absent)?;
            match query {
                None => write_summary(stream, &group, reply),
                Some(query) => write_pending(stream, &group, &query, now, reply),
            }
        })
    })?;
    Ok(AfterCommand::Done)
}

/// Writes the number of pending entries, the first and the last one, and the number of each
/// consumer.
fn write_summary(stream: &mut StreamReader, group: &Group, reply: &mut Reply) -> Replied {
    reply.array(4);
    reply.places(group.pending);
    let mut first = None;
    stream.pending_from(group, StreamId::MIN, |id, _| {
        first = Some(id);
        ControlFlow::Break(())
    })?;
    let (Some(first), Some(last)) = (first, stream.last_pending(group)?) else {
        reply.null();
        reply.null();
        reply.null_array();
        return Ok(());
    };
    write_id(first, reply);
    write_id(last, reply);
    let consumers = stream.consumers(group)?;
    let with_entries = || consumers.iter().filter(|(_, consumer)| consumer.pending > 0);
    reply.array(with_entries().count());
    for (name, consumer) in with_entries() {
        reply.array(2);
        reply.bulk(name);
        reply.bulk_number(consumer.pending);
    }
    Ok(())
}

/// Writes the pending entries that a request asks for.
fn write_pending(
    stream: &mut StreamReader,
    group: &Group,
    query: &PendingQuery<'_>,
    now: u64,
    reply: &mut Reply,
) -> Replied {
    write_counted(reply, |reply, count| {
        let mut show = |id: StreamId, entry: &PendingEntry| {
            if id > query.range.1 || *count as u64 >= query.most {
                return ControlFlow::Break(());
            }
            if query.asks_for(entry, now) {
                *count += 1;
                reply.array(4);
                write_id(id, reply);
                reply.bulk(&entry.consumer);
                reply.places(entry.idle(now));
                reply.places(entry.deliveries);
            }
            ControlFlow::Continue(())
        };
        let Some(name) = query.consumer else {
            stream.pending_from(group, query.range.0, |id, entry| show(id, &entry))?;
            return Ok(());
        };
        let Some(consumer) = stream.consumer(group, name)? else { return Ok(()) };
        let mut next = Some(query.range.0);
        while let Some(first) = next {
            let ids = stream.owned_from(group, &consumer, first, LISTED)?;
            next = ids.last().filter(|_| ids.len() == LISTED).and_then(|last| last.next());
            for id in ids {
                let Some(entry) = stream.pending_entry(group, id)? else { continue };
                if show(id, &entry).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    })
}
