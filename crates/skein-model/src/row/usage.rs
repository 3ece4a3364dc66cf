//! The memory that a row uses, and the count of rows that wait to be freed.

use std::sync::atomic::Ordering;

use super::age_clock::{EMBEDDED, REMOVED};
use super::{BLOCKS_FOOTPRINT, BODY, ResidentCollection, RowKind, RowRef, UPPER_SHIFT, alloc};
use crate::column_table::ColumnTable;

/// Bytes that a key uses in the nodes of an index in memory, about.
pub const NODE_SHARE: usize = 48;
/// The same in an index that embeds rows.
const LEAF_SHARE: usize = 14;

impl RowRef<'_> {
    /// Returns the bytes of the contents: of the value, of all columns and their names, or of the
    /// members in the row.
    #[inline]
    pub fn content_len(self) -> usize {
        match self.kind() {
            RowKind::Value => self.len(),
            RowKind::Table => ColumnTable::trusted(self.body()).content_len(),
            RowKind::Blocks => self.blocks().iter().map(|block| block.table().content_len()).sum(),
            RowKind::Other => self.packed().map_or(0, |packed| packed.as_bytes().len()),
        }
    }

    /// Returns about how many bytes a key with this row uses in memory, including its share of the
    /// index and all members or spread columns. A row of the disk engine uses them only while it is
    /// read.
    pub fn usage(self, key: &[u8]) -> usize {
        let members = self.resident_collection().map_or(0, ResidentCollection::memory);
        key.len() + self.node_share() + self.memory() + members
    }

    /// Returns about how many bytes the key of this row uses in the nodes of its index.
    #[inline]
    pub fn node_share(self) -> usize {
        if self.is_embedded() { LEAF_SHARE } else { NODE_SHARE }
    }

    /// Returns whether the row lies in a leaf of its index.
    #[inline]
    pub fn is_embedded(self) -> bool {
        self.upper_bits() & EMBEDDED != 0
    }

    /// Returns the bytes that the row uses in memory, including its blocks and the allocator's
    /// rounding. A block that several versions share counts for each of them.
    #[inline]
    pub fn memory(self) -> usize {
        if self.is_embedded() { self.size() } else { alloc::footprint(self.size()) + self.blocks_bytes() }
    }

    /// Returns the bytes that the row uses or would use outside an index. Unlike
    /// [`memory`](Self::memory), this does not depend on where the row lies.
    #[inline]
    pub fn weight(self) -> usize {
        alloc::footprint(self.size() - self.body_start() + BODY) + self.blocks_bytes()
    }

    /// Returns about the same as [`memory`](Self::memory), without the rounding.
    #[inline]
    pub fn bytes(self) -> usize {
        self.size() + self.blocks_bytes()
    }

    /// Returns the bytes of the blocks, including the rounding.
    #[inline]
    fn blocks_bytes(self) -> usize {
        match self.kind() {
            // SAFETY: the body of this kind has the footprint at a multiple of 8 (invariant 3).
            RowKind::Blocks => unsafe { self.start.add(BLOCKS_FOOTPRINT).cast::<u64>().read() as usize },
            _ => 0,
        }
    }

    /// Returns whether [`mark_removed`](Self::mark_removed) was called.
    pub(super) fn is_marked_removed(self) -> bool {
        self.stamp() == REMOVED
    }

    /// Counts the row as waiting to be freed. The caller has just removed it from an index, and
    /// holds a guard from before, or owns it. The memory of an embedded row is that of its index.
    #[cold]
    pub fn mark_removed(self) {
        if self.is_embedded() {
            return;
        }
        let mark = ((REMOVED >> UPPER_SHIFT) as u16).to_le();
        // Relaxed: the counters are statistics; the thread that frees the row has synchronized with
        // the end of the guard.
        if self.upper().fetch_or(mark, Ordering::Relaxed) & mark != mark {
            // SAFETY: the guard keeps the row (invariant 5); until now it was counted as a row.
            unsafe { alloc::count_as_removed(self.start, self.size()) };
        }
    }
}
