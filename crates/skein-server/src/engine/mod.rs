//! The seam to the engines: every name of them that this crate uses, in one place.
//!
//! ```text
//!   commands ─► Session, Writer, RowRef ─┬─► skein-store   rows in memory; checkpoints
//!               Engine                   └─► skein-disk    rows as values of a trie on pages      disk.rs
//! ```
//!
//! The server knows rows, writers and tickets, and no tree, log or file. Both engines offer the same names; a `match` for each call or batch chooses, so
//! that the server is not generic over them. Reads of the disk engine can fail, so all reads answer a `Result`.
//!
//! - `session`: a worker's way in. `keyspace`: the keys, as commands see them. `transaction`: many writes as one. `writer`: single-key writes of a batch. `error`: why something was not done.

mod disk;
mod error;
mod keyspace;
mod session;
mod sorted_sets;
mod transaction;
mod writer;

use std::ops::Bound;

use skein_disk::DiskStats;
pub(crate) use skein_store::Error as RowError;

pub use disk::DiskEngine;
pub use error::EngineError;
pub(crate) use keyspace::Keyspace;
pub use session::EngineSession;
pub(crate) use skein_store::{
    ColumnsReader, Durability, Eviction, Member, MembersView, Row, RowAllocator, RowChange, RowRef,
    RowWriter, ScanDirection, ScoreRangeView, SetReader, SetWriter, Snapshot, SnapshotRelease, StoreStats,
    Ticket, VALUE_BYTES_MAX,
};
pub(crate) use transaction::EngineTransaction;
pub use writer::EngineWriter;

pub(crate) type Error = EngineError;
pub(crate) type Result<T> = std::result::Result<T, Error>;
/// Bounds of a range of keys.
pub(crate) type EngineBounds<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// What a server serves. Cloning is cheap and gives the same.
#[derive(Debug, Clone)]
pub enum Engine {
    /// Rows in memory, as many as fit.
    Memory(skein_store::Store),
    /// Rows in a trie on pages of a file, which may exceed memory.
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

impl Engine {
    /// A way in; one for each thread.
    pub fn session(&self) -> EngineSession {
        EngineSession::new(self)
    }

    /// The time by which keys expire, in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        match self {
            Self::Memory(store) => store.options().clock.now(),
            Self::Disk(disk) => disk.now(),
        }
    }

    /// How many keys there are; exact while nobody writes. The disk engine counts those that have expired, until they are written to or removed.
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(store) => store.len(),
            Self::Disk(disk) => disk.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn durability(&self) -> Durability {
        match self {
            Self::Memory(store) => store.durability(),
            Self::Disk(disk) => disk.store().durability(),
        }
    }

    /// Everything up to this epoch is durable.
    pub fn durable_epoch(&self) -> u64 {
        match self {
            Self::Memory(store) => store.durable_epoch(),
            Self::Disk(disk) => disk.store().durable_epoch(),
        }
    }

    pub(crate) fn request_durable(&self, ticket: Ticket) {
        match self {
            Self::Memory(store) => store.request_durable(ticket),
            Self::Disk(disk) => disk.store().request_durable(ticket),
        }
    }

    pub(crate) fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        match self {
            Self::Memory(store) => store.on_durable(callback),
            Self::Disk(disk) => disk.store().on_durable(callback),
        }
    }

    /// Why nothing becomes durable any more, if so: writes that wait for it would wait for ever.
    pub(crate) fn log_stopped(&self) -> Option<Error> {
        match self {
            Self::Memory(store) => store.writes_stopped().map(Error::from),
            Self::Disk(disk) => disk.store().log_stopped().map(Error::from),
        }
    }

    /// Makes everything written so far durable; at [`Durability::None`] a checkpoint does it, and this nothing.
    ///
    /// # Errors
    /// Writes are stopped.
    pub fn flush(&self) -> Result<()> {
        match self {
            Self::Memory(store) => Ok(store.flush()?),
            Self::Disk(disk) => Ok(disk.store().sync()?),
        }
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// A failed file operation; writes are stopped.
    pub fn checkpoint(&self) -> Result<()> {
        match self {
            Self::Memory(store) => Ok(store.checkpoint().map(drop)?),
            Self::Disk(disk) => Ok(disk.store().checkpoint()?),
        }
    }

    /// Asks a thread for a checkpoint; false if one is being written already.
    pub(crate) fn checkpoint_in_background(&self) -> bool {
        match self {
            Self::Memory(store) => store.checkpoint_in_background(),
            Self::Disk(disk) => disk.store().checkpoint_in_background(),
        }
    }

    /// Ends all writing, and makes everything durable.
    ///
    /// # Errors
    /// What was written could not be made durable.
    pub fn close(&self) -> Result<()> {
        match self {
            Self::Memory(store) => Ok(store.close().map(drop)?),
            Self::Disk(disk) => Ok(disk.store().close()?),
        }
    }

    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        match self {
            Self::Memory(store) => Ok(store.snapshot()?),
            Self::Disk(_) => Err(Error::NoSnapshots),
        }
    }

    /// The engine in numbers.
    pub fn stats(&self) -> StoreStats {
        match self {
            Self::Memory(store) => store.stats(),
            Self::Disk(disk) => disk.row_stats(),
        }
    }

    /// The disk engine and its numbers, if it is that.
    pub(crate) fn disk(&self) -> Option<(&DiskEngine, DiskStats)> {
        match self {
            Self::Memory(_) => None,
            Self::Disk(disk) => Some((disk, disk.store().stats())),
        }
    }

    /// How much memory the engine in memory may have, if there is a limit, and which keys go then; the disk engine's is bounded by its cache, and none go.
    pub(crate) fn memory_limit(&self) -> (Option<usize>, Eviction) {
        match self {
            Self::Memory(store) => store.memory_limit(),
            Self::Disk(_) => (None, Eviction::None),
        }
    }

    /// Sets that.
    ///
    /// # Errors
    /// The disk engine has no such limit.
    pub(crate) fn set_memory_limit(&self, limit: Option<usize>, eviction: Eviction) -> Result<()> {
        match self {
            Self::Memory(store) => {
                store.set_memory_limit(limit, eviction);
                Ok(())
            }
            Self::Disk(_) => Err(Error::NoMemoryLimit),
        }
    }

    /// The index of the engine in memory.
    pub(crate) fn index(&self) -> Option<skein_store::IndexKind> {
        match self {
            Self::Memory(store) => Some(store.options().index),
            Self::Disk(_) => None,
        }
    }
}
