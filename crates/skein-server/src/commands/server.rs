//! Commands about the server.

pub(crate) mod table;

use std::time::UNIX_EPOCH;

use skein_data::{DATABASES_MAX, StoredKeyspace};
use skein_syntax::number::parse_i64;

use super::command_error::{NOT_AN_INTEGER, SYNTAX};
use super::task::RemoveRangeTask;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::report::info::{self, InfoNumbers};
use crate::resp::{Args, Reply};

pub(super) fn dbsize(context: &mut CommandContext, _: &Args, reply: &mut Reply) -> CommandResult {
    reply.count(context.keys());
    Ok(AfterCommand::Done)
}

pub(super) fn flushdb(context: &mut CommandContext, args: &Args, _: &mut Reply) -> CommandResult {
    let keyspace = context.client.keyspace();
    flush(args, vec![keyspace])
}

pub(super) fn flushall(context: &mut CommandContext, args: &Args, _: &mut Reply) -> CommandResult {
    // This includes databases that no client can select, because there were more of them before.
    let databases = (1..DATABASES_MAX).map(StoredKeyspace::of_database);
    let with_keys = databases.filter(|keyspace| context.session.keyspace_stats(*keyspace).keys > 0);
    flush(args, std::iter::once(StoredKeyspace::DEFAULT).chain(with_keys).collect())
}

fn flush(args: &Args, keyspaces: Vec<StoredKeyspace>) -> CommandResult {
    let fine = match args.len() {
        1 => true,
        2 => is(args.get(1), "SYNC") || is(args.get(1), "ASYNC"),
        _ => false,
    };
    if !fine {
        return Err(SYNTAX);
    }
    Ok(AfterCommand::slices(RemoveRangeTask::flush(keyspaces)))
}

pub(super) fn info(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let sections: Vec<&[u8]> = args.from(1).collect();
    let databases = context.shared.data.keyspaces(|keyspace| context.session.keyspace_stats(keyspace));
    let mut store = context.session.stats();
    store.keys = databases.iter().map(|(_, stats)| stats.keys).sum();
    reply.text(&info::text(context.shared, &InfoNumbers { store, databases }, &sections));
    Ok(AfterCommand::Done)
}

pub(super) fn save(_: &mut CommandContext, _: &Args, _: &mut Reply) -> CommandResult {
    Ok(AfterCommand::Checkpoint)
}

pub(super) fn bgsave(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    let schedule = match args.len() {
        1 => false,
        2 if is(args.get(1), "SCHEDULE") => true,
        _ => return Err(SYNTAX),
    };
    if context.session.engine().checkpoint_in_background() {
        // Inside an EXEC, the checkpoint starts after the EXEC.
        let begun = if context.client.in_exec() { "scheduled" } else { "started" };
        reply.simple(&format!("Background saving {begun}"));
    } else if schedule {
        context.shared.data.checkpoints.schedule();
        reply.simple("Background saving scheduled");
    } else {
        return Err(CommandError::text("ERR Background save already in progress"));
    }
    Ok(AfterCommand::Done)
}

/// Starts a checkpoint, which replaces the older logs. During a checkpoint, schedules another one,
/// as Redis does during a BGSAVE.
pub(super) fn bgrewriteaof(context: &mut CommandContext, _: &Args, reply: &mut Reply) -> CommandResult {
    let started = context.session.engine().checkpoint_in_background();
    if !started {
        context.shared.data.checkpoints.schedule();
    }
    let begun = if started && !context.client.in_exec() { "started" } else { "scheduled" };
    reply.simple(&format!("Background append only file rewriting {begun}"));
    Ok(AfterCommand::Done)
}

/// Runs `SHUTDOWN [SAVE] [NOW]`. A stop always keeps all writes, so SAVE changes nothing. NOW does
/// not wait for replicas, and this server has no replicas. NOSAVE and FORCE are rejected.
pub(super) fn shutdown(context: &mut CommandContext, args: &Args, _: &mut Reply) -> CommandResult {
    check_shutdown(args)?;
    tracing::info!(client = context.client.id, "a client stopped the server");
    context.shared.stop();
    Ok(AfterCommand::Close)
}

/// Errors if the options ask for something that a stop cannot do.
pub(crate) fn check_shutdown(args: &Args) -> CommandResult<()> {
    if args.from(1).any(|arg| is(arg, "SAVE")) && args.from(1).any(|arg| is(arg, "NOSAVE")) {
        return Err(SYNTAX);
    }
    for arg in args.from(1) {
        if is(arg, "NOSAVE") || is(arg, "FORCE") {
            return Err(CommandError::owned(format!(
                "ERR SHUTDOWN {} is not supported: a stop always keeps all writes; omit this option",
                String::from_utf8_lossy(arg).to_ascii_uppercase()
            )));
        }
        if is(arg, "ABORT") {
            return Err(if args.len() == 2 {
                CommandError::text("ERR No shutdown in progress.")
            } else {
                SYNTAX
            });
        }
        if !is(arg, "SAVE") && !is(arg, "NOW") {
            return Err(SYNTAX);
        }
    }
    Ok(())
}

pub(super) fn last_save(context: &mut CommandContext, _: &Args, reply: &mut Reply) -> CommandResult {
    // As in Redis, a server without a checkpoint returns its start time.
    let last = context.session.engine().stats().last_checkpoint_unix_s;
    reply.count(if last > 0 { last } else { context.shared.identity.started_unix_s } as usize);
    Ok(AfterCommand::Done)
}

/// Replies with the current time.
pub(super) fn time(reply: &mut Reply) -> CommandResult {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    reply.array(2);
    reply.bulk_number(now.as_secs());
    reply.bulk_number(now.subsec_micros().into());
    Ok(AfterCommand::Done)
}

/// Runs WAIT. There are no replicas, so the number of acknowledgements is 0, however long a client
/// waits.
pub(super) fn wait(_: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    parse_i64(args.get(1)).ok_or(NOT_AN_INTEGER)?;
    check_wait_timeout(args.get(2))?;
    reply.int(0);
    Ok(AfterCommand::Done)
}

/// Errors if this is no timeout of WAIT and WAITAOF, in milliseconds.
pub(super) fn check_wait_timeout(timeout: &[u8]) -> CommandResult<()> {
    match parse_i64(timeout) {
        None => Err(CommandError::text("ERR timeout is not an integer or out of range")),
        Some(..0) => Err(CommandError::text("ERR timeout is negative")),
        Some(_) => Ok(()),
    }
}

/// Runs `LOLWUT [VERSION version]`. Returns the version, as Redis does for a version without a
/// drawing.
pub(super) fn lolwut(_: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if args.len() > 2 && is(args.get(1), "VERSION") {
        parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    }
    let ours = env!("CARGO_PKG_VERSION");
    reply.text(&format!("SkeinDB ver. {ours} (Redis ver. {})\n", info::REDIS_VERSION));
    Ok(AfterCommand::Done)
}
