//! Nodes: a record each, of the length that it needs; but small leaves lie in their parent's.
//!
//! ```text
//!   0       1                       │ if it has a value │ if it has leaves │ if it has other children
//!   │ flags │ symbols, len │ prefix │ value.rs          │ leaves.rs        │ List:  count - 1 │ characters │ pointers
//!     1       1, 2 or 4      len                                             Array: n pointers
//! ```
//!
//! The value belongs to the key that ends after the prefix. The prefix's bytes are as `symbols.rs` says; one byte says how many symbols and bytes it has if that is
//! the same and less than 256, two do if both are less. A list has the children that there are, by their characters, in order; an array has a pointer for each
//! symbol. A child of a symbol is a leaf here, or a record to which a pointer leads, or there is none.
//!
//! # Invariants
//! 1. A node that has all it can has no more than [`RECORD_MOST`] bytes: so whatever a node becomes, it fits a page of its own. Leaves may have to leave it for that.
//! 2. A leaf has a value and no children.
//!
//! Source: sections 3.1 and 3.2. There a node has one symbol, and the same length as all others; here a prefix stands for the nodes of one child each, and
//! nothing is kept for what is not there.

use std::ops::Range;

use memchr::memchr;

use super::leaves::NodeLeaves;
use super::value::{self, TAKES_MOST, VersionedValue};
use crate::record::{BODY, POINTER, RecordId, SLOT};

/// Bytes of a prefix at most; a longer one goes on in the child.
pub(crate) const PREFIX_MOST: usize = 512;
/// Bytes of a record at most: a page has as many, besides its directory's head and two slots.
pub(crate) const RECORD_MOST: usize = BODY - 4 * SLOT;

pub(super) const VALUE: u8 = 1;
pub(super) const LIST: u8 = 2;
pub(super) const ARRAY: u8 = 4;
pub(super) const LEAVES: u8 = 8;
/// The prefix has as many bytes as symbols, and one byte says so.
pub(super) const SAME: u8 = 16;
/// A byte each says how many symbols and bytes the prefix has.
pub(super) const NARROW: u8 = 32;

/// Bytes before a prefix at most.
pub(super) const HEAD_MOST: usize = 5;
const CHILDREN_MOST: usize = 256;

/// Bytes that leaves take in a node at most: there is room for those of some hundred and fifty short rows. With 1,024, a node of so many took two pages, each half full; with
/// nearly all of a page, rows of 100 bytes took a tenth more, since what lies in one record cannot be split.
pub(super) const LEAVES_MOST: usize = 3072;

/// Bytes of a node's leaves at most: so many that an array of pointers fits besides.
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

/// How children are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildLayout {
    /// Those that there are, with their characters.
    List,
    /// A pointer for each of so many symbols.
    Array(usize),
}

/// The children of a node.
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

    /// Which of the pointers is a symbol's; none if the list has no such character.
    #[inline]
    fn position(self, symbol: u8) -> Option<usize> {
        match self {
            Self::List { characters, .. } => memchr(symbol, characters),
            Self::Array { .. } => Some(symbol.into()),
        }
    }

    /// The child of a symbol.
    #[inline]
    pub(crate) fn get(self, symbol: u8) -> Option<RecordId> {
        self.pointer(self.position(symbol)?)
    }

    /// All children and their symbols, in order.
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

/// A node, as its record has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrieNode<'p> {
    /// Symbols of the prefix.
    pub(crate) symbols: usize,
    pub(crate) prefix: &'p [u8],
    pub(crate) value: Option<VersionedValue<'p>>,
    pub(crate) leaves: NodeLeaves<'p>,
    pub(crate) children: NodeChildren<'p>,
}

/// Bytes of a record that were not read yet.
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
        format!("a node of {} bytes more is to have {len}", self.0.len())
    }
}

impl<'p> TrieNode<'p> {
    /// The node of a record, or of a leaf's bytes.
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

