//! A pipelining client on one thread that checks every reply, byte by byte.
//!
//! ```text
//!   ask(connection, request) ──►  its buffer: requests, and the replies that must answer them
//!                                   │ when it holds as many as a pipeline is deep
//!                                   ▼
//!                                 read and check the replies of the pipeline before; send
//! ```
//!
//! Every connection has a pipeline in flight. The client reads the replies of one pipeline before
//! it sends the next on that connection. So the server always finds many connections ready, as it
//! would under load.
//!
//! Requests of one connection take effect in order. So a caller that uses a key on one connection
//! only knows the correct replies even while keys change.
//!
//! A pipeline's latency is the time from before the send until its last reply is read. Replies may
//! wait while the client serves other connections, so latencies compare servers under this client
//! only.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::{Dialect, DialectRequest};
use crate::{Error, Result};

/// The time limit of a reply; a slower one is an error.
const PATIENCE: Duration = Duration::from_secs(30);

/// The greatest number of bytes per read.
const READ_BYTES: usize = 1 << 20;

/// The bytes of a wrong reply that an error shows, and how many of them precede the first wrong
/// one.
const SHOWN: usize = 80;
const SHOWN_BEFORE: usize = 24;

/// In the reply to [`ask_pattern`](BenchClient::ask_pattern): any number of decimal digits.
pub const ANY_DIGITS: u8 = 0xff;

/// A connection.
#[derive(Debug)]
struct PipelineConnection {
    socket: TcpStream,
    /// The expected replies of the pipeline in flight.
    under_way: Vec<u8>,
    /// The requests of the next pipeline.
    out: Vec<u8>,
    /// The expected replies of the next pipeline.
    expected: Vec<u8>,
    /// The number of requests in the next pipeline.
    asked: usize,
    /// The time when the pipeline in flight was sent.
    sent: Instant,
}

/// The client and its connections.
#[derive(Debug)]
pub struct BenchClient {
    server: &'static str,
    dialect: &'static dyn Dialect,
    connections: Vec<PipelineConnection>,
    buffer: Vec<u8>,
    measure: String,
    pipeline: usize,
    /// Whether expected replies are patterns.
    patterns: bool,
    /// The latencies of pipelines, in nanoseconds.
    latencies: Histogram<u64>,
}

impl BenchClient {
    /// Connects to the server of this name.
    ///
    /// # Errors
    /// If a connection fails.
    pub fn connect(
        server: &'static str,
        dialect: &'static dyn Dialect,
        address: SocketAddr,
        connections: usize,
    ) -> Result<Self> {
        let connect = || {
            let socket = TcpStream::connect(address)?;
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            socket.set_write_timeout(Some(PATIENCE))?;
            let (under_way, out, expected) = (Vec::new(), Vec::new(), Vec::new());
            Ok(PipelineConnection { socket, under_way, out, expected, asked: 0, sent: Instant::now() })
        };
        let connections: std::io::Result<Vec<_>> = (0..connections.max(1)).map(|_| connect()).collect();
        let connections = connections.map_err(|error| failed(server, "connecting", &error))?;
        let buffer = vec![0; READ_BYTES];
        // The histogram counts nanoseconds, up to the time limit of a reply.
        let longest = u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX);
        let latencies =
            Histogram::new_with_max(longest, 3).map_err(|error| Error::Failed(error.to_string()))?;
        let (measure, pipeline, patterns) = (String::new(), 1, false);
        Ok(Self { server, dialect, connections, buffer, measure, pipeline, patterns, latencies })
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Starts a measure, with this many requests in a pipeline.
    pub fn begin(&mut self, measure: &str, pipeline: usize) {
        measure.clone_into(&mut self.measure);
        self.pipeline = pipeline.max(1);
        self.patterns = false;
        self.latencies.reset();
    }

    /// Returns the time within which 99 of 100 pipelines were answered since
    /// [`begin`](Self::begin), in microseconds.
    pub fn p99_us(&self) -> f64 {
        self.latencies.value_at_quantile(0.99) as f64 / 1e3
    }

