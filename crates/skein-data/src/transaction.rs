//! Many reads and writes as one: on disk all or nothing of it exists, and its reads see its writes.
//!
//! |                    | memory                           | disk                               |
//! | ------------------ | -------------------------------- | ---------------------------------- |
//! | before the commit  | others could see the writes      | only the transaction sees them     |
//! | all or nothing by  | one epoch (a store's `OpenBatch`) | one publication and one log record |
//! | a write that fails | is not done; the others stay     | breaks the transaction (1)         |
//!
//! (1) Unless the engine refuses the write before it begins.
//!
//! Neither engine isolates a transaction: in memory, other threads could see a part of it. The
//! server keeps other workers away (`exclusion_gate`).

use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};

use skein_disk::{DiskError, ScanRequest};
use skein_store::{KeyspaceStats, OpenBatch, StoreStats, StoredKeyspace};

use crate::disk::{DiskWriter, ExpiryEntries as _, TransactionSource, counted_under, live};
use crate::range_steps::{REMOVALS, RangeRemovalStep, count_keys, present};
use crate::writer::EngineWriter;
use crate::{Engine, EngineBounds, KeyState, Result, RowView, ScanDirection, Ticket};

/// An open transaction of an [`EngineSession`](super::EngineSession).
pub struct EngineTransaction<'t> {
    engine: &'t Engine,
    /// The time that decides which keys have expired.
    now: u64,
    backend: TransactionBackend<'t>,
}

