//! Writes to columns, in both of their places: in the row of their key, or, if they are too many
//! for a row, each as a member of a collection.
//!
//! ```text
//!   put_columns ─► update_with_notes ─┬─ row with few columns, or absent ─► replace the row
//!                                     ├─ new row has too many columns ────► spread: columns become
//!                                     │                                     members, and a main row
//!                                     │                                     replaces the row
//!                                     └─ row stands for spread columns ───► put or remove members;
//!                                                                           the row stays
//! ```
//!
//! All columns of a row are spread at once, by one `make_collection`. So the disk has either the old row, or the new row with all its columns. Spread
//! columns are never moved back into a row.

use std::cell::{Cell, RefCell};

use crate::column_table::{self as table, Column};
use crate::{CollectionKind, MEMBER_BYTES_MAX, MemberWrites, Row, RowAllocator, RowRef};

use super::row_change::{NoteColumns, RowChange, RowUpdate};
use super::row_columns::{check_columns, decide_put, decide_removal, decide_update};
use super::row_writer::{RowWriter, StoredCollection};
use super::whole_rows::{replace_by_collection, replace_row};
use crate::{Error, Result};

/// The largest number of columns that a row keeps if writes spread columns; see
/// [`RowWriter::spreads_columns`].
pub const ROW_COLUMNS_MAX: usize = 64;

/// The place of columns that a write did not find in a row.
enum ColumnsElsewhere<C> {
    /// The row, with this version, stands for spread columns.
    Hash(C, u64),
    /// The new row would have too many columns: the new row, and the version of the row it is based
    /// on.
    Spread(Row, Option<u64>),
}

/// Returns whether a name fits a collection.
fn fits(name: &[u8]) -> bool {
    name.len() <= MEMBER_BYTES_MAX
}

/// Changes columns: `in_row` makes a new row from the present one, `elsewhere` changes spread
/// columns. Either may be called again if another writer changes the key meanwhile.
fn change_columns<W: RowWriter + ?Sized, E: From<Error> + From<W::Error>>(
    writer: &mut W,
    key: &[u8],
    mut in_row: impl FnMut(
        Option<RowRef<'_>>,
        &RowAllocator,
        NoteColumns<'_>,
    ) -> std::result::Result<RowChange, E>,
    mut in_hash: impl FnMut(&mut HashWriter<'_>) -> std::result::Result<bool, E>,
) -> std::result::Result<RowUpdate, E> {
    let may_spread = writer.spreads_columns();
    let spreads = |row: RowRef<'_>| {
        may_spread && row.column_count() > ROW_COLUMNS_MAX && row.columns().all(|(name, _)| fits(name))
    };
    loop {
        let mut elsewhere = None;
        let updated = writer.update_with_notes::<E>(key, |current, rows, note| {
            elsewhere = None;
            let hash = current.filter(|row| row.is_hash());
            if let Some((collection, row)) = hash.and_then(W::Collection::of).zip(current) {
                elsewhere = Some(ColumnsElsewhere::Hash(collection, row.version()));
                return Ok(RowChange::Keep);
            }
            match in_row(current, rows, note)? {
                RowChange::Put(row) if spreads(row.as_ref()) => {
                    elsewhere = Some(ColumnsElsewhere::Spread(row, current.map(RowRef::version)));
                    Ok(RowChange::Keep)
                }
                change => Ok(change),
            }
        })?;
        // Without an answer, the collection died or the row changed meanwhile.
        let done = match elsewhere {
            None => Some(updated),
            Some(ColumnsElsewhere::Spread(row, base)) => spread_row(writer, key, &row, base)?,
            Some(ColumnsElsewhere::Hash(collection, version)) => {
                let change = |members: &mut dyn MemberWrites| in_hash(&mut HashWriter { members });
                let changed = writer.change_collection(key, &collection, change)?;
                changed.map(|changed| RowUpdate { existed: true, changed, version })
            }
        };
        if let Some(updated) = done {
            return Ok(updated);
        }
    }
}

/// Spreads the columns of `row` and puts a main row for them, if the key still has version `base`.
fn spread_row<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    row: &Row,
    base: Option<u64>,
) -> std::result::Result<Option<RowUpdate>, W::Error> {
    let row = row.as_ref();
    let put_all = |members: &mut dyn MemberWrites| {
        let mut hash = HashWriter { members };
        Ok(row.columns().try_for_each(|(name, value)| hash.put(name, value).map(drop))?)
    };
    let made =
        writer.make_collection::<_, W::Error>(key, CollectionKind::Hash, base, row.expires_at(), put_all)?;
    Ok(made.map(|((), version)| RowUpdate { existed: base.is_some(), changed: true, version }))
}

