//! COMMAND DOCS: summary and arguments of a command, and its subcommands.

use crate::acl::CommandTarget;
use crate::command_table::docs::notation::{DocArgument, parse};
use crate::command_table::docs::{summary_of_subcommand, syntax_of};
use crate::resp::ReplyWriter;

/// Writes the name of a command or a subcommand, and its documentation.
pub(super) fn write(target: CommandTarget, reply: &mut ReplyWriter<'_>) {
    let (command, name) = (target.row(), target.name());
    // A test parses all of them.
    let arguments = parse(syntax_of(name)).unwrap_or_default();
    let subcommands = if target.subcommand.is_none() { command.subcommands.len() } else { 0 };
    let summary = if target.subcommand.is_none() { command.summary } else { summary_of_subcommand(name) };
    reply.bulk(name.as_bytes());
    reply.map(3 + usize::from(!arguments.is_empty()) + usize::from(subcommands > 0));
    text("summary", summary, reply);
    text("since", env!("CARGO_PKG_VERSION"), reply);
    text("group", command.group, reply);
    if !arguments.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(&arguments, reply);
    }
    if subcommands > 0 {
        reply.bulk(b"subcommands");
        reply.map(subcommands);
        for at in 0..subcommands {
            write(CommandTarget { command: target.command, subcommand: Some(at) }, reply);
        }
    }
}

fn text(name: &str, value: &str, reply: &mut ReplyWriter<'_>) {
    reply.bulk(name.as_bytes());
    reply.bulk(value.as_bytes());
}

fn write_arguments(arguments: &[DocArgument], reply: &mut ReplyWriter<'_>) {
    reply.array(arguments.len());
    for argument in arguments {
        write_argument(argument, reply);
    }
}

fn write_argument(argument: &DocArgument, reply: &mut ReplyWriter<'_>) {
    let flags = [
        (argument.is_optional, "optional"),
        (argument.is_multiple, "multiple"),
        (argument.repeats_token, "multiple_token"),
    ];
    let flags: Vec<&str> = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect();
    let has = [
        argument.key_spec.is_some(),
        argument.token.is_some(),
        !flags.is_empty(),
        !argument.parts.is_empty(),
    ];
    reply.map(2 + has.iter().filter(|has| **has).count());
    text("name", &argument.name, reply);
    text("type", argument.kind.name(), reply);
    if let Some(at) = argument.key_spec {
        reply.bulk(b"key_spec_index");
        reply.count(at);
    }
    if let Some(token) = argument.token {
        text("token", token, reply);
    }
    if !flags.is_empty() {
        reply.bulk(b"flags");
        reply.set(flags.len());
        for flag in &flags {
            reply.simple(flag);
        }
    }
    if !argument.parts.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(&argument.parts, reply);
    }
}
