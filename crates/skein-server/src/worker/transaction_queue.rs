//! The requests that EXEC runs: whether they write, the memory that they need, and their run, one
//! after the other, into one array of replies.
//!
//! `exclusive.rs` is alone with its transaction when it calls [`run_queue`].

use crate::clients::client::{ClientState, Multi, ReplyMode};
use crate::commands::access::denied::refuse_in_exec;
use crate::commands::alone::run_named;
use crate::commands::monitor::feed;
use crate::commands::scripts::{self, BusyServer, ScriptCall, ScriptKind};
use crate::commands::{Command, CommandContext, CommandError, CommandResult};
use crate::notice::monitors::RequestSource;
use crate::observe::command_kinds::CommandKind;
use crate::observe::slowlog::ClippedRequest;
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;
use crate::shared::exclusion_gate::StableDatabases;
use skein_data::EngineSession;

use super::exclusive::{after, feed_script};
use super::paused_requests::has_effects;
use super::request_timer::RequestTimer;
use super::ring::AloneKeys;
use super::write_allowance::{admit, bytes_added_now, may_grow_memory};

/// Returns the keys that a queue needs. While the store accepts no writes, scripts of a queue without
/// other writes may still read.
pub(super) fn keys_of_queue(
    session: &mut EngineSession,
    multi: &Multi,
    limits: &mut QueuedScriptLimits,
) -> Result<AloneKeys, CommandError> {
    if !queue_writes(multi) && queued_scripts(multi).all(|kind| kind.read_only) {
        return Ok(AloneKeys::Reads);
    }
    let stopped = |why: CommandError| {
        if queue_writes(multi) {
            return Err(why.aborts());
        }
        limits.writes_stopped = Some(why);
        Ok(())
    };
    AloneKeys::unless_stopped(session, stopped)
}

/// Errors if there is no memory for the writes of a transaction.
pub(super) fn admit_queue(
    session: &mut EngineSession,
    shared: &ServerShared,
    client: &ClientState,
    multi: &Multi,
    stable: StableDatabases<'_>,
) -> Result<(), CommandError> {
    let mut bytes = 0_usize;
    for (command, args) in multi.requests().filter(|(command, _)| may_grow_memory(command)) {
        bytes = bytes.saturating_add(bytes_added_now(session, client, command, &args, stable));
    }
    if bytes > 0 { admit(session, shared, bytes).map(drop) } else { Ok(()) }
}

/// Returns the kinds of the scripts of a queue.
fn queued_scripts(multi: &Multi) -> impl Iterator<Item = ScriptKind> {
    multi.requests().filter_map(|(command, _)| command.plan.script())
}

/// Returns whether a request of a queue writes that is no script.
fn queue_writes(multi: &Multi) -> bool {
    multi.requests().any(|(command, args)| command.may_write_by(&args))
}

/// Returns whether a request of a queue runs a script.
pub(super) fn queue_runs_scripts(multi: &Multi) -> bool {
    queued_scripts(multi).next().is_some()
}

/// Errors if a script of a queue declares that it needs memory. As in Redis, none of the queue
/// runs.
pub(super) fn check_queued_scripts(shared: &ServerShared, multi: &Multi) -> Result<(), CommandError> {
    for (command, args) in multi.requests() {
        if let Some(kind) = command.plan.script()
            && let Ok(mut call) = ScriptCall::parse(kind, shared, &args)
        {
            call.memory_is_full()?;
        }
    }
    Ok(())
}

/// The bytes for which scripts of a transaction ask whether memory is full.
pub(super) const SCRIPT_BYTES: usize = 64;

/// The rights that the scripts of a transaction lack.
#[derive(Default)]
pub(super) struct QueuedScriptLimits {
    /// Memory was full when the transaction began.
    pub(super) memory_is_full: bool,
    /// The reason why the store accepts no writes, if it accepts none.
    writes_stopped: Option<CommandError>,
}

