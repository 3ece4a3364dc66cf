//! Writes an epoch to disk. If several logs take part, their writer threads write and sync in
//! parallel.

use skein_sync::locks::{lock, wait};

use super::{SharedLog, WriteState};
use crate::log_file::{CommitPart, LogFile};
use crate::record::{Mark, Participant};
use crate::writer::{CommitJob, LogWriter, UndonePart};
use crate::{LogError, Result};

/// The results of the parts that writer threads do.
#[derive(Debug, Default)]
pub(super) struct CommitParts {
    pub(super) running: usize,
    pub(super) undone: UndoneParts,
}

/// Parts of a commit that failed.
#[derive(Debug, Default)]
pub(super) struct UndoneParts {
    /// Parts that found the disk full. They must be done when there is space.
    pub(super) jobs: Vec<CommitJob>,
    /// The worst failure: a permanent one takes the place of a lack of space.
    pub(super) error: Option<LogError>,
}

impl UndoneParts {
    fn add(&mut self, error: LogError) {
        if self.error.as_ref().is_none_or(LogError::is_no_room) {
            self.error = Some(error);
        }
    }

    fn note(&mut self, result: std::result::Result<(), Box<UndonePart>>) {
        if let Err(undone) = result {
            self.jobs.push(undone.job);
            self.add(undone.error);
        }
    }
}

impl SharedLog {
    /// Writes and syncs all records of the closed `epoch` and its marks.
    ///
    /// If the disk is full, either nothing has changed, or `StalledCommit::jobs` has the parts that
    /// are left.
    pub(super) fn write_epoch(&self, epoch: u64, durable_before: u64, everywhere: bool) -> Result<()> {
        let parts = self.reserve_parts(epoch, everywhere)?;
        let participants: Vec<Participant> =
            parts.iter().map(|part| Participant { log: part.log as u32, mark: part.mark }).collect();
        self.write_parts(parts.into_iter().map(|part| CommitJob {
            part,
            epoch,
            durable_before,
            participants: participants.clone(),
        }))
    }

    /// Takes the records of `epoch` out of the buffers and reserves their positions. On an error
    /// nothing is taken.
    fn reserve_parts(&self, epoch: u64, everywhere: bool) -> Result<Vec<CommitPart>> {
        let mut files: Vec<_> = self.writers.iter().map(|writer| (writer, writer.file())).collect();
        for (_, file) in &mut files {
            file.catch_up()?;
        }
        // Taken under the files' locks, like a drain, so the order in a file is the order of
        // taking.
        let taken = files.into_iter().map(|(writer, file)| (writer, file, writer.buffer.take_closed(epoch)));
        let mut taken: Vec<_> = taken.collect();
        let takes_part = |file: &LogFile, bytes: &[u8]| {
            !bytes.is_empty() || file.has_unsynced() || (everywhere && file.is_used())
        };
        let count = taken.iter().filter(|(_, file, chunk)| takes_part(file, &chunk.bytes)).count();
        let mut reserving = taken.iter_mut().filter(|(_, file, chunk)| takes_part(file, &chunk.bytes));
        let room = reserving.try_for_each(|(_, file, chunk)| {
            file.make_room(&self.allocator, epoch, (chunk.bytes.len() + Mark::record_len(count)) as u64)
        });
        if let Err(error) = room {
            for (writer, _file, chunk) in taken {
                writer.buffer.put_back(chunk);
            }
            return Err(error);
        }
        let mut parts = Vec::with_capacity(count);
        for (writer, mut file, chunk) in taken {
            let takes_part = takes_part(&file, &chunk.bytes);
            if takes_part {
                parts.push(file.begin_part(epoch, chunk.bytes, count)?);
            }
            writer.buffer.placed();
            if !takes_part {
                self.drain_if_wanted(writer);
            }
        }
        Ok(parts)
    }

    /// Writes and syncs the parts: the first one on this thread, the others on their writer
    /// threads.
    pub(super) fn write_parts(&self, mut jobs: impl ExactSizeIterator<Item = CommitJob>) -> Result<()> {
        let Some(own) = jobs.next() else { return Ok(()) };
        let others = jobs.len();
        if others > 0 {
            *lock(&self.parts) = CommitParts { running: others, undone: UndoneParts::default() };
        }
        for job in jobs {
            let writer = &self.writers[job.part.log];
            if !writer.give(job) {
                let mut parts = lock(&self.parts);
                parts.undone.add(self.refusal(WriteState::Poisoned));
                parts.running -= 1;
            }
        }
        let writer = &self.writers[own.part.log];
        let result = writer.do_job(own);
        let mut parts = lock(&self.parts);
        while parts.running > 0 {
            parts = wait(&self.part_done, parts);
        }
        parts.undone.note(result);
        let UndoneParts { jobs, error } = std::mem::take(&mut parts.undone);
        drop(parts);
        lock(&self.stalled).jobs = jobs;
        self.writers.iter().for_each(|writer| self.drain_if_wanted(writer));
        error.map_or(Ok(()), Err)
    }

    /// Asks a writer thread to drain its buffer if that holds much. While writes wait for room, the
    /// committer thread makes all attempts.
    fn drain_if_wanted(&self, writer: &LogWriter) {
        if writer.buffer.wants_drain() && !self.is_waiting_for_room() {
            writer.ask_to_drain();
        }
    }

    /// Notes the result of a writer thread's part.
    pub fn part_done(&self, result: std::result::Result<(), Box<UndonePart>>) {
        let mut parts = lock(&self.parts);
        parts.running -= 1;
        parts.undone.note(result);
        self.part_done.notify_all();
    }

    /// Stops writes because a writer thread has panicked. With `has_part`, a commit waits for it.
    pub fn part_lost(&self, has_part: bool) {
        self.poison(&"the thread of a log panicked; see the message of the panic");
        if has_part {
            let mut parts = lock(&self.parts);
            parts.running -= 1;
            parts.undone.add(self.refusal(WriteState::Poisoned));
            self.part_done.notify_all();
        }
    }
}
