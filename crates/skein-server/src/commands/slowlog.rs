//! SLOWLOG: the requests that took longer than `slowlog-log-slower-than`.

use skein_syntax::number::parse_i64;

use super::reply_limit::ReplyLimit;
use super::subcommands::{help, subcommand, unknown_or_wrong};
use super::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::observe::slowlog::SlowlogEntry;
use crate::resp::{Args, Reply};

/// Number of entries in the reply of GET without a count.
const COUNT_DEFAULT: usize = 10;

const HELP: &[&str] = &[
    "SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "GET [<count>]",
    "    Return the newest <count> entries (default 10, -1 for all), each with its number,",
    "    the time, microseconds, the arguments, the client's address, and its name.",
    "LEN",
    "    Return the number of entries.",
    "RESET",
    "    Delete all entries.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn slowlog(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let slowlog = &context.shared.observing.slowlog;
    match subcommand(args)? {
        "get" => {
            let entries = slowlog.newest(count(args)?);
            reply.array(entries.len());
            let limit = ReplyLimit::new(context.shared, reply, "ask for fewer entries");
            for entry in &entries {
                write(entry, reply);
                limit.check(reply)?;
            }
        }
        "len" => reply.count(slowlog.len()),
        "reset" => {
            slowlog.reset();
            reply.ok();
        }
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

fn count(args: &Args) -> CommandResult<usize> {
    match args.len() {
        2 => Ok(COUNT_DEFAULT),
        3 => match parse_i64(args.get(2)) {
            Some(-1) => Ok(usize::MAX),
            Some(count @ 0..) => Ok(usize::try_from(count).unwrap_or(usize::MAX)),
            _ => Err(CommandError::text("ERR count should be greater than or equal to -1")),
        },
        _ => Err(unknown_or_wrong(args)),
    }
}

fn write(entry: &SlowlogEntry, reply: &mut Reply) {
    reply.array(6);
    reply.places(entry.id);
    reply.places(entry.unix_s);
    reply.places(entry.micros);
    reply.bulks(&entry.request.0);
    reply.bulk(entry.address.as_ref().map_or_else(String::new, ToString::to_string).as_bytes());
    reply.bulk(&entry.name);
}
