//! A small blocking client for SkeinDB, or for any server that speaks RESP.
//!
//! It serves the `skein` command and the tests: calls, pipelines, and a connection split into its
//! two directions. Applications should use the Redis client of their language.
//!
//! ```no_run
//! use skeindb::client::{Client, Reply};
//!
//! let mut client = Client::connect("127.0.0.1:6380")?;
//! assert_eq!(client.call(&[b"SET", b"goose", b"grey"])?, Reply::ok());
//! assert_eq!(client.call(&[b"GET", b"goose"])?, Reply::Bulk(b"grey".to_vec()));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, BufReader, ErrorKind, Write};
use std::net::{Shutdown, ToSocketAddrs};
use std::ops::Bound;
use std::path::Path;
#[cfg(feature = "tls")]
use std::sync::Arc;
use std::time::Duration;

// Modules:
// - stream: the transports (TCP, Unix sockets, TLS).
// - tls: one TLS connection for two threads.
// - reply: replies, parsed from a transport.
mod reply;
mod stream;
#[cfg(feature = "tls")]
mod tls;

pub use reply::Reply;

use stream::Stream;

/// Writes a bound of a range of keys as the ordered commands expect it: `[key` or `(key`. For an
/// open bound it writes `unbounded`: `-` for the smallest key, `+` for the greatest.
///
/// ```
/// use std::ops::Bound;
///
/// use skeindb::client::bound;
///
/// assert_eq!(bound(&Bound::Excluded(b"goose"), b"+"), b"(goose");
/// assert_eq!(bound(&Bound::<&[u8]>::Unbounded, b"+"), b"+");
/// ```
pub fn bound(bound: &Bound<impl AsRef<[u8]>>, unbounded: &[u8]) -> Vec<u8> {
    match bound {
        Bound::Included(key) => [b"[", key.as_ref()].concat(),
        Bound::Excluded(key) => [b"(", key.as_ref()].concat(),
        Bound::Unbounded => unbounded.to_vec(),
    }
}

/// A connection.
#[derive(Debug)]
pub struct Client {
    sender: Sender,
    receiver: Receiver,
}

