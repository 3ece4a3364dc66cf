//! Counted sets: ordered sets of keys in pages, as B+-trees that count the keys below each page.
//!
//! ```text
//!              page   -  310 │ "g" 290 │ "p" 305          children, separators, counts
//!          ┌───────────┘       │           └──────────┐
//!   leaf  ant, bee, …   leaf  gnu, goose, …   leaf  pig, puma, …     sorted keys, one prefix
//! ```
//!
//! The rank of a key, the key at a rank, and the number of keys between two bounds take one descent
//! each: O(log n). A key has no value. Such sets are for the scores of sorted sets and the times of
//! expiry.
//!
//! Read in this order:
//!
//! - Bytes: `key_page.rs` (a page), `key_search.rs` (the search in it), `key_page_mut.rs` (changes
//!   in place), `long_key.rs` (keys longer than a quarter of a page), `entries.rs` (a page in
//!   memory).
//! - Operations: `descent.rs`, `insert.rs`, `split_point.rs`, `remove.rs`, `walk.rs`.
//! - Checks: `check.rs`.
//!
//! # Invariants
//! 1. All leaves have level 0, and a page above them has the level of its children plus one.
//!    Exactly one pointer leads to each page. The root's page never changes.
//! 2. No page is empty, except a root that is a leaf. A root above the leaves has two children or
//!    more.
//! 3. The count of a child is the number of keys below it.
//! 4. Keys below a child are not less than the separator before it, and less than the one behind
//!    it. Separators are the shortest that divide the leaves at which they arose.
//! 5. The invariants of pages (`key_page.rs`) and of long keys (`long_key.rs`).
//!
//! Readers walk over a `PageView` and see one version of all pages, and the writer changes private
//! copies (`buffer/`). A write that failed must be dropped, because its copies may be half changed.
//!
//! Design: `docs/design/disk.md`. Source: ours; the paper has no ranks. B+-trees with counts are in
//! Knuth, volume 3, section 6.2.4. Heads beside the directory of keys: Graefe and Larson, "B-Tree
//! Indexes and CPU Caches", 2001. Shortest separators: Bayer and Unterauer, "Prefix B-Trees", 1977.

mod check;
mod descent;
mod entries;
mod insert;
mod key_page;
mod key_page_mut;
mod key_search;
mod long_key;
mod remove;
mod split_point;
#[cfg(test)]
mod tests;
mod walk;

use descent::key_page;

use crate::buffer::PageWriter;
use crate::page::{DiskPageKind, PageId};
use crate::record::{BODY, PageReader, WalkResult};
use crate::trie::KEY_MOST;
use crate::{DiskError, Result};

/// A page with no more bytes than this is sparse: it is merged if a neighbour has room.
const SPARSE: usize = BODY / 2;

/// The longest key of a set: a key of a trie behind two numbers.
pub(crate) const SET_KEY_MOST: usize = KEY_MOST + 2 * size_of::<u64>();

/// An ordered set of keys of the file, with ranks.
///
/// Reads take the pages as a walk sees them ([`BufferManager::read_with`]), or a writer with its
/// own changes. A *position* is a number of keys: the keys before it.
///
/// [`BufferManager::read_with`]: crate::buffer::BufferManager::read_with
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountedSet {
    root: PageId,
}

impl CountedSet {
    /// Creates a set without keys.
    ///
    /// # Errors
    /// No page can be allocated.
    pub(crate) fn create(writer: &mut PageWriter<'_>) -> Result<Self> {
        Ok(Self { root: writer.make(DiskPageKind::Keys)? })
    }

    /// Returns the set with this root.
    pub(crate) fn at(root: PageId) -> Self {
        Self { root }
    }

    /// Returns the page of the root, which never changes.
    pub(crate) fn root(self) -> PageId {
        self.root
    }

    /// Inserts a key. Returns false if it is there already. Changes the pages on the path to the
    /// key, and makes one page for each that is full.
    ///
    /// # Errors
    /// The key is too long, or a file operation failed. The write must be dropped then.
    pub(crate) fn insert(self, writer: &mut PageWriter<'_>, key: &[u8]) -> Result<bool> {
        if key.len() > SET_KEY_MOST {
            return Err(DiskError::KeyTooLong { len: key.len(), limit: SET_KEY_MOST });
        }
        self.insert_key(writer, key).map_err(|stop| writer.fault(stop))
    }

    /// Removes a key. Returns false if it is not there.
    ///
    /// # Errors
    /// A file operation failed. The write must be dropped then.
    pub(crate) fn remove(self, writer: &mut PageWriter<'_>, key: &[u8]) -> Result<bool> {
        if key.len() > SET_KEY_MOST {
            return Ok(false);
        }
        self.remove_key(writer, key).map_err(|stop| writer.fault(stop))
    }

    /// Returns the number of keys. Reads only the root.
    ///
    /// # Errors
    /// A page is missing or damaged.
    pub(crate) fn len(self, pages: &mut impl PageReader) -> WalkResult<u64> {
        Ok(key_page(pages, self.root)?.total())
    }
}
