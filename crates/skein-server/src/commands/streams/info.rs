//! XINFO.

use std::ops::ControlFlow;

use super::ranges::write_entries_of;
use super::replies::{write_counted, write_entry, write_id};
use super::{GROUP, answer_of};
use crate::commands::command_error::NOT_AN_INTEGER;
use crate::commands::subcommands::{help, subcommand, unknown_or_wrong};
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, Replied, is};
use crate::resp::{Args, Reply};
use skein_data::{Consumer, ENTRIES_READ_UNKNOWN, Group, ScanDirection, StreamId, StreamReader, name_within};
use skein_syntax::number::parse_i64;

const NO_SUCH_KEY: CommandError = CommandError::text("ERR no such key");
/// The entries that XINFO STREAM FULL shows of each list, unless COUNT says otherwise.
const COUNT: u64 = 10;
const ALL: (StreamId, StreamId) = (StreamId::MIN, StreamId::MAX);

const HELP: &[&str] = &[
    "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "CONSUMERS <key> <group>",
    "    Show the consumers of a group.",
    "GROUPS <key>",
    "    Show the groups of a stream.",
    "STREAM <key> [FULL [COUNT <count>]]",
    "    Show a stream; with FULL also its entries and groups, up to a number of each.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn xinfo(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let subcommand = subcommand(args)?;
    if subcommand == "help" {
        help(HELP, reply);
        return Ok(AfterCommand::Done);
    }
    let now = context.session.now();
    context.look_up(args.get(2), |row| {
        answer_of(row?, reply, |stream, reply| {
            let stream = stream.ok_or(NO_SUCH_KEY)?;
            match subcommand {
                "groups" => write_groups(stream, reply),
                "consumers" => write_consumers(stream, args, now, reply),
                _ => write_stream(stream, args, reply),
            }
        })
    })?;
    Ok(AfterCommand::Done)
}

fn write_groups(stream: &mut StreamReader, reply: &mut Reply) -> Replied {
    let groups = stream.groups()?;
    reply.array(groups.len());
    for (name, group) in &groups {
        reply.map(6);
        reply.named("name").bulk(name);
        reply.named("consumers").places(group.consumers);
        reply.named("pending").places(group.pending);
        write_progress(stream, group, reply)?;
    }
    Ok(())
}

/// Writes how far a group has read.
fn write_progress(stream: &mut StreamReader, group: &Group, reply: &mut Reply) -> Replied {
    let number_or_null = |number: Option<i64>, reply: &mut Reply<'_>| match number {
        Some(number) => reply.int(number),
        None => reply.null(),
    };
    reply.bulk(b"last-delivered-id");
    write_id(group.last_id, reply);
    reply.bulk(b"entries-read");
    number_or_null(Some(group.entries_read).filter(|read| *read != ENTRIES_READ_UNKNOWN), reply);
    reply.bulk(b"lag");
    let lag = stream.lag(group)?;
    number_or_null(lag, reply);
    Ok(())
}

fn write_consumers(stream: &mut StreamReader, args: &Args, now: u64, reply: &mut Reply) -> Replied {
    let (key, name) = (args.get(2), args.get(3));
    let absent =
        || super::no_group(&[b"No such consumer group '", name, b"' for key name '", name_within(key), b"'"]);
    let group = stream.group(name)?.ok_or_else(absent)?;
    let consumers = stream.consumers(&group)?;
    reply.array(consumers.len());
    for (name, consumer) in &consumers {
        reply.map(3);
        reply.named("name").bulk(name);
        reply.named("pending").places(consumer.pending);
        reply.named("idle").places(now.saturating_sub(consumer.seen));
    }
    Ok(())
}

/// Reads the options of XINFO STREAM: `None`, or the most entries of each list.
fn parse_full(args: &Args) -> CommandResult<Option<u64>> {
    match args.len() {
        3 => Ok(None),
        4 if is(args.get(3), "FULL") => Ok(Some(COUNT)),
        6 if is(args.get(3), "FULL") && is(args.get(4), "COUNT") => {
            let count = parse_i64(args.get(5)).ok_or(NOT_AN_INTEGER)?;
            // 0 shows all.
            Ok(Some(u64::try_from(count).map_or(COUNT, |count| if count == 0 { u64::MAX } else { count })))
        }
        _ => Err(unknown_or_wrong(args)),
    }
}

