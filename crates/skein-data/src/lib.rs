//! The data model: rows, columns and collections over one of two engines.
//!
//! ```text
//!   server, library ─► Engine, EngineKeys,   ─┬─► skein-store   rows in memory (`memory`)
//!                      EngineWriter, RowView  └─► skein-disk    rows as values of a trie (`disk`)
//! ```
//!
//! Users know rows, writers and tickets, but no tree, log or file. Both engines offer the same
//! operations. A `match` per call or batch selects the engine, so users are not generic over
//! engines. Reads of the disk engine can fail, so all reads return a `Result`.
//!
//! # The contract of an engine
//! 1. A write is whole. Readers, snapshots and a restart see all of it or nothing.
//! 2. A refused write has changed nothing. The batch or transaction continues.
//! 3. A transaction is whole on disk and in snapshots. Its reads see its writes. Its caller keeps
//!    other threads away.
//! 4. `get_many_atomic` sees all keys of a `put_all` or none.
//! 5. A write is acknowledged once `durable_epoch` has reached its ticket. It then survives a power
//!    cut. A restart finds a state that was, not older than the last acknowledged one. After an
//!    error of the disk, writes are refused until a restart, and reads return rows or errors.
//! 6. Each write gives its key a version, or a number of changes, that the key did not have before,
//!    also across a removal. An absent key's removal counter shows that it was there meanwhile.
//! 7. A key that has expired is hidden at once. A thread removes it soon, and `len` is exact then.
//! 8. A snapshot shows all keys as they were at one moment, at the time of that moment. The number
//!    of live snapshots has a limit.
//! 9. A scan shows keys in the order of their bytes, in both directions. A key that is present
//!    throughout is shown once, also if the scan stops and continues behind its last key. Bounds in
//!    the wrong order are an empty range. A hash trie has no order: it refuses scans, and `walk`
//!    shows its keys.
//! 10. After `close`, writes are refused. A second `close` does nothing.
//!
//! The suite `tests/engines` checks it over all engines.
//!
//! Read in this order:
//!
//! - `session`: the access of one thread to an engine.
//! - `engine_keys`: its keys, or those of its open transaction, as commands see them. `keys`: the
//!   operations that each engine does in its own way, for `memory` and `disk`.
//! - `writer`: the single-key writes of a batch. `conditional`: a batch that depends on reads.
//! - `collections`: reads of columns and sets.
//! - `streams`: the streams of `skein-model`, in an engine.
//! - `keyspace_ranges`: ranges of one keyspace, and the rows that a server keeps for itself.
//! - `database_table`: the keyspaces of a server's databases.
//! - `row_piece`: rows in pieces, for copies and dumps.
//! - `foreign_files`: folders where no store may be created.
//! - `found_value` and `key_state`: the value of a key, and whether a command has changed it.
//! - `memory`, `disk`, `range_steps`, `error`.
//!
//! Design: `docs/design/data-model.md`, `docs/design/disk.md`.

#![forbid(unsafe_code)]

mod collections;
mod conditional;
mod database_table;
mod disk;
mod engine_keys;
mod error;
mod foreign_files;
mod found_value;
mod key_state;
mod keys;
mod keyspace_ranges;
mod memory;
mod range_steps;
mod row_piece;
mod session;
mod snapshot;
mod streams;
mod writer;

use std::sync::Arc;
use std::time::Duration;

pub use skein_disk::{DiskError, DiskStats, PAGE};
pub use skein_model::Error as RowError;

pub use collections::{
    ColumnsReader, ElementsView, ListReader, MembersView, RowView, ScoreRangeView, SetReader,
};
pub use conditional::PresentRows;
pub use database_table::DatabaseTable;
pub use disk::DiskEngine;
pub use engine_keys::EngineKeys;
pub use error::EngineError;
pub use foreign_files::foreign_files;
pub use found_value::FoundValue;
pub use key_state::KeyState;
pub use keyspace_ranges::{DATABASES_KEY, FUNCTIONS_KEY, is_private_key};
pub use range_steps::RangeRemovalStep;
pub use row_piece::{PieceRead, RowPiece, StreamContents, StreamRecords};
pub use session::EngineSession;
pub use skein_model::streams::{
    ChunkEntries, Claim, Consumer, Delivery, ENTRIES_READ_UNKNOWN, EntriesVersion, EntryFields,
    FieldsBuilder, Group, GroupStart, NewId, PendingEntry, StreamHead, StreamId, StreamPart, StreamRecord,
    StreamWriter, TrimRule, Trimming, stream_entry, stream_parts,
};
pub use skein_model::{
    AFTER_RESERVED, CollectionKind, DATABASES_MAX, KEYSPACE_PREFIX, KeyspaceStats, ListEnd, ListWriter,
    Member, RESERVED, Row, RowAllocator, RowChange, RowRef, RowWriter, SET_SCORE, ScanDirection, SetWriter,
    StoredKeyspace, VALUE_BYTES_MAX, is_reserved, name_within,
};
pub use skein_store::{
    Batch, BatchWrite, Durability, Eviction, IndexKind, OpenProgress, OpenProgressSeen, RemovalBatch,
    RemovalObserver, StoreStats, Ticket, successor,
};
pub use snapshot::{DiskEngineSnapshot, EngineSnapshot, SnapshotRelease};
pub use streams::{EntriesView, StreamReader};
pub use writer::EngineWriter;

