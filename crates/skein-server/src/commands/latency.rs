//! LATENCY: how long commands take, and which events made clients wait. `graph` draws the samples
//! of an event, `doctor` describes them.

mod doctor;
mod graph;

use std::time::UNIX_EPOCH;

use super::reply_limit::ReplyLimit;
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandError, CommandResult, QUOTED_BYTES_MAX, Replied, quoted};
use crate::observe::command_kinds::CommandKind;
use crate::observe::latency_events::{LatencyEvent, LatencyEvents, LatencyHistory};
use crate::observe::{CommandTotals, KindTotals};
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;

const HELP: &[&str] = &[
    "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "DOCTOR",
    "    Return a report on the samples of all events.",
    "GRAPH <event>",
    "    Return the samples of an event as a graph.",
    "HISTORY <event>",
    "    Return the samples of an event (batch, command, fast-command): seconds since 1970, milliseconds.",
    "LATEST",
    "    Return for each event the time of the latest sample, its milliseconds, and those of the worst.",
    "RESET [<event> ...]",
    "    Delete the samples of these events, or of all. Return the number of events.",
    "HISTOGRAM [<command> ...]",
    "    Return the distribution of call times, in microseconds, of these commands or of all.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn latency(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let events = &context.shared.observing.events;
    match subcommand(args)? {
        "doctor" => {
            let millis = context.shared.settings.latency_threshold.millis();
            reply.text(&doctor::report(millis, &events.all()));
        }
        "graph" => write_graph(events, args.get(2), reply)?,
        "histogram" => histograms(context.shared, args, reply)?,
        "history" => history(events, args.get(2), reply),
        "latest" => latest(&events.all(), reply),
        "reset" => reply.count(reset(events, args)),
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

fn latest(events: &[(LatencyEvent, LatencyHistory)], reply: &mut Reply) {
    reply.array_of(events, |reply, (event, history)| {
        let last = history.samples.back();
        reply.array(4);
        reply.bulk(event.name().as_bytes());
        reply.places(last.map_or(0, |sample| sample.unix_s));
        reply.places(last.map_or(0, |sample| sample.millis));
        reply.places(history.worst);
    });
}

/// Replies with the samples of an event; an empty array for an unknown event.
fn history(events: &LatencyEvents, name: &[u8], reply: &mut Reply) {
    let wanted = LatencyEvent::named(name);
    let found = events.all().into_iter().find(|(event, _)| Some(*event) == wanted);
    let samples = found.map(|(_, history)| history.samples).unwrap_or_default();
    reply.array_of(samples, |reply, sample| {
        reply.array(2);
        reply.places(sample.unix_s);
        reply.places(sample.millis);
    });
}

fn write_graph(events: &LatencyEvents, name: &[u8], reply: &mut Reply) -> Replied {
    let wanted = LatencyEvent::named(name);
    let Some((event, history)) = events.all().into_iter().find(|(event, _)| Some(*event) == wanted) else {
        let shown = quoted(name, QUOTED_BYTES_MAX);
        return Err(CommandError::owned(
            [&b"ERR No samples available for event '"[..], shown, b"'"].concat(),
        ));
    };
    let now_s = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    reply.text(&graph::draw(event, &history, now_s));
    Ok(())
}

/// Deletes the samples of events. Returns how many of the events had samples.
fn reset(events: &LatencyEvents, args: &Args) -> usize {
    let forget = |event| usize::from(events.reset(event));
    if args.len() == 2 {
        LatencyEvent::ALL.into_iter().map(forget).sum()
    } else {
        args.from(2).filter_map(LatencyEvent::named).map(forget).sum()
    }
}

fn histograms(shared: &ServerShared, args: &Args, reply: &mut Reply) -> Replied {
    let limit = ReplyLimit::new(shared, reply, "name fewer commands at a time");
    let seen = shared.seen();
    let found = if args.len() == 2 { timed(&seen).collect() } else { named(&seen, args) };
    reply.map(found.len());
    for (kind, seen) in found {
        reply.bulk(kind.name().as_bytes());
        reply.map(2);
        reply.named("calls").places(seen.latency.total());
        reply.bulk(b"histogram_usec");
        let doublings = rising(seen);
        reply.map(doublings.len());
        for (micros, count) in doublings {
            reply.places(micros);
            reply.places(count);
        }
        limit.check(reply)?;
    }
    Ok(())
}

fn timed(seen: &CommandTotals) -> impl Iterator<Item = (CommandKind, &KindTotals)> {
    seen.kinds().filter(|(_, seen)| seen.latency.total() > 0)
}

/// Returns the commands that the request names, in its order.
fn named<'s>(seen: &'s CommandTotals, args: &Args<'_>) -> Vec<(CommandKind, &'s KindTotals)> {
    let names = args.from(2).filter_map(|name| std::str::from_utf8(name).ok());
    let wanted = names.flat_map(CommandKind::named);
    wanted.filter_map(|kind| timed(seen).find(|(known, _)| *known == kind)).collect()
}

/// Returns pairs of microseconds and the number of calls that took no longer, wherever that number
/// rises. The microseconds are the same as Redis's.
fn rising(seen: &KindTotals) -> Vec<(u64, u64)> {
    let mut before = 0;
    let mut rises = seen.latency.doublings();
    rises.retain(|(_, count)| std::mem::replace(&mut before, *count) < *count);
    rises.iter().map(|(nanos, count)| ((nanos + nanos / 128 - 1) / 1000, *count)).collect()
}
