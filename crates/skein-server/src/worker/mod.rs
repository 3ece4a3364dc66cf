//! A worker: a thread with an event loop, a share of the connections, and its own session and log.
//!
//! ```text
//!   turn:  wait for events ─► for each group of up to 64 ready connections:
//!                               one read each ─► parse whole pipelines
//!                               ┌► all reads at the front of the queues  ─► one batch of lookups
//!                               │  all writes at the front               ─► one append to the log
//!                               └─ other requests, one by one        … until all queues are empty
//!                               one write each
//! ```
//!
//! Within a connection, effects and replies keep the order of the requests. Between connections
//! there is no order to keep.
//!
//! A turn never waits for a client or for the log. At durability `sync`, replies stay in their
//! buffer until the epoch of their writes is durable (`reply_buffer`). Another thread writes
//! checkpoints. Long answers are computed and sent in slices (`commands::task`). A turn may wait
//! for other workers (`exclusion_gate`), for readers while memory is full (some 65 ms at most,
//! `Session::make_room`), and for pages of the disk engine.
//!
//! Memory per connection is bounded. While its reply buffer is over the limit, the worker runs none
//! of its requests. While requests are queued, the worker reads no more from its socket.
//!
//! Read in this order: `mod` (the turn), `connection`, `reply_buffer`, `pipelined_reads`,
//! `pipelined_writes`, `general`, `exclusive`, `epochs`; then the rest in any order.
//!
//! Design: `docs/design/server.md`.

mod blocking;
mod client_timeouts;
mod connection;
mod connection_slots;
mod epochs;
mod exclusive;
mod general;
mod linger;
pub(crate) mod loading;
mod mail;
mod messages;
mod paused_requests;
mod pipelined_reads;
mod pipelined_writes;
mod reply_buffer;
mod request_timer;
mod write_allowance;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use crate::commands::channels::remove_all;
use crate::resp::ReplyWriter;
use crate::settings::WorkerLimits;
use crate::shared::{Mailbox, ServerShared};
use crate::worker_counters::WorkerCounters;
use skein_data::{EngineSession, Ticket};

use blocking::WaitDeadlines;
use client_timeouts::TimeoutSweep;
use connection_slots::ConnectionSlots;
use general::GeneralContext;
use linger::Lingering;
use pipelined_reads::PipelinedReads;
use pipelined_writes::PipelinedWrites;
use request_timer::RequestTimer;

/// The token of the waker. The token of a connection is its slot.
pub(crate) const WAKE: Token = Token(usize::MAX);

/// Connections that are served together. A larger group would not overlap more memory reads, and
/// would delay the first replies.
const GROUP: usize = 64;

const EVENTS: usize = 1024;

/// Spare buffers of each kind that a worker keeps at most.
const SPARE_BUFFERS_MAX: usize = 256;

/// The log text for a client that is disconnected because its waiting replies take too many bytes.
const OVER_HARD_LIMIT: &str = "its waiting replies exceed the hard limit";

/// The longest wait for events while a graceful stop is under way.
const STOP_TICK: Duration = Duration::from_millis(20);

pub(crate) struct Worker {
    number: usize,
    shared: Arc<ServerShared>,
    poll: Poll,
    session: EngineSession,
    slots: ConnectionSlots,
    /// The limits as they were when the current group began.
    limits: WorkerLimits,
    reads: PipelinedReads,
    writes: PipelinedWrites,
    /// Connections to serve in this turn (`ready`), and those that already have work for the next
    /// (`again`).
    ready: Vec<usize>,
    again: Vec<usize>,
    /// The connections of the current group that have requests.
    active: Vec<usize>,
    /// Connections whose replies wait for an epoch.
    held: Vec<usize>,
    /// Connections that are closing (see `linger`).
    lingering: Vec<Lingering>,
    /// The durable epoch as last seen.
    durable: u64,
    /// The latest ticket of this turn: the epoch that its replies wait for.
    ticket: Ticket,
    /// Spare input buffers (`spare`) and reply buffers.
    spare: Vec<Vec<u8>>,
    spare_outputs: Vec<Vec<u8>>,
    sweep: TimeoutSweep,
    /// The ends of the waits of blocked clients.
    deadlines: WaitDeadlines,
    /// Whether a pause holds back requests of some connections.
    holds: bool,
    /// When the current group began, measured from the server's start.
    now: Duration,
    /// The deadline of a graceful stop; `None` unless one is under way.
    stop_at: Option<Instant>,
}

