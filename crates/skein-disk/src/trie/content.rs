//! What a node is to be, and the bytes of its record then (`node.rs`).

use super::node::{ARRAY, LIST, Layout, Node, OVERFLOW, PREFIX, Stored, VALUE, VERSION, Versioned};
use crate::record::{POINTER, RecordId};

/// What a node is to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content<'v> {
    /// Symbols of the prefix.
    pub(crate) symbols: usize,
    pub(crate) prefix: Vec<u8>,
    pub(crate) value: Option<Versioned<'v>>,
    /// By their symbols, in order.
    pub(crate) children: Vec<(u8, RecordId)>,
}

impl<'v> Content<'v> {
    pub(crate) fn of(node: Node<'v>) -> Self {
        Self {
            symbols: node.symbols,
            prefix: node.prefix.to_vec(),
            value: node.value,
            children: node.children.iter().collect(),
        }
    }

    /// Adds a child, or gives it another name.
    pub(crate) fn set_child(&mut self, symbol: u8, id: RecordId) {
        match self.children.binary_search_by_key(&symbol, |child| child.0) {
            Ok(at) => self.children[at].1 = id,
            Err(at) => self.children.insert(at, (symbol, id)),
        }
    }

    /// Bytes that its record has at most.
    fn most(&self, layout: Layout) -> usize {
        let value = self.value.map_or(0, |value| match value.stored {
            Stored::Inline(bytes) => VERSION + bytes.len(),
            Stored::Overflow(_) => VERSION + POINTER,
        });
        let children = match layout {
            Layout::List => 1 + (1 + POINTER) * self.children.len(),
            Layout::Array(n) => POINTER * n,
        };
        PREFIX + self.prefix.len() + value + children
    }

    /// The bytes of its record.
    pub(crate) fn encode(&self, layout: Layout) -> Vec<u8> {
        let mut record = Vec::with_capacity(self.most(layout));
        record.push(0);
        record.extend((self.symbols as u16).to_le_bytes());
        record.extend((self.prefix.len() as u16).to_le_bytes());
        record.extend(&self.prefix);
        if let Some(value) = &self.value {
            record[0] |= encode_value(value, &mut record);
        }
        if !self.children.is_empty() {
            record[0] |= encode_children(&self.children, layout, &mut record);
        }
        record
    }
}

fn encode_value(value: &Versioned<'_>, record: &mut Vec<u8>) -> u8 {
    record.extend(value.version.to_le_bytes());
    match value.stored {
        Stored::Inline(bytes) => {
            record.extend((bytes.len() as u32).to_le_bytes());
            record.extend(bytes);
            VALUE
        }
        Stored::Overflow(chain) => {
            record.extend(chain.len.to_le_bytes());
            record.extend(chain.first.0.to_le_bytes());
            VALUE | OVERFLOW
        }
    }
}

fn encode_children(children: &[(u8, RecordId)], layout: Layout, record: &mut Vec<u8>) -> u8 {
    match layout {
        Layout::List => {
            record.push((children.len() - 1) as u8);
            record.extend(children.iter().map(|child| child.0));
            record.extend(children.iter().flat_map(|child| child.1.bytes()));
            LIST
        }
        Layout::Array(n) => {
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
