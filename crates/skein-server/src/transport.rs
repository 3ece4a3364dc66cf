//! What a connection goes over: the seam below which TCP, TLS and Unix sockets differ.
//!
//! ```text
//!   acceptor ─ Listener::accept ─► Transport ─ mail ─► worker: register, read, write, shut down
//! ```
//!
//! # Contract
//! 1. Reads and writes never block: `WouldBlock` means that an event will tell.
//! 2. What [`Transport::owes`] says is owed to the client was taken by `write`, and is sent by `flush`; TLS alone owes.
//! 3. A read that does not fill its buffer has emptied the transport; what comes later makes an event. An end that came with the last bytes makes
//!    none: the event that told of them tells of it, or [`Transport::at_end`].

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::sync::Arc;

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry, Token};

use crate::tls::{ServerTlsStream, TlsPort};

/// A connection's bytes, in and out.
#[derive(Debug)]
pub(crate) enum Transport {
    Tcp(TcpStream),
    Tls(Box<ServerTlsStream>),
    /// With the path of the socket that it came by.
    Unix(UnixStream, Arc<Path>),
}

/// Where an end of a connection is, as clients are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConnectionAddress {
    Ip(SocketAddr),
    /// Both ends of a Unix socket are its path.
    Unix(Arc<Path>),
}

impl fmt::Display for ConnectionAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(out),
            // As in Redis, with the port that it does not have.
            Self::Unix(path) => write!(out, "{}:0", path.display()),
        }
    }
}

impl Transport {
    /// Where the client is, and where we are, as far as the system says.
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

    /// The TCP connection below.
    pub(crate) fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Tls(stream) => Some(stream.socket()),
            Self::Unix(..) => None,
        }
    }

    /// Whether bytes that were written wait for the socket to take them.
    #[inline]
    pub(crate) fn has_unsent_records(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.has_unsent_records())
    }

    /// Whether the two sides have still to agree on who they are; over TLS alone they have to.
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.is_handshaking())
    }

    /// Whether the client is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let Some(stream) = self.tcp() else { return true };
        stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback())
    }

    /// Whether the next read will say that the client has ended, though no event does; TLS alone can know.
    #[inline]
    pub(crate) fn at_end(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.at_end())
    }

    /// Says that nothing more will be written; reading goes on.
    pub(crate) fn shut_down_writing(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Tls(stream) => stream.shut_down_writing(),
            Self::Unix(stream, _) => stream.shutdown(Shutdown::Write),
        }
    }

    /// What the event queue watches.
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

/// Where connections come in.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Tls(TcpListener, Arc<TlsPort>),
    /// With its path.
    Unix(UnixListener, Arc<Path>),
}

impl Listener {
    /// The next connection that waits.
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

    /// What the event queue watches.
    pub(crate) fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(listener) | Self::Tls(listener, _) => listener,
            Self::Unix(listener, _) => listener,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Nobody can connect to it any more, and the next server would have to find that out.
        if let Self::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}
