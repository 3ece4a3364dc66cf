//! FUNCTION: keeps, lists, copies and removes libraries of functions.
//!
//! A library's code runs before anything changes, and beside the other workers.

use super::engines::with_function_engine;
use crate::commands::reply_limit::ReplyLimit;
use crate::commands::subcommands::{help, subcommand, unknown_or_wrong};
use crate::commands::{
    AfterCommand, CommandContext, CommandError, CommandResult, OUT_OF_MEMORY, Replied, is,
};
use crate::redis::glob::Glob;
use crate::resp::{Args, Reply};
use crate::scripting::ScriptSort;
use crate::scripting::functions::{
    FunctionLibraries, FunctionLibrary, LibraryHead, load_library, load_payload,
};
use crate::shared::ServerShared;
use crate::shared::busy_script::NOT_BUSY;

/// The advice in the error for a long list.
const WITH_LESS: &str = "name a library, or leave out WITHCODE";

/// FUNCTION
pub(crate) fn function(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    match subcommand(args)? {
        "load" => load(context, args, reply)?,
        "delete" => {
            change(context, |libraries| {
                let removed = libraries.remove(args.get(2));
                if removed { Ok(()) } else { Err(CommandError::text("ERR Library not found")) }
            })?;
            reply.ok();
        }
        "flush" => flush(context, args, reply)?,
        "list" => list(context, args, reply)?,
        "dump" => reply.bulk(&context.shared.scripts.functions.libraries().dump()),
        "restore" => restore(context, args, reply)?,
        "stats" => return function_stats(context.shared, reply),
        // This request runs, so no function does: see `while_busy`.
        "kill" => return Err(NOT_BUSY),
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

/// Changes the libraries and their row. The reply waits for the row.
fn change(
    context: &mut CommandContext,
    change: impl FnOnce(&mut FunctionLibraries) -> CommandResult<()>,
) -> CommandResult<()> {
    let ticket = context.shared.scripts.functions.change(&mut context.session, change)?;
    context.ticket = context.ticket.max(ticket);
    Ok(())
}

/// Makes room for libraries of about this size.
///
/// # Errors
/// If there is not enough memory. (Within a transaction the room is not checked.)
fn admit(context: &mut CommandContext, bytes: usize) -> CommandResult<()> {
    let (room, ticket) = context.session.make_room(bytes, context.shared.memory_outside_store())?;
    context.ticket = context.ticket.max(ticket);
    if bytes > room { Err(OUT_OF_MEMORY) } else { Ok(()) }
}

/// Runs `FUNCTION LOAD [REPLACE] source`.
fn load(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    let last = args.len() - 1;
    admit(context, args.get(last).len())?;
    let options = args.from(2).take(last - 2);
    if let Some(unknown) = options.clone().find(|option| !is(option, "REPLACE")) {
        return Err(with_argument("ERR Unknown option given: ", unknown));
    }
    let (replaces, source) = (options.len() > 0, args.get(last));
    let head = LibraryHead::parse(source)?;
    let shared = context.shared;
    if !replaces {
        shared.scripts.functions.libraries().check_absent(&head.name)?;
    }
    let library =
        with_function_engine(shared, |lua| load_library(head, source, &shared.scripts.functions, lua))?;
    let name = library.name.clone();
    change(context, |libraries| libraries.insert(library, replaces))?;
    reply.bulk(name.as_bytes());
    Ok(())
}

fn with_argument(text: &str, argument: &[u8]) -> CommandError {
    CommandError::owned([text.as_bytes(), argument].concat())
}

/// Runs `FUNCTION FLUSH [ASYNC | SYNC]`.
fn flush(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    if args.len() > 3 {
        return Err(unknown_or_wrong(args));
    }
    if args.from(2).any(|mode| !is(mode, "ASYNC") && !is(mode, "SYNC")) {
        return Err(CommandError::text("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"));
    }
    change(context, |libraries| {
        *libraries = FunctionLibraries::default();
        Ok(())
    })?;
    reply.ok();
    Ok(())
}

/// Runs `FUNCTION RESTORE payload [APPEND | FLUSH | REPLACE]`.
fn restore(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    if args.len() > 4 {
        return Err(unknown_or_wrong(args));
    }
    admit(context, args.get(2).len())?;
    let policy = args.from(3).next().unwrap_or(b"APPEND");
    if !["APPEND", "FLUSH", "REPLACE"].iter().any(|known| is(policy, known)) {
        return Err(CommandError::text(
            "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
        ));
    }
    let shared = context.shared;
    let restored =
        with_function_engine(shared, |lua| load_payload(args.get(2), &shared.scripts.functions, lua))?;
    change(context, |libraries| {
        if is(policy, "FLUSH") {
            *libraries = restored;
            return Ok(());
        }
        libraries.join(&restored, is(policy, "REPLACE"))
    })?;
    reply.ok();
    Ok(())
}

/// Runs `FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE]`.
fn list(context: &CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    let (mut pattern, mut with_code) = (None, false);
    let mut options = args.from(2);
    while let Some(option) = options.next() {
        if !with_code && is(option, "WITHCODE") {
            with_code = true;
        } else if pattern.is_none() && is(option, "LIBRARYNAME") {
            let name = options.next();
            pattern = Some(name.ok_or(CommandError::text("ERR library name argument was not given"))?);
        } else {
            return Err(with_argument("ERR Unknown argument ", option));
        }
    }
    let glob = pattern.map(|pattern| Glob::new(&pattern.to_ascii_lowercase()));
    let is_listed = |library: &&std::sync::Arc<FunctionLibrary>| {
        glob.as_ref().is_none_or(|glob| glob.matches(library.name.to_ascii_lowercase().as_bytes(), &mut 0))
    };
    let libraries = context.shared.scripts.functions.libraries();
    let limit = ReplyLimit::new(context.shared, reply, WITH_LESS);
    reply.array(libraries.iter().filter(is_listed).count());
    for library in libraries.iter().filter(is_listed) {
        write_library(library, with_code, reply);
        limit.check(reply)?;
    }
    Ok(())
}

fn write_library(library: &FunctionLibrary, with_code: bool, reply: &mut Reply) {
    reply.map(3 + usize::from(with_code) + usize::from(library.fault.is_some()));
    reply.named("library_name").bulk(library.name.as_bytes());
    reply.named("engine").bulk(b"LUA");
    reply.bulk(b"functions");
    reply.array_of(&library.functions, |reply, function| {
        reply.map(3);
        reply.named("name").bulk(function.name.as_bytes());
        reply.bulk(b"description");
        reply.bulk_or_null(function.description.as_deref());
        reply.bulk(b"flags");
        reply.words(function.flags.names());
    });
    if with_code {
        reply.named("library_code").bulk(&library.source);
    }
    if let Some(fault) = &library.fault {
        reply.named("load_error").bulk(fault.as_bytes());
    }
}

/// FUNCTION STATS. Errors while a script runs that is not a function.
pub(super) fn function_stats(shared: &ServerShared, reply: &mut Reply) -> CommandResult {
    if shared.scripts.busy.running().as_ref().is_some_and(|script| script.sort == ScriptSort::Script) {
        return Err(shared.scripts.busy.refusal());
    }
    let (libraries, functions) = shared.scripts.functions.libraries().counts();
    reply.map(2);
    reply.bulk(b"running_script");
    match &*shared.scripts.busy.running() {
        None => reply.null(),
        Some(script) => {
            reply.map(3);
            reply.named("name").bulk(&script.name);
            reply.bulk(b"command");
            reply.bulks(&script.request.0);
            reply
                .named("duration_ms")
                .count(usize::try_from(script.duration().as_millis()).unwrap_or(usize::MAX));
        }
    }
    reply.bulk(b"engines");
    reply.map(1);
    reply.bulk(b"LUA");
    reply.map(2);
    reply.named("libraries_count").count(libraries);
    reply.named("functions_count").count(functions);
    Ok(AfterCommand::Done)
}

const HELP: &[&str] = &[
    "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "DELETE <library>",
    "    Removes a library and its functions.",
    "DUMP",
    "    Returns all libraries in the form that RESTORE takes, also that of a Redis.",
    "FLUSH [ASYNC|SYNC]",
    "    Removes all libraries.",
    "KILL",
    "    Stops the function that runs, unless it has written.",
    "LIST [LIBRARYNAME <pattern>] [WITHCODE]",
    "    Returns the libraries with their functions, and with their code on request.",
    "LOAD [REPLACE] <code>",
    "    Adds a library. Its code begins with a line #!lua name=<library>.",
    "RESTORE <payload> [APPEND|FLUSH|REPLACE]",
    "    Adds the libraries of a DUMP: only new ones, instead of all, or over those of the same names.",
    "STATS",
    "    Returns the function that runs, and the number of libraries and of functions.",
    "HELP",
    "    Prints this help.",
];
