//! Writes that replace all contents of a key, for every engine.

use crate::column_table::{self as table, Column};
use crate::{CollectionKind, MemberWrites, Row, RowAllocator, RowRef};

use super::change_or_make::{change_packed, copied_from, next_row, put_copied};
use super::row_change::RowChange;
use super::row_columns::check_columns;
use super::row_writer::{RowWriter, StoredCollection};
use crate::Error;

/// Replaces the contents by columns in one row; see [`RowWriter::replace_columns`].
pub(super) fn replace_row<W: RowWriter + ?Sized>(
    writer: &mut W,
    key: &[u8],
    columns: &[Column<'_>],
    expires: Option<u64>,
) -> std::result::Result<(), W::Error> {
    writer.check_sizes(key, table::content_len(columns))?;
    check_columns(key, columns)?;
    writer.update::<W::Error>(key, |_, rows| {
        let Some(row) = rows.merged(None, columns, &[])? else { return Ok(RowChange::Remove) };
        Ok(RowChange::Put(if expires.is_none() { row } else { rows.until(row.as_ref(), expires) }))
    })?;
    Ok(())
}

/// Replaces the contents of `key` by a collection with the members that `change` puts, until
/// `expires`. If `change` puts no members, removes the key. It is one write: the old row stays
/// until the new collection is complete. `change` runs again if another writer changes the key
/// meanwhile.
pub(super) fn replace_by_collection<W: RowWriter + ?Sized, R, E: From<Error> + From<W::Error>>(
    writer: &mut W,
    key: &[u8],
    kind: CollectionKind,
    expires: Option<u64>,
    mut change: impl FnMut(&mut dyn MemberWrites) -> std::result::Result<R, E>,
) -> std::result::Result<R, E> {
    let limits = writer.row_limits();
    if limits.admit(kind)
        && let Some((answer, members)) = change_packed(kind, None, limits, &mut change)?
    {
        writer.update::<W::Error>(key, |_, rows| Ok(next_row(&members, rows, expires)?))?;
        return Ok(answer);
    }
    loop {
        let base = writer.begin_at(key, |row| row.map(RowRef::version))?;
        let made = writer.make_collection(key, kind, base, expires, &mut change)?;
        let Some((answer, version)) = made else { continue };
        if version == 0 {
            writer.update::<W::Error>(key, |_, _| Ok(RowChange::Remove))?;
        }
        return Ok(answer);
    }
}

/// Renames a key; see [`RowWriter::rename`].
///
/// # Errors
/// As for that method.
pub fn rename_row<W: RowWriter + ?Sized>(
    writer: &mut W,
    from: &[u8],
    to: &[u8],
    replace: bool,
) -> std::result::Result<Option<bool>, W::Error> {
    let twin = |rows: &RowAllocator, row: RowRef<'_>| rows.until(row, row.expires_at());
    let mut found = None;
    writer.update::<W::Error>(from, |row, rows| {
        found = row.map(|row| twin(rows, row));
        Ok(RowChange::Keep)
    })?;
    let Some(row) = found else { return Ok(None) };
    if from == to {
        return Ok(Some(replace));
    }
    let put = writer.update::<W::Error>(to, |present, rows| {
        let refused = present.is_some() && !replace;
        Ok(if refused { RowChange::Keep } else { RowChange::Put(twin(rows, row.as_ref())) })
    })?;
    if put.changed {
        writer.update::<W::Error>(from, |_, _| Ok(RowChange::Remove))?;
    }
    Ok(Some(put.changed))
}

/// The contents of a key that are to be copied.
enum CopiedContents<C> {
    Row(Row),
    /// The members of a collection, until its expiry. A copy of the row would share them.
    Members(C, Option<u64>),
}

/// Copies a key; see [`RowWriter::copy`].
pub(super) fn copy_row<W: RowWriter + ?Sized>(
    writer: &mut W,
    from: &[u8],
    to: &[u8],
    replace: bool,
) -> std::result::Result<Option<bool>, W::Error> {
    let mut found = None;
    writer.update::<W::Error>(from, |row, rows| {
        found = row.map(|row| match W::Collection::of(row) {
            Some(collection) => CopiedContents::Members(collection, row.expires_at()),
            None => CopiedContents::Row(rows.until(row, row.expires_at())),
        });
        Ok(RowChange::Keep)
    })?;
    let (collection, expires) = match found {
        None => return Ok(None),
        Some(CopiedContents::Members(collection, expires)) => (collection, expires),
        Some(CopiedContents::Row(row)) => {
            let put = writer.update::<W::Error>(to, |present, rows| {
                let refused = present.is_some() && !replace;
                let twin = || rows.until(row.as_ref(), row.as_ref().expires_at());
                Ok(if refused { RowChange::Keep } else { RowChange::Put(twin()) })
            })?;
            return Ok(Some(put.changed));
        }
    };
    if !replace && writer.begin_at(to, |present| present.is_some())? {
        return Ok(Some(false));
    }
    let members =
        writer.change_collection::<_, W::Error>(from, &collection, |members| Ok(copied_from(members)?))?;
    // The caller excludes writers, so only an expired collection is dead.
    let Some(members) = members else { return Ok(None) };
    let kind = collection.kind();
    replace_by_collection::<W, _, W::Error>(writer, to, kind, expires, |into| {
        put_copied(kind, &members, into)?;
        Ok(Some(true))
    })
}
