//! A connection over TLS. Its two directions belong to two threads.
//!
//! ```text
//!   sender     plaintext ─► lock, encrypt ─► ciphertext ─► socket
//!   receiver   socket ─► ciphertext ─► lock, decrypt ─► plaintext
//! ```
//!
//! # Invariants
//! 1. No thread waits for the socket while it holds the session's lock. So neither direction delays
//!    the other.
//! 2. After the handshake only one thread writes to the socket, and it writes its ciphertext before
//!    it encrypts more. So ciphertext is sent in the order of the session.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

/// The time limit of the handshake, and of the closing message.
const PATIENCE: Duration = Duration::from_secs(10);
/// The ciphertext read at once: the longest record and its header.
const READ_BYTES: usize = (16 << 10) + 256;

/// A handle of a connection over TLS.
#[derive(Debug)]
pub(super) struct TlsClientStream {
    socket: TcpStream,
    session: Arc<Mutex<ClientConnection>>,
    /// Bytes read from the socket. The session has not processed those from `taken` on.
    cipher: Vec<u8>,
    taken: usize,
    /// Bytes to write to the socket.
    out: Vec<u8>,
    /// The time limit of the closing message.
    patience: Duration,
}

/// A socket with one deadline for all reads and writes.
struct DeadlineSocket<'s> {
    socket: &'s TcpStream,
    deadline: Instant,
}

impl DeadlineSocket<'_> {
    /// Returns the time that is left. Errors like a socket that timed out if there is no time left.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::WouldBlock.into()) } else { Ok(left) }
    }
}

impl Read for DeadlineSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.left()?))?;
        self.socket.read(buffer)
    }
}

impl Write for DeadlineSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.left()?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl TlsClientStream {
    /// Performs the handshake with the server.
    pub(super) fn handshake(
        socket: TcpStream,
        name: ServerName<'static>,
        config: Arc<ClientConfig>,
    ) -> io::Result<Self> {
        Self::handshake_within(PATIENCE, socket, name, config)
    }

    fn handshake_within(
        patience: Duration,
        socket: TcpStream,
        name: ServerName<'static>,
        config: Arc<ClientConfig>,
    ) -> io::Result<Self> {
        let mut session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        let mut timed = DeadlineSocket { socket: &socket, deadline: Instant::now() + patience };
        while session.is_handshaking() {
            session.complete_io(&mut timed)?;
        }
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        Ok(Self::over(socket, Arc::new(Mutex::new(session)), patience))
    }

    fn over(socket: TcpStream, session: Arc<Mutex<ClientConnection>>, patience: Duration) -> Self {
        Self { socket, session, cipher: Vec::new(), taken: 0, out: Vec::new(), patience }
    }

    /// Returns the other handle. The caller must not have read from this one.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self::over(self.socket.try_clone()?, self.session.clone(), self.patience))
    }

    pub(super) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    pub(super) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_write_timeout(timeout)
    }

    /// Shuts down the socket. Before it closes the writing direction, it sends TLS's closing
    /// message, if the server accepts that in time.
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let mut farewell = Vec::new();
        let mut session = lock(&self.session);
        session.send_close_notify();
        take(&mut session, &mut farewell)?;
        drop(session);
        let patience = self.socket.write_timeout()?.unwrap_or(self.patience).min(self.patience);
        self.socket.set_write_timeout(Some(patience))?;
        let said = (&self.socket).write_all(&farewell);
        self.socket.shutdown(how)?;
        said
    }

    /// Passes more of the received bytes to the session, or the end of the input.
    fn feed(&mut self) -> io::Result<()> {
        if self.taken == self.cipher.len() {
            self.cipher.resize(READ_BYTES, 0);
            let read = self.socket.read(&mut self.cipher);
            self.cipher.truncate(*read.as_ref().unwrap_or(&0));
            self.taken = 0;
            read?;
        }
        let mut fresh = &self.cipher[self.taken..];
        let mut session = lock(&self.session);
        self.taken += session.read_tls(&mut fresh)?;
        session.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        Ok(())
    }
}

/// Locks the session. A thread that panicked left it in the state between two calls, which is
/// valid.
fn lock(session: &Mutex<ClientConnection>) -> MutexGuard<'_, ClientConnection> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves the session's ciphertext to `out`.
fn take(session: &mut ClientConnection, out: &mut Vec<u8>) -> io::Result<()> {
    while session.wants_write() {
        session.write_tls(out)?;
    }
    Ok(())
}

impl Read for TlsClientStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match lock(&self.session).reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The server sent no closing message. An incomplete reply is an error in either
                // case.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                result => return result,
            }
            self.feed()?;
        }
    }
}

impl Write for TlsClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut session = lock(&self.session);
        let count = session.writer().write(bytes)?;
        take(&mut session, &mut self.out)?;
        drop(session);
        let written = self.socket.write_all(&self.out);
        self.out.clear();
        written.map(|()| count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[cfg(test)]
mod tests;
