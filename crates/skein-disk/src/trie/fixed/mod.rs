//! The paper's own layout: nodes of one length, a symbol each, integers as values. An option, for its figures.
//!
//! ```text
//!   first page   │ state of the allocation 24 │ root │ node │ node │ ...        other pages   │ node │ node │ ... one after the other
//!
//!   "HI"         root ─'H'─► node ─'I'─► node with value and version              no prefixes: a node for each symbol of a key
//!
//!   node.rs   bytes of a node            nodes.rs   making nodes, and giving them back       children.rs   pointers, and chains of linked nodes
//!   walk.rs   keys in order              check.rs   all invariants                          hash.rs       the hash trie: keys after hashes
//! ```
//!
//! # Invariants
//! 1. Nodes are named by page and index. A node that was made is in use or in the list of free ones, and the next one made takes a free one's place first: so what
//!    removals leave is used again, by any key. Pages stay the trie's.
//! 2. No node but the root has neither a value nor a child.
//! 3. The version is 0 where there is no value, and [`INVALID`](node::INVALID) between the moment when a value is changed and the moment when its version is
//!    (section 5).
//!
//! Values are integers of 32 bits and versions have 32 bits, as in the paper; keys have [`KEY_MOST`] bytes at most, since a write has all its pages in memory at once.
//! A value is given and taken as decimal digits, so that `inc` means what it means in every other trie.
//!
//! Source: sections 3.1 (8 bytes a pointer: page and index), 3.2 (16 + 9k bytes: value 4, version 4, next 8, k pointers, k characters), 3.3. Giving nodes back, the order
//! of characters in a chain, and stored keys in the hash trie are ours.

mod check;
mod children;
mod hash;
mod node;
mod node_allocation;
#[cfg(test)]
mod tests;
mod walk;

use super::hash::KeyHashing;
use super::symbols::TrieSymbols;
use super::walk::{ScanEntries, ScanRequest};
use super::{TrieCensus, value::INVALID as INVALID_VERSION};
use crate::buffer::PageWriter;
use crate::record::{PageReader, RecordId, WalkResult};
use crate::{DiskError, Result};
pub(super) use node::FixedLayout;
use node::INVALID;
pub(super) use node_allocation::{create, fits};

/// Bytes of a key at most.
pub(crate) const KEY_MOST: usize = 1024;
/// The greatest version.
const VERSION_MOST: u64 = INVALID as u64 - 1;

/// A trie of nodes of one length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedTrie {
    symbols: TrieSymbols,
    form: FixedLayout,
    root: RecordId,
    /// For the hash trie.
    pub(super) hashing: Option<KeyHashing>,
}

impl FixedTrie {
    /// The trie whose root is there.
    pub(super) fn open(
        symbols: TrieSymbols,
        form: FixedLayout,
        root: RecordId,
        hashing: Option<KeyHashing>,
    ) -> Self {
        Self { symbols, form, root, hashing }
    }

    pub(super) fn root(&self) -> RecordId {
        self.root
    }

