//! A connection: its socket, its queued requests, and the conditions that it waits for.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clients::client::ClientState;
use crate::clients::client_registry::{ClientBytes, ClientRecord};
use crate::clients::pause::{ClientPause, HeldClient};
use crate::commands::{Batched, KeyWait, SlicedTask, plan_of, resolve};
use crate::net::transport::Transport;
use crate::resp::{ProtocolError, RequestBuffer, RequestLimits};

use super::SPARE_BUFFERS_MAX;
use super::reply_buffer::ReplyBuffer;
use super::request_timer::SlicedCommandTime;

/// The most bytes that one read takes, so that one client does not delay the others.
const READ_BYTES_MAX: usize = 1 << 20;

/// About the most bytes that are sent in one turn, for the same reason.
const SENT_BYTES_MAX: usize = 256 << 10;

/// The most reads in one call of `drop_input`, so that one client does not delay the others.
const DROPPED_READS: usize = 64;

/// Larger input buffers are freed instead of kept for other connections.
const SPARE_BYTES_MAX: usize = 64 << 10;

#[expect(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
pub(super) struct Connection {
    pub stream: Transport,
    pub client: ClientState,
    pub input: RequestBuffer,
    /// The command that runs in slices. Later requests wait for it.
    pub task: Option<Box<dyn SlicedTask>>,
    /// The time and arguments of `task`.
    pub long: Option<Box<SlicedCommandTime>>,
    /// Whether the first request must run in slices, outside the batches.
    pub put_off: bool,
    /// Whether the client waits for a checkpoint or a migration. Later requests wait for it too.
    pub waits: bool,
    /// Present while the client waits for a key. Later requests wait for it too.
    pub blocked: Option<KeyWait>,
    /// Messages that arrived while a reply was not complete.
    pub postponed: Vec<u8>,
    /// Bytes of messages that the client did not ask for, since nothing waited for it the last time.
    pub unasked: usize,
    /// Whether a pause holds back the first request (see `paused_requests`).
    pub paused: Option<HeldClient>,
    /// The start of the last round in which a request of this connection ran; `None` before the
    /// first.
    pub served: Option<Instant>,
    /// The protocol error of the client. It is sent after the earlier replies, and the client is
    /// disconnected.
    pub error: Option<ProtocolError>,
    /// No more requests are run. The connection is closed after all replies are sent.
    pub closing: bool,
    /// The client speaks HTTP. The connection is closed without a reply; waiting replies are
    /// dropped too.
    pub attacked: bool,
    /// Everything is sent and our side is shut down. Further input is dropped (see `linger`).
    pub lingers: bool,
    /// The client has closed its sending side.
    pub ended: bool,
    /// An event reported the end of the input. Earlier bytes may still be in the socket, and
    /// reaching the end makes no further event.
    pub hung_up: bool,
    /// The socket may have bytes. (Events report only changes.)
    pub readable: bool,
    /// The socket may accept bytes.
    pub writable: bool,
    /// Whether the connection is in the list of those to serve.
    pub listed: bool,
    /// When the waiting replies were found to exceed the soft limit, measured from the server's
    /// start; `None` while they do not.
    pub over_soft_limit: Option<Duration>,
    /// Whether the connection is in the list of connections with replies that wait for an epoch.
    pub held: bool,
    /// The bytes that this connection has in the worker's counter.
    pub counted: usize,
}

/// The peer has closed the connection, or the connection failed.
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
            blocked: None,
            postponed: Vec::new(),
            unasked: 0,
            paused: None,
            served: None,
            error: None,
            closing: false,
            attacked: false,
            lingers: false,
            ended: false,
            hung_up: false,
            // On some systems, bytes that were sent before the socket was watched make no event.
            readable: true,
            writable: true,
            listed: false,
            over_soft_limit: None,
            held: false,
            counted: 0,
        }
    }

    /// Returns the same connection with its record at a worker.
    pub(super) fn with_record(self, record: Arc<ClientRecord>) -> Self {
        Self { client: self.client.with_record(record), ..self }
    }

    /// Returns the bytes that the connection and its reply buffer take, including the fixed part.
    #[inline]
    pub(super) fn memory(&self, output: &ReplyBuffer) -> usize {
        let task = self.task.as_ref().map_or(0, |task| task.memory());
        let waits = self.blocked.map_or(0, |wait| wait.bytes);
        size_of::<Self>()
            + size_of::<ReplyBuffer>()
            + self.input.memory()
            + self.postponed.capacity()
            + output.buffer.capacity()
            + self.client.memory()
            + task
            + waits
    }

    /// Writes the bytes of the connection to the client's record. `total` is all of them.
    #[inline]
    pub(super) fn note_sizes(&self, output: &ReplyBuffer, total: usize) {
        let (query, query_free) = self.input.held_and_free();
        self.client.record.sizes.set(ClientBytes {
            query,
            query_free,
            multi: self.client.multi.as_ref().map_or(0, |multi| multi.queue.memory()),
            replies: output.buffer.capacity() + self.postponed.capacity(),
            waiting: output.pending() + self.postponed.len(),
            total,
        });
    }

    /// Makes the client wait for a key.
    pub(super) fn block(&mut self, wait: KeyWait) {
        self.blocked = Some(wait);
        self.client.record.set_blocked(true);
    }

    /// Holds requests back, or lets them run.
    pub(super) fn pause_if(&mut self, is_held: bool, pause: &ClientPause) {
        if is_held != self.paused.is_some() {
            self.paused = is_held.then(|| pause.hold());
        }
    }

    /// Returns whether the state of the connection allows its queued requests to run now.
    #[inline]
    pub(super) fn may_run(&self) -> bool {
        self.task.is_none() && !self.waits && self.blocked.is_none() && self.paused.is_none() && !self.closing
    }

    /// Returns whether queued reads and writes may run in batches with those of other connections.
    #[inline]
    pub(super) fn may_batch(&self) -> bool {
        self.may_run() && !self.put_off && self.client.runs_in_batches()
    }

    /// Returns the tag of the request at a position of the queue, and how a batch runs it, if one may.
    #[inline]
    pub(super) fn batched(&self, at: usize) -> Option<(u16, Batched)> {
        let tag = self.input.tag(at)?;
        Some((tag, plan_of(tag)?.batched(|| self.input.args(at))?))
    }

    /// Removes `count` requests from the queue, which ran in the round that began at `round`.
    #[inline]
    pub(super) fn take(&mut self, count: usize, round: Instant) {
        self.input.take(count);
        if count > 0 {
            self.served = Some(round);
        }
    }

    /// Parses requests from the buffered bytes. If no bytes are buffered, reads once first. Returns
    /// the number of bytes read.
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
        // A read that did not fill the buffer emptied the socket. Later bytes make an event, except
        // for an end of the input that was reported already.
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

    /// Sends the bytes that may be sent, about `SENT_BYTES_MAX` at most. Returns the number of
    /// bytes sent.
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

    /// Reads and drops input. Returns whether more may be available immediately.
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

    /// Returns the input buffer to the spare ones if it is empty.
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
