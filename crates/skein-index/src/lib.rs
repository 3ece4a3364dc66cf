//! In-memory ordered maps from byte strings to values, for many threads. They keep many memory
//! reads in flight.
//!
//! ```
//! use skein_index::{Boxed, Masstree};
//!
//! let index = Masstree::<Boxed<String>>::new();
//! std::thread::scope(|scope| {
//!     for name in ["goose", "duck", "swan"] {
//!         let index = &index;
//!         scope.spawn(move || index.pin().insert(name, name.to_uppercase()).is_ok());
//!     }
//! });
//! let map = index.pin();
//! assert_eq!(map.get("goose").map(String::as_str), Some("GOOSE"));
//! for (key, value) in map.range("e"..) {
//!     println!("{} {value}", key.escape_ascii());
//! }
//! assert!(map.keys().eq([b"duck".as_slice(), b"goose", b"swan"]));
//! ```
//!
//! - Choose an index. [`Masstree`] suits any keys, [`Wormhole`] long keys and scans,
//!   [`CuckooTrie`] single lookups. [`PageTree`] takes little memory, and long scans are fast.
//!   [`SkipList`] has snapshots. [`MlpIndex`] has keys of up to 8 bytes, and [`MlpMap`] has integers,
//!   floats and pairs as keys.
//! - Choose a slot for the values: [`Inline`] for numbers and booleans, [`Boxed`] for all others.
//! - Call `index.pin()` to use it: [`Pinned`] has the methods of `BTreeMap` that a concurrent map
//!   can have, and describes the cost of a pin. [`ByteIndex::scan`] is for long scans.
//!
//! Indexes are `FromIterator` and `Extend`. With the feature `serde`, they are also `Serialize` and
//! `Deserialize`, as maps.
//!
//! [`OrderedIndex`] is the contract that all indexes keep, for code that is generic over them or
//! passes guards explicitly. Values live in [`slot::Slot`]s. [`memory`] has the arenas for nodes,
//! keys and rows. To read the code, begin with [`index`] (the contract), `byte_index` (its
//! implementation for all indexes), `engine` (the part that an index implements), then the `mod.rs`
//! of one index.

// Modules:
// - index, engine, byte_index: the contract, the part that an index implements, and the rest.
//   cursor: the positions of a cursor and its moves.
// - masstree, wormhole, cuckoo_trie, mlp_index, skip_list, page_tree: an index each.
// - buckets: tables of buckets, for the Cuckoo Trie and MlpIndex. hash: hashes of prefixes.
//   tagged_pointer, record: an address with a tag, and a key with its value in one block, for
//   Wormhole and the Cuckoo Trie.
// - pinned, range, walk, key_bounds: an index with its guard, and ranges in its three forms.
// - slot, collect, serialize: values, indexes from iterators, serde.
// - memory, counter: arenas, and a counter that threads do not share.
// - variant: how an index declares its variants.
mod buckets;
mod byte_index;
mod collect;
mod counter;
pub mod cuckoo_trie;
mod cursor;
mod engine;
mod hash;
pub mod index;
mod key_bounds;
pub mod masstree;
pub mod memory;
pub mod mlp_index;
pub mod page_tree;
mod pinned;
pub mod range;
mod record;
#[cfg(feature = "serde")]
mod serialize;
pub mod skip_list;
pub mod slot;
mod tagged_pointer;
mod variant;
pub mod walk;
pub mod wormhole;

pub use byte_index::ByteIndex;
pub use cuckoo_trie::CuckooTrie;
pub use index::{ComputeAction, Computed, Cursor, IndexError, MemoryUsage, OrderedIndex};
pub use key_bounds::KeyBounds;
pub use masstree::Masstree;
pub use mlp_index::{MlpError, MlpIndex, MlpKey, MlpMap, MlpRange, PinnedMlpMap, ShortBytes};
pub use page_tree::PageTree;
pub use pinned::{IndexScan, Pinned};
pub use range::{prefix, range, successor};
pub use skein_sync::reclaim::{Collector, GracePeriod, Guard, LocalGuard, OwnedGuard};
pub use skip_list::SkipList;
pub use slot::{Boxed, Inline, Slot};
pub use walk::{KEYS_PER_GUARD, ScanDirection, walk, walk_chunk};
pub use wormhole::Wormhole;

/// Compiles the example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
