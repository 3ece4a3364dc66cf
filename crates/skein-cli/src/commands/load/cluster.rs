//! Loads into a cluster: each record is sent to the primary of its key's slot.
//!
//! The sink sends a batch to all primaries at once, and reads its replies before it sends the next
//! batch. If a connection broke, it sends the command again. That changes nothing: writing a record
//! twice has the effect of writing it once.

use super::RecordSink;
use super::commands::{LoadReplies, SentCommand, each};
use super::report::LoadReport;
use crate::exit::Failure;
use crate::format::TextRecord;
use crate::remote::{ClusterPeer, CommandPeer};

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
}

impl RecordSink for ClusterSink {
    fn put(&mut self, record: TextRecord) -> Result<(), Failure> {
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
