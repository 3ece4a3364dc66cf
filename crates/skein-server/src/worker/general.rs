//! Requests that run one by one, and commands that run in slices.

use std::sync::Arc;

use crate::clients::client::ClientState;
use crate::clients::client_registry::ClientLocation;
use crate::clients::pause::PausedRequests;
use crate::command_table::Flag;
use crate::commands::monitor::feed;
use crate::commands::task::{TaskProgress, TaskSlice};
use crate::commands::transactions::{enqueue, is_queued};
use crate::commands::{AfterCommand, Command, CommandResult, ResolvedTag, Run, migrate};
use crate::notice::key_events::KeyChanges;
use crate::notice::monitors::RequestSource;
use crate::observe::command_kinds::CommandKind;
use crate::observe::slowlog::ClippedRequest;
use crate::resp::whole::are_whole_replies;
use crate::resp::{Args, Reply};
use crate::shared::exclusion_gate::SharedPass;
use crate::shared::stored_request::StoredRequest;
use crate::shared::{STOPPING, ServerShared};
use skein_data::{EngineSession, Ticket};

use super::admission::{check, is_attack};
use super::blocking::wakes_someone;
use super::connection::Connection;
use super::connections::WorkerConnections;
use super::lowered_limit::evict_excess;
use super::migrations::writes_moving_key;
use super::paused_requests::is_held;
use super::pipelined_writes::is_batched;
use super::read_ahead::read_ahead;
use super::reply_buffer::ReplyBuffer;
use super::request_timer::{RequestTimer, SlicedCommandTime, share};
use super::ring::{RingOutcome, outcome, run_beside};
use super::write_allowance::{admit, bytes_added, bytes_added_now, may_grow_memory};

/// The most requests that are timed together.
const TOGETHER_MAX: usize = 64;
/// The most arguments that each of them may have, except the last: a request with more takes long.
const TOGETHER_ARGS_MAX: usize = 64;

/// The context of general requests, besides their connection.
pub(super) struct GeneralContext<'w> {
    pub session: &'w mut EngineSession,
    pub shared: &'w Arc<ServerShared>,
    pub worker: usize,
    /// The worker's connections. That of the current request is out of its slot.
    pub connections: &'w mut WorkerConnections,
    /// Permission to run requests beside other workers, held for as long as these run.
    pub pass: SharedPass<'w>,
    pub timer: RequestTimer<'w>,
    /// The requests that a pause holds back in this round. If set, nothing runs in batches.
    pub held: Option<PausedRequests>,
    /// Whether the pause or a moving key held back a request.
    pub holds: bool,
}

/// The outcome of a request: the ticket that its reply waits for, and whether it was done at least
/// in part. A request that was refused or queued was not done.
#[derive(Default)]
struct RequestOutcome {
    ticket: Ticket,
    done: bool,
}

