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
//! there is no order to keep; still, requests that are not batched run in the order of arrival,
//! which programs know from Redis.
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
//! Read in this order: `mod` (the turn), `connection`, `connections`, `reply_buffer`,
//! `pipelined_reads`, `pipelined_writes`, `batched_writes`, `general`, `ring`, `exclusive`,
//! `transaction_queue`, `busy`, `epochs`. Then in any order:
//!
//! - before a request: `admission` (rights and form), `write_allowance` (memory), `paused_requests`,
//!   `prefixed_keys` and `read_ahead` (keys of a batch, and of scripts).
//! - after it: `request_timer`, `batch_account`, `lowered_limit` (evictions).
//! - beside it: `blocking` and `migrations` (clients that wait), `mail` and `messages` (from other
//!   threads), `client_timeouts`, `linger` (closing), `connection_slots`, `loading` (before the data is
//!   there).
//!
//! Design: `docs/design/server.md`.

mod admission;
mod batch_account;
mod batched_writes;
mod blocking;
mod busy;
mod client_timeouts;
mod connection;
mod connection_slots;
mod connections;
mod epochs;
mod exclusive;
mod general;
mod linger;
pub(crate) mod loading;
mod lowered_limit;
mod mail;
mod messages;
mod migrations;
mod paused_requests;
mod pipelined_reads;
mod pipelined_writes;
mod prefixed_keys;
mod read_ahead;
mod reply_buffer;
mod request_timer;
mod ring;
mod transaction_queue;
mod write_allowance;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use crate::clients::client_eviction::evict_clients;
use crate::shared::ServerShared;
use skein_data::EngineSession;

use connections::WorkerConnections;
use general::GeneralContext;
use loading::LoadingConnection;
use lowered_limit::{evict_excess, evict_some};
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
    shared: Arc<ServerShared>,
    connections: WorkerConnections,
    session: EngineSession,
    reads: PipelinedReads,
    writes: PipelinedWrites,
    /// The connections of the current group that have requests.
    active: Vec<usize>,
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
        Self {
            session: shared.data.store.session(),
            connections: WorkerConnections::new(number, Arc::clone(&shared), poll),
            reads: PipelinedReads::default(),
            writes: PipelinedWrites::default(),
            active: Vec::new(),
            shared,
        }
    }

    /// Adopts connections that were accepted while the server was loading. Called before the worker
    /// runs.
    pub(crate) fn adopt_from_loading(&mut self, handed_over: impl Iterator<Item = LoadingConnection>) {
        self.connections.adopt_from_loading(handed_over);
    }

    /// Serves connections until the server stops. Errors if the system's event queue fails.
    pub(crate) fn run(mut self) -> io::Result<WorkerReport> {
        let mut events = Events::with_capacity(EVENTS);
        let mut report = WorkerReport::default();
        loop {
            self.connections.wait(&mut events)?;
            self.connections.end_waits();
            self.turn();
            self.connections.end_lingering();
            self.connections.sweep();
            if self.shared.workers.stopping() {
                self.connections.stop_step(&mut report);
                if self.connections.slots.is_empty() && !self.connections.must_end_migrations() {
                    return Ok(report);
                }
            }
        }
    }

    /// Serves every connection that has work, once.
    fn turn(&mut self) {
        self.session.begin_turn();
        self.connections.list_again();
        self.end_migrations();
        self.serve_removed();
        let ready = std::mem::take(&mut self.connections.ready);
        for group in ready.chunks(GROUP) {
            self.serve(group);
        }
        self.connections.ready = ready;
        self.connections.ready.clear();
        self.connections.request_durable();
        evict_clients(&self.shared);
    }

    /// Reads from each connection of a group, runs their requests, and sends the replies.
    fn serve(&mut self, group: &[usize]) {
        self.connections.begin_group();
        let (mut bytes_in, mut waited) = (0, 0);
        self.active.clear();
        for &slot in group {
            let (count, works) = self.connections.read(slot);
            bytes_in += count;
            if works && count == 0 {
                self.active.insert(waited, slot);
                waited += 1;
            } else if works {
                self.active.push(slot);
            }
        }
        // Connections with requests of an earlier round are first, and connections that were not
        // served in that round before others. A full batch excludes the connections at the end of
        // the list.
        let slots = &mut self.connections.slots;
        self.active[..waited]
            .sort_by_key(|&slot| slots.get(slot).and_then(|(connection, _)| connection.served));
        let requests = self.run_active(Instant::now());
        let bytes_out = group.iter().map(|&slot| self.connections.finish(slot)).sum();
        self.connections.count(requests, bytes_in, bytes_out);
    }

    /// Runs a round: all requests of the active connections, until the queues are empty or the time
    /// of a round is over. Returns the number of requests.
    fn run_active(&mut self, now: Instant) -> usize {
        let Self { shared, connections, session, reads, writes, active } = self;
        let number = connections.number;
        let mailbox = &shared.workers.mailboxes[number];
        mailbox.counts.set_turn(now.saturating_duration_since(shared.identity.started));
        let mut general = GeneralContext {
            session,
            shared,
            connections,
            worker: number,
            pass: shared.workers.gate.enter(number),
            timer: RequestTimer::new(&shared.observing, &shared.settings, &mailbox.observed, now),
            held: None,
            holds: false,
        };
        general.read_clock_after_wait();
        let mut total = 0;
        let mut latest = general.step_all(active);
        loop {
            if general.pass.is_busy() {
                total += general.connections.answer_busy(active);
                break;
            }
            general.read_clock_after_wait();
            let mut done = 0;
            if shared.clients.pause.now().is_none() {
                let slots = &mut general.connections.slots;
                let (session, timer) = (&mut *general.session, &mut general.timer);
                done = reads.run(slots, active, session, shared, &mailbox.counts, timer);
                let around = (&**shared, general.pass.stable());
                let (count, ticket) = writes.run(slots, active, session, around, timer);
                if count > 0 && writes.may_exceed_limit() {
                    evict_excess(session, shared, number);
                }
                latest = latest.max(ticket);
                done += count;
            }
            for &slot in &*active {
                let (count, ticket) = general.run(slot);
                latest = latest.max(ticket);
                done += count;
            }
            total += done;
            if (done == 0 && !general.pass.is_busy()) || general.timer.is_over() {
                break;
            }
        }
        if !general.pass.is_busy() {
            evict_some(general.session, shared, number);
        }
        let holds = general.holds;
        drop(general);
        self.connections.holds |= holds;
        mailbox.counts.end_turn();
        self.connections.ticket = self.connections.ticket.max(latest);
        total
    }
}
