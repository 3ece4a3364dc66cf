//! MlpIndex: an ordered index for keys of up to eight bytes. A lookup prefetches all prefixes of
//! its key at once.
//!
//! ```text
//!   trie, a byte a level              table: a node lies at the hash of its name, a key's prefix
//!
//!   levels 0 to 2: a bit for each     ┌ bucket, a cache line ──────────────────────────┐
//!   name of three bytes               │ leaf: key, value │ inner: least key, children │ ...
//!   (`top_bitmap.rs`)                 ├────────────────────────────────────────────────┤
//!      ╱          ╲                   │ medium inner node, two slots │ leaf            │  slots of
//!    leaf      inner, level 3         └────────────────────────────────────────────────┘  16 bytes
//!    level 3     ╱      ╲             a node is in one of two buckets
//!             leaf     inner, level 6
//!             level 4    ╱    ╲       versions: a small array beside the table (`versions.rs`)
//! ```
//!
//! The buckets of a node follow from its name alone. So a lookup knows the buckets of every prefix
//! of its key before it reads any node, and their reads overlap. The deepest node found answers the
//! lookup.
//!
//! Source: Xu, "Efficient Data Structures via Memory Level Parallelism" (MIT, 2018), sections 4.1
//! to 4.4. Design: `docs/design/mlp-index.md`.
//!
//! # Where to begin reading
//! 1. Keys and nodes: `key.rs`, `name.rs`, `node.rs` with `children.rs`.
//! 2. The table: `image.rs`, `table.rs`, `versions.rs`, and `top_bitmap.rs` for the first three
//!    bytes.
//! 3. Reads: `search.rs`, `levels.rs`, `batch.rs`.
//! 4. Writes: `crate::buckets`, `transaction.rs`, `write.rs`, `claims.rs`, `remove.rs`, then
//!    room for new nodes: `displacement.rs` and `resize.rs`.
//! 5. Scans: `walk.rs`, `cursor.rs`.
//! 6. `typed/`: a map with integers, floats or short strings as keys.
//! 7. `check.rs` verifies every invariant, `separators.rs` divides the keys into parts,
//!    `variant.rs` has the variants for measurements.
//!
//! # Protocol
//! 1. Readers acquire no lock and write nothing shared. The version of a bucket's stripe tells a
//!    reader whether its reads of the bucket belong to one moment.
//! 2. One node, read at one moment, is enough evidence for the answer to a lookup. A node that was
//!    not found is no evidence of anything (`search.rs`).
//! 3. Every write is one transaction on a few buckets. It locks each bucket only if the bucket is
//!    unchanged since it was copied, and it locks all of them or applies nothing
//!    (`transaction.rs`).
//! 4. A writer whose closure decides to remove a key claims the key until it has removed it.
//!    Meanwhile no other writer changes the key (`claims.rs`).
//! 5. Only values need reclamation: nodes are in the table, and readers discard their reads of a
//!    slot that changed meanwhile.
//!
//! # Where we differ from the paper, and why
//! - A map: leaves have values. A node does not store the bits of its name that its bucket implies,
//!   so key and value fit one slot (`name.rs`). The paper's figures are of slots of 24 bytes in a
//!   table half full.
//! - Keys of any length up to eight bytes: the length is a ninth symbol (`key.rs`).
//! - A lookup prefetches only the levels of most nodes (`levels.rs`).
//! - Many threads, removal, growth by single buckets, and cursors in both directions: the paper
//!   leaves them open (section 5).

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
#[cfg(all(test, not(skein_loom)))]
mod tests;
mod top_bitmap;
mod transaction;
mod typed;
#[cfg(not(feature = "paper"))]
mod variant;
#[cfg(feature = "paper")]
pub mod variant;
mod versions;
mod walk;
mod write;

use skein_sync::reclaim::Guard;

pub use check::MlpIndexShape;
use claims::Claims;
pub use cursor::MlpCursor;
pub use key::MAX_LEN;
use key::ShortKey;
use node::{MlpNode, MlpNodeBody};
use table::MlpTable;
use top_bitmap::TopBitmap;
pub use typed::{MlpError, MlpKey, MlpMap, MlpRange, PinnedMlpMap, ShortBytes};
use variant::{MlpIndexVariant, MlpSettings, MlpStandard};

