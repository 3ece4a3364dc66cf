//! Nodes: one record each, as short as possible. Small leaves lie in the record of their parent.
//!
//! ```text
//!   0       1                       │ if it has a value │ if it has leaves │ if it has children
//!   │ flags │ symbols, len │ prefix │ value.rs          │ leaves.rs        │ children
//!     1       1, 2 or 4      len
//!
//!   children, List:   │ count - 1 │ characters │ pointers │          Array:   │ n pointers │
//! ```
//!
//! - The value belongs to the key that ends after the prefix.
//! - The prefix is encoded as in `symbols.rs`. If its numbers of symbols and bytes are equal and
//!   below 256, one byte holds both. If both are below 256, they take a byte each.
//! - A list has the existing children by their characters, in order. An array has a pointer for
//!   each symbol.
//! - The child of a symbol is either a leaf in this record, or another record with a pointer here.
//!
//! # Invariants
//! 1. A node with the greatest possible content has at most [`RECORD_MOST`] bytes. So every node
//!    fits a page of its own, if necessary after its leaves were moved out.
//! 2. A leaf has a value and no children.
//!
//! Source: sections 3.1 and 3.2. The paper's nodes have one symbol and one length. Here a prefix
//! replaces a chain of nodes with one child each, and absent parts take no space.

use std::ops::Range;

use memchr::memchr;

use super::leaves::NodeLeaves;
use super::value::{self, TAKES_MOST, VersionedValue};
use crate::record::{BODY, POINTER, RecordId, SLOT};

/// The longest prefix, in bytes. A longer one continues in the child.
pub(crate) const PREFIX_MOST: usize = 512;
/// The longest record. It fits an empty page beside the directory's head and two slots.
pub(crate) const RECORD_MOST: usize = BODY - 4 * SLOT;

pub(super) const VALUE: u8 = 1;
pub(super) const LIST: u8 = 2;
pub(super) const ARRAY: u8 = 4;
pub(super) const LEAVES: u8 = 8;
/// The prefix has as many bytes as symbols; one byte holds the number.
pub(super) const SAME: u8 = 16;
/// The numbers of symbols and bytes of the prefix take a byte each.
pub(super) const NARROW: u8 = 32;

/// The most bytes before a prefix.
pub(super) const HEAD_MOST: usize = 5;
const CHILDREN_MOST: usize = 256;

/// The most bytes of leaves in a node: enough for about 150 short rows. With 1,024 bytes, a node of
/// that many rows took two pages, each half full. With nearly a whole page, rows of 100 bytes took
/// a tenth more space, because one record cannot be split.
pub(super) const LEAVES_MOST: usize = 3072;

/// Returns the most bytes of leaves in a node. An array of pointers must fit beside them.
pub(super) fn leaves_most(layout: ChildLayout) -> usize {
    match layout {
        ChildLayout::List => LEAVES_MOST,
        ChildLayout::Array(n) => {
            let others = HEAD_MOST + PREFIX_MOST + TAKES_MOST + POINTER * n;
            LEAVES_MOST.min(RECORD_MOST.saturating_sub(others))
        }
    }
}

// Invariant 1.
const _: () =
    assert!(HEAD_MOST + PREFIX_MOST + TAKES_MOST + 1 + CHILDREN_MOST * (1 + POINTER) <= RECORD_MOST);

pub(super) type Result<T> = std::result::Result<T, String>;

/// The layout of children in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildLayout {
    /// The existing children with their characters.
    List,
    /// A pointer for each of this many symbols.
    Array(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeChildren<'p> {
    List { characters: &'p [u8], pointers: &'p [u8] },
    Array { pointers: &'p [u8] },
}

impl<'p> NodeChildren<'p> {
    fn pointers(self) -> &'p [u8] {
        let (Self::List { pointers, .. } | Self::Array { pointers }) = self;
        pointers
    }

    fn pointer(self, at: usize) -> Option<RecordId> {
        let bytes = self.pointers().get(POINTER * at..POINTER * (at + 1))?;
        Some(RecordId::of(bytes)).filter(|id| *id != RecordId::NONE)
    }

    /// Returns the index of a symbol's pointer, or `None` if the list does not have the character.
    #[inline]
    fn position(self, symbol: u8) -> Option<usize> {
        match self {
            Self::List { characters, .. } => memchr(symbol, characters),
            Self::Array { .. } => Some(symbol.into()),
        }
    }

    /// Returns the child of a symbol.
    #[inline]
    pub(crate) fn get(self, symbol: u8) -> Option<RecordId> {
        self.pointer(self.position(symbol)?)
    }

    /// Returns all children with their symbols, in order.
    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = (u8, RecordId)> + use<'p> {
        let count = self.pointers().len() / POINTER;
        (0..count).filter_map(move |at| {
            let symbol = match self {
                Self::List { characters, .. } => characters[at],
                Self::Array { .. } => at as u8,
            };
            Some((symbol, self.pointer(at)?))
        })
    }
}

