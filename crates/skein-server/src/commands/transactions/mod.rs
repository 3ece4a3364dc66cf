//! MULTI, DISCARD, WATCH, UNWATCH; EXEC is run by the worker (`worker::alone`).
//!
//! ```text
//!   WATCH k      the version of k is noted
//!   MULTI        from here on requests are queued, not run      a request that cannot be queued spoils the transaction
//!   GET k  ...   +QUEUED
//!   EXEC         alone at the gate: are the versions the same? ─► all requests, one after the other, as one group
//! ```

pub(crate) mod watched;

use super::command_error::NOT_IN_MULTI;
use super::{AfterCommand, CommandContext, CommandError, CommandResult, CommandSpec, Handler, ResolvedTag};
use crate::client::ClientState;
use crate::resp::{ReplyWriter, RequestArgs, RequestQueue};

/// What a client has queued since its MULTI.
#[derive(Debug, Default)]
pub(crate) struct Multi {
    pub queue: RequestQueue,
    /// A request could not be queued, so EXEC will run none.
    pub spoiled: bool,
}

/// The commands that are run at once between MULTI and EXEC.
const AT_ONCE: [&str; 6] = ["exec", "discard", "multi", "watch", "quit", "reset"];

impl ClientState {
    /// Whether MULTI was said, and neither EXEC nor DISCARD.
    #[inline]
    pub(crate) fn in_multi(&self) -> bool {
        self.multi.is_some()
    }

    /// Whether the requests since MULTI are being run.
    pub(crate) fn in_exec(&self) -> bool {
        !self.in_multi() && self.record.queued().is_some()
    }

    /// The transaction, if there is one, must not be run: a request of it was refused.
    pub(crate) fn mark_multi_failed(&mut self) {
        if let Some(multi) = &mut self.multi {
            // Nobody will look at it.
            **multi = Multi { spoiled: true, ..Multi::default() };
        }
    }

    /// Ends the transaction, if there is one, and forgets what is watched. DISCARD; RESET does the same.
    pub(crate) fn leave_multi(&mut self) -> Option<Box<Multi>> {
        self.watched.clear();
        self.record.set_queued(None);
        self.multi.take()
    }
}

/// A request is refused that names no command, or has a wrong number of arguments.
pub(crate) fn refuse_queued(resolved: ResolvedTag, client: &mut ClientState) {
    match resolved {
        ResolvedTag::WrongArity(command) if matches!(command.handler, Handler::Exec) => {
            client.leave_multi();
        }
        _ => client.mark_multi_failed(),
    }
}

/// Whether this command is queued between MULTI and EXEC.
pub(crate) fn is_queued(command: &CommandSpec) -> bool {
    !AT_ONCE.contains(&command.name)
}

/// Queues a request of a client that said MULTI, whose queue may have `limit` bytes.
pub(crate) fn enqueue(
    client: &mut ClientState,
    (command, tag): (&CommandSpec, u16),
    args: &RequestArgs<'_>,
    limit: usize,
    reply: &mut ReplyWriter<'_>,
) {
    let Some(multi) = &mut client.multi else { return };
    let refused = if command.has_flag("no_multi") {
        Some(NOT_IN_MULTI)
    } else if !multi.spoiled && !multi.queue.push(tag, args, limit) {
        Some(CommandError::owned(format!(
            "ERR the requests since MULTI have more than the limit of {limit} bytes; send fewer at a time or raise client-query-buffer-limit"
        )))
    } else {
        None
    };
    match refused {
        None => {
            // Of a spoiled one, as in Redis, those are counted that were queued before.
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

pub(super) fn multi(
    context: &mut CommandContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    if context.client.in_multi() {
        return Err(CommandError::text("ERR MULTI calls can not be nested"));
    }
    context.client.multi = Some(Box::default());
    context.client.record.set_queued(Some(0));
    reply.ok();
    Ok(AfterCommand::Done)
}

pub(super) fn discard(
    context: &mut CommandContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    if !context.client.in_multi() {
        return Err(CommandError::text("ERR DISCARD without MULTI"));
    }
    context.client.leave_multi();
    reply.ok();
    Ok(AfterCommand::Done)
}

pub(super) fn watch(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    if context.client.in_multi() {
        return Err(CommandError::text("ERR WATCH inside MULTI is not allowed"));
    }
    let limit = context.shared.settings.request_bytes_max.get();
    context.client.watched.add(&mut context.session, args, limit)?;
    reply.ok();
    Ok(AfterCommand::Done)
}

pub(super) fn unwatch(
    context: &mut CommandContext<'_>,
    _: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    context.client.watched.clear();
    reply.ok();
    Ok(AfterCommand::Done)
}