/// Puts columns; see [`RowWriter::put_columns`].
pub(super) fn put_columns<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    columns: &[Column<'_>],
) -> std::result::Result<usize, W::Error> {
    if columns.is_empty() {
        return Ok(0);
    }
    writer.check_sizes(key, table::content_len(columns))?;
    check_columns(key, columns)?;
    put_checked_columns(writer, key, columns)
}

/// Puts columns as [`RowWriter::put_columns`] does, after the check of their sizes.
///
/// # Errors
/// As for `put_columns`.
pub fn put_checked_columns<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    columns: &[Column<'_>],
) -> std::result::Result<usize, W::Error> {
    let new = Cell::new(0);
    change_columns::<W, W::Error>(
        writer,
        key,
        |current, rows, note| {
            let (change, count) = decide_put(columns, current, rows, note)?;
            new.set(count);
            Ok(change)
        },
        |hash| {
            hash.members.expect(&mut columns.iter().map(|(name, _)| *name));
            hash.admit(columns)?;
            let mut count = 0;
            for (name, value) in columns {
                count += usize::from(hash.put(name, value)?);
            }
            new.set(count);
            Ok(true)
        },
    )?;
    Ok(new.get())
}

/// Replaces the contents of a key by columns; see [`RowWriter::replace_columns`].
pub(super) fn replace_columns<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    columns: &[Column<'_>],
    expires: Option<u64>,
) -> std::result::Result<(), W::Error> {
    let spreads = writer.spreads_columns()
        && columns.len() > ROW_COLUMNS_MAX
        && columns.iter().all(|(name, _)| fits(name));
    if !spreads {
        return replace_row(writer, key, columns, expires);
    }
    for column in columns.chunks(1) {
        check_columns(key, column)?;
        writer.check_sizes(key, table::content_len(column))?;
    }
    replace_by_collection::<W, _, W::Error>(writer, key, CollectionKind::Hash, expires, |members| {
        let mut hash = HashWriter { members };
        hash.admit(columns)?;
        Ok(columns.iter().try_for_each(|(name, value)| hash.put(name, value).map(drop))?)
    })
}

/// Removes columns; see [`RowWriter::remove_columns`].
pub(super) fn remove_columns<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    names: &[&[u8]],
) -> std::result::Result<usize, W::Error> {
    let gone = Cell::new(0);
    change_columns::<W, W::Error>(
        writer,
        key,
        |current, rows, note| {
            let (change, count) = decide_removal(names, current, rows, note)?;
            gone.set(count);
            Ok(change)
        },
        |hash| {
            hash.members.expect(&mut names.iter().copied());
            let mut count = 0;
            for name in names {
                count += usize::from(hash.members.remove_value(name)?);
            }
            gone.set(count);
            Ok(count > 0)
        },
    )?;
    Ok(gone.get())
}

/// Updates one column; see [`RowWriter::update_column`].
pub(super) fn update_column<W: RowWriter + ?Sized, E: From<Error> + From<W::Error>>(
    writer: &mut W,
    key: &[u8],
    column: &[u8],
    decide: impl FnMut(Option<&[u8]>) -> std::result::Result<Option<Vec<u8>>, E>,
) -> std::result::Result<RowUpdate, E> {
    let decide = RefCell::new(decide);
    change_columns::<W, E>(
        writer,
        key,
        |current, rows, note| decide_update(key, column, current, rows, note, &mut *decide.borrow_mut()),
        |hash| {
            let present = hash.members.value(column)?;
            let Some(value) = (decide.borrow_mut())(present.as_deref())? else { return Ok(false) };
            let set = [(column, &value[..])];
            check_columns(key, &set)?;
            hash.members.check_sizes(key, table::content_len(&set))?;
            hash.admit(&set)?;
            hash.put(column, &value)?;
            Ok(true)
        },
    )
}

/// A hash with spread columns, while its lock is held exclusively.
struct HashWriter<'w> {
    members: &'w mut dyn MemberWrites,
}

impl HashWriter<'_> {
    /// Checks all columns before the first one is put. Errors if one of them cannot be put.
    fn admit(&mut self, columns: &[Column<'_>]) -> Result<()> {
        for (name, value) in columns {
            Error::check_column_name(name)?;
            if let Err(refused) = self.members.admit_growth() {
                let mut present = None;
                self.members.with_value(name, &mut |value| present = Some(value.len()))?;
                if present.is_none_or(|present| present < value.len()) {
                    return Err(refused);
                }
            }
        }
        Ok(())
    }

    /// Puts a column. Returns whether its name is new.
    fn put(&mut self, name: &[u8], value: &[u8]) -> Result<bool> {
        self.members.put_value(name, value)
    }
}
