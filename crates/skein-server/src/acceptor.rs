//! The thread that accepts connections and gives each to the worker with the fewest.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustix::net::sockopt;

use crate::shared::{Mail, Mailbox, ServerShared};
use crate::transport::{Listener, Transport};
use crate::worker::loading::LoadingHandover;

pub(crate) const WAKE: Token = Token(usize::MAX);

/// How long accepting rests when the system has no more file descriptors.
pub(crate) const REST: Duration = Duration::from_millis(50);

/// How often a silent client is asked before it is given up, over the time of its silence.
const KEEPALIVE_PROBES: u64 = 3;

/// Protected mode, as Redis has it.
pub(crate) const NO_PASSWORD: &[u8] = b"-DENIED the default user has no password, so clients of this machine alone are let in; set one from there, by CONFIG SET requirepass\r\n";

pub(crate) const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

pub(crate) struct Acceptor {
    shared: Arc<ServerShared>,
    poll: Poll,
    listeners: Vec<Listener>,
}

/// Returns whether accepting may go on at once: the client went away before it was accepted, or a signal came.
pub(crate) fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), Interrupted | ConnectionAborted | ConnectionReset)
}

impl Acceptor {
    /// With the ports, and with connections that were made before there was data.
    pub(crate) fn new(
        shared: Arc<ServerShared>,
        poll: Poll,
        LoadingHandover { mut listeners, guests }: LoadingHandover,
    ) -> io::Result<Self> {
        for (number, listener) in listeners.iter_mut().enumerate() {
            poll.registry().register(listener.source(), Token(number), Interest::READABLE)?;
        }
        let acceptor = Self { shared, poll, listeners };
        for guest in guests {
            let _ = guest.stream().tcp().map(|stream| acceptor.keep_alive(stream));
            acceptor.to_least_loaded(|mail| mail.guests.push(guest));
        }
        Ok(acceptor)
    }

    /// Accepts until a stop.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(8);
        let mut rest = None;
        while !self.shared.stopping() {
            match self.poll.poll(&mut events, rest) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => rest = self.listeners.iter().filter_map(|listener| self.accept_all(listener)).min(),
            }
        }
        Ok(())
    }

    /// Accepts who waits; how long to rest before the next try, if the system refused.
    fn accept_all(&self, listener: &Listener) -> Option<Duration> {
        while !self.shared.stopping() {
            match listener.accept() {
                Ok(stream) => self.place(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if is_client_error(&error) => {}
                Err(cause) => {
                    self.shared.warnings.cannot_accept(&cause);
                    return Some(REST);
                }
            }
        }
        None
    }

    /// So that connections whose client vanished do not stay for ever.
    fn keep_alive(&self, stream: &TcpStream) -> rustix::io::Result<()> {
        let silent = self.shared.settings.keepalive_s.get() as u64;
        if silent > 0 {
            sockopt::set_socket_keepalive(stream, true)?;
            sockopt::set_tcp_keepidle(stream, Duration::from_secs(silent))?;
            sockopt::set_tcp_keepintvl(stream, Duration::from_secs((silent / KEEPALIVE_PROBES).max(1)))?;
            sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES as u32)?;
        }
        Ok(())
    }

    /// Why a client is turned away, if it is.
    fn refusal(&self, stream: &Transport) -> Option<&'static [u8]> {
        let shared = &self.shared;
        if shared.connections() >= shared.settings.clients_max.get() {
            return Some(TOO_MANY);
        }
        let open = || shared.acl.users.default_user().is_open();
        (!shared.options.trusts(stream) && open()).then_some(NO_PASSWORD)
    }

    fn place(&self, mut stream: Transport) {
        if let Some(refusal) = self.refusal(&stream) {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
            // A fresh socket takes these few bytes; if not, or over TLS, the client is closed without a word.
            let _ = io::Write::write(&mut stream, refusal);
            return;
        }
        if let Some(stream) = stream.tcp() {
            // Replies are written whole, so there is nothing to wait for. A refusal costs only speed.
            let _ = stream.set_nodelay(true);
            // A refusal of this, too, is no reason to refuse the client.
            let _ = self.keep_alive(stream);
        }
        self.shared.accepted.fetch_add(1, Ordering::Relaxed);
        self.to_least_loaded(|mail| mail.connections.push(stream));
    }

    /// Sends a connection to the worker with the fewest.
    fn to_least_loaded(&self, put: impl FnOnce(&mut Mail)) {
        let load = |mailbox: &&Mailbox| mailbox.counts.connections.load(Ordering::Relaxed);
        if let Some(mailbox) = self.shared.mailboxes.iter().min_by_key(load) {
            mailbox.counts.connections.fetch_add(1, Ordering::Relaxed);
            mailbox.send(put);
        }
    }
}
