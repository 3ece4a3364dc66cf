//! The keys in memory with the writes of an open batch, which other threads could see, too.

use std::ops::ControlFlow;

use skein_store::{OpenBatch, StoredKeyspace};

use crate::keys::{Flow, FoundRow, Keys, Removed, Visit, removal_step};
use crate::range_steps::REMOVALS;
use crate::{EngineBounds, EngineWriter, KeyState, Result, RowView, Ticket};

/// An open batch of the engine in memory. The ticket of its commit covers its writes.
#[derive(Debug)]
pub(crate) struct MemoryBatch<'t> {
    pub(super) batch: OpenBatch<'t>,
    /// The time that decides which keys have expired.
    pub(super) now: u64,
}

impl MemoryBatch<'_> {
    pub(crate) fn commit(self) -> Result<Ticket> {
        Ok(self.batch.commit()?)
    }
}

impl Keys for MemoryBatch<'_> {
    fn now(&self) -> u64 {
        self.now
    }

    fn get_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.batch.get_with(key, |row| look(Ok(row.map(RowView::from))))
    }

    fn peek_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.batch.writer().peek_with(key, |row| look(Ok(RowView::peeked(row))))
    }

    fn key_state(&mut self, key: &[u8]) -> KeyState {
        self.batch.writer().peek_with(key, KeyState::of)
    }

    fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        _bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()> {
        self.batch.get_many(keys, |at, row| found(at, row.map(RowView::from)));
        Ok(())
    }

    fn visit(&mut self, visit: Visit<'_>, mut each: impl FnMut(&[u8], RowView<'_>) -> Flow) -> Result<()> {
        self.batch.scan(visit.bounds, visit.order.direction(), |key, row| each(key, row.into()));
        Ok(())
    }

    fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket) {
        (Ok(writes(&mut EngineWriter::Memory(self.batch.writer()))), Ticket::default())
    }

    fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        Ok(self.batch.put_all(pairs).map(|()| Ticket::default())?)
    }

    fn remove_some(&mut self, bounds: EngineBounds<'_>, _of: Option<StoredKeyspace>) -> Removed {
        let mut keys = Vec::new();
        self.visit(Visit::forward(bounds, REMOVALS), |key, _| {
            keys.push(key.to_vec());
            if keys.len() < REMOVALS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        for key in &keys {
            self.batch.writer().remove(key)?;
        }
        let count = keys.len();
        Ok(removal_step(count, keys.pop().filter(|_| count == REMOVALS), Ticket::default()))
    }
}
