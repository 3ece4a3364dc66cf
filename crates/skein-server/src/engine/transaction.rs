//! Many reads and writes as one: whole on disk or absent, and reads see what was written.
//!
//! | engine | until the end | all or nothing by | a write that fails |
//! | ------ | ------------- | ----------------- | ------------------ |
//! | memory | writes are there at once | one epoch (`skein_store::Scope`) | was not done; the others stay |
//! | disk   | writes are seen here alone | one publication and one record of the log | gives up the whole, unless it was refused before it began |
//!
//! On neither is it isolated by itself: in memory others could see a part of it. The server keeps them away (`gate`).

use std::ops::{Bound, ControlFlow};

use skein_disk::{DiskError, ScanRequest};
use skein_store::OpenBatch;

use super::session::{REMOVALS, RangeRemovalStep, count_keys, live, present};
use super::writer::{DiskWriter, EngineWriter};
use super::{Engine, EngineBounds, Error, Result, RowError, RowRef, ScanDirection, Ticket};

/// An open transaction of a [`Session`](super::Session).
pub(crate) struct EngineTransaction<'t> {
    engine: &'t Engine,
    /// The time by which keys expire.
    now: u64,
    way: TransactionBackend<'t>,
}

pub(super) enum TransactionBackend<'t> {
    Memory(OpenBatch<'t>),
    Disk(DiskWriter<'t>),
}

impl<'t> EngineTransaction<'t> {
    pub(super) fn new(engine: &'t Engine, now: u64, way: TransactionBackend<'t>) -> Self {
        Self { engine, now, way }
    }

    /// The engine that it is of.
    pub(super) fn engine(&self) -> &Engine {
        self.engine
    }

    /// The time by which keys expire.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// How many keys there are, with what it wrote.
    pub(super) fn len(&mut self) -> usize {
        match &mut self.way {
            TransactionBackend::Memory(_) => self.engine.len(),
            TransactionBackend::Disk(writer) => {
                usize::try_from(writer.parts().1.keys()).unwrap_or(usize::MAX)
            }
        }
    }

    /// Fails where the engine has no snapshots. Nobody else writes meanwhile, so the keys themselves are as of one moment.
    pub(super) fn admit_snapshot(&self) -> Result<()> {
        match self.engine.index() {
            Some(skein_store::IndexKind::SkipList) => Ok(()),
            Some(index) => Err(RowError::NoSnapshots { index }.into()),
            None => Err(Error::NoSnapshots),
        }
    }

    /// Whether nothing more can be done in it, and nothing of it will be.
    pub(super) fn is_broken(&self) -> bool {
        match &self.way {
            TransactionBackend::Memory(_) => false,
            TransactionBackend::Disk(writer) => writer.is_broken(),
        }
    }

    /// Shows `look` the row of a key.
    pub(super) fn get_with<R>(
        &mut self,
        key: &[u8],
        look: impl FnOnce(Result<Option<RowRef<'_>>>) -> R,
    ) -> R {
        match &mut self.way {
            TransactionBackend::Memory(scope) => scope.get_with(key, |row| look(Ok(row))),
            TransactionBackend::Disk(writer) => {
                let (reader, transaction) = writer.parts();
                let row = reader.row(key, |value| transaction.get_into(key, value));
                look(row.map(|row| live(row, self.now)))
            }
        }
    }

    /// Many lookups, in the order of `keys`.
    pub(super) fn get_many(
        &mut self,
        keys: &[&[u8]],
        mut found: impl FnMut(usize, Result<Option<RowRef<'_>>>),
    ) {
        match &mut self.way {
            TransactionBackend::Memory(scope) => scope.get_many(keys, |at, row| found(at, Ok(row))),
            TransactionBackend::Disk(_) => {
                for (at, key) in keys.iter().enumerate() {
                    self.get_with(key, |row| found(at, row));
                }
            }
        }
    }

    /// As `get_many`; rows of more than `bytes_most` bytes together may be refused.
    pub(super) fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        let bounded = matches!(self.way, TransactionBackend::Disk(_));
        let (mut bytes, mut failed) = (0, None);
        self.get_many(keys, |at, row| match row {
            Ok(row) if failed.is_none() => {
                bytes += row.map_or(0, RowRef::content_len);
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

    /// How many of the keys are there.
    pub(super) fn count_present(&mut self, keys: &[&[u8]]) -> Result<usize> {
        let (mut count, mut failed) = (0, None);
        self.get_many(keys, |_, row| match present(row) {
            Ok(present) => count += usize::from(present),
            Err(error) => failed = Some(error),
        });
        failed.map_or(Ok(count), Err)
    }

    /// Shows `each` the rows within bounds, in order, until it breaks; it wants so many keys at most.
    pub(super) fn scan(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.show(bounds, direction, most, true, each)
    }

    /// Whether keys have an order.
    pub(super) fn is_ordered(&self) -> bool {
        match &self.way {
            TransactionBackend::Memory(_) => true,
            TransactionBackend::Disk(writer) => writer.is_ordered(),
        }
    }

    /// Shows `each` the rows within bounds in the order that the engine has; see [`Session::walk`](super::Session::walk).
    pub(super) fn walk(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.show(bounds, ScanDirection::Forward, most, false, each)
    }

    fn show(
        &mut self,
        bounds: EngineBounds<'_>,
        direction: ScanDirection,
        most: usize,
        needs_order: bool,
        mut each: impl FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let now = self.now;
        match &mut self.way {
            TransactionBackend::Memory(scope) => {
                scope.scan(bounds, direction, each);
                Ok(())
            }
            TransactionBackend::Disk(writer) => {
                let (reader, transaction) = writer.parts();
                let read = |portion: &ScanRequest<'_>, before| {
                    let found =
                        if needs_order { transaction.range(portion) } else { transaction.walk(portion) }?;
                    transaction.check_scanned(before, before + found.entries.len() as u64)?;
                    Ok(found)
                };
                reader.scan(read, bounds, direction, most, |key, row| {
                    if row.has_expired(now) { ControlFlow::Continue(()) } else { each(key, row) }
                })
            }
        }
    }

    /// How many of the first `most` keys of a range there are, and the last of them if there may be more.
    pub(super) fn step_over(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        match &mut self.way {
            TransactionBackend::Memory(scope) => Ok(count_keys(bounds, most, |bounds, each| {
                scope.scan(bounds, ScanDirection::Forward, each);
            })),
            TransactionBackend::Disk(writer) => {
                let (reader, transaction) = writer.parts();
                reader.step_over(|portion, _| transaction.range(portion), bounds, most, self.now)
            }
        }
    }

    /// Single-key writes.
    pub(super) fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> R {
        match &mut self.way {
            TransactionBackend::Memory(scope) => writes(&mut EngineWriter::Memory(scope.writer())),
            TransactionBackend::Disk(writer) => writes(&mut EngineWriter::Disk(writer)),
        }
    }

    /// Sets several keys: all of them, or none.
    pub(super) fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<()> {
        match &mut self.way {
            TransactionBackend::Memory(scope) => Ok(scope.put_all(pairs)?),
            TransactionBackend::Disk(writer) => writer.put_all(pairs),
        }
    }

    /// Removes the first keys within bounds.
    pub(super) fn remove_some(&mut self, bounds: EngineBounds<'_>) -> Result<RangeRemovalStep> {
        let scope = match &mut self.way {
            TransactionBackend::Memory(scope) => scope,
            TransactionBackend::Disk(writer) => return writer.remove_range(bounds, REMOVALS),
        };
        let mut keys = Vec::new();
        scope.scan(bounds, ScanDirection::Forward, |key, _| {
            keys.push(key.to_vec());
            if keys.len() < REMOVALS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        for key in &keys {
            scope.writer().remove(key)?;
        }
        let count = keys.len();
        let rest = keys.pop().filter(|_| count == REMOVALS).map(Bound::Excluded);
        Ok(RangeRemovalStep { count, rest, ticket: Ticket::default() })
    }

    /// Ends it; the ticket says when it is durable.
    ///
    /// # Errors
    /// Nothing may be acknowledged. On disk nothing was done, unless the error is the log's.
    pub(crate) fn commit(self) -> Result<Ticket> {
        match self.way {
            TransactionBackend::Memory(scope) => Ok(scope.commit()?),
            TransactionBackend::Disk(mut writer) => {
                writer.publish()?;
                Ok(writer.ticket())
            }
        }
    }
}
