//! Writing an epoch: each log's part, in parallel where there are several.

use skein_sync::locks::{lock, wait};

use super::{POISONED, Shared};
use crate::record::Participant;
use crate::writer::Job;
use crate::{LogError, Result};

/// How the parts of a commit went that other threads do.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) running: usize,
    pub(super) failed: Option<LogError>,
}

impl Shared {
    /// Writes and syncs all records of `epoch`, which is closed, and its marks.
    pub(super) fn write_epoch(&self, epoch: u64, durable_before: u64, everywhere: bool) -> Result<()> {
        let mut files = Vec::new();
        for writer in &self.writers {
            let file = writer.file();
            // Taken under the file's lock, like a drain: the order in the file is the order of taking.
            let taken = writer.buffer.take_closed(epoch);
            if !taken.bytes.is_empty() || file.has_unsynced() || (everywhere && file.is_used()) {
                files.push((file, taken.bytes));
            } else if writer.buffer.wants_drain() {
                writer.ask_to_drain();
            }
        }
        let count = files.len();
        let mut parts = Vec::with_capacity(count);
        for (mut file, bytes) in files {
            parts.push(file.begin_part(&self.maker, epoch, bytes, count)?);
        }
        let participants: Vec<Participant> =
            parts.iter().map(|part| Participant { log: part.log as u32, mark: part.mark }).collect();
        self.write_parts(parts.into_iter().map(|part| Job {
            part,
            epoch,
            durable_before,
            participants: participants.clone(),
        }))
    }

    /// Writes and syncs the parts: the first one here, the others in their writers' threads.
    fn write_parts(&self, mut jobs: impl ExactSizeIterator<Item = Job>) -> Result<()> {
        let Some(own) = jobs.next() else { return Ok(()) };
        let others = jobs.len();
        if others > 0 {
            *lock(&self.parts) = Parts { running: others, failed: None };
        }
        for job in jobs {
            let writer = &self.writers[job.part.log];
            if !writer.give(job) {
                self.part_done(Err(self.refusal(POISONED)));
            }
        }
        let writer = &self.writers[own.part.log];
        let mut result = writer.do_job(own);
        if others > 0 {
            let mut parts = lock(&self.parts);
            while parts.running > 0 {
                parts = wait(&self.part_done, parts);
            }
            result = result.and(parts.failed.take().map_or(Ok(()), Err));
        }
        for writer in &self.writers {
            if writer.buffer.wants_drain() {
                writer.ask_to_drain();
            }
        }
        result
    }

    /// A writer's thread has done its part.
    pub fn part_done(&self, result: Result<()>) {
        let mut parts = lock(&self.parts);
        parts.running -= 1;
        if let Err(error) = result {
            parts.failed = Some(error);
        }
        self.part_done.notify_all();
    }
}