/// A node in its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrieNode<'p> {
    /// Symbols of the prefix.
    pub(crate) symbols: usize,
    pub(crate) prefix: &'p [u8],
    pub(crate) value: Option<VersionedValue<'p>>,
    pub(crate) leaves: NodeLeaves<'p>,
    pub(crate) children: NodeChildren<'p>,
}

/// The bytes of a record that are not decoded yet.
pub(super) struct UnreadBytes<'p>(&'p [u8]);

impl<'p> UnreadBytes<'p> {
    pub(super) fn of(bytes: &'p [u8]) -> Self {
        Self(bytes)
    }

    #[inline(always)]
    pub(super) fn take(&mut self, len: usize) -> Result<&'p [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(|| self.short(len))?;
        self.0 = rest;
        Ok(taken)
    }

    #[cold]
    fn short(&self, len: usize) -> String {
        format!("a node has {} bytes left, but needs {len}", self.0.len())
    }
}

impl<'p> TrieNode<'p> {
    /// Decodes the node of a record or of a leaf.
    #[inline(always)]
    pub(crate) fn of(record: &'p [u8]) -> Result<Self> {
        let mut rest = UnreadBytes(record);
        let flags = rest.take(1)?[0];
        let (symbols, len) = lengths(flags, &mut rest)?;
        let prefix = rest.take(len)?;
        let value = if flags & VALUE == 0 { None } else { Some(value::take(&mut rest)?) };
        let leaves = if flags & LEAVES == 0 { NodeLeaves::default() } else { NodeLeaves::take(&mut rest)? };
        let children = children(flags, &mut rest)?;
        Ok(Self { symbols, prefix, value, leaves, children })
    }

    /// Decodes a leaf.
    ///
    /// # Errors
    /// The bytes violate invariant 2.
    #[inline(always)]
    pub(super) fn of_leaf(bytes: &'p [u8]) -> Result<Self> {
        let leaf = Self::of(bytes)?;
        if leaf.value.is_some() && leaf.leaves.len() == 0 && leaf.children.pointers().is_empty() {
            return Ok(leaf);
        }
        Err("a leaf has no value, or has children".to_owned())
    }
}

/// Returns the numbers of symbols and bytes of a prefix.
#[inline(always)]
fn lengths(flags: u8, rest: &mut UnreadBytes<'_>) -> Result<(usize, usize)> {
    if flags & SAME != 0 {
        let both = rest.take(1)?[0].into();
        return Ok((both, both));
    }
    if flags & NARROW != 0 {
        let both = rest.take(2)?;
        return Ok((both[0].into(), both[1].into()));
    }
    let both = rest.take(4)?;
    Ok((u16::from_le_bytes([both[0], both[1]]).into(), u16::from_le_bytes([both[2], both[3]]).into()))
}

#[inline(always)]
fn children<'p>(flags: u8, rest: &mut UnreadBytes<'p>) -> Result<NodeChildren<'p>> {
    if flags & ARRAY != 0 {
        return Ok(NodeChildren::Array { pointers: rest.0 });
    }
    if flags & LIST == 0 {
        return Ok(NodeChildren::List { characters: &[], pointers: &[] });
    }
    let count = usize::from(rest.take(1)?[0]) + 1;
    let characters = rest.take(count)?;
    Ok(NodeChildren::List { characters, pointers: rest.take(POINTER * count)? })
}

/// Returns the range of the child pointers in a node's record.
fn pointers(record: &[u8]) -> Result<Range<usize>> {
    let len = TrieNode::of(record)?.children.pointers().len();
    // The pointers are the last bytes of a valid record.
    Ok(record.len() - len..record.len())
}

