//! SkeinDB: a durable, ordered key-value store, in memory and in your process.
//!
//! Keys are byte strings in byte order; a row is a value, or columns that are put atomically. Many threads use one
//! [`Store`] through `&self`. What is written is logged and checkpointed, and [`Store::open`] brings it back.
//!
//! # Usage
//!
//! ```
//! use std::ops::Bound;
//!
//! use skeindb::{ScanDirection, Durability, Store, StoreOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("geese");
//! let options = StoreOptions { durability: Durability::Sync, ..StoreOptions::default() };
//! let store = Store::open(&path, options.clone())?;
//!
//! store.put(b"goose:grey", b"Anser anser")?;
//! store.put(b"goose:bean", b"Anser fabalis")?;
//! store.put_columns(b"sighting:1", &[(b"species", b"goose:bean"), (b"count", b"12")])?;
//! assert_eq!(store.get(b"goose:grey")?, Some(b"Anser anser".to_vec()));
//!
//! // In order, from either end.
//! let geese = store.prefix(b"goose:", ScanDirection::Forward, 10);
//! assert_eq!(geese[0].key, b"goose:bean");
//! let upward = (Bound::Excluded(&b"goose:bean"[..]), Bound::Unbounded);
//! assert_eq!(store.range(upward, ScanDirection::Forward, 1)[0].key, b"goose:grey");
//!
//! // Only if nobody was faster.
//! let version = store.get_entry(b"goose:grey").expect("it was put").version;
//! assert!(store.compare_and_swap(b"goose:grey", version, b"Anser anser rubrirostris")?.is_ok());
//! assert!(store.compare_and_swap(b"goose:grey", version, b"too late")?.is_err());
//!
//! store.close()?;
//! let store = Store::open(&path, options)?;
//! assert_eq!(store.len(), 3);
//! # store.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Consistency
//!
//! - Reads and writes of one key are linearizable, and so is read-modify-write ([`Store::compare_and_swap`],
//!   [`Store::increment`]).
//! - [`Store::apply`] does a [`Batch`] entirely or not at all, on disk and for [`Session::get_many_atomic`].
//! - [`Store::range`] is not a snapshot: it has every key that is there all the while, in order and once, and may or
//!   may not have one that comes or goes meanwhile.
//! - [`Store::snapshot`] is one moment, with batches whole, for as many ranges and lookups as are wanted; with [`IndexKind::SkipList`] alone.
//!
//! # Durability
//!
//! [`Durability`] says what a returned write promises. At `Buffered`, the default, it is on disk within 200 ms, and what
//! survives a crash is a prefix with no holes; at `Sync` it survives a power cut.
//!
//! # Parts
//!
//! - [`Session`] is the way in for servers: batched lookups whose memory reads overlap, rows without copies, one log
//!   append for several writes.
//! - [`index`] has the ordered in-memory indexes by themselves, without logs.
//! - [`storage`] is the trait behind all file access; [`inspect`] reads a data folder and changes nothing.
//! - [`client`] is a small blocking client for a SkeinDB server.
//! - [`cluster`] reads ranges over all nodes of a Redis or Valkey cluster that has SkeinDB's module.
//!
//! Programs that embed the store turn off the feature `cli`, which only the `skein` command needs.

pub use skein_index as index;
pub use skein_log::storage;
pub use skein_store::{
    Batch, CheckpointFound, CheckpointReport, CloseReport, ColumnFound, ColumnIter, Durability, Error,
    ExpiryClock, IndexKind, KeyEntry, RecoveryReport, Result, Row, RowAllocator, RowChange, RowRef,
    RowUpdate, RowWriter, SNAPSHOTS_MAX, ScanDirection, Session, Snapshot, SnapshotRelease, Store,
    StoreInspection, StoreLimits, StoreOptions, StoreStats, Ticket, VALUE_BYTES_MAX, Writer, inspect,
};

pub mod client;
pub mod cluster;

/// The README's Rust example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The Rust example of the page on clusters is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cluster.md")]
struct ClusterPage;
