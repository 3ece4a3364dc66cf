//! The disk engine as the server uses it: rows as the values of a `DiskStore`.
//!
//! A session reads each row into a buffer that it reuses, in the form that rows have in memory
//! (`skein_store::RowBuffer`). So commands handle one kind of row. "Rows" in `docs/format.md`
//! defines the bytes.
//!
//! Expired rows are hidden from readers. They stay on their page until their key is written or
//! removed; no thread searches for them.

mod rows;
mod writer;

use std::sync::Arc;

use skein_disk::{DiskStore, PAGE, Values};
use skein_store::{ExpiryClock, RowAllocator, RowRef, StoreLimits, StoreStats};

pub(crate) use rows::DiskRowReader;
pub use writer::DiskWriter;

use crate::{Error, Result, RowError};

/// A disk store that a server serves. Clones are cheap and share the store.
#[derive(Debug, Clone)]
pub struct DiskEngine {
    store: Arc<DiskStore>,
    limits: StoreLimits,
    /// Builds the rows that commands change.
    rows: RowAllocator,
    clock: ExpiryClock,
}

impl DiskEngine {
    /// Creates the engine from a store, with limits on keys and values. (There are no snapshots,
    /// and the store's cache bounds its memory.)
    ///
    /// # Errors
    /// If the store was opened for other values than rows.
    pub fn new(store: DiskStore, limits: StoreLimits) -> Result<Self> {
        match store.options().values {
            Values::Rows => Ok(Self {
                store: Arc::new(store),
                limits,
                rows: RowAllocator::new(),
                clock: ExpiryClock::system(),
            }),
            values @ Values::Bytes => Err(Error::NotOfRows { values }),
        }
    }

    /// Replaces the system's clock, which decides when keys expire.
    #[must_use]
    pub fn with_clock(self, clock: ExpiryClock) -> Self {
        Self { clock, ..self }
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Returns the store.
    pub fn store(&self) -> &DiskStore {
        &self.store
    }

    pub(crate) fn rows(&self) -> &RowAllocator {
        &self.rows
    }

    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.store.len()).unwrap_or(usize::MAX)
    }

    pub(crate) fn check_key(key: &[u8]) -> skein_store::Result<()> {
        within(key, skein_store::KEY_BYTES_MAX)
    }

    pub(crate) fn check_sizes(&self, key: &[u8], bytes: usize) -> skein_store::Result<()> {
        within(key, self.limits.key_bytes)?;
        let limit = self.limits.value_bytes;
        if bytes > limit { Err(RowError::ValueTooLong { len: bytes, limit }) } else { Ok(()) }
    }

    /// Returns the store's statistics, under the names of the engine in memory.
    pub(crate) fn row_stats(&self) -> StoreStats {
        let stats = self.store.stats();
        let mut numbers = StoreStats::default();
        numbers.keys = self.len();
        numbers.index_bytes = (stats.buffer.resident + stats.buffer.retired) * PAGE;
        numbers.row_bytes = self.rows.memory();
        numbers.reserved_bytes = self.store.options().cache_pages.saturating_mul(PAGE);
        numbers.epoch = stats.log.epoch;
        numbers.durable_epoch = stats.log.durable_epoch;
        numbers.log_bytes = stats.logged;
        numbers.log_bytes_behind = stats.log.behind_bytes;
        numbers.checkpoint_at_log_bytes = self.store.options().checkpoint_bytes;
        numbers.log_segments = stats.log.segments;
        numbers.commits = stats.log.commits;
        numbers.checkpoints = stats.checkpoints;
        numbers.checkpoint_running = stats.checkpoint_running;
        numbers.last_checkpoint_unix_s = stats.last_checkpoint_unix_s;
        numbers.writes_stopped = self.store.writes_stopped().map(|error| error.to_string());
        numbers
    }
}

fn within(key: &[u8], limit: usize) -> skein_store::Result<()> {
    if key.len() > limit { Err(RowError::KeyTooLong { len: key.len(), limit }) } else { Ok(()) }
}

/// Returns the row unless it has expired.
pub(crate) fn live(row: Option<RowRef<'_>>, now: u64) -> Option<RowRef<'_>> {
    row.filter(|row| !row.has_expired(now))
}
