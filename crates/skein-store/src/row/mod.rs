//! Rows: a version and either one value or columns; immutable once published, one allocation, a thin pointer.
//!
//! ```text
//!   0         8        12
//!   version │ tag    │ body
//!    u64      kind, 2 bits, and body length, 30 bits
//!
//!   value      the bytes
//!   table      columns in one run of bytes (see `table`)
//!   blocks     count u32 │ footprint u64 │ pointers to column blocks (see `block`), each 8 bytes
//!   tombstone  nothing; only between the start and the end of a recovery
//! ```
//!
//! A put makes a new row and carries over the columns that it does not set (section 4.7); readers therefore
//! see all columns of a put or none. Rows over [`TABLE_BYTES_MAX`] keep their columns in shared blocks, so that a
//! small put copies pointers and not bytes.
//!
//! # Invariants
//! 1. A [`Row`] owns its allocation, whose size follows from the tag; kind and body never change.
//! 2. The version is written only through `&mut Row`, hence before the row is published.
//! 3. The body of kind `blocks` holds pointers that each own one reference to a block, at an offset aligned to 8.
//! 4. A [`RowRef`] is made only from a row that outlives it: one behind a guard, one borrowed, or one in a
//!    [`RowBuffer`] that is borrowed.

mod alloc;
mod block;
mod buffer;
mod merge;
pub(crate) mod table;

use std::marker::PhantomData;
use std::ptr::NonNull;

use skein_index::Slot;
use skein_index::memory::prefetch_lines;

pub use alloc::Rows;
use block::Block;
pub use buffer::{RowBuffer, encode_value};
use table::Table;

use crate::options::VALUE_BYTES_MAX;

const VERSION: usize = 0;
const TAG: usize = 8;
const BODY: usize = 12;

/// In the body of kind `blocks`: how many columns (u32), bytes that the blocks take (u64), their pointers.
const BLOCKS_COUNT: usize = BODY;
const BLOCKS_FOOTPRINT: usize = BODY + 4;
const BLOCKS: usize = BODY + 12;

const LEN_BITS: u32 = 30;
const LEN_MASK: u32 = (1 << LEN_BITS) - 1;

/// The longest body. It is more than a value may have, and more than the pointers to the blocks of a row take.
const BODY_LEN_MAX: usize = LEN_MASK as usize;
const _: () = assert!(VALUE_BYTES_MAX < BODY_LEN_MAX);

/// Tables over this size are cut into shared blocks.
pub(crate) const TABLE_BYTES_MAX: usize = 1 << 10;

/// What a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Value = 0,
    Table = 1,
    Blocks = 2,
    Tombstone = 3,
}

/// An owned row that nobody else can see yet.
#[derive(Debug)]
#[repr(transparent)]
pub struct Row {
    start: NonNull<u8>,
}

// SAFETY: a row is plain bytes and blocks that are themselves `Send` and `Sync`; it is only changed through `&mut` (invariant 2).
unsafe impl Send for Row {}
// SAFETY: as above.
unsafe impl Sync for Row {}

/// A row in the store, as long as the guard (or the closure that was given it) lasts.
#[derive(Clone, Copy)]
pub struct RowRef<'g> {
    start: NonNull<u8>,
    row: PhantomData<&'g Row>,
}

// SAFETY: a `RowRef` is a `&Row`.
unsafe impl Send for RowRef<'_> {}
// SAFETY: as above.
unsafe impl Sync for RowRef<'_> {}

impl Row {
    /// Memory for a row of version 0 with `len` bytes of body, not yet written.
    fn with_body(rows: &Rows, kind: Kind, len: usize) -> Self {
        // Values are checked by `Rows::value`, tables are small, and what blocks hold is bounded by `Rows::merged`.
        assert!(len <= BODY_LEN_MAX, "row bodies are bounded by the store's limits");
        let start = rows.take(BODY + len);
        // SAFETY: the memory is fresh, aligned to 8 and at least `BODY` bytes long.
        unsafe {
            start.add(VERSION).cast::<u64>().write(0);
            start.add(TAG).cast::<u32>().write((kind as u32) << LEN_BITS | len as u32);
        }
        Self { start }
    }

    /// A row with one value: the parts, one after the other, which are not too long.
    fn value(rows: &Rows, parts: &[&[u8]]) -> Self {
        let row = Self::with_body(rows, Kind::Value, parts.iter().map(|part| part.len()).sum());
        let mut at = BODY;
        for part in parts {
            // SAFETY: the body is as long as all parts together, and fresh, so it overlaps none of them.
            unsafe { row.start.add(at).copy_from_nonoverlapping(NonNull::from(*part).cast(), part.len()) };
            at += part.len();
        }
        row
    }

