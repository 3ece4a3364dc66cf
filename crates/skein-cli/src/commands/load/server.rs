//! Loads into a server over one connection: this thread writes, another one reads.
//!
//! The writer never waits for the replies of its own batch, and the reader always reads. So neither
//! side can block the other, however large the batches are. The queue of sent batches bounds the
//! unanswered requests.
//!
//! Each database has a connection of its own, which is opened when all requests of the one before
//! are answered. So no key can follow a `SELECT` that the server rejects.

use std::sync::mpsc::Receiver as Batches;

use skeindb::client::{Receiver, Sender};

use super::RecordSink;
use super::commands::{LoadReplies, SentCommand, each};
use super::queue::WorkQueue;
use super::report::LoadReport;
use crate::exit::Failure;
use crate::format::TextRecord;
use crate::remote::{CommandPeer, ServerPeer, ServerTarget, lost};

/// The most batches without replies.
const BATCHES_UNDER_WAY: usize = 8;
/// A batch is sent when its commands have this many bytes, even if it has few records.
const BATCH_BYTES: usize = 256 << 10;

/// Sends records as SET, HSET, ZADD, SADD, RPUSH and XADD commands. A record with several commands
/// counts as loaded when the last one is answered.
pub struct ServerSink<'s> {
    server: ServerTarget<'s>,
    /// The selected database.
    database: u32,
    sender: Sender,
    /// The commands in the sender's buffer.
    lines: Vec<SentCommand>,
    batch: usize,
    report: LoadReport,
    /// Sent batches, for the thread that reads the replies.
    sent: WorkQueue<Vec<SentCommand>>,
}

impl<'s> ServerSink<'s> {
    /// Returns a sink that sends batches of `batch` records.
    pub fn connect(server: ServerTarget<'s>, batch: usize, report: &LoadReport) -> Result<Self, Failure> {
        Self::start(server, server.connect()?, batch, report)
    }

    fn start(
        server: ServerTarget<'s>,
        peer: ServerPeer,
        batch: usize,
        report: &LoadReport,
    ) -> Result<Self, Failure> {
        let database = peer.database;
        let (sender, receiver) = peer.split();
        let address = server.address.to_owned();
        let replies = LoadReplies::new(report, &address);
        let sent = WorkQueue::start(BATCHES_UNDER_WAY, move |sent| {
            read_replies(receiver, &sent, replies, &address)
        })?;
        Ok(Self { server, database, sender, lines: Vec::new(), batch, report: report.clone(), sent })
    }

    /// Sends the rest, and waits for all replies.
    fn end(&mut self) -> Result<(), Failure> {
        let flushed = self.flush();
        let answered = self.sent.end();
        flushed.and(answered)
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
                // The reading thread's error says more.
                self.sent.end()?;
                Err(lost(self.server.address, &error))
            }
        }
    }
}

impl RecordSink for ServerSink<'_> {
    fn select(&mut self, database: u64) -> Result<bool, Failure> {
        // The server rejects a number that it does not have.
        let database = u32::try_from(database).unwrap_or(u32::MAX);
        if database != self.database {
            self.end()?;
            let mut peer = self.server.connect()?;
            peer.select(database)?;
            *self = Self::start(self.server, peer, self.batch, &self.report)?;
        }
        Ok(true)
    }

    fn put(&mut self, record: TextRecord) -> Result<(), Failure> {
        each(&record, |command| {
            self.sender.push(command);
            self.lines.push(SentCommand { line: record.line, last: false });
        });
        if let Some(sent) = self.lines.last_mut() {
            sent.last = true;
        }
        if self.lines.len() < self.batch && self.sender.buffered() < BATCH_BYTES {
            Ok(())
        } else {
            self.flush()
        }
    }

    fn library(&mut self, number: u64, source: &[u8]) -> Result<bool, Failure> {
        self.sender.push(&[b"FUNCTION".as_slice(), b"LOAD", b"REPLACE", source]);
        self.lines.push(SentCommand { line: number, last: true });
        self.flush().map(|()| true)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.end()
    }
}

fn read_replies(
    mut receiver: Receiver,
    sent: &Batches<Vec<SentCommand>>,
    mut replies: LoadReplies,
    address: &str,
) -> Result<(), Failure> {
    for sent in sent.iter().flatten() {
        let reply = receiver.read().map_err(|error| lost(address, &error))?;
        replies.take(sent, reply)?;
    }
    Ok(())
}
