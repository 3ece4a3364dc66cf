//! Where rows and column blocks get their memory.
//!
//! Everything that touches an allocator is here: sizes in, pointers out. The size is never stored; it
//! follows from the header of what was allocated.
//!
//! Whether a row was ever made that expires is known here, so that a store without such rows need not look at each.

use std::ptr::NonNull;
use std::sync::Arc;

use skein_index::Guard;
use skein_index::memory::{Arena, MemoryPart};
use skein_sync::atomic::{AtomicBool, Ordering};

use super::table::{self, Column};
use super::{Row, RowRef};
use crate::index::weigh_retired;
use crate::memory::age_clock::AgeClock;
use crate::options::VALUE_BYTES_MAX;
use crate::{Error, Result};

/// Where the rows of one store are made: its memory.
#[derive(Debug, Clone, Default)]
pub struct RowAllocator {
    arena: Arena,
    /// Set before the first row that expires can be seen, and never lowered.
    expiring: Arc<AtomicBool>,
    ages: Arc<AgeClock>,
}

impl RowAllocator {
    /// Memory with no rows yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A row with one value: the parts, one after the other.
    ///
    /// # Errors
    /// They are longer than any store takes.
    #[inline]
    pub fn value(&self, parts: &[&[u8]]) -> Result<Row> {
        self.value_until(parts, None)
    }

    /// As [`value`](Self::value), of a row that expires at `expires` (milliseconds since 1970), if that is given. With
    /// [`RowRef::expires_at`] of the row before, it expires when that did.
    ///
    /// # Errors
    /// As for `value`.
    #[inline]
    pub fn value_until(&self, parts: &[&[u8]], expires: Option<u64>) -> Result<Row> {
        Error::check_value_len(parts.iter().map(|part| part.len()).sum(), VALUE_BYTES_MAX)?;
        Ok(Row::value(self, parts, expires))
    }

    /// A row that holds what `row` does and expires at `expires`, or never. Columns in shared blocks are shared once more. If `row` stands for a
    /// sorted set, or for columns that are too many for a row, the new one can be put to the same key only.
    pub fn until(&self, row: RowRef<'_>, expires: Option<u64>) -> Row {
        Row::until(self, row, expires)
    }

    /// A row of columns, given in any order; of a name that comes twice, the last counts. `None` if there is none.
    ///
    /// # Errors
    /// They are longer than any store takes.
    pub fn columns(&self, columns: &[Column<'_>]) -> Result<Option<Row>> {
        self.merged(None, columns, &[])
    }

    /// `current` with some columns set and some removed (a name in both is set); the others carry over.
    /// `None` if no column is left. A row with a value carries no column over. The new row expires when `current` does.
    ///
    /// # Errors
    /// What is set is longer than any store takes.
    pub fn merged(
        &self,
        current: Option<RowRef<'_>>,
        set: &[Column<'_>],
        remove: &[&[u8]],
    ) -> Result<Option<Row>> {
        Error::check_value_len(table::content_len(set), VALUE_BYTES_MAX)?;
        Ok(Row::merged(self, current, set, remove))
    }

    /// Whether any row that expires was made here, also one that is gone.
    #[inline]
    pub(crate) fn any_expiring(&self) -> bool {
        // Relaxed: who has found such a row in an index has acquired what its maker did before.
        self.expiring.load(Ordering::Relaxed)
    }

    /// A row that expires is being made, or put.
    #[inline]
    pub(crate) fn note_expiring(&self) {
        // Relaxed: as above; read before it is written, so that the line stays shared.
        if !self.any_expiring() {
            self.expiring.store(true, Ordering::Relaxed);
        }
    }

    /// When rows are used.
    #[inline]
    pub(crate) fn ages(&self) -> &AgeClock {
        &self.ages
    }

    /// An index has just given up this row, under `guard`, which is still held. It is counted as one that waits to be freed, if that is wanted, and does so the less
    /// the larger it is. Its bytes, about.
    #[inline]
    pub(crate) fn left(&self, row: Option<RowRef<'_>>, guard: &impl Guard) -> usize {
        let Some(row) = row else { return 0 };
        if self.ages.counts_left() {
            row.leave();
        }
        let bytes = row.bytes();
        weigh_retired(bytes, guard);
        bytes
    }

    /// Bytes of all rows, those that wait to be freed included.
    pub fn memory(&self) -> usize {
        let [_, _, live, left] = self.arena.live_by_part();
        live + left
    }

    /// Bytes of rows, and of rows that are counted as waiting to be freed, with what is lost between them.
    pub(crate) fn live_and_left(&self) -> (usize, usize) {
        let [_, _, live, left] = self.arena.shares_by_part();
        (live, left)
    }

    /// About as [`memory`](Self::memory), in whole spans, but cheap enough to ask before every write.
    #[inline]
    pub(crate) fn taken(&self) -> usize {
        self.arena.taken()
    }

    /// Address space that the rows hold from the system.
    pub(crate) fn reserved(&self) -> usize {
        self.arena.reserved()
    }

    /// Takes `size` bytes (not 0), aligned to 8.
    #[inline]
    pub(super) fn take(&self, size: usize) -> NonNull<u8> {
        self.arena.alloc(size, MemoryPart::Rows)
    }
}

/// Bytes that an allocation of `size` bytes takes, rounding included.
#[inline]
pub(super) fn footprint(size: usize) -> usize {
    Arena::rounded(size)
}

/// Gives memory back.
///
/// # Safety
/// `pointer` came from [`Rows::take`] of the same size, is counted as `part`, and is not used again.
#[inline]
pub(super) unsafe fn give_back(pointer: NonNull<u8>, size: usize, part: MemoryPart) {
    // SAFETY: the caller vouches for pointer, size and part.
    unsafe { Arena::free(pointer, size, part) };
}

/// Counts memory as waiting to be freed.
///
/// # Safety
/// `pointer` came from [`Rows::take`] of the same size, is live and is counted as a row.
pub(super) unsafe fn recount_left(pointer: NonNull<u8>, size: usize) {
    // SAFETY: the caller vouches for all of it.
    unsafe { Arena::recount(pointer, size, MemoryPart::Rows, MemoryPart::Retired) };
}
