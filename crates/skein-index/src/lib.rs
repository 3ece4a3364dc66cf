//! In-memory ordered indexes over byte strings that keep many memory reads in flight.
//!
//! Every index implements [`index::OrderedIndex`]. Values live in [`slot::Slot`]s. [`memory`] has
//! the arenas for nodes, keys and rows. Read [`index`] (the contract), `byte_index` (its
//! implementation for all indexes), `engine` (the part that an index implements), then the `mod.rs`
//! of one index.

mod buckets;
mod byte_index;
mod counter;
pub mod cuckoo_trie;
mod engine;
mod hash;
pub mod index;

pub mod masstree;
pub mod memory;
pub mod mlp_index;
pub mod range;
mod record;
pub mod skip_list;
pub mod slot;
mod tagged_pointer;
mod variant;
pub mod walk;
pub mod wormhole;

pub use byte_index::ByteIndex;
pub use cuckoo_trie::CuckooTrie;
pub use index::{ComputeAction, Computed, Cursor, IndexError, MemoryUsage, OrderedIndex};
pub use masstree::Masstree;
pub use mlp_index::{MlpError, MlpIndex, MlpKey, MlpMap, MlpRange, ShortBytes};
pub use range::{prefix, range, successor};
pub use skein_sync::reclaim::{Collector, GracePeriod, Guard, LocalGuard, OwnedGuard};
pub use skip_list::SkipList;
pub use slot::{Boxed, Inline, Slot};
pub use walk::{ScanDirection, walk};
pub use wormhole::Wormhole;

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
