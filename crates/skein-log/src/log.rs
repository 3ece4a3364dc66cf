//! The public interface of the log: opens the folders, starts the threads and passes calls on to
//! [`SharedLog`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use skein_sync::background::{BackgroundThread, ThreadSignal};
use skein_sync::locks::lock;

use crate::buffer::LogBuffer;
use crate::commit::{SharedLog, Standstill};
use crate::epoch::EpochGate;
use crate::log_cut::LogCut;
use crate::log_file::{ClosedSegment, LogFile, remove_segments};
use crate::log_room::LogRoom;
use crate::operation::LogOperation;
use crate::record::SegmentLink;
use crate::recovery::{self, KeptLog, LogFolders};
use crate::segment_allocator::{SegmentAllocator, SegmentOrder};
use crate::segment_manifest::{self, SegmentManifests};
use crate::storage::{Storage, StorageLock, lock_folder, make_folder};
use crate::writer::LogWriter;
use crate::{CheckpointEpochs, Durability, LogError, LogOptions, Recovered, Result, random, random_id};

/// Several logs that become durable together, epoch by epoch. Threads share it by reference.
#[derive(Debug)]
pub struct Log {
    shared: Arc<SharedLog>,
    manifests: Arc<SegmentManifests>,
    options: LogOptions,
    database: [u8; 16],
    /// Segments of earlier runs, by log, oldest first.
    old: Mutex<Vec<Vec<ClosedSegment>>>,
    threads: Mutex<Vec<BackgroundThread>>,
    locks: Mutex<Vec<Box<dyn StorageLock>>>,
}

/// Statistics of the logs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LogStats {
    /// The current epoch.
    pub epoch: u64,
    /// The last durable epoch.
    pub durable_epoch: u64,
    /// Segment files on disk, including those of earlier runs.
    pub segments: usize,
    /// Bytes of records in these files, without reserved space.
    pub bytes: u64,
    /// Bytes appended since the log was opened.
    pub appended_bytes: u64,
    /// Records appended since the log was opened.
    pub appended_records: u64,
    /// Appended bytes that are not durable yet. A crash would lose them.
    pub behind_bytes: u64,
    /// Epochs made durable since the log was opened.
    pub commits: u64,
    /// The reason why writes are stopped, or `None` if they are not.
    pub poisoned: Option<String>,
}

impl Log {
    /// Opens the logs in `options.folders` and `options.also_read` and recovers their records.
    /// Creates missing folders.
    ///
    /// When it returns, records that were not durable are durably discarded, and
    /// [`Recovered::replay`] reads the others. `checkpoint` names the first epoch that the logs are
    /// needed for; without a checkpoint they are needed from their start. At `Durability::None`
    /// existing logs are recovered as well, but nothing is written.
    ///
    /// # Errors
    /// Returns an error if an option is out of range, a folder is in use, a file operation fails, a
    /// format is unknown, a file is damaged, or the opening is cancelled.
    pub fn open(
        storage: Arc<dyn Storage>,
        options: LogOptions,
        checkpoint: Option<CheckpointEpochs>,
    ) -> Result<(Self, Recovered)> {
        options.check()?;
        let locks = lock_folders(&*storage, &options)?;
        let folders = options.all_folders();
        let manifests = segment_manifest::read_all(&*storage, &folders)?;
        let checkpoint = CheckpointEpochs::or_none(checkpoint);
        let recover = if options.give_up { recovery::give_up } else { recovery::recover };
        let outcome = recover(
            &*storage,
            LogFolders { paths: &folders, manifests: &manifests },
            checkpoint,
            &options.progress,
        )?;
        let database = outcome.database.or(options.database).unwrap_or_else(random_id);
        if options.database.is_some_and(|wanted| wanted != database) {
            return Err(LogError::BadOption {
                name: "database",
                why: "the logs in the folders belong to another database; name this database's folders"
                    .into(),
            });
        }
        // Everything above only reads, after it has created and locked the folders. From here on
        // files change.
        let manifests = SegmentManifests::reconcile(
            storage.clone(),
            &folders,
            manifests,
            database,
            &outcome.plan.kept(),
        )?;
        outcome.plan.execute(&*storage)?;
        report(&outcome.report);
        let recovered = Recovered::new(&outcome);
        let logs = &outcome.plan.logs;
        let first_epoch = outcome.last_epoch.max(checkpoint.end) + 1;
        let manifests = Arc::new(manifests);
        let shared = Arc::new(share(storage, manifests.clone(), &options, database, first_epoch, logs));
        let old = logs.iter().map(old_segments).collect();
        let log = Self {
            shared,
            manifests,
            options,
            database,
            old: Mutex::new(old),
            threads: Mutex::default(),
            locks: Mutex::new(locks),
        };
        log.start_threads()?;
        Ok((log, recovered))
    }

