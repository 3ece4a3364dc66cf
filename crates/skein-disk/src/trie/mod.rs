//! Tries that map keys to values with versions. The nodes are records in pages.
//!
//! ```text
//!   classical  key ─ symbols of log2 n bits ─┐       ┌ node: array of n pointers      ┐
//!   linked     key ─ characters ─────────────┼► core ┤ node: characters with pointers ├► records
//!   hash       key ─ hash.rs ─ symbols ──────┘       └ node: array of n pointers      ┘
//! ```
//!
//! Read in this order:
//!
//! - Parameters: `shape.rs`.
//! - Bytes: `symbols.rs` (keys as symbols), `node.rs`, `leaves.rs`, `value.rs`, `overflow.rs`
//!   (records), `decoded_node.rs` (a node in memory).
//! - Operations: `core.rs` (descent from the root to a value), `set.rs`, `remove.rs`, `hash.rs`.
//! - Pages: `placement.rs` and `forest.rs` (which nodes share a page), `leaf_records.rs` (leaves
//!   back into their parents' records), `join.rs` (sparse pages), `merge.rs` and `pack.rs` (a
//!   compaction).
//! - Many keys: `walk.rs` and `cursor.rs` (in order), `batch_lookup.rs` (overlapping lookups).
//! - Checks: `check.rs` (all invariants), `visited_records.rs` (bounds on walks over damaged
//!   pages).
//! - `fixed/`: the same three tries in the paper's layout, with nodes of one length.
//!
//! # Invariants
//! 1. A key's value is in the node at which the key's path ends. Every node except the root has a
//!    value or a child.
//! 2. A node is one record, and exactly one pointer leads to it. The root's record never changes.
//!    Small leaves lie in the records of their parents.
//!
//! Readers walk over [`SharedPages`] or a [`PageReader`] and see one version of all pages. The
//! writer changes private copies of pages, which are published all at once (`buffer/`). A write
//! that failed must be dropped, because its copies may be half changed.
//!
//! Design: `docs/design/disk.md`. Source: section 3. The paper's nodes have one symbol and one
//! length (`fixed/`). Here a prefix replaces a chain of nodes with one child each.

mod batch_lookup;
mod check;
mod core;
mod cursor;
mod decoded_node;
#[cfg(feature = "paper")]
mod fixed;
mod forest;
mod hash;
mod join;
mod leaf_records;
mod leaves;
mod merge;
mod node;
mod overflow;
mod pack;
mod placement;
mod remove;
mod set;
mod shape;
mod symbols;
#[cfg(test)]
pub(crate) mod tests;
mod value;
mod visited_records;
mod walk;

use std::ops::Range;

use crate::buffer::{BufferManager, PageWriter, SharedPages};
use crate::page::PageId;
use crate::record::{PageReader, RecordId, WalkResult};
use crate::{DiskError, Result};
pub(crate) use batch_lookup::LookupProgress;
pub use check::TrieCensus;
use core::{TrieCore, valid};
pub use cursor::TrieCursor;
#[cfg(feature = "paper")]
use fixed::FixedTrie;
use hash::KeyHashing;
pub(crate) use merge::MergeStep;
pub(crate) use overflow::OverflowChain;
use shape::ShapeLayout;
pub use shape::TrieShape;
pub(crate) use symbols::SymbolPath;
use value::StoredValue;
pub(crate) use visited_records::{RECORDS_OF_PAGE, exceeds_capacity};
pub use walk::{ScanEntries, ScanEntry, ScanRequest, WalkDirection};

/// The longest key, in bytes.
pub(crate) const KEY_MOST: usize = 65_535;
/// The longest value, in bytes.
pub(crate) const VALUE_MOST: usize = 512 << 20;

/// A trie of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskTrie {
    shape: TrieShape,
    nodes: TrieLayout,
}

/// The layout of the nodes, with the root.
#[derive(Clone, Copy, Debug)]
enum TrieLayout {
    Compressed {
        core: TrieCore,
        /// For the hash trie.
        hashing: Option<KeyHashing>,
    },
    #[cfg(feature = "paper")]
    Fixed(FixedTrie),
}

impl DiskTrie {
    /// Creates a trie without keys. `secret` is the key of a hash trie's hash function. Each later
    /// [`open`](Self::open) must pass the same secret.
    ///
    /// # Errors
    /// A parameter of the shape is out of its range, or no page can be allocated.
    pub(crate) fn create(writer: &mut PageWriter<'_>, shape: TrieShape, secret: [u8; 16]) -> Result<Self> {
        let root = match shape.parts()? {
            (symbols, ShapeLayout::Compressed(layout)) => TrieCore::create(writer, symbols, layout)?.root,
            #[cfg(feature = "paper")]
            (_, ShapeLayout::Fixed(form)) => fixed::create(writer, form)?,
        };
        Self::open(shape, root, secret)
    }

