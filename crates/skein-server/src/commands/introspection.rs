//! COMMAND: the list of commands. `details` has COMMAND INFO, `docs` COMMAND DOCS, `keys` the keys
//! of a request.

mod details;
mod docs;
pub(crate) mod keys;

use super::command_error::SYNTAX;
use super::reply_limit::ReplyLimit;
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandResult, Replied, is};
use crate::acl::{Category, CommandTarget};
use crate::command_table::COMMANDS;
use crate::redis::glob::Glob;
use crate::resp::{Args, Reply};

const HELP: &[&str] = &[
    "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "(no subcommand)",
    "    Return details about all commands.",
    "COUNT",
    "    Return the total number of commands in this server.",
    "DOCS [<command-name> ...]",
    "    Return documentation details about a list of commands.",
    "GETKEYS <full-command>",
    "    Return the keys from a full command.",
    "GETKEYSANDFLAGS <full-command>",
    "    Return the keys from a full command, and what it does with them.",
    "INFO [<command-name> ...]",
    "    Return details about multiple commands.",
    "LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
    "    Return a list of commands in this server.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn command(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    answer(args, &ReplyLimit::new(context.shared, reply, WAY_OUT), reply)?;
    Ok(AfterCommand::Done)
}

/// The advice in the error for a long reply: each name is answered, however often it is repeated.
pub(super) const WAY_OUT: &str = "name fewer commands at a time";

/// Runs COMMAND, which needs no data.
pub(super) fn answer(args: &Args, limit: &ReplyLimit, reply: &mut Reply) -> Replied {
    let subcommand = if args.len() == 1 { "info" } else { subcommand(args)? };
    match subcommand {
        "count" => reply.count(COMMANDS.len()),
        "docs" => docs(args, limit, reply)?,
        "getkeys" => keys::keys(args, reply)?,
        "getkeysandflags" => keys::keys_and_flags(args, reply)?,
        "info" => infos(args, limit, reply)?,
        "list" => list(args, reply)?,
        _ => help(HELP, reply),
    }
    Ok(())
}

/// Returns the commands and subcommands that are named from argument 2 on, `None` for an unknown
/// one; all commands if the request names none.
fn named(args: &Args) -> Vec<Option<CommandTarget>> {
    if args.len() <= 2 {
        return (0..COMMANDS.len()).map(|index| Some(CommandTarget::whole(index))).collect();
    }
    args.from(2).map(CommandTarget::find_present).collect()
}

/// Replies like COMMAND INFO of Redis 7: ten elements for each command.
fn infos(args: &Args, limit: &ReplyLimit, reply: &mut Reply) -> Replied {
    let commands = named(args);
    reply.array(commands.len());
    for command in commands {
        limit.check(reply)?;
        match command {
            Some(target) => details::write(target, reply),
            None => reply.null(),
        }
    }
    limit.check(reply)
}

fn docs(args: &Args, limit: &ReplyLimit, reply: &mut Reply) -> Replied {
    let commands: Vec<CommandTarget> = named(args).into_iter().flatten().collect();
    reply.map(commands.len());
    for target in commands {
        docs::write(target, reply);
        limit.check(reply)?;
    }
    Ok(())
}

fn list(args: &Args, reply: &mut Reply) -> Replied {
    let glob = Glob::new(&args.from(4).next().unwrap_or_default().to_ascii_lowercase());
    let wanted = |target: &CommandTarget| match args.len() {
        2 => true,
        _ if is(args.get(3), "ACLCAT") => {
            Category::find(args.get(4)).is_some_and(|category| target.categories().has(category))
        }
        _ if is(args.get(3), "PATTERN") => glob.matches(target.name().as_bytes(), &mut 0),
        // There are no modules.
        _ => false,
    };
    let filters = ["MODULE", "ACLCAT", "PATTERN"];
    let valid = match args.len() {
        2 => true,
        5 => is(args.get(2), "FILTERBY") && filters.iter().any(|filter| is(args.get(3), filter)),
        _ => false,
    };
    if !valid {
        return Err(SYNTAX);
    }
    let names: Vec<&str> = CommandTarget::all_present().filter(wanted).map(CommandTarget::name).collect();
    reply.bulks(names);
    Ok(())
}
