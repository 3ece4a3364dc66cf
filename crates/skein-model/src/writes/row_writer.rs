//! The writes to rows and collections, which every engine offers.

use std::sync::Arc;

use crate::column_table::Column;
use crate::row::{ResidentCollection, SharedCollection};
use crate::{
    CollectionHead, CollectionKind, ListEnd, ListWriter, MemberWrites, RowAllocator, RowLimits, RowRef,
    SetWriter,
};

use super::change_or_make::change_or_make;
use super::hashes::{put_columns, remove_columns, replace_columns, update_column};
use super::move_element::move_element;
use super::move_member::move_member;
use super::row_change::{NoteColumns, RowChange, RowUpdate};
use super::values;
use super::whole_rows::{copy_row, rename_row, replace_by_collection};
use crate::{Error, Result};

/// Writes to rows and collections. An engine implements the primitives: the methods without a body.
/// All other writes stand on them.
pub trait RowWriter {
    /// The error of a write that was not done.
    type Error: From<Error>;

    /// A collection that a row stands for.
    type Collection: StoredCollection;

    /// Rejects a key or contents over the limit.
    ///
    /// # Errors
    /// `KeyTooLong`, `ValueTooLong`.
    fn check_sizes(&self, key: &[u8], bytes: usize) -> Result<()>;

    /// Returns whether writes may spread the columns of a row now: make a collection of them if they
    /// are more than [`ROW_COLUMNS_MAX`](crate::ROW_COLUMNS_MAX).
    fn spreads_columns(&self) -> bool;

    /// Returns the limits within which writes keep a collection in the row of its key.
    fn row_limits(&self) -> RowLimits;

