//! Tries: keys to values with versions, in the records of pages.
//!
//! ```text
//!   classical   key ─ symbols of log2 n bits ─┐          ┌ node: array of n pointers          ┐
//!   linked      key ─ characters ─────────────┼─► core ──┤ node: list of characters, pointers ├──► records of pages ──► buffer manager
//!   hash        key ─ hash.rs ─ symbols ──────┘          └ node: array of n pointers          ┘
//!
//!   core.rs   from a path to a value      set.rs, remove.rs   small steps, each of which leaves a trie      placement.rs, forest.rs   which nodes share a page
//!   walk.rs, cursor.rs   keys in order    check.rs   all invariants                                         node.rs, content.rs, overflow.rs, symbols.rs   bytes
//! ```
//!
//! # Invariants
//! 1. A key's value is in the node at which its path ends. No node but the root has neither a value nor a child.
//! 2. What a node has is in one record, and one pointer leads to it. The root's record is always the same.
//!
//! Readers walk over a [`View`](crate::buffer::View), and see one moment; the writer changes pages of his own, which a write publishes all at once
//! (`buffer/`). A write that has failed is to be dropped: half of it may be done in there.
//!
//! Source: section 3. A node of the paper has one symbol, and the same length as all others; here prefixes stand for nodes of one child each.

mod check;
mod content;
mod core;
mod cursor;
mod forest;
mod hash;
mod node;
mod overflow;
mod placement;
mod remove;
mod set;
mod shape;
mod symbols;
#[cfg(test)]
mod tests;
mod walk;

use crate::buffer::{Buffer, Stop, Writer};
use crate::record::{Pages, RecordId, Walked};
use crate::{DiskError, Result};
pub use check::Census;
use core::{Core, valid};
pub use cursor::Cursor;
use hash::Hashing;
pub use shape::Shape;
pub use walk::{Direction, Entries, Entry, Portion};

/// Bytes of a key at most.
pub(crate) const KEY_MOST: usize = 65_535;
/// Bytes of a value at most.
pub(crate) const VALUE_MOST: usize = 512 << 20;

/// A trie of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trie {
    shape: Shape,
    core: Core,
    /// For the hash trie.
    hashing: Option<Hashing>,
}

impl Trie {
    /// Makes a trie that has no keys. `secret` is what a hash trie hashes with; it has to be the same when the trie is opened.
    ///
    /// # Errors
    /// Parameters that do not fit; no page is free.
    pub(crate) fn create(writer: &mut Writer<'_>, shape: Shape, secret: [u8; 16]) -> Result<Self> {
        let (symbols, layout) = shape.parts()?;
        let core = Core::create(writer, symbols, layout)?;
        Self::open(shape, core.root, secret)
    }

    /// The trie whose root is there.
    pub(crate) fn open(shape: Shape, root: RecordId, secret: [u8; 16]) -> Result<Self> {
        let (symbols, layout) = shape.parts()?;
        let hashing = matches!(shape, Shape::Hash { .. }).then(|| Hashing::new(secret));
        Ok(Self { shape, core: Core { symbols, layout, root }, hashing })
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn root(&self) -> RecordId {
        self.core.root
    }

    /// Appends the value of a key, and gives its version.
    ///
    /// # Errors
    /// A page that is missing, or wrong; [`DiskError::Interrupted`] if the last write to the key was.
    pub(crate) fn get_into(
        &self,
        pages: &mut impl Pages,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Walked<Option<u64>> {
        if key.len() > KEY_MOST {
            return Ok(None);
        }
        let version = match &self.hashing {
            None => self.core.get(pages, key, out)?,
            Some(hashing) => hashing.get(&self.core, pages, key, out)?,
        };
        version.map(|version| valid(version, key)).transpose()
    }

    /// The version of a key.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into).
    pub(crate) fn version(&self, pages: &mut impl Pages, key: &[u8]) -> Walked<Option<u64>> {
        // Of keys of one hash, only their values tell which is which.
        if self.hashing.is_some() || key.len() > KEY_MOST {
            return self.get_into(pages, key, &mut Vec::new());
        }
        self.core.version(pages, key)?.map(|version| valid(version, key)).transpose()
    }

    /// Sets the value of a key, and its version, which is less than `u64::MAX`; true if the key had none.
    ///
    /// # Errors
    /// A key or a value that is too long; a file operation that failed. The write is to be given up then.
    pub(crate) fn set(
        &self,
        writer: &mut Writer<'_>,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> Result<bool> {
        if key.len() > KEY_MOST {
            return Err(DiskError::KeyTooLong { len: key.len(), limit: KEY_MOST });
        }
        if value.len() > VALUE_MOST {
            return Err(DiskError::ValueTooLong { len: value.len(), limit: VALUE_MOST });
        }
        let set = match &self.hashing {
            None => self.core.set(writer, key, version, value),
            Some(hashing) => hashing.set(&self.core, writer, key, version, value),
        };
        set.map_err(|stop| writer.fault(stop))
    }

    /// Removes a key and its value; false if it has none.
    ///
    /// # Errors
    /// A file operation that failed. The write is to be given up then.
    pub(crate) fn remove(&self, writer: &mut Writer<'_>, key: &[u8]) -> Result<bool> {
        if key.len() > KEY_MOST {
            return Ok(false);
        }
        let removed = match &self.hashing {
            None => self.core.remove(writer, key),
            Some(hashing) => hashing.remove(&self.core, writer, key),
        };
        removed.map_err(|stop| writer.fault(stop))
    }

    /// The keys of a portion, in order, with what they have.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] of a hash trie; otherwise as [`get_into`](Self::get_into).
    pub(crate) fn collect(&self, pages: &mut impl Pages, portion: &Portion<'_>) -> Walked<Entries> {
        self.ordered()?;
        self.core.collect(pages, portion)
    }

    /// Some keys, so many at most, if the trie keeps no order of them; none if it does.
    ///
    /// # Errors
    /// As [`get_into`](Self::get_into).
    pub(crate) fn some_keys(&self, pages: &mut impl Pages, most: usize) -> Walked<Option<Vec<Vec<u8>>>> {
        (!self.has_order()).then(|| hash::some_keys(&self.core, pages, most)).transpose()
    }

    /// A cursor before the first key.
    ///
    /// # Errors
    /// [`DiskError::NoOrder`] of a hash trie.
    pub(crate) fn cursor<'b>(&self, buffer: &'b Buffer) -> Result<Cursor<'b>> {
        self.ordered()?;
        Ok(Cursor::new(buffer, *self))
    }

    /// Whether it keeps its keys in order.
    pub(crate) fn has_order(&self) -> bool {
        self.hashing.is_none()
    }

    fn ordered(&self) -> Result<()> {
        if self.has_order() { Ok(()) } else { Err(DiskError::NoOrder) }
    }

    /// Looks at all of the trie, in time that grows with its pages.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub(crate) fn check(&self, pages: &mut impl Pages) -> std::result::Result<Census, Stop> {
        let census = self.core.check(pages)?;
        if let Some(hashing) = &self.hashing {
            hashing.check(&self.core, pages)?;
        }
        Ok(census)
    }
}