/// Replaces the pointers to those children for which `new_id` returns an id.
pub(crate) fn replace_pointers(
    record: &mut [u8],
    new_id: impl Fn(RecordId) -> Option<RecordId>,
) -> Result<()> {
    let pointers = pointers(record)?;
    for pointer in record[pointers].chunks_exact_mut(POINTER) {
        if let Some(id) = new_id(RecordId::of(pointer)) {
            pointer.copy_from_slice(&id.bytes());
        }
    }
    Ok(())
}

/// Sets the pointer to a child. The node must have a place for it.
pub(crate) fn set_child(record: &mut [u8], symbol: u8, id: RecordId) -> Result<()> {
    let position = TrieNode::of(record)?.children.position(symbol);
    let pointers = pointers(record)?;
    let at = position.map(|position| POINTER * position);
    let pointer = at.and_then(|at| record[pointers].get_mut(at..at + POINTER));
    let pointer = pointer.ok_or_else(|| format!("a node has no place for its child {symbol}"))?;
    pointer.copy_from_slice(&id.bytes());
    Ok(())
}

/// Returns the bytes of a record from the value of its node, or of a leaf, onwards. Returns `None`
/// if there is no such value.
fn value_mut(record: &mut [u8], leaf: Option<u8>) -> Result<Option<&mut [u8]>> {
    let mut rest = UnreadBytes(record);
    let flags = rest.take(1)?[0];
    let (_, len) = lengths(flags, &mut rest)?;
    rest.take(len)?;
    let Some(symbol) = leaf else {
        let from = record.len() - rest.0.len();
        return Ok((flags & VALUE != 0).then(|| &mut record[from..]));
    };
    if flags & VALUE != 0 {
        value::take(&mut rest)?;
    }
    let from = record.len() - rest.0.len();
    let leaves = if flags & LEAVES == 0 { NodeLeaves::default() } else { NodeLeaves::take(&mut rest)? };
    let Some(range) = leaves.range(symbol) else { return Ok(None) };
    let leaf = record.get_mut(from + range.start..from + range.end);
    value_mut(leaf.ok_or("a leaf lies outside of its record")?, None)
}

/// Overwrites the value of a node, or of a leaf in its record, if it has the same length
/// (`value.rs`). Returns false and changes nothing otherwise.
pub(crate) fn overwrite(record: &mut [u8], leaf: Option<u8>, version: u64, bytes: &[u8]) -> Result<bool> {
    value_mut(record, leaf)?.map_or(Ok(false), |value| value::overwrite(value, version, bytes))
}

