//! Walks over keys in order, forward and backward.
//!
//! ```text
//!   stack    root, at 'h' ─► "e", at 'l' ─► "lo", at its value          path  "hello"
//!   next     forward: the node's value, then its children; after the last one, up to the parent
//!            backward: the reverse
//! ```
//!
//! A walk sees one version of all pages (`BufferManager::read_with`) and does not outlive it. To
//! continue, a caller starts a new walk after its last key.

use std::ops::Bound;

use super::KEY_MOST;
use super::batch_lookup::MissingPages;
use super::core::{
    DescentEnd, DescentStep, NodeId, TrieCore, children, damaged_record, leaves, node, read_value,
    read_version, valid,
};
use super::node::TrieNode;
use super::symbols::SymbolPath;
use super::visited_records::VisitedRecords;
use crate::record::{PageReader, RecordId, WalkResult};

/// The direction of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkDirection {
    /// From lesser keys to greater ones.
    Forward,
    /// From greater keys to lesser ones.
    Backward,
}

/// The keys that a walk returns: bounds, direction and limits.
#[derive(Clone, Copy, Debug)]
pub struct ScanRequest<'p> {
    /// The lower bound.
    pub lower: Bound<&'p [u8]>,
    /// The upper bound.
    pub upper: Bound<&'p [u8]>,
    /// The end at which the walk starts.
    pub direction: WalkDirection,
    /// The maximum number of keys.
    pub keys: usize,
    /// The walk adds no further key when keys and values have this many bytes.
    pub bytes: usize,
    /// Whether values are read. If not, they are empty.
    pub values: bool,
}

/// All keys in order, with their values: at most 1 MiB.
impl Default for ScanRequest<'_> {
    fn default() -> Self {
        Self {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            direction: WalkDirection::Forward,
            keys: usize::MAX,
            bytes: 1 << 20,
            values: true,
        }
    }
}

impl<'p> ScanRequest<'p> {
    /// Returns the request of all keys from a bound on, in a direction.
    pub(crate) fn from_bound(near: Bound<&'p [u8]>, direction: WalkDirection) -> Self {
        match direction {
            WalkDirection::Forward => Self { lower: near, ..Self::default() },
            WalkDirection::Backward => Self { upper: near, direction, ..Self::default() },
        }
    }

    /// Returns the bounds at which the walk starts and ends.
    fn ends(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        match self.direction {
            WalkDirection::Forward => (self.lower, self.upper),
            WalkDirection::Backward => (self.upper, self.lower),
        }
    }

    /// Returns the bound at which the walk starts.
    pub(super) fn near(&self) -> Bound<&[u8]> {
        self.ends().0
    }

    /// Returns whether a key lies beyond the bound at which the walk ends.
    fn is_past(&self, key: &[u8]) -> bool {
        match (self.ends().1, self.direction) {
            (Bound::Unbounded, _) => false,
            (Bound::Included(end), WalkDirection::Forward) => key > end,
            (Bound::Excluded(end), WalkDirection::Forward) => key >= end,
            (Bound::Included(end), WalkDirection::Backward) => key < end,
            (Bound::Excluded(end), WalkDirection::Backward) => key <= end,
        }
    }
}

/// The result of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanEntries {
    /// The keys in the order of the walk.
    pub entries: Vec<ScanEntry>,
    /// Whether there may be more keys within the bounds.
    pub more: bool,
}

/// A key with its value and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanEntry {
    /// The key.
    pub key: Vec<u8>,
    /// The number of the write that set it.
    pub version: u64,
    /// The value.
    pub value: Vec<u8>,
}

/// The position of a walk in a node: before everything, at the value, at the child of a symbol, or
/// past everything.
type WalkPosition = i16;
const BEFORE: WalkPosition = -2;
const VALUE: WalkPosition = -1;
const PAST: WalkPosition = 256;

#[derive(Debug)]
struct TrieWalkFrame {
    id: NodeId,
    /// Symbols of the path, including the node's prefix.
    depth: usize,
    at: WalkPosition,
}

#[derive(Debug)]
pub(super) struct TrieWalk<'c> {
    core: &'c TrieCore,
    direction: WalkDirection,
    path: SymbolPath,
    stack: Vec<TrieWalkFrame>,
    visited: VisitedRecords,
}