    fn start_threads(&self) -> Result<()> {
        if self.options.durability == Durability::None {
            return Ok(());
        }
        // They are stopped in this order, so a writer that waits for a segment gets it.
        let mut threads = lock(&self.threads);
        let (shared, interval) = (self.shared.clone(), self.options.flush_interval);
        threads.push(start("skein-commit", &self.shared.committer, move || shared.run_committer(interval))?);
        for (log, writer) in self.shared.writers.iter().enumerate() {
            let shared = self.shared.clone();
            let run = move || shared.run_writer(log);
            threads.push(start(&format!("skein-log-{log}"), &writer.thread, run)?);
        }
        let shared = self.shared.clone();
        let signal = &self.shared.allocator.thread;
        threads.push(start("skein-segments", signal, move || {
            shared.allocator.run(|| shared.poison(&"the thread that creates segments panicked"));
        })?);
        Ok(())
    }

    /// Returns the number of logs that can be entered.
    pub fn logs(&self) -> usize {
        self.options.logs
    }

    /// Returns the guarantee of an acknowledged write.
    pub fn durability(&self) -> Durability {
        self.options.durability
    }

    /// Returns the database id that all segments carry: the id of the segments found, else the id
    /// in the options, else a new one.
    pub fn database(&self) -> [u8; 16] {
        self.database
    }

