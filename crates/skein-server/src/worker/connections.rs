//! The connections of a worker, and the events that tell which of them have work.
//!
//! ```text
//!   wait ─► events, mail ─► ready ─► (the requests run: `mod`, `busy`) ─► finish ─┬► sent, again
//!                                                                                └► close
//! ```
//!
//! Nothing here touches data. So a worker serves its other connections while a script has its
//! session (`busy`).

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use crate::commands::channels::remove_all;
use crate::commands::client::stop_tracking;
use crate::commands::monitor::stop_monitoring;
use crate::config::settings::WorkerLimits;
use crate::notice::channels::ChannelDelivery;
use crate::observe::worker_counters::WorkerCounters;
use crate::resp::Reply;
use crate::shared::migrations::MigrationEnd;
use crate::shared::{Mailbox, ServerShared};
use skein_data::Ticket;

use super::blocking::WaitDeadlines;
use super::client_timeouts::{self, TimeoutSweep};
use super::connection_slots::ConnectionSlots;
use super::linger::{self, Lingering};
use super::{OVER_HARD_LIMIT, STOP_TICK, WAKE, WorkerReport};

/// The connections of a worker.
pub(super) struct WorkerConnections {
    pub number: usize,
    pub shared: Arc<ServerShared>,
    pub poll: Poll,
    pub slots: ConnectionSlots,
    /// The limits as they were when the current group began.
    pub limits: WorkerLimits,
    /// Connections to serve in this turn (`ready`), and those that already have work for the next
    /// (`again`).
    pub ready: Vec<usize>,
    pub again: Vec<usize>,
    /// Connections with replies that wait for an epoch.
    pub held: Vec<usize>,
    /// Connections that are closing (see `linger`).
    pub lingering: Vec<Lingering>,
    /// The durable epoch as last seen.
    pub durable: u64,
    /// The latest ticket of this turn: the epoch that its replies wait for.
    pub ticket: Ticket,
    /// Spare input buffers (`spare`) and reply buffers.
    pub spare: Vec<Vec<u8>>,
    pub spare_outputs: Vec<Vec<u8>>,
    pub sweep: TimeoutSweep,
    /// The ends of the waits of blocked clients.
    pub deadlines: WaitDeadlines,
    /// Migrations with an answer from their target.
    pub migrated: Vec<MigrationEnd>,
    /// Keys that were removed without a command, and that clients wait for.
    pub removed_keys: Vec<Vec<u8>>,
    /// Empty memory for the next messages of channels.
    pub spare_messages: Vec<ChannelDelivery>,
    /// Whether a pause, a busy script or a moving key holds back requests of some connections.
    pub holds: bool,
    /// When the current group began, measured from the server's start.
    pub now: Duration,
    /// The deadline of a graceful stop; `None` unless one is under way.
    pub stop_at: Option<Instant>,
}

impl WorkerConnections {
    pub(super) fn new(number: usize, shared: Arc<ServerShared>, poll: Poll) -> Self {
        let limits = shared.settings.limits();
        Self {
            number,
            poll,
            limits,
            slots: ConnectionSlots::default(),
            ready: Vec::new(),
            again: Vec::new(),
            held: Vec::new(),
            lingering: Vec::new(),
            durable: 0,
            ticket: Ticket::default(),
            spare: Vec::new(),
            spare_outputs: Vec::new(),
            sweep: TimeoutSweep::default(),
            deadlines: WaitDeadlines::default(),
            migrated: Vec::new(),
            removed_keys: Vec::new(),
            spare_messages: Vec::new(),
            holds: false,
            now: Duration::ZERO,
            stop_at: None,
            shared,
        }
    }

    pub(super) fn mailbox(&self) -> &Mailbox {
        &self.shared.workers.mailboxes[self.number]
    }

    /// Waits for events and lists their connections. Returns immediately if there is work already.
    pub(super) fn wait(&mut self, events: &mut Events) -> io::Result<()> {
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
        let woken = self.poll_for(events, timeout)?;
        if woken {
            self.take_mail();
        }
        if self.holds && (woken || self.pause_is_over()) {
            self.release_held();
        }
        Ok(())
    }

    /// Waits for events, at most `timeout`, and lists their connections. Returns whether another
    /// thread has woken the worker.
    pub(super) fn poll_for(&mut self, events: &mut Events, timeout: Option<Duration>) -> io::Result<bool> {
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
        Ok(woken)
    }

    /// Lists the connections that have work from before.
    pub(super) fn list_again(&mut self) {
        self.release_durable_replies();
        for slot in std::mem::take(&mut self.again) {
            self.list(slot);
        }
    }

    /// Reads the clock and the limits for the next group of connections.
    pub(super) fn begin_group(&mut self) {
        self.limits = self.shared.settings.limits();
        self.now = self.shared.identity.started.elapsed();
    }

    /// Makes the log close the epoch of this turn's writes, if replies wait for it.
    pub(super) fn request_durable(&mut self) {
        if self.shared.data.epoch_to_wait_for(self.ticket).is_some_and(|epoch| epoch > self.durable) {
            self.shared.data.store.request_durable(self.ticket);
        }
        self.ticket = Ticket::default();
    }

