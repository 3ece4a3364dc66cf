//! MEMORY and SK.MEMORY: the server's use of memory.

use skein_syntax::number::parse_i64;

use super::command_error::{NOT_AN_INTEGER, SYNTAX};
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandResult, Replied, is};
use crate::resp::{Args, Reply};

const HELP: &[&str] = &[
    "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "DOCTOR",
    "    Return a report on unusual use of memory.",
    "MALLOC-STATS",
    "    Return live memory by part.",
    "PURGE",
    "    Does nothing: free memory is returned automatically.",
    "STATS",
    "    Return information about the memory usage of the server.",
    "USAGE <key> [SAMPLES <count>]",
    "    Return memory in bytes used by <key> and its value. Only the disk engine",
    "    samples: by default 5 members, with 0 or more than 1000 that many.",
    "HELP",
    "    Prints this help.",
];

/// The number of members of the disk engine that stand for all, without SAMPLES; as in Redis.
const SAMPLES: u64 = 5;
/// The most members that one command reads. Others wait meanwhile.
const MOST_SAMPLES: u64 = 1000;

/// Below this number of bytes MEMORY DOCTOR has nothing to report.
const SMALL: usize = 5 << 20;

pub(super) fn memory(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    match subcommand(args)? {
        "usage" => usage(context, args, reply)?,
        "stats" => numbers(&stats(context), reply),
        "doctor" => reply.text(&doctor(context)),
        "malloc-stats" => {
            let lines: Vec<String> =
                parts(context).iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
            reply.text(&lines.concat());
        }
        // Empty spans and regions are returned to the system automatically.
        "purge" => reply.ok(),
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

fn usage(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    let key = args.get(2);
    let mut samples = SAMPLES;
    for at in (3..args.len()).step_by(2) {
        if !is(args.get(at), "SAMPLES") || at + 1 == args.len() {
            return Err(SYNTAX);
        }
        match parse_i64(args.get(at + 1)) {
            None => return Err(NOT_AN_INTEGER),
            Some(..0) => return Err(SYNTAX),
            Some(0) => samples = MOST_SAMPLES,
            Some(count) => samples = count.unsigned_abs().min(MOST_SAMPLES),
        }
    }
    context.session.get_with(key, |row| {
        match row? {
            None => reply.null(),
            Some(row) => {
                let members = usize::try_from(row.stored_bytes(samples)?).unwrap_or(usize::MAX);
                reply.count(row.usage(key).saturating_add(members));
            }
        }
        Ok(())
    })
}

/// Runs `SK.MEMORY`.
pub(super) fn by_part(context: &mut CommandContext, _: &Args, reply: &mut Reply) -> CommandResult {
    numbers(&parts(context), reply);
    Ok(AfterCommand::Done)
}

fn numbers(pairs: &[(&str, usize)], reply: &mut Reply) {
    reply.map(pairs.len());
    for (name, value) in pairs {
        reply.bulk(name.as_bytes());
        reply.count(*value);
    }
}

fn parts(context: &CommandContext<'_>) -> [(&'static str, usize); 12] {
    let stats = context.shared.data.store_stats();
    let live = stats.index_bytes + stats.row_bytes;
    let (memory, buffers) = (&stats.memory, context.shared.workers.buffer_bytes());
    [
        ("keys", stats.keys),
        ("live_bytes", live),
        ("index_bytes", stats.index_bytes),
        ("node_bytes", memory.nodes + memory.orders),
        ("key_bytes", memory.keys),
        ("row_bytes", stats.row_bytes),
        ("buffer_bytes", buffers + memory.buffers),
        ("unreclaimed_bytes", stats.unreclaimed_bytes),
        ("used_bytes", context.shared.used_bytes(&stats)),
        ("peak_bytes", context.shared.peak_bytes(&stats)),
        ("reserved_bytes", stats.reserved_bytes),
        ("live_bytes_per_key", live.checked_div(stats.keys).unwrap_or(0)),
    ]
}

/// Returns the numbers of MEMORY STATS: Redis's names where they apply, then our own.
fn stats(context: &CommandContext<'_>) -> Vec<(&'static str, usize)> {
    let stats = context.shared.data.store_stats();
    let (memory, clients) = (&stats.memory, context.shared.workers.buffer_bytes());
    let used = context.shared.used_bytes(&stats);
    let dataset = memory.keys + stats.row_bytes;
    vec![
        ("peak.allocated", context.shared.peak_bytes(&stats)),
        ("total.allocated", used),
        ("clients.normal", clients),
        ("aof.buffer", memory.buffers),
        ("overhead.total", used.saturating_sub(dataset)),
        ("keys.count", stats.keys),
        ("keys.bytes-per-key", used.checked_div(stats.keys).unwrap_or(0)),
        ("dataset.bytes", dataset),
        ("allocator.allocated", memory.total()),
        ("allocator.active", memory.held),
        ("allocator.resident", stats.reserved_bytes),
        ("nodes.bytes", memory.nodes),
        ("orders.bytes", memory.orders),
        ("unreclaimed.bytes", stats.unreclaimed_bytes),
    ]
}

fn doctor(context: &CommandContext) -> String {
    let stats = context.session.engine().stats();
    let used = context.shared.used_bytes(&stats);
    if used < SMALL {
        return "The server uses less than 5 MiB of memory, too little for a report.".into();
    }
    let mut found = Vec::new();
    let engine = context.session.engine();
    // A full cache of the disk engine is normal.
    if let (Some(limit), eviction) = engine.memory_limit()
        && engine.disk().is_none()
        && used > limit - limit / 10
    {
        found.push(format!(
            "{used} bytes are used of the limit of {limit} (maxmemory), with the policy {eviction}: raise the limit, remove keys, or expect that policy to act."
        ));
    }
    if stats.unreclaimed_bytes > used / 5 {
        found.push(format!(
            "{} bytes of removed rows are not reclaimed, because readers may still use them: look for long ranges, snapshots and checkpoints (INFO memory: snapshots).",
            stats.unreclaimed_bytes
        ));
    }
    if stats.memory.held > stats.memory.total() + stats.memory.total() / 2 {
        found.push(format!(
            "The allocator holds {} bytes for {}: keys of other sizes were removed. New keys of those sizes reuse the memory; a restart compacts it.",
            stats.memory.held,
            stats.memory.total()
        ));
    }
    if found.is_empty() { "The use of memory is normal.".into() } else { found.join("\n") }
}
