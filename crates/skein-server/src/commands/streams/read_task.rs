//! The reply of XREAD with many entries, in slices.

use std::collections::VecDeque;

use super::ranges::EntriesReply;
use crate::commands::task::{
    ReplyEnd, SLICE_KEYS, SliceResult, SlicedTask, TaskProgress, TaskSlice, ViewTask,
};
use crate::resp::{Protocol, Reply};
use skein_data::name_within;

/// A stream of a reply: its key and its entries.
pub(super) struct StreamPart {
    key: Vec<u8>,
    entries: ViewTask<EntriesReply>,
}

/// Writes the head of a reply with so many streams.
pub(super) fn write_head(streams: usize, reply: &mut Reply) {
    match reply.protocol() {
        Protocol::Resp2 => reply.array(streams),
        Protocol::Resp3 => reply.map(streams),
    }
}

impl StreamPart {
    pub(super) fn new(key: &[u8], entries: EntriesReply) -> Self {
        Self { key: key.to_vec(), entries: ViewTask::new(entries) }
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.key.len()
    }

    /// Writes the head of a stream's reply, which stands before its entries.
    pub(super) fn write_key(key: &[u8], reply: &mut Reply) {
        if reply.protocol() == Protocol::Resp2 {
            reply.array(2);
        }
        reply.bulk(name_within(key));
    }
}

/// Writes the streams of a reply in slices.
pub(crate) struct ReadStreamsTask {
    parts: VecDeque<StreamPart>,
    /// Bytes of the parts.
    bytes: usize,
    /// The key of the first part is not written yet.
    new: bool,
    /// The head is not written yet.
    begins: bool,
}

impl ReadStreamsTask {
    pub(super) fn new(parts: Vec<StreamPart>) -> Self {
        let bytes = parts.iter().map(StreamPart::memory).sum();
        Self { parts: parts.into(), bytes, new: true, begins: true }
    }
}

impl SlicedTask for ReadStreamsTask {
    fn step(&mut self, slice: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        if std::mem::take(&mut self.begins) {
            write_head(self.parts.len(), reply);
        }
        let (end, mut work) = (ReplyEnd::of_slice(reply), 0);
        while let Some(part) = self.parts.front_mut() {
            if work >= SLICE_KEYS as u64 || end.check(reply).is_break() {
                return Ok(TaskProgress::More);
            }
            if std::mem::take(&mut self.new) {
                StreamPart::write_key(&part.key, reply);
            }
            let left = part.entries.left();
            let progress = part.entries.step(slice, reply)?;
            work += 1 + left - part.entries.left();
            if matches!(progress, TaskProgress::More) {
                continue;
            }
            self.bytes -= part.memory();
            self.parts.pop_front();
            self.new = true;
        }
        Ok(TaskProgress::Done)
    }

    fn held(&self) -> usize {
        self.bytes
    }
}
