//! Batches that are applied only if the caller's reads are still true: the commit of an optimistic
//! transaction.
//!
//! ```text
//!   memory   begin group ─ latch the batch's stripes ─ check ─ write ─ unlatch
//!   disk     begin transaction (one writer) ───────── check ─ write ─ publish
//! ```
//!
//! On disk no other thread writes between the check and the publication. In memory only the batch's
//! own keys are latched, and single-key writes are not kept away at all: the caller must exclude
//! them.

use std::ops::ControlFlow;

use skein_store::{Batch, BatchWrite, RowWriter as _};

use crate::disk::OpenTransaction;
use crate::keys::{Keys as _, Visit};
use crate::session::{EngineSession, SessionOf};
use crate::{EngineBounds, EngineWriter, Error, Result, Ticket};

/// The present rows, for the check of [`EngineSession::apply_if`].
pub struct PresentRows<'p, 't>(Present<'p, 't>);

enum Present<'p, 't> {
    Memory(&'p skein_store::Session),
    Disk(&'p mut OpenTransaction<'t>),
}

impl PresentRows<'_, '_> {
    /// Returns the version of a key, or `None` if it is absent.
    ///
    /// # Errors
    /// A page cannot be read or is damaged.
    pub fn version(&mut self, key: &[u8]) -> Result<Option<u64>> {
        match &mut self.0 {
            Present::Memory(session) => {
                Ok(session.get_with(key, |row| row.map(skein_store::RowRef::version)))
            }
            Present::Disk(transaction) => transaction.get_with(key, |row| Ok(row?.map(|row| row.version()))),
        }
    }

    /// Calls `each` with the keys within bounds and their versions, in order, until it breaks.
    /// `most` is the number of keys that it wants at most.
    ///
    /// # Errors
    /// Keys have no order, or a page cannot be read or is damaged.
    pub fn scan(
        &mut self,
        bounds: EngineBounds<'_>,
        most: usize,
        mut each: impl FnMut(&[u8], u64) -> ControlFlow<()>,
    ) -> Result<()> {
        let visit = Visit::forward(bounds, most);
        match &mut self.0 {
            Present::Memory(session) => {
                session.scan(bounds, visit.order.direction(), |key, row| each(key, row.version()));
                Ok(())
            }
            Present::Disk(transaction) => transaction.visit(visit, |key, row| each(key, row.version())),
        }
    }
}

impl EngineSession {
    /// Applies all writes of a batch, or none, if `check` returns true. Returns `None` if it
    /// returned false. A snapshot, a restart and [`Engine::get`](crate::Engine::get) see the batch
    /// whole.
    ///
    /// In memory other threads may write single keys between the check and the batch; see the
    /// module's head.
    ///
    /// # Errors
    /// Those of `check`; a limit is exceeded, writes are stopped, or a file operation fails.
    /// Nothing was written then.
    pub fn apply_if(
        &mut self,
        batch: &Batch,
        check: impl FnOnce(&mut PresentRows<'_, '_>) -> Result<bool>,
    ) -> Result<Option<Ticket>> {
        match &mut self.of_engine {
            SessionOf::Memory(session) => {
                let mut failed = None;
                let applied = session.0.apply_if(batch, |session| {
                    check(&mut PresentRows(Present::Memory(session))).unwrap_or_else(|error| {
                        failed = Some(error);
                        false
                    })
                })?;
                failed.map_or(Ok(applied), Err)
            }
            SessionOf::Disk(session) => {
                let mut transaction = session.begin();
                if !check(&mut PresentRows(Present::Disk(&mut transaction)))? {
                    return Ok(None);
                }
                let puts = |writer: &mut EngineWriter<'_, '_>| {
                    batch.iter().try_for_each(|(key, write)| put(writer, key, write))
                };
                transaction.write(puts).0??;
                transaction.commit().map(Some)
            }
        }
    }
}

fn put(writer: &mut EngineWriter<'_, '_>, key: &[u8], write: &BatchWrite) -> Result<(), Error> {
    match write {
        BatchWrite::Put(value, None) => writer.put(key, value),
        BatchWrite::Put(value, Some(expires)) => writer.put_until(key, value, *expires),
        BatchWrite::PutColumns(columns) => {
            let columns: Vec<_> = columns.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            writer.put_columns(key, &columns).map(drop)
        }
        BatchWrite::Remove => writer.remove(key).map(drop),
    }
}