/// Marks the value of a node, or of a leaf in its record, as being written or not (section 5).
pub(crate) fn set_writing(record: &mut [u8], leaf: Option<u8>, is_writing: bool) -> Result<()> {
    let value =
        value_mut(record, leaf)?.ok_or("a node has no value that could be marked as being written")?;
    value::set_writing(value, is_writing);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::decoded_node::DecodedNode;
    use super::super::overflow::OverflowChain;
    use super::super::value::{INVALID, StoredValue};
    use super::*;
    use crate::page::PageId;

    fn id(number: u32) -> RecordId {
        RecordId { page: PageId(number), slot: number as u16 }
    }

    fn leaf(symbol: u8) -> Vec<u8> {
        let value = Some(VersionedValue { version: symbol.into(), stored: StoredValue::Inline(&[9; 70]) });
        DecodedNode { symbols: 2, prefix: vec![symbol; 2], value, ..DecodedNode::default() }
            .encode(ChildLayout::List)
    }

    fn some_nodes() -> Vec<DecodedNode<'static>> {
        let inline = VersionedValue { version: 7, stored: StoredValue::Inline(b"value") };
        let long = VersionedValue {
            version: 8,
            stored: StoredValue::Overflow(OverflowChain { first: PageId(9), len: 10_000 }),
        };
        let mut nodes = Vec::new();
        for value in [None, Some(inline), Some(long)] {
            for (symbols, len) in [(0, 0), (3, 3), (6, 3), (255, 255), (300, 150), (300, 300)] {
                for (count, leaves) in [(0, 0), (1, 0), (3, 3), (11, 1), (16, 0), (0, 5)] {
                    let children = (0..count).map(|at| (at as u8, id(at))).collect();
                    let leaves = (count as u8..).take(leaves).map(|at| (at, leaf(at).into())).collect();
                    let prefix = vec![b'p'; len];
                    nodes.push(DecodedNode { symbols, prefix, value, leaves, children });
                }
            }
        }
        nodes
    }

    #[test]
    fn nodes_are_decoded_as_encoded() {
        for content in some_nodes() {
            for layout in [ChildLayout::List, ChildLayout::Array(16)] {
                let record = content.encode(layout);
                let node = TrieNode::of(&record).unwrap();
                assert_eq!((node.symbols, node.prefix), (content.symbols, &content.prefix[..]));
                assert_eq!(node.value, content.value);
                assert_eq!(node.children.iter().collect::<Vec<_>>(), content.children);
                assert!(
                    node.leaves.iter().eq(content.leaves.iter().map(|(symbol, leaf)| (*symbol, &leaf[..])))
                );
                for symbol in 0..=255 {
                    let child = content.children.iter().find(|child| child.0 == symbol);
                    assert_eq!(node.children.get(symbol), child.map(|child| child.1));
                    let leaf = content.leaves.iter().find(|leaf| leaf.0 == symbol);
                    assert_eq!(node.leaves.get(symbol), leaf.map(|leaf| &leaf.1[..]));
                }
                assert_eq!(
                    TrieNode::of_leaf(&record).is_ok(),
                    content.value.is_some() && content.is_childless()
                );
            }
        }
    }

    #[test]
    fn children_and_values_are_changed_in_place() {
        for content in some_nodes() {
            for layout in [ChildLayout::List, ChildLayout::Array(16)] {
                let mut record = content.encode(layout);
                let renamed = |old: RecordId| (old == id(2)).then_some(id(99));
                replace_pointers(&mut record, renamed).unwrap();
                let child = TrieNode::of(&record).unwrap().children.get(2);
                assert_eq!(child, (content.children.len() > 2).then_some(id(99)));
                assert_eq!(set_writing(&mut record, None, true).is_ok(), content.value.is_some());
                let version = TrieNode::of(&record).unwrap().value.map(|value| value.version);
                assert_eq!(version, content.value.map(|_| INVALID));
                let is_short =
                    matches!(content.value, Some(VersionedValue { stored: StoredValue::Inline(_), .. }));
                assert_eq!(overwrite(&mut record, None, 34, b"longer"), Ok(false));
                assert_eq!(overwrite(&mut record, None, 34, b"other"), Ok(is_short));
                let other = VersionedValue { version: 34, stored: StoredValue::Inline(b"other") };
                assert!(!is_short || TrieNode::of(&record).unwrap().value == Some(other));
                for symbol in 0..30 {
                    let has_leaf = content.leaves.iter().any(|leaf| leaf.0 == symbol);
                    let overwritten = overwrite(&mut record, Some(symbol), 35, &[5; 70]);
                    assert_eq!(overwritten, Ok(has_leaf));
                    if has_leaf {
                        let node = TrieNode::of(&record).unwrap();
                        let leaf = TrieNode::of_leaf(node.leaves.get(symbol).unwrap()).unwrap();
                        assert_eq!(
                            leaf.value,
                            Some(VersionedValue { version: 35, stored: StoredValue::Inline(&[5; 70]) })
                        );
                        assert_eq!(leaf.prefix, [symbol; 2]);
                    }
                }
            }
        }
    }

    #[test]
    fn an_invalid_node_gives_an_error_and_no_panic() {
        for content in some_nodes() {
            let record = content.encode(ChildLayout::List);
            for len in 0..record.len() {
                let mut cut = record[..len].to_vec();
                assert!(TrieNode::of(&cut).is_err(), "{len} bytes of {}", record.len());
                assert!(replace_pointers(&mut cut, Some).is_err());
            }
            for at in 0..record.len() {
                let mut other = record.clone();
                other[at] ^= 0xff;
                if let Ok(node) = TrieNode::of(&other) {
                    let _ = (node.children.get(1), node.children.iter().count());
                    let leaves = node.leaves.iter().map(|leaf| TrieNode::of_leaf(leaf.1).is_ok());
                    let _ = leaves.count();
                    let _ = DecodedNode::of(node).encode(ChildLayout::List);
                    let _ = replace_pointers(&mut other, Some);
                    let _ = overwrite(&mut other, Some(4), 1, &[5; 70]);
                    let _ = set_writing(&mut other, Some(4), true);
                }
            }
        }
    }
}