    /// Enters the current epoch for an operation that will append to log number `log` (counted from
    /// 0).
    ///
    /// Blocks while the buffer of that log is over its bound, or at `Buffered` while it holds all
    /// that has a place on the disk. Several threads may use one log.
    ///
    /// # Errors
    /// Returns an error if the log is poisoned, closed, or waits for space on the disk.
    ///
    /// # Panics
    /// Panics if there is no such log.
    #[inline]
    pub fn enter(&self, log: usize) -> Result<LogOperation<'_>> {
        if let Some(writer) = self.shared.writers.get(log)
            && writer.buffer.is_full()
        {
            writer.wait_for_room(|| self.shared.check().is_err());
        }
        let operation = LogOperation::enter(&self.shared, log);
        // Must be checked after entering: see `SharedLog::close`.
        self.shared.check()?;
        Ok(operation)
    }

    /// Returns the current epoch.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.shared.gate.epoch()
    }

    /// Returns the current moment. Moments divide the operations as epochs do, but closing one
    /// writes nothing. Read it under the latch of the key that changes; see
    /// [`close_moment`](Self::close_moment).
    #[inline]
    pub fn moment(&self) -> u64 {
        self.shared.gate.moment()
    }

    /// Closes the current moment and returns it: all changes that read this moment or an earlier
    /// one are complete, and later ones read a later moment. A group stays within one moment.
    ///
    /// Waits for the operations that are inside an epoch now, and not for the disk: it works at
    /// every durability, also while the disk is full. The calling thread must not be inside.
    ///
    /// ```
    /// use skein_log::{Durability, Log, LogOptions, storage::OsStorage};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let options =
    ///     LogOptions { durability: Durability::None, ..LogOptions::new(vec![folder.path().into()]) };
    /// let (log, _) = Log::open(std::sync::Arc::new(OsStorage), options, None)?;
    /// let (epoch, moment) = (log.epoch(), log.close_moment());
    /// assert_eq!((log.epoch(), log.moment()), (epoch, moment + 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close_moment(&self) -> u64 {
        self.shared.gate.close_moment()
    }

    /// Waits until every operation that is inside an epoch now has ended. An operation that enters
    /// later sees all that the caller wrote before the call. The calling thread must not be inside.
    pub fn wait_for_operations(&self) {
        self.shared.gate.wait_until_left();
    }

    /// Returns the last durable epoch. All earlier epochs are durable, too.
    #[inline]
    pub fn durable_epoch(&self) -> u64 {
        self.shared.durable()
    }

    /// Blocks until `epoch` is durable. If no commit is under way, this thread runs it. At
    /// `Durability::None` it returns immediately.
    ///
    /// # Errors
    /// Returns an error if the log is poisoned, waits for space on the disk, or was closed before.
    ///
    /// # Panics
    /// Panics if the epoch has not begun.
    pub fn wait_durable(&self, epoch: u64) -> Result<()> {
        self.shared.wait_durable(epoch)
    }

    /// Asks a background thread to make `epoch` durable now, and returns immediately. See
    /// [`on_durable`](Self::on_durable).
    pub fn request_durable(&self, epoch: u64) {
        self.shared.request(epoch);
    }

    /// Registers `callback`. Any thread calls it when the durable epoch has advanced or writes have
    /// stopped. It must return quickly and must not call the log, except for
    /// [`durable_epoch`](Self::durable_epoch) and [`poisoned`](Self::poisoned).
    pub fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        self.shared.on_durable(Box::new(callback));
    }

    /// Closes the current epoch, makes it durable and returns it. An operation that ended before
    /// the call belongs to this epoch or an earlier one. An operation that starts after the call
    /// belongs to a later one.
    ///
    /// So a checkpoint takes `begin = commit()? + 1` before its scan, and `end = commit()?` after
    /// it. At `Durability::None` the epoch closes as well, and nothing is written.
    ///
    /// # Errors
    /// Returns an error if the log is poisoned, closed, or waits for space on the disk.
    pub fn commit(&self) -> Result<u64> {
        self.shared.commit()
    }

    /// Returns a moment without writers, for a checkpoint that frees disk space; `None` if writes
    /// do not wait for space. The stalled commit is not tried again until the standstill is
    /// dropped.
    ///
    /// The checkpoint covers [`CheckpointEpochs`] `{ begin: epoch, end: epoch - 1 }`, where `epoch`
    /// is [`Standstill::epoch`]. `past` is the begin epoch of the newest checkpoint, or 0. If
    /// `epoch` is not after it, nothing was written since, and that checkpoint is complete.
    pub fn stand_still(&self, past: u64) -> Option<Standstill<'_>> {
        self.shared.stand_still(past)
    }

    /// Closes the current epoch as [`commit`](Self::commit), and returns the files of all logs up
    /// to its end, for a copy. Leaves out segments that have only records of epochs before
    /// `needed_from`.
    ///
    /// REQUIRES: until the copy is made, nobody calls [`release_before`](Self::release_before). The
    /// files may change behind the cut.
    ///
    /// # Errors
    /// As for [`commit`](Self::commit).
    pub fn cut(&self, needed_from: u64) -> Result<LogCut> {
        self.shared.commit_then(|epoch| {
            let old = lock(&self.old).clone();
            let new = self.shared.writers.iter().map(|writer| writer.file().durable_segments());
            LogCut::new(epoch, self.database, needed_from, old.into_iter().chain(new))
        })
    }

    /// Removes the segments that have only records of epochs before `epoch`, and returns their
    /// number. Call it for a completed checkpoint, with its begin epoch.
    ///
    /// # Errors
    /// Returns an error if a file operation fails. The remaining segments stay until the next call.
    pub fn release_before(&self, epoch: u64) -> Result<usize> {
        let (storage, manifests) = (&*self.shared.storage, &*self.manifests);
        let mut released = 0;
        let mut failed = None;
        for old in lock(&self.old).iter_mut() {
            let keep = old.iter().position(|segment| segment.last_epoch >= epoch).unwrap_or(old.len());
            let (removed, mut left, error) = remove_segments(storage, manifests, old.drain(..keep).collect());
            released += removed;
            failed = failed.or(error);
            left.append(old);
            *old = left;
        }
        for writer in &self.shared.writers {
            let segments = writer.file().take_released(epoch);
            let (removed, left, error) = remove_segments(storage, manifests, segments);
            released += removed;
            failed = failed.or(error);
            writer.file().put_back(left);
        }
        failed.map_or(Ok(released), Err)
    }

    /// Returns the bytes that the buffers of the logs use in memory.
    pub fn buffer_bytes(&self) -> usize {
        self.shared.writers.iter().map(|writer| writer.buffer.memory()).sum()
    }

    /// Returns statistics of the logs.
    pub fn stats(&self) -> LogStats {
        let mut stats = LogStats {
            epoch: self.epoch(),
            durable_epoch: self.durable_epoch(),
            commits: self.shared.commits(),
            poisoned: self.poisoned().map(|error| error.to_string()),
            ..LogStats::default()
        };
        for segment in lock(&self.old).iter().flatten() {
            stats.segments += 1;
            stats.bytes += segment.bytes;
        }
        for writer in &self.shared.writers {
            let (segments, bytes) = writer.file().size();
            stats.segments += segments;
            stats.bytes += bytes;
            stats.appended_bytes += writer.buffer.appended();
            stats.appended_records += writer.buffer.records();
            stats.behind_bytes += writer.buffer.behind();
        }
        stats
    }

    /// Returns the reason why writes are stopped, if a failure stopped them.
    pub fn poisoned(&self) -> Option<LogError> {
        self.shared.poisoned()
    }

    /// Makes everything durable, ends the threads, unlocks the folders and returns the last epoch.
    /// Later operations are refused. Dropping the log does the same, but errors are only logged.
    ///
    /// # Errors
    /// Returns an error if the log is poisoned or the last commit failed.
    pub fn close(&self) -> Result<u64> {
        let closed = self.shared.close();
        lock(&self.threads).clear();
        self.shared.allocator.remove_unused();
        if let Ok(Some(_)) = closed {
            for writer in &self.shared.writers {
                writer.file().trim();
            }
        }
        lock(&self.locks).clear();
        closed.map(|epoch| epoch.unwrap_or_else(|| self.durable_epoch()))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "the log was dropped without a clean close");
        }
    }
}

