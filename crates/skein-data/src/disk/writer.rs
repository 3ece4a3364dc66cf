//! Writes to the disk engine: transactions of a `DiskStore`.

use std::ops::Bound;

use skein_disk::{DiskError, DiskTransaction, ScanEntries, ScanRequest, WalkDirection};
use skein_model::{NoteColumns, RowAllocator, RowChange, RowRef, RowUpdate, StoredKeyspace};

use super::main_rows::{RowReferences, write_main_row};
use super::{DiskEngine, DiskRowReader, live};
use crate::keyspace_ranges::is_private_key;
use crate::range_steps::RangeRemovalStep;
use crate::{EngineBounds, Error, Result, Ticket};

/// Bytes of rows that one step of a range removal reads. In a hash trie the keys are in the values.
const REMOVED_BYTES: usize = 1 << 20;

/// Writes to the disk engine.
#[derive(Debug)]
pub struct DiskWriter<'w> {
    pub(super) engine: &'w DiskEngine,
    reader: &'w mut DiskRowReader,
    /// Begun by the first write.
    transaction: Option<DiskTransaction<'w>>,
    /// Whether all writes form one transaction, which is published at its end.
    whole: bool,
    /// The error that prevents the publication: of a write that was done in part, or, if `whole`,
    /// of any write.
    failed: Option<Error>,
    published: bool,
    /// The time that decides which keys have expired.
    now: u64,
    /// The ticket of the published writes.
    ticket: Ticket,
}

impl<'w> DiskWriter<'w> {
    pub(crate) fn new(engine: &'w DiskEngine, reader: &'w mut DiskRowReader, now: u64) -> Self {
        let ticket = Ticket::default();
        Self { engine, reader, transaction: None, whole: false, failed: None, published: false, now, ticket }
    }

    /// Creates a writer that publishes all its writes together, or none.
    pub(crate) fn new_whole(engine: &'w DiskEngine, reader: &'w mut DiskRowReader, now: u64) -> Self {
        let transaction = Some(engine.begin());
        Self { whole: true, transaction, ..Self::new(engine, reader, now) }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.failed.is_some() || self.transaction.as_ref().is_some_and(DiskTransaction::is_broken)
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn engine(&self) -> &'w DiskEngine {
        self.engine
    }

    /// Returns whether writes were published since the last call.
    pub(crate) fn published(&mut self) -> bool {
        std::mem::take(&mut self.published)
    }

    pub(crate) fn prefetch(&self, keys: &[&[u8]]) {
        self.engine.store().prefetch(keys);
    }

    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    pub(crate) fn publish(&mut self) -> Result<()> {
        if let Some(failed) = self.failed.take() {
            self.transaction = None;
            return Err(failed);
        }
        if let Some(transaction) = self.transaction.take() {
            self.ticket = self.ticket.max(transaction.commit()?);
            self.published = true;
        }
        Ok(())
    }

    pub(crate) fn make_room(&mut self) -> Result<()> {
        let full = !self.whole && self.transaction.as_ref().is_some_and(DiskTransaction::is_full);
        if full { self.publish() } else { Ok(()) }
    }

    /// Begins a write of several steps. Returns the number of the last step before it, for
    /// [`end_write`](Self::end_write).
    pub(super) fn begin_write(&mut self) -> u64 {
        self.parts().1.version_of_last()
    }

    /// Handles the result of a write. If it was done in part, its transaction fails, because no
    /// step can be taken back. In a `whole` transaction any error does so: the command may have
    /// done other writes already.
    pub(super) fn end_write<T>(&mut self, begin: u64, done: Result<T>) -> Result<T> {
        if let Err(error) = &done
            && (self.whole || self.parts().1.version_of_last() != begin)
        {
            self.failed.get_or_insert_with(|| error.clone());
        }
        done
    }

    /// Does several writes as one. If one fails after the first step, the transaction fails.
    pub(crate) fn as_one_write<R>(&mut self, writes: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let begin = self.begin_write();
        let done = writes(self);
        // Before the first step a refusal leaves the transaction as it was.
        if self.parts().1.version_of_last() == begin { done } else { self.end_write(begin, done) }
    }

