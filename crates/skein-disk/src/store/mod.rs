//! The store: key spaces in a folder, with a log of their writes. Each space is a trie.
//!
//! ```text
//!   transaction   change copies of pages ─► publish ─► append one record to the log ─► acknowledge
//!   checkpoint    write changed pages and a header with the last write's number ─► release the log
//!   open          read the header's state ─► replay the log's records of later writes, in order
//!
//!   folder/       data.skein   the page file (page_file/)
//!                 log/         segments (crate skein-log)
//!                 lock
//! ```
//!
//! Read in this order:
//!
//! - Spaces: `spaces.rs`. Numbers of keys: `reserved_counts.rs`.
//! - Writes: `transaction.rs`, `space_writes.rs`, `key_sets.rs` and `write.rs`. All writes are
//!   transactions. `remove_range.rs` makes several of one removal.
//! - Reads: `space_reader.rs`, `read.rs` and `snapshot.rs`.
//! - Opening: `options.rs`, `open.rs`, `parts.rs` and `log_record.rs`.
//! - Maintenance: `checkpointer.rs` (the thread that takes checkpoints), `durability.rs` (tickets),
//!   `compact.rs`, `check.rs` and `inspect.rs`. The thread that evicts is `buffer/evictor.rs`.
//!
//! # Invariants
//! 1. Writes have increasing numbers over all spaces, and transactions are published and logged in
//!    this order. The number of a key's last write is its version.
//! 2. The file has the state after some transaction. The number of its last write is the header's
//!    `sequence`. Pages reach the file's state only by checkpoints, each of one moment. The number
//!    of keys is of the same moment; it counts the main space alone.
//! 3. So the file's state, with the log's later records applied, is the state after the last
//!    durable transaction. A transaction that was acknowledged at
//!    [`Durability::Sync`](crate::Durability::Sync) survives any crash as a whole. After any crash,
//!    no transaction is there without all earlier ones.
//!
//! Design: `docs/design/disk.md`. Source: sections 2 and 5. The paper changes pages in place, the
//! value before the version, and has no log.

mod check;
mod checkpointer;
mod compact;
mod durability;
mod inspect;
mod key_sets;
mod log_record;
mod open;
mod options;
mod parts;
mod read;
mod remove_range;
mod reserved_counts;
mod snapshot;
mod space_reader;
mod space_writes;
mod spaces;
#[cfg(test)]
mod tests;
mod transaction;
mod write;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use skein_log::storage::StorageLock;
use skein_log::{Log, LogError, LogStats, OpenProgress};
use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::background::BackgroundThread;
use skein_sync::locks::lock;

pub use check::DiskCensus;
use checkpointer::CheckpointStatus;
pub use compact::CompactReport;
pub use inspect::{
    DiskInspection, KeySetInspection, TrieInspection, inspect, inspect_with, is_disk_folder,
    is_disk_folder_on, kind_of,
};
pub use options::{DiskOptions, SNAPSHOTS_MOST};
pub use remove_range::RangeRemoval;
pub use reserved_counts::ReservedCount;
use reserved_counts::ReservedCounts;
pub use snapshot::{DiskSnapshot, DiskSnapshotRelease};
pub use space_reader::{FoundValues, SpaceReader};
use spaces::StoreSpaces;
pub use transaction::{DiskTransaction, UpdateAction, UpdateOutcome};

use crate::buffer::{BufferManager, BufferStats};
use crate::page::{PAGE, PageId};
use crate::trie::TrieShape;
use crate::{DiskError, ReadMode, Result};

/// The name of the page file in the folder.
pub(crate) const FILE: &str = "data.skein";
/// A file that every folder of the engine in memory has (`docs/format.md`).
pub(crate) const MEMORY_FILE: &str = "identity";
/// The name of the log's folder in the folder.
pub(crate) const LOG: &str = "log";

