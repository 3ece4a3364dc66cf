//! SkeinDB: a durable, ordered key-value store.
//!
//! - [`index`]: the ordered in-memory indexes by themselves.
//! - [`client`]: a small blocking client for a SkeinDB server.

pub use skein_index as index;

pub mod client;