    /// Begins a write to a key, and calls `look` with its present row.
    ///
    /// # Errors
    /// Writes are stopped, and the errors of the engine.
    fn begin_at<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Option<RowRef<'_>>) -> R,
    ) -> std::result::Result<R, Self::Error>;

    /// Calls `change` with the collection that was found at `key`, and removes the key with its
    /// last member. It is one write, for readers and on disk. Returns `None` if the collection is
    /// dead. After an error of `change` the collection is unchanged.
    ///
    /// # Errors
    /// Those of `change` and of the engine.
    fn change_collection<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        collection: &Self::Collection,
        change: impl FnOnce(&mut dyn MemberWrites) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E>;

    /// Makes a collection with the members that `change` puts, and puts a main row for it until
    /// `expires`, if the key still has version `base` (`None` if it must be absent).
    ///
    /// Returns the answer of `change` and the version of the main row (0 if there were no members
    /// to put). Returns `None` if another writer changed the key meanwhile; then nothing was
    /// written.
    ///
    /// # Errors
    /// Those of `change` and of the engine; a limit. Nothing was written then.
    fn make_collection<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        kind: CollectionKind,
        base: Option<u64>,
        expires: Option<u64>,
        change: impl FnOnce(&mut dyn MemberWrites) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<(R, u64)>, E>;

    /// Updates a key as [`update`](Self::update) does. If the closure makes the new row by changes
    /// of columns, it may note these.
    ///
    /// # Errors
    /// Those of the closure; a limit, the memory limit, and the errors of the engine.
    fn update_with_notes<E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        decide: impl FnMut(
            Option<RowRef<'_>>,
            &RowAllocator,
            NoteColumns<'_>,
        ) -> std::result::Result<RowChange, E>,
    ) -> std::result::Result<RowUpdate, E>;

    /// Atomically reads, modifies and writes one key: the base of set-if-absent, compare-and-swap,
    /// append and similar writes.
    ///
    /// The closure sees the row and an allocator for a new row, and returns its decision. It holds
    /// no latch, so it may take its time. If the row changes meanwhile, the closure is called
    /// again. If the closure returns an error, nothing changes.
    ///
    /// # Errors
    /// Those of the closure; a limit, the memory limit, and the errors of the engine.
    fn update<E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        mut decide: impl FnMut(Option<RowRef<'_>>, &RowAllocator) -> std::result::Result<RowChange, E>,
    ) -> std::result::Result<RowUpdate, E> {
        self.update_with_notes(key, |current, rows, _| decide(current, rows))
    }

    /// Sets columns of a key atomically and keeps the other columns. Returns the number of new
    /// names. Without columns it does nothing.
    ///
    /// # Errors
    /// As for [`update`](Self::update), `WrongKind` if the key holds a value, and `WriteTooLong`.
    fn put_columns(&mut self, key: &[u8], columns: &[Column<'_>]) -> std::result::Result<usize, Self::Error> {
        put_columns(self, key, columns)
    }

    /// Removes columns of a key atomically, and the key with its last column. Returns the number of
    /// removed columns.
    ///
    /// # Errors
    /// As for [`update`](Self::update), `WrongKind` if the key holds a value, and `WriteTooLong`.
    fn remove_columns(&mut self, key: &[u8], names: &[&[u8]]) -> std::result::Result<usize, Self::Error> {
        remove_columns(self, key, names)
    }

    /// Replaces the contents of a key by these columns, until `expires` (milliseconds since 1970)
    /// or for ever. Without columns the key is removed. It is one write: after an error the key is
    /// unchanged.
    ///
    /// # Errors
    /// As for [`update`](Self::update), and `WriteTooLong`.
    fn replace_columns(
        &mut self,
        key: &[u8],
        columns: &[Column<'_>],
        expires: Option<u64>,
    ) -> std::result::Result<(), Self::Error> {
        replace_columns(self, key, columns, expires)
    }

    /// Adds to a decimal integer and returns the sum. An absent key counts as 0. The expiry of the
    /// key does not change.
    ///
    /// # Errors
    /// As for [`update`](Self::update), `WrongKind`, `NotAnInteger`, `Overflow`.
    fn increment(&mut self, key: &[u8], by: i64) -> std::result::Result<i64, Self::Error> {
        values::increment(self, key, by)
    }

    /// Sets one column to the value that `decide` computes from the present value, atomically;
    /// other columns are kept. If `decide` returns `None` or an error, nothing changes. `decide` is
    /// called again if the row changes meanwhile.
    ///
    /// # Errors
    /// Those of the closure; as for [`put_columns`](Self::put_columns).
    fn update_column<E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        column: &[u8],
        decide: impl FnMut(Option<&[u8]>) -> std::result::Result<Option<Vec<u8>>, E>,
    ) -> std::result::Result<RowUpdate, E> {
        update_column(self, key, column, decide)
    }

    /// Adds to a decimal integer in a column and returns the sum. An absent column counts as 0.
    ///
    /// # Errors
    /// As for [`increment`](Self::increment).
    fn increment_column(
        &mut self,
        key: &[u8],
        column: &[u8],
        by: i64,
    ) -> std::result::Result<i64, Self::Error> {
        values::increment_column(self, key, column, by)
    }

    /// Lets a key expire at a time (milliseconds since 1970), or never with `None`. A key with a
    /// past time is absent at once. Returns whether the key is present.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    fn expire(&mut self, key: &[u8], expires: Option<u64>) -> std::result::Result<bool, Self::Error> {
        let updated = self.update::<Self::Error>(key, |row, _| {
            let same = row.is_none_or(|row| row.expires_at() == expires);
            Ok(if same { RowChange::Keep } else { RowChange::Expire(expires) })
        })?;
        Ok(updated.existed)
    }

    /// Moves the contents of a key and its expiry to another key, and removes the first key. If the
    /// other key is present, this needs `replace`. Returns whether the contents were moved, or
    /// `None` if there is no such key. After a crash the rename is complete or absent. The caller
    /// must exclude other writers of the two keys.
    ///
    /// Use this for a sorted set, and for spread columns: their row belongs to its key, so
    /// [`update`](Self::update) cannot put it to another key.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    fn rename(
        &mut self,
        from: &[u8],
        to: &[u8],
        replace: bool,
    ) -> std::result::Result<Option<bool>, Self::Error> {
        rename_row(self, from, to, replace)
    }

    /// Copies the contents of a key and its expiry to another key. If the other key is present,
    /// this needs `replace`. Returns whether the contents were copied, or `None` if there is no
    /// such key. The caller must exclude other writers of the two keys.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    fn copy(
        &mut self,
        from: &[u8],
        to: &[u8],
        replace: bool,
    ) -> std::result::Result<Option<bool>, Self::Error> {
        copy_row(self, from, to, replace)
    }

    /// Sets a key to `value` if it is absent; `changed` tells whether it was set.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<RowUpdate, Self::Error> {
        self.update(key, |current, rows| {
            Ok(if current.is_some() { RowChange::Keep } else { RowChange::Put(rows.value(&[value])?) })
        })
    }

    /// Sets a key to `value` if its version is `version` (0 if it must be absent). Returns the new
    /// version, or `Err` with the present version.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    fn compare_and_swap(
        &mut self,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> std::result::Result<std::result::Result<u64, u64>, Self::Error> {
        values::compare_and_swap(self, key, version, value)
    }

    /// Sets a key to `value` if it holds the value `expected` (`None` if it must be absent).
    /// `changed` tells whether it was set.
    ///
    /// # Errors
    /// As for [`update`](Self::update), and `WrongKind` if the key holds columns.
    fn compare_value_and_swap(
        &mut self,
        key: &[u8],
        expected: Option<&[u8]>,
        value: &[u8],
    ) -> std::result::Result<RowUpdate, Self::Error> {
        values::compare_value_and_swap(self, key, expected, value)
    }

    /// Calls `change` with the sorted set at `key` and holds its lock meanwhile. If the key is
    /// absent and `make` is true, `change` is called with an empty set, and the key becomes a set
    /// when `change` puts a member. If the key is absent and `make` is false, returns `None`
    /// without calling `change`. A set that loses its last member is removed.
    ///
    /// The change is one write, for readers and on disk. After an error the set is unchanged.
    /// `change` is called again if another writer changes the key meanwhile, and must not write to
    /// anything else. After `None`, forget what it noted: its key was removed by another writer.
    ///
    /// # Errors
    /// Those of `change`; a size limit, the memory limit; `WrongKind` if the key holds something
    /// else.
    fn change_set<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        make: bool,
        change: impl FnMut(&mut SetWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E> {
        self.change_set_of(CollectionKind::SortedSet, key, make, change)
    }

    /// Does the same with a set of this kind. Sets that are not sorted have members without scores;
    /// see [`SetWriter::add`].
    ///
    /// # Errors
    /// As for [`change_set`](Self::change_set).
    fn change_set_of<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        kind: CollectionKind,
        key: &[u8],
        make: bool,
        mut change: impl FnMut(&mut SetWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E> {
        change_or_make(self, kind, key, make, |members| change(&mut SetWriter::new(members)))
    }

    /// Changes the members of a collection of this kind, as [`change_set`](Self::change_set)
    /// changes a set. It serves a kind with records that the caller defines: a stream.
    ///
    /// # Errors
    /// As for [`change_set`](Self::change_set).
    fn change_members_of<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        kind: CollectionKind,
        key: &[u8],
        make: bool,
        change: impl FnMut(&mut dyn MemberWrites) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E> {
        change_or_make(self, kind, key, make, change)
    }

    /// Replaces the contents of `key` by a collection of this kind, as
    /// [`replace_set`](Self::replace_set) does by a sorted set.
    ///
    /// # Errors
    /// As for [`replace_set`](Self::replace_set).
    fn replace_by_members_of<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        kind: CollectionKind,
        key: &[u8],
        expires: Option<u64>,
        change: impl FnMut(&mut dyn MemberWrites) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        replace_by_collection(self, key, kind, expires, change)
    }

    /// Changes the list of a key, as [`change_set`](Self::change_set) changes a set.
    ///
    /// # Errors
    /// As for [`change_set`](Self::change_set).
    fn change_list<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        make: bool,
        mut change: impl FnMut(&mut ListWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<Option<R>, E> {
        change_or_make(self, CollectionKind::List, key, make, |members| {
            change(&mut ListWriter::new(key, members))
        })
    }

    /// Replaces the contents of `key` by a list, as [`replace_set`](Self::replace_set) does by a
    /// sorted set.
    ///
    /// # Errors
    /// As for [`replace_set`](Self::replace_set).
    fn replace_list<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        expires: Option<u64>,
        mut change: impl FnMut(&mut ListWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        replace_by_collection(self, key, CollectionKind::List, expires, |members| {
            change(&mut ListWriter::new(key, members))
        })
    }

    /// Moves the element at an end of a list to an end of a list, which is made if its key is
    /// absent and may be the same. Returns the element; `None` if there is no first list. After a
    /// crash the move is complete or absent. The caller must exclude other writers of the two keys.
    ///
    /// # Errors
    /// As for [`change_set`](Self::change_set). If the first key is absent, the second one may hold
    /// anything.
    fn move_element(
        &mut self,
        from: (&[u8], ListEnd),
        to: (&[u8], ListEnd),
    ) -> std::result::Result<Option<Vec<u8>>, Self::Error> {
        move_element(self, from, to)
    }

    /// Moves a member from one set of this kind to another, which is made if its key is absent.
    /// Returns whether the first set had the member. After a crash the move is complete or absent.
    /// The caller must exclude other writers of the two keys.
    ///
    /// # Errors
    /// As for [`change_set`](Self::change_set). If the first key is absent, the second one may hold
    /// anything.
    fn move_member(
        &mut self,
        kind: CollectionKind,
        from: &[u8],
        to: &[u8],
        member: &[u8],
    ) -> std::result::Result<bool, Self::Error> {
        move_member(self, kind, from, to, member)
    }

    /// Replaces the contents of `key` by a sorted set with the members that `change` puts, until
    /// `expires` (milliseconds since 1970) or for ever. `change` starts with an empty set. If it
    /// puts no members, the key is removed.
    ///
    /// The replacement is one write, for readers and on disk. After an error the key is unchanged.
    /// `change` is called again if another writer changes the key meanwhile. It must not write to
    /// anything else.
    ///
    /// # Errors
    /// Those of `change`; a size limit or the memory limit.
    fn replace_set<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        key: &[u8],
        expires: Option<u64>,
        change: impl FnMut(&mut SetWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.replace_set_of(CollectionKind::SortedSet, key, expires, change)
    }

    /// Does the same with a set of this kind.
    ///
    /// # Errors
    /// As for [`replace_set`](Self::replace_set).
    fn replace_set_of<R, E: From<Error> + From<Self::Error>>(
        &mut self,
        kind: CollectionKind,
        key: &[u8],
        expires: Option<u64>,
        mut change: impl FnMut(&mut SetWriter<'_>) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        replace_by_collection(self, key, kind, expires, |members| change(&mut SetWriter::new(members)))
    }
}

/// A collection of an engine, which a row of a key stands for.
pub trait StoredCollection: Sized {
    /// Returns the collection that the row stands for, if it does.
    fn of(row: RowRef<'_>) -> Option<Self>;

    /// Returns the kind of the collection.
    fn kind(&self) -> CollectionKind;
}

impl<C: ResidentCollection> StoredCollection for Arc<SharedCollection<C>> {
    fn of(row: RowRef<'_>) -> Option<Self> {
        row.shared_collection()
    }

    fn kind(&self) -> CollectionKind {
        (***self).kind()
    }
}

impl StoredCollection for CollectionHead {
    fn of(row: RowRef<'_>) -> Option<Self> {
        row.stored_collection()
    }

    fn kind(&self) -> CollectionKind {
        self.kind
    }
}
