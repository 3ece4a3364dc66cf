//! A connection: its socket, what came in, what it waits for.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::ClientState;
use crate::client_registry::ClientRecord;
use crate::commands::{SlicedTask, resolve};
use crate::resp::{ProtocolError, RequestBuffer, RequestLimits};
use crate::transport::Transport;

use super::SPARE_BUFFERS_MAX;
use super::reply_buffer::ReplyBuffer;
use super::request_timer::SlicedCommandTime;

/// Bytes of one read at most, so that one client does not hold up the others.
const READ_BYTES_MAX: usize = 1 << 20;

/// Bytes that are sent in one turn at most, or nearly, for the same reason.
const SENT_BYTES_MAX: usize = 256 << 10;

/// Reads whose bytes are dropped in one go, so that one client does not hold up the others.
const DROPPED_READS: usize = 64;

/// Input buffers over this size are not kept for others.
const SPARE_BYTES_MAX: usize = 64 << 10;

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own; together they are no state machine"
)]
pub(super) struct Connection {
    pub stream: Transport,
    pub client: ClientState,
    pub input: RequestBuffer,
    /// The command that is being done in slices; later requests wait for it.
    pub task: Option<Box<SlicedTask>>,
    /// What is noted of it.
    pub long: Option<Box<SlicedCommandTime>>,
    /// The answer to the first request is put off: it is not run in a batch.
    pub put_off: bool,
    /// A checkpoint is being written for this client; later requests wait for it.
    pub waits: bool,
    /// Its first request is held back by a pause (see `hold`).
    pub paused: bool,
    /// When the round of requests began in which it last had a part; `None` before the first.
    pub served: Option<Instant>,
    /// The client sent what is no request: it hears so after its earlier replies, and is disconnected.
    pub error: Option<ProtocolError>,
    /// Nothing more is run; closed once everything is sent.
    pub closing: bool,
    /// It speaks HTTP: closed without a reply, those that wait included.
    pub attacked: bool,
    /// Everything is sent and our side is shut down; what comes in is dropped (see `linger`).
    pub lingers: bool,
    /// The client will send no more.
    pub ended: bool,
    /// An event said so. What was sent before may still lie in the socket; its end makes no event of its own.
    pub hung_up: bool,
    /// The socket may have bytes. (Events tell only of changes.)
    pub readable: bool,
    /// The socket may take bytes.
    pub writable: bool,
    /// Stands in the list of connections to serve.
    pub listed: bool,
    /// When its waiting replies were found to be over the soft limit, since the server's start; `None` since they were not.
    pub over_soft_limit: Option<Duration>,
    /// Stands in the list of those whose replies wait for an epoch.
    pub held: bool,
    /// Bytes that it was counted with.
    pub counted: usize,
}

/// The other side is gone, or as good as.
#[derive(Debug)]
pub(super) struct PeerGone;

impl Connection {
    pub(super) fn new(stream: Transport, client: ClientState) -> Self {
        Self {
            stream,
            client,
            input: RequestBuffer::new(),
            task: None,
            long: None,
            put_off: false,
            waits: false,
            paused: false,
            served: None,
            error: None,
            closing: false,
            attacked: false,
            lingers: false,
            ended: false,
            hung_up: false,
            // What was sent before the socket was watched makes no event of its own on all systems.
            readable: true,
            writable: true,
            listed: false,
            over_soft_limit: None,
            held: false,
            counted: 0,
        }
    }

    /// The same connection with another card, at a worker.
    pub(super) fn with_record(self, card: Arc<ClientRecord>) -> Self {
        Self { client: self.client.with_record(card), ..self }
    }

    /// Bytes that it holds, with its output: what a client makes grow, and what each has.
    #[inline]
    pub(super) fn memory(&self, output: &ReplyBuffer) -> usize {
        let task = self.task.as_ref().map_or(0, |task| task.memory());
        size_of::<Self>()
            + size_of::<ReplyBuffer>()
            + self.input.memory()
            + output.buffer.capacity()
            + self.client.memory()
            + task
    }

    /// Whether queued requests may be run now, as far as the connection itself goes.
    #[inline]
    pub(super) fn may_run(&self) -> bool {
        self.task.is_none() && !self.waits && !self.paused && !self.closing
    }

    /// Whether queued reads and writes may be run in batches with those of others.
    #[inline]
    pub(super) fn may_batch(&self) -> bool {
        self.may_run() && !self.put_off && self.client.runs_in_batches()
    }

    /// Takes so many requests out of the queue, which were run in the round that began then.
    #[inline]
    pub(super) fn take(&mut self, count: usize, round: Instant) {
        self.input.take(count);
        if count > 0 {
            self.served = Some(round);
        }
    }

    /// Finds requests: first among the bytes that are here, else with one read. How many bytes were read.
    pub(super) fn fill(
        &mut self,
        limits: &RequestLimits,
        spare: &mut Vec<Vec<u8>>,
    ) -> Result<usize, PeerGone> {
        if !self.may_run() || self.error.is_some() || self.input.queued() > 0 {
            return Ok(0);
        }
        if self.input.may_parse() {
            self.parse(limits);
        }
        if self.input.queued() > 0 || self.error.is_some() || self.ended || !self.readable {
            return Ok(0);
        }
        let room = self.input.room(spare);
        let room_len = room.len().min(READ_BYTES_MAX);
        let count = loop {
            match self.stream.read(&mut room[..room_len]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(0);
                }
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    return Ok(0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(PeerGone),
            }
        };
        // A read that did not fill the room emptied the socket; what comes later makes an event, but for an end that came already.
        self.readable = count == room_len || self.hung_up || self.stream.at_end();
        self.input.filled(count);
        self.parse(limits);
        Ok(count)
    }

    fn parse(&mut self, limits: &RequestLimits) {
        if let Err(error) = self.input.parse(limits, self.client.authenticated, resolve) {
            self.error = Some(error);
        }
    }

    /// Sends what may be sent, up to `SENT_BYTES_MAX` or a little more. How many bytes were sent.
    pub(super) fn flush(&mut self, output: &mut ReplyBuffer, durable: u64) -> Result<usize, PeerGone> {
        let mut total = 0;
        while self.writable {
            let bytes = output.sendable(durable);
            if bytes.is_empty() || total >= SENT_BYTES_MAX {
                break;
            }
            match self.stream.write(&bytes[..bytes.len().min(SENT_BYTES_MAX)]) {
                Ok(0) => return Err(PeerGone),
                Ok(count) => {
                    output.sent(count);
                    total += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(PeerGone),
            }
        }
        if self.writable && self.stream.has_unsent_records() {
            match self.stream.flush() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(_) => return Err(PeerGone),
                Ok(()) => {}
            }
        }
        Ok(total)
    }

    /// Reads and drops; whether there may be more at once.
    pub(super) fn drop_input(&mut self) -> Result<bool, PeerGone> {
        let mut scratch = [0; 16 << 10];
        for _ in 0..DROPPED_READS {
            match self.stream.read(&mut scratch) {
                Ok(0) => return Err(PeerGone),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(PeerGone),
            }
        }
        Ok(true)
    }

    /// Gives the input buffer back while nothing is in it.
    #[inline]
    pub(super) fn release(&mut self, spare: &mut Vec<Vec<u8>>) {
        if let Some(buffer) = self.input.release()
            && buffer.len() <= SPARE_BYTES_MAX
            && spare.len() < SPARE_BUFFERS_MAX
        {
            spare.push(buffer);
        }
    }
}