    /// Opens the trie with this root.
    pub(crate) fn open(shape: TrieShape, root: RecordId, secret: [u8; 16]) -> Result<Self> {
        let hashing = (!shape.is_ordered()).then(|| KeyHashing::new(secret));
        let nodes = match shape.parts()? {
            (symbols, ShapeLayout::Compressed(layout)) => {
                TrieLayout::Compressed { core: TrieCore { symbols, layout, root }, hashing }
            }
            #[cfg(feature = "paper")]
            (symbols, ShapeLayout::Fixed(form)) => {
                TrieLayout::Fixed(FixedTrie { symbols, form, root, hashing })
            }
        };
        Ok(Self { shape, nodes })
    }

    pub(crate) fn shape(&self) -> TrieShape {
        self.shape
    }

    pub(crate) fn root(&self) -> RecordId {
        match &self.nodes {
            TrieLayout::Compressed { core, .. } => core.root,
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(fixed) => fixed.root,
        }
    }

    /// Returns the length of the longest key.
    fn key_most(&self) -> usize {
        match self.nodes {
            TrieLayout::Compressed { .. } => KEY_MOST,
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(_) => fixed::KEY_MOST,
        }
    }

    /// Appends the value of a key to `out` and returns its version.
    ///
    /// # Errors
    /// A page is missing or damaged, or the last write to the key was interrupted
    /// ([`DiskError::Interrupted`]).
    pub(crate) fn get_into(
        &self,
        pages: &mut impl PageReader,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> WalkResult<Option<u64>> {
        if key.len() > self.key_most() {
            return Ok(None);
        }
        let version = match &self.nodes {
            TrieLayout::Compressed { core, hashing: None } => core.get(pages, key, out)?,
            TrieLayout::Compressed { core, hashing: Some(hashing) } => hashing.get(core, pages, key, out)?,
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(fixed) => fixed.get(pages, key, out)?,
        };
        version.map(|version| valid(version, key)).transpose()
    }

    /// Returns whether [`get_many`](Self::get_many) has lookups that overlap. Otherwise the caller
    /// looks up one key after the other.
    pub(crate) fn overlaps_lookups(&self) -> bool {
        matches!(self.nodes, TrieLayout::Compressed { .. })
    }

    /// Looks up many keys. Appends each value to `out`, and calls `found` for each key, in any
    /// order, with its index, its version and the range of its value. If pages are missing, the
    /// repeated walk goes on where `progress` says.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into), and the errors of `found`.
    pub(crate) fn get_many(
        &self,
        view: &impl SharedPages,
        keys: &[&[u8]],
        progress: &mut LookupProgress,
        out: &mut Vec<u8>,
        mut found: impl FnMut(usize, Option<(u64, Range<usize>)>) -> WalkResult<()>,
    ) -> WalkResult<()> {
        let (core, hashing) = match &self.nodes {
            TrieLayout::Compressed { core, hashing } => (core, hashing),
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(_) => {
                for (which, key) in keys.iter().enumerate() {
                    let start = out.len();
                    let version = self.get_into(&mut &*view, key, out)?;
                    found(which, version.map(|version| (version, start..out.len())))?;
                }
                return Ok(());
            }
        };
        let end = |which: usize, result: batch_lookup::LookupEnd<'_>| {
            let (start, key) = (out.len(), keys[which]);
            let version = match result {
                batch_lookup::LookupEnd::Absent => None,
                batch_lookup::LookupEnd::Found(version, value) => match (value, hashing) {
                    (StoredValue::Inline(bytes), None) => {
                        out.extend_from_slice(bytes);
                        Some(version)
                    }
                    (StoredValue::Overflow(chain), None) => {
                        chain.read(&mut &*view, version, out)?;
                        Some(version)
                    }
                    (value, Some(_)) => self.hashed_value(view, key, version, value, out)?,
                },
            };
            let version = version.map(|version| valid(version, key)).transpose()?;
            found(which, version.map(|version| (version, start..out.len())))
        };
        batch_lookup::look_up(core, hashing.as_ref(), view, keys, progress, end)
    }

    /// Appends the value of a key of a hash trie, whose lookup ends at the node with `value`.
    fn hashed_value(
        &self,
        view: &impl SharedPages,
        key: &[u8],
        version: u64,
        value: StoredValue<'_>,
        out: &mut Vec<u8>,
    ) -> WalkResult<Option<u64>> {
        if let StoredValue::Inline(bytes) = value
            && let Some(value) = hash::value_of(bytes, key)
        {
            out.extend_from_slice(value);
            return Ok(Some(version));
        }
        // A long value, or another key with the same hash. The path of a hash is short.
        self.get_into(&mut &*view, key, out)
    }

    /// Looks up keys as [`get_many`](Self::get_many) does, without their values, so that the pages
    /// on their paths are in memory for the next operation.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into).
    pub(crate) fn prefetch(
        &self,
        view: &impl SharedPages,
        keys: &[&[u8]],
        progress: &mut LookupProgress,
    ) -> WalkResult<()> {
        match &self.nodes {
            TrieLayout::Compressed { core, hashing } => {
                batch_lookup::look_up(core, hashing.as_ref(), view, keys, progress, |_, _| Ok(()))
            }
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(_) => Ok(()),
        }
    }

