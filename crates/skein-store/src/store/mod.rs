//! The store: opens and closes it, waits for durability, writes checkpoints and returns statistics.
//!
//! Read `open_store` first: it opens the folder, puts the parts of a store together and starts the
//! threads. `read` and `write` have the simple methods, `snapshot` the handle of a snapshot,
//! `pinned_value` a value that is read in place. `expiry_thread` removes expired keys, `packing_thread`
//! packs the pages of the indexes, `copy_files` copies the files of a running store.
//!
//! Design: `docs/design/store.md`.

mod copy_files;
pub(crate) mod expiry_thread;
mod open_store;
mod packing_thread;
mod pinned_value;
mod read;
mod snapshot;
mod write;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use open_store::{OpenStore, RunningStore};
use skein_log::{Durability, OpenProgress};
use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;

use crate::checkpoint::{CheckpointReport, CheckpointSource};
use crate::recovery::RecoveryReport;
use crate::session::active_writes;
use crate::store_core::StoreCore;
use crate::{
    Error, Eviction, KeyspaceStats, MemoryUse, RemovalObserver, Result, Session, StoreOptions,
    StoredKeyspace, Ticket,
};

pub use copy_files::{FileCopyReport, FileCopyTarget};
pub use pinned_value::PinnedValue;
pub use read::{ColumnFound, KeyEntry};
pub use snapshot::{Snapshot, SnapshotRelease};

/// A durable ordered map from keys to rows.
///
/// A clone is cheap and is another handle of the same store. Sessions and snapshots are handles,
/// too. When the last handle is dropped, the store is closed as by [`close`](Store::close).
///
/// ```
/// use skein_store::{Store, StoreOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let store = Store::open(folder.path(), StoreOptions::default())?;
/// store.put(b"goose", b"grey")?;
/// store.put_columns(b"flock", &[(b"size", b"40"), (b"leader", b"goose")])?;
/// assert_eq!(store.get(b"goose")?.as_deref(), Some(&b"grey"[..]));
/// store.close()?;
///
/// let store = Store::open(folder.path(), StoreOptions::default())?;
/// assert_eq!(store.get_columns(b"flock", Some(&[b"size"]))?[0].1.as_deref(), Some(&b"40"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Store {
    handle: Arc<RunningStore>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let core = self.core();
        f.debug_struct("Store")
            .field("folder", &self.handle.open.folder.path)
            .field("durability", &core.options.durability)
            .field("keys", &self.len())
            .finish_non_exhaustive()
    }
}

/// The result of closing a store.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CloseReport {
    /// The last durable epoch.
    pub epoch: u64,
    /// The checkpoint that closing wrote. At `None` closing writes one if anything was written;
    /// otherwise see [`StoreOptions::close_checkpoint`].
    pub checkpoint: Option<CheckpointReport>,
}

/// Statistics of a store.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StoreStats {
    /// The number of keys.
    pub keys: usize,
    /// The number of keys that expire.
    pub expires: usize,
    /// The average remaining time of these keys.
    pub average_ttl: Duration,
    /// Keys that were removed because they had expired, since the store was opened. A key that was
    /// overwritten before its removal is not counted.
    pub expired: u64,
    /// Keys that were evicted at the memory limit, since the store was opened.
    pub evicted: u64,
    /// Live memory by part.
    pub memory: MemoryUse,
    /// Bytes of index nodes and of keys outside them, including the expiry index.
    pub index_bytes: usize,
    /// Bytes of rows. Includes retired rows if they are not counted separately.
    pub row_bytes: usize,
    /// Retired memory that a reader may still see; see [`MemoryUse::unreclaimed`].
    pub unreclaimed_bytes: usize,
    /// Address space taken from the system for the memory above.
    pub reserved_bytes: usize,
    /// Live snapshots, including that of a checkpoint. They keep the replaced and removed rows that
    /// they show.
    pub snapshots: usize,
    /// Removed collections with members that are not freed yet; `None` if that is not counted.
    pub dead_collections: Option<usize>,
    /// Removed collections with all members freed, since the store was opened; 0 if
    /// `dead_collections` is `None`.
    pub freed_collections: u64,
    /// The age of the oldest of them.
    pub oldest_snapshot: Option<Duration>,
    /// Bytes of replaced and removed rows that are kept for them, with their keys.
    pub snapshot_bytes: usize,
    /// The present epoch.
    pub epoch: u64,
    /// The last durable epoch.
    pub durable_epoch: u64,
    /// Log bytes since the last checkpoint began, including those of earlier runs.
    pub log_bytes: u64,
    /// Writes in the log since the last checkpoint began, including those of earlier runs.
    pub log_records: u64,
    /// Log bytes that are not durable yet: a crash would lose them.
    pub log_bytes_behind: u64,
    /// Log bytes at which a checkpoint starts; 0 for never.
    pub checkpoint_at_log_bytes: u64,
    /// Log segments on disk.
    pub log_segments: usize,
    /// Epochs made durable since the store was opened.
    pub commits: u64,
    /// Checkpoints finished since the store was opened.
    pub checkpoints: u64,
    /// Whether a checkpoint is being written.
    pub checkpoint_running: bool,
    /// Seconds since 1970 of the end of the last checkpoint; 0 if there is no checkpoint.
    pub last_checkpoint_unix_s: u64,
    /// The failure of the last checkpoint, if it failed.
    pub last_checkpoint_failure: Option<String>,
    /// The reason why writes are stopped, if they are.
    pub writes_stopped: Option<String>,
}