impl Client {
    /// Connects to `address`.
    ///
    /// # Errors
    /// Errors if no connection could be made.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        stream::tcp(address).and_then(|socket| Self::over(Stream::Tcp(socket)))
    }

    /// Connects to `address`. Waits at most `timeout` for each address that the name resolves to.
    ///
    /// # Errors
    /// Errors if no connection could be made.
    pub fn connect_within(address: impl ToSocketAddrs, timeout: Duration) -> io::Result<Self> {
        stream::tcp_within(address, timeout).and_then(|socket| Self::over(Stream::Tcp(socket)))
    }

    /// Connects to a Unix socket.
    ///
    /// # Errors
    /// Errors if no connection could be made.
    pub fn connect_unix(path: impl AsRef<Path>) -> io::Result<Self> {
        Stream::unix(path.as_ref()).and_then(Self::over)
    }

    /// Connects to `address` by TLS. The server must show a certificate for `name` that `config`
    /// trusts.
    ///
    /// # Errors
    /// Errors if no connection could be made. If the handshake failed, the error contains a
    /// [`rustls::Error`]. If the server did not answer it within 10 seconds, the kind is
    /// `WouldBlock`. A server that rejects our certificate may only show it when the first reply is
    /// read.
    #[cfg(feature = "tls")]
    pub fn connect_tls(
        address: impl ToSocketAddrs,
        name: rustls::pki_types::ServerName<'static>,
        config: Arc<rustls::ClientConfig>,
    ) -> io::Result<Self> {
        Self::over(Stream::Tls(tls::TlsClientStream::handshake(stream::tcp(address)?, name, config)?))
    }

    /// Connects as [`connect_tls`](Self::connect_tls) does. Waits at most `timeout` for each
    /// address that the server's name resolves to.
    ///
    /// # Errors
    /// Those of [`connect_tls`](Self::connect_tls).
    #[cfg(feature = "tls")]
    pub fn connect_tls_within(
        address: impl ToSocketAddrs,
        name: rustls::pki_types::ServerName<'static>,
        config: Arc<rustls::ClientConfig>,
        timeout: Duration,
    ) -> io::Result<Self> {
        let socket = stream::tcp_within(address, timeout)?;
        Self::over(Stream::Tls(tls::TlsClientStream::handshake(socket, name, config)?))
    }

    fn over(stream: Stream) -> io::Result<Self> {
        let input = stream.try_clone()?;
        Ok(Self {
            sender: Sender { stream, buffer: Vec::new() },
            receiver: Receiver { input: BufReader::with_capacity(64 << 10, input) },
        })
    }

    /// Limits how long a read or a write may wait. `None`, the default, waits without a limit.
    ///
    /// # Errors
    /// Errors if the system rejects the time.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.sender.stream.set_timeout(timeout)
    }

    /// Sends a command and reads its reply.
    ///
    /// # Errors
    /// Errors if the connection failed. An error that the server answers is a [`Reply::Error`].
    pub fn call(&mut self, command: &[&[u8]]) -> io::Result<Reply> {
        self.sender.push(command);
        match self.sender.flush() {
            // A server that closes the connection at once may have sent the reason first.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => self
                .receiver
                .read()
                .map_err(|why| if why.kind() == ErrorKind::InvalidData { why } else { error }),
            sent => sent.and_then(|()| self.receiver.read()),
        }
    }

    /// Sends all commands at once, then reads all replies. The replies must fit into the buffers of
    /// the connection. For more, [`split`](Self::split) it.
    ///
    /// # Errors
    /// Errors if the connection failed.
    pub fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> io::Result<Vec<Reply>> {
        self.send(commands)?;
        commands.iter().map(|_| self.receiver.read()).collect()
    }

    /// Sends commands without waiting for their replies. [`receive`](Self::receive) reads the
    /// replies one by one.
    ///
    /// # Errors
    /// Errors if the connection failed.
    pub fn send<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> io::Result<()> {
        for command in commands {
            self.sender.push(command.as_ref());
        }
        self.sender.flush()
    }

    /// Reads the reply to the oldest command that still waits for one.
    ///
    /// # Errors
    /// Errors if the connection failed or ended, or if the server sent bytes that are not RESP.
    pub fn receive(&mut self) -> io::Result<Reply> {
        self.receiver.read()
    }

    /// Splits the connection into its two directions, for two threads.
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }
}

/// The sending direction of a connection.
#[derive(Debug)]
pub struct Sender {
    stream: Stream,
    buffer: Vec<u8>,
}

impl Sender {
    /// Adds a command to the buffer.
    pub fn push<A: AsRef<[u8]>>(&mut self, command: &[A]) {
        let mut number = command.len().to_string();
        self.buffer.push(b'*');
        self.buffer.extend_from_slice(number.as_bytes());
        for argument in command {
            let argument = argument.as_ref();
            number = argument.len().to_string();
            self.buffer.extend_from_slice(b"\r\n$");
            self.buffer.extend_from_slice(number.as_bytes());
            self.buffer.extend_from_slice(b"\r\n");
            self.buffer.extend_from_slice(argument);
        }
        self.buffer.extend_from_slice(b"\r\n");
    }

    /// Adds bytes unchanged, well-formed or not.
    pub fn push_raw(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the number of bytes in the buffer.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Sends the buffer's bytes.
    ///
    /// # Errors
    /// Errors if the connection failed.
    pub fn flush(&mut self) -> io::Result<()> {
        let result = self.stream.write_all(&self.buffer);
        self.buffer.clear();
        result
    }

    /// Tells the server that this side sends no more.
    ///
    /// # Errors
    /// Errors if the connection is closed.
    pub fn close(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }
}

/// The receiving direction of a connection.
#[derive(Debug)]
pub struct Receiver {
    input: BufReader<Stream>,
}

impl Receiver {
    /// Reads one reply.
    ///
    /// # Errors
    /// Errors if the connection failed or ended, or if the received bytes are not RESP.
    pub fn read(&mut self) -> io::Result<Reply> {
        reply::read(&mut self.input)
    }
}
