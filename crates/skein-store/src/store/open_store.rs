//! An open store: its parts, its folder, and its background threads. Opening and closing.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use skein_log::storage::{OsStorage, StorageLock};
use skein_log::{Durability, Log, LogOptions, OpenProgress};
use skein_sync::atomic::AtomicUsize;
use skein_sync::background::BackgroundThread;
use skein_sync::locks::lock;

use super::{CloseReport, expiry_thread, packing_thread};
use crate::checkpoint::manifest::CheckpointManifest;
use crate::checkpoint::{
    self, CheckpointReport, CheckpointSource, CheckpointStop, Checkpointer, LogVolume, schedule,
};
use crate::collection::sweep;
use crate::commit_log::CommitLog;
use crate::data_folder::DataFolder;
use crate::expiry::OperationTime;
use crate::recovery::{self, RecoveryReport};
use crate::store_core::StoreCore;
use crate::store_keys::{Loader, StoreKeys};
use crate::{Error, Result, StoreOptions};

/// The parts of an open store, without its threads.
pub(super) struct OpenStore {
    pub(super) core: StoreCore,
    pub(super) folder: DataFolder,
    pub(super) checkpoints: Checkpointer,
    pub(super) recovery: RecoveryReport,
    pub(super) next_log_shard: AtomicUsize,
    lock: Mutex<Option<Box<dyn StorageLock>>>,
}

impl OpenStore {
    /// Opens the folder and recovers its contents.
    pub(super) fn open(path: &Path, options: StoreOptions) -> Result<Self> {
        let started = Instant::now();
        options.check()?;
        let storage = options.storage.clone();
        let (folder, lock) = DataFolder::open(path, &options)?;
        let newest = CheckpointManifest::newest(&*storage, &folder.path, folder.id, folder.checkpoint())?;
        if let Some((manifest, path)) = &newest
            && manifest.begin > folder.checkpoint()
        {
            // The process before has ended between the manifest and the note. Files that this
            // checkpoint replaces are removed only if a power cut cannot take it away again.
            checkpoint::make_durable(&*storage, path)?;
        }
        let (log_folders, also_read) = folder.log_folders();
        let log_options = LogOptions {
            database: Some(folder.id.0),
            also_read,
            give_up: !folder.given_up.is_empty(),
            ..options.log_options(log_folders)
        };
        let epochs = newest.as_ref().map(|(manifest, _)| manifest.epochs());
        // The logs announce their bytes themselves.
        options.progress.expect(newest.as_ref().map_or(0, |(manifest, _)| manifest.bytes()));
        let (log, recovered) = Log::open(storage.clone(), log_options, epochs)?;
        folder.take_over()?;
        let keys = StoreKeys::new(options.index, &options.limits);
        let loader = Loader {
            keys: &keys,
            folder: &folder.path,
            progress: &options.progress,
            threads: options.recovery_threads,
        };
        let mut recovery = recovery::recover(&loader, &*storage, newest.as_ref(), &recovered)?;
        recovery.log_folders_given_up = folder.given_up.iter().map(|folder| folder.path.clone()).collect();
        recovery.keys = keys.len(OperationTime::new(&options.clock, None));
        recovery.took = started.elapsed();
        let last = newest.map(|(manifest, _)| manifest);
        if let Some(last) = &last
            && let Err(error) = folder.note_checkpoint(last.begin)
        {
            // On a full disk, for example. It counts all the same, and the noted one stays as well.
            tracing::warn!("the newest checkpoint is not noted yet: {error}");
        }
        let keep = [folder.checkpoint(), last.as_ref().map_or(0, |last| last.begin)];
        checkpoint::remove_others(&*storage, &folder.path, &keep)?;
        let commit = CommitLog::new(log, options.durability);
        // Records that exist only in the logs are in no checkpoint: at `None` closing must write
        // one.
        if recovery.log_records > 0 {
            commit.written();
        }
        Ok(Self {
            checkpoints: Checkpointer::new(
                &options,
                last,
                LogVolume { bytes: recovery.log_bytes, records: recovery.log_records },
            ),
            core: StoreCore::new(keys, commit, options),
            folder,
            recovery,
            next_log_shard: AtomicUsize::new(0),
            lock: Mutex::new(Some(lock)),
        })
    }

