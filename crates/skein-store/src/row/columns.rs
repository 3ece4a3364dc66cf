//! The columns that lie in a row itself: in one table, or in blocks of them.
//!
//! The invariants are those of `row`.

use std::ptr::NonNull;

use super::block::Block;
use super::table::Table;
use super::{BLOCKS, BLOCKS_COUNT, BODY, Kind, RowRef};

impl<'g> RowRef<'g> {
    pub(super) fn block_count(self) -> usize {
        (self.len() + BODY - BLOCKS) / size_of::<Block>()
    }

    pub(super) fn block_at(self, i: usize) -> NonNull<Block> {
        debug_assert!(i < self.block_count());
        // SAFETY: the offset is within the row's allocation (invariant 3).
        unsafe { self.start.add(BLOCKS).cast::<Block>().add(i) }
    }

    pub(super) fn blocks(self) -> &'g [Block] {
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
            Kind::Value | Kind::Other => 0,
        }
    }

    /// Table `i`; the tables together hold the columns in the order of their names.
    pub(crate) fn table(self, i: usize) -> Table<'g> {
        match self.kind() {
            Kind::Table => Table::trusted(self.body()),
            _ => self.blocks()[i].table(),
        }
    }

    /// One column of the row itself; `None` if there is none of that name, or the row has none.
    pub fn column(self, name: &[u8]) -> Option<&'g [u8]> {
        let table = match self.kind() {
            Kind::Table => Table::trusted(self.body()),
            Kind::Blocks => {
                let after = self.blocks().partition_point(|block| block.table().name(0) <= name);
                self.blocks()[after.checked_sub(1)?].table()
            }
            Kind::Value | Kind::Other => return None,
        };
        table.find(name).ok().map(|i| table.column(i).1)
    }

    /// All columns of the row itself, in the order of their names.
    pub fn columns(self) -> Columns<'g> {
        Columns { row: self, table: 0, next: 0, left: self.column_count() }
    }

    /// How many columns the row itself has.
    pub fn column_count(self) -> usize {
        match self.kind() {
            Kind::Table => Table::trusted(self.body()).count(),
            // SAFETY: the body of this kind starts with the count, at a multiple of 4 (invariant 3).
            Kind::Blocks => unsafe { self.start.add(BLOCKS_COUNT).cast::<u32>().read() as usize },
            Kind::Value | Kind::Other => 0,
        }
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