    /// Reads from a connection. Returns the bytes, and whether the connection has work.
    pub(super) fn read(&mut self, slot: usize) -> (usize, bool) {
        let Some((connection, output)) = self.slots.get(slot) else { return (0, false) };
        connection.listed = false;
        if connection.lingers {
            self.drop_input(slot);
            return (0, false);
        }
        // A task continues all the same: its reply has its own limit, and must be complete before
        // any of it is sent.
        if connection.task.is_none() && output.pending() > self.limits.output {
            return (0, false);
        }
        let Ok(count) = connection.fill(&self.limits.requests, &mut self.spare) else {
            self.close(slot);
            return (0, false);
        };
        // This follows the read, so that requests sent after a change of rights are checked against
        // the new rights.
        connection.client.refresh(&self.shared.acl.users);
        if count > 0 {
            WorkerCounters::add(&self.shared.workers.mailboxes[self.number].counts.reads, 1);
            connection.client.record.mark_active(self.now);
            if let Some(last) = connection.input.last_tag() {
                connection.client.record.set_command(last);
            }
        }
        let works = connection.input.queued() > 0 || connection.task.is_some();
        if works {
            output.take_spare_buffer(&mut self.spare_outputs);
        }
        (count, works)
    }

    /// Adds to the worker's counters.
    pub(super) fn count(&self, requests: usize, bytes_in: usize, bytes_out: usize) {
        let counts = &self.mailbox().counts;
        WorkerCounters::add(&counts.requests, requests as u64);
        WorkerCounters::add(&counts.bytes_in, bytes_in as u64);
        WorkerCounters::add(&counts.bytes_out, bytes_out as u64);
    }

    /// Adds a connection to the list of those to serve, unless it is listed already.
    pub(super) fn list(&mut self, slot: usize) {
        if let Some((connection, _)) = self.slots.get(slot)
            && !std::mem::replace(&mut connection.listed, true)
        {
            self.ready.push(slot);
        }
    }

    /// Sends a connection's replies, then closes it or lists it again if necessary. Returns the
    /// number of bytes sent.
    pub(super) fn finish(&mut self, slot: usize) -> usize {
        let durable = self.durable;
        let Some((connection, output)) = self.slots.get(slot).filter(|(connection, _)| !connection.lingers)
        else {
            return 0;
        };
        if connection.task.is_none() {
            output.buffer.append(&mut connection.postponed);
        }
        // The server does not read from the connection of a blocked client, so only an event tells
        // its end.
        if connection.attacked || (connection.blocked.is_some() && connection.hung_up) {
            self.close(slot);
            return 0;
        }
        if connection.may_run() && connection.input.queued() == 0 {
            if let Some(error) = connection.error.take() {
                tracing::debug!(client = connection.client.id, %error, "a client sent bytes that are not a request");
                let text = format!("ERR Protocol error: {error}");
                Reply::new(&mut output.buffer, connection.client.protocol).error(&text);
                connection.closing = true;
            } else if connection.ended && !connection.input.may_parse() {
                connection.closing = true;
            }
        }
        let bounds = self.limits.output_of(connection.client.record.hears());
        let waiting = output.pending() + connection.postponed.len();
        // A client that tracks keys may ask for long replies, but not let messages pile up.
        if waiting > bounds.hard || connection.unasked.min(waiting) > self.limits.subscriber.hard {
            self.disconnect(slot, OVER_HARD_LIMIT);
            return 0;
        }
        connection.client.record.sizes.note_waiting(output.pending(), self.now);
        let Ok(sent) = connection.flush(output, durable) else {
            self.close(slot);
            return 0;
        };
        if sent > 0 {
            WorkerCounters::add(&self.shared.workers.mailboxes[self.number].counts.writes, 1);
            connection.client.record.mark_active(self.now);
            if output.pending() == 0 {
                connection.unasked = 0;
            }
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
        let works = connection.task.is_some() && connection.paused.is_none();
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
        connection.note_sizes(output, holds);
        self.shared.workers.mailboxes[self.number].counts.holds(&mut connection.counted, holds);
        if let Some(wait) = connection.blocked {
            self.deadlines.note(wait, slot, connection.client.id);
        }
        sent
    }

    /// Disconnects a client that is over a limit. As in Redis, no error is sent: the client does
    /// not read its replies, or is idle.
    pub(super) fn disconnect(&mut self, slot: usize, why: &str) {
        if let Some((connection, output)) = self.slots.get(slot) {
            let (client, waiting) = (connection.client.id, output.pending());
            tracing::warn!(client, waiting, "a client is disconnected: {why}");
            self.close(slot);
        }
    }

    pub(super) fn close(&mut self, slot: usize) {
        self.forget_client(slot);
        if let Some(mut connection) = self.slots.remove(slot) {
            if connection.waits {
                self.shared.data.checkpoints.withdraw(connection.client.id);
            }
            if let Some(wait) = connection.blocked.take() {
                self.shared.notices.waiting.kill(&connection.client.record);
                self.deadlines.forget(wait, slot, connection.client.id);
            }
            self.mailbox().counts.holds(&mut connection.counted, 0);
            if let Err(cause) = self.poll.registry().deregister(&mut connection.stream) {
                tracing::debug!(%cause, "cannot deregister a closed connection");
            }
            self.count_closed();
        }
    }

    /// Removes a client from the registry that other clients see, and ends its subscriptions, its
    /// monitoring and its tracking. Its connection may linger.
    pub(super) fn forget_client(&mut self, slot: usize) {
        if let Some((connection, _)) = self.slots.get(slot) {
            self.shared.clients.registry.remove(connection.client.id);
            remove_all(&self.shared, &mut connection.client);
            stop_monitoring(&self.shared, &mut connection.client);
            stop_tracking(&self.shared, &mut connection.client);
        }
    }

    /// Does one step of a graceful stop. Requests that were read are still answered. Connections
    /// with nothing left to answer are closed; after the deadline all are.
    pub(super) fn stop_step(&mut self, report: &mut WorkerReport) {
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
