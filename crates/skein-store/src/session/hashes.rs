//! Writes to columns, in both of their places: in the row of their key, or, if they are too many
//! for a row, each as its own entry of the member index.
//!
//! ```text
//!   put_columns ─► update_recorded ─┬─ row with few columns, or absent ─► replace the row
//!                                   ├─ new row has too many columns ────► spread: columns become
//!                                   │                                     members, and a main row
//!                                   │                                     replaces the row
//!                                   └─ row stands for spread columns ───► put or remove members;
//!                                                                         the row stays
//! ```
//!
//! All columns of a row are spread at once, under the lock of a new collection (`collection`,
//! invariant 4). So the disk has either the old row, or the new row with all its columns. Spread
//! columns are never moved back into a row.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::member_writer::MemberWriter;
use super::row_writer::{Recorder, check_columns, decide_put, decide_removal, decide_update};
use super::whole_rows::replace_row;
use super::writer::{RowChange, RowUpdate};
use super::{RowWriter as _, Writer};
use crate::collection::{Collection, CollectionKind, MEMBER_BYTES_MAX};
use crate::row::table::{self, Column};
use crate::row::{Row, RowAllocator, RowRef};
use crate::{Error, Result};

/// The largest number of columns that a row keeps if writes spread columns; see
/// [`Session::spread_columns`](crate::Session::spread_columns).
pub const ROW_COLUMNS_MAX: usize = 64;

/// The reason why a write to columns was not applied to a row.
enum ColumnsElsewhere<E> {
    /// The row, with this version, stands for spread columns.
    Hash(Arc<Collection>, u64),
    /// The new row would have too many columns: the new row, and the version of the row it is based
    /// on.
    Spread(Row, Option<u64>),
    Failed(E),
}

impl<E: From<Error>> From<Error> for ColumnsElsewhere<E> {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Writer<'_> {
    /// Returns a function that tells whether to spread a row. While memory is used up no row is
    /// spread, because spreading takes memory.
    fn spreads(&self) -> impl Fn(RowRef<'_>) -> bool + use<> {
        let may = self.spread && (self.is_admitted() || self.over_budget.is_none());
        move |row| {
            let fits = |(name, _): Column<'_>| name.len() <= MEMBER_BYTES_MAX;
            may && row.column_count() > ROW_COLUMNS_MAX && row.columns().all(fits)
        }
    }

