//! The store: one trie in a folder, whose writes are logged.
//!
//! ```text
//!   set, cas, inc, remove ─► the trie's pages, published ─► a record in the log ─► acknowledged, at the level that was chosen
//!   checkpoint            ─► all pages that have changed, and a header that says up to which write ─► the log before is let go
//!   open                  ─► the header's state ─► the log's records of later writes, in their order
//!
//!   folder/   data.skein   the file (`page_file/`)        log/   segments (crate `skein-log`)        lock
//! ```
//!
//! # Invariants
//! 1. Writes have numbers that rise, and are published and logged in that order. The number of a key's last write is its version.
//! 2. The file's state is that after some write, its header's `sequence`: pages become the file's only by checkpoints, each of which is of one moment.
//! 3. So what the file has, and the log's records of greater numbers applied to it, is the state after the last write that is durable: a write that was
//!    acknowledged at [`Durability::Sync`] is there after a crash, and after any crash there is no write without those before it.
//!
//! Source: section 2 and 5. The paper changes pages in place, the value first and then the version, and has no log.

mod compact;
mod inspect;
mod open;
mod options;
mod record;
#[cfg(test)]
mod tests;
mod write;

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use skein_log::storage::StorageLock;
use skein_log::{Durability, Log, LogStats};
use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::locks::lock;

pub use compact::CompactReport;
pub use inspect::{Inspection, TrieFound, inspect, is_disk_folder, shape_of};
pub use options::DiskOptions;

use crate::Result;
use crate::buffer::{Buffer, BufferStats, Moment};
use crate::page::{PageId, Place};
use crate::trie::{Census, Cursor, Shape, Trie};

/// The file's name in the folder.
pub(crate) const FILE: &str = "data.skein";
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
    shared: Arc<Shared>,
    /// Takes checkpoints as the log grows.
    checkpointer: Mutex<Option<JoinHandle<()>>>,
    lock: Mutex<Option<Box<dyn StorageLock>>>,
}

/// What the store and its thread share.
#[derive(Debug)]
struct Shared {
    buffer: Buffer,
    log: Log,
    trie: Trie,
    /// The page where the catalog begins.
    catalog: PageId,
    options: DiskOptions,
    /// Held from a write's number to its record in the log (invariant 1).
    ordering: Mutex<()>,
    /// The last write's number. Changed by the writer alone, while it has the buffer's pages.
    sequence: AtomicU64,
    /// Bytes logged since the last checkpoint began.
    logged: AtomicU64,
    checkpoints: AtomicU64,
    /// Writes of the log that were done again when the store was opened.
    replayed: AtomicU64,
    /// What the checkpointing thread is to do.
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Wanted {
    checkpoint: bool,
    end: bool,
}

/// The store in numbers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiskStats {
    /// The number of the last write.
    pub sequence: u64,
    /// Checkpoints that were taken since the store was opened.
    pub checkpoints: u64,
    /// Writes that only the log had when the store was opened.
    pub replayed: u64,
    /// The buffer manager.
    pub buffer: BufferStats,
    /// The log.
    pub log: LogStats,
}

impl DiskStore {
    /// The value of a key.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged; a last write that was interrupted.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get_entry(key)?.map(|(_, value)| value))
    }

    /// The version and the value of a key.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_entry(&self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>> {
        let Shared { buffer, trie, .. } = &*self.shared;
        buffer.read_with(|view| trie.get(&mut &*view, key))
    }

    /// A cursor before the first key. It reads some keys ahead: what is written meanwhile it may see or not.
    ///
    /// # Errors
    /// The trie keeps no order.
    pub fn cursor(&self) -> Result<Cursor<'_>> {
        self.shared.trie.cursor(&self.shared.buffer)
    }

    /// Which trie it is.
    pub fn shape(&self) -> Shape {
        self.shared.trie.shape()
    }

    /// The store in numbers.
    pub fn stats(&self) -> DiskStats {
        let shared = &*self.shared;
        DiskStats {
            sequence: shared.sequence.load(Ordering::Relaxed),
            checkpoints: shared.checkpoints.load(Ordering::Relaxed),
            replayed: shared.replayed.load(Ordering::Relaxed),
            buffer: shared.buffer.stats(),
            log: shared.log.stats(),
        }
    }

    /// Looks at all of the trie and verifies every invariant, in time that grows with its pages. Reads go on meanwhile, and writes wait.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub fn check(&self) -> Result<Census> {
        let mut still = self.shared.buffer.still();
        self.shared.trie.check(&mut still).map_err(|stop| still.fault(stop))
    }

    /// Makes all that was written before durable. At [`Durability::None`] there is no log: then only a [`checkpoint`](Self::checkpoint) does.
    ///
    /// # Errors
    /// The log is stopped by a failure.
    pub fn sync(&self) -> Result<()> {
        self.shared.log.commit()?;
        Ok(())
    }

    /// Makes all that was written before the file's own, and lets go of the log before. Reads and writes go on meanwhile.
    ///
    /// # Errors
    /// A failed file operation. Nothing is lost: the log has what the file has not.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.checkpoint()
    }

    /// Takes a checkpoint, and closes the store. Dropping it does the same, without an answer.
    ///
    /// # Errors
    /// As [`checkpoint`](Self::checkpoint), and those of the log.
    pub fn close(self) -> Result<()> {
        self.end()
    }

    /// Ends the thread, and takes a last checkpoint, unless that has been done.
    fn end(&self) -> Result<()> {
        let Some(held) = lock(&self.lock).take() else { return Ok(()) };
        lock(&self.shared.wanted).end = true;
        self.shared.changed.notify_all();
        if let Some(thread) = lock(&self.checkpointer).take() {
            // A thread that panicked has said so itself.
            _ = thread.join();
        }
        let done = self.shared.checkpoint();
        let closed = self.shared.log.close();
        drop(held);
        done.and(closed.map(|_| ()).map_err(Into::into))
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "the store was dropped without a last checkpoint");
        }
    }
}

impl Shared {
    fn checkpoint(&self) -> Result<()> {
        self.checkpoint_moving(None)
    }

    /// Takes a checkpoint that moves the maps that lie from a place on, if there is one.
    fn checkpoint_moving(&self, lists_from: Option<Place>) -> Result<()> {
        let mut begun = 0;
        let moment = || {
            self.logged.store(0, Ordering::Relaxed);
            begun = self.log.epoch();
            let sequence = self.sequence.load(Ordering::Relaxed);
            Moment { sequence, epoch: begun, catalog: self.catalog }
        };
        // What the file is to have is durable in the log first: so the log never lacks an epoch that the file has something of.
        let ready = |moment: &Moment| Ok(self.log.wait_durable(moment.epoch)?);
        self.buffer.checkpoint(moment, ready, lists_from)?;
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        if self.options.durability != Durability::None {
            self.log.release_before(begun)?;
        }
        Ok(())
    }

    /// Takes checkpoints when they are wanted, until the end is.
    fn take_checkpoints(&self) {
        let mut wanted = lock(&self.wanted);
        while !wanted.end {
            if !std::mem::take(&mut wanted.checkpoint) {
                wanted = skein_sync::locks::wait(&self.changed, wanted);
                continue;
            }
            drop(wanted);
            // Nothing is lost: the log has what the file has not, and the store goes on.
            if let Err(error) = self.checkpoint() {
                tracing::warn!(%error, "a checkpoint was not taken");
            }
            wanted = lock(&self.wanted);
        }
    }
}