    /// The mark of a removed key, for the time of a recovery.
    pub(crate) fn tombstone(rows: &Rows, version: u64) -> Self {
        let mut row = Self::with_body(rows, Kind::Tombstone, 0);
        row.set_version(version);
        row
    }

    /// Sets the version; the row is still private (invariant 2).
    #[inline]
    pub(crate) fn set_version(&mut self, version: u64) {
        // SAFETY: the row owns its memory, which starts with the version, aligned to 8.
        unsafe { self.start.add(VERSION).cast::<u64>().write(version) };
    }

    /// Looks at the row.
    #[inline]
    pub fn as_ref(&self) -> RowRef<'_> {
        RowRef { start: self.start, row: PhantomData }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        let row = self.as_ref();
        if row.kind() == Kind::Blocks {
            for i in 0..row.block_count() {
                // SAFETY: the pointer owns a reference (invariant 3), given up here, once.
                drop(unsafe { row.block_at(i).read() });
            }
        }
        let size = BODY + row.len();
        // SAFETY: `size` is what `with_body` took (invariant 1).
        unsafe { alloc::give_back(self.start, size) };
    }
}

// SAFETY: the word is the address of the row's allocation, which the row owned; `borrow` makes a `RowRef`
// that the caller keeps within the allocation's life; rows are `Send` and `Sync`.
unsafe impl Slot for Row {
    type Ref<'g> = RowRef<'g>;
    const OWNS: bool = true;

    #[inline(always)]
    fn into_word(self) -> u64 {
        let word = self.start.as_ptr().expose_provenance() as u64;
        std::mem::forget(self);
        word
    }

    #[inline(always)]
    unsafe fn from_word(word: u64) -> Self {
        // SAFETY: the word came from `into_word`, hence from a pointer that is not null.
        let start = unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(word as usize)) };
        Self { start }
    }

    #[inline(always)]
    unsafe fn borrow<'g>(word: u64) -> RowRef<'g> {
        // SAFETY: as in `from_word`; the caller vouches for `'g`.
        let start = unsafe { NonNull::new_unchecked(std::ptr::with_exposed_provenance_mut(word as usize)) };
        RowRef { start, row: PhantomData }
    }

    /// Fetches the first two cache lines: the head, and a value of usual size.
    #[inline(always)]
    fn prefetch(word: u64) {
        prefetch_lines::<2, _>(std::ptr::without_provenance::<u8>(word as usize));
    }
}

impl<'g> RowRef<'g> {
    fn tag(self) -> u32 {
        // SAFETY: the row lives for `'g` (invariant 4) and its tag never changes (invariant 1).
        unsafe { self.start.add(TAG).cast::<u32>().read() }
    }

    #[inline]
    fn kind(self) -> Kind {
        match self.tag() >> LEN_BITS {
            0 => Kind::Value,
            1 => Kind::Table,
            2 => Kind::Blocks,
            _ => Kind::Tombstone,
        }
    }

    fn len(self) -> usize {
        (self.tag() & LEN_MASK) as usize
    }

