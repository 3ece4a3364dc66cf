//! The disk engine: persistent tries on a page buffer manager, for data larger than memory.
//!
//! ```text
//!   DiskStore        key spaces in a folder, with a log of their writes    store/
//!   tries            classical, linked, hash; also in the paper's layout  trie/, catalog.rs
//!   counted sets     ordered sets of keys, with ranks                     counted/
//!   records          byte strings of any length in slotted pages          record/
//!   buffer manager   cache of pages, readers, one writer, checkpoints     buffer/, policy/
//!   page file        shadow pages at free places, two headers             page_file/, page.rs
//! ```
//!
//! Each layer uses only the layers below it. Read `page_file/`, `buffer/`, `record/`, `trie/`,
//! `counted/` and `store/` in this order; the `mod.rs` of each folder says in which order to read
//! its files.
//!
//! Design: `docs/design/disk.md`. Bytes: `docs/format.md`. Source: Xie, "Trie-based Data Structures
//! for Persistent Key-Value Store on SSD" (BitBase). Each module's head says which parts are the
//! paper's and which are ours.

// Modules beside the layers:
// - page_arena, page_buf: the memory of pages. page_owners: finds lost and shared pages in a check.
// - key_space, trie_kind, values: small types of the interface. error: its errors.
// - test_fixtures: what the tests of several layers need.
mod buffer;
mod catalog;
mod counted;
mod error;
mod key_space;
mod page;
mod page_arena;
mod page_buf;
mod page_file;
mod page_owners;
mod policy;
mod record;
mod store;
#[cfg(test)]
mod test_fixtures;
mod trie;
mod trie_kind;
mod values;

pub use buffer::{BufferStats, CACHE_LEAST};
pub use error::{DiskError, Result};
pub use key_space::KeySpace;
pub use page::PAGE;
pub use page_file::{ReadMode, SoleWriter};
pub use policy::ReplacementPolicy;
pub use skein_log::{Durability, Ticket};
pub use store::{
    CompactReport, DiskCensus, DiskInspection, DiskOptions, DiskSnapshot, DiskSnapshotRelease, DiskStats,
    DiskStore, DiskTransaction, FoundValues, KeySetInspection, RangeRemoval, ReservedCount, SNAPSHOTS_MOST,
    SpaceReader, TrieInspection, UpdateAction, UpdateOutcome, inspect, inspect_with, is_disk_folder,
    is_disk_folder_on, kind_of,
};
pub use trie::{ScanEntries, ScanEntry, ScanRequest, TrieCensus, TrieCursor, TrieShape, WalkDirection};
pub use trie_kind::TrieKind;
pub use values::Values;

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
