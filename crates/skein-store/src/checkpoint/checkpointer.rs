//! The checkpoints of an open store: one at a time, when one is due, and their numbers.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use skein_log::LogError;
use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::locks::lock;

use super::leases::FileLeases;
use super::manifest::CheckpointManifest;
use super::{CheckpointReport, CheckpointSource, write};
use crate::commit_log::CommitLog;
use crate::options::StoreOptions;
use crate::{Error, Result};

/// The logs of a small store may grow by this many bytes before a checkpoint starts.
const SMALL_LOG_BYTES: u64 = 32 << 20;

/// The logs of a larger store may grow by this many times the bytes of its newest checkpoint. So
/// checkpoints write at most a quarter of the bytes that the logs write.
const LOG_PER_CHECKPOINT: u64 = 4;

/// The state of the checkpoints of this run.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    /// See [`StoreOptions::checkpoint_log_bytes`].
    log_bytes_max: Option<u64>,
    /// See [`StoreOptions::checkpoint_interval`].
    interval: Option<Duration>,
    /// The part of the logs that the recovery replayed.
    replayed: LogVolume,
    /// The newest complete checkpoint. Held while one is written.
    last: Mutex<Option<CheckpointManifest>>,
    /// The copies of the folder's files that are being made.
    pub(crate) copies: FileLeases,
    /// A checkpoint was requested, and no checkpoint has begun since.
    requested: AtomicBool,
    pub(crate) running: AtomicBool,
    pub(crate) finished: AtomicU64,
    pub(crate) last_unix_s: AtomicU64,
    /// The failure of the last checkpoint, if it failed.
    pub(crate) last_failure: Mutex<Option<String>>,
    /// The bytes of the newest checkpoint.
    newest_bytes: AtomicU64,
    /// `logged` when the last checkpoint began.
    logged_before: Mutex<LogVolume>,
    began: Mutex<Instant>,
    pub(crate) stop: CheckpointStop,
}

/// Whether a running checkpoint is to be given up.
#[derive(Debug, Default)]
pub(crate) struct CheckpointStop {
    /// Set while closing waits for a running checkpoint, which is then abandoned.
    closing: AtomicBool,
    /// The time at which the checkpoint of closing is abandoned.
    close_by: Mutex<Option<Instant>>,
}

impl CheckpointStop {
    /// Returns whether a running checkpoint should be abandoned.
    pub(super) fn is_set(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Returns whether the checkpoint of closing has used up its time.
    pub(super) fn is_late(&self) -> bool {
        lock(&self.close_by).is_some_and(|end| Instant::now() >= end)
    }

    /// Abandons running checkpoints, or no longer does.
    pub(crate) fn set(&self, closing: bool) {
        // Relaxed: a hint that is seen soon.
        self.closing.store(closing, Ordering::Relaxed);
    }

    /// Gives the checkpoint of closing this time.
    pub(crate) fn limit(&self, within: Duration) {
        *lock(&self.close_by) = Instant::now().checked_add(within);
    }
}

/// A part of the log.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LogVolume {
    pub bytes: u64,
    pub records: u64,
}

/// The right to write a checkpoint. No other thread writes one meanwhile.
pub(crate) struct CheckpointTurn<'c> {
    of: &'c Checkpointer,
    last: MutexGuard<'c, Option<CheckpointManifest>>,
}

impl CheckpointTurn<'_> {
    /// Writes a checkpoint.
    pub(crate) fn write(&mut self, source: CheckpointSource<'_>, threads: usize) -> Result<CheckpointReport> {
        self.of.write_in_turn(source, threads, &mut self.last)
    }
}

impl Checkpointer {
    /// Returns the state after a recovery that has `replayed` the logs on top of the checkpoint
    /// `last`.
    pub(crate) fn new(options: &StoreOptions, last: Option<CheckpointManifest>, replayed: LogVolume) -> Self {
        let last_unix_s = last.as_ref().map_or(0, |manifest| manifest.unix_s);
        let newest_bytes = last.as_ref().map_or(0, CheckpointManifest::bytes);
        Self {
            log_bytes_max: options.checkpoint_log_bytes,
            interval: options.checkpoint_interval,
            replayed,
            last: Mutex::new(last),
            copies: FileLeases::default(),
            requested: AtomicBool::new(false),
            running: AtomicBool::new(false),
            finished: AtomicU64::new(0),
            last_unix_s: AtomicU64::new(last_unix_s),
            last_failure: Mutex::new(None),
            newest_bytes: AtomicU64::new(newest_bytes),
            logged_before: Mutex::default(),
            began: Mutex::new(Instant::now()),
            stop: CheckpointStop::default(),
        }
    }

