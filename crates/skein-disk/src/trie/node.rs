//! Nodes: a record each, of the length that it needs.
//!
//! ```text
//!   0       1                5        │ if it has a value                  │ if it has children
//!   │ flags │ symbols │ len  │ prefix │ version │ length │ bytes, or page  │ List:  count - 1 │ characters │ pointers
//!     1       2         2      len      8         4        length     4      Array: n pointers
//! ```
//!
//! The value belongs to the key that ends after the prefix. A value longer than [`INLINE_MOST`] lies in pages of its own (`overflow.rs`), and the node has the
//! first one's id. A list has the children there are, by their characters, in order; an array has a pointer for each symbol. The prefix's bytes are as
//! `symbols.rs` says.
//!
//! # Invariants
//! 1. A node that has all it can has less bytes than a page: so whatever a node becomes, it fits a page of its own.
//! 2. Between the moment when a value is changed and the moment when its version is, the version is [`INVALID`] (section 5).
//!
//! Source: sections 3.1 and 3.2. There a node has one symbol, and the same length as all others; here a prefix stands for the nodes of one child each, and
//! nothing is kept for what is not there.

use std::ops::Range;

use super::overflow::Chain;
use crate::page::{PageId, u32_at, u64_at};
use crate::record::{BODY, POINTER, RecordId, SLOT};

/// The version of a value that is being written.
pub(crate) const INVALID: u64 = u64::MAX;
/// Bytes of a prefix at most; a longer one goes on in the child.
pub(crate) const PREFIX_MOST: usize = 512;
/// Bytes of a value in its node at most.
pub(crate) const INLINE_MOST: usize = 1024;

pub(super) const VALUE: u8 = 1;
pub(super) const OVERFLOW: u8 = 2;
pub(super) const LIST: u8 = 4;
pub(super) const ARRAY: u8 = 8;

/// Bytes before a prefix.
pub(super) const PREFIX: usize = 5;
/// Bytes before a value.
pub(super) const VERSION: usize = 12;
const CHILDREN_MOST: usize = 256;

// Invariant 1; and two slots, the directory's head.
const _: () = assert!(
    PREFIX + PREFIX_MOST + VERSION + INLINE_MOST + 1 + CHILDREN_MOST * (1 + POINTER) + 3 * SLOT <= BODY
);

type Result<T> = std::result::Result<T, String>;

/// How children are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Those that there are, with their characters.
    List,
    /// A pointer for each of so many symbols.
    Array(usize),
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored<'p> {
    Inline(&'p [u8]),
    Overflow(Chain),
}

/// A value, and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versioned<'p> {
    pub(crate) version: u64,
    pub(crate) stored: Stored<'p>,
}

/// The children of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Children<'p> {
    List { characters: &'p [u8], pointers: &'p [u8] },
    Array { pointers: &'p [u8] },
}

impl<'p> Children<'p> {
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
            Self::List { characters, .. } => characters.iter().position(|character| *character == symbol),
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
pub(crate) struct Node<'p> {
    /// Symbols of the prefix.
    pub(crate) symbols: usize,
    pub(crate) prefix: &'p [u8],
    pub(crate) value: Option<Versioned<'p>>,
    pub(crate) children: Children<'p>,
}

/// Bytes of a record that were not read yet.
struct Rest<'p>(&'p [u8]);

impl<'p> Rest<'p> {
    #[inline(always)]
    fn take(&mut self, len: usize) -> Result<&'p [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(|| self.short(len))?;
        self.0 = rest;
        Ok(taken)
    }

    #[cold]
    fn short(&self, len: usize) -> String {
        format!("a node of {} bytes more is to have {len}", self.0.len())
    }
}

impl<'p> Node<'p> {
    /// The node of a record.
    #[inline(always)]
    pub(crate) fn of(record: &'p [u8]) -> Result<Self> {
        let mut rest = Rest(record);
        let head = rest.take(PREFIX)?;
        let (flags, symbols) = (head[0], usize::from(u16::from_le_bytes([head[1], head[2]])));
        let prefix = rest.take(u16::from_le_bytes([head[3], head[4]]).into())?;
        let value = if flags & VALUE == 0 { None } else { Some(value(flags, &mut rest)?) };
        let children = children(flags, &mut rest)?;
        Ok(Self { symbols, prefix, value, children })
    }
}

#[inline(always)]
fn value<'p>(flags: u8, rest: &mut Rest<'p>) -> Result<Versioned<'p>> {
    let head = rest.take(VERSION)?;
    let (version, len) = (u64_at(head, 0), u32_at(head, 8));
    let stored = if flags & OVERFLOW == 0 {
        Stored::Inline(rest.take(len as usize)?)
    } else {
        Stored::Overflow(Chain { first: PageId(u32_at(rest.take(4)?, 0)), len })
    };
    Ok(Versioned { version, stored })
}

