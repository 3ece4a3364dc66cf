//! Nodes of one length.
//!
//! ```text
//!   array of n   │ value 4 │ version 4 │ n pointers                                  8 + 8n bytes
//!   list of k    │ value 4 │ version 4 │ next 8 │ k pointers │ k characters          16 + 9k bytes
//!   free         │ next free node 8 │ zeros
//! ```
//!
//! Source: sections 3.1 and 3.2.

use crate::page::u32_at;
use crate::record::{POINTER, RecordId};

/// The version of a value that is being written.
pub(super) const INVALID: u32 = u32::MAX;

const VERSION: usize = 4;
/// The offset of an array's pointers, or of a list's next pointer.
pub(super) const BODY: usize = 8;
const LIST: usize = BODY + POINTER;

/// The layout of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FixedLayout {
    /// This many pointers.
    Array(usize),
    /// This many pointers and characters, and a pointer to the next node of the list.
    List(usize),
}

impl FixedLayout {
    /// Returns the bytes of a node.
    pub(super) const fn len(self) -> usize {
        match self {
            Self::Array(n) => BODY + POINTER * n,
            Self::List(k) => LIST + (POINTER + 1) * k,
        }
    }
}

/// Read access to a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixedNode<'p>(pub(super) &'p [u8]);

impl<'p> FixedNode<'p> {
    pub(super) fn value(self) -> i32 {
        u32_at(self.0, 0).cast_signed()
    }

    /// Returns the version, or 0 if the node has no value.
    pub(super) fn version(self) -> u32 {
        u32_at(self.0, VERSION)
    }

    fn pointer_at(self, at: usize) -> Option<RecordId> {
        Some(RecordId::of(&self.0[at..at + POINTER])).filter(|id| *id != RecordId::NONE)
    }

    /// Returns a symbol's pointer in an array.
    pub(super) fn in_array(self, symbol: u8) -> Option<RecordId> {
        self.pointer_at(BODY + POINTER * usize::from(symbol))
    }

    /// Returns the next node of a list.
    pub(super) fn next(self) -> Option<RecordId> {
        self.pointer_at(BODY)
    }

    /// Returns the children of a list of `k` that are in this node.
    pub(super) fn list(self, k: usize) -> impl DoubleEndedIterator<Item = (u8, RecordId)> + use<'p> {
        let characters = LIST + POINTER * k;
        (0..k).filter_map(move |at| Some((self.0[characters + at], self.pointer_at(LIST + POINTER * at)?)))
    }
}

pub(super) fn set_value(node: &mut [u8], value: i32) {
    node[..VERSION].copy_from_slice(&value.to_le_bytes());
}

pub(super) fn set_version(node: &mut [u8], version: u32) {
    node[VERSION..BODY].copy_from_slice(&version.to_le_bytes());
}

/// Sets a symbol's pointer in an array.
pub(super) fn set_in_array(node: &mut [u8], symbol: u8, child: Option<RecordId>) {
    let at = BODY + POINTER * usize::from(symbol);
    node[at..at + POINTER].copy_from_slice(&child.unwrap_or(RecordId::NONE).bytes());
}

/// Returns a node without value and children.
pub(super) fn empty(form: FixedLayout) -> Vec<u8> {
    let mut node = vec![0; form.len()];
    node[BODY..].copy_from_slice(&match form {
        FixedLayout::Array(n) => RecordId::NONE.bytes().repeat(n),
        FixedLayout::List(k) => list_part(&[], None, k),
    });
    node
}

/// Encodes a list of at most `k` children and the pointer to the next node: all bytes behind value
/// and version.
pub(super) fn list_part(children: &[(u8, RecordId)], next: Option<RecordId>, k: usize) -> Vec<u8> {
    let mut part = Vec::with_capacity(FixedLayout::List(k).len() - BODY);
    part.extend(next.unwrap_or(RecordId::NONE).bytes());
    let missing = k - children.len();
    part.extend(children.iter().flat_map(|child| child.1.bytes()));
    part.extend(RecordId::NONE.bytes().repeat(missing));
    part.extend(children.iter().map(|child| child.0));
    part.resize(part.len() + missing, 0);
    part
}
