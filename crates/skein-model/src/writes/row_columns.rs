//! Writes to columns in the row of their key: each makes the next row from the present one.

use crate::column_table::{self as table, Column};
use crate::{Row, RowAllocator, RowRef, VALUE_BYTES_MAX};

use super::row_change::{ColumnChanges, NoteColumns, RowChange};
use crate::row::TABLE_BYTES_MAX;
use crate::{Error, Result};

/// Returns the current row if it has columns, or `None` for an absent key. Errors if the key holds
/// a value.
fn columns_of(current: Option<RowRef<'_>>) -> Result<Option<RowRef<'_>>> {
    match current {
        Some(row) if !row.has_columns() => Err(Error::WrongKind { found: row.holds(), needed: "columns" }),
        row => Ok(row),
    }
}

/// Makes the row of a merge, and notes its changes.
fn merge(
    rows: &RowAllocator,
    note: NoteColumns<'_>,
    current: Option<RowRef<'_>>,
    set: &[Column<'_>],
    removed: &[&[u8]],
) -> Result<Option<Row>> {
    let row = rows.merged(current, set, removed)?;
    if let Some(row) = &row {
        note(ColumnChanges { row: row.as_ref(), set, removed });
    }
    Ok(row)
}

/// The bytes of a log record before its key.
const RECORD_HEAD: usize = 1 + 2 + 8;

/// Returns an upper bound for the log record of a put of these columns, in the log of the engine in
/// memory. Every engine has the same limit. The longest record is that of the whole row, with each
/// column in its own table. The former columns then fit one small table, because otherwise only the
/// changes are logged.
pub fn columns_record_len_max(key: &[u8], columns: &[Column<'_>]) -> usize {
    let tables = columns.len() * table::HEADS_OF_ONE_MAX + table::content_len(columns);
    RECORD_HEAD + key.len() + size_of::<u64>() + 2 * TABLE_BYTES_MAX + tables
}

/// Rejects columns that fit no row or no record.
///
/// # Errors
/// `ValueTooLong`, `WriteTooLong`.
pub fn check_columns(key: &[u8], columns: &[Column<'_>]) -> Result<()> {
    Error::check_value_len(table::content_len(columns), VALUE_BYTES_MAX)?;
    Error::check_record_len(columns_record_len_max(key, columns))
}

/// Makes the row after a put of checked columns. Returns the change and the number of new names.
pub(super) fn decide_put(
    columns: &[Column<'_>],
    current: Option<RowRef<'_>>,
    rows: &RowAllocator,
    note: NoteColumns<'_>,
) -> Result<(RowChange, usize)> {
    let current = columns_of(current)?;
    let Some(row) = merge(rows, note, current, columns, &[])? else {
        return Ok((RowChange::Keep, 0));
    };
    let new = row.as_ref().column_count() - current.map_or(0, RowRef::column_count);
    Ok((RowChange::Put(row), new))
}

/// Makes the row after a removal of columns. Returns the change and the number of removed columns.
pub(super) fn decide_removal(
    names: &[&[u8]],
    current: Option<RowRef<'_>>,
    rows: &RowAllocator,
    note: NoteColumns<'_>,
) -> Result<(RowChange, usize)> {
    let Some(old) = columns_of(current)? else { return Ok((RowChange::Keep, 0)) };
    // Absent names are left out, because the length of a log record is bounded.
    let names: Vec<&[u8]> = names.iter().copied().filter(|name| old.column(name).is_some()).collect();
    if names.is_empty() {
        return Ok((RowChange::Keep, 0));
    }
    let row = merge(rows, note, current, &[], &names)?;
    let gone = old.column_count() - row.as_ref().map_or(0, |row| row.as_ref().column_count());
    if let Some(row) = row {
        return Ok((RowChange::Put(row), gone));
    }
    Ok((RowChange::Remove, gone))
}

/// Makes the row after an update of one column.
pub(super) fn decide_update<E: From<Error>>(
    key: &[u8],
    column: &[u8],
    current: Option<RowRef<'_>>,
    rows: &RowAllocator,
    note: NoteColumns<'_>,
    decide: &mut impl FnMut(Option<&[u8]>) -> std::result::Result<Option<Vec<u8>>, E>,
) -> std::result::Result<RowChange, E> {
    let current = columns_of(current)?;
    let Some(value) = decide(current.and_then(|row| row.column(column)))? else { return Ok(RowChange::Keep) };
    let set = [(column, &value[..])];
    check_columns(key, &set)?;
    Ok(merge(rows, note, current, &set, &[])?.map_or(RowChange::Keep, RowChange::Put))
}