impl QueuedScriptLimits {
    /// Applies the limits to a script.
    fn apply(&self, call: &mut ScriptCall) -> Result<(), CommandError> {
        if self.memory_is_full {
            call.memory_is_full()?;
        }
        self.writes_stopped.clone().map_or(Ok(()), |why| call.stop_writes(why))
    }
}

/// Runs the requests of a transaction. The reply is the array of their replies.
pub(super) fn run_queue(
    context: &mut CommandContext,
    (multi, limits): (&Multi, &QueuedScriptLimits),
    busy: &mut dyn BusyServer,
    reply: &mut Reply,
    timer: &mut RequestTimer<'_>,
) -> CommandResult {
    let start = reply.position();
    let most = context.shared.settings.reply_bytes_max.get();
    let is_full = |reply: &Reply<'_>| reply.position() - start > most;
    let mut closes = false;
    reply.array(multi.queue.len());
    drop_unwanted(context.client, context.client.replies, start, reply);
    for (command, args) in multi.requests() {
        let (before, replies) = (reply.position(), context.client.replies);
        let kind = CommandKind::of(command.number, &args);
        // The time before this request belongs to no command of the transaction.
        let _ = timer.lap();
        // The reply to a change is never omitted: it may be all that is left of a value.
        let changes = has_effects(context.shared, command, &args);
        let ran = match context.client.check(command.number, &args) {
            Ok(()) if changes && is_full(reply) => Err(not_run(most)),
            Ok(()) => run_queued(context, (command, limits), &args, busy, reply),
            Err(denied) => Err(refuse_in_exec(context.shared, context.client, &denied)),
        };
        let fault = match ran {
            Ok(ends) => {
                closes |= ends;
                (!changes && is_full(reply)).then(|| too_long(most))
            }
            Err(fault) => Some(fault),
        };
        if let Some(fault) = fault {
            if context.session.is_broken() {
                return Err(fault.aborts());
            }
            reply.truncate(before);
            fault.write(reply);
        }
        feed(&context.shared.notices.monitors, command, RequestSource::Client(&context.client.record), &args);
        if std::mem::take(&mut context.client.error_is_counted) {
            timer.failed_again(kind);
        } else {
            timer.check(kind, reply.written(before));
        }
        let nanos = timer.lap();
        timer.account(kind, nanos, || ClippedRequest::of(&args), &context.client.record);
        drop_unwanted(context.client, replies, before, reply);
    }
    Ok(after(closes))
}

/// Runs one request of a transaction. Returns whether the connection must be closed after it.
fn run_queued(
    context: &mut CommandContext,
    (command, limits): (&'static Command, &QueuedScriptLimits),
    args: &Args,
    busy: &mut dyn BusyServer,
    reply: &mut Reply,
) -> Result<bool, CommandError> {
    let Some(kind) = command.plan.script() else {
        return run_named(context, command, args, reply);
    };
    feed_script(context.shared, context.client, args);
    let mut call = ScriptCall::parse(kind, context.shared, args)?;
    limits.apply(&mut call)?;
    scripts::run(context, &call, args, busy, reply).map(|()| false)
}

/// Drops the part of the reply from `start` on if CLIENT REPLY muted it both before and after the
/// request. If it was muted only before or only after, keeps the part regardless of later requests.
fn drop_unwanted(client: &mut ClientState, before: ReplyMode, start: usize, reply: &mut Reply) {
    if before.are_muted() && client.replies.are_muted() {
        reply.truncate(start);
    } else if before.are_muted() || client.replies.are_muted() {
        client.replies.keep_parts();
    }
}

fn too_long(limit: usize) -> CommandError {
    CommandError::owned(format!(
        "ERR the replies of the transaction would be longer than the limit of {limit} bytes; this command ran, but its reply is omitted; read less at a time"
    ))
}

fn not_run(limit: usize) -> CommandError {
    CommandError::owned(format!(
        "ERR the replies of the transaction are longer than the limit of {limit} bytes, so this command did not run; use several transactions"
    ))
}
