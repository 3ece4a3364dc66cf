//! The current keys in memory.

use std::ops::Bound;

use skein_store::{RowRef, Session, Store, StoredKeyspace};

use super::MemoryBatch;
use crate::keys::{Flow, FoundRow, Keys, Removed, Visit, removal_step};
use crate::range_steps::REMOVALS;
use crate::{EngineBounds, EngineWriter, KeyState, Result, RowView, Ticket};

/// A session of the engine in memory.
#[derive(Debug)]
pub(crate) struct MemorySession(pub(crate) Session);

impl MemorySession {
    /// Opens a session. If it `admits_all`, the caller keeps the memory limit.
    pub(crate) fn new(store: &Store, admits_all: bool) -> Self {
        let mut session = store.session();
        session.spread_columns(true);
        session.pack_members(true);
        if admits_all {
            session.admit_all();
        }
        Self(session)
    }

    pub(crate) fn begin(&mut self) -> Result<MemoryBatch<'_>> {
        let now = self.0.now();
        Ok(MemoryBatch { batch: self.0.open_batch()?, now })
    }

    pub(crate) fn make_room(&mut self, bytes: usize, beside: usize) -> Result<(usize, Ticket)> {
        Ok(self.0.make_room(bytes, beside)?)
    }

    pub(crate) fn prefetch(&self, keys: &[&[u8]]) {
        let found = |_: usize, row: Option<RowRef<'_>>| {
            std::hint::black_box(row.map(RowRef::version));
        };
        self.0.get_many_if_used(keys, |_| false, found);
    }
}

impl Keys for MemorySession {
    fn now(&self) -> u64 {
        self.0.now()
    }

    #[inline]
    fn get_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.0.get_with(key, |row| look(Ok(row.map(RowView::from))))
    }

    fn peek_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.0.peek_with(key, |row| look(Ok(RowView::peeked(row))))
    }

    fn get_settled_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.0.get_settled_with(key, |row| look(Ok(row.map(RowView::from))))
    }

    fn key_state(&mut self, key: &[u8]) -> KeyState {
        self.0.peek_with(key, KeyState::of)
    }

    fn removal_counter(&self, key: &[u8]) -> u64 {
        self.0.removal_count(key)
    }

    fn get_many(
        &mut self,
        keys: &[&[u8]],
        is_use: impl Fn(usize) -> bool,
        mut found: impl FnMut(usize, FoundRow<'_>),
    ) {
        self.0.get_many_if_used(keys, is_use, |at, row| found(at, Ok(row.map(RowView::from))));
    }

    fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        _bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()> {
        self.0.get_many_atomic(keys, |at, row| found(at, row.map(RowView::from)));
        Ok(())
    }

    fn count_present(&mut self, keys: &[&[u8]], is_use: bool) -> Result<usize> {
        let mut count = 0;
        let found = |_: usize, row: Option<RowRef<'_>>| count += usize::from(row.is_some());
        if is_use {
            self.0.get_many_atomic(keys, found);
        } else {
            self.0.peek_many_atomic(keys, found);
        }
        Ok(count)
    }

    fn visit(&mut self, visit: Visit<'_>, mut each: impl FnMut(&[u8], RowView<'_>) -> Flow) -> Result<()> {
        self.0.scan(visit.bounds, visit.order.direction(), |key, row| each(key, row.into()));
        Ok(())
    }

    fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket) {
        match self.0.write(|writer| writes(&mut EngineWriter::Memory(writer))) {
            Ok((answer, ticket)) => (Ok(answer), ticket),
            Err(error) => (Err(error.into()), Ticket::default()),
        }
    }

    fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        Ok(self.0.put_all(pairs)?)
    }

    fn remove_some(&mut self, bounds: EngineBounds<'_>, _of: Option<StoredKeyspace>) -> Removed {
        let (_, last) = self.count_first(bounds, REMOVALS)?;
        let upper = last.as_deref().map_or(bounds.1, Bound::Included);
        let (count, ticket) = self.0.remove_range((bounds.0, upper))?;
        Ok(removal_step(count, last, ticket))
    }
}