/// A persistent map from keys to values that may be larger than memory. Many threads may read and
/// write it through `&self`.
///
/// ```
/// use skein_disk::{DiskOptions, DiskStore};
///
/// let folder = tempfile::tempdir()?;
/// let store = DiskStore::open(folder.path(), DiskOptions::default())?;
/// store.set(b"goose", b"honks")?;
/// assert_eq!(store.inc(b"geese", 7)?, 7);
/// assert_eq!(store.get(b"goose")?.as_deref(), Some(&b"honks"[..]));
/// let mut cursor = store.cursor()?;
/// assert_eq!(cursor.next()?.map(|entry| entry.key), Some(b"geese".to_vec()));
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DiskStore {
    shared: Arc<DiskShared>,
    /// The thread that takes checkpoints when the log has grown.
    checkpointer: BackgroundThread,
    /// The thread that evicts pages before their room is needed.
    evictor: BackgroundThread,
    /// Dropped last, because a mapped file must stay locked until it is unmapped. Snapshots share
    /// it for the same reason.
    folder: Arc<Mutex<FolderLock>>,
}

/// The lock of the store's folder.
#[derive(Debug)]
struct FolderLock {
    lock: Option<Box<dyn StorageLock>>,
    is_closed: bool,
}

/// The state that the store shares with its thread.
#[derive(Debug)]
struct DiskShared {
    buffer: BufferManager,
    log: Log,
    spaces: StoreSpaces,
    /// The first page of the catalog.
    catalog: PageId,
    options: DiskOptions,
    /// Held by a transaction for its record, from its first write's number to the append to the log
    /// (invariant 1).
    record: Mutex<Vec<u8>>,
    /// The last write's number, and the number of keys of the main space. Changed only under the
    /// writer's lock.
    sequence: AtomicU64,
    keys: AtomicU64,
    /// The numbers of reserved keys. Changed as above.
    reserved: Mutex<ReservedCounts>,
    /// Bytes logged since the last checkpoint began.
    logged: AtomicU64,
    checkpoints: CheckpointStatus,
    /// Writes that were replayed when the store was opened.
    replayed: AtomicU64,
    /// No transaction is committed any more. Read under the lock of `record`.
    closed: AtomicBool,
}

impl DiskShared {
    fn lock_reserved(&self) -> MutexGuard<'_, ReservedCounts> {
        lock(&self.reserved)
    }
}

/// Counters and sizes of the store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiskStats {
    /// The number of the last write.
    pub sequence: u64,
    /// Keys of the main space.
    pub keys: u64,
    /// Bytes logged since the last checkpoint began, or replayed from the log when the store was
    /// opened.
    pub logged: u64,
    /// Writes since the last checkpoint began.
    pub unsaved_writes: u64,
    /// Checkpoints since the store was opened.
    pub checkpoints: u64,
    /// Whether a checkpoint is running.
    pub checkpoint_running: bool,
    /// The end of the last checkpoint since the store was opened, in seconds since 1970; 0 if there
    /// was no checkpoint.
    pub last_checkpoint_unix_s: u64,
    /// Writes that were replayed from the log when the store was opened.
    pub replayed: u64,
    /// Live snapshots.
    pub snapshots: usize,
    /// The age of the oldest live snapshot.
    pub oldest_snapshot: Option<Duration>,
    /// Former versions of pages that are kept in memory for snapshots.
    pub kept_in_memory: usize,
    /// Former versions of pages that are kept only in the file for snapshots.
    pub kept_in_file: usize,
    /// The buffer manager.
    pub buffer: BufferStats,
    /// The log.
    pub log: LogStats,
}

