//! Tries: keys to values with versions, in the records of pages.
//!
//! ```text
//!   classical   key ─ symbols of log2 n bits ─┐          ┌ node: array of n pointers          ┐
//!   linked      key ─ characters ─────────────┼─► core ──┤ node: list of characters, pointers ├──► records of pages ──► buffer manager
//!   hash        key ─ hash.rs ─ symbols ──────┘          └ node: array of n pointers          ┘
//!
//!   core.rs   from a path to a value      set.rs, remove.rs   small steps, each of which leaves a trie      placement.rs, forest.rs   which nodes share a page
//!   walk.rs, cursor.rs   keys in order    check.rs   all invariants                                         node.rs, leaves.rs, value.rs, overflow.rs, content.rs, symbols.rs   bytes
//!   many.rs   many paths at once, whose reads of memory overlap
//!   merge.rs  pages that have little are joined, for a compact                                                    visited.rs   an end to walks over damaged pages
//!   fixed/    the same three tries as the paper lays them out: nodes of one length, a symbol each
//! ```
//!
//! # Invariants
//! 1. A key's value is in the node at which its path ends. No node but the root has neither a value nor a child.
//! 2. What a node has is in one record, and one pointer leads to that. The root's record is always the same. Small leaves lie in the records of their parents.
//!
//! Readers walk over a [`View`](crate::buffer::View), and see one moment; the writer changes pages of his own, which a write publishes all at once
//! (`buffer/`). A write that has failed is to be dropped: half of it may be done in there.
//!
//! Source: section 3. A node of the paper has one symbol, and the same length as all others (`fixed/`); here prefixes stand for nodes of one child each.

mod batch_lookup;
mod check;
mod core;
mod cursor;
mod decoded_node;
mod fixed;
mod forest;
mod hash;
mod leaves;
mod merge;
mod node;
mod overflow;
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

use crate::buffer::{BufferManager, PageView, PageWriter, WalkStop};
use crate::record::{PageReader, RecordId, WalkResult};
use crate::{DiskError, Result};
pub use check::TrieCensus;
use core::{TrieCore, valid};
pub use cursor::TrieCursor;
use fixed::FixedTrie;
use hash::KeyHashing;
pub(crate) use merge::MergeStep;
use shape::ShapeLayout;
pub use shape::TrieShape;
pub(crate) use symbols::SymbolPath;
use value::StoredValue;
pub(crate) use visited_records::{RECORDS_OF_PAGE, is_beyond};
pub use walk::{ScanEntries, ScanEntry, ScanRequest, WalkDirection};

/// Bytes of a key at most.
pub(crate) const KEY_MOST: usize = 65_535;
/// Bytes of a value at most.
pub(crate) const VALUE_MOST: usize = 512 << 20;

/// A trie of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskTrie {
    shape: TrieShape,
    nodes: TrieLayout,
}

/// How nodes are laid out, and where the first one is.
#[derive(Clone, Copy, Debug)]
enum TrieLayout {
    Compressed {
        core: TrieCore,
        /// For the hash trie.
        hashing: Option<KeyHashing>,
    },
    Fixed(FixedTrie),
}

impl DiskTrie {
    /// Makes a trie that has no keys. `secret` is what a hash trie hashes with; it has to be the same when the trie is opened.
    ///
    /// # Errors
    /// Parameters that do not fit; no page is free.
    pub(crate) fn create(writer: &mut PageWriter<'_>, shape: TrieShape, secret: [u8; 16]) -> Result<Self> {
        let root = match shape.parts()? {
            (symbols, ShapeLayout::Compressed(layout)) => TrieCore::create(writer, symbols, layout)?.root,
            (_, ShapeLayout::Fixed(form)) => fixed::create(writer, form)?,
        };
        Self::open(shape, root, secret)
    }

