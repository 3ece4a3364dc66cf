//! The algorithms that all compressed tries share: the descent from the root to a key's value.
//!
//! ```text
//!   descend   at each node: compare the prefix, take the next symbol, follow the child
//!   ends      Here      at the key's node
//!             Inside    within a node's prefix, where the key differs
//!             NoChild   at a node without a child for the next symbol
//! ```
//!
//! Every operation on a key begins with a descent. `set.rs` and `remove.rs` use the trail of
//! visited records ([`DescentPath`]).

use super::decoded_node::DecodedNode;
use super::node::{ChildLayout, TrieNode};
use super::overflow::OverflowChain;
use super::symbols::TrieSymbols;
use super::value::{INVALID, StoredValue, VersionedValue};
use crate::buffer::{PageWriter, WalkStop};
use crate::page::{DiskPageKind, PageId};
use crate::record::{PageReader, PageRecords, RecordId, WalkResult, change, records};
use crate::{DiskError, Result};

/// A trie of symbols: how keys are cut, how nodes store children, and the root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrieCore {
    pub(super) symbols: TrieSymbols,
    pub(super) layout: ChildLayout,
    pub(super) root: RecordId,
}

/// A visited record, with the number of symbols that lead to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordVisit {
    pub(super) id: RecordId,
    pub(super) depth: usize,
}

/// A visited leaf in its parent's record, with the number of symbols that lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeafVisit {
    pub(super) symbol: u8,
    pub(super) depth: usize,
}

/// The id of a node: its record, or a leaf in the record by its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId {
    pub(super) record: RecordId,
    pub(super) leaf: Option<u8>,
}

impl From<RecordId> for NodeId {
    fn from(record: RecordId) -> Self {
        Self { record, leaf: None }
    }
}

/// The next step of a descent.
#[derive(Clone, Copy, Debug)]
pub(super) enum DescentStep<'p> {
    /// The descent ends at this node.
    End(DescentEnd),
    /// To a child with a record of its own.
    Child(RecordVisit),
    /// To a leaf in this record, with its bytes.
    Leaf(LeafVisit, &'p [u8]),
}

/// The place where a descent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DescentEnd {
    /// At the key's node.
    Here,
    /// Within the prefix: the key has this many of its symbols and differs in the next.
    Inside(usize),
    /// At a node without a child for the key's next symbol.
    NoChild,
}

/// The result of a descent: the visited records, and its end.
#[derive(Debug)]
pub(super) struct DescentPath {
    /// The visited records, the root's first.
    pub(super) trail: Vec<RecordVisit>,
    /// The leaf in the last record, if the descent ends in a leaf.
    pub(super) leaf: Option<LeafVisit>,
    pub(super) end: DescentEnd,
}

impl DescentPath {
    pub(super) fn last(&self) -> RecordVisit {
        // The trail always has the root's record.
        self.trail[self.trail.len() - 1]
    }

    /// Returns the symbol of the leaf where the descent ends.
    pub(super) fn leaf_symbol(&self) -> Option<u8> {
        self.leaf.map(|leaf| leaf.symbol)
    }
}

pub(super) fn node(pages: &mut impl PageReader, id: impl Into<NodeId>) -> WalkResult<TrieNode<'_>> {
    let NodeId { record, leaf } = id.into();
    let node = node_in(&records(pages, record.page)?, record)?;
    let Some(symbol) = leaf else { return Ok(node) };
    let leaf =
        node.leaves.get(symbol).ok_or_else(|| damaged_record(record, format!("it has no leaf {symbol}")))?;
    leaf_of(leaf, record)
}

/// Returns the leaves in a record with their symbols, in order.
pub(super) fn leaves<'p>(
    record: RecordId,
    node: &TrieNode<'p>,
) -> impl DoubleEndedIterator<Item = (u8, NodeId)> + use<'p> {
    node.leaves.iter().map(move |leaf| (leaf.0, NodeId { record, leaf: Some(leaf.0) }))
}