    /// Appends the value of a key, which is not longer than [`KEY_MOST`], and gives its version.
    pub(super) fn get(
        &self,
        pages: &mut impl PageReader,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> WalkResult<Option<u64>> {
        let end = match &self.hashing {
            None => self.end_of(pages, key)?,
            Some(hashing) => self.hashed(hashing).get(pages, key)?,
        };
        let Some(id) = end else { return Ok(None) };
        let Some((version, number)) = value_of(self.node(pages, id)?) else { return Ok(None) };
        out.extend_from_slice(number.to_string().as_bytes());
        Ok(Some(version))
    }

    /// The node at which a path ends.
    fn end_of(&self, pages: &mut impl PageReader, path: &[u8]) -> WalkResult<Option<RecordId>> {
        let mut at = self.root;
        for index in 0..self.symbols.count(path.len()) {
            match self.child(pages, at, self.symbols.at(path, index))? {
                Some(child) => at = child,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The nodes along a path, the root first, as far as there are any.
    fn trail(&self, pages: &mut impl PageReader, path: &[u8]) -> WalkResult<Vec<RecordId>> {
        let mut trail = vec![self.root];
        let mut at = self.root;
        for index in 0..self.symbols.count(path.len()) {
            let Some(child) = self.child(pages, at, self.symbols.at(path, index))? else { break };
            trail.push(child);
            at = child;
        }
        Ok(trail)
    }

    /// Sets the value of a key; true if it had none.
    pub(super) fn set(
        &self,
        writer: &mut PageWriter<'_>,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> WalkResult<bool> {
        let value = integer(value)?;
        let version = version_of(version)?;
        if let Some(hashing) = &self.hashing {
            return self.hashed(hashing).set(writer, key, version, value);
        }
        let trail = self.trail(writer, key)?;
        let mut end = trail[trail.len() - 1];
        if !self.is_whole(&trail, key) {
            end = self.make_node(writer)?;
            self.lead_to(writer, &trail, key, end)?;
        }
        self.put(writer, end, version, value)
    }

    /// Whether a trail goes to the end of its path.
    fn is_whole(&self, trail: &[RecordId], path: &[u8]) -> bool {
        trail.len() == 1 + self.symbols.count(path.len())
    }

    /// Makes the nodes between a trail's last one and the node at which the path is to end.
    fn lead_to(
        &self,
        writer: &mut PageWriter<'_>,
        trail: &[RecordId],
        path: &[u8],
        end: RecordId,
    ) -> WalkResult<()> {
        let mut below = end;
        for index in (trail.len()..self.symbols.count(path.len())).rev() {
            let node = self.make_node(writer)?;
            self.set_child(writer, node, self.symbols.at(path, index), Some(below))?;
            below = node;
        }
        let last = trail.len() - 1;
        self.set_child(writer, trail[last], self.symbols.at(path, last), Some(below))
    }

    /// Writes a value into a node, the version last (section 5); true if there was none.
    pub(in crate::trie) fn put(
        &self,
        writer: &mut PageWriter<'_>,
        id: RecordId,
        version: u32,
        value: i32,
    ) -> WalkResult<bool> {
        let node = self.node_mut(writer, id)?;
        let is_new = node::FixedNode(node).version() == 0;
        node::set_version(node, INVALID);
        node::set_value(node, value);
        node::set_version(node, version);
        Ok(is_new)
    }

    /// Removes a key; false if it has no value. Nodes that nothing needs any more become free.
    pub(super) fn remove(&self, writer: &mut PageWriter<'_>, key: &[u8]) -> WalkResult<bool> {
        if let Some(hashing) = &self.hashing {
            return self.hashed(hashing).remove(writer, key);
        }
        let trail = self.trail(writer, key)?;
        let end = trail[trail.len() - 1];
        if !self.is_whole(&trail, key) || self.node(writer, end)?.version() == 0 {
            return Ok(false);
        }
        let node = self.node_mut(writer, end)?;
        node::set_version(node, 0);
        node::set_value(node, 0);
        self.prune(writer, &trail, key)?;
        Ok(true)
    }

    /// Gives the nodes at the end of a trail back that have neither a value nor a child.
    fn prune(&self, writer: &mut PageWriter<'_>, trail: &[RecordId], path: &[u8]) -> WalkResult<()> {
        for depth in (1..trail.len()).rev() {
            if self.node(writer, trail[depth])?.version() != 0 || self.has_child(writer, trail[depth])? {
                break;
            }
            self.set_child(writer, trail[depth - 1], self.symbols.at(path, depth - 1), None)?;
            self.free_node(writer, trail[depth])?;
        }
        Ok(())
    }

    /// The keys of a portion, in order.
    pub(super) fn collect(
        &self,
        pages: &mut impl PageReader,
        portion: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        walk::collect(self, pages, portion)
    }

    /// The keys of a portion, in the trie's own order.
    pub(super) fn walk(
        &self,
        pages: &mut impl PageReader,
        portion: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        match &self.hashing {
            None => self.collect(pages, portion),
            Some(hashing) => self.hashed(hashing).collect(pages, portion),
        }
    }

    /// Looks at all of the trie.
    pub(super) fn check(&self, pages: &mut impl PageReader) -> WalkResult<TrieCensus> {
        check::check(self, pages)
    }
}

/// The version and the value of a node.
fn value_of(node: node::FixedNode<'_>) -> Option<(u64, i32)> {
    let version = match node.version() {
        0 => return None,
        INVALID => INVALID_VERSION,
        version => version.into(),
    };
    Some((version, node.value()))
}

/// The integer that a value is: as it is written, it is read again.
fn integer(value: &[u8]) -> Result<i32> {
    let number = str::from_utf8(value).ok().and_then(|text| text.parse::<i32>().ok());
    let number = number.filter(|number| number.to_string().as_bytes() == value);
    number.ok_or_else(|| DiskError::NotASmallInteger {
        value: value[..value.len().min(32)].escape_ascii().to_string(),
    })
}

fn version_of(version: u64) -> Result<u32> {
    match version {
        1..=VERSION_MOST => Ok(version as u32),
        _ => Err(DiskError::VersionsUsedUp { version, limit: VERSION_MOST }),
    }
}