impl GeneralContext<'_> {
    /// Reads the clock if other workers may have run requests since it was read. Until they may do so
    /// again, all requests see the same time. An older time would show a key that a client has seen
    /// expire, beside a write that this client made afterwards.
    #[inline]
    pub(super) fn read_clock_after_wait(&mut self) {
        if self.pass.take_waited() {
            self.session.freeze();
        }
    }

    /// Runs one slice of each task that no pause holds back. Returns the latest ticket that their
    /// replies wait for.
    pub(super) fn step_all(&mut self, active: &[usize]) -> Ticket {
        let mut latest = Ticket::default();
        for &slot in active {
            if self.pass.is_busy() {
                break;
            }
            let slots = &mut self.connections.slots;
            if slots.get(slot).is_none_or(|(connection, _)| connection.task.is_none()) {
                continue;
            }
            let Some((mut connection, mut output)) = slots.lift(slot) else { continue };
            latest = latest.max(self.step_unless_paused(&mut connection, &mut output));
            self.connections.slots.put_back(slot, connection, output);
        }
        latest
    }

    fn step_unless_paused(&mut self, connection: &mut Connection, output: &mut ReplyBuffer) -> Ticket {
        let writes = connection.task.as_ref().is_some_and(|task| task.writes());
        let held = self.shared.clients.pause.now().is_some() || self.shared.data.migrations.moving.any();
        connection.pause_if(writes && held, &self.shared.clients.pause);
        if connection.paused.is_some() {
            self.holds = true;
            return Ticket::default();
        }
        connection.served = Some(self.timer.began());
        self.step_timed(connection, output)
    }

    /// Runs the requests at the front of the queue of `slot`, up to the next read or write that
    /// runs in a batch. Returns the number of requests and the latest ticket that their replies
    /// wait for.
    pub(super) fn run(&mut self, slot: usize) -> (usize, Ticket) {
        let Some((mut connection, mut output)) = self.connections.slots.lift(slot) else {
            return (0, Ticket::default());
        };
        let ran = self.run_of(&mut connection, &mut output, slot);
        self.connections.slots.put_back(slot, connection, output);
        ran
    }

    fn run_of(
        &mut self,
        connection: &mut Connection,
        output: &mut ReplyBuffer,
        slot: usize,
    ) -> (usize, Ticket) {
        let output_max = self.shared.settings.output_bytes_max.get();
        let (mut total, mut ticket) = (0, Ticket::default());
        read_ahead(connection, self.session);
        while connection.may_run()
            && connection.input.queued() > 0
            && output.pending() <= output_max
            && !self.pass.is_busy()
        {
            if self.holds_back(connection) {
                break;
            }
            let (count, latest) = self.run_timed_together(connection, output, slot);
            ticket = ticket.max(latest);
            total += count;
            if count == 0 || self.timer.is_over() {
                break;
            }
        }
        (total, ticket)
    }

    /// Returns whether a pause or a moving key holds back the first request, and marks the connection
    /// if so.
    #[inline]
    fn holds_back(&mut self, connection: &mut Connection) -> bool {
        // The pause is checked for each request: the request before may have begun or ended it.
        self.held = self.shared.clients.pause.now().map(|(held, _)| held);
        let moves = self.shared.data.migrations.moving.any();
        if self.held.is_none() && !moves {
            return false;
        }
        let Some(tag) = connection.input.tag(0) else { return false };
        let (args, client) = (connection.input.args(0), &connection.client);
        let is_held = self.held.is_some_and(|held| is_held(held, self.shared, tag, &args, client))
            || moves && writes_moving_key(self.shared, client, tag, &args, self.pass.stable());
        connection.pause_if(is_held, &self.shared.clients.pause);
        self.holds |= is_held;
        is_held
    }

    /// Runs the first request of the queue and the following ones that are timed together with it.
    /// Returns their number (0 if the first one runs in a batch) and the latest ticket that their
    /// replies wait for.
    fn run_timed_together(
        &mut self,
        connection: &mut Connection,
        output: &mut ReplyBuffer,
        slot: usize,
    ) -> (usize, Ticket) {
        let Some(tag) = connection.input.tag(0) else { return (0, Ticket::default()) };
        let resolved = ResolvedTag::of(tag);
        let began = self.timer.last();
        let (mut count, mut done, mut ticket) = (0, 0, Ticket::default());
        while !(self.held.is_none()
            && connection.may_batch()
            && is_batched(connection, count, self.shared, self.pass.stable()))
        {
            let outcome = self.run_one(resolved, tag, connection, output, slot, count);
            if connection.paused.is_some() {
                break;
            }
            ticket = ticket.max(outcome.ticket);
            done += usize::from(outcome.done);
            connection.put_off = false;
            count += 1;
            let together = self.held.is_none()
                && !self.shared.data.migrations.moving.any()
                && resolved.command().is_some_and(|command| command.has(Flag::TimedTogether))
                && connection.input.args(count - 1).len() <= TOGETHER_ARGS_MAX
                && !self.timer.is_strict()
                && count < TOGETHER_MAX;
            let goes_on = together
                && connection.input.tag(count) == Some(tag)
                && connection.may_run()
                && !self.pass.is_busy()
                && output.pending() <= self.shared.settings.output_bytes_max.get();
            if !goes_on {
                break;
            }
        }
        if done > 0 {
            let nanos = self.timer.lap_since(began);
            self.count_requests(tag, count, done, nanos, connection);
        }
        connection.take(count, self.timer.began());
        (count, ticket)
    }

    /// Counts the first `count` requests of the queue, all of one command; `done` of them were
    /// done.
    fn count_requests(
        &mut self,
        tag: u16,
        count: usize,
        done: usize,
        nanos: u64,
        connection: &mut Connection,
    ) {
        let kind = CommandKind::of(tag, &connection.input.args(0));
        self.timer.event_of(kind, nanos);
        if connection.task.is_some() || connection.blocked.is_some() || connection.waits {
            connection.long = Some(Box::new(SlicedCommandTime::new(kind, nanos, &connection.input.args(0))));
            return;
        }
        let nanos_each = share(nanos, done);
        self.timer.done(kind, done as u64, nanos_each);
        if self.timer.is_slow(nanos_each) {
            for at in 0..count {
                let request = ClippedRequest::of(&connection.input.args(at));
                self.timer.slow(kind, nanos_each, request, &connection.client.record);
            }
        }
    }

    /// Runs the request at a position of the queue.
    fn run_one(
        &mut self,
        resolved: ResolvedTag,
        tag: u16,
        connection: &mut Connection,
        output: &mut ReplyBuffer,
        slot: usize,
        at: usize,
    ) -> RequestOutcome {
        let (pending, replies) = (output.pending(), connection.client.replies);
        let is_about_connection =
            resolved.command().is_some_and(|command| command.has(Flag::AboutConnection));
        if is_about_connection {
            // CLIENT LIST and CLIENT INFO show the bytes of this very request, too.
            connection.note_sizes(output, connection.memory(output));
        }
        let outcome = self.answer(resolved, tag, connection, output, slot, at);
        if connection.paused.is_some() {
            return outcome;
        }
        if connection.client.tracking.is_some() && !is_about_connection {
            connection.client.end_caching();
        }
        self.shared.workers.mailboxes[self.worker]
            .counts
            .count_lookups(std::mem::take(&mut connection.client.lookups));
        if let (true, ResolvedTag::Command(command)) = (outcome.done, resolved) {
            let source = RequestSource::Client(&connection.client.record);
            feed(&self.shared.notices.monitors, command, source, &connection.input.args(at));
        }
        let kind = || CommandKind::of_tagged(tag, &connection.input.args(at));
        let is_counted = std::mem::take(&mut connection.client.error_is_counted);
        let reply = output.since(pending);
        if reply.first() == Some(&b'-') {
            match kind() {
                Some(script) if is_counted => self.timer.failed_again(script),
                kind => self.timer.error(kind, reply, outcome.done),
            }
        }
        let ended = connection.task.is_none() && !connection.waits && connection.blocked.is_none();
        // EXEC leaves out the parts of its reply that CLIENT REPLY mutes.
        let may_be_part = resolved.command().is_some_and(|command| command.plan.is_exec());
        debug_assert!(!ended || may_be_part || are_whole_replies(reply), "{}", reply.escape_ascii());
        if ended && connection.client.drops_reply(replies) {
            output.keep(pending);
        }
        outcome
    }

    fn answer(
        &mut self,
        resolved: ResolvedTag,
        tag: u16,
        connection: &mut Connection,
        output: &mut ReplyBuffer,
        slot: usize,
        at: usize,
    ) -> RequestOutcome {
        self.read_clock_after_wait();
        let Connection { client, input, .. } = connection;
        let args = input.args(at);
        let start = output.buffer.len();
        let mut reply = Reply::new(&mut output.buffer, client.protocol);
        if is_attack(resolved, &args, client, &self.shared.clients.warnings) {
            (connection.attacked, connection.closing) = (true, true);
            return RequestOutcome::default();
        }
        let command = match check(Some(self.shared), (resolved, tag), client, &args) {
            Ok(command) => command,
            Err(fault) => {
                fault.write(&mut reply);
                return RequestOutcome::default();
            }
        };
        let queues = client.in_multi() && is_queued(command);
        if self.session.memory_limit().is_some() && (queues || may_grow_memory(command)) {
            let bytes = if queues {
                bytes_added(&args)
            } else {
                bytes_added_now(self.session, client, command, &args, self.pass.stable())
            };
            if let Err(fault) = admit(self.session, self.shared, bytes) {
                client.mark_multi_failed();
                fault.write(&mut reply);
                return RequestOutcome::default();
            }
        }
        if queues {
            enqueue(client, command, tag, &args, self.shared.settings.request_bytes_max.get(), &mut reply);
            return RequestOutcome::default();
        }
        let (next, ticket) = match command.plan.run {
            Run::Exec => outcome(self.exec(client, &mut reply)),
            Run::Script(kind) => outcome(self.run_script(kind, client, &args, &mut reply)),
            Run::Migrate => outcome(self.start_migration(command, client, slot, &args, &mut reply)),
            Run::Blocking(blocking) => {
                outcome(self.run_blocking(command, blocking, client, &args, &mut reply))
            }
            Run::AsBatched(_) | Run::General(_) if command.plan.is_alone(&args) => {
                outcome(self.run_exclusive(command, client, &args, &mut reply))
            }
            Run::AsBatched(_) | Run::General(_) => self.run_in_room(command, client, &args, &mut reply),
        };
        if command.has(Flag::OutgrowsArguments) {
            evict_excess(self.session, self.shared, self.worker);
        }
        if matches!(next, Ok(AfterCommand::HeldBack)) {
            connection.pause_if(true, &self.shared.clients.pause);
            self.holds = true;
            return RequestOutcome::default();
        }
        if let Some(epoch) = self.shared.data.epoch_to_wait_for(ticket) {
            output.hold(start, epoch);
        }
        RequestOutcome {
            ticket: self.continue_with(next, connection, output, start, slot).max(ticket),
            done: true,
        }
    }

    /// Runs a request beside other workers, or alone if it makes a key for a waiting client.
    fn run_in_room(
        &mut self,
        command: &'static Command,
        client: &mut ClientState,
        names: &Args,
        reply: &mut Reply,
    ) -> RingOutcome {
        let mut stored = StoredRequest::default();
        let args = match stored.of(client, command, names, self.pass.stable()) {
            Ok(args) => args,
            Err(fault) => return (Err(fault), Ticket::default()),
        };
        if wakes_someone(&self.shared.notices.waiting, command, &args) {
            return outcome(self.run_exclusive(command, client, names, reply));
        }
        let around = (self.shared, self.pass.stable());
        run_beside(self.session, client, around, (command, &args), |context| {
            command.plan.run_by_itself(context, &args, reply)
        })
    }

    fn continue_with(
        &mut self,
        next: CommandResult,
        connection: &mut Connection,
        output: &mut ReplyBuffer,
        start: usize,
        slot: usize,
    ) -> Ticket {
        let protocol = connection.client.protocol;
        match next {
            Ok(AfterCommand::Done | AfterCommand::HeldBack) => {}
            // While the server is busy, no other worker runs requests either.
            Ok(AfterCommand::Fence) => drop(self.pass.alone()),
            Ok(AfterCommand::Close) => connection.closing = true,
            Ok(AfterCommand::Durable(ticket)) => {
                output.hold(start, ticket.epoch);
                self.shared.data.store.request_durable(ticket);
            }
            Ok(AfterCommand::Slices(task)) => {
                let mut reply = Reply::new(&mut output.buffer, protocol);
                let start = reply.position();
                if task.writes_open_array() {
                    reply.begin_open_array();
                }
                // No part is sent before the reply is complete: it may still become an error.
                output.open(start);
                connection.task = Some(task);
                return self.step(connection, output);
            }
            Ok(AfterCommand::Wait(wait)) => connection.block(wait),
            Ok(AfterCommand::Migrate(job)) => {
                connection.waits = true;
                migrate::start(self.shared, *job);
            }
            Ok(AfterCommand::Checkpoint) => {
                let who = ClientLocation { worker: self.worker, slot, client: connection.client.id };
                connection.waits = self.shared.data.checkpoints.ask(who);
                if !connection.waits {
                    STOPPING.write(&mut Reply::new(&mut output.buffer, protocol));
                }
            }
            Err(fault) => {
                output.buffer.truncate(start);
                fault.write(&mut Reply::new(&mut output.buffer, protocol));
            }
        }
        Ticket::default()
    }

    /// Runs a later slice of a connection's task, and measures its time.
    fn step_timed(&mut self, connection: &mut Connection, output: &mut ReplyBuffer) -> Ticket {
        let start = output.open_start().unwrap_or(output.buffer.len());
        let pending = output.pending_before(start);
        let ticket = self.step(connection, output);
        let nanos = self.timer.lap();
        let Some(long) = &mut connection.long else { return ticket };
        long.nanos += nanos;
        self.timer.event_of(long.kind, nanos);
        if connection.task.is_none()
            && let Some(long) = connection.long.take()
        {
            self.timer.check(long.kind, output.since(pending));
            long.end(&self.timer, &connection.client.record);
        }
        ticket
    }

    /// Runs one slice of a connection's task.
    fn step(&mut self, connection: &mut Connection, output: &mut ReplyBuffer) -> Ticket {
        let Some(mut task) = connection.task.take() else { return Ticket::default() };
        let begin = output.buffer.len();
        let start = output.open_start().unwrap_or(begin);
        let pending = output.pending_before(start);
        let observer = &self.shared.notices.key_observer;
        let mut changes = KeyChanges::of(observer, connection.client.id);
        let order = (changes.is_on() && task.writes()).then(|| observer.order());
        let mut slice = TaskSlice {
            session: &mut self.session.keys(),
            changes: &mut changes,
            ticket: Ticket::default(),
            reply_bytes_max: self.shared.settings.reply_bytes_max.get(),
            start,
        };
        let mut reply = Reply::new(&mut output.buffer, connection.client.protocol);
        let progress = task.step(&mut slice, &mut reply);
        let ticket = slice.ticket;
        slice.changes.publish(slice.session, observer, order.as_ref());
        match progress {
            Ok(TaskProgress::More) => connection.task = Some(task),
            Ok(TaskProgress::Done) => output.close(0),
            Ok(TaskProgress::DoneArray(len)) => {
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
        if let Some(epoch) = self.shared.data.epoch_to_wait_for(ticket) {
            output.hold(begin, epoch);
        }
        if connection.task.is_none() && connection.client.drops_reply(connection.client.replies) {
            output.keep(pending);
        }
        ticket
    }
}
