//! The algorithms that all tries share: from a path to a value.

use super::decoded_node::DecodedNode;
use super::node::{ChildLayout, TrieNode};
use super::overflow::OverflowChain;
use super::symbols::TrieSymbols;
use super::value::{INVALID, StoredValue, VersionedValue};
use crate::buffer::{PageWriter, WalkStop};
use crate::page::{DiskPageKind, PageId};
use crate::record::{PageReader, PageRecords, RecordId, WalkResult, change, records};
use crate::{DiskError, Result};

/// A trie of paths: how they are cut, how nodes keep their children, and where it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrieCore {
    pub(super) symbols: TrieSymbols,
    pub(super) layout: ChildLayout,
    pub(super) root: RecordId,
}

/// A record on the way, and how many symbols lead to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordVisit {
    pub(super) id: RecordId,
    pub(super) depth: usize,
}

/// A leaf within the record of its parent, and how many symbols lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeafVisit {
    pub(super) symbol: u8,
    pub(super) depth: usize,
}

/// The name of a node: its record; with a symbol, the leaf of that symbol there.
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

/// How a key goes on from a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum DescentStep<'p> {
    /// Not at all.
    End(DescentEnd),
    /// To a child.
    Child(RecordVisit),
    /// To a leaf within the node's record, which has these bytes.
    Leaf(LeafVisit, &'p [u8]),
}

/// Where the way along a key ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DescentEnd {
    /// With the key.
    Here,
    /// The key has so many symbols of the prefix, and goes another way then.
    Inside(usize),
    /// It goes on to a child that is not there.
    NoChild,
}

/// The way along a key.
#[derive(Debug)]
pub(super) struct DescentPath {
    /// Records, the root's first.
    pub(super) trail: Vec<RecordVisit>,
    /// The leaf in the last one at which it ends, if it does not end at that one's node.
    pub(super) leaf: Option<LeafVisit>,
    pub(super) end: DescentEnd,
}

impl DescentPath {
    /// The last record.
    pub(super) fn last(&self) -> RecordVisit {
        // There is always the root's.
        self.trail[self.trail.len() - 1]
    }

    /// The symbol of the leaf at which it ends.
    pub(super) fn leaf_symbol(&self) -> Option<u8> {
        self.leaf.map(|leaf| leaf.symbol)
    }
}

/// A node.
pub(super) fn node(pages: &mut impl PageReader, id: impl Into<NodeId>) -> WalkResult<TrieNode<'_>> {
    let NodeId { record, leaf } = id.into();
    let node = node_in(&records(pages, record.page)?, record)?;
    let Some(symbol) = leaf else { return Ok(node) };
    let leaf =
        node.leaves.get(symbol).ok_or_else(|| damaged_record(record, format!("it has no leaf {symbol}")))?;
    leaf_of(leaf, record)
}

/// The leaves of a record's node, and their symbols, in order.
pub(super) fn leaves<'p>(
    record: RecordId,
    node: &TrieNode<'p>,
) -> impl DoubleEndedIterator<Item = (u8, NodeId)> + use<'p> {
    node.leaves.iter().map(move |leaf| (leaf.0, NodeId { record, leaf: Some(leaf.0) }))
}

/// The children of a node that have records of their own, and their symbols, in order.
pub(super) fn children<'p>(node: &TrieNode<'p>) -> impl DoubleEndedIterator<Item = (u8, NodeId)> + use<'p> {
    node.children.iter().map(|child| (child.0, child.1.into()))
}

/// The node of a record of a page that is at hand.
#[inline(always)]
pub(super) fn node_in<'p>(records: &PageRecords<'p>, id: RecordId) -> WalkResult<TrieNode<'p>> {
    records.get(id.slot).and_then(TrieNode::of).map_err(|what| damaged_record(id, what))
}

/// The leaf of these bytes of a record.
#[inline(always)]
pub(super) fn leaf_of(bytes: &[u8], record: RecordId) -> WalkResult<TrieNode<'_>> {
    TrieNode::of_leaf(bytes).map_err(|what| damaged_record(record, what))
}

/// What is wrong with a record.
#[cold]
pub(super) fn damaged_record(id: RecordId, what: impl AsRef<str>) -> WalkStop {
    WalkStop::Wrong(id.page, format!("slot {}: {}", id.slot, what.as_ref()))
}

