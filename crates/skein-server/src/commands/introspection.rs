//! COMMAND: the list of commands.

pub(crate) mod keys;

use super::command_error::SYNTAX;
use super::reply_limit::ReplyLimit;
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandError, CommandSpec, find, is};
use crate::acl::{Categories, Category, CommandTarget};
use crate::command_table::{COMMANDS, subcommands};
use crate::glob::Glob;
use crate::resp::{ReplyWriter, RequestArgs};

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
    "INFO [<command-name> ...]",
    "    Return details about multiple commands.",
    "LIST [FILTERBY (MODULE <name>|ACLCAT <category>|PATTERN <pattern>)]",
    "    Return a list of commands in this server.",
    "HELP",
    "    Prints this help.",
];

pub(super) fn command(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<AfterCommand, CommandError> {
    answer(args, &ReplyLimit::new(context.shared, reply, WAY_OUT), reply)?;
    Ok(AfterCommand::Done)
}

/// The advice in the error for a long reply: each name is answered, however often it is repeated.
pub(super) const WAY_OUT: &str = "name fewer commands at a time";

/// Runs COMMAND, which needs no data.
pub(super) fn answer(
    args: &RequestArgs<'_>,
    limit: &ReplyLimit,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let subcommand =
        if args.len() == 1 { "info" } else { subcommand("command", subcommands::COMMAND, args)? };
    match subcommand {
        "count" => reply.count(COMMANDS.len()),
        "docs" => docs(args, limit, reply)?,
        "getkeys" => keys::keys(args, reply)?,
        "info" => details(args, limit, reply)?,
        "list" => list(args, reply)?,
        _ => help(HELP, reply),
    }
    Ok(())
}

/// Returns the indexes of the commands that are named from argument 2 on, `None` for an unknown
/// one; all commands if the request names none.
fn named(args: &RequestArgs<'_>) -> Vec<Option<usize>> {
    if args.len() <= 2 {
        return (0..COMMANDS.len()).map(Some).collect();
    }
    args.from(2).map(find).collect()
}

/// Replies like COMMAND INFO of Redis 7: ten elements for each command.
fn details(
    args: &RequestArgs<'_>,
    limit: &ReplyLimit,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let commands = named(args);
    reply.array(commands.len());
    for command in commands {
        limit.check(reply)?;
        let Some(index) = command else {
            reply.null();
            continue;
        };
        let command = &COMMANDS[index];
        reply.array(10);
        reply.bulk(command.name.as_bytes());
        reply.int(command.arity.into());
        reply.set(command.flags.len());
        for flag in command.flags {
            reply.simple(flag);
        }
        let (first, last, step) = command.keys;
        for number in [first, last, step] {
            reply.int(number.into());
        }
        let categories: Vec<Category> = categories_at(index).iter().collect();
        reply.set(categories.len());
        for category in categories {
            reply.simple(&category.to_string());
        }
        // Tips, key specifications and subcommands are always empty.
        for _ in 0..3 {
            reply.set(0);
        }
    }
    limit.check(reply)
}

/// Returns the categories of the command at this index.
fn categories_at(index: usize) -> Categories {
    CommandTarget::whole(index).categories()
}

fn docs(args: &RequestArgs<'_>, limit: &ReplyLimit, reply: &mut ReplyWriter<'_>) -> Result<(), CommandError> {
    let commands: Vec<&CommandSpec> =
        named(args).into_iter().flatten().map(|index| &COMMANDS[index]).collect();
    reply.map(commands.len());
    for command in commands {
        reply.bulk(command.name.as_bytes());
        reply.map(3);
        for (name, text) in
            [("summary", command.summary), ("since", env!("CARGO_PKG_VERSION")), ("group", command.group)]
        {
            reply.bulk(name.as_bytes());
            reply.bulk(text.as_bytes());
        }
        limit.check(reply)?;
    }
    Ok(())
}

fn list(args: &RequestArgs<'_>, reply: &mut ReplyWriter<'_>) -> Result<(), CommandError> {
    let glob = Glob::new(&args.from(4).next().unwrap_or_default().to_ascii_lowercase());
    let wanted = |(index, command): &(usize, &CommandSpec)| match args.len() {
        2 => true,
        _ if is(args.get(3), "ACLCAT") => {
            Category::find(args.get(4)).is_some_and(|category| categories_at(*index).has(category))
        }
        _ if is(args.get(3), "PATTERN") => glob.matches(command.name.as_bytes(), &mut 0),
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
    let names: Vec<&str> =
        COMMANDS.iter().enumerate().filter(wanted).map(|(_, command)| command.name).collect();
    reply.array(names.len());
    for name in names {
        reply.bulk(name.as_bytes());
    }
    Ok(())
}
