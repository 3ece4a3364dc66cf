//! Commands about the server.

use super::connection::{help, subcommand};
use super::fault::SYNTAX;
use super::skein::bounds::Range;
use super::table::COMMANDS;
use super::task::{RemoveTask, Task};
use super::{Command, Context, Fault, Next, find, is};
use crate::info;
use crate::resp::{Args, Reply};

type Answer = Result<Next, Fault>;

pub(super) fn dbsize(context: &mut Context<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    reply.count(context.session.engine().len());
    Ok(Next::Done)
}

pub(super) fn flushall(_: &mut Context<'_>, args: &Args<'_>, _: &mut Reply<'_>) -> Answer {
    let fine = match args.len() {
        1 => true,
        2 => is(args.get(1), "SYNC") || is(args.get(1), "ASYNC"),
        _ => false,
    };
    if !fine {
        return Err(SYNTAX);
    }
    Ok(Next::Slices(Box::new(Task::Remove(RemoveTask::new(Range::ALL, false)))))
}

pub(super) fn info(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    let sections: Vec<&[u8]> = args.from(1).collect();
    reply.text(&info::text(context.shared, context.session.engine(), &sections));
    Ok(Next::Done)
}

pub(super) fn save(_: &mut Context<'_>, _: &Args<'_>, _: &mut Reply<'_>) -> Answer {
    Ok(Next::Checkpoint)
}

pub(super) fn bgsave(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    let schedule = match args.len() {
        1 => false,
        2 if is(args.get(1), "SCHEDULE") => true,
        _ => return Err(SYNTAX),
    };
    if context.session.engine().checkpoint_in_background() {
        reply.simple("Background saving started");
    } else if schedule {
        return Err(Fault::text(
            "ERR Background save already in progress, and SCHEDULE is not there yet; try again when it is done",
        ));
    } else {
        return Err(Fault::text("ERR Background save already in progress"));
    }
    Ok(Next::Done)
}

/// `SHUTDOWN [SAVE] [NOW]`. A stop always keeps what was written, so SAVE and NOW (which waits for no replicas:
/// there are none) ask for what happens anyway, and what asks for less is refused.
pub(super) fn shutdown(context: &mut Context<'_>, args: &Args<'_>, _: &mut Reply<'_>) -> Answer {
    if args.from(1).any(|arg| is(arg, "SAVE")) && args.from(1).any(|arg| is(arg, "NOSAVE")) {
        return Err(SYNTAX);
    }
    for arg in args.from(1) {
        if is(arg, "NOSAVE") || is(arg, "FORCE") {
            return Err(Fault::owned(format!(
                "ERR SHUTDOWN {} is not supported: a stop always keeps what was written; leave it out",
                String::from_utf8_lossy(arg).to_ascii_uppercase()
            )));
        }
        if is(arg, "ABORT") {
            return Err(if args.len() == 2 { Fault::text("ERR No shutdown in progress.") } else { SYNTAX });
        }
        if !is(arg, "SAVE") && !is(arg, "NOW") {
            return Err(SYNTAX);
        }
    }
    tracing::info!(client = context.client.id, "a client asked for a stop");
    context.shared.stop();
    Ok(Next::Close)
}

const COMMAND_HELP: &[&str] = &[
    "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "(no subcommand)",
    "    Return details about all commands.",
    "COUNT",
    "    Return the total number of commands in this server.",
    "DOCS [<command-name> ...]",
    "    Return documentation details about a list of commands.",
    "INFO [<command-name> ...]",
    "    Return details about multiple commands.",
    "LIST",
    "    Return a list of all commands in this server.",
    "HELP",
    "    Print this help.",
];

pub(super) fn command(_: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    const SUBCOMMANDS: &[(&str, usize)] = &[("count", 2), ("docs", 0), ("info", 0), ("list", 0), ("help", 2)];
    let subcommand = if args.len() == 1 { "info" } else { subcommand("command", SUBCOMMANDS, args)? };
    match subcommand {
        "count" => reply.count(COMMANDS.len()),
        "docs" => docs(args, reply),
        "info" => details(args, reply),
        "list" if args.len() > 2 => return Err(SYNTAX),
        "list" => {
            reply.array(COMMANDS.len());
            for command in &COMMANDS {
                reply.bulk(command.name.as_bytes());
            }
        }
        _ => help(COMMAND_HELP, reply),
    }
    Ok(Next::Done)
}

/// The commands that are named from argument 2 on, `None` for one that is not there; all if none is named.
fn named(args: &Args<'_>) -> Vec<Option<&'static Command>> {
    if args.len() <= 2 {
        return COMMANDS.iter().map(Some).collect();
    }
    args.from(2).map(|name| find(name).map(|index| &COMMANDS[index])).collect()
}

/// As COMMAND INFO of Redis 7: ten elements a command.
fn details(args: &Args<'_>, reply: &mut Reply<'_>) {
    let commands = named(args);
    reply.array(commands.len());
    for command in commands {
        let Some(command) = command else {
            reply.null();
            continue;
        };
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
        // Categories, tips, key specifications, subcommands: nothing to tell.
        for _ in 0..4 {
            reply.set(0);
        }
    }
}

fn docs(args: &Args<'_>, reply: &mut Reply<'_>) {
    let commands: Vec<&Command> = named(args).into_iter().flatten().collect();
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
    }
}
