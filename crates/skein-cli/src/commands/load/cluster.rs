//! Loads into a cluster: each record is sent to the primary of its key's slot.
//!
//! The sink sends a batch to all primaries at once, and reads its replies before it sends the next
//! batch. If a connection broke, it sends the command again. That changes nothing: writing a record
//! twice has the effect of writing it once. Only RPUSH would append twice, and a batch may run the
//! commands on one key in any order. So the sink writes a record of a list at once and alone, by
//! [`ListAppend`]. It writes a part of a stream alone, too, by [`write_stream_part`].

use skein_data::StreamPart;
use skeindb::client::Reply;

use super::RecordSink;
use super::commands::{LoadReplies, SentCommand, each};
use super::report::LoadReport;
use crate::exit::Failure;
use crate::format::{RecordBody, TextRecord};
use crate::remote::{ClusterPeer, CommandPeer, ListAppend, write_stream_part};

/// A batch is sent when its commands have this many bytes, even if it has few records.
const BATCH_BYTES: usize = 1 << 20;

/// Writes records into a cluster.
pub struct ClusterSink {
    peer: ClusterPeer,
    batch: usize,
    /// Commands that wait to be sent, and their records.
    commands: Vec<Vec<Vec<u8>>>,
    lines: Vec<SentCommand>,
    bytes: usize,
    replies: LoadReplies,
}

impl ClusterSink {
    /// Returns a sink that sends batches of `batch` records.
    pub fn new(peer: ClusterPeer, batch: usize, report: &LoadReport) -> Self {
        let replies = LoadReplies::new(report, peer.address());
        Self { peer, batch, commands: Vec::new(), lines: Vec::new(), bytes: 0, replies }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.commands.is_empty() {
            return Ok(());
        }
        let replies = self.peer.pipeline(&self.commands)?;
        self.commands.clear();
        self.bytes = 0;
        self.lines.drain(..).zip(replies).try_for_each(|(sent, reply)| self.replies.take(sent, reply))
    }

    /// Appends to a list. Its commands end with the first one that is rejected.
    fn append(&mut self, record: &TextRecord) -> Result<(), Failure> {
        if self.commands.iter().any(|command| command.get(1) == Some(&record.key)) {
            self.flush()?;
        }
        let mut commands: Vec<Vec<Vec<u8>>> = Vec::new();
        each(record, |words| commands.push(words.iter().map(|word| word.to_vec()).collect()));
        let mut append = ListAppend::default();
        for (at, command) in commands.iter().enumerate() {
            let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
            let reply = match words.first() {
                Some(&b"RPUSH") => append.push(&mut self.peer, &words)?,
                _ => self.peer.call(&words)?,
            };
            let is_refused = matches!(reply, Reply::Error(_));
            let sent = SentCommand { line: record.line, last: at + 1 == commands.len() };
            self.replies.take(sent, reply)?;
            if is_refused {
                break;
            }
        }
        Ok(())
    }

    /// Writes a part of a stream. Its entries must be written in their order.
    fn write_part(&mut self, record: &TextRecord, part: &StreamPart) -> Result<(), Failure> {
        self.flush()?;
        let refused = write_stream_part(&mut self.peer, &record.key, part)?;
        let reply = refused.map_or_else(Reply::ok, Reply::Error);
        let is_refused = matches!(reply, Reply::Error(_));
        self.replies.take(SentCommand { line: record.line, last: record.expires.is_none() }, reply)?;
        let Some(expires) = record.expires.filter(|_| !is_refused) else { return Ok(()) };
        let reply = self.peer.call(&[b"PEXPIREAT", &record.key, expires.to_string().as_bytes()])?;
        self.replies.take(SentCommand { line: record.line, last: true }, reply)
    }
}

impl RecordSink for ClusterSink {
    fn select(&mut self, database: u64) -> Result<bool, Failure> {
        Ok(database == 0)
    }

    fn put(&mut self, mut record: TextRecord) -> Result<(), Failure> {
        if std::mem::take(&mut record.replaces) && !matches!(record.body, RecordBody::Stream(_)) {
            // A batch may run a removal behind the writes.
            self.flush()?;
            let reply = self.peer.call(&[b"DEL".as_slice(), &record.key])?;
            self.replies.take(SentCommand { line: record.line, last: false }, reply)?;
        }
        match &record.body {
            RecordBody::List(_) => return self.append(&record),
            RecordBody::Stream(part) => return self.write_part(&record, part),
            _ => {}
        }
        each(&record, |words| {
            self.bytes += words.iter().map(|word| word.len()).sum::<usize>();
            self.commands.push(words.iter().map(|word| word.to_vec()).collect());
            self.lines.push(SentCommand { line: record.line, last: false });
        });
        if let Some(sent) = self.lines.last_mut() {
            sent.last = true;
        }
        if self.commands.len() < self.batch && self.bytes < BATCH_BYTES { Ok(()) } else { self.flush() }
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.flush()
    }
}