    /// The trie whose root is there.
    pub(crate) fn open(shape: TrieShape, root: RecordId, secret: [u8; 16]) -> Result<Self> {
        let hashing = (!shape.is_ordered()).then(|| KeyHashing::new(secret));
        let nodes = match shape.parts()? {
            (symbols, ShapeLayout::Compressed(layout)) => {
                TrieLayout::Compressed { core: TrieCore { symbols, layout, root }, hashing }
            }
            (symbols, ShapeLayout::Fixed(form)) => {
                TrieLayout::Fixed(FixedTrie::open(symbols, form, root, hashing))
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
            TrieLayout::Fixed(fixed) => fixed.root(),
        }
    }

    /// Bytes of a key at most.
    fn key_most(&self) -> usize {
        match self.nodes {
            TrieLayout::Compressed { .. } => KEY_MOST,
            TrieLayout::Fixed(_) => fixed::KEY_MOST,
        }
    }

    /// Appends the value of a key, and gives its version.
    ///
    /// # Errors
    /// A page that is missing, or wrong; [`DiskError::Interrupted`] if the last write to the key was.
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
            TrieLayout::Fixed(fixed) => fixed.get(pages, key, out)?,
        };
        version.map(|version| valid(version, key)).transpose()
    }

    /// Appends the values of keys, in any order; `found` is told the place of each key, its version, and where its value is.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into), and those of `found`.
    pub(crate) fn get_many(
        &self,
        view: &PageView<'_>,
        keys: &[&[u8]],
        out: &mut Vec<u8>,
        mut found: impl FnMut(usize, Option<(u64, Range<usize>)>) -> WalkResult<()>,
    ) -> WalkResult<()> {
        let mut finish = |which: usize, start, version: Option<u64>, end| {
            let version = version.map(|version| valid(version, keys[which])).transpose()?;
            found(which, version.map(|version| (version, start..end)))
        };
        let TrieLayout::Compressed { core, hashing } = &self.nodes else {
            for (which, key) in keys.iter().enumerate() {
                let start = out.len();
                let version = self.get_into(&mut &*view, key, out)?;
                finish(which, start, version, out.len())?;
            }
            return Ok(());
        };
        let end = |which: usize, came: batch_lookup::LookupEnd<'_>| {
            let (start, key) = (out.len(), keys[which]);
            let version = match came {
                batch_lookup::LookupEnd::Absent => None,
                batch_lookup::LookupEnd::Found(version, StoredValue::Inline(bytes))
                    if let Some(value) = hash::value_of(hashing.is_some(), bytes, key) =>
                {
                    out.extend_from_slice(value);
                    Some(version)
                }
                // A long value, or a key that shares its hash.
                batch_lookup::LookupEnd::Found(..) => self.get_into(&mut &*view, key, out)?,
            };
            finish(which, start, version, out.len())
        };
        batch_lookup::look_up(core, hashing.as_ref(), view, keys, end)
    }

    /// Walks to keys as [`get_many`](Self::get_many) does, so that what is on the way is at hand for who goes there next.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into).
    pub(crate) fn prefetch(&self, view: &PageView<'_>, keys: &[&[u8]]) -> WalkResult<()> {
        match &self.nodes {
            TrieLayout::Compressed { core, hashing } => {
                batch_lookup::look_up(core, hashing.as_ref(), view, keys, |_, _| Ok(()))
            }
            TrieLayout::Fixed(_) => Ok(()),
        }
    }

    /// The version of a key.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into).
    pub(crate) fn version(&self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<Option<u64>> {
        let TrieLayout::Compressed { core, hashing: None } = &self.nodes else {
            // Of keys of one hash, only their values tell which is which.
            return self.get_into(pages, key, &mut Vec::new());
        };
        if key.len() > self.key_most() {
            return Ok(None);
        }
        core.version(pages, key)?.map(|version| valid(version, key)).transpose()
    }

    /// Sets the value of a key, and its version, which is less than `u64::MAX`, and no other write's (`buffer/long.rs`); true if the key had none.
    ///
    /// # Errors
    /// A key or a value that is too long, or that the trie cannot keep; a file operation that failed. The write is to be given up then.
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
            TrieLayout::Fixed(fixed) => fixed.set(writer, key, version, value),
        };
        set.map_err(|stop| writer.fault(stop))
    }

    /// Removes a key and its value; false if it has none.
    ///
    /// # Errors
    /// A file operation that failed. The write is to be given up then.
    pub(crate) fn remove(&self, writer: &mut PageWriter<'_>, key: &[u8]) -> Result<bool> {
        if key.len() > self.key_most() {
            return Ok(false);
        }
        let removed = match &self.nodes {
            TrieLayout::Compressed { core, hashing: None } => core.remove(writer, key),
            TrieLayout::Compressed { core, hashing: Some(hashing) } => hashing.remove(core, writer, key),
            TrieLayout::Fixed(fixed) => fixed.remove(writer, key),
        };
        removed.map_err(|stop| writer.fault(stop))
    }

    /// The keys of a portion, in order, with what they have.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] of a hash trie; otherwise as [`get_into`](Self::get_into).
    pub(crate) fn collect(
        &self,
        pages: &mut impl PageReader,
        portion: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        self.ordered()?;
        match &self.nodes {
            TrieLayout::Compressed { core, .. } => core.collect(pages, portion),
            TrieLayout::Fixed(fixed) => fixed.collect(pages, portion),
        }
    }

    /// The keys of a portion in the trie's own order, with what they have: that of the keys, or of their hashes, which takes no bounds but a lower one that excludes a key.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] for other bounds of a hash trie; otherwise as [`get_into`](Self::get_into).
    pub(crate) fn walk(
        &self,
        pages: &mut impl PageReader,
        portion: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        match &self.nodes {
            TrieLayout::Compressed { core, hashing: None } => core.collect(pages, portion),
            TrieLayout::Compressed { core, hashing: Some(hashing) } => hashing.collect(core, pages, portion),
            TrieLayout::Fixed(fixed) => fixed.walk(pages, portion),
        }
    }

    /// A cursor before the first key.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] of a hash trie.
    pub(crate) fn cursor<'b>(&self, buffer: &'b BufferManager) -> Result<TrieCursor<'b>> {
        self.ordered()?;
        Ok(TrieCursor::new(buffer, *self))
    }

    fn ordered(&self) -> Result<()> {
        if self.shape.is_ordered() { Ok(()) } else { Err(DiskError::NoOrder) }
    }

    /// Merges pages that have little, in a step that begins before a node, or at the trie's end. It is to be published if anything was changed. The paper's layout has nothing to
    /// merge.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged. The write is to be given up then.
    pub(crate) fn merge(&self, writer: &mut PageWriter<'_>, before: Option<SymbolPath>) -> Result<MergeStep> {
        match &self.nodes {
            TrieLayout::Compressed { core, .. } => {
                core.merge(writer, before).map_err(|stop| writer.fault(stop))
            }
            TrieLayout::Fixed(_) => {
                Ok(MergeStep { pages: 0, nodes: 0, is_changed: false, before: None, is_done: true })
            }
        }
    }

    /// Looks at all of the trie, in time that grows with its pages.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub(crate) fn check(&self, pages: &mut impl PageReader) -> std::result::Result<TrieCensus, WalkStop> {
        match &self.nodes {
            TrieLayout::Compressed { core, hashing } => {
                let census = core.check(pages)?;
                if let Some(hashing) = hashing {
                    hashing.check(core, pages)?;
                }
                Ok(census)
            }
            TrieLayout::Fixed(fixed) => fixed.check(pages),
        }
    }
}
