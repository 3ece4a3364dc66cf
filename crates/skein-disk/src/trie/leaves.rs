//! Leaves in the record of their parent: children that have a value and no children.
//!
//! ```text
//!   │ count - 1 │ symbols │ ends, 2 bytes each │ leaf │ leaf │ ...
//! ```
//!
//! A small leaf needs no slot and no pointer. It takes 3 bytes besides its own instead of 13, and a
//! lookup that ends there reads no further record. Each leaf is encoded as in `node.rs`. Its end is
//! counted from the start of the first leaf.

use memchr::memchr;

use super::node::{Result, UnreadBytes};

/// Bytes of a leaf's end.
const END: usize = 2;

/// The leaves in a node's record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeLeaves<'p> {
    symbols: &'p [u8],
    ends: &'p [u8],
    bytes: &'p [u8],
}

impl<'p> NodeLeaves<'p> {
    #[inline(always)]
    pub(super) fn take(rest: &mut UnreadBytes<'p>) -> Result<Self> {
        let count = usize::from(rest.take(1)?[0]) + 1;
        let mut leaves = Self { symbols: rest.take(count)?, ends: rest.take(END * count)?, bytes: &[] };
        leaves.bytes = rest.take(leaves.end(count))?;
        Ok(leaves)
    }

    pub(crate) fn len(self) -> usize {
        self.symbols.len()
    }

    /// Returns the end of the leaf before leaf `at`.
    #[inline(always)]
    fn end(self, at: usize) -> usize {
        let from = END * at;
        if at == 0 { 0 } else { u16::from_le_bytes([self.ends[from - 2], self.ends[from - 1]]).into() }
    }

    /// Returns the bytes of a leaf. If the ends are damaged, returns no bytes, which are not a
    /// valid node.
    #[inline(always)]
    fn leaf(self, at: usize) -> &'p [u8] {
        self.bytes.get(self.end(at)..self.end(at + 1)).unwrap_or_default()
    }

    /// Returns the leaf of a symbol.
    #[inline(always)]
    pub(crate) fn get(self, symbol: u8) -> Option<&'p [u8]> {
        let at = memchr(symbol, self.symbols)?;
        Some(self.leaf(at))
    }

    /// Returns the range of a symbol's leaf, counted from the start of the leaves in their record.
    pub(super) fn range(self, symbol: u8) -> Option<std::ops::Range<usize>> {
        let at = memchr(symbol, self.symbols)?;
        let from = 1 + self.symbols.len() + self.ends.len() + self.end(at);
        Some(from..from + self.leaf(at).len())
    }

    /// Returns all leaves with their symbols, in order.
    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = (u8, &'p [u8])> + use<'p> {
        (0..self.len()).map(move |at| (self.symbols[at], self.leaf(at)))
    }
}

/// Returns the bytes that leaves take in a record, if all leaves have `bytes` bytes together.
pub(super) fn takes(count: usize, bytes: usize) -> usize {
    if count == 0 { 0 } else { 1 + (1 + END) * count + bytes }
}

/// Appends leaves, which must be in the order of their symbols. There must be at least one.
pub(super) fn encode<'l>(
    leaves: impl ExactSizeIterator<Item = (u8, &'l [u8])> + Clone,
    record: &mut Vec<u8>,
) {
    record.push((leaves.len() - 1) as u8);
    record.extend(leaves.clone().map(|leaf| leaf.0));
    let mut end = 0_u16;
    for (_, leaf) in leaves.clone() {
        // The leaves of a damaged record may be too long. Then the record does not fit a page.
        end = end.saturating_add(leaf.len() as u16);
        record.extend(end.to_le_bytes());
    }
    leaves.for_each(|leaf| record.extend(leaf.1));
}
