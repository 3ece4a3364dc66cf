//! The transports of a connection: a TCP socket, a Unix socket, or TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

#[cfg(feature = "tls")]
use super::tls::TlsClientStream;

/// One of the two handles of a connection. One thread reads from one handle, another writes to the
/// other.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls(TlsClientStream),
}

/// Runs the same expression for every kind of stream.
macro_rules! each {
    ($stream:expr, $inner:ident => $does:expr) => {
        match $stream {
            Stream::Tcp($inner) => $does,
            Stream::Unix($inner) => $does,
            #[cfg(feature = "tls")]
            Stream::Tls($inner) => $does,
        }
    };
}

/// Connects over TCP.
pub(super) fn tcp(address: impl ToSocketAddrs) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connects over TCP, with a time limit for each address that the name resolves to.
pub(super) fn tcp_within(address: impl ToSocketAddrs, timeout: Duration) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

impl Stream {
    pub(super) fn unix(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).map(Self::Unix)
    }

    /// Returns the other handle.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Self::Tls(stream.try_clone()?),
        })
    }

    /// Sets the timeout of both handles.
    pub(super) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        each!(self, stream => {
            stream.set_read_timeout(timeout)?;
            stream.set_write_timeout(timeout)
        })
    }

    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        each!(self, stream => stream.shutdown(how))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        each!(self, stream => stream.read(buffer))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        each!(self, stream => stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        each!(self, stream => stream.flush())
    }
}
