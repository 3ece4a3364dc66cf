//! The loading thread: accepts connections while the server reads its data, and answers the
//! commands that need no data.
//!
//! ```text
//!   ports ─► loading thread: for each ready connection one read ─► its requests ─► one write
//!              └─ at the end: the ports to the acceptor, the connections to the workers
//! ```
//!
//! The work is bounded as in a worker: one read per connection and turn, and no more requests while
//! replies wait to be sent.
//!
//! Design: `docs/design/server.md`.

mod requests;

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token, Waker};

use super::client_timeouts;
use super::connection::{Connection, PeerGone};
use super::connection_slots::ConnectionSlots;
use super::reply_buffer::ReplyBuffer;
use super::{EVENTS, WAKE};
use crate::StartError;
use crate::clients::client::ClientState;
use crate::clients::client_registry::{ClientLocation, ClientRecord};
use crate::config::settings::{LiveSettings, WorkerLimits};
use crate::net::accepting::{NO_PASSWORD, REST, TOO_MANY, is_client_error};
use crate::net::threads::{poll_with_waker, spawn, system};
use crate::net::transport::{Listener, Transport};
use crate::resp::Reply;
use crate::shared::loading::Loading;

/// The worker number in the records of these clients, which have no worker yet.
const NO_WORKER: usize = 0;

/// How often idle connections are checked.
const SWEEP_TICK: Duration = Duration::from_millis(500);

/// A connection that was accepted while the server was loading.
pub(crate) struct LoadingConnection {
    connection: Box<Connection>,
    output: ReplyBuffer,
}

/// The ports and connections of the loading thread when it ends.
pub(crate) struct LoadingHandover {
    pub listeners: Vec<Listener>,
    pub handed_over: Vec<LoadingConnection>,
}

/// The handle of the thread. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct LoadingThread {
    loading: Arc<Loading>,
    waker: Waker,
    thread: Option<JoinHandle<io::Result<LoadingHandover>>>,
}

impl LoadingThread {
    /// Starts the thread on these ports.
    pub(crate) fn start(loading: Arc<Loading>, mut listeners: Vec<Listener>) -> Result<Self, StartError> {
        let (poll, waker) = poll_with_waker(WAKE)?;
        for (number, listener) in listeners.iter_mut().enumerate() {
            let token = port_token(number);
            let watched = poll.registry().register(listener.source(), token, Interest::READABLE);
            watched.map_err(system("accepting"))?;
        }
        let settings = LiveSettings::new(&loading.options);
        let event_loop = LoadingLoop {
            limits: settings.limits(),
            sweeps: client_timeouts::has_timeouts(&settings, loading.options.tls.is_some()),
            next_sweep: Duration::ZERO,
            settings,
            loading: Arc::clone(&loading),
            poll,
            listeners,
            slots: ConnectionSlots::default(),
            ready: Vec::new(),
            spare: Vec::new(),
        };
        let thread = spawn("skein-loading".to_owned(), move || event_loop.run())?;
        Ok(Self { loading, waker, thread: Some(thread) })
    }

    /// Ends the thread and returns its ports and connections.
    pub(crate) fn end(mut self) -> Result<LoadingHandover, StartError> {
        let ended = self.join().unwrap_or_else(|| Err(io::Error::other("it panicked")));
        ended.map_err(system("the thread that answers while data is loaded"))
    }

    /// Returns `None` if the thread panicked, or was joined before.
    fn join(&mut self) -> Option<io::Result<LoadingHandover>> {
        let thread = self.thread.take()?;
        self.loading.end();
        if let Err(cause) = self.waker.wake() {
            tracing::error!(%cause, "cannot wake the loading thread");
        }
        thread.join().ok()
    }
}

impl Drop for LoadingThread {
    fn drop(&mut self) {
        drop(self.join());
    }
}

fn port_token(number: usize) -> Token {
    Token(WAKE.0 - 1 - number)
}

