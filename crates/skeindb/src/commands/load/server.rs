//! Loading into a server: one connection, written by this thread and read by another.
//!
//! Writing never waits for the replies of its own batch, and replies are always being read, so neither side can
//! block the other however large the batches are. The queue of sent batches bounds what is under way.

use std::sync::mpsc::Receiver as Batches;

use skein_server::write_double;
use skeindb::client::{Receiver, Reply, Sender};

use super::Sink;
use super::queue::Queue;
use super::report::Report;
use crate::exit::Failure;
use crate::format::{Body, Record};
use crate::remote::{ServerTarget, lost};

/// Batches that may be unanswered.
const BATCHES_UNDER_WAY: usize = 8;
/// A batch is sent when its commands take this many bytes, even if it has few records.
const BATCH_BYTES: usize = 256 << 10;

/// A command that was sent.
#[derive(Clone, Copy)]
struct Sent {
    /// The line of its record.
    line: u64,
    /// Whether it is the last one of the record.
    last: bool,
}

/// Columns or members of a command, at most: a server takes so many arguments.
const PAIRS: usize = 10_000;

/// Sends records as SET, HSET and ZADD commands; what has several commands, or is no value and expires, is loaded when the last one is done.
pub struct ServerSink {
    sender: Sender,
    /// The commands in the sender's buffer.
    lines: Vec<Sent>,
    batch: usize,
    address: String,
    /// Sent batches, for the thread that reads the replies.
    sent: Queue<Vec<Sent>>,
}

impl ServerSink {
    /// A sink that sends batches of `batch` records.
    pub fn connect(server: &ServerTarget<'_>, batch: usize, report: &Report) -> Result<Self, Failure> {
        let (sender, receiver) = server.connect()?.split();
        let address = server.address.to_owned();
        let (report, peer) = (report.clone(), address.clone());
        let sent =
            Queue::start(BATCHES_UNDER_WAY, move |sent| read_replies(receiver, &sent, &report, &peer))?;
        Ok(Self { sender, lines: Vec::new(), batch, address, sent })
    }

    /// Adds a command of the record on this line.
    fn push<A: AsRef<[u8]>>(&mut self, line: u64, command: &[A]) {
        self.sender.push(command);
        self.lines.push(Sent { line, last: false });
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.lines.is_empty() {
            return Ok(());
        }
        if !self.sent.put(std::mem::take(&mut self.lines))? {
            return Ok(());
        }
        match self.sender.flush() {
            Ok(()) => Ok(()),
            Err(error) => {
                // What the reading thread knows says more.
                self.sent.end()?;
                Err(lost(&self.address, &error))
            }
        }
    }
}

impl Sink for ServerSink {
    fn put(&mut self, record: Record) -> Result<(), Failure> {
        let (line, key) = (record.line, record.key.as_slice());
        let expires = record.expires.map(|expires| expires.to_string());
        let expires = expires.as_ref().map(String::as_bytes);
        match (&record.body, expires) {
            (Body::Value(value), None) => self.push(line, &[b"SET", key, value]),
            (Body::Value(value), Some(expires)) => {
                self.push(line, &[b"SET", key, value, b"PXAT", expires]);
            }
            (Body::Columns(columns), _) => {
                for columns in columns.chunks(PAIRS) {
                    let mut command: Vec<&[u8]> = vec![b"HSET", key];
                    command.extend(columns.iter().flat_map(|(name, value)| [name.as_slice(), value]));
                    self.push(line, &command);
                }
            }
            (Body::Members(members), _) => members.chunks(PAIRS).for_each(|members| {
                let mut command = vec![b"ZADD".to_vec(), key.to_vec()];
                for (member, score) in members {
                    let mut text = Vec::new();
                    write_double(&mut text, *score);
                    command.extend([text, member.clone()]);
                }
                self.push(line, &command);
            }),
        }
        if let (Body::Columns(_) | Body::Members(_), Some(expires)) = (&record.body, expires) {
            self.push(line, &[b"PEXPIREAT", key, expires]);
        }
        if let Some(sent) = self.lines.last_mut() {
            sent.last = true;
        }
        if self.lines.len() < self.batch && self.sender.buffered() < BATCH_BYTES {
            Ok(())
        } else {
            self.flush()
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        let flushed = self.flush();
        let answered = self.sent.end();
        flushed.and(answered)
    }
}

fn read_replies(
    mut receiver: Receiver,
    sent: &Batches<Vec<Sent>>,
    report: &Report,
    address: &str,
) -> Result<(), Failure> {
    // Of which record a command before the last one was refused.
    let mut refused = None;
    for commands in sent {
        for Sent { line, last } in commands {
            match receiver.read().map_err(|error| lost(address, &error))? {
                Reply::Error(text) if stops_all(&text) => {
                    return Err(Failure::new(format!("line {line}: {address} answers: {text}")));
                }
                // It is counted once.
                _ if refused == Some(line) => {}
                Reply::Error(text) => {
                    refused = Some(line);
                    report.refuse(line, &text);
                }
                _ if last => report.load(1),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether an error is not of this record, but of every write.
fn stops_all(error: &str) -> bool {
    ["MISCONF", "NOAUTH", "READONLY", "LOADING"].iter().any(|code| error.starts_with(code))
}