    /// Reads the row of a key, also if it has expired.
    pub(crate) fn row(&mut self, key: &[u8]) -> Result<Option<RowRef<'_>>> {
        let (reader, transaction) = self.parts();
        reader.row(key, |value| transaction.get_into(key, value))
    }

    /// Returns the references of the row that a write replaces. Reads nothing if no row of the
    /// store has any.
    fn replaced(&mut self, key: &[u8]) -> Result<RowReferences> {
        if !self.engine.has_references() {
            return Ok(RowReferences::default());
        }
        match self.row(key) {
            // The value is replaced even if it is not a row.
            Err(Error::NotARow { .. }) => Ok(RowReferences::default()),
            row => row.map(RowReferences::of),
        }
    }

    /// Returns whether keys have an order.
    pub(crate) fn is_ordered(&self) -> bool {
        self.engine.store().shape().is_ordered()
    }

    /// Returns the transaction for reading. Begins a transaction if none is open.
    pub(crate) fn parts(&mut self) -> (&mut DiskRowReader, &mut DiskTransaction<'w>) {
        (&mut *self.reader, transaction_of(self.engine, &mut self.transaction))
    }

    /// Sets several keys. After an error the whole transaction fails. `REQUIRES: whole`
    pub(crate) fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        for (key, value) in pairs {
            self.engine.check_sizes(key, value.len())?;
        }
        pairs.iter().try_for_each(|(key, value)| self.put(key, value, None))
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8], expires: Option<u64>) -> Result<()> {
        self.engine.check_sizes(key, value.len())?;
        DiskEngine::check_expiry(key, expires)?;
        let old = self.replaced(key)?;
        let new = RowReferences { expires, collection: None };
        let engine = self.engine;
        let begin = self.begin_write();
        let (reader, transaction) = self.parts();
        let bytes = reader.of_value(value, expires);
        let done = write_main_row(engine, transaction, key, Some(bytes), old, new);
        self.end_write(begin, done).map(drop)
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<bool> {
        DiskEngine::check_key(key)?;
        self.make_room()?;
        let (engine, now) = (self.engine, self.now);
        let (was_there, old) = match self.row(key) {
            Ok(row) => (live(row, now).is_some(), RowReferences::of(row)),
            // The value is removed even if it is not a row.
            Err(Error::NotARow { .. }) => (true, RowReferences::default()),
            Err(error) => return Err(error),
        };
        let begin = self.begin_write();
        let transaction = self.parts().1;
        let done = write_main_row(engine, transaction, key, None, old, RowReferences::default());
        self.end_write(begin, done)?;
        Ok(was_there)
    }

    /// Removes a key if it has expired. Returns whether it was removed.
    pub(crate) fn remove_expired(&mut self, key: &[u8]) -> Result<bool> {
        let now = self.now;
        let old = match self.row(key)? {
            Some(row) if row.has_expired(now) => RowReferences::of(Some(row)),
            _ => return Ok(false),
        };
        let (engine, begin) = (self.engine, self.begin_write());
        let transaction = self.parts().1;
        let done = write_main_row(engine, transaction, key, None, old, RowReferences::default());
        self.end_write(begin, done)?;
        engine.count_expired();
        Ok(true)
    }

    /// Removes the first `most` keys within bounds, but not a server's own rows. Without an order,
    /// the bounds must be those of all keys.
    pub(crate) fn remove_range(&mut self, bounds: EngineBounds<'_>, most: usize) -> Result<RangeRemovalStep> {
        let is_ordered = self.is_ordered();
        let mut step = if is_ordered || bounds == (Bound::Unbounded, Bound::Unbounded) {
            self.remove_selected(bounds, most, |key| !is_private_key(key))?
        } else {
            return Err(DiskError::NoOrder.into());
        };
        if !is_ordered {
            // All keys before it are removed, so the next step begins anew.
            step.rest = step.rest.map(|_| Bound::Unbounded);
        }
        Ok(step)
    }

    /// Removes the first `most` keys of a keyspace among those within bounds: without an order, all
    /// keys, or those behind a key.
    pub(crate) fn remove_range_of(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
        most: usize,
    ) -> Result<RangeRemovalStep> {
        self.remove_selected(bounds, most, |key| StoredKeyspace::holding(key) == Some(keyspace))
    }

    /// Removes the first `most` keys within bounds that `is_removed` selects.
    fn remove_selected(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        is_removed: impl Fn(&[u8]) -> bool,
    ) -> Result<RangeRemovalStep> {
        let mut lower = bounds.0.map(<[u8]>::to_vec);
        loop {
            let request = ScanRequest {
                lower: lower.as_ref().map(|key| &key[..]),
                upper: bounds.1,
                direction: WalkDirection::Forward,
                keys: most,
                bytes: REMOVED_BYTES,
                values: true,
            };
            let is_ordered = self.is_ordered();
            let transaction = self.parts().1;
            // Without an order, the walk itself refuses other ranges than all keys behind one.
            let mut found =
                if is_ordered { transaction.range(&request) } else { transaction.walk(&request) }?;
            let (step, last) = self.remove_found(&found, most, &is_removed)?;
            match last {
                Some(last) => {
                    let rest = step.rest.map(|_| Bound::Excluded(last));
                    return Ok(RangeRemovalStep { rest, ..step });
                }
                // All that was found stays.
                None => match found.entries.pop().filter(|_| found.more) {
                    Some(stays) => lower = Bound::Excluded(stays.key),
                    None => return Ok(step),
                },
            }
        }
    }

    /// Removes the first of the keys that were found. Returns the last one that it removed. There
    /// is a rest if there may be more.
    fn remove_found(
        &mut self,
        found: &ScanEntries,
        most: usize,
        is_removed: impl Fn(&[u8]) -> bool,
    ) -> Result<(RangeRemovalStep, Option<Vec<u8>>)> {
        let (mut count, mut more, mut last) = (0, found.more, None);
        for entry in found.entries.iter().filter(|entry| is_removed(&entry.key)) {
            if count == most || count > 0 && self.parts().1.is_full() {
                more = true;
                break;
            }
            self.remove(&entry.key)?;
            count += 1;
            last = Some(entry.key.clone());
        }
        let rest = more.then_some(Bound::Unbounded);
        Ok((RangeRemovalStep { count, rest, ticket: Ticket::default() }, last))
    }

    pub(super) fn update_row<E: From<skein_model::Error> + From<Error>>(
        &mut self,
        key: &[u8],
        mut decide: impl FnMut(Option<RowRef<'_>>, &RowAllocator, NoteColumns<'_>) -> Result<RowChange, E>,
    ) -> Result<RowUpdate, E> {
        DiskEngine::check_key(key).map_err(Error::from)?;
        let (engine, now) = (self.engine, self.now);
        let row = self.row(key)?;
        let (old, current) = (RowReferences::of(row), live(row, now));
        let version = current.map(RowRef::version);
        let unchanged =
            RowUpdate { existed: version.is_some(), changed: false, version: version.unwrap_or(0) };
        let change = decide(current, engine.rows(), &mut |_| {})?.with_row(current, engine.rows());
        if let RowChange::Put(row) = &change {
            DiskEngine::check_expiry(key, row.as_ref().expires_at()).map_err(Error::from)?;
        }
        let begin = self.begin_write();
        let (reader, transaction) = self.parts();
        let done = match &change {
            RowChange::Put(row) => {
                let row = row.as_ref();
                engine.check_sizes(key, row.content_len())?;
                let new = RowReferences::of(Some(row));
                if new.collection.is_some_and(|new| old.collection.is_none_or(|old| old.id != new.id)) {
                    return Err(skein_model::Error::OfAnotherKey.into());
                }
                write_main_row(engine, transaction, key, Some(reader.of_row(row)), old, new)
            }
            RowChange::Remove if version.is_some() => {
                write_main_row(engine, transaction, key, None, old, RowReferences::default())
            }
            RowChange::Keep | RowChange::Expire(_) | RowChange::Remove => return Ok(unchanged),
        };
        let version = self.end_write(begin, done)?;
        Ok(RowUpdate { changed: true, version, ..unchanged })
    }

    /// Moves the row of a key to another key, with its references.
    pub(super) fn rename_row(&mut self, from: &[u8], to: &[u8], replace: bool) -> Result<Option<bool>> {
        self.engine.check_sizes(to, 0)?;
        let (engine, now) = (self.engine, self.now);
        let Some(row) = live(self.row(from)?, now) else { return Ok(None) };
        let (row, moved) = (engine.rows().until(row, row.expires_at()), RowReferences::of(Some(row)));
        if from == to {
            return Ok(Some(replace));
        }
        let present = self.row(to)?;
        if live(present, now).is_some() && !replace {
            return Ok(Some(false));
        }
        let old = RowReferences::of(present);
        DiskEngine::check_expiry(to, moved.expires)?;
        let begin = self.begin_write();
        let (reader, transaction) = self.parts();
        let bytes = reader.of_row(row.as_ref());
        let done = write_main_row(engine, transaction, to, Some(bytes), old, moved).and_then(|_| {
            // The collection belongs to the other key now.
            let old = RowReferences { collection: None, ..moved };
            write_main_row(engine, transaction, from, None, old, RowReferences::default())
        });
        self.end_write(begin, done)?;
        Ok(Some(true))
    }
}