/// Returns the children with records of their own, with their symbols, in order.
pub(super) fn children<'p>(node: &TrieNode<'p>) -> impl DoubleEndedIterator<Item = (u8, NodeId)> + use<'p> {
    node.children.iter().map(|child| (child.0, child.1.into()))
}

/// Returns the node of a record in a page that the caller has.
#[inline(always)]
pub(super) fn node_in<'p>(records: &PageRecords<'p>, id: RecordId) -> WalkResult<TrieNode<'p>> {
    records.get(id.slot).and_then(TrieNode::of).map_err(|what| damaged_record(id, what))
}

/// Decodes a leaf from its bytes in a record.
#[inline(always)]
pub(super) fn leaf_of(bytes: &[u8], record: RecordId) -> WalkResult<TrieNode<'_>> {
    TrieNode::of_leaf(bytes).map_err(|what| damaged_record(record, what))
}

#[cold]
pub(super) fn damaged_record(id: RecordId, what: impl AsRef<str>) -> WalkStop {
    WalkStop::Damaged(id.page, format!("slot {}: {}", id.slot, what.as_ref()))
}

/// Appends a node's value to `out` and returns its version, which may be [`INVALID`].
pub(super) fn read_value(
    pages: &mut impl PageReader,
    id: NodeId,
    out: &mut Vec<u8>,
) -> WalkResult<Option<u64>> {
    let begun = node(pages, id)?.value.map(|value| PartialValue::of(value, out));
    begun.map(|begun| begun.finish(pages, out)).transpose()
}

/// A value as far as it lies in its node.
struct PartialValue {
    version: u64,
    /// The overflow pages that are still to be read.
    rest: Option<OverflowChain>,
}

impl PartialValue {
    #[inline]
    fn of(value: VersionedValue<'_>, out: &mut Vec<u8>) -> Self {
        let rest = match value.stored {
            StoredValue::Inline(bytes) => {
                out.extend_from_slice(bytes);
                None
            }
            StoredValue::Overflow(chain) => Some(chain),
        };
        Self { version: value.version, rest }
    }

    #[inline]
    fn finish(self, pages: &mut impl PageReader, out: &mut Vec<u8>) -> WalkResult<u64> {
        if let Some(chain) = self.rest {
            chain.read(pages, self.version, out)?;
        }
        Ok(self.version)
    }
}

/// Returns the version of a node's value, if it has one; it may be [`INVALID`].
pub(super) fn read_version(pages: &mut impl PageReader, id: NodeId) -> WalkResult<Option<u64>> {
    Ok(node(pages, id)?.value.map(|value| value.version))
}

/// Frees the overflow pages of a removed value.
pub(super) fn free_value(writer: &mut PageWriter<'_>, value: Option<VersionedValue<'_>>) -> WalkResult<()> {
    match value.map(|value| value.stored) {
        Some(StoredValue::Overflow(chain)) => chain.free(writer),
        _ => Ok(()),
    }
}

/// Returns the version, or an error if the last write to the key was interrupted.
pub(super) fn valid(version: u64, key: &[u8]) -> WalkResult<u64> {
    if version == INVALID { Err(DiskError::interrupted(key).into()) } else { Ok(version) }
}

impl TrieCore {
    /// Creates a trie without keys.
    pub(super) fn create(
        writer: &mut PageWriter<'_>,
        symbols: TrieSymbols,
        layout: ChildLayout,
    ) -> Result<Self> {
        let page = writer.make(DiskPageKind::Records)?;
        let slot = insert(writer, page, &DecodedNode::default().encode(layout))?;
        Ok(Self { symbols, layout, root: RecordId { page, slot } })
    }

