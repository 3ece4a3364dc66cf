//! The disk engine as the server uses it: rows as the values of a `DiskStore`.
//!
//! A session reads each row into a buffer that it reuses, in the form that rows have in memory
//! (`skein_model::RowBuffer`). So commands handle one kind of row. "Rows" in `docs/format.md`
//! defines the bytes.
//!
//! The members of sets, and the columns of a hash that has too many for a row, are entries of
//! spaces of their own (`keys`). The row has only their number (`CollectionHead`). A transaction
//! changes all of them at once. Expired rows are hidden from readers until a thread removes them
//! (`cleaner`).
//!
//! Read `session` and `transaction` (what commands use), `rows`, `row_reads` and `reader` (reads),
//! `writer`, `main_rows`, `row_writer` and `members` (writes).
//! `expiry_entries` counts in the expiry index, `keyspaces` the keys of each keyspace.

mod cleaner;
mod expiry_entries;
mod keys;
mod keyspaces;
mod main_rows;
mod members;
mod reader;
mod row_reads;
mod row_writer;
mod rows;
mod session;
mod transaction;
mod writer;

use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use skein_disk::{CACHE_LEAST, DiskStore, KeySpace, PAGE, Values};
use skein_model::{EXPIRING_KEY_BYTES_MAX, RowAllocator, RowRef};
use skein_store::{Eviction, ExpiryClock, RemovalObserver, StoreLimits, StoreStats};
use skein_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use skein_sync::background::{BackgroundThread, ThreadSignal};

pub(crate) use expiry_entries::{ExpiringKeys, ExpiryEntries};
pub(crate) use keys::walk_direction;
pub(crate) use row_reads::RowReads;
pub(crate) use rows::DiskRowReader;
pub(crate) use session::DiskSession;
pub(crate) use transaction::OpenTransaction;
pub use writer::DiskWriter;

use crate::{Error, Result, RowError};

/// The counters of removals of absent keys; several keys share one.
const REMOVAL_COUNTERS: usize = 4096;

/// A disk store that a server serves. Clones are cheap and share the store. The last one ends the
/// thread that removes expired keys.
#[derive(Debug, Clone)]
pub struct DiskEngine {
    core: Arc<DiskCore>,
    /// `None` in the thread itself.
    cleaner: Option<Arc<BackgroundThread>>,
}

/// The state that all clones share.
#[derive(Debug)]
struct DiskCore {
    store: DiskStore,
    limits: StoreLimits,
    /// Builds the rows that commands change.
    rows: RowAllocator,
    clock: ExpiryClock,
    /// Whether a row may expire or stand for a collection. Never cleared.
    has_references: AtomicBool,
    /// For each hash of a key, how often such a key was removed.
    removals: Box<[AtomicU64]>,
    /// Keys that were removed because they had expired.
    expired: AtomicU64,
    /// The cleaner leaves expired keys where they are.
    expiry_paused: AtomicBool,
    /// Hears which expired keys are removed.
    removal_observer: OnceLock<Arc<dyn RemovalObserver>>,
    signal: Arc<ThreadSignal>,
    /// Snapshots that were not taken for a single command.
    snapshots: AtomicUsize,
}

/// A place among the live snapshots; dropping it makes room for another one.
#[derive(Debug)]
pub(crate) struct SnapshotPlace(Arc<DiskCore>);