use crate::byte_index::ByteIndex;
use crate::engine::{IndexBase, IndexEngine, StandardEngine};
use crate::index::{ComputeAction, Computed, IndexError};
use crate::slot::Slot;

/// Whether this is a build for `loom`, which explores all interleavings of steps, so that each step
/// counts.
const SMALL_MODELS: bool = cfg!(all(skein_loom, not(feature = "shuttle")));

/// An ordered index over byte strings of up to [`MAX_LEN`] bytes; see the head of the module.
///
/// An empty index takes about 2.2 MiB. Each key takes one slot or two, 23 to 46 bytes with its
/// value, because 70 % of the slots are in use.
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
/// # Ok::<(), skein_index::IndexError>(())
/// ```
pub type MlpIndex<S> = ByteIndex<S, MlpEngine<MlpStandard>>;

/// The fields of an [`MlpIndex`] beside those that all indexes have.
#[derive(Debug)]
pub struct MlpEngine<V: MlpSettings> {
    table: MlpTable<V>,
    top: TopBitmap,
    claims: Claims,
}

impl<S: Slot> StandardEngine<S> for MlpEngine<MlpStandard> {}

impl<S: Slot, V: MlpSettings> MlpIndexVariant<S, V> {
    /// Calls `each` with the bucket, the first word and the content of all nodes. The caller must
    /// be the only user of the index.
    fn each_node(&mut self, mut each: impl FnMut(u32, u64, MlpNode)) {
        for bucket in self.engine.table.numbers() {
            let (image, _) = self.engine.table.image(bucket);
            for (slot, head) in image.heads() {
                each(bucket, head, MlpNode::read(&image.raw(slot), bucket, &self.engine.table.seeds));
            }
        }
    }
}

impl<S: Slot, V: MlpSettings> IndexEngine<S> for MlpEngine<V> {
    type EngineCursor<'g, G: Guard + 'g>
        = MlpCursor<'g, S, G, V>
    where
        Self: 'g;

    const NAME: &'static str = "MlpIndex";
    const MAX_KEY_LEN: usize = MAX_LEN;
    const HUGE_PAGES: bool = V::HUGE_PAGES;

    fn new(base: &IndexBase) -> Self {
        let top = TopBitmap::new(&base.arena, V::HUGE_PAGES);
        Self { table: MlpTable::new(&base.arena), top, claims: Claims::new() }
    }

    #[inline(always)]
    fn lookup(index: &MlpIndexVariant<S, V>, key: &[u8]) -> Option<u64> {
        index.lookup(key)
    }

    #[inline(always)]
    fn lookup_many(index: &MlpIndexVariant<S, V>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        index.lookup_many(keys, found);
    }

    #[inline(always)]
    fn write<'g, G: Guard>(
        index: &'g MlpIndexVariant<S, V>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        let too_long = IndexError::KeyTooLong { len: key.len(), limit: MAX_LEN };
        index.write(ShortKey::of(key).ok_or(too_long)?, change, guard)
    }

    #[inline(always)]
    fn remove<'g, G: Guard>(
        index: &'g MlpIndexVariant<S, V>,
        key: &[u8],
        guard: &'g G,
    ) -> Option<S::Ref<'g>> {
        index.take_out(ShortKey::of(key)?, None, guard)
    }

    #[inline(always)]
    fn cursor<'g, G: Guard>(index: &'g MlpIndexVariant<S, V>, guard: &'g G) -> MlpCursor<'g, S, G, V> {
        MlpCursor::new(index, guard)
    }

    fn separators(index: &MlpIndexVariant<S, V>, parts: usize) -> Vec<Vec<u8>> {
        index.separators(parts)
    }

    unsafe fn free_all(index: &mut MlpIndexVariant<S, V>) {
        index.each_node(|_, _, node| {
            if let MlpNodeBody::Leaf { value, .. } = node.body {
                // SAFETY: the index is borrowed mutably and owns the word, which is not used after
                // this.
                drop(unsafe { S::from_word(value) });
            }
        });
    }
}
