//! SkeinDB: a durable, ordered key-value store, in memory and in your process.
//!
//! Keys are byte strings in byte order. A row is one value, or columns that are written atomically.
//! Many threads share one [`Store`] through `&self`. Writes are logged and checkpointed, and
//! [`Store::open`] restores them.
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
//! - Reads and writes of one key are linearizable. So is read-modify-write
//!   ([`Store::compare_and_swap`], [`Store::increment`]).
//! - [`Store::apply`] applies a [`Batch`] entirely or not at all, on disk and for
//!   [`Session::get_many_atomic`].
//! - [`Store::range`] is not a snapshot. It returns every key that is present throughout, in order
//!   and once. It may or may not return a key that is inserted or removed meanwhile.
//! - [`Store::snapshot`] is one moment, with whole batches, for any number of ranges and lookups.
//!
//! # Durability
//!
//! [`Durability`] defines the promise of a returned write. At `Buffered`, the default, the write is
//! on disk within 200 ms, and a crash leaves a prefix of the writes with no holes. At `Sync` the
//! write survives a power cut.
//!
//! # Parts
//!
//! - [`Session`] is for servers: batched lookups whose memory reads overlap, rows without copies,
//!   one log append for several writes.
//! - [`index`] has the ordered in-memory indexes by themselves, without logs.
//! - [`storage`] is the trait behind all file access; [`inspect`] reads a data folder and changes
//!   nothing.
//! - [`client`] is a small blocking client for a SkeinDB server.
//! - [`cluster`] reads ranges over all nodes of a Redis or Valkey cluster that has SkeinDB's
//!   module.
//!
//! The feature `tls` adds TLS to [`client`]. The server and the `skein` command are in the package
//! `skein-cli`.

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

/// Runs the README's Rust example as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles the example of the crate's own README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

/// Runs the Rust example of the page on clusters as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cluster.md")]
struct ClusterPage;