/// The result of a worker, returned when it ends.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct WorkerReport {
    /// Connections that were open when the stop began.
    pub closed: usize,
    /// Of those, the ones that were closed before all their replies were sent.
    pub cut_short: usize,
}

impl Worker {
    pub(crate) fn new(number: usize, shared: Arc<ServerShared>, poll: Poll) -> Self {
        let session = shared.store.session();
        let limits = shared.settings.limits();
        Self {
            number,
            poll,
            session,
            limits,
            slots: ConnectionSlots::default(),
            reads: PipelinedReads::default(),
            writes: PipelinedWrites::default(),
            ready: Vec::new(),
            again: Vec::new(),
            active: Vec::new(),
            held: Vec::new(),
            lingering: Vec::new(),
            durable: 0,
            ticket: Ticket::default(),
            spare: Vec::new(),
            spare_outputs: Vec::new(),
            sweep: TimeoutSweep::default(),
            deadlines: WaitDeadlines::default(),
            holds: false,
            now: Duration::ZERO,
            stop_at: None,
            shared,
        }
    }

    fn mailbox(&self) -> &Mailbox {
        &self.shared.mailboxes[self.number]
    }

    /// Serves connections until the server stops. Errors if the system's event queue fails.
    pub(crate) fn run(mut self) -> io::Result<WorkerReport> {
        let mut events = Events::with_capacity(EVENTS);
        let mut report = WorkerReport::default();
        loop {
            self.wait(&mut events)?;
            self.end_waits();
            self.turn();
            self.end_lingering();
            self.sweep();
            if self.shared.stopping() {
                self.stop_step(&mut report);
                if self.slots.is_empty() {
                    return Ok(report);
                }
            }
        }
    }

