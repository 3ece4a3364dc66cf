//! A node in memory, for changes, and its encoding as a record (`node.rs`).

use std::borrow::Cow;

use super::leaves;
use super::node::{
    ARRAY, ChildLayout, HEAD_MOST, LEAVES, LIST, NARROW, Result, SAME, TrieNode, VALUE, leaves_most,
};
use super::value::{self, VersionedValue};
use crate::record::{POINTER, RecordId};

/// The longest leaf in a parent's record. A longer leaf has a record of its own.
const LEAF_MOST: usize = 256;

/// A node in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecodedNode<'v> {
    /// Symbols of the prefix.
    pub(crate) symbols: usize,
    pub(crate) prefix: Vec<u8>,
    pub(crate) value: Option<VersionedValue<'v>>,
    /// Leaves within the record, by their symbols, in order.
    pub(crate) leaves: Vec<(u8, Cow<'v, [u8]>)>,
    /// The other children, by their symbols, in order.
    pub(crate) children: Vec<(u8, RecordId)>,
}

impl<'v> DecodedNode<'v> {
    pub(crate) fn of(node: TrieNode<'v>) -> Self {
        Self {
            symbols: node.symbols,
            prefix: node.prefix.to_vec(),
            value: node.value,
            leaves: node.leaves.iter().map(|(symbol, leaf)| (symbol, leaf.into())).collect(),
            children: node.children.iter().collect(),
        }
    }

    /// Decodes the bytes of a leaf.
    pub(super) fn of_leaf(bytes: &'v [u8]) -> Result<Self> {
        TrieNode::of_leaf(bytes).map(Self::of)
    }

    /// Returns whether the node has neither children nor leaves.
    pub(super) fn is_childless(&self) -> bool {
        self.children.is_empty() && self.leaves.is_empty()
    }

    /// Adds a child, or changes its id.
    pub(crate) fn set_child(&mut self, symbol: u8, id: RecordId) {
        match self.children.binary_search_by_key(&symbol, |child| child.0) {
            Ok(at) => self.children[at].1 = id,
            Err(at) => self.children.insert(at, (symbol, id)),
        }
    }

    /// Returns whether a leaf of `len` bytes fits the node, replacing the leaf of this symbol if
    /// there is one.
    pub(super) fn takes_leaf(&self, symbol: u8, len: usize, layout: ChildLayout) -> bool {
        let others = self.leaves.iter().filter(|leaf| leaf.0 != symbol);
        let (count, bytes) = others.fold((1, len), |(count, bytes), leaf| (count + 1, bytes + leaf.1.len()));
        len <= LEAF_MOST && leaves::takes(count, bytes) <= leaves_most(layout)
    }

    /// Adds or replaces a leaf.
    pub(super) fn set_leaf(&mut self, symbol: u8, leaf: Cow<'v, [u8]>) {
        match self.leaves.binary_search_by_key(&symbol, |leaf| leaf.0) {
            Ok(at) => self.leaves[at].1 = leaf,
            Err(at) => self.leaves.insert(at, (symbol, leaf)),
        }
    }

    /// Removes the leaf of a symbol and returns its bytes.
    pub(super) fn take_leaf(&mut self, symbol: u8) -> Option<Cow<'v, [u8]>> {
        let at = self.leaves.binary_search_by_key(&symbol, |leaf| leaf.0).ok()?;
        Some(self.leaves.remove(at).1)
    }

    /// Removes and returns the longest leaf, or returns `None` if there is no leaf.
    pub(super) fn take_longest_leaf(&mut self) -> Option<(u8, Cow<'v, [u8]>)> {
        let at = (0..self.leaves.len()).max_by_key(|at| self.leaves[*at].1.len())?;
        Some(self.leaves.remove(at))
    }

    /// Returns an upper bound of the record's length.
    fn most(&self, layout: ChildLayout) -> usize {
        let leaves: usize = self.leaves.iter().map(|leaf| leaf.1.len()).sum();
        let children = match layout {
            ChildLayout::List => 1 + (1 + POINTER) * self.children.len(),
            ChildLayout::Array(n) => POINTER * n,
        };
        let value = if self.value.is_some() { value::TAKES_MOST } else { 0 };
        HEAD_MOST + self.prefix.len() + value + leaves::takes(self.leaves.len(), leaves) + children
    }

    /// Encodes the node as a record.
    pub(crate) fn encode(&self, layout: ChildLayout) -> Vec<u8> {
        let mut record = Vec::with_capacity(self.most(layout));
        record.push(0);
        record[0] = encode_prefix(self.symbols, &self.prefix, &mut record);
        if let Some(value) = &self.value {
            record[0] |= VALUE;
            value::encode(value, &mut record);
        }
        if !self.leaves.is_empty() {
            record[0] |= LEAVES;
            let leaves = self.leaves.iter().map(|(symbol, leaf)| (*symbol, &leaf[..]));
            leaves::encode(leaves, &mut record);
        }
        if !self.children.is_empty() {
            record[0] |= encode_children(&self.children, layout, &mut record);
        }
        record
    }
}

fn encode_prefix(symbols: usize, prefix: &[u8], record: &mut Vec<u8>) -> u8 {
    let flag = match (u8::try_from(symbols), u8::try_from(prefix.len())) {
        (Ok(symbols), Ok(len)) if symbols == len => {
            record.push(len);
            SAME
        }
        (Ok(symbols), Ok(len)) => {
            record.extend([symbols, len]);
            NARROW
        }
        _ => {
            record.extend((symbols as u16).to_le_bytes());
            record.extend((prefix.len() as u16).to_le_bytes());
            0
        }
    };
    record.extend(prefix);
    flag
}

fn encode_children(children: &[(u8, RecordId)], layout: ChildLayout, record: &mut Vec<u8>) -> u8 {
    match layout {
        ChildLayout::List => {
            record.push((children.len() - 1) as u8);
            record.extend(children.iter().map(|child| child.0));
            record.extend(children.iter().flat_map(|child| child.1.bytes()));
            LIST
        }
        ChildLayout::Array(n) => {
            let from = record.len();
            (0..n).for_each(|_| record.extend(RecordId::NONE.bytes()));
            let pointers = record[from..].chunks_exact_mut(POINTER).enumerate();
            let id_of = |at| children.iter().find(|child| usize::from(child.0) == at);
            for (at, pointer) in pointers {
                if let Some((_, id)) = id_of(at) {
                    pointer.copy_from_slice(&id.bytes());
                }
            }
            ARRAY
        }
    }
}
