//! Makes rows of columns: new rows, and rows from a former row with some columns set and some
//! removed.
//!
//! A merge visits the former columns table by table. The new row shares a block in which nothing
//! changes; runs of changed columns are packed into new blocks. If the columns fit one table again,
//! the row becomes one table.

use std::ptr::NonNull;

use crate::column_table::{self as table, Column, ColumnTable, TableSize};

use super::block::ColumnBlock;
use super::{
    BLOCKS, BLOCKS_COUNT, BLOCKS_FOOTPRINT, BODY, Row, RowAllocator, RowKind, RowRef, TABLE_BYTES_MAX,
};

/// The target size of a block's table. A single longer column has its own block.
const BLOCK_BYTES: usize = 1 << 10;

/// A smaller block is repacked with a neighbour when a block next to it changes.
const BLOCK_BYTES_MIN: usize = BLOCK_BYTES / 4;

impl Row {
    pub(super) fn merged(
        rows: &RowAllocator,
        current: Option<RowRef<'_>>,
        set: &[Column<'_>],
        remove: &[&[u8]],
    ) -> Option<Self> {
        if let Some(row) = Self::after_one_change(rows, current, set, remove) {
            return Some(row);
        }
        let set = sorted(set);
        let mut remove: Vec<&[u8]> = remove.to_vec();
        remove.sort_unstable();
        let mut packer = BlockPacker::new(rows, current.and_then(RowRef::expires_at));
        match current {
            Some(row) if row.has_columns() => merge_into(&mut packer, row, &set, &remove),
            _ => packer.run.extend_from_slice(&set),
        }
        packer.finish()
    }

    /// Makes a row of columns that are strictly ascending by name. Returns `None` without columns.
    pub fn from_sorted(rows: &RowAllocator, columns: &[Column<'_>], expires: Option<u64>) -> Option<Self> {
        let mut packer = BlockPacker::new(rows, expires);
        packer.run.extend_from_slice(columns);
        packer.flush_if_over(TABLE_BYTES_MAX);
        packer.finish()
    }

    /// Makes the row of one table after a put or a removal of one column, without a list of the
    /// others. Returns `None` for all other merges.
    fn after_one_change(
        rows: &RowAllocator,
        current: Option<RowRef<'_>>,
        set: &[Column<'_>],
        remove: &[&[u8]],
    ) -> Option<Self> {
        let row = current?;
        if row.kind() != RowKind::Table {
            return None;
        }
        let table = row.table(0);
        let spliced = match (set, remove) {
            (&[column], []) => table.put(column)?,
            ([], [name]) if table.count() > 1 => table.remove(table.find(name).ok()?)?,
            _ => return None,
        };
        (spliced.bytes() <= TABLE_BYTES_MAX)
            .then(|| Self::of_table(rows, spliced.bytes(), row.expires_at(), |body| spliced.write(body)))
    }

    fn from_table(rows: &RowAllocator, columns: &[Column<'_>], expires: Option<u64>) -> Self {
        Self::of_table(rows, table::size(columns), expires, |body| table::write(columns, body))
    }

    /// Makes a row of one table of `size` bytes, which `write` writes.
    #[inline]
    fn of_table(
        rows: &RowAllocator,
        size: usize,
        expires: Option<u64>,
        write: impl FnOnce(&mut [u8]),
    ) -> Self {
        let mut row = Self::with_body(rows, RowKind::Table, size, expires);
        // SAFETY: the body is fresh, `size` bytes long and owned only by this row.
        let body = unsafe {
            let body = row.body_mut().as_ptr();
            body.write_bytes(0, size);
            std::slice::from_raw_parts_mut(body, size)
        };
        write(body);
        row
    }

    pub(super) fn from_blocks(rows: &RowAllocator, blocks: Vec<ColumnBlock>, expires: Option<u64>) -> Self {
        let len = BLOCKS - BODY + blocks.len() * size_of::<ColumnBlock>();
        let row = Self::with_body(rows, RowKind::Blocks, len, expires);
        let count: usize = blocks.iter().map(|block| block.table().count()).sum();
        let footprint: usize = blocks.iter().map(ColumnBlock::footprint).sum();
        // SAFETY: the offsets are within the fresh body and aligned for the values written there;
        // the handle of every block moves into the row (invariant 3 of `row`).
        unsafe {
            row.start.add(BLOCKS_COUNT).cast::<u32>().write(count as u32);
            row.start.add(BLOCKS_FOOTPRINT).cast::<u64>().write(footprint as u64);
            let mut at: NonNull<ColumnBlock> = row.start.add(BLOCKS).cast();
            for block in blocks {
                at.write(block);
                at = at.add(1);
            }
        }
        row
    }
}

/// Sorts the columns by name. Of equal names the last is kept.
fn sorted<'a>(columns: &[Column<'a>]) -> Vec<Column<'a>> {
    let mut sorted = columns.to_vec();
    if !sorted.is_sorted_by(|a, b| a.0 < b.0) {
        // The sort is stable, so the last of equal names stays last among them. `dedup` keeps the
        // first, hence the two reversals.
        sorted.sort_by_key(|column| column.0);
        sorted.reverse();
        sorted.dedup_by_key(|column| column.0);
        sorted.reverse();
    }
    sorted
}

/// Visits the tables of `row` and passes changed runs and unchanged blocks to `packer`, in order.
fn merge_into<'a>(packer: &mut BlockPacker<'a>, row: RowRef<'a>, mut set: &[Column<'a>], remove: &[&[u8]]) {
    let tables = row.table_count();
    for i in 0..tables {
        let table = row.table(i);
        let here = match (i + 1 < tables).then(|| row.table(i + 1).name(0)) {
            Some(next) => set.partition_point(|column| column.0 < next),
            None => set.len(),
        };
        let (changes, later) = set.split_at(here);
        set = later;
        let removes = removes_any(table, remove);
        if row.is_large() && changes.is_empty() && !removes && packer.takes_whole(table) {
            packer.share(row.blocks()[i].clone());
        } else {
            merge_table(&mut packer.run, table, changes, if removes { remove } else { &[] });
            if row.is_large() {
                packer.flush_if_over(BLOCK_BYTES);
            }
        }
    }
}

