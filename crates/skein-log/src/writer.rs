//! One log's writer: its buffer, its files, and a thread that drains the one into the other.
//!
//! The thread does two things: it writes what has piled up of the open epoch (no sync), so that a commit has little left
//! to write; and it does its log's part of a commit in which several logs take part, so that their syncs overlap.

use std::sync::{Condvar, Mutex, MutexGuard};

use skein_sync::locks::{lock, wait};

use crate::buffer::LogBuffer;
use crate::log_file::{CommitPart, LogFile};
use crate::record::Participant;
use crate::segment_allocator::SegmentAllocator;
use crate::{LogError, Result};

/// A part of a commit for a writer's thread to do.
#[derive(Debug)]
pub struct CommitJob {
    pub part: CommitPart,
    pub epoch: u64,
    pub durable_before: u64,
    pub participants: Vec<Participant>,
}

/// A part that was not done, and why.
#[derive(Debug)]
pub struct UndonePart {
    pub job: CommitJob,
    pub error: LogError,
}

#[derive(Debug, Default)]
struct WriterSignal {
    drain: bool,
    job: Option<CommitJob>,
    stopped: bool,
}

/// One log's writer.
#[derive(Debug)]
pub struct LogWriter {
    pub buffer: LogBuffer,
    file: Mutex<LogFile>,
    signal: Mutex<WriterSignal>,
    signalled: Condvar,
}

impl LogWriter {
    pub fn new(buffer: LogBuffer, file: LogFile) -> Self {
        Self { buffer, file: Mutex::new(file), signal: Mutex::default(), signalled: Condvar::new() }
    }

    /// The log's files. Locked before the buffer, where both are.
    pub fn file(&self) -> MutexGuard<'_, LogFile> {
        lock(&self.file)
    }

    /// Asks the thread to drain the buffer.
    #[cold]
    pub fn ask_to_drain(&self) {
        lock(&self.signal).drain = true;
        self.signalled.notify_one();
    }

    /// Gives the thread its part of a commit; false if the thread was stopped, and then nobody does it.
    pub fn give(&self, job: CommitJob) -> bool {
        let mut signal = lock(&self.signal);
        if !signal.stopped {
            signal.job = Some(job);
            self.signalled.notify_one();
        }
        !signal.stopped
    }

    /// Ends the thread, after the job that it may have. Nothing more is drained.
    pub fn stop(&self) {
        lock(&self.signal).stopped = true;
        self.signalled.notify_one();
    }

    /// The thread. `done` hears how each job ended, `failed` of a drain that failed.
    pub fn run(
        &self,
        maker: &SegmentAllocator,
        done: impl Fn(std::result::Result<(), Box<UndonePart>>),
        failed: impl Fn(LogError),
    ) {
        loop {
            let mut signal = lock(&self.signal);
            while !signal.drain && signal.job.is_none() && !signal.stopped {
                signal = wait(&self.signalled, signal);
            }
            let job = signal.job.take();
            if job.is_none() && signal.stopped {
                return;
            }
            let drain = std::mem::take(&mut signal.drain);
            drop(signal);
            if let Some(job) = job {
                done(self.do_job(job));
            }
            if drain && let Err(error) = self.drain(maker) {
                failed(error);
            }
        }
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

    /// Writes what there is of the open epoch, while it is much.
    fn drain(&self, maker: &SegmentAllocator) -> Result<()> {
        while self.buffer.wants_drain() && !lock(&self.signal).stopped {
            let mut file = self.file();
            file.catch_up()?;
            // Taken under the file's lock: so what is taken first is also first in the file.
            let Some(chunk) = self.buffer.take_open() else { return Ok(()) };
            if let Err(error) = file.make_room(maker, chunk.epoch, chunk.bytes.len() as u64) {
                self.buffer.put_back(chunk);
                return Err(error);
            }
            file.drain(chunk.epoch, &chunk.bytes)?;
            drop(file);
            self.buffer.give_back(chunk.bytes);
        }
        Ok(())
    }
}
