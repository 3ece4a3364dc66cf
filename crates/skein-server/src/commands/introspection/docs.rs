//! COMMAND DOCS: summary and arguments of a command, and its subcommands.

use crate::acl::CommandTarget;
use crate::command_table::notation::{DocArgument, parse};
use crate::resp::Reply;

/// Writes the name of a command or a subcommand, and its documentation.
pub(super) fn write(target: CommandTarget, reply: &mut Reply) {
    let command = target.row();
    let (summary, syntax, subcommands) = match target.subcommand {
        None => (command.summary, command.syntax, command.subcommands.len()),
        Some(at) => (command.subcommands[at].summary, command.subcommands[at].syntax, 0),
    };
    // A test parses all of them.
    let arguments = parse(syntax).unwrap_or_default();
    reply.bulk(target.name().as_bytes());
    reply.map(3 + usize::from(!arguments.is_empty()) + usize::from(subcommands > 0));
    text("summary", summary, reply);
    text("since", env!("CARGO_PKG_VERSION"), reply);
    text("group", command.group.name(), reply);
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

fn text(name: &str, value: &str, reply: &mut Reply) {
    reply.bulk(name.as_bytes());
    reply.bulk(value.as_bytes());
}

fn write_arguments(arguments: &[DocArgument], reply: &mut Reply) {
    reply.array_of(arguments, |reply, argument| write_argument(argument, reply));
}

fn write_argument(argument: &DocArgument, reply: &mut Reply) {
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
        reply.named("key_spec_index").count(at);
    }
    if let Some(token) = argument.token {
        text("token", token, reply);
    }
    if !flags.is_empty() {
        reply.bulk(b"flags");
        reply.words(flags);
    }
    if !argument.parts.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(&argument.parts, reply);
    }
}
