//! Writes to columns in the row of their key: each makes the next row from the present one.

use skein_model::column_table::{self as table, Column};
use skein_model::{Row, RowAllocator, RowRef, VALUE_BYTES_MAX};

use super::recorder::Recorder;
use super::writer::RowChange;
use crate::record;
use crate::{Error, Result};

/// Returns the current row if it has columns, or `None` for an absent key. Errors if the key holds
/// a value.
fn columns_of(current: Option<RowRef<'_>>) -> Result<Option<RowRef<'_>>> {
    match current {
        Some(row) if !row.has_columns() => Err(Error::WrongKind { found: row.holds(), needed: "columns" }),
        row => Ok(row),
    }
}

/// Makes the row of a merge and its record. The record has only the changes if old and new row are
/// large, else the whole row.
fn merge(
    rows: &RowAllocator,
    recorder: &mut Recorder<'_>,
    key: &[u8],
    current: Option<RowRef<'_>>,
    set: &[Column<'_>],
    remove: &[&[u8]],
) -> Result<Option<Row>> {
    let Some(row) = rows.merged(current, set, remove)? else { return Ok(None) };
    if let Some(out) = &mut recorder.0 {
        if current.is_some_and(RowRef::is_large) && row.as_ref().is_large() {
            record::write_merge(out, key, 0, set, remove);
        } else {
            record::write_row(out, key, row.as_ref());
        }
    }
    Ok(Some(row))
}

/// Rejects columns that fit no row or no record.
pub(super) fn check_columns(key: &[u8], columns: &[Column<'_>]) -> Result<()> {
    Error::check_value_len(table::content_len(columns), VALUE_BYTES_MAX)?;
    Error::check_record_len(record::columns_len_max(key, columns))
}

/// Makes the row after a put of checked columns. Returns the change and the number of new names.
pub(super) fn decide_put(
    key: &[u8],
    columns: &[Column<'_>],
    current: Option<RowRef<'_>>,
    rows: &RowAllocator,
    recorder: &mut Recorder<'_>,
) -> Result<(RowChange, usize)> {
    let current = columns_of(current)?;
    let Some(row) = merge(rows, recorder, key, current, columns, &[])? else {
        return Ok((RowChange::Keep, 0));
    };
    let new = row.as_ref().column_count() - current.map_or(0, RowRef::column_count);
    Ok((RowChange::Put(row), new))
}

/// Makes the row after a removal of columns. Returns the change and the number of removed columns.
pub(super) fn decide_removal(
    key: &[u8],
    names: &[&[u8]],
    current: Option<RowRef<'_>>,
    rows: &RowAllocator,
    recorder: &mut Recorder<'_>,
) -> Result<(RowChange, usize)> {
    let Some(old) = columns_of(current)? else { return Ok((RowChange::Keep, 0)) };
    // Absent names are left out, because the length of a log record is bounded.
    let names: Vec<&[u8]> = names.iter().copied().filter(|name| old.column(name).is_some()).collect();
    if names.is_empty() {
        return Ok((RowChange::Keep, 0));
    }
    let row = merge(rows, recorder, key, current, &[], &names)?;
    let gone = old.column_count() - row.as_ref().map_or(0, |row| row.as_ref().column_count());
    if let Some(row) = row {
        return Ok((RowChange::Put(row), gone));
    }
    recorder.record_whole(key, &RowChange::Remove);
    Ok((RowChange::Remove, gone))
}

/// Makes the row after an update of one column.
pub(super) fn decide_update<E: From<Error>>(
    key: &[u8],
    column: &[u8],
    current: Option<RowRef<'_>>,
    rows: &RowAllocator,
    recorder: &mut Recorder<'_>,
    decide: &mut impl FnMut(Option<&[u8]>) -> std::result::Result<Option<Vec<u8>>, E>,
) -> std::result::Result<RowChange, E> {
    let current = columns_of(current)?;
    let Some(value) = decide(current.and_then(|row| row.column(column)))? else { return Ok(RowChange::Keep) };
    let set = [(column, &value[..])];
    check_columns(key, &set)?;
    Ok(merge(rows, recorder, key, current, &set, &[])?.map_or(RowChange::Keep, RowChange::Put))
}
