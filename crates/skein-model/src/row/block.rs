//! Column blocks: parts of a large row's columns that successive versions of the row share (section
//! 4.7).
//!
//! ```text
//!   row v7 ──► [ A ][ B ][ C ]           a put to a column in B writes one new block
//!   row v8 ──► [ A ][ B'][ C ]           and copies pointers to the others
//! ```
//!
//! # Invariants
//! 1. A block's bytes never change once [`ColumnBlock::new`] returned.
//! 2. `refs` counts the `ColumnBlock` handles; only the handle that decrements it to 0 frees the
//!    memory.

use std::ptr::NonNull;

use crate::column_table::{self as table, Column, ColumnTable};
use skein_index::memory::MemoryPart;
use skein_sync::atomic::{AtomicU32, Ordering, fence};

use super::alloc::{self, RowAllocator};

/// The header before a block's table.
#[repr(C)]
struct BlockHeader {
    refs: AtomicU32,
    len: u32,
}

const HEAD: usize = size_of::<BlockHeader>();

/// The largest number of handles of a block: a count that wraps would free memory in use.
const REFS_MOST: u32 = u32::MAX / 2;

/// One reference to a block.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct ColumnBlock(NonNull<BlockHeader>);

// SAFETY: the bytes are immutable (invariant 1) and the count is atomic (invariant 2).
unsafe impl Send for ColumnBlock {}
// SAFETY: as above.
unsafe impl Sync for ColumnBlock {}

impl ColumnBlock {
    /// Makes a block of these columns, which must be strictly ascending by name.
    pub(super) fn new(rows: &RowAllocator, columns: &[Column<'_>]) -> Self {
        let len = table::size(columns);
        // A block is small or has a single column. A column is at most as long as a value, or, from
        // disk, as a record.
        assert!(u32::try_from(len).is_ok(), "column blocks are bounded by the store's limits");
        let head = rows.take(HEAD + len).cast::<BlockHeader>();
        // SAFETY: the memory is fresh, large enough for the head and `len` bytes, and aligned to 8.
        let bytes = unsafe {
            head.write(BlockHeader { refs: AtomicU32::new(1), len: len as u32 });
            let start = head.cast::<u8>().add(HEAD).as_ptr();
            start.write_bytes(0, len);
            std::slice::from_raw_parts_mut(start, len)
        };
        table::write(columns, bytes);
        Self(head)
    }

    fn head(&self) -> &BlockHeader {
        // SAFETY: this handle keeps the block alive (invariant 2).
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(super) fn table(&self) -> ColumnTable<'_> {
        let len = self.head().len as usize;
        // SAFETY: `len` bytes follow the head, initialized and immutable (invariant 1).
        ColumnTable::trusted(unsafe {
            std::slice::from_raw_parts(self.0.cast::<u8>().add(HEAD).as_ptr(), len)
        })
    }

    /// Returns the bytes that the block uses in memory.
    pub(super) fn footprint(&self) -> usize {
        alloc::footprint(HEAD + self.head().len as usize)
    }
}

impl Clone for ColumnBlock {
    /// # Panics
    /// If there are 2^31 handles. Each is in its own retained row version, so they have filled tens
    /// of GiB.
    fn clone(&self) -> Self {
        let refs = &self.head().refs;
        // Relaxed: the caller holds a handle, so the count is above 0 and no thread frees the block
        // meanwhile.
        if refs.fetch_add(1, Ordering::Relaxed) >= REFS_MOST {
            // The count cannot wrap: half of its range is left for threads between the two
            // operations.
            refs.fetch_sub(1, Ordering::Relaxed);
            panic!("a column block has {REFS_MOST} handles, which is the limit");
        }
        Self(self.0)
    }
}

impl Drop for ColumnBlock {
    fn drop(&mut self) {
        let size = HEAD + self.head().len as usize;
        // Release: pairs with the Acquire fence below, in the thread that frees.
        if self.head().refs.fetch_sub(1, Ordering::Release) == 1 {
            // Acquire: pairs with the Release above, so that all reads through other handles are
            // finished.
            fence(Ordering::Acquire);
            // SAFETY: this was the last handle (invariant 2), and `new` took `size` bytes.
            unsafe { alloc::give_back(self.0.cast(), size, MemoryPart::Rows) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Incident: handles were counted in 32 bits without a check. Consequence: with enough retained
    /// row versions, for example by a snapshot, the count would have wrapped and a block in use
    /// would have been freed. Fix: a block has at most 2^31 handles.
    #[test]
    fn the_count_of_handles_never_wraps() {
        let rows = RowAllocator::new();
        let block = ColumnBlock::new(&rows, &[(b"plumage", b"grey")]);
        block.head().refs.store(REFS_MOST - 1, Ordering::Relaxed);
        let last = block.clone();
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| block.clone()));
        assert!(refused.is_err());
        assert_eq!(block.head().refs.load(Ordering::Relaxed), REFS_MOST);
        block.head().refs.store(2, Ordering::Relaxed);
        drop((block, last));
    }
}
