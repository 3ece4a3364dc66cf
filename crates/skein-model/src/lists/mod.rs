//! Lists: elements in an order of their own, packed in chunks. For every engine.
//!
//! ```text
//!   member            value
//!   (no bytes)        the ordinals, if the list was changed in the middle (`ordinals`)
//!   position 1, 01    ┌ e0 e1 e2 ┐         a chunk; its name is its position, 8 bytes, big-endian
//!   position 2, 01    │ e3 … e90 │
//!   position 3, 01    └ e91      ┘
//!
//!   LPUSH, LPOP ─► first chunk: few elements      last chunk: few elements ◄─ RPUSH, RPOP
//!                        │ full                                    │ full
//!                        └──► joined with its neighbour ◄──────────┘
//! ```
//!
//! A push or a pop writes the chunk at its end, which is small. A full one is joined with its
//! neighbour while the two fit in one chunk. So an element is written some ten times, and costs a
//! byte or two in memory. A pop from a large chunk splits off a small one first.
//!
//! Positions are [`STEP`] apart for each element, so the chunk of an index is found by a search for
//! its position. Where the middle has changed, the ordinals say how far positions are off.
//!
//! # Invariants
//! 1. The names of chunks ascend in the order of the elements. No chunk is empty. A chunk has at
//!    most `CHUNK_BYTES` bytes or a single element.
//! 2. Behind the second chunk, the ordinal of a chunk is that of the chunk before it, plus its
//!    number of elements. The first chunk ends where the second begins; its own name only is less.
//!    So pushes and pops at the front change no name.
//! 3. All chunks before a step have lesser ordinals than the step's position, and all from there on
//!    have not. The first chunk is exempt, and steps before the second one say nothing. Steps
//!    behind the last chunk are rests, which the next chunk behind it removes.
//! 4. So the positions of the steps ascend, and their ordinals, too.
//!
//! Read `chunk` first (the bytes of a chunk), then `ordinals`, `layout` (from an index to an
//! element), `writer` (all changes) and `placing` (the positions of changed chunks). `check`
//! verifies the invariants.
//!
//! Design: `docs/design/data-model.md`. The idea of small pieces of neighbours is that of unrolled
//! linked lists (Shao, Reppy, Appel: "Unrolling Lists", LFP 1994).

mod check;
mod chunk;
mod layout;
mod ordinals;
mod placing;
mod writer;

#[cfg(test)]
mod tests;

pub use chunk::ChunkElements;
pub(crate) use chunk::{append_chunk, count_in, is_chunk, len_with, push_element};
pub(crate) use layout::{ChunkName, is_chunk_name};
pub use layout::{ElementPlace, ListLayout};
pub use writer::ListWriter;

use crate::ScanDirection;

/// The position of the first chunk of a list.
const MIDDLE: u64 = 1 << 63;
/// The name of the only chunk of a list in a row.
pub(crate) const ROW_CHUNK: ChunkName = layout::chunk_name(MIDDLE);
/// The positions for an element: room for 16 chunks between two elements, and for 2^47 pushes at
/// each end.
const STEP: u64 = 1 << 16;
/// The most bytes of a chunk with several elements.
pub(crate) const CHUNK_BYTES: usize = 2000;
/// The most bytes of a chunk that grows by pushes.
const EDGE_BYTES: usize = 360;
/// The most elements of such a chunk.
const EDGE_COUNT: u64 = 16;
/// From this many chunks on, a list that loses all elements is left to a background thread. For
/// fewer, waking it takes longer.
const CLEARED_MIN: u64 = 16;

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEnd {
    /// The first element.
    Front,
    /// The last element.
    Back,
}

impl ListEnd {
    /// Returns the direction from this end to the other.
    pub fn inwards(self) -> ScanDirection {
        match self {
            Self::Front => ScanDirection::Forward,
            Self::Back => ScanDirection::Backward,
        }
    }
}
