//! What a worker holds while it changes something: an operation inside an epoch, a group, an appender.

use crate::buffer::LockedBuffer;
use crate::commit::SharedLog;
use crate::writer::LogWriter;

/// An operation inside the present epoch: the epoch cannot close before this is dropped.
///
/// Take it before the operation touches the index, append before dropping it, and do not wait for
/// durability, take another one or start a commit while holding it.
#[derive(Debug)]
pub struct LogOperation<'a> {
    shared: &'a SharedLog,
    log: usize,
    entered: u64,
}

/// Several changes that share one epoch: the epoch cannot advance before this is dropped.
#[derive(Debug)]
pub struct OperationGroup<'a> {
    shared: &'a SharedLog,
    log: usize,
    epoch: u64,
}

/// A log's buffer, locked: several records under one lock. Take it after the changes, not before: a latch may
/// be held while someone waits for it, never the other way round.
#[derive(Debug)]
pub struct LogAppender<'a> {
    /// Nothing at `Durability::None`.
    locked: Option<(LockedBuffer<'a>, &'a LogWriter)>,
    drain: bool,
}

impl<'a> LogOperation<'a> {
    #[inline]
    pub(crate) fn enter(shared: &'a SharedLog, log: usize) -> Self {
        Self { shared, log, entered: shared.gate.enter(log) }
    }

    /// The present epoch. To be read under the latch of the key that is being changed: then epochs never
    /// decrease along a key's versions.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.shared.gate.epoch()
    }

    /// Appends one record of `epoch`, which [`epoch`](Self::epoch) or [`Group::epoch`] gave during this
    /// operation. `write` appends the payload to what it is given and touches nothing before that.
    ///
    /// # Panics
    /// If the payload is longer than [`MAX_PAYLOAD`](crate::MAX_PAYLOAD), or the epoch is over: mistakes in the
    /// calling program. Nothing is appended then.
    #[inline]
    pub fn append(&self, epoch: u64, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(writer) = self.shared.writers.get(self.log)
            && writer.buffer.lock().append(epoch, write)
        {
            writer.ask_to_drain();
        }
    }

    /// Locks the log's buffer for several records.
    #[inline]
    pub fn appender(&self) -> LogAppender<'_> {
        let writer = self.shared.writers.get(self.log);
        LogAppender { locked: writer.map(|writer| (writer.buffer.lock(), writer)), drain: false }
    }

    /// Begins a group: until it is dropped the epoch stays what [`Group::epoch`] says. Its records may be
    /// appended after that, before the operation ends.
    ///
    /// Waits, while an epoch is about to close, for the groups that are under way. So take it before any
    /// latch, and only one at a time.
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
    /// The epoch of all changes of the group.
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
    /// Appends one record, as [`Operation::append`] does.
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