    /// Returns the next step from a node at `depth` symbols of the key.
    #[inline(always)]
    pub(super) fn step<'p>(&self, node: &TrieNode<'p>, key: &[u8], depth: usize) -> DescentStep<'p> {
        let common = self.symbols.common(key, depth, node.prefix, node.symbols);
        if common < node.symbols {
            return DescentStep::End(DescentEnd::Inside(common));
        }
        let depth = depth + common;
        if depth == self.symbols.count(key.len()) {
            return DescentStep::End(DescentEnd::Here);
        }
        let (symbol, depth) = (self.symbols.at(key, depth), depth + 1);
        if let Some(leaf) = node.leaves.get(symbol) {
            return DescentStep::Leaf(LeafVisit { symbol, depth }, leaf);
        }
        let child = node.children.get(symbol);
        child
            .map_or(DescentStep::End(DescentEnd::NoChild), |id| DescentStep::Child(RecordVisit { id, depth }))
    }

    /// Returns the end of a descent that reaches a leaf.
    #[inline(always)]
    pub(super) fn end_in_leaf(&self, leaf: &TrieNode<'_>, key: &[u8], depth: usize) -> DescentEnd {
        match self.step(leaf, key, depth) {
            DescentStep::End(end) => end,
            // A leaf has no children.
            DescentStep::Child(_) | DescentStep::Leaf(..) => DescentEnd::NoChild,
        }
    }

    /// Descends along a key, calls `visit` for each record, and returns the result of `end`. Looks
    /// each page up once for all its nodes on the path.
    #[inline(always)]
    fn descend<T>(
        &self,
        pages: &mut impl PageReader,
        key: &[u8],
        mut visit: impl FnMut(RecordVisit),
        end: impl FnOnce(&TrieNode<'_>, Option<LeafVisit>, DescentEnd) -> T,
    ) -> WalkResult<T> {
        let mut at = RecordVisit { id: self.root, depth: 0 };
        loop {
            let page = at.id.page;
            let records = records(pages, page)?;
            while at.id.page == page {
                visit(at);
                let node = node_in(&records, at.id)?;
                match self.step(&node, key, at.depth) {
                    DescentStep::Child(child) => at = child,
                    DescentStep::Leaf(leaf, bytes) => {
                        let node = leaf_of(bytes, at.id)?;
                        return Ok(end(&node, Some(leaf), self.end_in_leaf(&node, key, leaf.depth)));
                    }
                    DescentStep::End(step) => return Ok(end(&node, None, step)),
                }
            }
        }
    }

    /// Appends the value of a key to `out` and returns its version, which may be [`INVALID`].
    pub(super) fn get(
        &self,
        pages: &mut impl PageReader,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> WalkResult<Option<u64>> {
        let end = |node: &TrieNode<'_>, _, end| value_at(node, end).map(|value| PartialValue::of(value, out));
        let begun = self.descend(pages, key, |_| (), end)?;
        begun.map(|begun| begun.finish(pages, out)).transpose()
    }

    /// Returns the version of a key, which may be [`INVALID`].
    pub(super) fn version(&self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<Option<u64>> {
        let end = |node: &TrieNode<'_>, _, end| value_at(node, end).map(|value| value.version);
        self.descend(pages, key, |_| (), end)
    }

    /// Descends along a key and returns the visited records.
    pub(super) fn find(&self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<DescentPath> {
        let mut trail = Vec::with_capacity(16);
        let (leaf, end) = self.descend(pages, key, |at| trail.push(at), |_, leaf, end| (leaf, end))?;
        Ok(DescentPath { trail, leaf, end })
    }
}

/// Returns the value of a key whose descent ends at this node.
#[inline(always)]
pub(super) fn value_at<'p>(node: &TrieNode<'p>, end: DescentEnd) -> Option<VersionedValue<'p>> {
    node.value.filter(|_| end == DescentEnd::Here)
}

/// Adds a record to a page. It must fit.
pub(super) fn insert(writer: &mut PageWriter<'_>, page: PageId, record: &[u8]) -> Result<u16> {
    let no_room = || format!("{} bytes do not fit, although room was made", record.len());
    change(writer, page, |records| records.insert(record)?.ok_or_else(no_room))
}

/// Replaces the bytes of a record. They must fit.
pub(super) fn replace(writer: &mut PageWriter<'_>, id: RecordId, bytes: &[u8]) -> Result<()> {
    let (len, slot) = (bytes.len(), id.slot);
    let no_room = || format!("{len} bytes do not fit slot {slot}, although room was made");
    change(writer, id.page, |records| records.replace(slot, bytes)?.then_some(()).ok_or_else(no_room))
}
