//! The transport of a connection, which hides the differences between TCP, TLS and Unix sockets.
//!
//! ```text
//!   acceptor ─ Listener::accept ─► Transport ─ mail ─► worker: register, read, write, shut down
//! ```
//!
//! # Contract
//! 1. Reads and writes never block: after `WouldBlock`, an event reports when to retry.
//! 2. [`Transport::has_unsent_records`] reports bytes that `write` accepted and `flush` must still
//!    send. Only TLS has such bytes.
//! 3. A read that does not fill its buffer has emptied the transport; later bytes make an event. If
//!    the input ended together with its last bytes, there is no second event: the event of those
//!    bytes or [`Transport::at_end`] reports the end.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry, Token};
use rustix::net::sockopt;

use crate::net::tls::{ServerTlsStream, TlsPort};

/// The number of keep-alive probes that are sent to a silent client before it is disconnected.
const KEEPALIVE_PROBES: u64 = 3;

/// The bytes of a connection in both directions.
#[derive(Debug)]
pub(crate) enum Transport {
    Tcp(TcpStream),
    Tls(Box<ServerTlsStream>),
    /// With the path of the socket that accepted it.
    Unix(UnixStream, Arc<Path>),
}

/// The address of one end of a connection, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConnectionAddress {
    Ip(SocketAddr),
    /// Both ends of a Unix socket have its path.
    Unix(Arc<Path>),
}

impl fmt::Display for ConnectionAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(out),
            // As in Redis, the address has a port, although a Unix socket has no ports.
            Self::Unix(path) => write!(out, "{}:0", path.display()),
        }
    }
}

impl Transport {
    /// Returns the client's address and the server's, as far as the system reports them.
    pub(crate) fn addresses(&self) -> (Option<ConnectionAddress>, Option<ConnectionAddress>) {
        match self {
            Self::Unix(_, path) => {
                (Some(ConnectionAddress::Unix(path.clone())), Some(ConnectionAddress::Unix(path.clone())))
            }
            Self::Tcp(_) | Self::Tls(_) => {
                let stream = self.tcp();
                let peer = stream.and_then(|stream| stream.peer_addr().ok());
                let local = stream.and_then(|stream| stream.local_addr().ok());
                (peer.map(ConnectionAddress::Ip), local.map(ConnectionAddress::Ip))
            }
        }
    }

    /// Returns the underlying TCP connection.
    pub(crate) fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Tls(stream) => Some(stream.socket()),
            Self::Unix(..) => None,
        }
    }

    /// Returns whether written bytes wait for the socket to accept them.
    #[inline]
    pub(crate) fn has_unsent_records(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.has_unsent_records())
    }

    /// Returns whether the TLS handshake is not complete. Always `false` without TLS.
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.is_handshaking())
    }

    /// Returns whether the client is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let Some(stream) = self.tcp() else { return true };
        stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback())
    }

    /// Returns whether the next read will report the end of the input, although no event does. Only
    /// TLS can know this.
    #[inline]
    pub(crate) fn at_end(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.at_end())
    }

    /// Announces that nothing more will be written. Reading remains possible.
    pub(crate) fn shut_down_writing(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Tls(stream) => stream.shut_down_writing(),
            Self::Unix(stream, _) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Returns the source that the event queue watches.
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => stream.socket_mut(),
            Self::Unix(stream, _) => stream,
        }
    }
}

impl Read for Transport {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            Self::Unix(stream, _) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
            Self::Unix(stream, _) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.flush(),
            Self::Tcp(_) | Self::Unix(..) => Ok(()),
        }
    }
}

impl AsRawFd for Transport {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Tls(stream) => stream.socket().as_raw_fd(),
            Self::Unix(stream, _) => stream.as_raw_fd(),
        }
    }
}

impl Source for Transport {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.source().register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.source().reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.source().deregister(registry)
    }
}

/// A port that accepts connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Tls(TcpListener, Arc<TlsPort>),
    /// With its path.
    Unix(UnixListener, Arc<Path>),
}

impl Listener {
    /// Accepts the next waiting connection.
    pub(crate) fn accept(&self) -> io::Result<Transport> {
        match self {
            Self::Tcp(listener) => listener.accept().map(|(stream, _)| Transport::Tcp(stream)),
            Self::Tls(listener, port) => {
                let (stream, _) = listener.accept()?;
                Ok(Transport::Tls(Box::new(ServerTlsStream::new(stream, &port.config())?)))
            }
            Self::Unix(listener, path) => {
                listener.accept().map(|(stream, _)| Transport::Unix(stream, path.clone()))
            }
        }
    }

    /// Returns the source that the event queue watches.
    pub(crate) fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(listener) | Self::Tls(listener, _) => listener,
            Self::Unix(listener, _) => listener,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // No client can connect to the socket any more. Otherwise the next server would have to
        // find that out.
        if let Self::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Sends probes to a client that was silent for this number of seconds, so that connections of
/// vanished clients are closed; 0 for never.
pub(crate) fn keep_alive(stream: &TcpStream, silent_s: usize) -> rustix::io::Result<()> {
    let silent = silent_s as u64;
    if silent > 0 {
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, Duration::from_secs(silent))?;
        sockopt::set_tcp_keepintvl(stream, Duration::from_secs((silent / KEEPALIVE_PROBES).max(1)))?;
        sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES as u32)?;
    }
    Ok(())
}
