//! Serves clients while a script runs for longer than `busy-reply-threshold`: they receive BUSY, and
//! may stop the script.
//!
//! ```text
//!   script's worker   EVAL ─ tick ─ tick ─ begin ─ tick: turn ─ tick: turn ─ … ─ end ─ reply
//!                                            │ gives the rooms back         │ takes them again
//!   other workers     wait at the gate ──────┴ answer_busy, in their rounds ┴ requests as usual
//! ```
//!
//! The script has the worker's session, and its client's connection is out of its slot. Everything
//! else of the worker is in [`WorkerConnections`], which needs no session. So a tick of the script
//! serves the other connections.
//!
//! # Why so
//! - Other workers are blocked in locks of the gate (`exclusion_gate`), some in the middle of a
//!   request. They need no signal: the locks open, and `busy` shows that they may only answer BUSY.
//! - A thread for all scripts would cost two handovers for each short script. A thread for long ones
//!   would need the connections of all workers in another event queue, and back.
//! - A short script pays for nothing here but one comparison per 100,000 instructions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::Events;

use crate::commands::scripts::BusyServer;
use crate::commands::transactions::{enqueue, is_queued};
use crate::commands::while_busy::{self, BusyContext};
use crate::commands::{AfterCommand, Command, CommandError};
use crate::observe::command_kinds::CommandKind;
use crate::resp::{Args, Reply};
use crate::shared::ServerShared;
use crate::shared::exclusion_gate::ExclusivePass;

use super::EVENTS;
use super::admission::answer_without_data;
use super::connection::Connection;
use super::connections::WorkerConnections;
use super::reply_buffer::ReplyBuffer;

/// The worker of a script that runs long.
pub(super) struct BusyWorker<'b, 'p, 'g> {
    alone: &'b ExclusivePass<'p, 'g>,
    connections: &'b mut WorkerConnections,
    /// Present while the server is busy.
    events: Option<Events>,
}

impl<'b, 'p, 'g> BusyWorker<'b, 'p, 'g> {
    pub(super) fn new(alone: &'b ExclusivePass<'p, 'g>, connections: &'b mut WorkerConnections) -> Self {
        Self { alone, connections, events: None }
    }
}

impl BusyServer for BusyWorker<'_, '_, '_> {
    fn begin(&mut self) {
        self.events = Some(Events::with_capacity(EVENTS));
        self.connections.list_all();
        self.alone.begin_busy();
    }

    fn turn(&mut self) {
        if let Some(events) = &mut self.events {
            self.connections.busy_turn(events);
        }
    }

    fn end(&mut self) {
        if self.events.take().is_some() {
            self.alone.end_busy();
            // This worker has left its mail, and the others hold back tasks.
            self.connections.shared.workers.wake();
        }
    }
}

impl WorkerConnections {
    /// Lists all connections: some were read already, and have requests.
    fn list_all(&mut self) {
        for slot in self.slots.all() {
            if let Some((connection, _)) = self.slots.get(slot) {
                connection.listed = false;
            }
            self.list(slot);
        }
    }

    /// Serves every connection that has work, once, without data.
    fn busy_turn(&mut self, events: &mut Events) {
        if let Err(cause) = self.poll_for(events, Some(Duration::ZERO)) {
            tracing::error!(%cause, "cannot wait for events");
            return;
        }
        for stream in self.mailbox().take_connections() {
            self.adopt(stream);
        }
        self.list_again();
        self.begin_group();
        let (mut requests, mut bytes_in, mut bytes_out) = (0, 0, 0);
        for slot in std::mem::take(&mut self.ready) {
            let (count, works) = self.read(slot);
            bytes_in += count;
            if works {
                requests += self.answer_busy(&[slot]);
            }
            bytes_out += self.finish(slot);
        }
        self.count(requests, bytes_in, bytes_out);
    }

    /// Answers the requests of these connections without data, and holds their tasks back. Returns
    /// the number of requests.
    pub(super) fn answer_busy(&mut self, slots: &[usize]) -> usize {
        let (shared, mut count) = (Arc::clone(&self.shared), 0);
        for &slot in slots {
            let Some((connection, output)) = self.slots.get(slot) else { continue };
            if connection.task.is_some() {
                connection.pause_if(true, &shared.clients.pause);
                self.holds = true;
            }
            while connection.may_run()
                && connection.input.queued() > 0
                && output.pending() <= self.limits.output
            {
                answer(connection, output, &shared, self.number);
                count += 1;
            }
        }
        count
    }
}

/// Answers the first request of a connection and removes it from the queue.
fn answer(connection: &mut Connection, output: &mut ReplyBuffer, shared: &Arc<ServerShared>, worker: usize) {
    let (pending, start, replies) = (output.pending(), output.buffer.len(), connection.client.replies);
    let began = Instant::now();
    let around = (Some(&**shared), &shared.clients.warnings);
    let answered = answer_without_data(connection, output, around, |client, command, args, reply| {
        run(&mut BusyContext { client, server: shared }, command, args, reply)
    });
    let Some((tag, ran)) = answered else { return };
    let (observed, args) = (&shared.workers.mailboxes[worker].observed, connection.input.args(0));
    if ran {
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        observed.done(CommandKind::of(tag, &args), 1, nanos, shared.settings.latency_tracking.get());
    }
    if output.buffer.get(start) == Some(&b'-') {
        observed.rejected(CommandKind::of_tagged(tag, &args), &output.buffer[start..]);
    }
    if connection.client.drops_reply(replies) {
        output.keep(pending);
    }
    connection.input.take(1);
}

/// Runs or queues a request. Returns the next step of the connection, or `None` if the request was
/// queued.
fn run(
    context: &mut BusyContext<'_>,
    (command, tag): (&'static Command, u16),
    args: &Args,
    reply: &mut Reply,
) -> Result<Option<AfterCommand>, CommandError> {
    let handler = while_busy::handler_of(context, command, args)?;
    if context.client.in_multi() && is_queued(command) {
        let limit = context.server.settings.request_bytes_max.get();
        enqueue(context.client, command, tag, args, limit, reply);
        return Ok(None);
    }
    handler(context, args, reply).map(Some)
}
