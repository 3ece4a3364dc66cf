//! The buffer of a writer's log records, which are appended to the log at once.
//!
//! A writer encodes a record before it takes the key's latch, with version 0. Then
//! [`RecordBuffer::commit`] fills in the version that the write took, or [`RecordBuffer::cancel`]
//! discards the record.

use std::cell::Cell;

use crate::record;

/// The largest capacity that a thread keeps for its next writer; a larger buffer is freed.
const KEPT_BYTES: usize = 1 << 20;

/// Encoded records, in the order of the writes.
#[derive(Debug, Default)]
pub(crate) struct RecordBuffer {
    bytes: Vec<u8>,
    /// Start, end and epoch of each committed record. Bytes in between belong to a closure of the
    /// caller that panicked while it wrote.
    committed: Vec<(usize, usize, u64)>,
}

thread_local! {
    /// One per thread, taken by each writer, so that a small write allocates nothing.
    static KEPT: Cell<Option<RecordBuffer>> = const { Cell::new(None) };
}

impl RecordBuffer {
    /// Takes the calling thread's buffer, empty.
    pub(crate) fn take() -> Self {
        KEPT.take().unwrap_or_default()
    }

    /// Gives the memory back to the calling thread.
    pub(crate) fn keep(mut self) {
        if self.bytes.capacity() <= KEPT_BYTES {
            self.clear();
            KEPT.set(Some(self));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.committed.clear();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Begins a record: `write` appends its payload. Returns the start of the record.
    #[inline]
    pub(crate) fn begin(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.bytes.len();
        write(&mut self.bytes);
        start
    }

    /// Commits the record with this version and this epoch.
    #[inline]
    pub(crate) fn commit(&mut self, start: usize, version: u64, epoch: u64) {
        record::set_version(&mut self.bytes[start..], version);
        self.committed.push((start, self.bytes.len(), epoch));
    }

    /// Returns the present end of the records, for [`take_back`](Self::take_back).
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.bytes.len(), self.committed.len())
    }

    /// Discards all records since the mark, including committed ones.
    pub(crate) fn take_back(&mut self, (bytes, committed): (usize, usize)) {
        self.bytes.truncate(bytes);
        self.committed.truncate(committed);
    }

    /// Discards the record.
    pub(crate) fn cancel(&mut self, start: usize) {
        self.bytes.truncate(start);
    }

    /// Returns the committed records in order, with their epochs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.committed.iter().map(|(start, end, epoch)| (*epoch, &self.bytes[*start..*end]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.committed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_committed_records_are_returned() {
        let mut records = RecordBuffer::default();
        let first = records.begin(|out| record::write_remove(out, b"a", 0));
        records.commit(first, 1, 5);
        // A closure that panicked and was caught.
        records.begin(|out| out.extend_from_slice(b"half a record"));
        let cancelled = records.begin(|out| record::write_remove(out, b"b", 0));
        records.cancel(cancelled);
        let last = records.begin(|out| record::write_remove(out, b"c", 0));
        records.commit(last, 2, 6);
        let found: Vec<_> = records
            .iter()
            .map(|(epoch, bytes)| {
                (epoch, record::StoreRecord::parse(bytes).map(|record| (record.key, record.version)))
            })
            .collect();
        assert_eq!(found, [(5, Some((&b"a"[..], 1))), (6, Some((&b"c"[..], 2)))]);
    }
}
