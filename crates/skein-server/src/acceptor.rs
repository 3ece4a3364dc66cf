//! The thread that accepts connections and gives each to the worker with the fewest.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use crate::shared::{Mailbox, Shared};

pub(crate) const WAKE: Token = Token(usize::MAX);
const LISTENER: Token = Token(0);

/// How long accepting rests when the system has no more file descriptors.
const REST: Duration = Duration::from_millis(50);

const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

pub(crate) struct Acceptor {
    shared: Arc<Shared>,
    poll: Poll,
    listener: TcpListener,
}

impl Acceptor {
    pub(crate) fn new(shared: Arc<Shared>, poll: Poll, mut listener: TcpListener) -> io::Result<Self> {
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self { shared, poll, listener })
    }

    /// Accepts until a stop.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(8);
        let mut rest = None;
        while !self.shared.stopping() {
            match self.poll.poll(&mut events, rest) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => rest = self.accept_all(),
            }
        }
        Ok(())
    }

    /// Accepts who waits; how long to rest before the next try, if the system refused.
    fn accept_all(&self) -> Option<Duration> {
        while !self.shared.stopping() {
            match self.listener.accept() {
                Ok((stream, _)) => self.place(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                // The client went away before it was accepted.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted
                            | io::ErrorKind::ConnectionAborted
                            | io::ErrorKind::ConnectionReset
                    ) => {}
                Err(cause) => {
                    tracing::warn!(%cause, "cannot accept connections; trying again");
                    return Some(REST);
                }
            }
        }
        None
    }

    fn place(&self, mut stream: TcpStream) {
        if self.shared.connections() >= self.shared.options.clients_max {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
            // A fresh socket takes these few bytes; if not, the client is closed without a word.
            let _ = io::Write::write(&mut stream, TOO_MANY);
            return;
        }
        // Replies are written whole, so there is nothing to wait for. A refusal costs only speed.
        let _ = stream.set_nodelay(true);
        // So that connections whose client vanished do not stay for ever.
        let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
        self.shared.accepted.fetch_add(1, Ordering::Relaxed);
        let load = |mailbox: &&Mailbox| mailbox.counts.connections.load(Ordering::Relaxed);
        if let Some(mailbox) = self.shared.mailboxes.iter().min_by_key(load) {
            mailbox.counts.connections.fetch_add(1, Ordering::Relaxed);
            mailbox.send(|mail| mail.connections.push(stream));
        }
    }
}