    /// Waits for events and lists their connections. Returns immediately if there is work already.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let idle = self.again.is_empty() && !self.poll_epoch();
        let timeout = match (idle, self.stop_at) {
            (false, _) => Some(Duration::ZERO),
            (true, Some(_)) => Some(STOP_TICK),
            (true, None) if !self.lingering.is_empty() => Some(linger::TICK),
            (true, None) if client_timeouts::is_wanted(&self.shared) && !self.slots.is_empty() => {
                Some(client_timeouts::TICK)
            }
            (true, None) => None,
        };
        let wait_left = self.deadlines.next().map(|end| end.saturating_duration_since(Instant::now()));
        let timeout = timeout.into_iter().chain(self.pause_time_left()).chain(wait_left).min();
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let mut woken = false;
        for event in events.iter() {
            if event.token() == WAKE {
                woken = true;
                continue;
            }
            let slot = event.token().0;
            let Some((connection, _)) = self.slots.get(slot) else { continue };
            connection.readable |= event.is_readable() && self.stop_at.is_none();
            connection.hung_up |= event.is_read_closed();
            connection.writable |= event.is_writable();
            self.list(slot);
        }
        if woken {
            self.take_mail();
        }
        if self.holds && (woken || self.shared.pause.now().is_none()) {
            self.release_held();
        }
        Ok(())
    }

    /// Adds a connection to the list of those to serve, unless it is listed already.
    fn list(&mut self, slot: usize) {
        if let Some((connection, _)) = self.slots.get(slot)
            && !std::mem::replace(&mut connection.listed, true)
        {
            self.ready.push(slot);
        }
    }

    /// Serves every connection that has work, once.
    fn turn(&mut self) {
        self.session.begin_turn();
        self.release_durable_replies();
        for slot in std::mem::take(&mut self.again) {
            self.list(slot);
        }
        let ready = std::mem::take(&mut self.ready);
        for group in ready.chunks(GROUP) {
            self.serve(group);
        }
        self.ready = ready;
        self.ready.clear();
        if self.shared.epoch_to_wait_for(self.ticket).is_some_and(|epoch| epoch > self.durable) {
            self.shared.store.request_durable(self.ticket);
        }
        self.ticket = Ticket::default();
    }

    /// Reads from each connection of a group, runs their requests, and sends the replies.
    fn serve(&mut self, group: &[usize]) {
        // All requests of a group see the same time.
        self.session.freeze();
        self.limits = self.shared.settings.limits();
        let mut bytes_in = 0;
        self.now = self.shared.started.elapsed();
        self.active.clear();
        for &slot in group {
            let Some((connection, output)) = self.slots.get(slot) else { continue };
            connection.listed = false;
            if connection.lingers {
                self.drop_input(slot);
                continue;
            }
            // A task continues all the same: its reply has its own limit, and must be complete
            // before any of it is sent.
            if connection.task.is_none() && output.pending() > self.limits.output {
                continue;
            }
            let Ok(count) = connection.fill(&self.limits.requests, &mut self.spare) else {
                self.close(slot);
                continue;
            };
            bytes_in += count;
            // After the read, so that requests sent after a change of rights are checked against
            // the new rights.
            connection.client.refresh(&self.shared.acl.users);
            if count > 0 {
                connection.client.record.mark_active(self.now);
                if let Some(last) = connection.input.last_tag() {
                    connection.client.record.set_command(last);
                }
            }
            if connection.input.queued() > 0 || connection.task.is_some() {
                output.take_spare_buffer(&mut self.spare_outputs);
                self.active.push(slot);
            }
        }
        let requests = self.run_active(Instant::now());
        let mut bytes_out = 0;
        for &slot in group {
            bytes_out += self.finish(slot);
        }
        let counts = &self.mailbox().counts;
        WorkerCounters::add(&counts.requests, requests as u64);
        WorkerCounters::add(&counts.bytes_in, bytes_in as u64);
        WorkerCounters::add(&counts.bytes_out, bytes_out as u64);
    }

    /// Runs a round: all requests of the active connections, until the queues are empty or the time
    /// of a round is over. Returns the number of requests.
    fn run_active(&mut self, now: Instant) -> usize {
        let Self { shared, session, slots, active, .. } = self;
        // Connections that were not served in the last round are first in this one: a batch that is
        // full excludes the connections at the end of the list.
        active.sort_by_key(|&slot| slots.get(slot).and_then(|(connection, _)| connection.served));
        let output_max = self.limits.output;
        let mailbox = &shared.mailboxes[self.number];
        mailbox.counts.set_turn(now.saturating_duration_since(shared.started));
        let mut general = GeneralContext {
            session,
            shared,
            worker: self.number,
            pass: shared.gate.enter(self.number),
            timer: RequestTimer::new(&shared.observing, &shared.settings.observing, &mailbox.observed, now),
            held: None,
            holds: false,
        };
        let mut total = 0;
        let mut latest = general.step_all(slots, active);
        loop {
            let mut done = 0;
            if shared.pause.now().is_none() {
                done = self.reads.run(
                    slots,
                    active,
                    general.session,
                    output_max,
                    &mailbox.counts,
                    &mut general.timer,
                );
                let (count, ticket) =
                    self.writes.run(slots, active, general.session, shared, &mut general.timer);
                latest = latest.max(ticket);
                done += count;
            }
            for &slot in &*active {
                let (count, ticket) = general.run(slots, slot);
                latest = latest.max(ticket);
                done += count;
            }
            if done == 0 {
                break;
            }
            total += done;
            if general.timer.is_over() {
                break;
            }
        }
        self.holds |= general.holds;
        mailbox.counts.end_turn();
        self.ticket = self.ticket.max(latest);
        total
    }

    /// Sends a connection's replies, then closes it or lists it again if necessary. Returns the
    /// number of bytes sent.
    fn finish(&mut self, slot: usize) -> usize {
        let durable = self.durable;
        let Some((connection, output)) = self.slots.get(slot).filter(|(connection, _)| !connection.lingers)
        else {
            return 0;
        };
        if connection.task.is_none() {
            output.buffer.append(&mut connection.postponed);
        }
        // Nobody reads from the connection of a blocked client, so an event alone tells its end.
        if connection.attacked || (connection.blocked.is_some() && connection.hung_up) {
            self.close(slot);
            return 0;
        }
        if connection.may_run() && connection.input.queued() == 0 {
            if let Some(error) = connection.error.take() {
                tracing::debug!(client = connection.client.id, %error, "a client sent bytes that are not a request");
                let text = format!("ERR Protocol error: {error}");
                ReplyWriter::new(&mut output.buffer, connection.client.protocol).error(&text);
                connection.closing = true;
            } else if connection.ended && !connection.input.may_parse() {
                connection.closing = true;
            }
        }
        let bounds = self.limits.output_of(!connection.client.subscriptions.is_empty());
        if output.pending() + connection.postponed.len() > bounds.hard {
            self.disconnect(slot, OVER_HARD_LIMIT);
            return 0;
        }
        let Ok(sent) = connection.flush(output, durable) else {
            self.close(slot);
            return 0;
        };
        if sent > 0 {
            connection.client.record.mark_active(self.now);
            if output.pending() <= bounds.soft {
                connection.over_soft_limit = None;
            }
        }
        if connection.closing && output.pending() == 0 && !connection.stream.has_unsent_records() {
            self.close_gently(slot);
            return sent;
        }
        let held = output.is_held(durable);
        let room = output.pending() <= self.limits.output;
        let input = &connection.input;
        let waiting = input.queued() > 0 || input.may_parse() || (connection.readable && !connection.ended);
        let unsent = output.pending() > 0 && connection.writable && !output.sendable(durable).is_empty();
        let works = connection.task.is_some() && !connection.paused;
        let more = unsent || works || (room && connection.may_run() && waiting);
        if held && !std::mem::replace(&mut connection.held, true) {
            self.held.push(slot);
        }
        if more {
            self.again.push(slot);
        } else {
            connection.release(&mut self.spare);
            output.release(&mut self.spare_outputs);
        }
        let holds = connection.memory(output);
        self.shared.mailboxes[self.number].counts.holds(&mut connection.counted, holds);
        if let Some(wait) = connection.blocked {
            self.deadlines.note(wait, slot, connection.client.id);
        }
        sent
    }

    /// Disconnects a client that is over a limit. As in Redis, no error is sent: the client does
    /// not read its replies, or is idle.
    fn disconnect(&mut self, slot: usize, why: &str) {
        if let Some((connection, output)) = self.slots.get(slot) {
            let (client, waiting) = (connection.client.id, output.pending());
            tracing::warn!(client, waiting, "a client is disconnected: {why}");
            self.close(slot);
        }
    }

    fn close(&mut self, slot: usize) {
        if let Some(mut connection) = self.slots.remove(slot) {
            self.shared.clients.remove(connection.client.id);
            if connection.waits {
                self.shared.checkpoints.withdraw(connection.client.id);
            }
            remove_all(&self.shared, &mut connection.client);
            if let Some(wait) = connection.blocked.take() {
                self.shared.waiting.withdraw(connection.client.id);
                self.deadlines.forget(wait, slot, connection.client.id);
            }
            self.mailbox().counts.holds(&mut connection.counted, 0);
            if let Err(cause) = self.poll.registry().deregister(&mut connection.stream) {
                tracing::debug!(%cause, "cannot deregister a closed connection");
            }
            self.count_closed();
        }
    }

    /// Does one step of a graceful stop. Requests that were read are still answered. Connections
    /// with nothing left to answer are closed; after the deadline all are.
    fn stop_step(&mut self, report: &mut WorkerReport) {
        let slots = self.slots.all();
        let deadline = *self.stop_at.get_or_insert_with(|| {
            report.closed = slots.len();
            Instant::now() + self.shared.options.stop_timeout
        });
        let late = Instant::now() >= deadline;
        for slot in slots {
            let Some((connection, output)) = self.slots.get(slot) else { continue };
            // A stopping worker reads no more.
            connection.readable = false;
            let input = &connection.input;
            let busy = connection.task.is_some()
                || connection.waits
                || connection.error.is_some()
                || input.queued() > 0
                || input.may_parse()
                || output.pending() > 0
                || connection.stream.has_unsent_records();
            if late {
                report.cut_short += usize::from(busy);
                self.close(slot);
            } else if !busy && !connection.lingers {
                self.close_gently(slot);
            }
        }
    }
}
