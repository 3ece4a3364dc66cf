//! The state that all handles of a store share: index, rows, log, folder and options. Opening,
//! versions and epochs of writes, one checkpoint at a time, and closing.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use skein_index::{ComputeAction, Computed, Guard, IndexError};
use skein_log::storage::StorageLock;
use skein_log::{Durability, Log, LogError, LogOperation, LogOptions};
use skein_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use skein_sync::background::BackgroundThread;
use skein_sync::locks::lock;

use super::{CloseReport, RecoveryReport};
use crate::checkpoint::{self, CheckpointReport, manifest::CheckpointManifest};
use crate::collection::MemberIndex;
use crate::data_folder::DataFolder;
use crate::expiry::{self, ExpiryIndex, OperationTime};
use crate::index::{IndexPlace, KeyBounds};
use crate::limits::KEY_BYTES_MAX;
use crate::memory::MemoryBudget;
use crate::row::{Row, RowAllocator, RowIndex, RowRef};
use crate::snapshot::{self, RowKeeper, StoreSnapshots};
use crate::stripes::Stripes;
use crate::{Error, Result, ScanDirection, StoreOptions, recovery};

/// The shared state of a store.
pub(crate) struct StoreCore {
    pub(crate) index: RowIndex,
    /// The snapshots, and the rows that are kept for them.
    pub(crate) snapshots: Arc<StoreSnapshots>,
    pub(crate) rows: RowAllocator,
    /// The members of all collections. Their rows are allocated in `rows`, too.
    pub(crate) members: Arc<MemberIndex>,
    /// The keys that expire, by time.
    pub(crate) expiry_index: ExpiryIndex,
    /// The number of expired keys that the expiry thread has removed.
    pub(crate) expired: AtomicU64,
    pub(crate) budget: MemoryBudget,
    pub(crate) stripes: Stripes,
    pub(crate) log: Log,
    pub(crate) folder: DataFolder,
    pub(crate) options: StoreOptions,
    pub(crate) recovery: RecoveryReport,
    pub(super) next_log_shard: AtomicUsize,
    /// Set once, by `close`. Afterwards no write begins.
    closed: AtomicBool,
    /// Set while closing waits for a running checkpoint, which is then abandoned.
    closing: AtomicBool,
    /// The time at which the checkpoint of closing is abandoned.
    close_by: Mutex<Option<Instant>>,
    /// Whether anything was written since the last checkpoint began.
    dirty: AtomicBool,
    pub(super) checkpoints: CheckpointState,
    lock: Mutex<Option<Box<dyn StorageLock>>>,
}

/// The state of the checkpoints of this run.
#[derive(Debug)]
pub(super) struct CheckpointState {
    /// Held while a checkpoint is written.
    one_at_a_time: Mutex<()>,
    /// A checkpoint was requested, and no checkpoint has begun since.
    requested: AtomicBool,
    pub(super) running: AtomicBool,
    pub(super) finished: AtomicU64,
    pub(super) last_unix_s: AtomicU64,
    /// The failure of the last checkpoint, if it failed.
    pub(super) last_failure: Mutex<Option<String>>,
    /// `StoreCore::logged` when the last checkpoint began.
    logged_before: AtomicU64,
    began: Mutex<Instant>,
}

impl StoreCore {
    /// Opens the folder and recovers its contents.
    pub(super) fn open(path: &std::path::Path, options: StoreOptions) -> Result<Self> {
        let started = Instant::now();
        options.check()?;
        let storage = options.storage.clone();
        let (folder, lock) = DataFolder::open(path, &options)?;
        let newest = CheckpointManifest::newest(&*storage, &folder.path, folder.id, folder.checkpoint())?;
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
        let rows = RowAllocator::new();
        let snapshots = StoreSnapshots::new(&options.limits);
        let members = MemberIndex::new(options.index, snapshots.clone(), rows.clone());
        let mut core = Self {
            index: RowIndex::new(options.index),
            snapshots,
            rows,
            members,
            expiry_index: ExpiryIndex::new(),
            expired: AtomicU64::new(0),
            budget: MemoryBudget::new(log.logs()),
            stripes: Stripes::new(),
            log,
            folder,
            recovery: RecoveryReport::default(),
            next_log_shard: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            close_by: Mutex::new(None),
            dirty: AtomicBool::new(false),
            checkpoints: CheckpointState::new(newest.as_ref().map_or(0, |(manifest, _)| manifest.unix_s)),
            lock: Mutex::new(Some(lock)),
            options,
        };
        core.recovery = recovery::recover(&core, newest.as_ref(), &recovered)?;
        core.recovery.took = started.elapsed();
        core.set_limits(&core.options.limits);
        checkpoint::remove_others(&*storage, &core.folder.path, epochs.map(|epochs| epochs.begin))?;
        // Records that exist only in the logs are in no checkpoint: at `None` closing must write
        // one.
        core.dirty = AtomicBool::new(core.recovery.log_records > 0);
        Ok(core)
    }

