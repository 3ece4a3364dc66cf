//! Requests that run alone, and commands that run in slices.

use std::sync::Arc;

use crate::commands::connection::refuse_unauthenticated;
use crate::commands::task::{Progress, Slice};
use crate::commands::{Context, Fault, Handler, Next, Resolved, refuse};
use crate::engine::{Session, Ticket};
use crate::resp::Reply;
use crate::shared::{CheckpointFor, Shared};

use super::connection::Connection;
use super::output::Output;
use super::slots::Slots;

/// What general requests have at hand besides their connection.
pub(super) struct General<'w> {
    pub session: &'w mut Session,
    pub shared: &'w Arc<Shared>,
    pub worker: usize,
}

impl General<'_> {
    /// Runs what stands first in the queue of `slot`, up to the next read or write. How many requests, and until
    /// when their replies are held back.
    pub(super) fn run(&mut self, slots: &mut Slots, slot: usize) -> (usize, Ticket) {
        let output_max = self.shared.options.output_bytes_max;
        let (mut total, mut ticket) = (0, Ticket::default());
        let Some((connection, output)) = slots.get(slot) else { return (0, ticket) };
        while connection.may_run() && connection.input.queued() > 0 && output.pending() <= output_max {
            let Some(tag) = connection.input.tag(0) else { break };
            let resolved = Resolved::of(tag);
            let batched =
                matches!(resolved, Resolved::Command(command) if is_batched(command.handler, connection));
            if batched && connection.client.authenticated {
                break;
            }
            ticket = ticket.max(self.run_one(resolved, connection, output, slot));
            connection.input.take(1);
            total += 1;
        }
        (total, ticket)
    }

    fn run_one(
        &mut self,
        resolved: Resolved,
        connection: &mut Connection,
        output: &mut Output,
        slot: usize,
    ) -> Ticket {
        let Connection { client, input, .. } = connection;
        let args = input.args(0);
        let start = output.buffer.len();
        let mut reply = Reply::new(&mut output.buffer, client.protocol);
        let Resolved::Command(command) = resolved else {
            refuse(resolved, &args, &mut reply);
            return Ticket::default();
        };
        if !client.authenticated && !command.has_flag("no_auth") {
            refuse_unauthenticated(&mut reply);
            return Ticket::default();
        }
        let (Handler::General(run) | Handler::ReadOneOrMany(_, run)) = command.handler else {
            return Ticket::default();
        };
        let mut context =
            Context { session: &mut *self.session, client, shared: self.shared, ticket: Ticket::default() };
        let next = run(&mut context, &args, &mut reply);
        let ticket = context.ticket;
        if let Some(epoch) = self.shared.binding(ticket) {
            output.hold(start, epoch);
        }
        self.go_on(next, connection, output, start, slot).max(ticket)
    }

    fn go_on(
        &mut self,
        next: Result<Next, Fault>,
        connection: &mut Connection,
        output: &mut Output,
        start: usize,
        slot: usize,
    ) -> Ticket {
        let protocol = connection.client.protocol;
        match next {
            Ok(Next::Done) => {}
            Ok(Next::Close) => connection.closing = true,
            Ok(Next::Slices(task)) => {
                if task.writes_open_array() {
                    let start = Reply::new(&mut output.buffer, protocol).begin_open_array();
                    output.open(start);
                }
                connection.task = Some(task);
                return self.step(connection, output);
            }
            Ok(Next::Checkpoint) => {
                let who = CheckpointFor { worker: self.worker, slot, client: connection.client.id };
                connection.waits = self.shared.ask_checkpoint(who);
                if !connection.waits {
                    Fault::text("ERR the server is stopping")
                        .write(&mut Reply::new(&mut output.buffer, protocol));
                }
            }
            Err(fault) => {
                output.buffer.truncate(start);
                fault.write(&mut Reply::new(&mut output.buffer, protocol));
            }
        }
        Ticket::default()
    }

    /// Does one slice of a connection's task.
    pub(super) fn step(&mut self, connection: &mut Connection, output: &mut Output) -> Ticket {
        let Some(mut task) = connection.task.take() else { return Ticket::default() };
        let begin = output.buffer.len();
        let mut slice = Slice {
            session: &mut *self.session,
            ticket: Ticket::default(),
            reply_bytes_max: self.shared.options.reply_bytes_max,
            start: output.open_start().unwrap_or(begin),
        };
        let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
        let progress = task.step(&mut slice, &mut reply);
        let ticket = slice.ticket;
        match progress {
            Ok(Progress::More) => connection.task = Some(task),
            Ok(Progress::Done) => {}
            Ok(Progress::DoneArray(len)) => {
                if let Some(start) = output.open_start() {
                    let unused =
                        Reply::new(&mut output.buffer, connection.client.protocol).end_open_array(start, len);
                    output.close(unused);
                }
            }
            Err(fault) => {
                output.abandon();
                fault.write(&mut Reply::new(&mut output.buffer, connection.client.protocol));
            }
        }
        if let Some(epoch) = self.shared.binding(ticket) {
            output.hold(begin, epoch);
        }
        ticket
    }
}

/// Whether `reads` or `writes` runs this command.
fn is_batched(handler: Handler, connection: &Connection) -> bool {
    match handler {
        Handler::Read(_) | Handler::Write(_) => true,
        Handler::ReadOneOrMany(..) => connection.input.args(0).len() == 2,
        Handler::General(_) => false,
    }
}