pub(crate) enum TransactionBackend<'t> {
    Memory(OpenBatch<'t>),
    Disk(DiskWriter<'t>),
}

impl<'t> EngineTransaction<'t> {
    pub(crate) fn new(engine: &'t Engine, now: u64, backend: TransactionBackend<'t>) -> Self {
        Self { engine, now, backend }
    }

    /// Returns the engine of this transaction.
    pub(crate) fn engine(&self) -> &Engine {
        self.engine
    }

    /// Returns the time that decides which keys have expired.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Returns the number of keys without the expired ones, including the writes of this
    /// transaction.
    pub(crate) fn len(&mut self) -> usize {
        let now = self.now;
        match &mut self.backend {
            TransactionBackend::Memory(_) => self.engine.len(),
            TransactionBackend::Disk(writer) => {
                let (engine, transaction) = (writer.engine(), writer.parts().1);
                engine.without_expired(transaction.keys(), now, transaction)
            }
        }
    }

    /// Returns the numbers of keys of a keyspace, including the writes of this transaction.
    pub(crate) fn keyspace_stats(&mut self, keyspace: StoredKeyspace) -> KeyspaceStats {
        let now = self.now;
        match &mut self.backend {
            TransactionBackend::Memory(_) => self.engine.keyspace_stats(keyspace),
            TransactionBackend::Disk(writer) => {
                let (engine, transaction) = (writer.engine(), writer.parts().1);
                let reserved = transaction.reserved_count(counted_under(keyspace));
                engine.keyspace_stats_with(keyspace, transaction.keys(), reserved, now, transaction)
            }
        }
    }

    /// Returns the engine's statistics, with the numbers of keys after the writes of this
    /// transaction.
    pub(crate) fn stats(&mut self) -> StoreStats {
        let (keys, now) = (self.len(), self.now);
        match &mut self.backend {
            TransactionBackend::Memory(_) => self.engine.stats(),
            TransactionBackend::Disk(writer) => {
                let (engine, expiring) = (writer.engine(), writer.parts().1.expiring(now));
                engine.stats_with(keys, expiring)
            }
        }
    }

    /// Returns whether the transaction has failed: no more operations are possible, and nothing
    /// will be committed.
    pub(crate) fn is_broken(&self) -> bool {
        match &self.backend {
            TransactionBackend::Memory(_) => false,
            TransactionBackend::Disk(writer) => writer.is_broken(),
        }
    }

    /// Calls `look` with the row of a key.
    pub(crate) fn get_with<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowView<'_>>>) -> R,
    ) -> R {
        match &mut self.backend {
            TransactionBackend::Memory(batch) => batch.get_with(key, |row| look(Ok(row.map(RowView::from)))),
            TransactionBackend::Disk(writer) => {
                let (reader, transaction) = writer.parts();
                let row = reader.row(key, |value| transaction.get_into(key, value));
                let transaction = RefCell::new(transaction);
                let source = TransactionSource(&transaction);
                look(row.map(|row| live(row, self.now).map(|row| RowView::stored(row, &source))))
            }
        }
    }

    /// Calls `look` with the row of a key. This does not count as a use of the key.
    pub(crate) fn peek_with<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowView<'_>>>) -> R,
    ) -> R {
        match &mut self.backend {
            TransactionBackend::Memory(batch) => {
                batch.writer().peek_with(key, |row| look(Ok(RowView::peeked(row))))
            }
            TransactionBackend::Disk(_) => self.get_with(key, look),
        }
    }

    /// Returns the state of a key. This does not count as a use of the key.
    pub(crate) fn key_state(&mut self, key: &[u8]) -> KeyState {
        let now = self.now;
        match &mut self.backend {
            TransactionBackend::Memory(batch) => batch.writer().peek_with(key, KeyState::of),
            TransactionBackend::Disk(writer) => KeyState::of_read(writer.row(key), now),
        }
    }

    /// Returns whether writes can be undone until the end of the transaction.
    pub(crate) fn can_roll_back(&self) -> bool {
        matches!(self.backend, TransactionBackend::Disk(_))
    }

    /// Looks up many keys, in the order of `keys`.
    pub(crate) fn get_many(
        &mut self,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Result<Option<RowView<'_>>>),
    ) {
        match &mut self.backend {
            TransactionBackend::Memory(batch) => {
                batch.get_many(keys, |at, row| found(at, Ok(row.map(RowView::from))));
            }
            TransactionBackend::Disk(_) => {
                for (at, key) in keys.iter().enumerate() {
                    self.get_with(key, |row| found(at, row));
                }
            }
        }
    }

    /// Does the same as `get_many`. Rows of more than `bytes_most` bytes together may be refused.
    pub(crate) fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()> {
        let bounded = matches!(self.backend, TransactionBackend::Disk(_));
        let (mut bytes, mut failed) = (0, None);
        self.get_many(keys, |at, row| match row {
            Ok(row) if failed.is_none() => {
                bytes += row.map_or(0, |row| row.content_len());
                if bounded && bytes > bytes_most {
                    failed = Some(DiskError::ReadTooLong { len: bytes, limit: bytes_most }.into());
                } else {
                    found(at, row);
                }
            }
            Ok(_) => {}
            Err(error) => _ = failed.get_or_insert(error),
        });
        failed.map_or(Ok(()), Err)
    }

    /// Counts the keys that exist. Counts as a use of them if `is_use` says so.
    pub(crate) fn count_present(&mut self, keys: &[&[u8]], is_use: bool) -> Result<usize> {
        let mut count = 0;
        for key in keys {
            let found = if is_use { self.get_with(key, present) } else { self.peek_with(key, present) };
            count += usize::from(found?);
        }
        Ok(count)
    }

    /// Calls `each` with the rows within bounds, in order, until it breaks. `most` is the number of
    /// keys that it wants at most.
    pub(crate) fn scan(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.visit(bounds, direction, most, true, each)
    }

    /// Returns whether keys have an order.
    pub(crate) fn is_ordered(&self) -> bool {
        match &self.backend {
            TransactionBackend::Memory(_) => true,
            TransactionBackend::Disk(writer) => writer.is_ordered(),
        }
    }

    /// Calls `each` with the rows within bounds, in the engine's order; see
    /// [`EngineSession::walk`](super::EngineSession::walk).
    pub(crate) fn walk(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.visit(bounds, ScanDirection::Forward, most, false, each)
    }

    fn visit(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        needs_order: bool,
        mut each: impl FnMut(&[u8], RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let now = self.now;
        match &mut self.backend {
            TransactionBackend::Memory(batch) => {
                batch.scan(bounds, direction, |key, row| each(key, row.into()));
                Ok(())
            }
            TransactionBackend::Disk(writer) => {
                let (reader, transaction) = writer.parts();
                let transaction = RefCell::new(transaction);
                let source = TransactionSource(&transaction);
                let read = |portion: &ScanRequest<'_>, before| {
                    let mut transaction = transaction.borrow_mut();
                    let found =
                        if needs_order { transaction.range(portion) } else { transaction.walk(portion) }?;
                    transaction.check_scanned(before, before + found.entries.len() as u64)?;
                    Ok(found)
                };
                reader.scan(read, bounds, direction, most, |key, row| {
                    let view = RowView::stored(row, &source);
                    if row.has_expired(now) { ControlFlow::Continue(()) } else { each(key, view) }
                })
            }
        }
    }

    /// Counts the first `most` keys of a range. Returns the count, and the last key if there may be
    /// more.
    pub(crate) fn count_first(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        match &mut self.backend {
            TransactionBackend::Memory(batch) => Ok(count_keys(bounds, most, |bounds, each| {
                batch.scan(bounds, ScanDirection::Forward, |key, _| each(key));
            })),
            TransactionBackend::Disk(writer) => {
                let (reader, transaction) = writer.parts();
                reader.count_first(|portion, _| transaction.range(portion), bounds, most, self.now)
            }
        }
    }

    /// Runs single-key writes.
    pub(crate) fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> R {
        match &mut self.backend {
            TransactionBackend::Memory(batch) => writes(&mut EngineWriter::Memory(batch.writer())),
            TransactionBackend::Disk(writer) => writes(&mut EngineWriter::Disk(writer)),
        }
    }

    /// Sets several keys, all or none.
    pub(crate) fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        match &mut self.backend {
            TransactionBackend::Memory(batch) => Ok(batch.put_all(pairs)?),
            TransactionBackend::Disk(writer) => writer.put_all(pairs),
        }
    }

    /// Removes the first keys of one keyspace among those within bounds. The engine keeps no order.
    pub(crate) fn remove_some_of(
        &mut self,
        keyspace: StoredKeyspace,
        bounds: EngineBounds<'_>,
    ) -> Result<RangeRemovalStep> {
        match &mut self.backend {
            TransactionBackend::Memory(_) => self.remove_some(bounds),
            TransactionBackend::Disk(writer) => writer.remove_range_of(keyspace, bounds, REMOVALS),
        }
    }

    /// Removes the first keys within bounds.
    pub(crate) fn remove_some(&mut self, bounds: EngineBounds<'_>) -> Result<RangeRemovalStep> {
        let batch = match &mut self.backend {
            TransactionBackend::Memory(batch) => batch,
            TransactionBackend::Disk(writer) => {
                return writer.remove_range(bounds, REMOVALS);
            }
        };
        let mut keys = Vec::new();
        batch.scan(bounds, ScanDirection::Forward, |key, _| {
            keys.push(key.to_vec());
            if keys.len() < REMOVALS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        for key in &keys {
            batch.writer().remove(key)?;
        }
        let count = keys.len();
        let rest = keys.pop().filter(|_| count == REMOVALS).map(Bound::Excluded);
        Ok(RangeRemovalStep { count, rest, ticket: Ticket::default() })
    }

    /// Commits the transaction. Returns the ticket of its durability.
    ///
    /// # Errors
    /// If so, nothing may be acknowledged. On disk nothing was done, unless the log failed.
    pub fn commit(self) -> Result<Ticket> {
        match self.backend {
            TransactionBackend::Memory(batch) => Ok(batch.commit()?),
            TransactionBackend::Disk(mut writer) => {
                writer.publish()?;
                Ok(writer.ticket())
            }
        }
    }
}