impl Drop for SnapshotPlace {
    fn drop(&mut self) {
        // Relaxed: a count.
        self.0.snapshots.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DiskEngine {
    /// Creates the engine from a store, with limits on keys and values. (The store's cache bounds
    /// its memory.)
    ///
    /// # Errors
    /// The store was opened for other values than rows, a page cannot be read, or a thread could
    /// not be started.
    pub fn new(store: DiskStore, limits: StoreLimits) -> Result<Self> {
        Self::with_clock(store, limits, ExpiryClock::system())
    }

    /// Does the same as [`new`](Self::new), with another clock, which decides when keys expire.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_clock(store: DiskStore, limits: StoreLimits, clock: ExpiryClock) -> Result<Self> {
        if let values @ Values::Bytes = store.options().values {
            return Err(Error::NotOfRows { values });
        }
        let any = !store.space(KeySpace::Members)?.is_empty()? || (&store).count()? > 0;
        let core = Arc::new(DiskCore {
            store,
            limits,
            rows: RowAllocator::new(),
            clock,
            has_references: AtomicBool::new(any),
            removals: (0..REMOVAL_COUNTERS).map(|_| AtomicU64::new(0)).collect(),
            expired: AtomicU64::new(0),
            expiry_paused: AtomicBool::new(false),
            removal_observer: OnceLock::new(),
            signal: Arc::default(),
            snapshots: AtomicUsize::new(0),
        });
        let (inner, signal) = (Self { core: core.clone(), cleaner: None }, core.signal.clone());
        let thread = BackgroundThread::start("skein-disk-clean", signal, move |signal| {
            cleaner::run(&inner, signal);
        });
        let thread = thread.map_err(|error| Error::NoThread { reason: error.to_string() })?;
        Ok(Self { core, cleaner: Some(Arc::new(thread)) })
    }

    /// Admits one more snapshot.
    pub(crate) fn admit_snapshot(&self) -> Result<SnapshotPlace> {
        let (core, limit) = (&self.core, self.core.limits.snapshots);
        // Relaxed: a count.
        let live = core.snapshots.fetch_add(1, Ordering::Relaxed);
        let place = SnapshotPlace(core.clone());
        if live < limit { Ok(place) } else { Err(RowError::TooManySnapshots { live, limit }.into()) }
    }

    fn core(&self) -> &DiskCore {
        &self.core
    }

    /// Stops the thread and closes the store.
    pub(crate) fn close(&self) -> Result<()> {
        if let Some(cleaner) = &self.cleaner {
            cleaner.stop();
        }
        Ok(self.core.store.close()?)
    }

    pub(crate) fn now(&self) -> u64 {
        self.core.clock.now()
    }

    /// Returns whether a row may expire or stand for a collection.
    fn has_references(&self) -> bool {
        // Relaxed: it is set under the writer's lock, which the reader holds, too.
        self.core.has_references.load(Ordering::Relaxed)
    }

    /// Notes that a row is about to expire or to stand for a collection.
    fn note_references(&self) {
        if !self.has_references() {
            self.core.has_references.store(true, Ordering::Relaxed);
        }
    }

    fn removal_counter_of(&self, key: &[u8]) -> &AtomicU64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        &self.core.removals[hasher.finish() as usize % REMOVAL_COUNTERS]
    }

    /// Counts the removal of a key, also if it is not published in the end.
    fn note_removal(&self, key: &[u8]) {
        // Release: pairs with the Acquire in `removals_like`. The publication follows.
        self.removal_counter_of(key).fetch_add(1, Ordering::Release);
    }

    /// Returns a number that grows when an absent key is inserted and removed again. A row that has
    /// expired counts as removed, so its later removal must not change the number. (If the look
    /// falls between the count of that removal and its publication, the number changes all the
    /// same.)
    pub(crate) fn removal_counter(&self, key: &[u8]) -> u64 {
        let mut reader = DiskRowReader::default();
        loop {
            let removals = self.removals_like(key);
            let row = reader.row(key, |value| self.store().get_into(key, value));
            // A row that cannot be read is an error of the command that needs it.
            let has_expired = row.is_ok_and(|row| row.is_some_and(|row| row.has_expired(self.now())));
            if self.removals_like(key) == removals {
                return removals + u64::from(has_expired);
            }
        }
    }

    fn removals_like(&self, key: &[u8]) -> u64 {
        // Acquire: pairs with the Release in `note_removal`.
        self.removal_counter_of(key).load(Ordering::Acquire)
    }

    /// Tells `observer` which expired keys the thread removes. Only the first call has an effect.
    pub(crate) fn observe_removals(&self, observer: Arc<dyn RemovalObserver>) {
        // A second observer is not heard.
        let _ = self.core.removal_observer.set(observer);
    }

    /// See [`Engine::pause_expiry`](crate::Engine::pause_expiry).
    pub(crate) fn pause_expiry(&self, is_paused: bool) {
        // Relaxed, as below: the flag is ordered with nothing.
        self.core.expiry_paused.store(is_paused, Ordering::Relaxed);
    }

    fn is_expiry_paused(&self) -> bool {
        self.core.expiry_paused.load(Ordering::Relaxed)
    }

    /// Wakes the thread, because members of a collection are to be removed.
    fn wake_cleaner(&self) {
        self.core.signal.wake();
    }

    /// Returns the store.
    pub fn store(&self) -> &DiskStore {
        &self.core.store
    }

    /// Returns the size of the cache.
    pub(crate) fn cache_bytes(&self) -> usize {
        self.core.store.cache_pages().saturating_mul(PAGE)
    }

