//! SkeinDB: an ordered key-value database in your process, in memory or on disk.
//!
//! Keys are byte strings in byte order. Many threads share one [`Db`] through `&self`. It has named
//! keyspaces, iterators from both ends, snapshots, and serializable transactions over all of it.
//! Writes are logged and checkpointed, and [`Db::open`] restores them.
//!
//! # Usage
//!
//! ```
//! use skeindb::Db;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("geese");
//! let db = Db::open(&path)?;
//! let users = db.keyspace("users")?;
//! let by_city = db.keyspace("by_city")?;
//!
//! // Both rows, or neither.
//! db.transaction(|tx| {
//!     tx.insert(&users, "u1", "Ada")?;
//!     tx.insert(&by_city, "London/u1", "")
//! })?;
//! assert_eq!(users.get("u1")?.as_deref(), Some(&b"Ada"[..]));
//!
//! // In order, from either end.
//! for row in by_city.prefix("London/") {
//!     let (key, _) = row?;
//!     println!("{}", String::from_utf8_lossy(&key));
//! }
//! let last = by_city.last()?.expect("there is one");
//! assert_eq!(last.0, b"London/u1");
//!
//! // Only if nobody was faster.
//! assert!(users.compare_and_swap("u1", Some(b"Ada"), Some(b"Ada L."))?.is_ok());
//! db.close()?;
//! # Ok::<(), skeindb::Error>(())
//! ```
//!
//! # Choose an engine
//!
//! - [`Engine::Memory`], the default: all rows in memory, in an ordered index that keeps many
//!   memory reads in flight; logs and checkpoints on disk.
//! - [`Engine::Disk`]: rows on the pages of a file that may be larger than memory.
//! - [`Db::in_memory`]: no folder at all, for tests and caches.
//!
//! All have the same operations and the same promises. A folder can be served to Redis clients by
//! the `skein` command (package `skein-cli`); its keys are the [default
//! keyspace](Db::default_keyspace).
//!
//! # Consistency
//!
//! - Reads and writes of one key are linearizable.
//! - A [`Transaction`] is serializable, ranges included, and strictly so: it takes effect at one
//!   moment between its begin and the return of its commit. A [`Batch`] is a transaction that only
//!   writes. A transaction that conflicts again and again succeeds as an exclusive one
//!   ([`Db::transaction_exclusive`]).
//! - An [`Iter`] of a [`Keyspace`] is not a snapshot: it yields every key that is present
//!   throughout, in order and once, and may or may not yield one that is inserted or removed
//!   meanwhile. Those of a [`Snapshot`] or a transaction show one moment.
//!
//! # Durability
//!
//! [`Durability`] is the promise of a write that has returned. At `Buffered`, the default, it is on
//! disk within 200 ms, and a crash leaves a prefix of the writes with no holes. At `Sync` it
//! survives a power cut.
//!
//! # Misuse
//!
//! A database that was closed, or that was opened before a fork, returns errors. One folder is open
//! once, in one process. Nothing panics on input.
//!
//! # Other parts
//!
//! - [`typed`] has keyspaces of Rust types ([`TypedKeyspace`]), and their encodings in order.
//! - [`index`] has the ordered in-memory indexes by themselves, without logs.
//! - [`store`] is the engine in memory with sessions, for servers: overlapping lookups, rows in
//!   place, columns and sorted sets.
//! - [`storage`] is the trait behind all file access of the engine in memory.
//! - [`client`] is a small blocking client for a SkeinDB server, and [`cluster`] reads ranges over
//!   all nodes of a Redis or Valkey cluster that has SkeinDB's module.
//!
//! # Features
//!
//! - `derive`, on by default: `#[derive(Key)]`.
//! - `postcard`: values of serde, `#[derive(StoredValue)]`.
//! - `jiff`, `uuid`: keys of the types of these crates.
//! - `tls`: TLS for [`client`].
//! - `tokio`: the module `aio`, operations as futures, and streams over ranges.

#![forbid(unsafe_code)]

pub use db::CATALOG as KEYSPACE_CATALOG;
#[cfg(feature = "planted-bugs")]
pub use db::planted_bugs;
pub use db::{
    BackupReport, Batch, CompactReport, Db, DbBuilder, DbOption, DbStats, Engine, Entry, Expiry, Iter, Keys,
    Keyspace, OptionKind, Progress, Savepoint, Snapshot, SwapRefused, Transaction, Value, Values,
    VerifyReport,
};
pub use error::{Error, Result};
pub use error_code::ErrorCode;
pub use error_kind::ErrorKind;
pub use skein_data::{Durability, EngineError, Eviction, IndexKind, OpenProgress, RowError, ScanDirection};
pub use skein_index as index;
pub use skein_log::storage;
pub use skein_store as store;
pub use typed::{EncodeKey, Key, StoredValue, TypedKeyspace};

// Modules:
// - db: databases, keyspaces, transactions, snapshots; begin there.
// - typed: keyspaces of Rust types, and the encodings of their keys.
// - aio: the operations of `db` as futures.
// - client, cluster: connections to one server, and to all nodes of a cluster.
// - error, error_kind, error_code: the error, its coarse kind for callers, its exact code for
//   bindings.
#[cfg(feature = "tokio")]
pub mod aio;
pub mod client;
pub mod cluster;
mod db;
mod error;
mod error_code;
mod error_kind;
pub mod typed;

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
