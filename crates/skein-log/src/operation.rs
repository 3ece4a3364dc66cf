//! The handles of a worker that changes something: an operation inside an epoch, a group of
//! changes, an appender.

use crate::buffer::LockedBuffer;
use crate::commit::SharedLog;
use crate::writer::LogWriter;

/// An operation inside the current epoch. The epoch cannot close before this is dropped.
///
/// Enter before the operation reads or changes the index, and append before dropping it. While
/// holding it, do not wait for durability, enter another operation, or start a commit.
#[derive(Debug)]
pub struct LogOperation<'a> {
    shared: &'a SharedLog,
    log: usize,
    entered: u64,
}

/// Several changes that share one epoch. The epoch cannot advance before this is dropped.
#[derive(Debug)]
pub struct OperationGroup<'a> {
    shared: &'a SharedLog,
    log: usize,
    epoch: u64,
}

/// A locked buffer of a log, to append several records under one lock. Lock it after the changes: a
/// thread may wait for it while it holds a latch, but its holder must not wait for a latch.
#[derive(Debug)]
pub struct LogAppender<'a> {
    /// `None` at `Durability::None`.
    locked: Option<(LockedBuffer<'a>, &'a LogWriter)>,
    drain: bool,
}

impl<'a> LogOperation<'a> {
    #[inline]
    pub(crate) fn enter(shared: &'a SharedLog, log: usize) -> Self {
        Self { shared, log, entered: shared.gate.enter(log) }
    }

    /// Returns the current epoch. Must be called under the latch of the key that changes; then
    /// epochs never decrease along a key's versions.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.shared.gate.epoch()
    }

    /// Appends one record of `epoch`, which must be a result of [`epoch`](Self::epoch) or
    /// [`OperationGroup::epoch`] during this operation. `write` appends the payload to its argument
    /// and must not change the bytes before it.
    ///
    /// # Panics
    /// Panics if the payload is longer than [`MAX_PAYLOAD`](crate::MAX_PAYLOAD) or the epoch is
    /// closed. Both are mistakes in the calling program. Nothing is appended.
    #[inline]
    pub fn append(&self, epoch: u64, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(writer) = self.shared.writers.get(self.log)
            && writer.buffer.lock().append(epoch, write)
        {
            writer.ask_to_drain();
        }
    }

    /// Locks the log's buffer to append several records.
    #[inline]
    pub fn appender(&self) -> LogAppender<'_> {
        let writer = self.shared.writers.get(self.log);
        LogAppender { locked: writer.map(|writer| (writer.buffer.lock(), writer)), drain: false }
    }

    /// Begins a group: [`OperationGroup::epoch`] does not change until the group is dropped. The
    /// records may be appended later, before the operation ends.
    ///
    /// If an epoch is about to close, this waits until the running groups have ended. So begin a
    /// group before taking a latch, and only one at a time.
    pub fn group(&self) -> OperationGroup<'a> {
        OperationGroup { shared: self.shared, log: self.log, epoch: self.shared.gate.begin_group(self.log) }
    }
}

impl Drop for LogOperation<'_> {
    #[inline]
    fn drop(&mut self) {
        self.shared.gate.leave(self.log, self.entered);
    }
}

impl OperationGroup<'_> {
    /// Returns the epoch of all changes of the group.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl Drop for OperationGroup<'_> {
    fn drop(&mut self) {
        self.shared.gate.end_group(self.log);
    }
}

impl LogAppender<'_> {
    /// Appends one record, like [`LogOperation::append`].
    #[inline]
    pub fn append(&mut self, epoch: u64, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some((locked, _)) = &mut self.locked {
            self.drain |= locked.append(epoch, write);
        }
    }
}

impl Drop for LogAppender<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((locked, writer)) = self.locked.take() {
            drop(locked);
            if self.drain {
                writer.ask_to_drain();
            }
        }
    }
}
