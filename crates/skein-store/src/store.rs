//! The store: opening, simple methods, waiting, checkpoints, statistics.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Batch, Direction, Result, Session, StoreOptions, Ticket};

/// A durable ordered map from keys to rows. Cloning is cheap and gives the same store.
#[derive(Debug, Clone)]
pub struct Store(());

/// A key with what it holds, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Vec<u8>,
    /// The row's version.
    pub version: u64,
    /// The value, if the row has one and no columns.
    pub value: Option<Vec<u8>>,
    /// The columns by name; empty if the row has a value.
    pub columns: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What opening found and did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Rows loaded from the checkpoint.
    pub checkpoint_rows: u64,
    /// Log records replayed.
    pub log_records: u64,
    /// The last durable epoch.
    pub epoch: u64,
    /// Torn tails that were cut off: file, and bytes cut.
    pub torn_tails: Vec<(PathBuf, u64)>,
    /// Keys now.
    pub keys: usize,
    /// How long it took.
    pub took: Duration,
}

/// What a checkpoint wrote.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// Rows written.
    pub rows: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Log segments that it let go.
    pub segments_removed: usize,
    /// How long it took.
    pub took: Duration,
}

/// What closing did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CloseReport {
    /// The last durable epoch.
    pub epoch: u64,
    /// The checkpoint that closing wrote (at `None`).
    pub checkpoint: Option<CheckpointReport>,
}

/// The store in numbers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StoreStats {
    /// Keys.
    pub keys: usize,
    /// Bytes of index nodes and of keys outside them.
    pub index_bytes: usize,
    /// Bytes of rows.
    pub row_bytes: usize,
    /// Retired, but maybe still seen by a reader.
    pub unreclaimed_bytes: usize,
    /// The present epoch.
    pub epoch: u64,
    /// The last durable epoch.
    pub durable_epoch: u64,
    /// Log bytes since the last checkpoint began.
    pub log_bytes: u64,
    /// Log segments on disk.
    pub log_segments: usize,
    /// Checkpoints finished since the store was opened.
    pub checkpoints: u64,
    /// Whether one is being written now.
    pub checkpoint_running: bool,
    /// Seconds since 1970 of the end of the last checkpoint; 0 for none.
    pub last_checkpoint_unix_s: u64,
    /// Why writes are stopped, if they are.
    pub writes_stopped: Option<String>,
}

#[allow(missing_docs, unused_variables, clippy::missing_errors_doc, clippy::needless_pass_by_value)] // signatures first
impl Store {
    /// Opens the store in the folder `path`, creating it if need be, and recovers what is there.
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        todo!()
    }
    pub fn recovery(&self) -> &RecoveryReport {
        todo!()
    }
    /// A session on the next log in turn.
    pub fn session(&self) -> Session {
        todo!()
    }
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        todo!()
    }
    pub fn get_entry(&self, key: &[u8]) -> Option<Entry> {
        todo!()
    }
    /// The columns of `key` that are asked for, by position; `None` for all.
    pub fn get_columns(&self, key: &[u8], names: Option<&[&[u8]]>) -> Result<Vec<Option<Vec<u8>>>> {
        todo!()
    }
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<u64> {
        todo!()
    }
    pub fn put_columns(&self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<usize> {
        todo!()
    }
    pub fn remove(&self, key: &[u8]) -> Result<bool> {
        todo!()
    }
    pub fn compare_and_swap(
        &self,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> Result<std::result::Result<u64, u64>> {
        todo!()
    }
    pub fn increment(&self, key: &[u8], by: i64) -> Result<i64> {
        todo!()
    }
    pub fn apply(&self, batch: &Batch) -> Result<()> {
        todo!()
    }
    pub fn range(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        limit: usize,
    ) -> Vec<Entry> {
        todo!()
    }
    pub fn prefix(&self, prefix: &[u8], direction: Direction, limit: usize) -> Vec<Entry> {
        todo!()
    }
    pub fn remove_range(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<usize> {
        todo!()
    }
    pub fn len(&self) -> usize {
        todo!()
    }
    pub fn is_empty(&self) -> bool {
        todo!()
    }
    pub fn durability(&self) -> crate::Durability {
        todo!()
    }
    pub fn durable_epoch(&self) -> u64 {
        todo!()
    }
    /// Waits until the ticket's writes are durable (leader commit: the caller may do the commit itself).
    pub fn wait_durable(&self, ticket: Ticket) -> Result<()> {
        todo!()
    }
    /// Asks for the ticket's epoch to be closed soon, without waiting; see `on_durable`.
    pub fn request_durable(&self, ticket: Ticket) {
        todo!()
    }
    /// `callback` is called, from any thread and briefly, whenever the durable epoch has advanced or writes have stopped.
    pub fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        todo!()
    }
    /// Makes everything written so far durable (at `None`: does nothing).
    pub fn flush(&self) -> Result<()> {
        todo!()
    }
    /// Writes a checkpoint now; waits for one that is being written, then writes another.
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        todo!()
    }
    /// Asks the background thread for a checkpoint; false if one is being written already. BGSAVE.
    pub fn checkpoint_in_background(&self) -> bool {
        todo!()
    }
    pub fn stats(&self) -> StoreStats {
        todo!()
    }
    /// Ends all writing, makes everything durable (at `None` by a checkpoint) and lets the folder go.
    pub fn close(&self) -> Result<CloseReport> {
        todo!()
    }
}
