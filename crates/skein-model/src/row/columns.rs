//! Reads the columns in a row itself: in one table, or in blocks.
//!
//! The invariants are those of `row`.

use std::ptr::NonNull;

use crate::column_table::ColumnTable;

use super::block::ColumnBlock;
use super::{BLOCKS, BLOCKS_COUNT, BODY, RowKind, RowRef};

impl<'g> RowRef<'g> {
    pub(super) fn block_count(self) -> usize {
        (self.len() + BODY - BLOCKS) / size_of::<ColumnBlock>()
    }

    pub(super) fn block_at(self, i: usize) -> NonNull<ColumnBlock> {
        debug_assert!(i < self.block_count());
        // SAFETY: the offset is within the row's allocation (invariant 3).
        unsafe { self.start.add(BLOCKS).cast::<ColumnBlock>().add(i) }
    }

    pub(super) fn blocks(self) -> &'g [ColumnBlock] {
        // SAFETY: the body ends with this number of owned pointers, aligned to 8, which never
        // change (invariant 3).
        unsafe {
            std::slice::from_raw_parts(
                self.start.add(BLOCKS).cast::<ColumnBlock>().as_ptr(),
                self.block_count(),
            )
        }
    }

    /// Returns the number of tables of columns; 0 if the row has a value.
    #[inline]
    pub fn table_count(self) -> usize {
        match self.kind() {
            RowKind::Table => 1,
            RowKind::Blocks => self.block_count(),
            RowKind::Value | RowKind::Other => 0,
        }
    }

    /// Returns table `i`. All tables together hold the columns in the order of their names.
    #[inline]
    pub fn table(self, i: usize) -> ColumnTable<'g> {
        match self.kind() {
            RowKind::Table => ColumnTable::trusted(self.body()),
            _ => self.blocks()[i].table(),
        }
    }

    /// Returns one column of the row itself, or `None` if the row has no such column.
    pub fn column(self, name: &[u8]) -> Option<&'g [u8]> {
        let table = match self.kind() {
            RowKind::Table => ColumnTable::trusted(self.body()),
            RowKind::Blocks => {
                let after = self.blocks().partition_point(|block| block.table().name(0) <= name);
                self.blocks()[after.checked_sub(1)?].table()
            }
            RowKind::Value | RowKind::Other => return None,
        };
        table.find(name).ok().map(|i| table.column(i).1)
    }

    /// Returns all columns of the row itself, in the order of their names.
    pub fn columns(self) -> ColumnIter<'g> {
        ColumnIter { row: self, table: 0, next: 0, left: self.column_count() }
    }

    /// Returns the number of columns in the row itself.
    #[inline]
    pub fn column_count(self) -> usize {
        match self.kind() {
            RowKind::Table => ColumnTable::trusted(self.body()).count(),
            // SAFETY: the body of this kind starts with the count, at a multiple of 4 (invariant
            // 3).
            RowKind::Blocks => unsafe { self.start.add(BLOCKS_COUNT).cast::<u32>().read() as usize },
            RowKind::Value | RowKind::Other => 0,
        }
    }
}

/// The columns of a row, in the order of their names.
#[derive(Clone, Debug)]
pub struct ColumnIter<'g> {
    row: RowRef<'g>,
    table: usize,
    next: usize,
    left: usize,
}

impl<'g> Iterator for ColumnIter<'g> {
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

impl ExactSizeIterator for ColumnIter<'_> {}