    /// Returns the pages of a cache of this size; without one, those that the store was opened
    /// with.
    ///
    /// # Errors
    /// The size is less than the smallest cache, or the policy evicts keys.
    pub(crate) fn cache_pages_for(&self, limit: Option<usize>, eviction: Eviction) -> Result<usize> {
        if eviction != Eviction::None {
            return Err(Error::NoEviction { policy: eviction });
        }
        let least = CACHE_LEAST * PAGE;
        match limit {
            None => Ok(self.core.store.options().cache_pages),
            Some(bytes) if bytes < least => Err(Error::CacheTooSmall { bytes, least }),
            Some(bytes) => Ok(bytes / PAGE),
        }
    }

    /// Counts a key that was removed because it had expired.
    fn count_expired(&self) {
        // Relaxed: a count.
        self.core.expired.fetch_add(1, Ordering::Relaxed);
    }

    fn limits(&self) -> &StoreLimits {
        &self.core.limits
    }

    pub(crate) fn rows(&self) -> &RowAllocator {
        &self.core.rows
    }

    /// Returns the number of keys without the expired ones.
    pub(crate) fn len(&self) -> usize {
        self.without_expired(self.core.store.len(), self.now(), &&self.core.store)
    }

    /// Returns the number of keys without those that have expired at `now`.
    pub(crate) fn without_expired(&self, keys: u64, now: u64, entries: &impl ExpiryEntries) -> usize {
        let expired = self.count_overdue(now, entries);
        usize::try_from(keys.saturating_sub(expired)).unwrap_or(usize::MAX)
    }

    /// Returns the longest key that can be written.
    pub(crate) fn key_bytes_max(&self) -> usize {
        self.core.limits.key_bytes
    }

    pub(crate) fn check_key(key: &[u8]) -> skein_model::Result<()> {
        within(key, skein_model::KEY_BYTES_MAX)
    }

    pub(crate) fn check_sizes(&self, key: &[u8], bytes: usize) -> skein_model::Result<()> {
        within(key, self.core.limits.key_bytes)?;
        let limit = self.core.limits.value_bytes;
        if bytes > limit { Err(RowError::ValueTooLong { len: bytes, limit }) } else { Ok(()) }
    }

    /// Refuses to give a time to a key that is too long to expire, as the engine in memory does.
    pub(crate) fn check_expiry(key: &[u8], expires: Option<u64>) -> skein_model::Result<()> {
        if expires.is_some() { within(key, EXPIRING_KEY_BYTES_MAX) } else { Ok(()) }
    }

    /// Returns the store's statistics, under the names of the engine in memory.
    pub(crate) fn row_stats(&self) -> StoreStats {
        let store = &self.core.store;
        self.stats_with(self.len(), (&store).expiring(self.now()))
    }

    /// Returns the store's statistics with these numbers of keys.
    pub(crate) fn stats_with(&self, keys: usize, expiring: ExpiringKeys) -> StoreStats {
        let store = &self.core.store;
        let stats = store.stats();
        let mut numbers = StoreStats::default();
        numbers.keys = keys;
        numbers.expires = usize::try_from(expiring.count).unwrap_or(usize::MAX);
        numbers.average_ttl = Duration::from_millis(expiring.average_ttl_ms);
        numbers.expired = self.core.expired.load(Ordering::Relaxed);
        numbers.snapshots = self.core.snapshots.load(Ordering::Relaxed);
        numbers.oldest_snapshot = stats.oldest_snapshot;
        numbers.index_bytes = (stats.buffer.resident + stats.buffer.retired) * PAGE;
        numbers.row_bytes = self.core.rows.memory();
        numbers.reserved_bytes = self.cache_bytes();
        numbers.epoch = stats.log.epoch;
        numbers.durable_epoch = stats.log.durable_epoch;
        numbers.log_bytes = stats.logged;
        numbers.log_records = stats.unsaved_writes;
        numbers.log_bytes_behind = stats.log.behind_bytes;
        numbers.checkpoint_at_log_bytes = store.options().checkpoint_bytes;
        numbers.log_segments = stats.log.segments;
        numbers.commits = stats.log.commits;
        numbers.checkpoints = stats.checkpoints;
        numbers.checkpoint_running = stats.checkpoint_running;
        numbers.last_checkpoint_unix_s = stats.last_checkpoint_unix_s;
        numbers.writes_stopped = store.writes_stopped().map(|error| error.to_string());
        numbers
    }
}

fn within(key: &[u8], limit: usize) -> skein_model::Result<()> {
    if key.len() > limit { Err(RowError::KeyTooLong { len: key.len(), limit }) } else { Ok(()) }
}

/// Returns the row unless it has expired.
pub(crate) fn live(row: Option<RowRef<'_>>, now: u64) -> Option<RowRef<'_>> {
    row.filter(|row| !row.has_expired(now))
}