/// The error of an operation.
pub type Error = EngineError;
/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;
/// The bounds of a range of keys.
pub use skein_model::KeyBounds as EngineBounds;

/// The engine that a server serves. Clones are cheap and share the engine.
#[derive(Debug, Clone)]
pub enum Engine {
    /// Rows in memory, as many as fit.
    Memory(skein_store::Store),
    /// Rows in a trie on the pages of a file, which may be larger than memory.
    Disk(DiskEngine),
}

impl From<skein_store::Store> for Engine {
    fn from(store: skein_store::Store) -> Self {
        Self::Memory(store)
    }
}

impl From<DiskEngine> for Engine {
    fn from(disk: DiskEngine) -> Self {
        Self::Disk(disk)
    }
}

/// Calls a method that both engines have.
macro_rules! each {
    ($self:expr, $engine:ident => $call:expr) => {
        match $self {
            Engine::Memory($engine) => $call,
            Engine::Disk($engine) => $call,
        }
    };
}

/// Calls a method that the stores of both engines have: about the log and checkpoints.
macro_rules! each_store {
    ($self:expr, $store:ident => $call:expr) => {
        match $self {
            Engine::Memory($store) => $call,
            Engine::Disk(disk) => {
                let $store = disk.store();
                $call
            }
        }
    };
}

impl Engine {
    /// Opens a session. Each thread needs its own. The caller keeps the memory limit by
    /// [`make_room`](EngineSession::make_room).
    pub fn session(&self) -> EngineSession {
        EngineSession::new(self, true)
    }

    /// Opens a session that checks the memory limit itself when it writes.
    pub fn limited_session(&self) -> EngineSession {
        EngineSession::new(self, false)
    }

    /// Returns the engine in memory, which alone evicts keys.
    fn memory(&self) -> Option<&skein_store::Store> {
        match self {
            Self::Memory(store) => Some(store),
            Self::Disk(_) => None,
        }
    }