    /// Returns the time of an operation: the present, or the frozen time.
    #[inline]
    pub(crate) fn time(&self, frozen: Option<u64>) -> OperationTime<'_> {
        OperationTime::new(&self.options.clock, frozen)
    }

    /// Returns the number of keys at this time. It is exact while no thread writes.
    pub(crate) fn len(&self, time: OperationTime<'_>) -> usize {
        let expired = if self.rows.any_expiring() { self.expiry_index.count_before(time.now()) } else { 0 };
        self.index.len().saturating_sub(expired)
    }

    /// As [`RowIndex::scan`], without expired rows.
    pub(crate) fn scan(
        &self,
        time: OperationTime<'_>,
        bounds: KeyBounds<'_>,
        direction: ScanDirection,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) {
        self.index.scan(bounds, direction, self.live(time, each));
    }

    /// Wraps `each` so that it skips expired rows. While no key expires, a caller that needs only
    /// keys reads no row.
    pub(crate) fn live<'s>(
        &'s self,
        time: OperationTime<'s>,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()> + 's,
    ) -> impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()> + 's {
        move |key, row| {
            let gone = self.rows.any_expiring() && !time.shows(row);
            if gone { ControlFlow::Continue(()) } else { each(key, row) }
        }
    }

    /// Notes the use of a row, if eviction needs it.
    #[inline]
    pub(crate) fn used(&self, row: Option<RowRef<'_>>) {
        let now = self.rows.ages().now();
        if let Some(row) = row.filter(|_| now != 0) {
            row.touch(now);
        }
    }

    /// Enters the present epoch, for writes to one of the logs.
    #[inline]
    pub(crate) fn enter(&self, log_shard: usize) -> Result<LogOperation<'_>> {
        let operation = self.log.enter(log_shard)?;
        // The flag is read inside the epoch. `close` sets it and then closes an epoch, so it has
        // waited for every writer that did not see the flag. SeqCst: pairs with the swap in
        // `close`.
        if self.closed.load(Ordering::SeqCst) { Err(Error::Closed) } else { Ok(operation) }
    }

    /// Changes a key of the main index as [`RowIndex::compute_at`] does. If the writer `keeps`
    /// replaced rows, the row is kept for the live snapshots.
    ///
    /// # Safety
    /// As for [`RowIndex::compute_at`].
    #[inline]
    pub(crate) unsafe fn change_row<'g>(
        &'g self,
        keeps: bool,
        key: &[u8],
        place: Option<IndexPlace>,
        change: impl FnOnce(Option<RowRef<'_>>) -> ComputeAction<Row>,
        guard: &'g impl Guard,
    ) -> std::result::Result<Computed<'g, Row>, IndexError> {
        let keeper = keeps.then(|| RowKeeper::main(self));
        // SAFETY: guaranteed by the caller.
        unsafe { snapshot::compute_at(&self.index, keeper, key, place, change, guard) }
    }

    /// Returns the present epoch. A write reads it under the latch of its key.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.log.epoch()
    }

    /// Returns the version that a write to `key` takes. REQUIRES: called under the key's latch.
    #[inline]
    pub(crate) fn next_version(&self, key: &[u8], current: Option<RowRef<'_>>) -> u64 {
        current.map_or_else(|| self.stripes.first_version(key), |row| row.version() + 1)
    }

    #[inline]
    pub(crate) fn written(&self) {
        // Relaxed, and read before it is written, so that the cache line stays shared. The thread
        // that reads it has closed an epoch first.
        if !self.dirty.load(Ordering::Relaxed) {
            self.dirty.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether anything was written since the last checkpoint began.
    pub(crate) fn written_since_checkpoint(&self) -> bool {
        // Relaxed: a hint.
        self.dirty.load(Ordering::Relaxed)
    }

    /// Errors if a key or a value is over its limit.
    #[inline]
    pub(crate) fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()> {
        let limits = &self.options.limits;
        within(key, limits.key_bytes.min(self.options.index.key_bytes_max()))?;
        Error::check_value_len(bytes, limits.value_bytes)
    }

    /// Errors if no store can hold the key. A key over the limit of the options may exist, from an
    /// earlier run.
    #[inline]
    pub(crate) fn check_key(key: &[u8]) -> Result<()> {
        within(key, KEY_BYTES_MAX)
    }

    /// Errors if the key is too long to expire.
    #[inline]
    pub(crate) fn check_expiry(key: &[u8], expires: Option<u64>) -> Result<()> {
        if expires.is_some() { within(key, expiry::KEY_BYTES_MAX) } else { Ok(()) }
    }

    pub(crate) fn checkpoint(&self, threads: usize) -> Result<CheckpointReport> {
        self.checkpoint_in_turn(threads, &lock(&self.checkpoints.one_at_a_time))
    }

    /// Requests a checkpoint. Returns false if one was requested and none has begun since.
    pub(crate) fn request_checkpoint(&self) -> bool {
        !self.checkpoints.requested.swap(true, Ordering::Relaxed)
    }

    /// Returns whether a checkpoint was requested and none has begun since.
    pub(crate) fn checkpoint_is_requested(&self) -> bool {
        self.checkpoints.requested.load(Ordering::Relaxed)
    }

    /// Writes a checkpoint if one is requested, or if one is due and `may_be_due`. The condition is
    /// checked again under the lock, because another checkpoint may have begun meanwhile.
    pub(crate) fn checkpoint_if_requested(
        &self,
        threads: usize,
        may_be_due: bool,
    ) -> Option<Result<CheckpointReport>> {
        let turn = lock(&self.checkpoints.one_at_a_time);
        (self.checkpoint_is_requested() || (may_be_due && self.checkpoint_is_due()))
            .then(|| self.checkpoint_in_turn(threads, &turn))
    }

    fn checkpoint_in_turn(&self, threads: usize, _turn: &MutexGuard<'_, ()>) -> Result<CheckpointReport> {
        let state = &self.checkpoints;
        state.running.store(true, Ordering::Relaxed);
        // This checkpoint contains everything that was written before the request.
        state.requested.store(false, Ordering::Relaxed);
        *lock(&state.began) = Instant::now();
        let logged = self.logged();
        self.dirty.store(false, Ordering::Relaxed);
        let written = checkpoint::write::write(self, threads);
        state.running.store(false, Ordering::Relaxed);
        let failure =
            written.as_ref().err().filter(|error| !matches!(error, Error::Closed)).map(Error::to_string);
        *lock(&state.last_failure) = failure;
        if written.is_ok() {
            state.logged_before.store(logged, Ordering::Relaxed);
            state.finished.fetch_add(1, Ordering::Relaxed);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            state.last_unix_s.store(now, Ordering::Relaxed);
        } else {
            self.dirty.store(true, Ordering::Relaxed);
        }
        written
    }

    /// Returns the log bytes that the checkpoint at the start of this run does not cover: replayed
    /// bytes, and bytes appended since.
    fn logged(&self) -> u64 {
        self.recovery.log_bytes + self.log.stats().appended_bytes
    }

    /// Returns the log bytes that no checkpoint covers.
    pub(super) fn log_bytes(&self) -> u64 {
        self.logged() - self.checkpoints.logged_before.load(Ordering::Relaxed)
    }

    /// Returns whether a checkpoint should start without a request.
    pub(crate) fn checkpoint_is_due(&self) -> bool {
        let by_size = self.options.checkpoint_log_bytes.is_some_and(|limit| self.log_bytes() >= limit);
        let by_time = self.options.checkpoint_interval.is_some_and(|interval| {
            let began = *lock(&self.checkpoints.began);
            began.elapsed() >= interval && self.dirty.load(Ordering::Relaxed)
        });
        match self.log.poisoned() {
            None => by_size || by_time,
            // A checkpoint frees space if anything was written since the last one.
            Some(LogError::NoRoom { .. }) => {
                let may_start =
                    self.options.checkpoint_log_bytes.is_some() || self.options.checkpoint_interval.is_some();
                may_start && self.dirty.load(Ordering::Relaxed)
            }
            Some(_) => false,
        }
    }

    /// Returns whether a running checkpoint should be abandoned.
    pub(crate) fn abandons_checkpoints(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Returns whether the checkpoint of closing has used up its time.
    pub(crate) fn is_late(&self) -> bool {
        lock(&self.close_by).is_some_and(|end| Instant::now() >= end)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Ends writing. The caller has stopped the background threads. An optional checkpoint takes at
    /// most `within`.
    pub(super) fn close(&self, within: Duration) -> Result<CloseReport> {
        // SeqCst: pairs with the load in `enter`.
        if self.closed.swap(true, Ordering::SeqCst) {
            return Err(Error::Closed);
        }
        let report = self.close_files(within);
        drop(lock(&self.lock).take());
        report
    }

    fn close_files(&self, within: Duration) -> Result<CloseReport> {
        let mut report = CloseReport::default();
        if self.options.durability == Durability::None {
            // When this epoch is closed, every writer has left it.
            self.log.commit()?;
            if self.dirty.load(Ordering::Relaxed) {
                report.checkpoint = Some(self.checkpoint(self.options.recovery_threads)?);
            }
        } else {
            report.checkpoint = self.checkpoint_before_close(within);
        }
        report.epoch = self.log.close()?;
        Ok(report)
    }

    /// Writes a checkpoint if the next opening would have much to replay and there is enough time.
    /// It may be abandoned, because the logs have the same data.
    fn checkpoint_before_close(&self, within: Duration) -> Option<CheckpointReport> {
        let options = self.options.close_checkpoint?;
        if self.log_bytes() < options.log_bytes || self.log.poisoned().is_some() {
            return None;
        }
        *lock(&self.close_by) = Instant::now().checked_add(options.within.min(within));
        let written = self.checkpoint(self.options.recovery_threads);
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

impl CheckpointState {
    fn new(last_unix_s: u64) -> Self {
        Self {
            one_at_a_time: Mutex::new(()),
            requested: AtomicBool::new(false),
            running: AtomicBool::new(false),
            finished: AtomicU64::new(0),
            last_unix_s: AtomicU64::new(last_unix_s),
            last_failure: Mutex::new(None),
            logged_before: AtomicU64::new(0),
            began: Mutex::new(Instant::now()),
        }
    }
}

/// A store with its background threads. When the last handle is dropped, the store is closed.
pub(super) struct RunningStore {
    pub(super) core: Arc<StoreCore>,
    pub(super) scheduler: checkpoint::schedule::CheckpointScheduler,
    pub(super) expiry: Option<BackgroundThread>,
    pub(super) sweeper: BackgroundThread,
}

impl RunningStore {
    pub(super) fn close(&self, within: Duration) -> Result<CloseReport> {
        // Relaxed, both: a hint that is seen soon. The thread has ended before the flag is cleared,
        // so the checkpoint of closing is not abandoned.
        self.core.closing.store(true, Ordering::Relaxed);
        self.scheduler.stop();
        self.expiry.iter().for_each(|thread| _ = thread.stop());
        self.sweeper.stop();
        self.core.closing.store(false, Ordering::Relaxed);
        self.core.close(within)
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

#[inline]
fn within(key: &[u8], limit: usize) -> Result<()> {
    if key.len() > limit { Err(Error::KeyTooLong { len: key.len(), limit }) } else { Ok(()) }
}