fn write_stream(stream: &mut StreamReader, args: &Args, reply: &mut Reply) -> Replied {
    let full = parse_full(args)?;
    let head = stream.head();
    reply.map(if full.is_some() { 9 } else { 10 });
    reply.named("length").places(head.len);
    // The least number that Redis would have.
    let nodes = head.len.div_ceil(GROUP);
    reply.named("radix-tree-keys").places(nodes);
    reply.named("radix-tree-nodes").places(nodes + 1);
    for (name, id) in [("last-generated-id", head.last_id), ("max-deleted-entry-id", head.max_deleted_id)] {
        reply.bulk(name.as_bytes());
        write_id(id, reply);
    }
    reply.named("entries-added").places(head.added);
    reply.bulk(b"recorded-first-entry-id");
    write_id(stream.edge(ScanDirection::Forward)?.unwrap_or_default(), reply);
    match full {
        None => write_edges(stream, reply),
        Some(most) => write_contents(stream, most, reply),
    }
}

fn write_edges(stream: &mut StreamReader, reply: &mut Reply) -> Replied {
    reply.named("groups").count(stream.groups()?.len());
    for (name, direction) in
        [("first-entry", ScanDirection::Forward), ("last-entry", ScanDirection::Backward)]
    {
        reply.bulk(name.as_bytes());
        let mut is_there = false;
        stream.entries(ALL, direction, |id, fields| {
            is_there = true;
            write_entry(id, fields, reply);
            ControlFlow::Break(())
        })?;
        if !is_there {
            reply.null();
        }
    }
    Ok(())
}

fn write_contents(stream: &mut StreamReader, most: u64, reply: &mut Reply) -> Replied {
    reply.bulk(b"entries");
    let count = most.min(stream.len());
    write_entries_of(stream, ALL, count, reply)?;
    let groups = stream.groups()?;
    reply.bulk(b"groups");
    reply.array(groups.len());
    for (name, group) in &groups {
        reply.map(7);
        reply.named("name").bulk(name);
        write_progress(stream, group, reply)?;
        reply.named("pel-count").places(group.pending);
        reply.bulk(b"pending");
        write_group_pending(stream, group, most, reply)?;
        let consumers = stream.consumers(group)?;
        reply.bulk(b"consumers");
        reply.array(consumers.len());
        for (name, consumer) in &consumers {
            reply.map(4);
            reply.named("name").bulk(name);
            reply.named("seen-time").places(consumer.seen);
            reply.named("pel-count").places(consumer.pending);
            reply.bulk(b"pending");
            write_consumer_pending(stream, group, consumer, most, reply)?;
        }
    }
    Ok(())
}

fn write_group_pending(stream: &mut StreamReader, group: &Group, most: u64, reply: &mut Reply) -> Replied {
    write_counted(reply, |reply, count| {
        stream.pending_from(group, StreamId::MIN, |id, entry| {
            *count += 1;
            reply.array(4);
            write_id(id, reply);
            reply.bulk(&entry.consumer);
            reply.places(entry.delivered);
            reply.places(entry.deliveries);
            if (*count as u64) < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    })?;
    Ok(())
}

fn write_consumer_pending(
    stream: &mut StreamReader,
    group: &Group,
    consumer: &Consumer,
    most: u64,
    reply: &mut Reply,
) -> Replied {
    let most = usize::try_from(most.min(consumer.pending)).unwrap_or(usize::MAX);
    let ids = if most > 0 { stream.owned_from(group, consumer, StreamId::MIN, most)? } else { Vec::new() };
    write_counted(reply, |reply, count| {
        for id in ids {
            let Some(entry) = stream.pending_entry(group, id)? else { continue };
            *count += 1;
            reply.array(3);
            write_id(id, reply);
            reply.places(entry.delivered);
            reply.places(entry.deliveries);
        }
        Ok(())
    })
}
