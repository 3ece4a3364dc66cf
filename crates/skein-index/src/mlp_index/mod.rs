//! MlpIndex: an ordered index of keys of up to eight bytes, all of whose prefixes are looked up at the same time.
//!
//! ```text
//!   trie, a byte a level                     table: the nodes by the hash of their names, which are prefixes of keys
//!
//!   levels 0 to 2: a bit for each            ┌ bucket, a cache line ───────────────────┐
//!   name of three bytes (`top.rs`)           │ leaf: key, value  │ inner: least, children │ ...     slots of 16 bytes
//!      ╱          ╲                          ├─────────────────────────────────────────┤
//!    leaf      inner, level 3                │ medium inner node, two slots │ leaf     │         a node is in one of two buckets
//!    level 3     ╱      ╲                    └─────────────────────────────────────────┘
//!             leaf     inner, level 6        versions: a small array beside it (`versions.rs`)
//!             level 4    ╱    ╲
//! ```
//!
//! Source: Xu, "Efficient Data Structures via Memory Level Parallelism" (MIT, 2018), sections 4.1 to 4.4. The prefixes of a key are looked up all at
//! once; the deepest node there is says what there is. Read `key.rs`, `name.rs`, `node.rs`, `search.rs` and `change.rs` first.
//!
//! # Protocol
//! 1. Readers take no lock and write nothing shared. The version of a bucket's stripe says whether what was read of it belongs together.
//! 2. One node, read at one moment, is evidence enough for a lookup's answer; that a node was not found is evidence of nothing (`search.rs`).
//! 3. Every write is one change of a few buckets: all are locked as they were seen, or none (`change.rs`).
//! 4. Who decides on a value and then removes its key claims the key in between: nobody else changes it (`claims.rs`).
//! 5. There is nothing to reclaim but values: nodes are in the table, and what is read of a slot that changes meanwhile is thrown away.
//!
//! # Where we differ from the paper, and why
//! - A map: leaves have values. What a bucket says of a key is not kept in it, so that key and value fit a slot (`name.rs`); the paper's figures are of
//!   slots of 24 bytes in a table half full.
//! - Keys of any length up to eight bytes: their length is a ninth symbol (`key.rs`).
//! - A lookup asks for the levels that most nodes are of, not for all (`levels.rs`).
//! - Many threads, removal, growth by single buckets, cursors both ways: the paper leaves them undone (section 5).

mod batch;
mod check;
mod children;
mod claims;
mod cursor;
mod displacement;
mod image;
mod key;
mod levels;
mod name;
mod node;
mod remove;
mod resize;
mod search;
mod separators;
mod table;
mod teardown;
#[cfg(all(test, not(skein_loom)))]
mod tests;
mod top_bitmap;
mod transaction;
mod typed;
pub mod variant;
mod versions;
mod walk;
mod write;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use skein_sync::reclaim::{Collector, Guard};

pub use check::MlpIndexShape;
use claims::Claims;
pub use cursor::MlpCursor;
pub use key::MAX_LEN;
use key::ShortKey;
use table::MlpTable;
use top_bitmap::TopBitmap;
pub use typed::{MlpError, MlpKey, MlpMap, MlpRange, ShortBytes};
use variant::{WITHOUT_HUGE_PAGES, has};

use crate::engine::{IndexBase, IndexEngine};
use crate::index::{ComputeAction, Computed, IndexError, OrderedIndex};
use crate::slot::Slot;

/// Whether this is for `loom`, which goes through all orders of steps, so that each step counts.
const SMALL_MODELS: bool = cfg!(all(skein_loom, not(feature = "shuttle")));