    /// Writes a checkpoint, after the one that is being written.
    pub(crate) fn write(&self, source: CheckpointSource<'_>, threads: usize) -> Result<CheckpointReport> {
        self.write_in_turn(source, threads, &mut lock(&self.last))
    }

    /// Calls `act` while no checkpoint is written, with the right to write one.
    pub(crate) fn between_checkpoints<R>(&self, act: impl FnOnce(&mut CheckpointTurn<'_>) -> R) -> R {
        act(&mut CheckpointTurn { of: self, last: lock(&self.last) })
    }

    /// Requests a checkpoint. Returns false if one was requested and none has begun since.
    pub(crate) fn request(&self) -> bool {
        !self.requested.swap(true, Ordering::Relaxed)
    }

    /// Writes a checkpoint if one is requested, or if one is due and `may_be_due`.
    pub(crate) fn write_if_wanted(
        &self,
        source: CheckpointSource<'_>,
        threads: usize,
        may_be_due: bool,
    ) -> Option<Result<CheckpointReport>> {
        let is_wanted =
            || self.requested.load(Ordering::Relaxed) || (may_be_due && self.is_due(source.commit));
        if !is_wanted() {
            return None;
        }
        // Checked again under the lock, because another checkpoint may have begun meanwhile.
        let mut last = lock(&self.last);
        is_wanted().then(|| self.write_in_turn(source, threads, &mut last))
    }

    fn write_in_turn(
        &self,
        source: CheckpointSource<'_>,
        threads: usize,
        last: &mut Option<CheckpointManifest>,
    ) -> Result<CheckpointReport> {
        self.running.store(true, Ordering::Relaxed);
        // This checkpoint contains all writes before the request.
        self.requested.store(false, Ordering::Relaxed);
        *lock(&self.began) = Instant::now();
        let logged = self.logged(source.commit);
        source.commit.begin_checkpoint();
        let written = write::write(&source, last, threads);
        self.running.store(false, Ordering::Relaxed);
        let is_failure = |error: &&Error| !matches!(error, Error::Closed | Error::Cancelled);
        let failure = written.as_ref().err().filter(is_failure).map(Error::to_string);
        *lock(&self.last_failure) = failure;
        if let Ok(report) = &written {
            self.newest_bytes.store(report.bytes, Ordering::Relaxed);
            *lock(&self.logged_before) = logged;
            self.finished.fetch_add(1, Ordering::Relaxed);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            self.last_unix_s.store(now, Ordering::Relaxed);
        } else {
            source.commit.written();
        }
        written
    }

    /// Returns the part of the log that the checkpoint at the start of this run does not cover: the
    /// replayed records, and those appended since.
    fn logged(&self, commit: &CommitLog) -> LogVolume {
        let stats = commit.log.stats();
        let LogVolume { bytes, records } = self.replayed;
        LogVolume { bytes: bytes + stats.appended_bytes, records: records + stats.appended_records }
    }

    /// Returns the part of the log that no checkpoint covers.
    pub(crate) fn since_last(&self, commit: &CommitLog) -> LogVolume {
        let before = *lock(&self.logged_before);
        let all = self.logged(commit);
        LogVolume { bytes: all.bytes - before.bytes, records: all.records - before.records }
    }

    /// Returns the log bytes at which a checkpoint starts; `None` for never.
    pub(crate) fn due_at(&self) -> Option<u64> {
        let by_size = self.newest_bytes.load(Ordering::Relaxed).saturating_mul(LOG_PER_CHECKPOINT);
        self.log_bytes_max.map(|limit| limit.min(by_size.max(SMALL_LOG_BYTES)))
    }

    /// Returns whether a checkpoint should start without a request.
    fn is_due(&self, commit: &CommitLog) -> bool {
        let by_size = self.due_at().is_some_and(|limit| self.since_last(commit).bytes >= limit);
        let by_time = self.interval.is_some_and(|interval| {
            let began = *lock(&self.began);
            began.elapsed() >= interval && commit.is_written()
        });
        match commit.log.poisoned() {
            None => by_size || by_time,
            // A checkpoint frees space if anything was written since the last one.
            Some(LogError::NoRoom { .. }) => {
                (self.log_bytes_max.is_some() || self.interval.is_some()) && commit.is_written()
            }
            Some(_) => false,
        }
    }
}
