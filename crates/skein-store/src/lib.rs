//! The durable store: versioned rows in an ordered index in memory, made durable by logs and
//! checkpoints.
//!
//! ```text
//!   Store    simple methods, any thread ────┐
//!   Session  one per worker, borrowed rows ─┴─► index ──► rows
//!               │ records                        │
//!               ▼                                ▼
//!            skein-log (segments, epochs)     checkpoint       recovery reads both
//! ```
//!
//! Two layers share one store:
//!
//! - [`Store`]: simple methods through `&self`, from any thread, with owned answers. At
//!   [`Durability::Sync`] a write returns when it is durable.
//! - [`Session`]: for servers, one per worker thread, with its own log. It returns borrowed rows,
//!   its batched lookups overlap their memory reads, several writes share one log append, and the
//!   caller decides when to wait for a [`Ticket`].
//!
//! A [`Snapshot`] shows all keys as they were at one moment.
//!
//! # Where to start
//!
//! 1. `store`: opening, closing and the simple methods. `session`: all writes.
//! 2. `store_core`: the parts that both use: `store_keys`, the rows in memory and their indexes,
//!    `commit_log` and `memory`.
//! 3. `collection`: sorted sets and large hashes. `expiry`: keys with a
//!    time.
//! 4. `record`, `checkpoint`, `recovery`: the way to disk and back.
//! 5. `memory`: the limit and the eviction. `snapshot`, `stripes`: several keys at one moment.
//!
//! `docs/design/store.md` shows which module uses which.
//!
//! Design: `docs/design/store.md`, `docs/design/data-model.md`. Bytes on disk: `docs/format.md`.

// Further modules:
// - options, data_folder, log_folders, identity: how a folder is opened, and the lock on it.
// - inspect: a folder that is not open.
// - batch, record_buffer: writes that are applied together, and their log records.
// - clock: a wall clock that never falls.
// - interference: a test double that writes at the worst moment.
// - removal_observer: hears of expired keys that the store removes by itself.
mod batch;
mod checkpoint;
mod clock;
mod collection;
mod commit_log;
mod data_folder;
mod expiry;
mod identity;
mod index;
mod inspect;
#[cfg(feature = "interference")]
mod interference;
mod log_folders;
mod memory;
mod options;
mod record;
mod record_buffer;
mod recovery;
mod removal_observer;
mod session;
mod snapshot;
mod store;
mod store_core;
mod store_keys;
mod stripes;

pub use batch::{Batch, BatchWrite};
pub use checkpoint::CheckpointReport;
pub use clock::ExpiryClock;
pub use collection::{CollectionReads, ColumnsReader, MembersView, ScoreRangeView, SetReader, SortedSet};
pub use identity::{check_no_identity_lost, is_data_folder, is_data_folder_on};
pub use index::IndexKind;
pub use inspect::{CheckpointFound, StoreInspection, inspect, inspect_with};
#[cfg(feature = "interference")]
pub use interference::Meddling;
pub use memory::MemoryUse;
pub use options::{CloseCheckpoint, Durability, Eviction, StoreLimits, StoreOptions};
pub use recovery::RecoveryReport;
pub use removal_observer::{RemovalBatch, RemovalObserver};
pub use session::{MemoryCollection, OpenBatch, Session, Writer};
pub use skein_index::{ScanDirection, successor};
pub use skein_log::storage::LockHolder;
pub use skein_log::{OpenProgress, OpenProgressSeen, Ticket};
pub use skein_model::{
    AFTER_RESERVED, ChunkElements, CollectionKind, DATABASES_MAX, EXPIRING_KEY_BYTES_MAX, Error,
    KEY_BYTES_MAX, KEYSPACE_PREFIX, KeyspaceStats, ListEnd, ListWriter, MEMBER_BYTES_MAX, Member,
    MemberWrites, Members, RESERVED, ROW_COLUMNS_MAX, Result, Row, RowAllocator, RowChange, RowLimits,
    RowRef, RowUpdate, RowWriter, SET_SCORE, SNAPSHOTS_MAX, SetWriter, StoredKeyspace, VALUE_BYTES_MAX,
    is_reserved, name_within,
};
pub use store::{
    CloseReport, ColumnFound, FileCopyReport, FileCopyTarget, KeyEntry, PinnedValue, Snapshot,
    SnapshotRelease, Store, StoreStats,
};
