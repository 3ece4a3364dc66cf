//! Loading into a server: one connection, written by this thread and read by another.
//!
//! Writing never waits for the replies of its own batch, and replies are always being read, so neither side can
//! block the other however large the batches are. The queue of sent batches bounds what is under way.

use std::sync::mpsc::Receiver as Batches;

use skeindb::client::{Receiver, Reply, Sender};

use super::Sink;
use super::queue::Queue;
use super::report::Report;
use crate::exit::Failure;
use crate::format::{Body, Record};
use crate::target::{ServerTarget, lost};

/// Batches that may be unanswered.
const BATCHES_UNDER_WAY: usize = 8;
/// A batch is sent when its commands take this many bytes, even if it has few records.
const BATCH_BYTES: usize = 256 << 10;

/// Sends records as SET and HSET commands.
pub struct ServerSink {
    sender: Sender,
    /// The lines of the commands in the sender's buffer.
    lines: Vec<u64>,
    batch: usize,
    address: String,
    /// Sent batches, for the thread that reads the replies.
    sent: Queue<Vec<u64>>,
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
        match &record.body {
            Body::Value(value) => self.sender.push(&[b"SET", record.key.as_slice(), value]),
            Body::Columns(columns) => {
                let mut command: Vec<&[u8]> = vec![b"HSET", &record.key];
                command.extend(columns.iter().flat_map(|(name, value)| [name.as_slice(), value]));
                self.sender.push(&command);
            }
        }
        self.lines.push(record.line);
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
    sent: &Batches<Vec<u64>>,
    report: &Report,
    address: &str,
) -> Result<(), Failure> {
    for lines in sent {
        for line in lines {
            match receiver.read().map_err(|error| lost(address, &error))? {
                Reply::Error(text) if stops_all(&text) => {
                    return Err(Failure::new(format!("line {line}: {address} answers: {text}")));
                }
                Reply::Error(text) => report.refuse(line, &text),
                _ => report.load(1),
            }
        }
    }
    Ok(())
}

/// Whether an error is not of this record, but of every write.
fn stops_all(error: &str) -> bool {
    ["MISCONF", "NOAUTH", "READONLY", "LOADING"].iter().any(|code| error.starts_with(code))
}