    /// Returns the version of a key.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into).
    pub(crate) fn version(&self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<Option<u64>> {
        let TrieLayout::Compressed { core, hashing: None } = &self.nodes else {
            // The key is part of the value, so the value must be read to compare it.
            return self.get_into(pages, key, &mut Vec::new());
        };
        if key.len() > self.key_most() {
            return Ok(None);
        }
        core.version(pages, key)?.map(|version| valid(version, key)).transpose()
    }

    /// Sets the value and the version of a key. Returns true if the key had no value. The version
    /// must be less than `u64::MAX`, and no other write may use it (`buffer/long_values.rs`).
    ///
    /// # Errors
    /// The key or the value is too long, the trie cannot keep the value, or a file operation
    /// failed. The write must be dropped then.
    pub(crate) fn set(
        &self,
        writer: &mut PageWriter<'_>,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> Result<bool> {
        if key.len() > self.key_most() {
            return Err(DiskError::KeyTooLong { len: key.len(), limit: self.key_most() });
        }
        if value.len() > VALUE_MOST {
            return Err(DiskError::ValueTooLong { len: value.len(), limit: VALUE_MOST });
        }
        let set = match &self.nodes {
            TrieLayout::Compressed { core, hashing: None } => core.set(writer, key, version, value),
            TrieLayout::Compressed { core, hashing: Some(hashing) } => {
                hashing.set(core, writer, key, version, value)
            }
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(fixed) => fixed.set(writer, key, version, value),
        };
        set.map_err(|stop| writer.fault(stop))
    }

    /// Removes a key and its value. Returns false if it has no value.
    ///
    /// # Errors
    /// A file operation failed. The write must be dropped then.
    pub(crate) fn remove(&self, writer: &mut PageWriter<'_>, key: &[u8]) -> Result<bool> {
        if key.len() > self.key_most() {
            return Ok(false);
        }
        let removed = match &self.nodes {
            TrieLayout::Compressed { core, hashing: None } => core.remove(writer, key),
            TrieLayout::Compressed { core, hashing: Some(hashing) } => hashing.remove(core, writer, key),
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(fixed) => fixed.remove(writer, key),
        };
        removed.map_err(|stop| writer.fault(stop))
    }

    /// Returns the keys of a range in order, with their values and versions.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for a hash trie; otherwise as [`get_into`](Self::get_into).
    pub(crate) fn collect(
        &self,
        pages: &mut impl PageReader,
        request: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        self.ordered()?;
        match &self.nodes {
            TrieLayout::Compressed { core, .. } => core.collect(pages, request),
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(fixed) => fixed.collect(pages, request),
        }
    }

    /// Returns the keys of a range in the trie's own order, with their values and versions. The
    /// order of a hash trie is that of the hashes. Its only allowed bound is a lower one that
    /// excludes a key.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for other bounds of a hash trie; otherwise as
    /// [`get_into`](Self::get_into).
    pub(crate) fn walk(
        &self,
        pages: &mut impl PageReader,
        request: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        match &self.nodes {
            TrieLayout::Compressed { core, hashing: None } => core.collect(pages, request),
            TrieLayout::Compressed { core, hashing: Some(hashing) } => hashing.collect(core, pages, request),
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(fixed) => fixed.walk(pages, request),
        }
    }

    /// Returns a cursor before the first key.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for a hash trie.
    pub(crate) fn cursor<'b>(&self, buffer: &'b BufferManager) -> Result<TrieCursor<'b>> {
        self.ordered()?;
        Ok(TrieCursor::new(buffer, *self))
    }

    fn ordered(&self) -> Result<()> {
        if self.shape.is_ordered() { Ok(()) } else { Err(DiskError::NoOrder) }
    }

    /// Merges sparse pages, in one step that starts before a node or at the trie's end. If
    /// `is_changed` is set, the caller must publish the write. Tries in the paper's layout have
    /// nothing to merge.
    ///
    /// # Errors
    /// A page cannot be read or is damaged. The write must be dropped then.
    pub(crate) fn merge(&self, writer: &mut PageWriter<'_>, before: Option<SymbolPath>) -> Result<MergeStep> {
        match &self.nodes {
            TrieLayout::Compressed { core, .. } => {
                core.merge(writer, before).map_err(|stop| writer.fault(stop))
            }
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(_) => {
                Ok(MergeStep { pages: 0, nodes: 0, is_changed: false, before: None, is_done: true })
            }
        }
    }

    /// Checks the whole trie, in time proportional to its pages. Calls `claim` once for each page.
    ///
    /// # Errors
    /// The first violation of an invariant; the errors of `claim`.
    pub(crate) fn check(
        &self,
        pages: &mut impl PageReader,
        claim: impl FnMut(PageId) -> WalkResult<()>,
    ) -> WalkResult<TrieCensus> {
        match &self.nodes {
            TrieLayout::Compressed { core, hashing } => {
                let census = core.check(pages, claim)?;
                if let Some(hashing) = hashing {
                    hashing.check(core, pages)?;
                }
                Ok(census)
            }
            #[cfg(feature = "paper")]
            TrieLayout::Fixed(fixed) => fixed.check(pages, claim),
        }
    }
}