    #[inline]
    fn body(self) -> &'g [u8] {
        // SAFETY: `len` bytes of body follow the tag, and nobody writes them once the row can be seen
        // (invariants 1 and 4).
        unsafe { std::slice::from_raw_parts(self.start.add(BODY).as_ptr(), self.len()) }
    }

    /// The version: every write to a key makes it greater, also across a removal.
    #[inline]
    pub fn version(self) -> u64 {
        // SAFETY: the row lives for `'g` (invariant 4); the version was written before it could be seen (2).
        unsafe { self.start.add(VERSION).cast::<u64>().read() }
    }

    /// The value; `None` if the row has columns.
    #[inline]
    pub fn value(self) -> Option<&'g [u8]> {
        (self.kind() == Kind::Value).then(|| self.body())
    }

    /// Whether the row has columns and not a value.
    pub fn has_columns(self) -> bool {
        matches!(self.kind(), Kind::Table | Kind::Blocks)
    }

    pub(crate) fn is_tombstone(self) -> bool {
        self.kind() == Kind::Tombstone
    }

    /// Whether the columns lie in shared blocks.
    pub(crate) fn is_large(self) -> bool {
        self.kind() == Kind::Blocks
    }

    /// Whether both are the same row, not only equal ones.
    #[inline]
    pub(crate) fn is(self, other: RowRef<'_>) -> bool {
        self.start == other.start
    }

    /// What the row holds, for messages.
    pub(crate) fn holds(self) -> &'static str {
        if self.has_columns() { "columns" } else { "a value" }
    }

    fn block_count(self) -> usize {
        (self.len() + BODY - BLOCKS) / size_of::<Block>()
    }

    fn block_at(self, i: usize) -> NonNull<Block> {
        debug_assert!(i < self.block_count());
        // SAFETY: the offset is within the row's allocation (invariant 3).
        unsafe { self.start.add(BLOCKS).cast::<Block>().add(i) }
    }

    fn blocks(self) -> &'g [Block] {
        // SAFETY: the body ends with that many owned pointers, aligned to 8, which never change (invariant 3).
        unsafe {
            std::slice::from_raw_parts(self.start.add(BLOCKS).cast::<Block>().as_ptr(), self.block_count())
        }
    }

    /// How many tables the columns lie in; 0 if the row has a value.
    pub(crate) fn table_count(self) -> usize {
        match self.kind() {
            Kind::Table => 1,
            Kind::Blocks => self.block_count(),
            Kind::Value | Kind::Tombstone => 0,
        }
    }

    /// Table `i`; the tables together hold the columns in the order of their names.
    pub(crate) fn table(self, i: usize) -> Table<'g> {
        match self.kind() {
            Kind::Table => Table::trusted(self.body()),
            _ => self.blocks()[i].table(),
        }
    }

    /// One column; `None` if there is none of that name, or the row has a value.
    pub fn column(self, name: &[u8]) -> Option<&'g [u8]> {
        let table = match self.kind() {
            Kind::Table => Table::trusted(self.body()),
            Kind::Blocks => {
                let after = self.blocks().partition_point(|block| block.table().name(0) <= name);
                self.blocks()[after.checked_sub(1)?].table()
            }
            Kind::Value | Kind::Tombstone => return None,
        };
        table.find(name).ok().map(|i| table.column(i).1)
    }

    /// All columns, in the order of their names; none if the row has a value.
    pub fn columns(self) -> Columns<'g> {
        Columns { row: self, table: 0, next: 0, left: self.column_count() }
    }

    /// How many columns; 0 if the row has a value.
    pub fn column_count(self) -> usize {
        match self.kind() {
            Kind::Table => Table::trusted(self.body()).count(),
            // SAFETY: the body of this kind starts with the count, at a multiple of 4 (invariant 3).
            Kind::Blocks => unsafe { self.start.add(BLOCKS_COUNT).cast::<u32>().read() as usize },
            Kind::Value | Kind::Tombstone => 0,
        }
    }

    /// Bytes of content: the value, or all columns and their names.
    pub fn content_len(self) -> usize {
        match self.kind() {
            Kind::Value => self.len(),
            Kind::Table | Kind::Blocks => (0..self.table_count()).map(|i| self.table(i).content_len()).sum(),
            Kind::Tombstone => 0,
        }
    }

    /// Bytes that the row takes in memory, the allocator's rounding and its blocks included (a block that
    /// several versions share counts for each).
    #[inline]
    pub fn memory(self) -> usize {
        let blocks = match self.kind() {
            // SAFETY: the body of this kind has the footprint at a multiple of 8 (invariant 3).
            Kind::Blocks => unsafe { self.start.add(BLOCKS_FOOTPRINT).cast::<u64>().read() as usize },
            _ => 0,
        };
        alloc::footprint(BODY + self.len()) + blocks
    }
}

impl std::fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Row");
        debug.field("version", &self.version());
        match self.value() {
            Some(value) => debug.field("value_len", &value.len()),
            None => debug.field("columns", &self.column_count()),
        };
        debug.finish()
    }
}

/// The columns of a row, in the order of their names.
#[derive(Clone, Debug)]
pub struct Columns<'g> {
    row: RowRef<'g>,
    table: usize,
    next: usize,
    left: usize,
}

impl<'g> Iterator for Columns<'g> {
    type Item = (&'g [u8], &'g [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let mut table = self.row.table(self.table);
        if self.next == table.count() {
            (self.table, self.next) = (self.table + 1, 0);
            table = self.row.table(self.table);
        }
        self.next += 1;
        Some(table.column(self.next - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Columns<'_> {}

#[cfg(test)]
mod tests;