/// An ordered index over byte strings of up to [`MAX_LEN`] bytes; see the module's head.
///
/// It takes some 2.2 MiB when it is empty, and 23 to 46 bytes for each key with its value: one slot or two, of which 70 % are in use. `V` chooses a variant; [`variant::DEFAULT`] is the one to use.
///
/// ```
/// use skein_index::{Inline, MlpIndex, OrderedIndex};
///
/// let index = MlpIndex::new();
/// let guard = index.collector().enter();
/// index.insert(&7_u64.to_be_bytes(), Inline(1_u64), &guard)?;
/// assert_eq!(index.get(&7_u64.to_be_bytes(), &guard), Some(1));
/// assert_eq!(index.get(b"geese", &guard), None);
/// assert!(index.insert(b"nine byte", Inline(2), &guard).is_err());
/// # Ok::<(), skein_index::Refused>(())
/// ```
pub struct MlpIndex<S: Slot, const V: usize = { variant::DEFAULT }> {
    table: MlpTable<V>,
    top: TopBitmap,
    claims: Claims,
    base: IndexBase,
    slots: PhantomData<S>,
}

// SAFETY: nodes are atomic words in a table, changed as the protocol says; values are `Send` and `Sync` by the contract of `Slot`.
unsafe impl<S: Slot, const V: usize> Send for MlpIndex<S, V> {}
// SAFETY: as above.
unsafe impl<S: Slot, const V: usize> Sync for MlpIndex<S, V> {}

impl<S: Slot> MlpIndex<S> {
    /// An empty index with a collector of its own.
    pub fn new() -> Self {
        Self::with_collector(Arc::new(Collector::new()))
    }

    /// An empty index that shares a collector, and so guards, with others.
    pub fn with_collector(collector: Arc<Collector>) -> Self {
        Self::with_variant(collector)
    }
}

impl<S: Slot, const V: usize> MlpIndex<S, V> {
    /// An empty index of the variant that its type says.
    pub fn with_variant(collector: Arc<Collector>) -> Self {
        let huge = !has(V, WITHOUT_HUGE_PAGES);
        let base = IndexBase::new(collector, huge);
        let (table, top) = (MlpTable::new(&base.arena), TopBitmap::new(&base.arena, huge));
        Self { table, top, claims: Claims::new(), base, slots: PhantomData }
    }

    /// This index, refusing writes once its memory is at `budget` bytes.
    #[must_use]
    pub fn with_budget(mut self, budget: usize) -> Self {
        self.base.budget = budget;
        self
    }

    /// What a write gets that the table has no place for.
    fn full(&self) -> IndexError {
        IndexError::Full { keys: self.base.len.sum() }
    }
}

impl<S: Slot, const V: usize> IndexEngine<S> for MlpIndex<S, V> {
    type EngineCursor<'g, G: Guard + 'g>
        = MlpCursor<'g, S, G, V>
    where
        Self: 'g;

    const MAX_KEY_LEN: usize = MAX_LEN;

    #[inline(always)]
    fn base(&self) -> &IndexBase {
        &self.base
    }

    #[inline(always)]
    fn lookup(&self, key: &[u8]) -> Option<u64> {
        self.lookup(key)
    }

    #[inline(always)]
    fn lookup_many(&self, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        self.lookup_many(keys, found);
    }

    #[inline(always)]
    fn write<'g, G: Guard>(
        &'g self,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        let too_long = IndexError::KeyTooLong { len: key.len(), limit: MAX_LEN };
        self.write(ShortKey::of(key).ok_or(too_long)?, change, guard)
    }

    #[inline(always)]
    fn remove_present<'g, G: Guard>(&'g self, key: &[u8], guard: &'g G) -> Option<S::Ref<'g>> {
        self.take_out(ShortKey::of(key)?, None, guard)
    }

    #[inline(always)]
    fn new_cursor<'g, G: Guard>(&'g self, guard: &'g G) -> MlpCursor<'g, S, G, V> {
        MlpCursor::new(self, guard)
    }

    fn separators(&self, parts: usize) -> Vec<Vec<u8>> {
        self.separators(parts)
    }
}

impl<S: Slot> Default for MlpIndex<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Slot, const V: usize> fmt::Debug for MlpIndex<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MlpIndex").field("len", &self.len()).finish_non_exhaustive()
    }
}