impl DiskStore {
    /// Returns the number of keys of the main space. It is exact if there is no concurrent write.
    pub fn len(&self) -> u64 {
        self.shared.keys.load(Ordering::Relaxed)
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of pages in use, in the file or in memory only. Waits for the current
    /// transaction.
    pub fn pages_in_use(&self) -> usize {
        self.shared.buffer.ids_in_use()
    }

    /// Returns the structure and the parameters of the main space's trie.
    pub fn shape(&self) -> TrieShape {
        self.shared.spaces.main().shape()
    }

    /// Returns counters and sizes.
    pub fn stats(&self) -> DiskStats {
        let shared = &*self.shared;
        let moments = shared.buffer.moment_stats();
        let sequence = shared.sequence.load(Ordering::Relaxed);
        DiskStats {
            sequence,
            keys: self.len(),
            logged: shared.logged.load(Ordering::Relaxed),
            unsaved_writes: sequence.saturating_sub(shared.buffer.header().sequence),
            checkpoints: shared.checkpoints.taken.load(Ordering::Relaxed),
            checkpoint_running: shared.checkpoints.running.load(Ordering::Relaxed),
            last_checkpoint_unix_s: shared.checkpoints.last_unix_s.load(Ordering::Relaxed),
            replayed: shared.replayed.load(Ordering::Relaxed),
            snapshots: moments.live,
            oldest_snapshot: moments.oldest,
            kept_in_memory: moments.in_memory,
            kept_in_file: moments.in_file,
            buffer: shared.buffer.stats(),
            log: shared.log.stats(),
        }
    }

    /// Returns the options with which the store was opened.
    pub fn options(&self) -> &DiskOptions {
        &self.shared.options
    }

    /// Returns the number of pages that the cache can hold.
    pub fn cache_pages(&self) -> usize {
        self.shared.buffer.capacity()
    }

    /// Changes the number of pages that the cache can hold, at least
    /// [`CACHE_LEAST`](crate::CACHE_LEAST). Reads and writes continue. If the number falls, pages
    /// are evicted before this returns, and changed ones are written to the file first. Pages that
    /// readers use at this moment are evicted later. An open transaction keeps the former limit.
    ///
    /// # Errors
    /// The number is too small, or the store is closed: the cache keeps its size. A changed page
    /// cannot be written: the cache has its new size, and the page is evicted later.
    ///
    /// ```
    /// # use skein_disk::{DiskOptions, DiskStore};
    /// # let folder = tempfile::tempdir()?;
    /// # let store = DiskStore::open(folder.path(), DiskOptions::default())?;
    /// store.resize_cache(100)?;
    /// assert_eq!(store.cache_pages(), 100);
    /// assert!(store.stats().buffer.resident <= 100);
    /// assert!(store.resize_cache(3).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resize_cache(&self, pages: usize) -> Result<()> {
        self.shared.check_open()?;
        self.shared.buffer.resize(pages)
    }

    /// Takes a last checkpoint and unlocks the folder, so that another process may use it. All
    /// later and concurrent calls return [`DiskError::Closed`], and so do reads of its snapshots.
    /// Dropping the store does the same but reports no errors. A store that maps its file
    /// ([`ReadMode::mapping`]) keeps the folder locked until it and its snapshots are dropped.
    ///
    /// # Errors
    /// As [`checkpoint`](Self::checkpoint), and those of the log. The folder is unlocked
    /// nevertheless.
    pub fn close(&self) -> Result<()> {
        // Held to the end, so that a concurrent `close` waits.
        let mut folder = lock(&self.folder);
        if folder.is_closed {
            return Ok(());
        }
        self.checkpointer.stop();
        self.evictor.stop();
        // First the flag, so that later transactions are refused; then the lock, which waits for
        // the current commit.
        self.shared.closed.store(true, Ordering::Relaxed);
        drop(lock(&self.shared.record));
        // This checkpoint has everything that was committed.
        let done = self.shared.checkpoint();
        let closed = self.shared.log.close();
        self.shared.buffer.close();
        folder.is_closed = true;
        // A read in progress may use a mapped file until the store is dropped (`mapping.rs`,
        // invariant 3).
        if self.shared.options.reading == ReadMode::Calls {
            folder.lock = None;
        }
        done.and(closed.map(|_| ()).map_err(Into::into))
    }
}

impl DiskShared {
    /// Errors if the store is closed.
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(DiskError::Closed { path: self.buffer.path().to_owned() });
        }
        Ok(())
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "the store was dropped without a last checkpoint");
        }
    }
}

/// Counts pages that a long operation has processed. Errors if it was cancelled.
fn tell_pages(progress: &OpenProgress, pages: u64) -> Result<()> {
    if progress.advance(pages * PAGE as u64, 0) { Ok(()) } else { Err(LogError::Cancelled.into()) }
}
