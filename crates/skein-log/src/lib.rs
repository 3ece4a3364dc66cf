//! An epoch-based, write-ahead log with group commit. Records of several logs become durable
//! together, one epoch at a time, so a crash never keeps a write and loses its predecessor.
//!
//! ```text
//!  worker 0 ──append──► buffer 0 ──┐            ┌──► segment files of log 0
//!  worker 1 ──append──► buffer 1 ──┤  commit    ├──► segment files of log 1
//!  ...                             ├──────────► ┤    records of epoch 7 · mark 7 · records of ...
//!  epoch gate: E = 8 ──────────────┘  one epoch └──►
//!                                     at a time
//! ```
//!
//! Each worker appends to the buffer of its log. A commit closes the current epoch, writes the
//! buffers to segment files, ends each file's part with a mark and syncs. After a crash, recovery
//! finds the last durable epoch, cuts the logs behind it and replays the rest.
//!
//! Start with:
//!
//! - [`Log`]: open, enter an epoch, append, commit, wait, release, close.
//! - [`Recovered`]: the records that survived a crash, for a replay by several threads.
//! - [`LogCut`]: the files up to one durable epoch, for a copy beside running writers.
//! - [`SegmentManifest`]: the list, in every log folder, of the segments that it must hold.
//! - [`storage`]: the trait for all file access. It has two implementations: the real file system
//!   and, with the feature `sim`, a simulated one that cuts the power.
//! - [`small_file`]: files that are replaced as a whole.
//! - [`OpenProgress`]: the progress of an opening.
//!
//! Inside the crate, read `epoch.rs`, `buffer.rs`, `commit/mod.rs`, `log_file.rs`, `log_room.rs`
//! and `recovery/mod.rs`, in this order. `docs/format.md` describes every byte. Payloads belong to
//! the caller: this crate does not know keys. Design: `docs/design/log.md`.

// The `loom` models of the epochs need `unsafe` to access `loom`'s cells.
#![cfg_attr(not(skein_loom), forbid(unsafe_code))]

// Modules, beside those that the crate's documentation names:
// - operation: the handles with which a worker appends. ticket: waits until its write is durable.
// - record: the bytes of records. writer: the thread that writes the buffer of one log.
// - segment_allocator: the thread that makes segments ahead. segment_manifest: the list of them.
// - recovered: the surviving records, for a replay. log_cut: the files of a copy.
// - options, error: the interface's options and errors. random: ids and seeds.
// - planted_bugs: switches that prove that the tests find bugs.
mod buffer;
mod commit;
mod epoch;
mod error;
mod log;
mod log_cut;
mod log_file;
mod log_room;
mod operation;
mod options;
#[cfg(feature = "planted-bugs")]
pub mod planted_bugs;
#[cfg(not(feature = "planted-bugs"))]
mod planted_bugs;
mod progress;
mod random;
mod record;
mod recovered;
mod recovery;
mod segment;
mod segment_allocator;
mod segment_manifest;
pub mod small_file;
pub mod storage;
mod ticket;
mod writer;

pub use commit::Standstill;
/// For models of other crates.
#[cfg(skein_loom)]
#[doc(hidden)]
pub use epoch::EpochGate;
pub use error::{LogError, Result};
pub use log::{Log, LogStats};
pub use log_cut::LogCut;
pub use operation::{LogAppender, LogOperation, OperationGroup};
pub use options::{CheckpointEpochs, Durability, LogOptions, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN};
pub use progress::{OpenProgress, OpenProgressSeen, RecordProgress};
pub use random::random_id;
pub use recovered::{LogRecoveryReport, RecordRef, Recovered, ReplayReport, TornTail};
pub use segment_manifest::{SegmentManifest, is_log_file};
pub use ticket::Ticket;

/// The longest payload of one record, in bytes. No other place states this limit.
pub const MAX_PAYLOAD: usize = 1 << 30;
