//! The allocator of rows and column blocks.
//!
//! Only this file calls the arena. The size of an allocation is not stored; it follows from the
//! header of the row or block.
//!
//! The allocator also knows whether it ever made a row that expires, so a store without such rows
//! need not check each row.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::column_table::{self as table, Column};
use crate::{PackedMembers, VALUE_BYTES_MAX};
use skein_index::memory::{Arena, MemoryPart};
use skein_sync::atomic::{AtomicBool, Ordering};

use super::age_clock::AgeClock;
use super::collection::{CollectionHead, PACKED_BYTES_MAX};
use super::shared_collection::{CollectionPointer, ResidentCollection, SharedCollection};
use super::{Row, RowRef, draft};
use crate::{Error, Result};

/// Makes the rows of one store, in the memory of the store.
#[derive(Debug, Clone, Default)]
pub struct RowAllocator {
    arena: Arena,
    /// Set before the first expiring row becomes visible, and never cleared.
    expiring: Arc<AtomicBool>,
    ages: Arc<AgeClock>,
    /// Whether the rows go to an index that embeds, so that small ones begin as drafts.
    drafts: bool,
}

impl RowAllocator {
    /// Returns an allocator without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an allocator of rows for an index that embeds them ([`Slot::EMBEDS`]). Each thread
    /// makes its small rows in a memory of its own, one at a time.
    ///
    /// [`Slot::EMBEDS`]: skein_index::Slot::EMBEDS
    pub fn for_embedding() -> Self {
        Self { drafts: true, ..Self::default() }
    }

    /// Makes a row with one value, the concatenated parts.
    ///
    /// # Errors
    /// The value is longer than any store allows.
    #[inline]
    pub fn value(&self, parts: &[&[u8]]) -> Result<Row> {
        self.value_until(parts, None)
    }

    /// Makes a row as [`value`](Self::value) that expires at `expires` (milliseconds since 1970),
    /// if given. To keep the time of the former row, pass its [`RowRef::expires_at`].
    ///
    /// # Errors
    /// As for `value`.
    #[inline]
    pub fn value_until(&self, parts: &[&[u8]], expires: Option<u64>) -> Result<Row> {
        Error::check_value_len(parts.iter().map(|part| part.len()).sum(), VALUE_BYTES_MAX)?;
        Ok(Row::value(self, parts, expires))
    }

    /// Makes a row that stands for a collection in memory, until `expires` (milliseconds since 1970)
    /// or for ever.
    pub fn collection<C: ResidentCollection>(
        &self,
        collection: Arc<SharedCollection<C>>,
        expires: Option<u64>,
    ) -> Row {
        let code = collection.kind().row_code();
        Row::of_collection(self, code, CollectionPointer::new(collection), expires)
    }

    /// Makes a row that stands for a collection which an engine keeps outside of memory, until
    /// `expires` (milliseconds since 1970) or for ever.
    pub fn stored_collection(&self, head: CollectionHead, expires: Option<u64>) -> Row {
        Row::of_stored(self, head, expires)
    }

    /// Makes a row that has the members of a small collection, until `expires` (milliseconds since
    /// 1970) or for ever.
    ///
    /// # Errors
    /// The members are longer than a row with members may be.
    pub fn packed(&self, packed: PackedMembers<'_>, expires: Option<u64>) -> Result<Row> {
        Error::check_value_len(packed.as_bytes().len(), PACKED_BYTES_MAX)?;
        Ok(Row::of_packed(self, packed, expires))
    }

    /// Makes a row with the contents of `row` that expires at `expires`, or never. It shares the
    /// column blocks. If `row` stands for a set or for spread columns, the new row can be
    /// put only to the same key.
    pub fn until(&self, row: RowRef<'_>, expires: Option<u64>) -> Row {
        Row::until(self, row, expires)
    }

    /// Makes a copy of a row that is about to be replaced, to keep it for snapshots. It counts as
    /// removed memory.
    pub fn kept_copy(&self, row: RowRef<'_>) -> Row {
        let lasting = Self { drafts: false, ..self.clone() };
        let mut copy = Row::until(&lasting, row, row.expires_at());
        copy.set_version(row.version());
        self.note_removed(copy.as_ref());
        copy
    }