/// The state of the thread.
struct LoadingLoop {
    loading: Arc<Loading>,
    settings: LiveSettings,
    limits: WorkerLimits,
    /// Whether idle connections must be closed.
    sweeps: bool,
    /// The time of the next check, measured from the start.
    next_sweep: Duration,
    poll: Poll,
    listeners: Vec<Listener>,
    slots: ConnectionSlots,
    /// Connections to serve in the next turn.
    ready: Vec<usize>,
    /// Spare input buffers.
    spare: Vec<Vec<u8>>,
}

impl LoadingLoop {
    fn run(mut self) -> io::Result<LoadingHandover> {
        let mut events = Events::with_capacity(EVENTS);
        let mut rest = None;
        while !self.loading.has_ended() {
            let tick = (self.sweeps && !self.slots.is_empty()).then_some(SWEEP_TICK);
            let idle = [rest, tick].into_iter().flatten().min();
            let timeout = if self.ready.is_empty() { idle } else { Some(Duration::ZERO) };
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            let mut ports = rest.is_some();
            for event in &events {
                match self.slots.get(event.token().0) {
                    Some((connection, _)) => {
                        connection.readable |= event.is_readable();
                        connection.hung_up |= event.is_read_closed();
                        connection.writable |= event.is_writable();
                        self.list(event.token().0);
                    }
                    None => ports |= event.token() != WAKE,
                }
            }
            if ports {
                rest = self.accept_all();
            }
            for slot in std::mem::take(&mut self.ready) {
                self.serve(slot);
            }
            self.sweep();
        }
        self.hand_over()
    }

    fn list(&mut self, slot: usize) {
        if let Some((connection, _)) = self.slots.get(slot)
            && !std::mem::replace(&mut connection.listed, true)
        {
            self.ready.push(slot);
        }
    }

    /// Accepts the waiting connections of all ports. Returns how long to rest before the next
    /// attempt, if the system refused.
    fn accept_all(&mut self) -> Option<Duration> {
        let mut rest = None;
        for port in 0..self.listeners.len() {
            loop {
                match self.listeners[port].accept() {
                    Ok(stream) => self.admit(stream),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if is_client_error(&error) => {}
                    Err(cause) => {
                        self.loading.warnings.cannot_accept(&cause);
                        rest = Some(REST);
                        break;
                    }
                }
            }
        }
        rest
    }

    fn admit(&mut self, mut stream: Transport) {
        let loading = &self.loading;
        let trusted = loading.options.trusts(&stream);
        let refusal = if self.slots.all().len() >= loading.options.clients_max {
            Some(TOO_MANY)
        } else {
            (!trusted && loading.acl.users.default_user().is_open()).then_some(NO_PASSWORD)
        };
        if let Some(refusal) = refusal {
            loading.refused.fetch_add(1, Ordering::Relaxed);
            // As in the acceptor, a new socket accepts these few bytes.
            let _ = io::Write::write(&mut stream, refusal);
            return;
        }
        if let Some(stream) = stream.tcp() {
            // If this fails, only speed is lost.
            let _ = stream.set_nodelay(true);
        }
        loading.accepted.fetch_add(1, Ordering::Relaxed);
        let registry = self.poll.registry();
        let slot = self.slots.insert(|slot| {
            let both = Interest::READABLE | Interest::WRITABLE;
            if let Err(cause) = registry.register(&mut stream, Token(slot), both) {
                tracing::error!(%cause, "cannot watch a connection; closing it");
                return None;
            }
            let place = ClientLocation { worker: NO_WORKER, slot, client: loading.next_client() };
            let (address, local) = stream.addresses();
            let record = ClientRecord::new(place, address, local, stream.as_raw_fd(), loading.elapsed());
            Some(Connection::new(
                stream,
                ClientState::new(Arc::new(record), &loading.acl, &loading.databases, trusted),
            ))
        });
        if let Some(slot) = slot {
            self.list(slot);
        }
    }

    /// Reads requests, answers them, sends the replies, and closes the connection if it is
    /// finished.
    fn serve(&mut self, slot: usize) {
        let Some((connection, output)) = self.slots.get(slot) else { return };
        connection.listed = false;
        let served = serve(connection, output, &self.loading, &self.limits, &mut self.spare);
        match served {
            Ok(true) => self.list(slot),
            Ok(false) => {}
            Err(PeerGone) => self.close(slot),
        }
    }