impl Store {
    /// Opens the store in the folder `path`, creates it if it is absent, and recovers its contents.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// let options = StoreOptions { durability: Durability::Sync, ..StoreOptions::default() };
    /// let store = Store::open(folder.path().join("geese"), options)?;
    /// assert_eq!(store.recovery().keys, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An option does not work; the folder is a file, in use, another store's or the disk engine's;
    /// a file operation failed; a format is unknown; a file is damaged.
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        let open = OpenStore::open(path.as_ref(), options)?;
        Ok(Self { handle: Arc::new(RunningStore::start(open)?) })
    }

    pub(crate) fn core(&self) -> &StoreCore {
        &self.handle.open.core
    }

    /// Returns the result of the recovery when the store was opened.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.handle.open.recovery
    }

    /// Returns the options with which the store was opened.
    pub fn options(&self) -> &StoreOptions {
        &self.core().options
    }

    /// Returns a session on the next log in rotation. As many sessions as logs share no log;
    /// further sessions share one.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let mut session = store.session();
    /// let (written, ticket) = session.write(|writer| {
    ///     writer.put(b"goose", b"grey")?;
    ///     writer.put(b"swan", b"mute")
    /// })?;
    /// assert_eq!(written?.version, 1);
    /// store.wait_durable(ticket)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn session(&self) -> Session {
        // Relaxed: a ticket.
        let log_shard =
            self.handle.open.next_log_shard.fetch_add(1, Ordering::Relaxed) % self.core().commit.log.logs();
        Session::new(self.clone(), log_shard)
    }

    /// Tells `observer` from now on which expired keys the store removes by itself. Only the first
    /// call has an effect.
    pub fn observe_removals(&self, observer: Arc<dyn RemovalObserver>) {
        // A second observer is not heard.
        let _ = self.core().removal_observer.set(observer);
    }

    /// Plans a meddling, which the next write meets between its decision and its exchange. It runs
    /// once, in the thread of this write. `None` plans nothing. Returns the former plan if it did not
    /// run. Writes of groups and transactions meet no meddling.
    ///
    /// The meddling may write in another thread and wait for that thread. It must not wait for
    /// durability, because the write that it meets has not left its epoch.
    #[cfg(feature = "interference")]
    pub fn interfere(&self, meddling: Option<crate::Meddling>) -> Option<crate::Meddling> {
        self.core().interference.plan(meddling)
    }

    /// Returns the number of keys. It is exact while no thread writes.
    ///
    /// Expired keys are removed after about half a second. Until then this call visits them one by
    /// one to subtract them.
    pub fn len(&self) -> usize {
        let core = self.core();
        core.keys.len(core.time(None))
    }

    /// Returns the numbers of keys of a keyspace: of the default one, or of that of a server's
    /// database. Other keyspaces are not counted. The numbers are exact while no thread writes.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let third = StoredKeyspace::of_database(3);
    /// store.put(&third.stored(b"goose"), b"grey")?;
    /// assert_eq!((store.keyspace_stats(third).keys, store.len()), (1, 1));
    /// assert_eq!(store.keyspace_stats(StoredKeyspace::DEFAULT).keys, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyspace_stats(&self, keyspace: StoredKeyspace) -> KeyspaceStats {
        let core = self.core();
        core.keys.keyspace_stats(keyspace, core.time(None).fixed())
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the guarantee for acknowledged writes.
    pub fn durability(&self) -> Durability {
        self.core().options.durability
    }

    /// Returns the last durable epoch: it and all earlier epochs are durable.
    pub fn durable_epoch(&self) -> u64 {
        self.core().commit.log.durable_epoch()
    }

    /// Waits until the ticket's writes are durable; the calling thread may do the commit itself. At
    /// `None` returns at once.
    ///
    /// # Errors
    /// Writes are stopped, or the store was closed before.
    ///
    /// # Panics
    /// If the ticket belongs to another store, and to an epoch that this store has not begun.
    pub fn wait_durable(&self, ticket: Ticket) -> Result<()> {
        if self.durability() == Durability::None || self.durable_epoch() >= ticket.epoch {
            return Ok(());
        }
        active_writes::check(self.core(), "waiting for durability")?;
        Ok(self.core().commit.log.wait_durable(ticket.epoch)?)
    }

    /// Requests that the ticket's epoch becomes durable soon, without waiting; see
    /// [`on_durable`](Self::on_durable).
    pub fn request_durable(&self, ticket: Ticket) {
        if ticket.epoch > 0 {
            self.core().commit.log.request_durable(ticket.epoch);
        }
    }

    /// Registers `callback`, which is called on any thread whenever the durable epoch has advanced
    /// or writes have stopped. It must return quickly, and may call only
    /// [`durable_epoch`](Self::durable_epoch) of the store.
    pub fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        self.core().commit.log.on_durable(callback);
    }

    /// Returns the reason why writes are stopped, if they are.
    pub fn writes_stopped(&self) -> Option<Error> {
        self.core().commit.log.poisoned().map(Error::from)
    }

    /// Makes all writes so far durable. At `None` it writes nothing; use
    /// [`checkpoint`](Self::checkpoint) instead.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// store.flush()?;
    /// assert!(store.durable_epoch() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Writes are stopped, or the store is closed.
    pub fn flush(&self) -> Result<()> {
        active_writes::check(self.core(), "`flush`")?;
        self.core().commit.log.commit()?;
        Ok(())
    }

    /// Writes a checkpoint. If one is being written, waits for it and then writes another. If
    /// writes wait because the log's disk is full, the checkpoint frees space by removing log
    /// segments.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// assert_eq!(store.checkpoint()?.rows, 1);
    /// drop(store);
    /// let store = Store::open(folder.path(), StoreOptions::default())?;
    /// assert_eq!(store.recovery().checkpoint_rows, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file operation failed (then the logs are kept), writes are stopped, or the store is
    /// closed.
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        self.checkpoint_with(&OpenProgress::default())
    }

    /// Does the same, and counts the rows and bytes in `progress`, which may cancel it.
    ///
    /// # Errors
    /// As for [`checkpoint`](Self::checkpoint), and [`Error::Cancelled`]. The logs are kept then.
    pub fn checkpoint_with(&self, progress: &OpenProgress) -> Result<CheckpointReport> {
        if self.core().commit.is_closed() {
            return Err(Error::Closed);
        }
        active_writes::check(self.core(), "`checkpoint`")?;
        let open = &self.handle.open;
        let source = CheckpointSource { progress: Some(progress), ..open.checkpoint_source() };
        open.checkpoints.write(source, self.options().checkpoint_threads)
    }

    /// Makes another store in an empty folder of the file system, with all rows as they are at one
    /// moment. Reads and writes continue. The folder has a store once the call has returned `Ok`,
    /// and then all of it is durable.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// let store = Store::open(folder.path().join("geese"), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// let report = store.copy_to(folder.path().join("copy"), &OpenProgress::default())?;
    /// assert_eq!(report.rows, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The folder has contents or cannot be written; `Cancelled` by `progress`; `SnapshotEnded`,
    /// for the memory limit; `InsideWrite` if the calling thread is writing to the store. The
    /// folder may then have a part of the copy, and no store.
    pub fn copy_to(&self, folder: impl AsRef<Path>, progress: &OpenProgress) -> Result<CheckpointReport> {
        active_writes::check(self.core(), "`copy_to`")?;
        self.handle.open.copy_to(folder.as_ref(), progress)
    }

    /// Requests a checkpoint from the background thread. Returns false if one is being written, or
    /// was requested and has not begun. The next checkpoint satisfies the request, also if
    /// [`checkpoint`](Self::checkpoint) writes it. BGSAVE.
    pub fn checkpoint_in_background(&self) -> bool {
        !self.handle.open.checkpoints.running.load(Ordering::Relaxed) && self.handle.request_checkpoint()
    }

    /// Returns the statistics of the store.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// let stats = store.stats();
    /// assert_eq!(stats.keys, 1);
    /// assert!(stats.row_bytes > 0 && stats.log_bytes > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> StoreStats {
        let core = self.core();
        let (log, memory) = (core.commit.log.stats(), core.memory());
        let time = core.time(None).fixed();
        let expiring = core.keys.expiry_index.numbers(time.now());
        let snapshots = core.keys.snapshots.numbers();
        let checkpoints = &self.handle.open.checkpoints;
        let unsaved = checkpoints.since_last(&core.commit);
        StoreStats {
            keys: core.keys.len(time),
            expires: expiring.keys,
            average_ttl: Duration::from_millis(expiring.average_ttl_ms),
            expired: core.expired.load(Ordering::Relaxed),
            evicted: core.budget.evicted.load(Ordering::Relaxed),
            index_bytes: memory.nodes + memory.orders + memory.keys,
            row_bytes: memory.rows,
            unreclaimed_bytes: memory.unreclaimed,
            reserved_bytes: memory.reserved,
            memory,
            dead_collections: Some(core.keys.members.dead_collections()),
            freed_collections: core.keys.members.freed_collections(),
            snapshots: snapshots.count,
            oldest_snapshot: snapshots.oldest,
            snapshot_bytes: core.keys.snapshots.bytes(),
            epoch: log.epoch,
            durable_epoch: log.durable_epoch,
            log_bytes: unsaved.bytes,
            log_records: unsaved.records,
            log_bytes_behind: log.behind_bytes,
            checkpoint_at_log_bytes: checkpoints.due_at().unwrap_or(0),
            log_segments: log.segments,
            commits: log.commits,
            checkpoints: checkpoints.finished.load(Ordering::Relaxed),
            checkpoint_running: checkpoints.running.load(Ordering::Relaxed),
            last_checkpoint_unix_s: checkpoints.last_unix_s.load(Ordering::Relaxed),
            last_checkpoint_failure: lock(&checkpoints.last_failure).clone(),
            writes_stopped: log.poisoned,
        }
    }

    /// Lets the thread that removes expired keys pause, or resume. They are hidden from readers
    /// either way.
    pub fn pause_expiry(&self, is_paused: bool) {
        // Relaxed: the flag is ordered with nothing.
        self.core().expiry_paused.store(is_paused, Ordering::Relaxed);
    }

    /// Sets the memory limit in bytes (`None` for no limit) and the keys to evict at the limit. It
    /// replaces the values of the options.
    pub fn set_memory_limit(&self, limit: Option<usize>, eviction: Eviction) {
        let core = self.core();
        core.budget.set_limit(&core.keys, limit, eviction, &core.options.clock);
    }

    /// Returns the memory limit, if there is one, and the keys to evict at the limit.
    pub fn memory_limit(&self) -> (Option<usize>, Eviction) {
        let budget = &self.core().budget;
        (budget.limit(), budget.eviction())
    }

    /// Stops writes, makes all writes durable (at `None` by a checkpoint) and releases the folder.
    /// Reads through sessions and clones still work.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// store.close()?;
    /// assert!(matches!(store.put(b"goose", b"bean"), Err(Error::Closed)));
    /// assert_eq!(store.get(b"goose")?, Some(b"grey".to_vec()), "reads still work");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The store was closed before, or a write could not be made durable.
    pub fn close(&self) -> Result<CloseReport> {
        self.close_within(Duration::MAX)
    }

    /// Closes the store as [`close`](Self::close). An optional checkpoint (see
    /// [`StoreOptions::close_checkpoint`]) takes at most `time`.
    ///
    /// # Errors
    /// As for [`close`](Self::close).
    pub fn close_within(&self, time: Duration) -> Result<CloseReport> {
        active_writes::check(self.core(), "`close`")?;
        self.handle.close(time)
    }
}
