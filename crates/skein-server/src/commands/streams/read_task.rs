//! The reply of XREAD with many entries, in slices.

use std::collections::VecDeque;

use super::ranges::EntriesReply;
use crate::commands::CommandError;
use crate::commands::task::{TaskProgress, TaskSlice, ViewTask};
use crate::resp::{Protocol, ReplyWriter};
use skein_data::name_within;

/// A stream of a reply: its key and its entries.
pub(super) struct StreamPart {
    key: Vec<u8>,
    entries: ViewTask<EntriesReply>,
}

/// Writes the head of a reply with so many streams.
pub(super) fn write_head(streams: usize, reply: &mut ReplyWriter<'_>) {
    match reply.protocol() {
        Protocol::Resp2 => reply.array(streams),
        Protocol::Resp3 => reply.map(streams),
    }
}

impl StreamPart {
    pub(super) fn new(key: &[u8], entries: EntriesReply) -> Self {
        Self { key: key.to_vec(), entries: ViewTask::new(entries) }
    }

    /// Writes what comes before the entries of a stream.
    pub(super) fn write_key(key: &[u8], reply: &mut ReplyWriter<'_>) {
        if reply.protocol() == Protocol::Resp2 {
            reply.array(2);
        }
        reply.bulk(name_within(key));
    }
}

/// Writes the streams of a reply in slices.
pub(crate) struct ReadStreamsTask {
    parts: VecDeque<StreamPart>,
    /// The key of the first part is not written yet.
    new: bool,
    /// The head is not written yet.
    begins: bool,
}

impl ReadStreamsTask {
    pub(super) fn new(parts: Vec<StreamPart>) -> Self {
        Self { parts: parts.into(), new: true, begins: true }
    }

    /// Returns the bytes that the keys take.
    pub(in crate::commands) fn memory(&self) -> usize {
        self.parts.iter().map(|part| size_of::<StreamPart>() + part.key.len()).sum()
    }

    pub(in crate::commands) fn step(
        &mut self,
        slice: &TaskSlice<'_>,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<TaskProgress, CommandError> {
        if std::mem::take(&mut self.begins) {
            write_head(self.parts.len(), reply);
        }
        let Some(part) = self.parts.front_mut() else { return Ok(TaskProgress::Done) };
        if std::mem::take(&mut self.new) {
            StreamPart::write_key(&part.key, reply);
        }
        if matches!(part.entries.step(slice, reply)?, TaskProgress::More) {
            return Ok(TaskProgress::More);
        }
        self.parts.pop_front();
        self.new = true;
        Ok(if self.parts.is_empty() { TaskProgress::Done } else { TaskProgress::More })
    }
}