#[inline(always)]
fn children<'p>(flags: u8, rest: &mut Rest<'p>) -> Result<Children<'p>> {
    if flags & ARRAY != 0 {
        return Ok(Children::Array { pointers: rest.0 });
    }
    if flags & LIST == 0 {
        return Ok(Children::List { characters: &[], pointers: &[] });
    }
    let count = usize::from(rest.take(1)?[0]) + 1;
    let characters = rest.take(count)?;
    Ok(Children::List { characters, pointers: rest.take(POINTER * count)? })
}

/// Where in a node's record the pointers to its children are.
fn pointers(record: &[u8]) -> Result<Range<usize>> {
    let len = Node::of(record)?.children.pointers().len();
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
    let position = Node::of(record)?.children.position(symbol);
    let pointers = pointers(record)?;
    let at = position.map(|position| POINTER * position);
    let pointer = at.and_then(|at| record[pointers].get_mut(at..at + POINTER));
    let pointer =
        pointer.ok_or_else(|| format!("a node is to have a child {symbol}, and has no place for it"))?;
    pointer.copy_from_slice(&id.bytes());
    Ok(())
}

/// Writes a value over one of the same length, under an invalid version as long (section 5); false, and nothing is changed, if the node has none of that length.
pub(crate) fn overwrite(record: &mut [u8], version: u64, bytes: &[u8]) -> Result<bool> {
    let node = Node::of(record)?;
    let Some(Versioned { stored: Stored::Inline(before), .. }) = node.value else { return Ok(false) };
    if before.len() != bytes.len() {
        return Ok(false);
    }
    let at = PREFIX + node.prefix.len();
    set_version(record, INVALID)?;
    record[at + VERSION..at + VERSION + bytes.len()].copy_from_slice(bytes);
    set_version(record, version)?;
    Ok(true)
}

/// Sets the version of a node's value.
pub(crate) fn set_version(record: &mut [u8], version: u64) -> Result<()> {
    let node = Node::of(record)?;
    let at = PREFIX + node.prefix.len();
    if node.value.is_none() {
        return Err("a node without a value is to have a version".to_owned());
    }
    record[at..at + 8].copy_from_slice(&version.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::content::Content;
    use super::*;

    fn id(number: u32) -> RecordId {
        RecordId { page: PageId(number), slot: number as u16 }
    }

    fn some_nodes() -> Vec<Content<'static>> {
        let inline = Versioned { version: 7, stored: Stored::Inline(b"value") };
        let long =
            Versioned { version: 8, stored: Stored::Overflow(Chain { first: PageId(9), len: 10_000 }) };
        let mut nodes = Vec::new();
        for value in [None, Some(inline), Some(long)] {
            for prefix in [&b""[..], b"abc"] {
                for count in [0, 1, 3, 16] {
                    let children = (0..count).map(|at| (at as u8, id(at))).collect();
                    nodes.push(Content { symbols: prefix.len(), prefix: prefix.to_vec(), value, children });
                }
            }
        }
        nodes
    }

    #[test]
    fn nodes_are_read_as_they_were_written() {
        for content in some_nodes() {
            for layout in [Layout::List, Layout::Array(16)] {
                let mut record = content.encode(layout);
                let node = Node::of(&record).unwrap();
                assert_eq!((node.symbols, node.prefix), (content.symbols, &content.prefix[..]));
                assert_eq!(node.value, content.value);
                assert_eq!(node.children.iter().collect::<Vec<_>>(), content.children);
                for symbol in 0..=255 {
                    let child = content.children.iter().find(|child| child.0 == symbol);
                    assert_eq!(node.children.get(symbol), child.map(|child| child.1));
                }
                let renamed = |old: RecordId| (old == id(2)).then_some(id(99));
                rename_children(&mut record, renamed).unwrap();
                let child = Node::of(&record).unwrap().children.get(2);
                assert_eq!(child, (content.children.len() > 2).then_some(id(99)));
                assert_eq!(set_version(&mut record, 33).is_ok(), content.value.is_some());
                let version = Node::of(&record).unwrap().value.map(|value| value.version);
                assert_eq!(version, content.value.map(|_| 33));
                let is_short = matches!(content.value, Some(Versioned { stored: Stored::Inline(_), .. }));
                assert_eq!(overwrite(&mut record, 34, b"other"), Ok(is_short));
                assert_eq!(overwrite(&mut record, 35, b"longer"), Ok(false));
                if is_short {
                    let other = Versioned { version: 34, stored: Stored::Inline(b"other") };
                    assert_eq!(Node::of(&record).unwrap().value, Some(other));
                }
            }
        }
    }

    #[test]
    fn a_record_that_is_no_node_gives_an_error_and_no_panic() {
        for content in some_nodes() {
            let record = content.encode(Layout::List);
            for len in 0..record.len() {
                let mut cut = record[..len].to_vec();
                assert!(Node::of(&cut).is_err(), "{len} bytes of {}", record.len());
                assert!(rename_children(&mut cut, Some).is_err() && set_version(&mut cut, 1).is_err());
            }
            for at in 0..record.len() {
                let mut other = record.clone();
                other[at] ^= 0xff;
                if let Ok(node) = Node::of(&other) {
                    let _ = (node.children.get(1), node.children.iter().count());
                    let _ = rename_children(&mut other, Some);
                }
            }
        }
    }
}
