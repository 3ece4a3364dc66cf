//! The records of a scope of writes, gathered before they go to the log in one append.
//!
//! A record is encoded before its key's latch is taken, with version 0; [`Records::commit`] puts the
//! version in that the write took, or [`Records::cancel`] forgets the record.

use std::cell::Cell;

use crate::record;

/// Room kept from one scope to the next; a scope that needed more gives it back.
const KEPT_BYTES: usize = 1 << 20;

/// Encoded records, in the order of the writes.
#[derive(Debug, Default)]
pub(crate) struct RecordBuffer {
    bytes: Vec<u8>,
    /// Where each record that counts begins and ends, and its epoch. What lies between is of a caller's closure that
    /// panicked while it wrote.
    committed: Vec<(usize, usize, u64)>,
}

thread_local! {
    /// One per thread, taken for the time of a scope, so that a small write allocates nothing.
    static KEPT: Cell<Option<RecordBuffer>> = const { Cell::new(None) };
}

impl RecordBuffer {
    /// The calling thread's, empty.
    pub(crate) fn take() -> Self {
        KEPT.take().unwrap_or_default()
    }

    /// Gives the room back to the calling thread.
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

    /// Begins a record: `write` appends its payload. Returns where it starts.
    #[inline]
    pub(crate) fn begin(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.bytes.len();
        write(&mut self.bytes);
        start
    }

    /// The record counts: it has this version and this epoch.
    #[inline]
    pub(crate) fn commit(&mut self, start: usize, version: u64, epoch: u64) {
        record::set_version(&mut self.bytes[start..], version);
        self.committed.push((start, self.bytes.len(), epoch));
    }

    /// Where the records end now, for [`take_back`](Self::take_back).
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.bytes.len(), self.committed.len())
    }

    /// Forgets all records since the mark, those that counted, too.
    pub(crate) fn take_back(&mut self, (bytes, committed): (usize, usize)) {
        self.bytes.truncate(bytes);
        self.committed.truncate(committed);
    }

    /// The record is forgotten.
    pub(crate) fn cancel(&mut self, start: usize) {
        self.bytes.truncate(start);
    }

    /// The records, in order, with their epochs.
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
    fn only_what_was_committed_goes_to_the_log() {
        let mut records = RecordBuffer::default();
        let first = records.begin(|out| record::write_remove(out, b"a", 0));
        records.commit(first, 1, 5);
        // A closure that panicked, and was caught.
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