/// Returns whether a sorted list of names contains a column of this table.
fn removes_any(table: ColumnTable<'_>, remove: &[&[u8]]) -> bool {
    let first = remove.partition_point(|name| *name < table.name(0));
    let last = table.name(table.count() - 1);
    remove[first..].iter().take_while(|name| **name <= last).any(|name| table.find(name).is_ok())
}

/// Appends the columns of a table to `run`, with the changes.
fn merge_table<'a>(
    run: &mut Vec<Column<'a>>,
    table: ColumnTable<'a>,
    mut set: &[Column<'a>],
    remove: &[&[u8]],
) {
    for old in table.columns() {
        let before = set.partition_point(|column| column.0 < old.0);
        run.extend_from_slice(&set[..before]);
        set = &set[before..];
        let replaced = set.first().is_some_and(|column| column.0 == old.0);
        if !replaced && remove.binary_search(&old.0).is_err() {
            run.push(old);
        }
    }
    run.extend_from_slice(set);
}

/// Collects columns in order and packs them into blocks.
struct BlockPacker<'a> {
    rows: &'a RowAllocator,
    expires: Option<u64>,
    done: Vec<ColumnBlock>,
    /// The columns after `done` that are not packed yet.
    run: Vec<Column<'a>>,
}

impl<'a> BlockPacker<'a> {
    fn new(rows: &'a RowAllocator, expires: Option<u64>) -> Self {
        Self { rows, expires, done: Vec::new(), run: Vec::new() }
    }

    /// Returns whether an unchanged block may be shared. If the block or the columns before it are
    /// small, they should become one block instead.
    fn takes_whole(&self, table: ColumnTable<'_>) -> bool {
        table.bytes().len() >= BLOCK_BYTES_MIN
            && (self.run.is_empty() || table::size(&self.run) >= BLOCK_BYTES_MIN)
    }

    fn share(&mut self, block: ColumnBlock) {
        self.pack();
        self.done.push(block);
    }

    /// Packs the collected columns if they exceed the size of a table.
    fn flush_if_over(&mut self, size_max: usize) {
        if table::size(&self.run) > size_max {
            self.pack();
        }
    }

    /// Packs the collected columns into blocks of about equal size.
    fn pack(&mut self) {
        let parts = table::size(&self.run).div_ceil(BLOCK_BYTES);
        let aim = table::size(&self.run).div_ceil(parts.max(1));
        let mut rest = &self.run[..];
        while !rest.is_empty() {
            let mut size = TableSize::default();
            let taken = rest
                .iter()
                .take_while(|column| {
                    let (before, with) = (size.bytes(), size.with(**column));
                    let fits = size.is_empty() || with.bytes() <= BLOCK_BYTES.max(aim);
                    size = with;
                    fits && before < aim
                })
                .count();
            let (block, later) = rest.split_at(taken);
            self.done.push(ColumnBlock::new(self.rows, block));
            rest = later;
        }
        self.run.clear();
    }

    fn finish(mut self) -> Option<Row> {
        let shared: usize = self.done.iter().map(|block| block.table().bytes().len()).sum();
        if shared == 0 && self.run.is_empty() {
            return None;
        }
        if shared == 0 && table::size(&self.run) <= TABLE_BYTES_MAX {
            return Some(Row::from_table(self.rows, &self.run, self.expires));
        }
        if shared + table::size(&self.run) <= TABLE_BYTES_MAX / 2 {
            let blocks = std::mem::take(&mut self.done);
            let mut columns: Vec<Column<'_>> =
                blocks.iter().flat_map(|block| block.table().columns()).collect();
            columns.extend_from_slice(&self.run);
            return Some(Row::from_table(self.rows, &columns, self.expires));
        }
        self.pack();
        Some(Row::from_blocks(self.rows, self.done, self.expires))
    }
}
