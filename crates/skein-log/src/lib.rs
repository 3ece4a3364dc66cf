//! The log: what was written becomes durable here, in an order that a crash cannot tear.
//!
//! ```text
//!  worker 0 ──append──► buffer 0 ──┐            ┌──► segment files of log 0
//!  worker 1 ──append──► buffer 1 ──┤  commit    ├──► segment files of log 1
//!  ...                             ├──────────► ┤      records of epoch 7 · mark 7 · records of epoch 8 ...
//!  epoch gate: E = 8 ──────────────┘  one epoch └──►
//!                                     at a time
//! ```
//!
//! - [`storage`]: the trait behind all file access; the real one, and (feature `sim`) one that cuts the power.
//! - [`Log`]: open, enter an epoch, append, commit, wait, release, close.
//! - [`Recovered`]: what a crash left, ready to be replayed by several threads.
//! - [`OpenProgress`]: how far an opening has come.
//! - [`Roster`]: in every log folder, what it must hold.
//! - [`small_file`]: files that are replaced whole.
//!
//! `docs/format.md` describes every byte. Payloads are the caller's own: this crate knows no keys.

// Models of the epochs look into `loom`'s cells.
#![cfg_attr(not(skein_loom), forbid(unsafe_code))]

mod buffer;
mod commit;
mod epoch;
mod error;
mod log;
mod log_file;
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
pub use error::{LogError, Result};
pub use log::{Log, LogStats};
pub use operation::{LogAppender, LogOperation, OperationGroup};
pub use options::{CheckpointEpochs, Durability, LogOptions};
pub use progress::{OpenProgress, OpenProgressSeen};
pub use random::random_id;
pub use recovered::{LogRecoveryReport, RecordRef, Recovered, ReplayReport, TornTail};
pub use segment_manifest::SegmentManifest;
pub use ticket::Ticket;

/// The longest payload of one record, in bytes. The one place where this limit is stated.
pub const MAX_PAYLOAD: usize = 1 << 30;
