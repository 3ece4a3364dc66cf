//! The store: opening, waiting, checkpoints, statistics; the simple methods are in `read` and `write`.

mod read;
mod store_core;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use skein_log::Durability;
use skein_sync::atomic::Ordering;
use skein_sync::locks::lock;
use store_core::RunningStore;
pub(crate) use store_core::StoreCore;

use crate::checkpoint::{CheckpointReport, schedule::CheckpointScheduler};
use crate::collection::sweep::Sweeper;
use crate::expiry::expiry_thread::ExpiryThread;
use crate::session::active_writes;
use crate::snapshot::StoreSnapshots;
use crate::{Error, Eviction, MemoryUse, Result, Session, StoreOptions, Ticket};

pub(crate) use read::gather;
pub use read::{ColumnFound, KeyEntry};

/// A durable ordered map from keys to rows. Cloning is cheap and gives the same store; dropping the last
/// clone closes it, as [`close`](Store::close) does (sessions and snapshots are clones too).
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
        let inner = self.inner();
        f.debug_struct("Store")
            .field("folder", &inner.folder.path)
            .field("durability", &inner.options.durability)
            .field("keys", &self.len())
            .finish_non_exhaustive()
    }
}

/// What opening found and did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Rows loaded from the checkpoint.
    pub checkpoint_rows: u64,
    /// Log records replayed.
    pub log_records: u64,
    /// Their bytes in the logs.
    pub log_bytes: u64,
    /// The last durable epoch.
    pub epoch: u64,
    /// Torn tails that were cut off: file, and bytes cut.
    pub torn_tails: Vec<(PathBuf, u64)>,
    /// Log folders that were missing and given up, and with them what all logs held.
    pub log_folders_given_up: Vec<PathBuf>,
    /// Epochs that were not durable, and were voided.
    pub voided_epochs: Vec<u64>,
    /// Keys now.
    pub keys: usize,
    /// How long loading the checkpoint took.
    pub load_took: Duration,
    /// How long replaying the logs took.
    pub replay_took: Duration,
    /// How long all of it took.
    pub took: Duration,
}

/// What closing did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CloseReport {
    /// The last durable epoch.
    pub epoch: u64,
    /// The checkpoint that closing wrote: at `None`, if anything was written; else as [`StoreOptions::close_checkpoint`] says.
    pub checkpoint: Option<CheckpointReport>,
}

/// The store in numbers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StoreStats {
    /// Keys.
    pub keys: usize,
    /// Of them, those that expire some time.
    pub expires: usize,
    /// How long these have on average.
    pub average_ttl: Duration,
    /// Keys that were removed since the store was opened because they had expired. One that was written anew before is not counted.
    pub expired: u64,
    /// Keys that were evicted since the store was opened, because memory was at its limit.
    pub evicted: u64,
    /// Live memory by part.
    pub memory: MemoryUse,
    /// Bytes of index nodes and of keys outside them; the order of the keys that expire is such an index, too.
    pub index_bytes: usize,
    /// Bytes of rows, and of those that wait to be freed if they are not told apart.
    pub row_bytes: usize,
    /// Memory that is retired, but maybe still seen by a reader; see [`MemoryUse::unreclaimed`].
    pub unreclaimed_bytes: usize,
    /// Address space taken from the system for all this.
    pub reserved_bytes: usize,
    /// Live snapshots, that of a checkpoint included. They keep what is replaced or removed while they live.
    pub snapshots: usize,
    /// How long ago the oldest of them was taken.
    pub oldest_snapshot: Option<Duration>,
    /// The present epoch.
    pub epoch: u64,
    /// The last durable epoch.
    pub durable_epoch: u64,
    /// Log bytes since the last checkpoint began, those of earlier runs included.
    pub log_bytes: u64,
    /// Log bytes that are not durable yet: what a crash would lose.
    pub log_bytes_behind: u64,
    /// Log bytes at which a checkpoint is written; 0 for never.
    pub checkpoint_at_log_bytes: u64,
    /// Log segments on disk.
    pub log_segments: usize,
    /// Epochs made durable since the store was opened.
    pub commits: u64,
    /// Checkpoints finished since the store was opened.
    pub checkpoints: u64,
    /// Whether one is being written now.
    pub checkpoint_running: bool,
    /// Seconds since 1970 of the end of the last checkpoint; 0 for none.
    pub last_checkpoint_unix_s: u64,
    /// Why the last checkpoint failed, if it did.
    pub last_checkpoint_failure: Option<String>,
    /// Why writes are stopped, if they are.
    pub writes_stopped: Option<String>,
}

