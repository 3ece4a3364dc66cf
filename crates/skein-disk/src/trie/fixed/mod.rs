//! The paper's own layout: nodes of one length with one symbol each, and integers as values. It
//! exists for comparisons with the paper.
//!
//! ```text
//!   first page     │ allocation 24 │ root │ node │ node │ ...
//!   other pages    │ node │ node │ ... one after the other
//!
//!   "HI"           root ─'H'─► node ─'I'─► node with value and version        no prefixes
//! ```
//!
//! Read `node.rs` (bytes of a node), `node_allocation.rs` and `children.rs` (pointers, and chains
//! of linked nodes) first, then `walk.rs` (keys in order), `hash.rs` (the hash trie) and
//! `check.rs`.
//!
//! # Invariants
//! 1. Nodes are named by page and index. An allocated node is in use or in the free list, and an
//!    allocation first takes a node from the free list. So nodes of removed keys are reused for any
//!    key. Pages are never freed.
//! 2. Every node except the root has a value or a child.
//! 3. The version is 0 without a value, and [`INVALID`] while a value is changed
//!    (section 5).
//!
//! Values and versions have 32 bits, as in the paper. Keys have at most [`KEY_MOST`] bytes, because
//! a write has all its pages in memory at once. The interface takes and returns a value as decimal
//! digits, so `inc` works as in the other tries.
//!
//! Source: sections 3.1 (8 bytes per pointer: page and index), 3.2 (16 + 9k bytes: value 4, version
//! 4, next 8, k pointers, k characters) and 3.3. The free list, the order of characters in a chain
//! and the stored keys of the hash trie are ours.
//!
//! Design: `docs/design/disk.md`.

mod check;
mod children;
mod hash;
mod node;
mod node_allocation;
#[cfg(test)]
mod tests;
mod walk;

use skein_syntax::number::parse_i64;

use super::hash::KeyHashing;
use super::symbols::TrieSymbols;
use super::value::INVALID as INVALID_VERSION;
use super::walk::{ScanEntries, ScanRequest};
use crate::buffer::PageWriter;
use crate::record::{PageReader, RecordId, WalkResult};
use crate::{DiskError, Result};
pub(super) use node::FixedLayout;
use node::INVALID;
pub(super) use node_allocation::{create, fits};

/// The longest key, in bytes.
pub(crate) const KEY_MOST: usize = 1024;
/// The greatest version.
const VERSION_MOST: u64 = INVALID as u64 - 1;

/// A trie with nodes of one length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedTrie {
    pub(super) symbols: TrieSymbols,
    pub(super) form: FixedLayout,
    pub(super) root: RecordId,
    /// For the hash trie.
    pub(super) hashing: Option<KeyHashing>,
}

impl FixedTrie {
    /// Appends the value of a key to `out` and returns its version. The key must not be longer than
    /// [`KEY_MOST`].
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

    /// Returns the node at which a path ends.
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

    /// Returns the existing nodes along a path, the root first.
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

    /// Sets the value of a key. Returns true if it had none.
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

    /// Returns whether a trail reaches the end of its path.
    fn is_whole(&self, trail: &[RecordId], path: &[u8]) -> bool {
        trail.len() == 1 + self.symbols.count(path.len())
    }

    /// Allocates the nodes between a trail's last one and the node `end` at which the path ends.
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

    /// Writes a value into a node, the version last (section 5). Returns true if it had none.
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

    /// Removes a key and frees the nodes that are no longer needed. Returns false if it has no
    /// value.
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

    /// Frees the nodes at the end of a trail that have neither a value nor a child.
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

    /// Returns the keys of a range in the trie's own order.
    pub(super) fn walk(
        &self,
        pages: &mut impl PageReader,
        request: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        match &self.hashing {
            None => self.collect(pages, request),
            Some(hashing) => self.hashed(hashing).collect(pages, request),
        }
    }
}

/// Returns the version and the value of a node.
fn value_of(node: node::FixedNode<'_>) -> Option<(u64, i32)> {
    let version = match node.version() {
        0 => return None,
        INVALID => INVALID_VERSION,
        version => version.into(),
    };
    Some((version, node.value()))
}

/// Parses an integer in the form in which it would be returned.
fn integer(value: &[u8]) -> Result<i32> {
    let number = parse_i64(value).and_then(|number| i32::try_from(number).ok());
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
