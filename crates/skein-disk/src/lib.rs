//! The disk engine: persistent tries on a page buffer manager, for data larger than memory.
//!
//! ```text
//!   DiskStore      one trie in a folder, its writes logged; compact, inspect          store/
//!   tries          classical, linked, hash; also in the paper's layout                 trie/, catalog.rs, kind.rs
//!   records        of any length, in pages with slots                                 record/
//!   buffer manager some pages in memory; many readers, one writer; checkpoints        buffer/, policy/
//!   page file      pages at places, shadow pages, two headers that take turns         page_file/, page.rs, page_buf.rs
//! ```
//!
//! Source: Xie, "Trie-based Data Structures for Persistent Key-Value Store on SSD" (BitBase). Each module's head says what is the paper's and what is ours.
//! `docs/format.md` describes every byte.

mod buffer;
mod catalog;
mod error;
mod page;
mod page_buf;
mod page_file;
mod policy;
mod record;
mod store;
mod trie;
mod trie_kind;

pub use buffer::{BufferStats, CACHE_LEAST};
pub use error::{DiskError, Result};
pub use page::PAGE;
pub use page_file::{ReadMode, SoleWriter};
pub use policy::ReplacementPolicy;
pub use skein_log::{Durability, Ticket};
pub use store::{
    CompactReport, DiskInspection, DiskOptions, DiskStats, DiskStore, DiskTransaction, FoundValues,
    RangeRemoval, TrieInspection, UpdateAction, UpdateOutcome, inspect, is_disk_folder, kind_of,
};
pub use trie::{ScanEntries, ScanEntry, ScanRequest, TrieCensus, TrieCursor, TrieShape, WalkDirection};
pub use trie_kind::{TrieKind, Values};
