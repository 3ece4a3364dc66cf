//! The store: one trie in a folder, whose writes are logged.
//!
//! ```text
//!   transaction           ─► the trie's pages, published ─► a record in the log ─► acknowledged, at the level that was chosen
//!   checkpoint            ─► all pages that have changed, and a header that says up to which write ─► the log before is let go
//!   open                  ─► the header's state ─► the log's records of later writes, in their order
//!
//!   transaction.rs, write.rs   all or nothing; set, cas, inc, remove are transactions of one write      read.rs   walks of one moment
//!   durable.rs   tickets, for who acknowledges later      open.rs, record.rs   replay      checkpoints.rs   the thread that takes them
//!
//!   folder/   data.skein   the file (`page_file/`)        log/   segments (crate `skein-log`)        lock
//! ```
//!
//! # Invariants
//! 1. Writes have numbers that rise, and transactions are published and logged in that order. The number of a key's last write is its version.
//! 2. The file's state is that after some transaction, whose last write is its header's `sequence`: pages become the file's only by checkpoints, each of
//!    which is of one moment. So is its number of keys.
//! 3. So what the file has, and the log's records of greater numbers applied to it, is the state after the last transaction that is durable: one that was
//!    acknowledged at [`Durability::Sync`] is there after a crash, whole, and after any crash there is none without those before it.
//!
//! Source: section 2 and 5. The paper changes pages in place, the value first and then the version, and has no log.

mod checkpointer;
mod compact;
mod durability;
mod inspect;
mod log_record;
mod open;
mod options;
mod read;
mod remove_range;
#[cfg(test)]
mod tests;
mod transaction;
mod write;

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use skein_log::storage::StorageLock;
use skein_log::{Log, LogStats};
use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::locks::lock;

use checkpointer::CheckpointStatus;
pub use compact::CompactReport;
pub use inspect::{DiskInspection, TrieInspection, inspect, is_disk_folder, kind_of};
pub use options::DiskOptions;
pub use read::FoundValues;
pub use remove_range::RangeRemoval;
pub use transaction::{DiskTransaction, UpdateAction, UpdateOutcome};

use crate::buffer::{BufferManager, BufferStats};
use crate::page::PageId;
use crate::trie::{DiskTrie, TrieShape};
use crate::{DiskError, ReadMode, Result};

/// The file's name in the folder.
pub(crate) const FILE: &str = "data.skein";
/// The file that a folder of the engine in memory has (`docs/format.md`).
pub(crate) const MEMORY_FILE: &str = "identity";
/// The log's folder in the folder.
pub(crate) const LOG: &str = "log";

/// A persistent map from keys to values, whose data may exceed memory; many threads may read and write it through `&self`.
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
    /// Takes checkpoints as the log grows.
    checkpointer: Mutex<Option<JoinHandle<()>>>,
    /// Dropped last: a mapped file is the store's own until it is unmapped.
    folder: Mutex<FolderLock>,
}

/// The store's hold on its folder.
#[derive(Debug)]
struct FolderLock {
    lock: Option<Box<dyn StorageLock>>,
    is_closed: bool,
}

/// What the store and its thread share.
#[derive(Debug)]
struct DiskShared {
    buffer: BufferManager,
    log: Log,
    trie: DiskTrie,
    /// The page where the catalog begins.
    catalog: PageId,
    options: DiskOptions,
    /// Held by a transaction: its record, from its first number to the log (invariant 1).
    record: Mutex<Vec<u8>>,
    /// The last write's number, and how many keys there are. Changed by the writer alone, while it has the buffer's pages.
    sequence: AtomicU64,
    keys: AtomicU64,
    /// Bytes logged since the last checkpoint began.
    logged: AtomicU64,
    checkpoints: CheckpointStatus,
    /// Writes of the log that were done again when the store was opened.
    replayed: AtomicU64,
    /// What the checkpointing thread is to do.
    wanted: Mutex<CheckpointerRequest>,
    changed: Condvar,
    /// No transaction is committed any more. Read under the lock of `record`.
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct CheckpointerRequest {
    checkpoint: bool,
    end: bool,
}

/// The store in numbers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiskStats {
    /// The number of the last write.
    pub sequence: u64,
    /// Keys.
    pub keys: u64,
    /// Bytes logged since the last checkpoint began, or replayed since that one when the store was opened.
    pub logged: u64,
    /// Checkpoints that were taken since the store was opened.
    pub checkpoints: u64,
    /// Whether one is being taken now.
    pub checkpoint_running: bool,
    /// Seconds since 1970 of the end of the last one that was taken since the store was opened; 0 for none.
    pub last_checkpoint_unix_s: u64,
    /// Writes that only the log had when the store was opened.
    pub replayed: u64,
    /// The buffer manager.
    pub buffer: BufferStats,
    /// The log.
    pub log: LogStats,
}

impl DiskStore {
    /// How many keys there are; exact while nobody writes.
    pub fn len(&self) -> u64 {
        self.shared.keys.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Pages that hold something, in the file or only in memory yet. Waits for the transaction under way.
    pub fn pages_in_use(&self) -> usize {
        self.shared.buffer.ids_in_use()
    }

    /// Which trie it is.
    pub fn shape(&self) -> TrieShape {
        self.shared.trie.shape()
    }

    /// The store in numbers.
    pub fn stats(&self) -> DiskStats {
        let shared = &*self.shared;
        DiskStats {
            sequence: shared.sequence.load(Ordering::Relaxed),
            keys: self.len(),
            logged: shared.logged.load(Ordering::Relaxed),
            checkpoints: shared.checkpoints.taken.load(Ordering::Relaxed),
            checkpoint_running: shared.checkpoints.running.load(Ordering::Relaxed),
            last_checkpoint_unix_s: shared.checkpoints.last_unix_s.load(Ordering::Relaxed),
            replayed: shared.replayed.load(Ordering::Relaxed),
            buffer: shared.buffer.stats(),
            log: shared.log.stats(),
        }
    }

    /// How the store was opened.
    pub fn options(&self) -> &DiskOptions {
        &self.shared.options
    }

    /// Takes a last checkpoint, unless that has been done, and lets the folder go: another process may have it then. So
    /// whatever is asked of the store later answers [`DiskError::Closed`](crate::DiskError::Closed), also what was under way. Dropping the store does the
    /// same, without an answer. A store that maps its file ([`Reading::mapping`]) keeps the folder until it is dropped.
    ///
    /// # Errors
    /// As [`checkpoint`](Self::checkpoint), and those of the log. The folder is let go all the same.
    pub fn close(&self) -> Result<()> {
        // Held to the end: who closes at the same time waits for that.
        let mut folder = lock(&self.folder);
        if folder.is_closed {
            return Ok(());
        }
        lock(&self.shared.wanted).end = true;
        self.shared.changed.notify_all();
        if let Some(thread) = lock(&self.checkpointer).take() {
            // A thread that panicked has said so itself.
            _ = thread.join();
        }
        // First the flag, so that writers who come again and again stop; then the lock, which waits for the commit under way.
        self.shared.closed.store(true, Ordering::Relaxed);
        drop(lock(&self.shared.record));
        // All that was committed is in this one.
        let done = self.shared.checkpoint();
        let closed = self.shared.log.close();
        self.shared.buffer.close();
        folder.is_closed = true;
        // A read under way may look at a mapped file until the store is dropped (`mapping.rs`, invariant 3).
        if self.shared.options.reading == ReadMode::Calls {
            folder.lock = None;
        }
        done.and(closed.map(|_| ()).map_err(Into::into))
    }
}

impl DiskShared {
    /// Whether the store was not closed.
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
