//! Lists: nodes with a listpack each.
//!
//! ```text
//!   n │ 2, listpack │ 2, listpack │ …
//! ```

use super::ListpackWriter;
use crate::ValueType;
use crate::write::{write_length, write_string, write_type};

/// A node has at most about this number of bytes, except if it has one element: Redis's default.
const NODE_BYTES: usize = 8192;
/// Redis's estimate of the bytes of an element besides its text.
const ELEMENT_OVERHEAD: usize = 8;
/// The container of a node with a listpack.
const PACKED: u64 = 2;

/// A list that is being written, from its front to its back.
#[derive(Debug, Default)]
pub struct QuicklistWriter {
    nodes: Vec<u8>,
    count: u64,
    node: ListpackWriter,
}

impl QuicklistWriter {
    /// Appends an element. It must be shorter than 4 GiB.
    pub fn push(&mut self, element: &[u8]) {
        let fits = self.node.byte_len() + element.len() + ELEMENT_OVERHEAD <= NODE_BYTES;
        if !fits && !self.node.is_empty() {
            self.end_node();
        }
        self.node.push(element);
    }

    fn end_node(&mut self) {
        write_length(&mut self.nodes, PACKED);
        write_string(&mut self.nodes, &std::mem::take(&mut self.node).finish());
        self.count += 1;
    }

    /// Returns the bytes that were written so far, about.
    pub fn byte_len(&self) -> usize {
        self.nodes.len() + self.node.byte_len()
    }

    /// Returns the type and the list.
    pub fn finish(mut self) -> Vec<u8> {
        if !self.node.is_empty() {
            self.end_node();
        }
        let mut head = Vec::new();
        write_type(&mut head, ValueType::ListQuicklist2);
        write_length(&mut head, self.count);
        self.nodes.splice(0..0, head);
        self.nodes
    }
}
