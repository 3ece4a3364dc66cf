//! Reads of rows at one time: of the store, of a snapshot, or within an open transaction.

use std::ops::ControlFlow;

use skein_disk::{KeySpace, ScanRequest};
use skein_model::CollectionHead;

use super::reader::DiskReads;
use super::{DiskRowReader, live};
use crate::collections::{CollectionSource, StoredMembers};
use crate::keys::{Flow, FoundRow, KeyOrder, Visit};
use crate::{EngineBounds, KeyState, Result, RowView};

/// Reads of rows, with the buffers for them and the time that decides which keys have expired.
pub(crate) struct RowReads<'r, R> {
    pub(crate) reads: R,
    pub(crate) reader: &'r mut DiskRowReader,
    pub(crate) now: u64,
}

impl<R: DiskReads> RowReads<'_, R> {
    /// Calls `look` with the row of a key.
    pub(crate) fn get_with<T>(self, key: &[u8], look: impl FnOnce(FoundRow<'_>) -> T) -> T {
        let Self { reads, reader, now } = self;
        let opener = CollectionOpener { reads: &reads, key, now };
        let row = reader.row(key, |value| reads.get(KeySpace::Main, key, value));
        look(row.map(|row| live(row, now).map(|row| RowView::stored(row, &opener))))
    }

    /// Returns the state of a key.
    pub(crate) fn key_state(self, key: &[u8]) -> KeyState {
        let Self { reads, reader, now } = self;
        KeyState::of_read(reader.row(key, |value| reads.get(KeySpace::Main, key, value)), now)
    }

    /// Calls `each` with the rows of a visit until it breaks.
    pub(crate) fn visit(
        self,
        visit: Visit<'_>,
        mut each: impl FnMut(&[u8], RowView<'_>) -> Flow,
    ) -> Result<()> {
        let Self { reads, reader, now } = self;
        let read = |portion: &ScanRequest<'_>, before| {
            let found = match visit.order {
                KeyOrder::Sorted(_) => reads.range(KeySpace::Main, portion),
                KeyOrder::Any => reads.walk(portion),
            }?;
            reads.check_scanned(before, before + found.entries.len() as u64)?;
            Ok(found)
        };
        reader.scan(read, visit.bounds, visit.order.direction(), visit.most, |key, row| {
            let opener = CollectionOpener { reads: &reads, key, now };
            let view = RowView::stored(row, &opener);
            if row.has_expired(now) { ControlFlow::Continue(()) } else { each(key, view) }
        })
    }

    /// Counts the first `most` keys of a range. Returns the count, and the last key if there may be
    /// more.
    pub(crate) fn count_first(
        self,
        bounds: EngineBounds<'_>,
        most: usize,
    ) -> Result<(usize, Option<Vec<u8>>)> {
        let Self { reads, reader, now } = self;
        reader.count_first(|portion, _| reads.range(KeySpace::Main, portion), bounds, most, now)
    }
}

/// Opens the collection of the row of a key.
pub(crate) struct CollectionOpener<'r, R> {
    pub(crate) reads: &'r R,
    pub(crate) key: &'r [u8],
    /// The time that decides which keys have expired.
    pub(crate) now: u64,
}

impl<R: DiskReads> CollectionSource for CollectionOpener<'_, R> {
    fn open(&self, head: CollectionHead) -> Result<Box<dyn StoredMembers + '_>> {
        self.reads.open(self.key, self.now, head)
    }
}