impl Store {
    /// Opens the store in the folder `path`, creating it if need be, and recovers what is there.
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
    /// An option that cannot work, a folder that is a file or in use or another store's or the disk engine's, a failed file operation,
    /// an unknown format, damage.
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        let inner = Arc::new(StoreCore::open(path.as_ref(), options)?);
        let scheduler = CheckpointScheduler::start(inner.clone())?;
        let cycle = match ExpiryThread::start(inner.clone()) {
            Ok(cycle) => cycle,
            Err(error) => {
                scheduler.stop();
                return Err(error);
            }
        };
        let sweeper = match Sweeper::start(inner.members.clone()) {
            Ok(sweeper) => sweeper,
            Err(error) => {
                cycle.stop();
                scheduler.stop();
                return Err(error);
            }
        };
        Ok(Self { handle: Arc::new(RunningStore { inner, scheduler, cycle, sweeper }) })
    }

    pub(crate) fn inner(&self) -> &StoreCore {
        &self.handle.inner
    }

    /// What opening found and did.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.inner().recovery
    }

    /// How the store was opened.
    pub fn options(&self) -> &StoreOptions {
        &self.inner().options
    }

    /// A session on the next log in turn. Sessions may share a log; as many sessions as logs share none.
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
        let lane = self.inner().next_lane.fetch_add(1, Ordering::Relaxed) % self.inner().log.logs();
        Session::new(self.clone(), lane)
    }

    /// How many keys there are; exact while nobody writes. Those that have expired and are not removed yet, which takes half a second as a rule, are
    /// counted for it one by one.
    pub fn len(&self) -> usize {
        let inner = self.inner();
        inner.len(inner.time(None))
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What an acknowledged write promises.
    pub fn durability(&self) -> Durability {
        self.inner().options.durability
    }

    /// Everything up to this epoch is durable.
    pub fn durable_epoch(&self) -> u64 {
        self.inner().log.durable_epoch()
    }

    /// Waits until the ticket's writes are durable (the caller may do the commit itself). At `None` it returns at
    /// once.
    ///
    /// # Errors
    /// Writes are stopped, or the store was closed before.
    ///
    /// # Panics
    /// If the ticket is of another store, and of an epoch that this one has not begun.
    pub fn wait_durable(&self, ticket: Ticket) -> Result<()> {
        if self.durability() == Durability::None || self.durable_epoch() >= ticket.epoch {
            return Ok(());
        }
        active_writes::check(self.inner(), "waiting for durability")?;
        Ok(self.inner().log.wait_durable(ticket.epoch)?)
    }

    /// Asks for the ticket's epoch to be made durable soon, without waiting; see [`on_durable`](Self::on_durable).
    pub fn request_durable(&self, ticket: Ticket) {
        if ticket.epoch > 0 {
            self.inner().log.request_durable(ticket.epoch);
        }
    }

    /// `callback` is called, from any thread and briefly, whenever the durable epoch has advanced or writes have
    /// stopped. It may ask for [`durable_epoch`](Self::durable_epoch) and nothing else of the store.
    pub fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        self.inner().log.on_durable(callback);
    }

    /// Why writes are stopped, if they are.
    pub fn writes_stopped(&self) -> Option<Error> {
        self.inner().log.poisoned().map(Error::from)
    }

    /// Makes everything written so far durable. At `None` nothing is written, and a
    /// [`checkpoint`](Self::checkpoint) does it.
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
        active_writes::check(self.inner(), "`flush`")?;
        self.inner().log.commit()?;
        Ok(())
    }

    /// Writes a checkpoint now; waits for one that is being written, then writes another. While writes wait because the log's disk is full, it
    /// makes room there by the log segments that go.
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
    /// A failed file operation (the logs are kept then), writes are stopped, or the store is closed.
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        if self.inner().is_closed() {
            return Err(Error::Closed);
        }
        active_writes::check(self.inner(), "`checkpoint`")?;
        self.inner().checkpoint(self.options().checkpoint_threads)
    }

    /// Asks the background thread for a checkpoint; false if one is being written, or was asked for and has not begun. Whichever begins next is
    /// the one that was asked for, also if [`checkpoint`](Self::checkpoint) writes it. BGSAVE.
    pub fn checkpoint_in_background(&self) -> bool {
        let inner = self.inner();
        !inner.checkpoints.running.load(Ordering::Relaxed) && self.handle.scheduler.request(inner)
    }

    /// The store in numbers.
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
        let inner = self.inner();
        let (log, memory) = (inner.log.stats(), inner.memory());
        let time = inner.time(None).fixed();
        let expiring = inner.order.numbers(time.now());
        let snapshots = inner.snapshots.as_ref().map(StoreSnapshots::numbers).unwrap_or_default();
        let checkpoints = &inner.checkpoints;
        StoreStats {
            keys: inner.len(time),
            expires: expiring.keys,
            average_ttl: Duration::from_millis(expiring.average_ttl_ms),
            expired: inner.expired.load(Ordering::Relaxed),
            evicted: inner.budget.evicted.load(Ordering::Relaxed),
            index_bytes: memory.nodes + memory.orders + memory.keys,
            row_bytes: memory.rows,
            unreclaimed_bytes: memory.unreclaimed,
            reserved_bytes: memory.reserved,
            memory,
            snapshots: snapshots.count,
            oldest_snapshot: snapshots.oldest,
            epoch: log.epoch,
            durable_epoch: log.durable_epoch,
            log_bytes: inner.log_bytes(),
            log_bytes_behind: log.behind_bytes,
            checkpoint_at_log_bytes: inner.options.checkpoint_log_bytes.unwrap_or(0),
            log_segments: log.segments,
            commits: log.commits,
            checkpoints: checkpoints.finished.load(Ordering::Relaxed),
            checkpoint_running: checkpoints.running.load(Ordering::Relaxed),
            last_checkpoint_unix_s: checkpoints.last_unix_s.load(Ordering::Relaxed),
            last_checkpoint_failure: lock(&checkpoints.last_failure).clone(),
            writes_stopped: log.poisoned,
        }
    }

    /// Sets how much memory there may be in bytes (`None`: no limit), and which keys go then; what was given when the store was opened holds no more.
    pub fn set_memory_limit(&self, limit: Option<usize>, eviction: Eviction) {
        self.inner().set_limit(limit, eviction);
    }

    /// How much memory there may be, if there is a limit, and which keys go then.
    pub fn memory_limit(&self) -> (Option<usize>, Eviction) {
        let budget = &self.inner().budget;
        (budget.limit(), budget.eviction())
    }

    /// Ends all writing, makes everything durable (at `None` by a checkpoint) and lets the folder go. Reads through
    /// sessions and clones go on.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// store.close()?;
    /// assert!(matches!(store.put(b"goose", b"bean"), Err(Error::Closed)));
    /// assert_eq!(store.get(b"goose")?, Some(b"grey".to_vec()), "reads go on");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The store was closed before, or what was written could not be made durable.
    pub fn close(&self) -> Result<CloseReport> {
        self.close_within(Duration::MAX)
    }

    /// As [`close`](Self::close); a checkpoint that only spares the next opening some time (see [`StoreOptions::close_checkpoint`]) takes no
    /// longer than `time`.
    ///
    /// # Errors
    /// As for [`close`](Self::close).
    pub fn close_within(&self, time: Duration) -> Result<CloseReport> {
        active_writes::check(self.inner(), "`close`")?;
        self.handle.close(time)
    }
}