impl<'c> TrieWalk<'c> {
    /// Starts a walk at a bound.
    pub(super) fn begin(
        core: &'c TrieCore,
        pages: &mut impl PageReader,
        from: Bound<&[u8]>,
        direction: WalkDirection,
    ) -> WalkResult<Self> {
        let mut walk = Self {
            core,
            direction,
            path: SymbolPath::new(core.symbols, 0),
            stack: Vec::new(),
            visited: VisitedRecords::default(),
        };
        match from {
            Bound::Unbounded => walk.enter(pages, core.root.into(), walk.start())?,
            Bound::Included(key) => walk.seek(pages, key, true)?,
            Bound::Excluded(key) => walk.seek(pages, key, false)?,
        }
        Ok(walk)
    }

    /// Returns the position where a walk through a whole node starts.
    fn start(&self) -> WalkPosition {
        match self.direction {
            WalkDirection::Forward => BEFORE,
            WalkDirection::Backward => PAST,
        }
    }

    fn seek(&mut self, pages: &mut impl PageReader, key: &[u8], is_included: bool) -> WalkResult<()> {
        let symbols = self.core.symbols;
        let (mut id, mut depth) = (NodeId::from(self.core.root), 0);
        loop {
            let node = node(pages, id)?;
            let step = self.core.step(&node, key, depth);
            let fork = depth + node.symbols;
            let (child, below) = match step {
                DescentStep::Child(child) => (child.id.into(), child.depth),
                DescentStep::Leaf(leaf, _) => (NodeId { leaf: Some(leaf.symbol), ..id }, leaf.depth),
                DescentStep::End(DescentEnd::Inside(common)) => {
                    // The whole node lies after the key, or before it.
                    let fork = depth + common;
                    let is_after = fork == symbols.count(key.len())
                        || symbols.at_in(node.prefix, depth, fork) > symbols.at(key, fork);
                    let is_ahead = is_after == (self.direction == WalkDirection::Forward);
                    return if is_ahead { self.enter(pages, id, self.start()) } else { Ok(()) };
                }
                DescentStep::End(DescentEnd::Here) => {
                    let at_value = match self.direction {
                        WalkDirection::Forward => BEFORE,
                        WalkDirection::Backward => 0,
                    };
                    return self.enter(pages, id, if is_included { at_value } else { VALUE });
                }
                DescentStep::End(DescentEnd::NoChild) => {
                    return self.enter(pages, id, symbols.at(key, fork).into());
                }
            };
            let symbol = symbols.at(key, fork);
            self.enter(pages, id, symbol.into())?;
            self.path.push(symbol);
            (id, depth) = (child, below);
        }
    }

    /// Enters a node at the end of the path.
    fn enter(&mut self, pages: &mut impl PageReader, id: NodeId, at: WalkPosition) -> WalkResult<()> {
        if id.leaf.is_none() {
            self.visited.note(id.record)?;
        }
        let node = node(pages, id)?;
        push_prefix(&mut self.path, id.record, &node, self.core.symbols.count(KEY_MOST))?;
        check_not_empty(id, &node, self.core.root)?;
        self.stack.push(TrieWalkFrame { id, depth: self.path.depth(), at });
        Ok(())
    }

    /// Advances to the next node with a value; [`path`](Self::path) is its key's path then.
    pub(super) fn next(&mut self, pages: &mut impl PageReader) -> WalkResult<Option<NodeId>> {
        while let Some(frame) = self.stack.last_mut() {
            let Some((at, child)) = following(frame.id, &node(pages, frame.id)?, frame.at, self.direction)
            else {
                self.stack.pop();
                continue;
            };
            frame.at = at;
            self.path.truncate(frame.depth);
            match child {
                None => return Ok(Some(frame.id)),
                Some((symbol, child)) => {
                    self.path.push(symbol);
                    self.enter(pages, child, self.start())?;
                }
            }
        }
        Ok(None)
    }

    pub(super) fn path(&self) -> &SymbolPath {
        &self.path
    }
}

/// Errors for a node that has neither a value nor a child. So a walk reaches a key within as many
/// nodes as a path has symbols, even if pointers are damaged.
fn check_not_empty(id: NodeId, node: &TrieNode<'_>, root: RecordId) -> WalkResult<()> {
    let leads_on = node.value.is_some() || leaves(id.record, node).chain(children(node)).next().is_some();
    if leads_on || id == root.into() {
        return Ok(());
    }
    Err(damaged_record(id.record, "it has neither a value nor a child"))
}

