//! The disk engine as the server uses it: rows as the values of a `DiskStore`.
//!
//! A session reads each row into a buffer that it reuses, in the form that rows have in memory
//! (`skein_store::RowBuffer`). So commands handle one kind of row. "Rows" in `docs/format.md`
//! defines the bytes.
//!
//! Expired rows are hidden from readers. They stay on their page until their key is written or
//! removed; no thread searches for them.

use std::ops::ControlFlow;
use std::sync::Arc;

use skein_disk::{DiskStore, PAGE, ScanEntries, ScanRequest, Values};
use skein_store::{ExpiryClock, RowAllocator, RowBuffer, RowRef, StoreLimits, StoreStats, encode_value};

use crate::{EngineBounds, Error, Result, RowError, ScanDirection};

/// The most keys that one walk of a scan reads (`SCAN_KEYS`), and the bytes after which it ends.
const SCAN_KEYS: usize = 256;
const SCAN_BYTES: usize = 256 << 10;
/// The most bytes of values that are read together for a batch of lookups.
const TOGETHER_BYTES: usize = 1 << 20;

/// The most memory that a session keeps for the next row.
const KEEP_BYTES: usize = 1 << 20;

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

/// Buffers that a session reuses for its reads.
#[derive(Debug, Default)]
pub(crate) struct DiskRowReader {
    value: Vec<u8>,
    row: RowBuffer,
}

impl DiskRowReader {
    /// Returns the row of a key, whose bytes `read` provides.
    pub(crate) fn row<'r>(
        &'r mut self,
        key: &[u8],
        read: impl FnOnce(&mut Vec<u8>) -> skein_disk::Result<Option<u64>>,
    ) -> Result<Option<RowRef<'r>>> {
        self.value.clear();
        self.value.shrink_to(KEEP_BYTES);
        match read(&mut self.value)? {
            Some(version) => row_of(&mut self.row, key, version, &self.value).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the bytes of a row with one value, with its expiry time if there is one.
    pub(crate) fn of_value(&mut self, value: &[u8], expires: Option<u64>) -> &[u8] {
        self.value.clear();
        encode_value(value, expires, &mut self.value);
        &self.value
    }

    /// Returns the bytes of a row.
    pub(crate) fn of_row(&mut self, row: RowRef<'_>) -> &[u8] {
        self.value.clear();
        row.encode(&mut self.value);
        &self.value
    }

    /// Passes the rows of several keys to `found`. Their lookups overlap. If that fails, or the
    /// values are too large together, each key is read by itself, so that one error does not hide
    /// the other rows.
    pub(crate) fn each(
        &mut self,
        store: &DiskStore,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Result<Option<RowRef<'_>>>),
    ) {
        let together = store.get_many(keys, TOGETHER_BYTES).ok();
        for (at, key) in keys.iter().enumerate() {
            let row = match &together {
                Some(read) => read
                    .get(at)
                    .map(|(version, value)| row_of(&mut self.row, key, version, value))
                    .transpose(),
                None => self.row(key, |value| store.get_into(key, value)),
            };
            found(at, row);
        }
    }

    /// Passes the rows of several keys, as of one moment, to `found`.
    pub(crate) fn rows(
        &mut self,
        store: &DiskStore,
        keys: &[&[u8]],
        bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        let read = store.get_many(keys, bytes_most)?;
        for (at, key) in keys.iter().enumerate() {
            match read.get(at) {
                Some((version, value)) => found(at, Some(row_of(&mut self.row, key, version, value)?)),
                None => found(at, None),
            }
        }
        Ok(())
    }

    /// Passes the rows within bounds that `range` reads to `each`, in order, until `each` breaks.
    /// `most` is the number of keys that `each` wants at most. The second argument of `range` is
    /// the number of keys read before.
    pub(crate) fn scan(
        &mut self,
        mut range: impl FnMut(&ScanRequest<'_>, u64) -> skein_disk::Result<ScanEntries>,
        (lower, upper): EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (mut lower, mut upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        let mut before = 0;
        loop {
            let portion = ScanRequest {
                lower: lower.as_ref().map(Vec::as_slice),
                upper: upper.as_ref().map(Vec::as_slice),
                direction: walk_direction(direction),
                keys: most.min(SCAN_KEYS),
                bytes: SCAN_BYTES,
                values: true,
            };
            let found = range(&portion, before)?;
            before += found.entries.len() as u64;
            for entry in &found.entries {
                let row = row_of(&mut self.row, &entry.key, entry.version, &entry.value)?;
                if each(&entry.key, row).is_break() {
                    return Ok(());
                }
            }
            let Some(last) = found.entries.into_iter().next_back().filter(|_| found.more) else {
                return Ok(());
            };
            let near = if direction == ScanDirection::Forward { &mut lower } else { &mut upper };
            *near = std::ops::Bound::Excluded(last.key);
        }
    }

    /// Counts the first `most` keys within bounds that have not expired, as `range` reads them.
    /// Returns the count, and the last key if there may be more.
    pub(crate) fn count_first(
        &mut self,
        range: impl FnMut(&ScanRequest<'_>, u64) -> skein_disk::Result<ScanEntries>,
        bounds: EngineBounds<'_>,
        most: usize,
        now: u64,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        let (mut seen, mut count, mut last) = (0, 0, None);
        self.scan(range, bounds, ScanDirection::Forward, most, |key, row| {
            seen += 1;
            count += usize::from(!row.has_expired(now));
            if seen == most {
                last = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok((count, last))
    }
}

fn walk_direction(direction: ScanDirection) -> skein_disk::WalkDirection {
    match direction {
        ScanDirection::Forward => skein_disk::WalkDirection::Forward,
        ScanDirection::Backward => skein_disk::WalkDirection::Backward,
    }
}

fn row_of<'r>(buffer: &'r mut RowBuffer, key: &[u8], version: u64, value: &[u8]) -> Result<RowRef<'r>> {
    buffer.read(version, value).ok_or_else(|| Error::not_a_row(key))
}