    /// Makes a row of columns, given in any order. Of equal names the last counts. Returns `None`
    /// without columns.
    ///
    /// # Errors
    /// The columns are longer than any store allows.
    pub fn columns(&self, columns: &[Column<'_>]) -> Result<Option<Row>> {
        self.merged(None, columns, &[])
    }

    /// Makes a row of `current` with some columns set and some removed; a name in both is set. The
    /// other columns of `current` are kept; a value is not. Returns `None` if no column is left.
    /// The new row expires when `current` does.
    ///
    /// # Errors
    /// The columns to set are longer than any store allows.
    pub fn merged(
        &self,
        current: Option<RowRef<'_>>,
        set: &[Column<'_>],
        remove: &[&[u8]],
    ) -> Result<Option<Row>> {
        Error::check_value_len(table::content_len(set), VALUE_BYTES_MAX)?;
        Ok(Row::merged(self, current, set, remove))
    }

    /// Returns whether an expiring row was ever made or put here.
    #[inline]
    pub fn any_expiring(&self) -> bool {
        // Relaxed: a thread that has found such a row in an index has acquired the earlier writes
        // of its maker.
        self.expiring.load(Ordering::Relaxed)
    }

    /// Notes that an expiring row is being made or put.
    #[inline]
    pub fn note_expiring(&self) {
        // Relaxed: as above. Read before it is written, so that the cache line stays shared.
        if !self.any_expiring() {
            self.expiring.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the clock of the rows' ages.
    #[inline]
    pub fn ages(&self) -> &AgeClock {
        &self.ages
    }

    /// Notes that an index has just removed this row, under a guard that is still held. If wanted,
    /// counts the row as waiting to be freed.
    #[inline]
    pub fn note_removed(&self, row: RowRef<'_>) {
        if self.ages.counts_removed() {
            row.mark_removed();
        }
    }

    /// Returns the bytes of all rows, including those that wait to be freed.
    pub fn memory(&self) -> usize {
        let [_, _, live, removed] = self.arena.live_by_part();
        live + removed
    }

    /// Returns the bytes of rows, and of rows that are counted as waiting to be freed, each with a
    /// share of the unused bytes between them.
    pub fn live_and_removed(&self) -> (usize, usize) {
        let [_, _, live, removed] = self.arena.shares_by_part();
        (live, removed)
    }

    /// Returns about the same as [`memory`](Self::memory), in whole spans. It is cheap enough to
    /// call before every write.
    #[inline]
    pub fn allocated_bytes(&self) -> usize {
        self.arena.taken()
    }

    /// Returns the address space that the rows hold from the system.
    pub fn reserved(&self) -> usize {
        self.arena.reserved()
    }

    /// Returns the memory for a row that is about to be embedded, if it is free.
    #[inline]
    pub(super) fn take_draft(&self) -> Option<NonNull<u8>> {
        if self.drafts { draft::take() } else { None }
    }

    /// Allocates `size` bytes (not 0), aligned to 8.
    #[inline]
    pub(super) fn take(&self, size: usize) -> NonNull<u8> {
        self.arena.alloc(size, MemoryPart::Rows)
    }
}

/// Returns the bytes that an allocation of `size` bytes uses, including the rounding.
#[inline]
pub(super) fn footprint(size: usize) -> usize {
    Arena::rounded(size)
}

/// Frees memory.
///
/// # Safety
/// `pointer` came from [`RowAllocator::take`] with the same size, is counted as `part`, and is not
/// used again.
#[inline]
pub(super) unsafe fn give_back(pointer: NonNull<u8>, size: usize, part: MemoryPart) {
    // SAFETY: the caller guarantees pointer, size and part.
    unsafe { Arena::free(pointer, size, part) };
}

/// Counts memory as waiting to be freed.
///
/// # Safety
/// `pointer` came from [`RowAllocator::take`] with the same size, is live and is counted as a row.
pub(super) unsafe fn count_as_removed(pointer: NonNull<u8>, size: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { Arena::recount(pointer, size, MemoryPart::Rows, MemoryPart::Retired) };
}