    /// Returns the time that decides which keys have expired, in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        match self {
            Self::Memory(store) => store.options().clock.now(),
            Self::Disk(disk) => disk.now(),
        }
    }

    /// Returns the number of keys. It is exact while no thread writes.
    pub fn len(&self) -> usize {
        each!(self, engine => engine.len())
    }

    /// Returns the numbers of keys of a keyspace: of the default one, or of that of a database.
    /// They are exact while no thread writes.
    pub fn keyspace_stats(&self, keyspace: StoredKeyspace) -> KeyspaceStats {
        each!(self, engine => engine.keyspace_stats(keyspace))
    }

    /// Returns the longest key that can be written, in bytes.
    pub fn key_bytes_max(&self) -> usize {
        match self {
            Self::Memory(store) => {
                let options = store.options();
                options.limits.key_bytes.min(options.index.key_bytes_max())
            }
            Self::Disk(disk) => disk.key_bytes_max(),
        }
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the guarantee of an acknowledged write.
    pub fn durability(&self) -> Durability {
        each_store!(self, store => store.durability())
    }

    /// Returns the last durable epoch: all writes up to it are durable.
    pub fn durable_epoch(&self) -> u64 {
        each_store!(self, store => store.durable_epoch())
    }

    /// Blocks until the ticket's writes are durable. At [`Durability::None`] it returns at once.
    ///
    /// # Errors
    /// Writes are stopped, or the engine is closed.
    pub fn wait_durable(&self, ticket: Ticket) -> Result<()> {
        each_store!(self, store => Ok(store.wait_durable(ticket)?))
    }

    /// Requests that the ticket's writes become durable soon, without blocking.
    pub fn request_durable(&self, ticket: Ticket) {
        each_store!(self, store => store.request_durable(ticket));
    }

    /// Calls `callback` whenever the durable epoch has advanced or writes have stopped, from any
    /// thread. It must be short, and may call only [`durable_epoch`](Self::durable_epoch).
    pub fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        each_store!(self, store => store.on_durable(callback));
    }

    /// Returns the error that stopped the log, if it has stopped. Then no further write becomes
    /// durable.
    pub fn log_stopped(&self) -> Option<Error> {
        match self {
            Self::Memory(store) => store.writes_stopped().map(Error::from),
            Self::Disk(disk) => disk.store().log_stopped().map(Error::from),
        }
    }

    /// Makes all earlier writes durable. At [`Durability::None`] only a checkpoint does so, and
    /// this does nothing.
    ///
    /// # Errors
    /// If writes are stopped.
    pub fn flush(&self) -> Result<()> {
        match self {
            Self::Memory(store) => Ok(store.flush()?),
            Self::Disk(disk) => Ok(disk.store().sync()?),
        }
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// If a file operation fails, or writes are stopped.
    pub fn checkpoint(&self) -> Result<()> {
        match self {
            Self::Memory(store) => Ok(store.checkpoint().map(drop)?),
            Self::Disk(disk) => Ok(disk.store().checkpoint()?),
        }
    }

    /// Tells `observer` from now on which expired keys a thread of the engine removes. Only the
    /// first call has an effect.
    pub fn observe_removals(&self, observer: Arc<dyn RemovalObserver>) {
        each!(self, engine => engine.observe_removals(observer));
    }

    /// Asks a thread for a checkpoint. Returns `false` if one is being written already.
    pub fn checkpoint_in_background(&self) -> bool {
        each_store!(self, store => store.checkpoint_in_background())
    }

    /// Stops all writing and makes everything durable. A second call does nothing.
    ///
    /// # Errors
    /// If the writes could not be made durable.
    pub fn close(&self) -> Result<()> {
        match self {
            Self::Memory(store) => match store.close() {
                Ok(_) | Err(RowError::Closed) => Ok(()),
                Err(error) => Err(error.into()),
            },
            Self::Disk(disk) => disk.close(),
        }
    }

    /// Takes a snapshot of all keys.
    ///
    /// # Errors
    /// Too many snapshots are live, or the engine is closed.
    pub fn snapshot(&self) -> Result<EngineSnapshot> {
        match self {
            Self::Memory(store) => Ok(EngineSnapshot::Memory(store.snapshot()?)),
            Self::Disk(disk) => DiskEngineSnapshot::new(disk).map(EngineSnapshot::Disk),
        }
    }

    /// Returns the engine's statistics.
    pub fn stats(&self) -> StoreStats {
        match self {
            Self::Memory(store) => store.stats(),
            Self::Disk(disk) => disk.row_stats(),
        }
    }

    /// Returns the disk engine and its statistics, if this is the disk engine.
    pub fn disk(&self) -> Option<(&DiskEngine, DiskStats)> {
        match self {
            Self::Memory(_) => None,
            Self::Disk(disk) => Some((disk, disk.store().stats())),
        }
    }

    /// Returns the memory limit, if there is one, and the eviction policy. Over the disk engine it
    /// is the size of the cache, and no key is evicted.
    pub fn memory_limit(&self) -> (Option<usize>, Eviction) {
        match self {
            Self::Memory(store) => store.memory_limit(),
            Self::Disk(disk) => (Some(disk.cache_bytes()), Eviction::None),
        }
    }

    /// As `Store::idle_time` of `skein-store`. The disk engine notes no use of keys.
    pub fn idle_time(&self, key: &[u8]) -> Option<Duration> {
        self.memory()?.idle_time(key)
    }

    /// As `Store::set_idle_time` of `skein-store`. Has no effect over the disk engine.
    pub fn set_idle_time(&self, key: &[u8], idle: Duration) {
        if let Some(store) = self.memory() {
            store.set_idle_time(key, idle);
        }
    }

    /// As `Store::set_frequency` of `skein-store`. Has no effect over the disk engine.
    pub fn set_frequency(&self, key: &[u8], count: u8) {
        if let Some(store) = self.memory() {
            store.set_frequency(key, count);
        }
    }

    /// As `Store::frequency` of `skein-store`. The disk engine evicts no key.
    pub fn frequency(&self, key: &[u8]) -> Option<u8> {
        self.memory()?.frequency(key)
    }

    /// Checks whether [`set_memory_limit`](Self::set_memory_limit) accepts these values.
    ///
    /// # Errors
    /// Over the disk engine: the limit is less than the smallest cache, or the policy evicts keys.
    pub fn check_memory_limit(&self, limit: Option<usize>, eviction: Eviction) -> Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Disk(disk) => disk.cache_pages_for(limit, eviction).map(drop),
        }
    }

    /// Sets the memory limit and the eviction policy. Over the disk engine it sets the size of the
    /// cache, rounded down to pages; without a limit the cache gets the size that it was opened
    /// with.
    ///
    /// # Errors
    /// As [`check_memory_limit`](Self::check_memory_limit); or a changed page cannot be written,
    /// and leaves the cache later.
    pub fn set_memory_limit(&self, limit: Option<usize>, eviction: Eviction) -> Result<()> {
        match self {
            Self::Memory(store) => {
                store.set_memory_limit(limit, eviction);
                Ok(())
            }
            Self::Disk(disk) => {
                let pages = disk.cache_pages_for(limit, eviction)?;
                Ok(disk.store().resize_cache(pages)?)
            }
        }
    }

    /// Lets the thread that removes expired keys pause, or resume. They are hidden from readers
    /// either way. For tests of clients.
    pub fn pause_expiry(&self, is_paused: bool) {
        each!(self, engine => engine.pause_expiry(is_paused));
    }

    /// Returns the index of the engine in memory.
    pub fn index(&self) -> Option<skein_store::IndexKind> {
        self.memory().map(|store| store.options().index)
    }
}