    /// The node of a leaf's bytes.
    ///
    /// # Errors
    /// It is none (invariant 2).
    #[inline(always)]
    pub(super) fn of_leaf(bytes: &'p [u8]) -> Result<Self> {
        let leaf = Self::of(bytes)?;
        if leaf.value.is_some() && leaf.leaves.len() == 0 && leaf.children.pointers().is_empty() {
            return Ok(leaf);
        }
        Err("a leaf has no value, or has children".to_owned())
    }
}

/// Symbols and bytes of a prefix.
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

/// Where in a node's record the pointers to its children are.
fn pointers(record: &[u8]) -> Result<Range<usize>> {
    let len = TrieNode::of(record)?.children.pointers().len();
    // They are its last bytes, if it is whole.
    Ok(record.len() - len..record.len())
}

/// Gives the children of a node other names, where there is one.
pub(crate) fn rename_children(record: &mut [u8], name: impl Fn(RecordId) -> Option<RecordId>) -> Result<()> {
    let pointers = pointers(record)?;
    for pointer in record[pointers].chunks_exact_mut(POINTER) {
        if let Some(id) = name(RecordId::of(pointer)) {
            pointer.copy_from_slice(&id.bytes());
        }
    }
    Ok(())
}

/// Sets the pointer to a node's child, for which there is a place.
pub(crate) fn set_child(record: &mut [u8], symbol: u8, id: RecordId) -> Result<()> {
    let position = TrieNode::of(record)?.children.position(symbol);
    let pointers = pointers(record)?;
    let at = position.map(|position| POINTER * position);
    let pointer = at.and_then(|at| record[pointers].get_mut(at..at + POINTER));
    let pointer =
        pointer.ok_or_else(|| format!("a node is to have a child {symbol}, and has no place for it"))?;
    pointer.copy_from_slice(&id.bytes());
    Ok(())
}

/// The bytes of a record from its node's value on; with a symbol, from the value of its leaf there. None if there is no such value.
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

/// Writes a value over a node's, or a leaf's there, if it has the same length (`value.rs`); false, and nothing is changed, if there is none of that length.
pub(crate) fn overwrite(record: &mut [u8], leaf: Option<u8>, version: u64, bytes: &[u8]) -> Result<bool> {
    value_mut(record, leaf)?.map_or(Ok(false), |value| value::overwrite(value, version, bytes))
}

/// Says whether a node's value, or that of a leaf there, is being written (section 5).
pub(crate) fn set_writing(record: &mut [u8], leaf: Option<u8>, is_writing: bool) -> Result<()> {
    let value = value_mut(record, leaf)?.ok_or("a node without a value is to have one that is written")?;
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
    fn nodes_are_read_as_they_were_written() {
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
                rename_children(&mut record, renamed).unwrap();
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
    fn a_record_that_is_no_node_gives_an_error_and_no_panic() {
        for content in some_nodes() {
            let record = content.encode(ChildLayout::List);
            for len in 0..record.len() {
                let mut cut = record[..len].to_vec();
                assert!(TrieNode::of(&cut).is_err(), "{len} bytes of {}", record.len());
                assert!(rename_children(&mut cut, Some).is_err());
            }
            for at in 0..record.len() {
                let mut other = record.clone();
                other[at] ^= 0xff;
                if let Ok(node) = TrieNode::of(&other) {
                    let _ = (node.children.get(1), node.children.iter().count());
                    let leaves = node.leaves.iter().map(|leaf| TrieNode::of_leaf(leaf.1).is_ok());
                    let _ = leaves.count();
                    let _ = DecodedNode::of(node).encode(ChildLayout::List);
                    let _ = rename_children(&mut other, Some);
                    let _ = overwrite(&mut other, Some(4), 1, &[5; 70]);
                    let _ = set_writing(&mut other, Some(4), true);
                }
            }
        }
    }
}
