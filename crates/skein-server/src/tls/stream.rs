//! A connection over TLS: ciphertext on the socket, plaintext for the worker.
//!
//! ```text
//!   read    socket ─ read_tls ─► session ─ process ─► plaintext ─► buffer
//!                                   └── what the handshake answers ─► socket
//!   write   bytes ─► session ─► ciphertext ─ as far as the socket takes it ─► socket; the rest is owed
//! ```
//!
//! # Invariants
//! 1. A read returns less than its buffer holds only when the socket is empty, so that an event tells of more, or when the client has ended: then
//!    `at_end` says so.
//! 2. No plaintext is taken while ciphertext is owed: what is owed stays below what the session makes of one write.
//! 3. What is owed is sent when the socket takes bytes again, by whoever calls `flush`; until then the connection is not closed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use mio::net::TcpStream;
use rustls::{ServerConfig, ServerConnection};

/// A connection over TLS.
#[derive(Debug)]
pub(crate) struct ServerTlsStream {
    socket: TcpStream,
    session: ServerConnection,
    /// The client has ended its side, by TLS or without.
    at_end: bool,
}

impl ServerTlsStream {
    pub(crate) fn new(socket: TcpStream, config: &Arc<ServerConfig>) -> io::Result<Self> {
        let session = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        Ok(Self { socket, session, at_end: false })
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(crate) fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Whether there is ciphertext that the socket has not taken yet.
    pub(crate) fn has_unsent_records(&self) -> bool {
        self.session.wants_write()
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Whether the client has ended, and all that it sent was read.
    pub(crate) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Says that nothing more will be written, to the client and to the system.
    pub(crate) fn shut_down_writing(&mut self) -> io::Result<()> {
        self.session.send_close_notify();
        // If the socket is full the client does without the farewell.
        let _ = self.push();
        self.socket.shutdown(Shutdown::Write)
    }

    /// Sends what is owed.
    fn push(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The client has ended; what was read before counts.
    fn end(&mut self, filled: usize) -> usize {
        self.at_end = true;
        filled
    }

    /// Takes ciphertext off the socket; its end shows in what the session then says.
    fn pull(&mut self) -> io::Result<()> {
        self.session.read_tls(&mut self.socket)?;
        let processed = self.session.process_new_packets();
        // Also the alert that says what was wrong.
        let pushed = self.push();
        if let Err(error) = processed {
            tracing::debug!(%error, "a client was refused by TLS");
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        match pushed {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

impl Read for ServerTlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match self.session.reader().read(&mut buffer[filled..]) {
                // A request that is not whole is not run in either case.
                Ok(0) => return Ok(self.end(filled)),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(self.end(filled)),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => match self.pull() {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock && filled > 0 => return Ok(filled),
                    Err(error) => return Err(error),
                    Ok(()) => {}
                },
                Err(error) => return Err(error),
            }
            if filled == buffer.len() {
                return Ok(filled);
            }
        }
    }
}

impl Write for ServerTlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push()?;
        let count = self.session.writer().write(bytes)?;
        match self.push() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            // The session holds what the handshake has to come before.
            _ if count == 0 && !bytes.is_empty() => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push()
    }
}
