//! The log as its users see it.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::storage::Storage;
use crate::{CheckpointEpochs, LogError, LogOptions, Recovered, Result};

/// Several logs that become durable together, epoch by epoch. Shared by reference between threads.
#[derive(Debug)]
pub struct Log {}

/// The logs in numbers.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LogStats {
    /// The present epoch.
    pub epoch: u64,
    /// The last durable epoch.
    pub durable_epoch: u64,
    /// Segment files on disk, those of earlier runs included.
    pub segments: usize,
    /// Bytes in them (records, not what is merely reserved).
    pub bytes: u64,
    /// Bytes appended since the log was opened.
    pub appended_bytes: u64,
    /// Epochs made durable since the log was opened.
    pub commits: u64,
    /// Why writes are stopped, if they are.
    pub poisoned: Option<String>,
}

/// An operation inside the present epoch: the epoch cannot close before this is dropped.
///
/// Take it before the operation touches the index, append before dropping it, and do not wait for
/// durability, take another one or start a commit while holding it.
#[derive(Debug)]
pub struct Operation<'a>(PhantomData<&'a Log>);

/// Several changes that share one epoch: the epoch cannot advance before this is dropped.
#[derive(Debug)]
pub struct Group<'a>(PhantomData<&'a Log>);

/// A log's buffer, locked: several records under one lock.
#[derive(Debug)]
pub struct Appender<'a>(PhantomData<&'a Log>);

impl Log {
    /// Opens the logs in `options.folders`, creating the folders if need be, and recovers what is there.
    ///
    /// When it returns, what was not durable is durably gone, and [`Recovered::replay`] gives the rest.
    /// `checkpoint` says from where on the logs are needed; without one they are needed from their start.
    /// At `Durability::None` existing logs are recovered all the same, and nothing new is written.
    ///
    /// # Errors
    /// An option out of range, a folder in use, a failed file operation, an unknown format, damage.
    pub fn open(
        storage: Arc<dyn Storage>,
        options: LogOptions,
        checkpoint: Option<CheckpointEpochs>,
    ) -> Result<(Self, Recovered)> {
        let _ = (storage, options, checkpoint);
        todo!()
    }

    /// How many logs are written.
    pub fn logs(&self) -> usize {
        todo!()
    }

    /// Enters the present epoch for an operation that will append to log number `log` (counted from 0).
    ///
    /// Waits while that log's buffer is over its bound. Several threads may use one log.
    ///
    /// # Errors
    /// The log is poisoned or closed.
    ///
    /// # Panics
    /// If there is no such log.
    pub fn enter(&self, log: usize) -> Result<Operation<'_>> {
        let _ = log;
        todo!()
    }

    /// The present epoch.
    pub fn epoch(&self) -> u64 {
        todo!()
    }

    /// Everything up to this epoch is durable.
    pub fn durable_epoch(&self) -> u64 {
        todo!()
    }

    /// Waits until `epoch` is durable; does the commit itself if nobody else is at it.
    /// At `Durability::None` it returns at once.
    ///
    /// # Errors
    /// The log is poisoned, or was closed before.
    pub fn wait_durable(&self, epoch: u64) -> Result<()> {
        let _ = epoch;
        todo!()
    }

    /// Asks a background thread to make `epoch` durable now, and does not wait; see [`on_durable`](Self::on_durable).
    pub fn request_durable(&self, epoch: u64) {
        let _ = epoch;
        todo!()
    }

    /// `callback` is called, from any thread and briefly, whenever the durable epoch has advanced or the log
    /// was poisoned. It must not call back into the log, except for [`durable_epoch`](Self::durable_epoch)
    /// and [`poisoned`](Self::poisoned).
    pub fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        let _ = callback;
        todo!()
    }

    /// Closes the present epoch and makes it durable; returns it. Every operation that ended before the call
    /// is in it or in an earlier one, and every operation that starts after it is in a later one.
    ///
    /// So a checkpoint takes `begin = commit()? + 1` before its scan, and `end = commit()?` after it. At
    /// `Durability::None` the epoch closes all the same, and nothing is written.
    ///
    /// # Errors
    /// The log is poisoned or closed.
    pub fn commit(&self) -> Result<u64> {
        todo!()
    }

    /// Removes the segments in which all records are of epochs before `epoch`; returns how many. For a
    /// checkpoint that counts: `epoch` is its begin epoch.
    ///
    /// # Errors
    /// A failed file operation; what was not removed stays until the next call.
    pub fn release_before(&self, epoch: u64) -> Result<usize> {
        let _ = epoch;
        todo!()
    }

    /// The logs in numbers.
    pub fn stats(&self) -> LogStats {
        todo!()
    }

    /// Why writes are stopped, if they are.
    pub fn poisoned(&self) -> Option<LogError> {
        todo!()
    }

    /// Makes everything durable, ends the threads and lets the folders go; returns the last epoch. Operations
    /// after it are refused. Dropping the log does the same, without an answer.
    ///
    /// # Errors
    /// The log is poisoned, or the last commit failed.
    pub fn close(&self) -> Result<u64> {
        todo!()
    }
}

impl Operation<'_> {
    /// The present epoch. To be read under the latch of the key that is being changed: then epochs never
    /// decrease along a key's versions.
    #[inline]
    pub fn epoch(&self) -> u64 {
        todo!()
    }

    /// Appends one record of `epoch`, which [`epoch`](Self::epoch) or [`Group::epoch`] gave during this
    /// operation. `write` appends the payload to what it is given and touches nothing before that; at most
    /// [`MAX_PAYLOAD`](crate::MAX_PAYLOAD) bytes.
    pub fn append(&self, epoch: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let _ = (epoch, write);
        todo!()
    }

    /// Locks the log's buffer for several records.
    pub fn appender(&self) -> Appender<'_> {
        todo!()
    }

    /// Begins a group: until it is dropped the epoch stays what [`Group::epoch`] says. Its records may be
    /// appended after that, before the operation ends.
    ///
    /// Waits while an epoch is about to close, for the groups that are under way. So take it before any
    /// latch, and only one at a time.
    pub fn group(&self) -> Group<'_> {
        todo!()
    }
}

impl Group<'_> {
    /// The epoch of all changes of the group.
    #[inline]
    pub fn epoch(&self) -> u64 {
        todo!()
    }
}

impl Appender<'_> {
    /// Appends one record, as [`Operation::append`] does.
    pub fn append(&mut self, epoch: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let _ = (epoch, write);
        todo!()
    }
}
