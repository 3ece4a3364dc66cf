//! MULTI, DISCARD, WATCH, UNWATCH; EXEC is run by the worker (`worker::alone`).
//!
//! ```text
//!   WATCH k      the version of k is noted
//!   MULTI        from here on requests are queued, not run      a request that cannot be queued spoils the transaction
//!   GET k  ...   +QUEUED
//!   EXEC         alone at the gate: are the versions the same? ─► all requests, one after the other, as one group
//! ```

pub(crate) mod watched;

use super::fault::NOT_IN_MULTI;
use super::{Command, Context, Fault, Handler, Next, Resolved};
use crate::client::Client;
use crate::resp::{Args, Queue, Reply};

type Answer = Result<Next, Fault>;

/// What a client has queued since its MULTI.
#[derive(Debug, Default)]
pub(crate) struct Multi {
    pub queue: Queue,
    /// A request could not be queued, so EXEC will run none.
    pub spoiled: bool,
}

/// The commands that are run at once between MULTI and EXEC.
const AT_ONCE: [&str; 6] = ["exec", "discard", "multi", "watch", "quit", "reset"];

impl Client {
    /// Whether MULTI was said, and neither EXEC nor DISCARD.
    #[inline]
    pub(crate) fn in_multi(&self) -> bool {
        self.multi.is_some()
    }

    /// Whether the requests since MULTI are being run.
    pub(crate) fn in_exec(&self) -> bool {
        !self.in_multi() && self.card.queued().is_some()
    }

    /// The transaction, if there is one, must not be run: a request of it was refused.
    pub(crate) fn spoil_multi(&mut self) {
        if let Some(multi) = &mut self.multi {
            // Nobody will look at it.
            **multi = Multi { spoiled: true, ..Multi::default() };
        }
    }

    /// Ends the transaction, if there is one, and forgets what is watched. DISCARD; RESET does the same.
    pub(crate) fn leave_multi(&mut self) -> Option<Box<Multi>> {
        self.watched.clear();
        self.card.set_queued(None);
        self.multi.take()
    }
}

/// A request is refused that names no command, or has a wrong number of arguments.
pub(crate) fn refuse_queued(resolved: Resolved, client: &mut Client) {
    match resolved {
        Resolved::WrongArity(command) if matches!(command.handler, Handler::Exec) => {
            client.leave_multi();
        }
        _ => client.spoil_multi(),
    }
}

/// Whether this command is queued between MULTI and EXEC.
pub(crate) fn is_queued(command: &Command) -> bool {
    !AT_ONCE.contains(&command.name)
}

/// Queues a request of a client that said MULTI, whose queue may have `limit` bytes.
pub(crate) fn enqueue(
    client: &mut Client,
    (command, tag): (&Command, u16),
    args: &Args<'_>,
    limit: usize,
    reply: &mut Reply<'_>,
) {
    let Some(multi) = &mut client.multi else { return };
    let refused = if command.has_flag("no_multi") {
        Some(NOT_IN_MULTI)
    } else if !multi.spoiled && !multi.queue.push(tag, args, limit) {
        Some(Fault::owned(format!(
            "ERR the requests since MULTI have more than the limit of {limit} bytes; send fewer at a time or raise client-query-buffer-limit"
        )))
    } else {
        None
    };
    match refused {
        None => {
            // Of a spoiled one, as in Redis, those are counted that were queued before.
            if !multi.spoiled {
                client.card.set_queued(Some(multi.queue.len()));
            }
            reply.simple("QUEUED");
        }
        Some(fault) => {
            client.spoil_multi();
            fault.write(reply);
        }
    }
}

pub(super) fn multi(context: &mut Context<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    if context.client.in_multi() {
        return Err(Fault::text("ERR MULTI calls can not be nested"));
    }
    context.client.multi = Some(Box::default());
    context.client.card.set_queued(Some(0));
    reply.ok();
    Ok(Next::Done)
}

pub(super) fn discard(context: &mut Context<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    if !context.client.in_multi() {
        return Err(Fault::text("ERR DISCARD without MULTI"));
    }
    context.client.leave_multi();
    reply.ok();
    Ok(Next::Done)
}

pub(super) fn watch(context: &mut Context<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    if context.client.in_multi() {
        return Err(Fault::text("ERR WATCH inside MULTI is not allowed"));
    }
    let limit = context.shared.settings.request_bytes_max.get();
    context.client.watched.add(&mut context.session, args, limit)?;
    reply.ok();
    Ok(Next::Done)
}

pub(super) fn unwatch(context: &mut Context<'_>, _: &Args<'_>, reply: &mut Reply<'_>) -> Answer {
    context.client.watched.clear();
    reply.ok();
    Ok(Next::Done)
}
