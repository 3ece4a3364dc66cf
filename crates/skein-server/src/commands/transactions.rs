//! MULTI, DISCARD, WATCH, UNWATCH. The worker runs EXEC (`worker::exclusive`).
//!
//! ```text
//!   WATCH k      notes the version of k
//!   MULTI        later requests are queued, not run;
//!                a request that cannot be queued spoils the transaction
//!   GET k  ...   +QUEUED
//!   EXEC         exclusively: if no noted version has changed ─► runs all requests in order,
//!                as one write batch
//! ```

pub(crate) mod table;

use super::command_error::NOT_IN_MULTI;
use super::{AfterCommand, Command, CommandContext, CommandError, CommandResult, Flag};
use crate::clients::client::ClientState;
use crate::resp::{Args, Reply};

/// Notes in the transaction of a client, if there is one, that this command was refused. Returns its
/// error. As in Redis, a refused EXEC ends the transaction, and any other command spoils it.
pub(crate) fn refused(client: &mut ClientState, command: &Command, fault: CommandError) -> CommandError {
    if command.plan.is_exec() {
        client.leave_multi();
        return fault.aborts();
    }
    client.mark_multi_failed();
    fault
}

/// Returns whether this command is queued between MULTI and EXEC.
pub(crate) fn is_queued(command: &Command) -> bool {
    !command.has(Flag::AtOnceInMulti)
}

/// Queues a request of a client in MULTI. Rejects it if the queue would exceed `limit` bytes.
pub(crate) fn enqueue(
    client: &mut ClientState,
    command: &Command,
    tag: u16,
    args: &Args,
    limit: usize,
    reply: &mut Reply,
) {
    let Some(multi) = &mut client.multi else { return };
    let refused = if command.has(Flag::NoMulti) {
        Some(NOT_IN_MULTI)
    } else if !multi.spoiled && !multi.queue.push(tag, args, limit) {
        Some(CommandError::owned(format!(
            "ERR the requests queued since MULTI exceed the limit of {limit} bytes; send fewer at a time or raise client-query-buffer-limit"
        )))
    } else {
        None
    };
    match refused {
        None => {
            // As in Redis, a spoiled transaction keeps the count of requests queued before.
            if !multi.spoiled {
                client.record.set_queued(Some(multi.queue.len()));
            }
            reply.simple("QUEUED");
        }
        Some(fault) => {
            client.mark_multi_failed();
            fault.write(reply);
        }
    }
}

pub(super) fn multi(client: &mut ClientState, reply: &mut Reply) -> CommandResult {
    if client.in_multi() {
        return Err(CommandError::text("ERR MULTI calls can not be nested"));
    }
    client.multi = Some(Box::default());
    client.record.set_queued(Some(0));
    reply.ok();
    Ok(AfterCommand::Done)
}

pub(super) fn discard(client: &mut ClientState, reply: &mut Reply) -> CommandResult {
    if !client.in_multi() {
        return Err(CommandError::text("ERR DISCARD without MULTI"));
    }
    client.leave_multi();
    reply.ok();
    Ok(AfterCommand::Done)
}

pub(super) fn watch(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    if context.client.in_multi() {
        return Err(CommandError::text("ERR WATCH inside MULTI is not allowed"));
    }
    let limit = context.shared.settings.request_bytes_max.get();
    let database = context.client.database();
    let at = (&*context.shared.data.databases, database);
    context.client.watched.add(&mut context.session, args, at, limit)?;
    reply.ok();
    Ok(AfterCommand::Done)
}

pub(super) fn unwatch(client: &mut ClientState, reply: &mut Reply) -> CommandResult {
    client.watched.clear();
    reply.ok();
    Ok(AfterCommand::Done)
}