    /// Adds a request to a connection. Its number must be below [`connections`](Self::connections).
    /// Sends the pipeline if it is full.
    ///
    /// # Errors
    /// If the connection fails, or if a reply of the pipeline before is wrong.
    pub fn ask(&mut self, connection: usize, request: DialectRequest<'_>) -> Result<()> {
        let dialect = self.dialect;
        self.add(connection, |out, expected| dialect.ask(request, out, expected))
    }

    /// Does the same with a request that `write` appends, and with its reply. In the reply,
    /// [`ANY_DIGITS`] stands for digits that the client cannot know.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_pattern(
        &mut self,
        connection: usize,
        write: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<()> {
        self.patterns = true;
        self.add(connection, write)
    }

    fn add(&mut self, connection: usize, write: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>)) -> Result<()> {
        let into = &mut self.connections[connection];
        write(&mut into.out, &mut into.expected);
        into.asked += 1;
        if into.asked >= self.pipeline { self.turn(connection) } else { Ok(()) }
    }

    /// Sends the remaining requests and waits for all replies.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn finish(&mut self) -> Result<()> {
        // The first pass sends the remaining requests; the second reads their replies.
        (0..2).try_for_each(|_| (0..self.connections.len()).try_for_each(|connection| self.turn(connection)))
    }

    /// Reads a connection's replies in flight and sends its next requests.
    fn turn(&mut self, connection: usize) -> Result<()> {
        self.receive(connection)?;
        let connection = &mut self.connections[connection];
        if connection.asked > 0 {
            connection.sent = Instant::now();
            connection
                .socket
                .write_all(&connection.out)
                .map_err(|error| failed(self.server, "sending", &error))?;
            connection.out.clear();
            connection.asked = 0;
            std::mem::swap(&mut connection.under_way, &mut connection.expected);
        }
        Ok(())
    }

    /// Reads and checks all replies in flight.
    fn receive(&mut self, connection: usize) -> Result<()> {
        let connection = &mut self.connections[connection];
        let mut done = 0;
        while done < connection.under_way.len() {
            let got = connection.socket.read(&mut self.buffer);
            let got = got.map_err(|error| failed(self.server, "receiving", &error))?;
            if got == 0 {
                return Err(Error::Failed(format!(
                    "{} closed a connection in the middle of a reply in '{}'",
                    self.server, self.measure
                )));
            }
            let (got, expected) = (&self.buffer[..got], &connection.under_way[done..]);
            let matched = matched(got, expected, self.patterns);
            if matched.0 < got.len() {
                return Err(wrong(self.server, &self.measure, got, expected, matched));
            }
            done += matched.1;
        }
        if done > 0 {
            self.latencies
                .saturating_record(u64::try_from(connection.sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
        connection.under_way.clear();
        Ok(())
    }
}

/// Returns how many bytes of `got` match, and how many of `expected` they match. If a byte is
/// wrong, these are the bytes before it.
///
/// REQUIRES: a pattern does not end with [`ANY_DIGITS`].
pub(super) fn matched(got: &[u8], expected: &[u8], patterns: bool) -> (usize, usize) {
    // The client's own time counts, and most replies are right.
    if expected.starts_with(got) {
        return (got.len(), got.len());
    }
    let mut at = 0;
    for (position, &byte) in got.iter().enumerate() {
        let digits = patterns && expected.get(at) == Some(&ANY_DIGITS);
        if digits && byte.is_ascii_digit() {
            continue;
        }
        at += usize::from(digits);
        if expected.get(at) != Some(&byte) {
            return (position, at);
        }
        at += 1;
    }
    (got.len(), at)
}

/// Returns the error for a wrong reply. It shows both replies, from a little before they differ.
pub(super) fn wrong(
    server: &str,
    measure: &str,
    got: &[u8],
    expected: &[u8],
    matched: (usize, usize),
) -> Error {
    let shown = |bytes: &[u8], matched: usize| {
        let from = matched.saturating_sub(SHOWN_BEFORE);
        bytes[from..bytes.len().min(from + SHOWN)].escape_ascii().to_string()
    };
    Error::WrongReply {
        contender: server.to_owned(),
        measure: measure.to_owned(),
        got: shown(got, matched.0),
        expected: shown(expected, matched.1),
    }
}

fn failed(server: &str, what: &str, error: &std::io::Error) -> Error {
    Error::Failed(format!("the connection to {server} failed while {what}: {error}"))
}
