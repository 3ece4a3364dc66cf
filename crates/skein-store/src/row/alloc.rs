//! Where rows and column blocks get their memory.
//!
//! Everything that touches an allocator is here: sizes in, pointers out. The size is never stored; it
//! follows from the header of what was allocated.

use std::ptr::NonNull;

use skein_index::memory::{Arena, Part};

use super::table::{self, Column};
use super::{Row, RowRef};
use crate::options::VALUE_BYTES_MAX;
use crate::{Error, Result};

/// Where the rows of one store are made: its memory.
#[derive(Debug, Clone, Default)]
pub struct Rows(Arena);

impl Rows {
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
        Error::check_value_len(parts.iter().map(|part| part.len()).sum(), VALUE_BYTES_MAX)?;
        Ok(Row::value(self, parts))
    }

    /// A row of columns, given in any order; of a name that comes twice, the last counts. `None` if there is none.
    ///
    /// # Errors
    /// They are longer than any store takes.
    pub fn columns(&self, columns: &[Column<'_>]) -> Result<Option<Row>> {
        self.merged(None, columns, &[])
    }

    /// `current` with some columns set and some removed (a name in both is set); the others carry over.
    /// `None` if no column is left. A row with a value carries nothing over.
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

    /// Bytes of all rows, those that wait to be freed included.
    pub fn memory(&self) -> usize {
        self.0.live(Part::Rows)
    }

    /// About as [`memory`](Self::memory), in whole spans, but cheap enough to ask before every write.
    #[inline]
    pub(crate) fn taken(&self) -> usize {
        self.0.taken()
    }

    /// Address space that the rows hold from the system.
    pub(crate) fn reserved(&self) -> usize {
        self.0.reserved()
    }

    /// Takes `size` bytes (not 0), aligned to 8.
    #[inline]
    pub(super) fn take(&self, size: usize) -> NonNull<u8> {
        self.0.alloc(size, Part::Rows)
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
/// `pointer` came from [`Rows::take`] of the same size and is not used again.
#[inline]
pub(super) unsafe fn give_back(pointer: NonNull<u8>, size: usize) {
    // SAFETY: the caller vouches for pointer and size; all rows are counted as `Part::Rows`.
    unsafe { Arena::free(pointer, size, Part::Rows) };
}
