//! A tree of pages that hold the keys and values themselves, under nodes that stay in the caches.
//!
//! ```text
//!   nodes    up to 64 children each:   the first bytes of all separators, searched without branches
//!                │
//!                ├──► node ──► ..      a child's word has its address and its length
//!                ▼
//!   pages    up to 64 keys of one range, 1 to 4 KiB
//!            ┌──────┬──────┬───────┬───────┬─────────┬────────┬─────────────────┬────────┐
//!            │ head │ tags │ entries │ order │ heads │ values │ keys, as they   │ prefix │
//!            │      │ slot │ slot    │ rank  │ rank  │ slot   │ came            │        │
//!            └──────┴──────┴───────┴───────┴─────────┴────────┴─────────────────┴────────┘
//!   lookup:    tags ──► one key and its value          2 dependent reads below the nodes
//!   scan:      order ──► keys and values of this page, which lie together; the next page is on
//!              its way by then
//! ```
//!
//! Values that own nothing and are short lie in the page, behind their keys: rows of the store do.
//! Of all others the page has a word each.
//!
//! Reading order: `page/` and `lanes.rs`, `node/` and `child.rs` (the structures), `lookup.rs`,
//! `write.rs`, `latch.rs`, `balance.rs` (full and sparse pages), `key_run.rs` and `spread.rs` (keys for new
//! pages), `replace.rs` (nodes), then `pack.rs` (quiet pages), `cursor.rs`, `batch.rs`. Beside these: `teardown.rs` (drop), `check.rs` (all invariants),
//! `variant.rs`.
//!
//! Sources: Masstree (2012), sections 4.6 and 4.8: permutation, batches. Wormhole (2019), section
//! 3.2: tags. Graefe and Larson (2001): heads. Design: `docs/design/page-tree.md`.
//!
//! # Protocol
//! 1. **Ranges never change.** A page or a node has the same range of keys from its creation to its
//!    deletion. What would change a range (a split, a merge) makes new pages and nodes. So whatever
//!    stale path leads to a page that is not deleted, it is the right page for the key. There are no
//!    fences in pages to compare, and no links between neighbours to keep.
//! 2. **Readers take no lock.** A key that a reader finds is present if the page is not deleted
//!    afterwards. Only a page that was read at one version proves that a key is absent (`lookup.rs`).
//! 3. **Writers** change a page under its lock. Locks are taken from the page up to the root
//!    (`latch.rs`). A new page is born locked and linked before the old one is deleted, so both have
//!    the same content while both are reachable (`replace.rs`).
//! 4. No operation waits for readers. Memory that they may still see is freed by the collector,
//!    after a grace period.

mod balance;
mod batch;
mod check;
mod child;
mod cursor;
mod key_run;
mod lanes;
mod latch;
mod lookup;
mod node;
mod pack;
mod page;
mod replace;
mod spread;
mod teardown;
#[cfg(test)]
mod tests;
pub mod variant;
mod write;

use std::marker::PhantomData;

use skein_sync::atomic::AtomicU64;
use skein_sync::reclaim::{GraceClock, Guard, PROTECT};
use skein_sync::version::{Version, VersionWord};

pub use batch::PageTreePlace;
pub use check::PageTreeStats;
use child::Child;
pub use cursor::PageTreeCursor;
pub use pack::PackPass;
use page::{Page, PageShape};
use variant::{PageTreeSettings, PageTreeStandard, PageTreeVariant};

use crate::byte_index::ByteIndex;
use crate::engine::{IndexBase, IndexEngine, StandardEngine};
use crate::hash::PrefixHash;
use crate::index::{ComputeAction, Computed, IndexError};
use crate::slot::Slot;

/// An ordered index over byte strings; see the [module](self).
///
/// ```
/// use skein_index::page_tree::PageTree;
/// use skein_index::{Inline, OrderedIndex};
///
/// let index = PageTree::new();
/// let guard = index.collector().enter();
/// index.insert(b"goose", Inline(1_u64), &guard)?;
/// assert_eq!(index.get(b"goose", &guard), Some(1));
/// assert_eq!(index.get(b"geese", &guard), None);
/// # Ok::<(), skein_index::IndexError>(())
/// ```
pub type PageTree<S> = ByteIndex<S, PageTreeEngine<PageTreeStandard>>;

/// The fields of a [`PageTree`] beside those that all indexes have.
#[derive(Debug)]
pub struct PageTreeEngine<V: PageTreeSettings> {
    /// The link to the root: a node, or the only page.
    root: AtomicU64,
    /// The lock under which `root` changes.
    root_lock: VersionWord,
    /// Tells when the bytes of old values may be used again.
    clock: GraceClock,
    /// The hash of the tags in pages.
    hash: PrefixHash,
    variant: PhantomData<V>,
}

impl<S: Slot> StandardEngine<S> for PageTreeEngine<PageTreeStandard> {}

impl<V: PageTreeSettings> PageTreeEngine<V> {
    /// Returns the link to the root.
    #[inline(always)]
    fn root(&self) -> Child {
        Child(self.root.load(PROTECT))
    }
}

impl<S: Slot, V: PageTreeSettings> IndexEngine<S> for PageTreeEngine<V> {
    type EngineCursor<'g, G: Guard + 'g>
        = PageTreeCursor<'g, S, G, V>
    where
        Self: 'g;

    const NAME: &'static str = "PageTree";

    fn new(base: &IndexBase) -> Self {
        const { assert!(V::WIDTH >= 4 && V::WIDTH <= page::SLOTS_MAX, "a page takes 4 to 64 keys") };
        const { assert!(V::FANOUT >= 4 && V::FANOUT <= node::FANOUT_MAX, "a node has 4 to 64 children") };
        let page = Page::new::<S>(&base.arena, None, PageShape::first(V::WIDTH), Version::BORDER, b"");
        Self {
            root: AtomicU64::new(page.link().0),
            root_lock: VersionWord::new(Version::INTERIOR),
            clock: GraceClock::default(),
            hash: PrefixHash::crc32c(),
            variant: PhantomData,
        }
    }

    #[inline(always)]
    fn lookup(index: &PageTreeVariant<S, V>, key: &[u8]) -> Option<u64> {
        index.lookup(key)
    }

    #[inline(always)]
    fn lookup_many(index: &PageTreeVariant<S, V>, keys: &[&[u8]], found: impl FnMut(usize, Option<u64>)) {
        index.lookup_many(keys, found);
    }

    #[inline(always)]
    fn write<'g, G: Guard>(
        index: &'g PageTreeVariant<S, V>,
        key: &[u8],
        change: impl FnOnce(Option<S::Ref<'_>>) -> ComputeAction<S>,
        guard: &'g G,
    ) -> Result<Computed<'g, S>, IndexError> {
        Ok(index.write(None, key, change, guard))
    }

    #[inline(always)]
    fn cursor<'g, G: Guard>(index: &'g PageTreeVariant<S, V>, guard: &'g G) -> PageTreeCursor<'g, S, G, V> {
        PageTreeCursor::new(index, guard)
    }

    fn separators(index: &PageTreeVariant<S, V>, parts: usize) -> Vec<Vec<u8>> {
        index.separators(parts)
    }

    unsafe fn free_all(index: &mut PageTreeVariant<S, V>) {
        // SAFETY: the caller's promise.
        unsafe { teardown::free_all(index) };
    }
}
