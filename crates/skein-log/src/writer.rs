//! The writer of one log: its buffer, its files, and a thread that drains the buffer into the
//! files.
//!
//! The thread has two tasks. It writes records of the open epoch without a sync when many have
//! accumulated, so that a commit has little left to write. And it does its log's part of a commit
//! in which several logs take part, so that their syncs overlap.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard};

use skein_sync::background::{OnPanic, ThreadSignal};
use skein_sync::locks::lock;

use crate::buffer::LogBuffer;
use crate::log_file::{CommitPart, LogFile};
use crate::record::Participant;
use crate::segment_allocator::SegmentAllocator;
use crate::{LogError, Result};

/// A part of a commit for a writer thread.
#[derive(Debug)]
pub struct CommitJob {
    pub part: CommitPart,
    pub epoch: u64,
    pub durable_before: u64,
    pub participants: Vec<Participant>,
}

/// A failed part of a commit, with the error.
#[derive(Debug)]
pub struct UndonePart {
    pub job: CommitJob,
    pub error: LogError,
}

/// The next job of the thread.
#[derive(Debug, Default)]
struct JobSlot {
    job: Option<CommitJob>,
    /// The thread has ended, and accepts no more jobs.
    is_closed: bool,
}

/// The writer of one log; see the module head.
#[derive(Debug)]
pub struct LogWriter {
    pub buffer: LogBuffer,
    file: Mutex<LogFile>,
    slot: Mutex<JobSlot>,
    /// Wakes the thread. Once it is stopped, the thread does its current job and drains nothing
    /// more.
    pub thread: Arc<ThreadSignal>,
}

impl LogWriter {
    pub fn new(buffer: LogBuffer, file: LogFile) -> Self {
        Self { buffer, file: Mutex::new(file), slot: Mutex::default(), thread: Arc::default() }
    }

    /// Locks the log's files. Lock them before the buffer if you need both.
    pub fn file(&self) -> MutexGuard<'_, LogFile> {
        lock(&self.file)
    }

    /// Asks the thread to drain the buffer.
    #[cold]
    pub fn ask_to_drain(&self) {
        self.thread.wake();
    }

    /// Blocks until the buffer has room or `give_up` returns true. The thread drains the buffer,
    /// and waits for the next segment where the buffer fills the room on the disk.
    #[cold]
    pub fn wait_for_room(&self, give_up: impl Fn() -> bool) {
        self.ask_to_drain();
        self.buffer.wait_for_room(give_up);
    }

    /// Gives the thread its part of a commit. Returns false if the thread has ended; then nobody
    /// does the part.
    pub fn give(&self, job: CommitJob) -> bool {
        let mut slot = lock(&self.slot);
        if slot.is_closed {
            return false;
        }
        slot.job = Some(job);
        drop(slot);
        self.thread.wake();
        true
    }

    /// Runs the thread. Calls `done` with the result of each job, `failed` if a drain fails, and
    /// `secure_room`, which waits for the next segment, if the buffer fills the room on the disk.
    /// If the thread panics, calls `lost` with whether it leaves a job undone.
    pub fn run(
        &self,
        allocator: &SegmentAllocator,
        done: impl Fn(std::result::Result<(), Box<UndonePart>>),
        failed: impl Fn(LogError),
        secure_room: impl Fn(),
        lost: impl Fn(bool),
    ) {
        let has_job = Cell::new(false);
        let _end = OnPanic(|| lost(self.close_slot().is_some() || has_job.get()));
        while self.thread.wait() {
            let job = lock(&self.slot).job.take();
            if let Some(job) = job {
                has_job.set(true);
                let result = self.do_job(job);
                has_job.set(false);
                done(result);
            }
            match self.drain(allocator) {
                Ok(()) if self.buffer.fills_the_room() && !self.thread.is_stopped() => secure_room(),
                Ok(()) => {}
                Err(error) => failed(error),
            }
            // Also if the segment became ready before this thread looked: a thread may have found
            // none.
            self.buffer.wake_all();
        }
        if let Some(job) = self.close_slot() {
            has_job.set(true);
            let result = self.do_job(job);
            has_job.set(false);
            done(result);
        }
    }

    /// Takes the last job: a job that is given later is refused, and so every job is done or
    /// refused.
    fn close_slot(&self) -> Option<CommitJob> {
        let mut slot = lock(&self.slot);
        slot.is_closed = true;
        slot.job.take()
    }

    /// Writes and syncs this log's part of a commit.
    pub fn do_job(&self, mut job: CommitJob) -> std::result::Result<(), Box<UndonePart>> {
        if let Err(error) = job.part.write(job.epoch, job.durable_before, &job.participants) {
            return Err(Box::new(UndonePart { job, error }));
        }
        self.file().end_part(&job.part);
        self.buffer.give_back(job.part.take_bytes());
        Ok(())
    }

    /// Writes the records of the open epoch while there are many.
    fn drain(&self, allocator: &SegmentAllocator) -> Result<()> {
        while self.buffer.wants_drain() && !self.thread.is_stopped() {
            let mut file = self.file();
            file.catch_up()?;
            // Taken under the file's lock, so the order of taking is the order in the file.
            let Some(chunk) = self.buffer.take_open() else { return Ok(()) };
            if let Err(error) = file.make_room(allocator, chunk.epoch, chunk.bytes.len() as u64) {
                self.buffer.put_back(chunk);
                return Err(error);
            }
            let drained = file.drain(chunk.epoch, &chunk.bytes);
            self.buffer.placed();
            drained?;
            drop(file);
            self.buffer.give_back(chunk.bytes);
        }
        Ok(())
    }
}
