//! The writes to rows and collections of the disk engine.
//!
//! The head of a collection is in its main row, so each change of a collection writes this row
//! again. Its version shows that the collection has changed.

use std::cell::RefCell;

use skein_model::{
    CollectionHead, CollectionKind, MemberWrites, NoteColumns, RowAllocator, RowChange, RowLimits, RowRef,
    RowUpdate, RowWriter,
};

use super::main_rows::{RowReferences, write_main_row};
use super::members::DiskMembers;
use super::writer::DiskWriter;
use super::{DiskEngine, live};
use crate::{Error, Result};

impl DiskWriter<'_> {
    /// Changes members, and writes the main row for the head that `change` leaves. After an error
    /// of `change` the members are unchanged, or the transaction has failed.
    fn write_members<R, E: From<skein_model::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        head: CollectionHead,
        old: RowReferences,
        expires: Option<u64>,
        change: impl FnOnce(&mut dyn MemberWrites) -> Result<R, E>,
    ) -> Result<(R, u64), E> {
        let (engine, begin) = (self.engine, self.begin_write());
        let (reader, transaction) = self.parts();
        let reads = RefCell::new(&mut *transaction);
        let mut members = DiskMembers::new(engine, &reads, head);
        let answer = change(&mut members);
        if answer.is_err() {
            let undone = members.undo();
            self.end_write(begin, undone)?;
            return answer.map(|answer| (answer, 0));
        }
        let (head, is_gone, is_changed) = (members.head(), members.is_gone(), members.is_changed());
        let is_new = old.collection.is_none_or(|old| old.id != head.id);
        let done = match (is_gone, is_new) {
            // Nothing refers to the members that were put and removed again.
            (true, true) => members.undo().map(|()| 0),
            (true, false) => {
                let old = RowReferences { collection: Some(head), ..old };
                write_main_row(engine, transaction, key, None, old, RowReferences::default()).map(|_| 0)
            }
            (false, _) if is_changed => {
                let row = engine.rows().stored_collection(head, expires);
                let new = RowReferences { expires, collection: Some(head) };
                let bytes = reader.of_row(row.as_ref());
                write_main_row(engine, transaction, key, Some(bytes), old, new)
            }
            (false, _) => Ok(0),
        };
        let version = self.end_write(begin, done)?;
        Ok((answer?, version))
    }
}

impl RowWriter for DiskWriter<'_> {
    type Error = Error;
    type Collection = CollectionHead;

    fn check_sizes(&self, key: &[u8], bytes: usize) -> skein_model::Result<()> {
        self.engine.check_sizes(key, bytes)
    }

    fn spreads_columns(&self) -> bool {
        true
    }

    fn row_limits(&self) -> RowLimits {
        let limits = self.engine.limits();
        limits.row_members.within(limits.value_bytes)
    }

    fn begin_at<R>(&mut self, key: &[u8], look: impl FnOnce(Option<RowRef<'_>>) -> R) -> Result<R> {
        DiskEngine::check_key(key)?;
        let now = self.now();
        Ok(look(live(self.row(key)?, now)))
    }

    fn change_collection<R, E: From<skein_model::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        collection: &CollectionHead,
        change: impl FnOnce(&mut dyn MemberWrites) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        let old = self.begin_at(key, RowReferences::of)?;
        let Some(head) = old.collection.filter(|found| found.id == collection.id) else { return Ok(None) };
        let (answer, _) = self.write_members(key, head, old, old.expires, change)?;
        Ok(Some(answer))
    }

    fn make_collection<R, E: From<skein_model::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        kind: CollectionKind,
        base: Option<u64>,
        expires: Option<u64>,
        change: impl FnOnce(&mut dyn MemberWrites) -> Result<R, E>,
    ) -> Result<Option<(R, u64)>, E> {
        self.engine.check_sizes(key, 0).map_err(Error::from)?;
        let now = self.now();
        let row = self.row(key)?;
        // A row that has expired is replaced, too.
        let (old, version) = (RowReferences::of(row), live(row, now).map(RowRef::version));
        if version != base {
            return Ok(None);
        }
        DiskEngine::check_expiry(key, expires).map_err(Error::from)?;
        // The number of the next write is used once, so it is a new id.
        let id = self.parts().1.version_of_last() + 1;
        let made = self.write_members(key, CollectionHead { kind, id, len: 0 }, old, expires, change)?;
        Ok(Some(made))
    }

    fn rename(&mut self, from: &[u8], to: &[u8], replace: bool) -> Result<Option<bool>> {
        self.rename_row(from, to, replace)
    }

    fn update_with_notes<E: From<skein_model::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        decide: impl FnMut(Option<RowRef<'_>>, &RowAllocator, NoteColumns<'_>) -> Result<RowChange, E>,
    ) -> Result<RowUpdate, E> {
        self.update_row(key, decide)
    }
}
