//! Leaves within the record of their parent: children that have a value and nothing below them.
//!
//! ```text
//!   │ count - 1 │ symbols │ ends, 2 bytes each │ leaf │ leaf │ ...        a leaf is a node as `node.rs` has it
//! ```
//!
//! So a leaf that is small has no slot of its own, and no pointer leads to it: it takes three bytes besides its own where it would take 13, and a lookup that ends
//! there reads nothing more. An end is where a leaf ends, counted from where the first one begins.

use memchr::memchr;

use super::node::{Result, UnreadBytes};

/// Bytes of a leaf's end.
const END: usize = 2;

/// The leaves within a node's record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeLeaves<'p> {
    symbols: &'p [u8],
    ends: &'p [u8],
    bytes: &'p [u8],
}

impl<'p> NodeLeaves<'p> {
    /// Reads leaves.
    #[inline(always)]
    pub(super) fn take(rest: &mut UnreadBytes<'p>) -> Result<Self> {
        let count = usize::from(rest.take(1)?[0]) + 1;
        let mut leaves = Self { symbols: rest.take(count)?, ends: rest.take(END * count)?, bytes: &[] };
        leaves.bytes = rest.take(leaves.end(count))?;
        Ok(leaves)
    }

    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.symbols.len()
    }

    /// Where the one before this one ends.
    #[inline(always)]
    fn end(self, at: usize) -> usize {
        let from = END * at;
        if at == 0 { 0 } else { u16::from_le_bytes([self.ends[from - 2], self.ends[from - 1]]).into() }
    }

    /// The bytes of a leaf; none if its end is before its begin, and so no node either.
    #[inline(always)]
    fn leaf(self, at: usize) -> &'p [u8] {
        self.bytes.get(self.end(at)..self.end(at + 1)).unwrap_or_default()
    }

    /// The leaf of a symbol.
    #[inline(always)]
    pub(crate) fn get(self, symbol: u8) -> Option<&'p [u8]> {
        let at = memchr(symbol, self.symbols)?;
        Some(self.leaf(at))
    }

    /// Where the leaf of a symbol is, counted from where the leaves begin in their record.
    pub(super) fn range(self, symbol: u8) -> Option<std::ops::Range<usize>> {
        let at = memchr(symbol, self.symbols)?;
        let from = 1 + self.symbols.len() + self.ends.len() + self.end(at);
        Some(from..from + self.leaf(at).len())
    }

    /// All leaves and their symbols, in order.
    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = (u8, &'p [u8])> + use<'p> {
        (0..self.len()).map(move |at| (self.symbols[at], self.leaf(at)))
    }
}

/// Bytes that leaves of so many bytes in all take.
pub(super) fn takes(count: usize, bytes: usize) -> usize {
    if count == 0 { 0 } else { 1 + (1 + END) * count + bytes }
}

/// Appends leaves, of which there is one at least, by their symbols in order.
pub(super) fn encode<'l>(
    leaves: impl ExactSizeIterator<Item = (u8, &'l [u8])> + Clone,
    record: &mut Vec<u8>,
) {
    record.push((leaves.len() - 1) as u8);
    record.extend(leaves.clone().map(|leaf| leaf.0));
    let mut end = 0_u16;
    for (_, leaf) in leaves.clone() {
        // Those of a damaged record may be more than there can be: then the record fits no page.
        end = end.saturating_add(leaf.len() as u16);
        record.extend(end.to_le_bytes());
    }
    leaves.for_each(|leaf| record.extend(leaf.1));
}
