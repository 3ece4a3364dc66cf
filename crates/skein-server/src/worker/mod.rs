//! A worker: a thread with an event loop, a share of the connections, and a session (hence a log) of its own.
//!
//! ```text
//!   turn:  wait for events ─► for up to 64 ready connections:
//!                               one read each ─► parse whole pipelines
//!                               ┌► all reads that come first    ─► one batch of lookups
//!                               │  all writes that come first   ─► one append to the log
//!                               └─ what is neither, one by one      … until all queues are empty
//!                               one write each
//! ```
//!
//! Within a connection effects and replies keep the order of the requests; between connections there is none to keep.
//! Nothing in a turn blocks: at durability `sync` replies stay in their output until the epoch of their writes is durable
//! (see `output`), a checkpoint is written by another thread, long answers go in slices (see `commands::task`), and so do they out.
//!
//! Memory per connection is bounded: while its output is over the limit nothing more of it is run, and
//! while requests are queued nothing more of it is read.

mod client_timeouts;
mod connection;
mod connection_slots;
mod epochs;
mod exclusive;
mod general;
mod linger;
pub(crate) mod loading;
mod mail;
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

use crate::engine::{EngineSession, Ticket};
use crate::resp::ReplyWriter;
use crate::settings::WorkerLimits;
use crate::shared::{Mailbox, ServerShared, WorkerCounters};

use client_timeouts::TimeoutSweep;
use connection_slots::ConnectionSlots;
use general::GeneralContext;
use linger::Lingering;
use pipelined_reads::PipelinedReads;
use pipelined_writes::PipelinedWrites;
use request_timer::RequestTimer;

/// The token of the waker; connections have their slot.
pub(crate) const WAKE: Token = Token(usize::MAX);

/// Connections that are served together. More overlap no more reads, and keep the first waiting.
const GROUP: usize = 64;

const EVENTS: usize = 1024;

/// Buffers of each kind, without a connection, that a worker keeps at most.
const SPARE_BUFFERS_MAX: usize = 256;

/// Why a client is disconnected for which too much waits.
const OVER_HARD_LIMIT: &str = "its waiting replies are over the hard limit";

/// Turns after which a worker that always has work looks at the stop flag and the clock.
const STOP_TICK: Duration = Duration::from_millis(20);

pub(crate) struct Worker {
    number: usize,
    shared: Arc<ServerShared>,
    poll: Poll,
    session: EngineSession,
    slots: ConnectionSlots,
    /// As they were when the group that is being served began.
    limits: WorkerLimits,
    reads: PipelinedReads,
    writes: PipelinedWrites,
    /// Connections to serve in this turn, and those that already have work for the next.
    ready: Vec<usize>,
    again: Vec<usize>,
    /// Of the group that is being served, those with requests.
    active: Vec<usize>,
    /// Connections whose replies wait for an epoch.
    held: Vec<usize>,
    /// Connections that are being left.
    lingering: Vec<Lingering>,
    /// The durable epoch as last seen.
    durable: u64,
    /// Until when the replies of this turn are held back.
    ticket: Ticket,
    /// Input and output buffers without a connection.
    spare: Vec<Vec<u8>>,
    spare_outputs: Vec<Vec<u8>>,
    sweep: TimeoutSweep,
    /// A pause holds back requests of some connections.
    holds: bool,
    /// When the group that is being served began, since the server's start.
    now: Duration,
    /// When a graceful stop gives up; `None` while there is none.
    stop_at: Option<Instant>,
}