/// Returns the open transaction. Begins a transaction if none is open.
fn transaction_of<'t, 'w>(
    engine: &'w DiskEngine,
    transaction: &'t mut Option<DiskTransaction<'w>>,
) -> &'t mut DiskTransaction<'w> {
    transaction.get_or_insert_with(|| engine.begin())
}

#[cfg(test)]
mod tests {
    use skein_disk::{DiskOptions, DiskStore, Values};
    use skein_log::storage::Storage as _;
    use skein_log::storage::sim::SimStorage;
    use skein_store::StoreLimits;

    use super::*;

    /// A write of several steps is not published in part, and a refusal before its first step does
    /// not concern the other writes of the transaction.
    #[test]
    fn several_writes_as_one_are_done_whole_or_not_at_all() {
        let options = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
        let store = DiskStore::open_on(SimStorage::new().share(), "/data", options).expect("a store");
        let engine = DiskEngine::new(store, StoreLimits::default()).expect("an engine");
        let mut reader = DiskRowReader::default();
        let refused = || Err::<(), Error>(skein_model::Error::NotAnInteger.into());
        let mut writer = DiskWriter::new(&engine, &mut reader, engine.now());
        writer.put(b"before", b"1", None).expect("a put");
        writer.as_one_write(|_| refused()).expect_err("refused");
        writer.publish().expect("the put is published");
        let done = writer.as_one_write(|writer| {
            writer.put(b"step", b"1", None)?;
            refused()
        });
        done.expect_err("refused after a step");
        assert!(writer.is_broken());
        writer.publish().expect_err("a part of a write");
        let present = [&b"before"[..], b"step"].map(|key| engine.store().get(key).expect("a read").is_some());
        assert_eq!(present, [true, false]);
    }
}
