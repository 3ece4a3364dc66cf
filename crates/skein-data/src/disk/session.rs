//! The current keys on disk.

use skein_disk::DiskStore;
use skein_model::StoredKeyspace;

use super::row_reads::{CollectionOpener, RowReads};
use super::{DiskEngine, DiskRowReader, DiskWriter, OpenTransaction, live};
use crate::keys::{Flow, FoundRow, Keys, Removed, Visit};
use crate::range_steps::RangeRemovalStep;
use crate::{EngineBounds, EngineWriter, KeyState, Result, RowView, Ticket};

/// A session of the disk engine.
#[derive(Debug)]
pub(crate) struct DiskSession {
    engine: DiskEngine,
    reader: DiskRowReader,
    /// The time that the session uses as the current one.
    frozen: Option<u64>,
}

impl DiskSession {
    pub(crate) fn new(engine: &DiskEngine) -> Self {
        Self { engine: engine.clone(), reader: DiskRowReader::default(), frozen: None }
    }

    pub(crate) fn freeze(&mut self, now: u64) {
        self.frozen = Some(now);
    }

    pub(crate) fn prefetch(&self, keys: &[&[u8]]) {
        self.engine.store().prefetch(keys);
    }

    pub(crate) fn begin(&mut self) -> OpenTransaction<'_> {
        let now = self.now();
        OpenTransaction(DiskWriter::new_whole(&self.engine, &mut self.reader, now))
    }

    fn reads(&mut self) -> RowReads<'_, &DiskStore> {
        let now = self.now();
        RowReads { reads: self.engine.store(), reader: &mut self.reader, now }
    }
}

impl Keys for DiskSession {
    fn now(&self) -> u64 {
        self.frozen.unwrap_or_else(|| self.engine.now())
    }

    fn get_with<R>(&mut self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> R) -> R {
        self.reads().get_with(key, look)
    }

    fn key_state(&mut self, key: &[u8]) -> KeyState {
        self.reads().key_state(key)
    }

    fn removal_counter(&self, key: &[u8]) -> u64 {
        self.engine.removal_counter(key)
    }

    fn get_many(
        &mut self,
        keys: &[&[u8]],
        _is_use: impl Fn(usize) -> bool,
        mut found: impl FnMut(usize, FoundRow<'_>),
    ) {
        let RowReads { reads, reader, now } = self.reads();
        reader.each(reads, keys, |at, row| {
            let opener = CollectionOpener { reads: &reads, key: keys[at], now };
            found(at, row.map(|row| live(row, now).map(|row| RowView::stored(row, &opener))));
        });
    }

    fn get_many_atomic(
        &mut self,
        keys: &[&[u8]],
        bytes_most: usize,
        mut found: impl FnMut(usize, Option<RowView<'_>>),
    ) -> Result<()> {
        let RowReads { reads, reader, now } = self.reads();
        reader.rows(reads, keys, bytes_most, |at, row| {
            let opener = CollectionOpener { reads: &reads, key: keys[at], now };
            found(at, live(row, now).map(|row| RowView::stored(row, &opener)));
        })
    }

    fn is_ordered(&self) -> bool {
        self.engine.store().shape().is_ordered()
    }

    fn visit(&mut self, visit: Visit<'_>, each: impl FnMut(&[u8], RowView<'_>) -> Flow) -> Result<()> {
        self.reads().visit(visit, each)
    }

    fn count_first(&mut self, bounds: EngineBounds<'_>, most: usize) -> Result<(usize, Option<Vec<u8>>)> {
        self.reads().count_first(bounds, most)
    }

    fn write<R>(&mut self, writes: impl FnOnce(&mut EngineWriter<'_, '_>) -> R) -> (Result<R>, Ticket) {
        let now = self.now();
        let mut writer = DiskWriter::new(&self.engine, &mut self.reader, now);
        let answer = writes(&mut EngineWriter::Disk(&mut writer));
        let done = writer.publish();
        (done.map(|()| answer), writer.ticket())
    }

    fn put_all(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Ticket> {
        let mut transaction = self.begin();
        transaction.put_all(pairs)?;
        transaction.commit()
    }

    fn remove_some(&mut self, bounds: EngineBounds<'_>, of: Option<StoredKeyspace>) -> Removed {
        let mut transaction = self.begin();
        let removed = transaction.remove_some(bounds, of)?;
        Ok(RangeRemovalStep { ticket: transaction.commit()?, ..removed })
    }
}
