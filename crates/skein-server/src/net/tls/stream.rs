//! A connection over TLS: ciphertext on the socket, plaintext for the worker.
//!
//! ```text
//!   read    socket ─ read_tls ─► session ─ process ─► plaintext ─► buffer
//!                                   └── handshake messages ─► socket
//!   write   bytes ─► session ─► ciphertext ─► socket, as far as it accepts; the rest is unsent
//! ```
//!
//! # Invariants
//! 1. If a read returns less than its buffer holds, there are two cases. Either the socket is
//!    empty, so that an event reports more bytes, or the client has closed its side, and `at_end`
//!    reports that.
//! 2. While ciphertext is unsent, no plaintext is accepted. So the unsent bytes are at most those
//!    that the session makes of one write.
//! 3. Unsent bytes are sent by the next `flush` after the socket accepts bytes again. Until then
//!    the connection must not be closed.

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
    /// The client has closed its side, with or without a TLS message.
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

    /// Returns whether the socket has not accepted all ciphertext yet.
    pub(crate) fn has_unsent_records(&self) -> bool {
        self.session.wants_write()
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Returns whether the client has closed its side, and all of its bytes were read.
    pub(crate) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Announces to the client and to the system that nothing more will be written.
    pub(crate) fn shut_down_writing(&mut self) -> io::Result<()> {
        self.session.send_close_notify();
        // If the socket is full, the client does not receive the closing message.
        let _ = self.push();
        self.socket.shutdown(Shutdown::Write)
    }

    /// Sends the unsent ciphertext.
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

    /// Notes that the client has closed its side. Returns the bytes that were read before.
    fn end(&mut self, filled: usize) -> usize {
        self.at_end = true;
        filled
    }

    /// Reads ciphertext from the socket. The session reports the end of the input afterwards.
    fn pull(&mut self) -> io::Result<()> {
        self.session.read_tls(&mut self.socket)?;
        let processed = self.session.process_new_packets();
        // This also sends the alert that describes an error.
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
                // In both cases an incomplete request is not run.
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
            // The session keeps these bytes until the handshake is complete.
            _ if count == 0 && !bytes.is_empty() => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.push()
    }
}