/// Adds a node's prefix to the path. Errors if the path is longer than a key can be, so pointers
/// that form a ring are noticed.
pub(super) fn push_prefix(
    path: &mut SymbolPath,
    id: RecordId,
    node: &TrieNode<'_>,
    most: usize,
) -> WalkResult<()> {
    if path.depth() + node.symbols > most {
        return Err(damaged_record(id, "paths that lead here are longer than keys can be"));
    }
    path.push_all(node.prefix, node.symbols).map_err(|what| damaged_record(id, what))
}

/// Returns what follows a position in a node: its value (`None`), or a child with its symbol.
fn following(
    id: NodeId,
    node: &TrieNode<'_>,
    at: WalkPosition,
    direction: WalkDirection,
) -> Option<(WalkPosition, Option<(u8, NodeId)>)> {
    let (mut leaves, mut children) = (leaves(id.record, node), children(node));
    let child = match direction {
        WalkDirection::Forward if at < VALUE && node.value.is_some() => None,
        WalkDirection::Forward => {
            let is_after = |child: &(u8, NodeId)| WalkPosition::from(child.0) > at;
            let both = leaves.find(is_after).into_iter().chain(children.find(is_after));
            Some(both.min_by_key(|child| child.0)?)
        }
        WalkDirection::Backward => {
            let is_before = |child: &(u8, NodeId)| WalkPosition::from(child.0) < at;
            let both = leaves.rev().find(is_before).into_iter().chain(children.rev().find(is_before));
            both.max_by_key(|child| child.0)
        }
    };
    match child {
        Some(child) => Some((child.0.into(), Some(child))),
        None if node.value.is_some() && (direction == WalkDirection::Forward || at > VALUE) => {
            Some((VALUE, None))
        }
        None => None,
    }
}

impl TrieCore {
    /// Returns the keys of a range in order, with their values and versions.
    pub(super) fn collect(
        &self,
        pages: &mut impl PageReader,
        request: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        let mut walk = TrieWalk::begin(self, pages, request.near(), request.direction)?;
        let mut gathered = GatheredEntries::default();
        while let Some(id) = walk.next(pages)? {
            let key = walk
                .path()
                .key()
                .ok_or_else(|| damaged_record(id.record, "it has a value, but no key ends there"))?;
            if !gathered.takes(request, key) {
                break;
            }
            let mut value = Vec::new();
            let version = if request.values {
                gathered.value(read_value(pages, id, &mut value))?
            } else {
                read_version(pages, id)?
            };
            if let Some(version) = version {
                gathered.push(key, valid(version, key)?, value);
            }
        }
        gathered.end()
    }
}

/// The entries that a walk has collected.
#[derive(Default)]
pub(super) struct GatheredEntries {
    pub(super) found: ScanEntries,
    bytes: usize,
    /// Long values that must be loaded, all at once.
    missing: MissingPages,
}

impl GatheredEntries {
    /// Returns whether the next key belongs to the result.
    pub(super) fn takes(&mut self, request: &ScanRequest<'_>, key: &[u8]) -> bool {
        if request.is_past(key) {
            return false;
        }
        self.found.more = self.found.entries.len() >= request.keys || self.bytes >= request.bytes;
        !self.found.more
    }

    pub(super) fn push(&mut self, key: &[u8], version: u64, value: Vec<u8>) {
        self.bytes += key.len() + value.len();
        self.found.entries.push(ScanEntry { key: key.to_vec(), version, value });
    }

    /// Adds a value's bytes to the size. Returns its version, or 0 for a long value that must be
    /// loaded first.
    fn value(&mut self, read: WalkResult<Option<u64>>) -> WalkResult<Option<u64>> {
        let Err(stop) = read else { return read };
        let before = self.missing.bytes;
        self.missing.or(Err(stop))?;
        self.bytes += self.missing.bytes - before;
        Ok(Some(0))
    }

    /// Returns the entries if no long value is missing.
    pub(super) fn end(mut self) -> WalkResult<ScanEntries> {
        self.missing.end().map(|()| self.found)
    }
}