fn start(
    name: &str,
    signal: &Arc<ThreadSignal>,
    run: impl FnOnce() + Send + 'static,
) -> Result<BackgroundThread> {
    BackgroundThread::start(name, signal.clone(), |_| run()).map_err(|error| LogError::Io {
        doing: "start the thread",
        path: name.into(),
        cause: error.to_string(),
        kind: error.kind(),
    })
}

fn report(report: &crate::LogRecoveryReport) {
    for torn in &report.torn_tails {
        let (path, at, bytes) = (torn.path.display(), torn.offset, torn.bytes);
        tracing::warn!(%path, at, bytes, "a torn tail was cut off the log");
    }
}

/// Creates the folders for new segments and locks all folders.
fn lock_folders(storage: &dyn Storage, options: &LogOptions) -> Result<Vec<Box<dyn StorageLock>>> {
    options.folders.iter().try_for_each(|folder| make_folder(storage, folder))?;
    let lock = |folder: &PathBuf| lock_folder(storage, folder, "log.lock", options.lock_wait);
    options.all_folders().iter().map(lock).collect()
}

fn old_segments(log: &KeptLog) -> Vec<ClosedSegment> {
    log.segments
        .iter()
        .map(|kept| ClosedSegment {
            path: kept.segment.path.clone(),
            bytes: kept.end,
            last_epoch: kept.last_epoch,
        })
        .collect()
}

/// Builds the shared state of this run. Each log continues where the previous log of the same
/// number ended.
fn share(
    storage: Arc<dyn Storage>,
    manifests: Arc<SegmentManifests>,
    options: &LogOptions,
    database: [u8; 16],
    first_epoch: u64,
    kept: &[KeptLog],
) -> SharedLog {
    let durable = first_epoch - 1;
    let logs = if options.durability == Durability::None { 0 } else { options.logs };
    let mut orders = Vec::with_capacity(logs);
    let mut writers = Vec::with_capacity(logs);
    for log in 0..logs {
        let seed = random::word() as u32;
        let before = kept.iter().find(|kept| kept.log as usize == log);
        let (link, last_number) =
            before.map_or((SegmentLink::default(), 0), |kept| (kept.link, kept.last_number));
        let dir: &Path = &options.folders[log % options.folders.len()];
        let room = Arc::new(LogRoom::new(options.durability == Durability::Buffered));
        let buffer = LogBuffer::new(seed, durable, options.buffer_bytes, room.clone());
        writers.push(LogWriter::new(buffer, LogFile::new(log, seed, link, room.clone())));
        orders.push(SegmentOrder { dir: dir.into(), next_number: last_number + 1, seed, room });
    }
    let zeroed = options.durability == Durability::Sync;
    let allocator = SegmentAllocator::new(
        storage.clone(),
        manifests,
        database,
        options.segment_bytes,
        zeroed,
        durable,
        orders,
    );
    let gate = EpochGate::new(options.logs, first_epoch);
    SharedLog::new(storage, options.durability, gate, writers.into(), allocator)
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;
    use crate::storage::sim::SimStorage;

    /// Incident: two threads failed at once. The second one found the cause set, did not change the
    /// state, and read the former one. Consequence: it reported a closed log, and `close` hid the
    /// failure of the disk. Fix: each thread that fails changes the state.
    #[test]
    fn a_second_failure_reports_the_first_ones_cause() {
        let second = LogError::Io {
            doing: "write",
            path: "/data/logs".into(),
            cause: "a later failure".to_owned(),
            kind: std::io::ErrorKind::Other,
        };
        for closed in [false, true] {
            let options = LogOptions::new(vec!["/data/logs".into()]);
            let (log, _) = Log::open(SimStorage::new().share(), options, None).unwrap();
            if closed {
                log.close().unwrap();
            }
            log.shared.set_cause_alone("the disk is gone");
            let told = log.shared.stop_for(&second);
            let expected = matches!(&told, LogError::Poisoned { cause } if cause == "the disk is gone");
            assert!(expected, "closed {closed}: {told}");
        }
    }
}
