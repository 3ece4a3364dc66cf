//! The acceptor: the thread that accepts connections and sends each to the least loaded worker.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};

use crate::net::accepting::{NO_PASSWORD, REST, TOO_MANY, is_client_error};
use crate::net::transport::{Listener, Transport, keep_alive};
use crate::shared::{Mailbox, ServerShared};

pub(crate) const WAKE: Token = Token(usize::MAX);

pub(crate) struct Acceptor {
    shared: Arc<ServerShared>,
    poll: Poll,
    listeners: Vec<Listener>,
}

impl Acceptor {
    /// Creates the acceptor with its ports.
    pub(crate) fn new(
        shared: Arc<ServerShared>,
        poll: Poll,
        mut listeners: Vec<Listener>,
    ) -> io::Result<Self> {
        for (number, listener) in listeners.iter_mut().enumerate() {
            poll.registry().register(listener.source(), Token(number), Interest::READABLE)?;
        }
        Ok(Self { shared, poll, listeners })
    }

    /// Accepts connections until the server stops.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(8);
        let mut rest = None;
        while !self.shared.workers.stopping() {
            match self.poll.poll(&mut events, rest) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => rest = self.listeners.iter().filter_map(|listener| self.accept_all(listener)).min(),
            }
        }
        Ok(())
    }

    /// Accepts all waiting connections. Returns how long to rest before the next attempt, if the
    /// system refused.
    fn accept_all(&self, listener: &Listener) -> Option<Duration> {
        while !self.shared.workers.stopping() {
            match listener.accept() {
                Ok(stream) => self.place(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if is_client_error(&error) => {}
                Err(cause) => {
                    self.shared.clients.warnings.cannot_accept(&cause);
                    return Some(REST);
                }
            }
        }
        None
    }

    /// Returns the error for a client that must be refused.
    fn refusal(&self, stream: &Transport) -> Option<&'static [u8]> {
        let shared = &self.shared;
        if shared.workers.connections() >= shared.settings.clients_max.get() {
            return Some(TOO_MANY);
        }
        let open = || shared.acl.users.default_user().is_open();
        (!shared.options.trusts(stream) && open()).then_some(NO_PASSWORD)
    }

    fn place(&self, mut stream: Transport) {
        if let Some(refusal) = self.refusal(&stream) {
            self.shared.clients.refused.fetch_add(1, Ordering::Relaxed);
            // A new socket accepts these few bytes. Otherwise, and over TLS, the client is closed
            // without a reply.
            let _ = io::Write::write(&mut stream, refusal);
            return;
        }
        if let Some(stream) = stream.tcp() {
            // Each reply is written as a whole, so there is nothing to wait for. If this fails,
            // only speed is lost.
            let _ = stream.set_nodelay(true);
            // If this fails, the client is accepted all the same.
            let _ = keep_alive(stream, self.shared.settings.keepalive.seconds() as usize);
        }
        self.shared.clients.accepted.fetch_add(1, Ordering::Relaxed);
        self.to_least_loaded(stream);
    }

    /// Sends a connection to the worker with the fewest connections.
    fn to_least_loaded(&self, stream: Transport) {
        let load = |mailbox: &&Mailbox| mailbox.counts.connections.load(Ordering::Relaxed);
        if let Some(mailbox) = self.shared.workers.mailboxes.iter().min_by_key(load) {
            mailbox.counts.connections.fetch_add(1, Ordering::Relaxed);
            mailbox.send(|mail| mail.connections.push(stream));
        }
    }
}