    fn close(&mut self, slot: usize) {
        if let Some(mut connection) = self.slots.remove(slot) {
            let _ = self.poll.registry().deregister(&mut connection.stream);
        }
    }

    /// Closes connections that were idle for too long, as a worker does later.
    fn sweep(&mut self) {
        let now = self.loading.elapsed();
        if !self.sweeps || now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP_TICK;
        for slot in self.slots.all() {
            let Some((connection, output)) = self.slots.get(slot) else { continue };
            let waited = output.pending() == 0;
            if let Some(why) = client_timeouts::idle_reason(&self.settings, connection, waited, now) {
                tracing::warn!(client = connection.client.id, "a client is disconnected: {why}");
                self.close(slot);
            }
        }
    }

    /// Deregisters everything, so that other event queues can watch it.
    fn hand_over(mut self) -> io::Result<LoadingHandover> {
        let registry = self.poll.registry();
        for listener in &mut self.listeners {
            registry.deregister(listener.source())?;
        }
        let mut handed_over = Vec::new();
        for slot in self.slots.all() {
            let output = self.slots.get(slot).map(|(_, output)| std::mem::take(output)).unwrap_or_default();
            let Some(mut connection) = self.slots.remove(slot) else { continue };
            if registry.deregister(&mut connection.stream).is_ok() {
                handed_over.push(LoadingConnection { connection, output });
            }
        }
        Ok(LoadingHandover { listeners: self.listeners, handed_over })
    }
}

/// Does one read of a connection, its requests, and one write. Returns whether more work is left
/// already.
fn serve(
    connection: &mut Connection,
    output: &mut ReplyBuffer,
    loading: &Loading,
    limits: &WorkerLimits,
    spare: &mut Vec<Vec<u8>>,
) -> Result<bool, PeerGone> {
    let has_room = |output: &ReplyBuffer| output.pending() <= limits.output;
    if has_room(output) && !connection.closing {
        if connection.fill(&limits.requests, spare)? > 0 {
            connection.client.record.mark_active(loading.elapsed());
        }
        connection.client.refresh(&loading.acl.users);
        while connection.input.queued() > 0 && !connection.closing && has_room(output) {
            requests::answer(connection, output, loading);
        }
        if connection.attacked {
            return Err(PeerGone);
        }
        end_of_input(connection, output);
    }
    // No reply waits for an epoch: there are no writes.
    connection.flush(output, u64::MAX)?;
    if connection.closing && output.pending() == 0 && !connection.stream.has_unsent_records() {
        // No lingering here: a client that is still sending receives a reset and retries.
        let _ = connection.stream.shut_down_writing();
        let _ = connection.drop_input();
        return Err(PeerGone);
    }
    let input = &connection.input;
    let waiting = input.queued() > 0 || input.may_parse() || (connection.readable && !connection.ended);
    let more =
        (output.pending() > 0 && connection.writable) || (has_room(output) && !connection.closing && waiting);
    if !more {
        connection.release(spare);
    }
    Ok(more)
}

/// Handles a protocol error, and the end of the client's bytes.
fn end_of_input(connection: &mut Connection, output: &mut ReplyBuffer) {
    if connection.input.queued() > 0 {
        return;
    }
    if let Some(error) = connection.error.take() {
        let text = format!("ERR Protocol error: {error}");
        Reply::new(&mut output.buffer, connection.client.protocol).error(&text);
        connection.closing = true;
    } else if connection.ended && !connection.input.may_parse() {
        connection.closing = true;
    }
}

impl LoadingConnection {
    /// Returns the connection, ready for another event queue and another record, and its unsent
    /// replies.
    pub(super) fn into_parts(self) -> (Connection, ReplyBuffer) {
        (*self.connection, self.output)
    }
}

impl std::fmt::Debug for LoadingConnection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Guest").field("client", &self.connection.client.id).finish_non_exhaustive()
    }
}
