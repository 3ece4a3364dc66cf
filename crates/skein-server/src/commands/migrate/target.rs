//! The connection to the server that keys are moved to. Every wait has an end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::shared::migrations::{CancelGuard, MigrationTarget, Migrations};

const STREAM: Token = Token(0);
const CANCELLED: Token = Token(1);

/// The most bytes that must be sent within one timeout, as in Redis.
const PART: usize = 64 << 10;
/// The longest line of a reply. A server that sends longer lines is not a Redis server.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A connection to a target. It is closed when it is dropped.
pub(super) struct TargetConnection<'m> {
    stream: TcpStream,
    poll: Poll,
    events: Events,
    timeout: Duration,
    /// Received bytes; those before `taken` belong to earlier replies.
    received: Vec<u8>,
    taken: usize,
    migrations: &'m Migrations,
    _registered: CancelGuard<'m>,
}

impl<'m> TargetConnection<'m> {
    /// Connects to the first address of the target that accepts.
    ///
    /// # Errors
    /// The name has no address, no address accepts within the timeout, or the server stops.
    pub(super) fn open(target: &MigrationTarget, migrations: &'m Migrations) -> io::Result<Self> {
        let port = target.port.ok_or(ErrorKind::ConnectionRefused)?;
        let mut last = ErrorKind::NotFound.into();
        for address in (target.host.as_str(), port).to_socket_addrs()? {
            match Self::connect(address, target.timeout, migrations) {
                Ok(connection) => return Ok(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn connect(address: SocketAddr, timeout: Duration, migrations: &'m Migrations) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), CANCELLED)?;
        let registered = migrations.register(waker).ok_or(ErrorKind::ConnectionAborted)?;
        let mut stream = TcpStream::connect(address)?;
        poll.registry().register(&mut stream, STREAM, Interest::READABLE | Interest::WRITABLE)?;
        let (events, received) = (Events::with_capacity(4), Vec::new());
        let mut connection =
            Self { stream, poll, events, timeout, received, taken: 0, migrations, _registered: registered };
        let deadline = connection.deadline();
        loop {
            connection.wait(deadline)?;
            if let Some(error) = connection.stream.take_error()? {
                return Err(error);
            }
            match connection.stream.peer_addr() {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::NotConnected => {}
                Err(error) => return Err(error),
            }
        }
        connection.stream.set_nodelay(true)?;
        Ok(connection)
    }

    fn deadline(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.timeout).unwrap_or(now + Duration::from_secs(u32::MAX.into()))
    }

    /// Waits for an event of the connection.
    fn wait(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        // The time is rounded up, because the event loop counts in milliseconds.
        match self.poll.poll(&mut self.events, Some(left + Duration::from_millis(1))) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        if self.migrations.is_cancelled() { Err(ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }

    /// Sends bytes. Receives replies meanwhile, because a target may stop to read until its client
    /// does.
    ///
    /// # Errors
    /// The connection is closed, or the target has not received 64 KiB within the timeout.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(PART) {
            let (mut sent, deadline) = (0, self.deadline());
            while sent < part.len() {
                match self.stream.write(&part[sent..]) {
                    Ok(0) => return Err(ErrorKind::WriteZero.into()),
                    Ok(count) => sent += count,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        self.receive()?;
                        self.wait(deadline)?;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Receives the bytes that are there. Returns whether more can follow.
    fn receive(&mut self) -> io::Result<bool> {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(false),
                Ok(count) => self.received.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the next reply of one line, without its end.
    ///
    /// # Errors
    /// The connection is closed, there is no reply within the timeout, or it is no line.
    pub(super) fn reply(&mut self) -> io::Result<Vec<u8>> {
        let deadline = self.deadline();
        loop {
            if let Some(line) = self.received_line() {
                return Ok(line);
            }
            if self.received.len() > LINE_BYTES_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
            // An error of the connection follows the bytes that arrived before it.
            let more = self.receive();
            if let Some(line) = self.received_line() {
                return Ok(line);
            }
            if !more? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.wait(deadline)?;
        }
    }

    /// Returns the next reply if it has arrived already.
    pub(super) fn received_line(&mut self) -> Option<Vec<u8>> {
        let rest = &self.received[self.taken..];
        let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else {
            self.received.drain(..std::mem::take(&mut self.taken));
            return None;
        };
        let line = rest[..end].to_vec();
        self.taken += end + 2;
        Some(line)
    }
}