    pub(super) fn checkpoint_source(&self) -> CheckpointSource<'_> {
        CheckpointSource {
            keys: &self.core.keys,
            commit: &self.core.commit,
            folder: &self.folder,
            stop: &self.checkpoints.stop,
            copies: &self.checkpoints.copies,
            of_one_moment: false,
            progress: None,
        }
    }

    pub(super) fn checkpoint(&self, threads: usize) -> Result<CheckpointReport> {
        self.checkpoints.write(self.checkpoint_source(), threads)
    }

    /// Makes another store with the same rows in an empty folder of the file system.
    pub(super) fn copy_to(&self, path: &Path, progress: &OpenProgress) -> Result<CheckpointReport> {
        let (folder, stop) = (DataFolder::of_copy(path, Arc::new(OsStorage))?, CheckpointStop::default());
        let progress = Some(progress);
        let source = CheckpointSource { folder: &folder, stop: &stop, progress, ..self.checkpoint_source() };
        checkpoint::write_copy(&source, self.core.options.checkpoint_threads)
    }

    /// Ends writing. The caller has stopped the background threads. An optional checkpoint takes at
    /// most `within`.
    fn close(&self, within: Duration) -> Result<CloseReport> {
        self.core.commit.close_to_writes()?;
        let report = self.close_files(within);
        self.checkpoints.copies.wait_for_removals();
        drop(lock(&self.lock).take());
        report
    }

    fn close_files(&self, within: Duration) -> Result<CloseReport> {
        let commit = &self.core.commit;
        let mut report = CloseReport::default();
        if commit.durability == Durability::None {
            // When this epoch is closed, every writer has left it.
            commit.log.commit()?;
            if commit.is_written() && !self.folder.storage.is_volatile() {
                report.checkpoint = Some(self.checkpoint(self.core.options.recovery_threads)?);
            }
        } else {
            report.checkpoint = self.checkpoint_before_close(within);
        }
        report.epoch = commit.log.close()?;
        Ok(report)
    }

    /// Writes a checkpoint if the next opening would have much to replay and there is enough time.
    /// It may be abandoned, because the logs have the same data.
    fn checkpoint_before_close(&self, within: Duration) -> Option<CheckpointReport> {
        let (commit, options) = (&self.core.commit, self.core.options.close_checkpoint?);
        if self.checkpoints.since_last(commit).bytes < options.log_bytes || commit.log.poisoned().is_some() {
            return None;
        }
        self.checkpoints.stop.limit(options.within.min(within));
        let written = self.checkpoint(self.core.options.recovery_threads);
        written
            .inspect_err(|error| match error {
                Error::Closed => {
                    tracing::warn!("there was no time for a checkpoint: the next start replays the logs");
                }
                error => {
                    tracing::warn!("closing wrote no checkpoint, the next start replays the logs: {error}");
                }
            })
            .ok()
    }
}

/// A store with its background threads. When the last handle is dropped, the store is closed.
pub(super) struct RunningStore {
    pub(super) open: Arc<OpenStore>,
    checkpoints: BackgroundThread,
    expiry: Option<BackgroundThread>,
    packing: Option<BackgroundThread>,
    sweeper: BackgroundThread,
}

impl RunningStore {
    /// Starts the threads. They keep the store's memory alive until they are stopped.
    pub(super) fn start(open: OpenStore) -> Result<Self> {
        let open = Arc::new(open);
        let of_checkpoints = open.clone();
        let checkpoints = schedule::start(move |may_be_due| {
            let threads = of_checkpoints.core.options.checkpoint_threads;
            let source = of_checkpoints.checkpoint_source();
            of_checkpoints.checkpoints.write_if_wanted(source, threads, may_be_due)
        })?;
        let expiry = expiry_thread::start(open.clone())?;
        let packing = packing_thread::start(open.clone())?;
        let sweeper = sweep::start(open.core.keys.members.clone())?;
        Ok(Self { open, checkpoints, expiry, packing, sweeper })
    }

    /// Requests a checkpoint from the thread. Returns false if one was requested and has not begun.
    pub(super) fn request_checkpoint(&self) -> bool {
        let is_first = self.open.checkpoints.request();
        self.checkpoints.wake();
        is_first
    }

    pub(super) fn close(&self, within: Duration) -> Result<CloseReport> {
        // The threads have ended before the flag is cleared, so the checkpoint of closing is not
        // abandoned.
        self.open.checkpoints.stop.set(true);
        self.checkpoints.stop();
        self.expiry.iter().chain(&self.packing).for_each(|thread| _ = thread.stop());
        self.sweeper.stop();
        self.open.checkpoints.stop.set(false);
        self.open.close(within)
    }
}

impl Drop for RunningStore {
    fn drop(&mut self) {
        match self.close(Duration::MAX) {
            Ok(_) | Err(Error::Closed) => {}
            Err(error) => tracing::error!("closing the store: {error}"),
        }
    }
}