/// What a worker did, told when it ends.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct WorkerReport {
    /// Connections that were open when the stop began.
    pub closed: usize,
    /// Of them, those whose replies could not all be sent in time.
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
            holds: false,
            now: Duration::ZERO,
            stop_at: None,
            shared,
        }
    }

    fn mailbox(&self) -> &Mailbox {
        &self.shared.mailboxes[self.number]
    }

    /// Serves until a stop; `Err` if the system's event queue fails.
    pub(crate) fn run(mut self) -> io::Result<WorkerReport> {
        let mut events = Events::with_capacity(EVENTS);
        let mut report = WorkerReport::default();
        loop {
            self.wait(&mut events)?;
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

    /// Waits for events, unless there is work already, and lists the connections they are about.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let idle = self.again.is_empty() && !self.is_epoch_news_due();
        let timeout = match (idle, self.stop_at) {
            (false, _) => Some(Duration::ZERO),
            (true, Some(_)) => Some(STOP_TICK),
            (true, None) if !self.lingering.is_empty() => Some(linger::TICK),
            (true, None) if client_timeouts::is_wanted(&self.shared) && !self.slots.is_empty() => {
                Some(client_timeouts::TICK)
            }
            (true, None) => None,
        };
        let timeout = timeout.into_iter().chain(self.pause_time_left()).min();
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

    /// Puts a connection on the list of those to be served, once.
    fn list(&mut self, slot: usize) {
        if let Some((connection, _)) = self.slots.get(slot)
            && !std::mem::replace(&mut connection.listed, true)
        {
            self.ready.push(slot);
        }
    }

    /// Serves every connection that has something to do, once.
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

    /// Reads, runs, sends.
    fn serve(&mut self, group: &[usize]) {
        // All that is done together sees one time.
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
            // A task goes on all the same: its reply is bounded by itself, and cannot be sent before it is whole.
            if connection.task.is_none() && output.pending() > self.limits.output {
                continue;
            }
            let Ok(count) = connection.fill(&self.limits.requests, &mut self.spare) else {
                self.close(slot);
                continue;
            };
            bytes_in += count;
            // After the read, so that what was sent after a change of rights is held against them.
            connection.client.refresh(&self.shared.acl.users);
            if count > 0 {
                connection.client.card.mark_active(self.now);
                if let Some(last) = connection.input.last_tag() {
                    connection.client.card.set_command(last);
                }
            }
            if connection.input.queued() > 0 || connection.task.is_some() {
                output.lend_buffer(&mut self.spare_outputs);
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

    /// A round: runs all requests that can be run of the active connections, or for as long as a round may take; how many.
    fn run_active(&mut self, now: Instant) -> usize {
        let Self { shared, session, slots, active, .. } = self;
        // Who had nothing when the last round ended comes first in this one: what fills a batch does so at the cost of who comes later.
        active.sort_by_key(|&slot| slots.get(slot).and_then(|(connection, _)| connection.served));
        let output_max = self.limits.output;
        let mailbox = &shared.mailboxes[self.number];
        mailbox.counts.set_turn(now.saturating_duration_since(shared.started));
        let mut general = GeneralContext {
            session,
            shared,
            worker: self.number,
            pass: shared.gate.enter(self.number),
            watch: RequestTimer::new(&shared.observing, &shared.settings.observing, &mailbox.observed, now),
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
                    (output_max, &mailbox.counts),
                    &mut general.watch,
                );
                let (count, ticket) =
                    self.writes.run(slots, active, general.session, shared, &mut general.watch);
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
            if general.watch.is_over() {
                break;
            }
        }
        self.holds |= general.holds;
        mailbox.counts.end_turn();
        self.ticket = self.ticket.max(latest);
        total
    }

    /// Sends a connection's replies, and closes it or lists it again as need be. How many bytes were sent.
    fn finish(&mut self, slot: usize) -> usize {
        let durable = self.durable;
        let Some((connection, output)) = self.slots.get(slot).filter(|(connection, _)| !connection.lingers)
        else {
            return 0;
        };
        if connection.attacked {
            self.close(slot);
            return 0;
        }
        if connection.may_run() && connection.input.queued() == 0 {
            if let Some(error) = connection.error.take() {
                tracing::debug!(client = connection.client.id, %error, "a client sent what is no request");
                let text = format!("ERR Protocol error: {error}");
                ReplyWriter::new(&mut output.buffer, connection.client.protocol).error(&text);
                connection.closing = true;
            } else if connection.ended && !connection.input.may_parse() {
                connection.closing = true;
            }
        }
        if output.pending() > self.limits.output_hard {
            self.cut_off(slot, OVER_HARD_LIMIT);
            return 0;
        }
        let Ok(sent) = connection.flush(output, durable) else {
            self.close(slot);
            return 0;
        };
        if sent > 0 {
            connection.client.card.mark_active(self.now);
            if output.pending() <= self.limits.output_soft {
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
        sent
    }

    /// Disconnects a client that is over a limit. As in Redis it hears nothing: it does not read, or it is silent.
    fn cut_off(&mut self, slot: usize, why: &str) {
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
            self.mailbox().counts.holds(&mut connection.counted, 0);
            if let Err(cause) = self.poll.registry().deregister(&mut connection.stream) {
                tracing::debug!(%cause, "a closed connection was not watched any more");
            }
            self.left();
        }
    }

    /// One step of a graceful stop: what has been read is answered; connections with nothing left to answer
    /// are closed; at the deadline all are.
    fn stop_step(&mut self, report: &mut WorkerReport) {
        let slots = self.slots.all();
        let deadline = *self.stop_at.get_or_insert_with(|| {
            report.closed = slots.len();
            Instant::now() + self.shared.options.stop_timeout
        });
        let late = Instant::now() >= deadline;
        for slot in slots {
            let Some((connection, output)) = self.slots.get(slot) else { continue };
            // Nothing more is read.
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