/// Appends a node's value, and gives its version, which may be [`INVALID`].
pub(super) fn read_value(
    pages: &mut impl PageReader,
    id: NodeId,
    out: &mut Vec<u8>,
) -> WalkResult<Option<u64>> {
    let begun = node(pages, id)?.value.map(|value| PartialValue::of(value, out));
    begun.map(|begun| begun.finish(pages, out)).transpose()
}

/// A value as far as its node has it.
struct PartialValue {
    version: u64,
    /// What is still to be read.
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

/// A node's version, which may be [`INVALID`], if it has a value.
pub(super) fn read_version(pages: &mut impl PageReader, id: NodeId) -> WalkResult<Option<u64>> {
    Ok(node(pages, id)?.value.map(|value| value.version))
}

/// Gives the pages of a value that is no more back.
pub(super) fn free_value(writer: &mut PageWriter<'_>, value: Option<VersionedValue<'_>>) -> WalkResult<()> {
    match value.map(|value| value.stored) {
        Some(StoredValue::Overflow(chain)) => chain.free(writer),
        _ => Ok(()),
    }
}

/// The version of a key's value, unless the last write to it was interrupted.
pub(super) fn valid(version: u64, key: &[u8]) -> WalkResult<u64> {
    if version == INVALID { Err(DiskError::interrupted(key).into()) } else { Ok(version) }
}

impl TrieCore {
    /// A new trie, without keys.
    pub(super) fn create(
        writer: &mut PageWriter<'_>,
        symbols: TrieSymbols,
        layout: ChildLayout,
    ) -> Result<Self> {
        let page = writer.make(DiskPageKind::Records)?;
        let slot = insert(writer, page, &DecodedNode::default().encode(layout))?;
        Ok(Self { symbols, layout, root: RecordId { page, slot } })
    }

    /// How a key goes on from a node.
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

    /// Where the way along a key ends that goes to a leaf.
    #[inline(always)]
    pub(super) fn end_in_leaf(&self, leaf: &TrieNode<'_>, key: &[u8], depth: usize) -> DescentEnd {
        match self.step(leaf, key, depth) {
            DescentStep::End(end) => end,
            // A leaf has no children.
            DescentStep::Child(_) | DescentStep::Leaf(..) => DescentEnd::NoChild,
        }
    }

    /// Goes along a key to the node that it leads to, and gives what is made of that. A page is looked up once for all of the way that lies in it.
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

    /// Appends the value of a key, and gives its version, which may be [`INVALID`].
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

    /// The version of a key, which may be [`INVALID`].
    pub(super) fn version(&self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<Option<u64>> {
        let end = |node: &TrieNode<'_>, _, end| value_at(node, end).map(|value| value.version);
        self.descend(pages, key, |_| (), end)
    }

    /// The way along a key.
    pub(super) fn find(&self, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<DescentPath> {
        let mut trail = Vec::with_capacity(16);
        let (leaf, end) = self.descend(pages, key, |at| trail.push(at), |_, leaf, end| (leaf, end))?;
        Ok(DescentPath { trail, leaf, end })
    }
}

/// The value of a key whose way ends at a node like this.
#[inline(always)]
pub(super) fn value_at<'p>(node: &TrieNode<'p>, end: DescentEnd) -> Option<VersionedValue<'p>> {
    node.value.filter(|_| end == DescentEnd::Here)
}

/// Adds a record to a page that has room for it.
pub(super) fn insert(writer: &mut PageWriter<'_>, page: PageId, record: &[u8]) -> Result<u16> {
    let no_room = || format!("there is no room for {} bytes, and there was to be", record.len());
    change(writer, page, |records| records.insert(record)?.ok_or_else(no_room))
}

/// Gives a record other bytes, for which there is room.
pub(super) fn replace(writer: &mut PageWriter<'_>, id: RecordId, bytes: &[u8]) -> Result<()> {
    let (len, slot) = (bytes.len(), id.slot);
    let no_room = || format!("there is no room for {len} bytes in slot {slot}, and there was to be");
    change(writer, id.page, |records| records.replace(slot, bytes)?.then_some(()).ok_or_else(no_room))
}