    /// Changes columns: `in_row` makes a new row from the present one, `elsewhere` changes spread
    /// columns. Either may be called again if another writer changes the key meanwhile.
    fn change_columns<E: From<Error>>(
        &mut self,
        key: &[u8],
        mut in_row: impl FnMut(
            Option<RowRef<'_>>,
            &RowAllocator,
            &mut Recorder<'_>,
        ) -> std::result::Result<RowChange, E>,
        mut elsewhere: impl FnMut(&mut HashWriter<'_>) -> std::result::Result<bool, E>,
    ) -> std::result::Result<RowUpdate, E> {
        let spreads = self.spreads();
        loop {
            let updated = self.update_recorded(key, |current, rows, recorder| {
                let hash = current.filter(|row| row.is_hash());
                if let Some((collection, row)) = hash.and_then(RowRef::shared_collection).zip(current) {
                    return Err(ColumnsElsewhere::Hash(collection, row.version()));
                }
                match in_row(current, rows, recorder).map_err(ColumnsElsewhere::Failed)? {
                    RowChange::Put(row) if spreads(row.as_ref()) => {
                        Err(ColumnsElsewhere::Spread(row, current.map(RowRef::version)))
                    }
                    change => Ok(change),
                }
            });
            // Without an answer, the collection died or the row changed meanwhile.
            let done = match updated {
                Ok(updated) => Some(updated),
                Err(ColumnsElsewhere::Failed(error)) => return Err(error),
                Err(ColumnsElsewhere::Spread(row, base)) => self.spread_row(key, &row, base)?,
                Err(ColumnsElsewhere::Hash(collection, version)) => {
                    let change = |members: MemberWriter<'_>| elsewhere(&mut HashWriter { members });
                    let changed = self.change_collection(key, &collection, change)?;
                    changed.map(|changed| RowUpdate { existed: true, changed, version })
                }
            };
            if let Some(updated) = done {
                return Ok(updated);
            }
        }
    }

    /// Spreads the columns of `row` and puts a main row for them, if the key still has version
    /// `base`.
    fn spread_row(&mut self, key: &[u8], row: &Row, base: Option<u64>) -> Result<Option<RowUpdate>> {
        let row = row.as_ref();
        let made = self.make_collection(key, CollectionKind::Hash, base, row.expires_at(), |members| {
            let mut hash = HashWriter { members };
            row.columns().try_for_each(|(name, value)| hash.put(name, value).map(drop))
        })?;
        Ok(made.map(|((), version)| RowUpdate { existed: base.is_some(), changed: true, version }))
    }

    /// Puts checked columns, as [`put_columns`](super::RowWriter::put_columns).
    pub(super) fn put_checked_columns(&mut self, key: &[u8], columns: &[Column<'_>]) -> Result<usize> {
        let new = Cell::new(0);
        self.change_columns(
            key,
            |current, rows, recorder| {
                let (change, count) = decide_put(key, columns, current, rows, recorder)?;
                new.set(count);
                Ok(change)
            },
            |hash| {
                hash.members.expect(columns.iter().map(|(name, _)| *name));
                hash.admit(columns)?;
                let mut count = 0;
                for (name, value) in columns {
                    count += usize::from(hash.put(name, value)?);
                }
                new.set(count);
                Ok::<_, Error>(true)
            },
        )?;
        Ok(new.get())
    }

    /// As [`replace_columns`](super::RowWriter::replace_columns).
    pub(super) fn replace_all_columns(
        &mut self,
        key: &[u8],
        columns: &[Column<'_>],
        expires: Option<u64>,
    ) -> Result<()> {
        let fits = |(name, _): &Column<'_>| name.len() <= MEMBER_BYTES_MAX;
        if !self.spread || columns.len() <= ROW_COLUMNS_MAX || !columns.iter().all(fits) {
            return replace_row(self, key, columns, expires);
        }
        for column in columns.chunks(1) {
            check_columns(key, column)?;
            self.core.check_sizes(key, table::content_len(column))?;
        }
        self.begin_write()?;
        self.replace_by_collection(key, CollectionKind::Hash, expires, |members| {
            let mut hash = HashWriter { members };
            hash.admit(columns)?;
            columns.iter().try_for_each(|(name, value)| hash.put(name, value).map(drop))
        })
    }

    /// As [`remove_columns`](super::RowWriter::remove_columns).
    pub(super) fn remove_named_columns(&mut self, key: &[u8], names: &[&[u8]]) -> Result<usize> {
        let gone = Cell::new(0);
        self.change_columns(
            key,
            |current, rows, recorder| {
                let (change, count) = decide_removal(key, names, current, rows, recorder)?;
                gone.set(count);
                Ok(change)
            },
            |hash| {
                hash.members.expect(names.iter().copied());
                let mut count = 0;
                for name in names {
                    count += usize::from(hash.remove(name));
                }
                gone.set(count);
                Ok::<_, Error>(count > 0)
            },
        )?;
        Ok(gone.get())
    }

    /// As [`update_column`](super::RowWriter::update_column).
    pub(super) fn update_named_column<E: From<Error>>(
        &mut self,
        key: &[u8],
        column: &[u8],
        decide: impl FnMut(Option<&[u8]>) -> std::result::Result<Option<Vec<u8>>, E>,
    ) -> std::result::Result<RowUpdate, E> {
        let (core, decide) = (self.core, RefCell::new(decide));
        self.change_columns(
            key,
            |current, rows, recorder| {
                decide_update(key, column, current, rows, recorder, &mut *decide.borrow_mut())
            },
            |hash| {
                let present = hash.members.look(column).and_then(RowRef::value);
                let Some(value) = (decide.borrow_mut())(present)? else { return Ok(false) };
                let set = [(column, &value[..])];
                check_columns(key, &set)?;
                core.check_sizes(key, table::content_len(&set))?;
                hash.admit(&set)?;
                hash.put(column, &value)?;
                Ok(true)
            },
        )
    }
}

/// A hash with spread columns, while its lock is held exclusively.
struct HashWriter<'w> {
    members: MemberWriter<'w>,
}

impl HashWriter<'_> {
    /// Checks all columns before the first one is put. Errors if one of them cannot be put.
    fn admit(&mut self, columns: &[Column<'_>]) -> Result<()> {
        for (name, value) in columns {
            check_name(name)?;
            if let Err(refused) = self.members.admit_growth() {
                let present = self.members.look(name).and_then(RowRef::value);
                if present.is_none_or(|present| present.len() < value.len()) {
                    return Err(refused);
                }
            }
        }
        Ok(())
    }

    /// Puts a column. Returns whether its name is new.
    fn put(&mut self, name: &[u8], value: &[u8]) -> Result<bool> {
        self.members.note_value(name);
        let seen = self.members.look(name).map(RowRef::version);
        self.members.put(seen, value)?;
        self.members.state.columns += u64::from(seen.is_none());
        Ok(seen.is_none())
    }

    /// Removes a column. Returns whether it was present.
    fn remove(&mut self, name: &[u8]) -> bool {
        self.members.note_value(name);
        let Some(seen) = self.members.look(name).map(RowRef::version) else { return false };
        self.members.remove(seen);
        self.members.state.columns -= 1;
        true
    }
}

/// Rejects a name that the member index cannot hold.
pub(super) fn check_name(name: &[u8]) -> Result<()> {
    let (len, limit) = (name.len(), MEMBER_BYTES_MAX);
    if len > limit { Err(Error::ColumnNameTooLong { len, limit }) } else { Ok(()) }
}
