//! Checkpoints of the store: on request, when the log has grown enough, and on close.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::UNIX_EPOCH;

use skein_log::{Durability, LogError};
use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use skein_sync::background::ThreadSignal;
use skein_sync::locks::lock;

use super::{DiskShared, DiskStore};
use crate::Result;
use crate::buffer::CheckpointMoment;
use crate::page::PagePlace;

/// The requests to the thread, and counters of the checkpoints since the store was opened.
#[derive(Debug, Default)]
pub(super) struct CheckpointStatus {
    /// Held during a checkpoint.
    one_at_a_time: Mutex<()>,
    /// A checkpoint was requested, and none has begun since.
    requested: AtomicBool,
    pub(super) thread: Arc<ThreadSignal>,
    pub(super) taken: AtomicU64,
    pub(super) running: AtomicBool,
    pub(super) last_unix_s: AtomicU64,
}

impl DiskStore {
    /// Makes all earlier writes part of the file, and releases the log before them. Reads and
    /// writes continue meanwhile.
    ///
    /// # Errors
    /// A file operation failed, or the store is closed. Nothing is lost, because the log has the
    /// writes that the file lacks.
    pub fn checkpoint(&self) -> Result<()> {
        self.shared.check_open()?;
        self.shared.checkpoint()
    }

    /// Asks the store's thread for a checkpoint. Returns false if one is running, or was requested
    /// and has not begun. The next checkpoint to begin fulfils the request, even if
    /// [`checkpoint`](Self::checkpoint) takes it.
    pub fn checkpoint_in_background(&self) -> bool {
        let checkpoints = &self.shared.checkpoints;
        !checkpoints.running.load(Ordering::Relaxed) && checkpoints.request()
    }
}

impl CheckpointStatus {
    /// Asks the thread for a checkpoint. Returns false if one was requested and has not begun.
    pub(super) fn request(&self) -> bool {
        // Relaxed: earlier writes were published under the writer's lock. A checkpoint takes this
        // lock after it has cleared the flag, so it has them.
        let is_first = !self.requested.swap(true, Ordering::Relaxed);
        self.thread.wake();
        is_first
    }
}

impl DiskShared {
    pub(super) fn checkpoint(&self) -> Result<()> {
        self.checkpoint_moving(None)
    }

    /// Takes a checkpoint that also moves the maps at `lists_from` or behind.
    pub(super) fn checkpoint_moving(&self, lists_from: Option<PagePlace>) -> Result<()> {
        self.checkpoint_in_turn(&lock(&self.checkpoints.one_at_a_time), lists_from)
    }

    fn checkpoint_in_turn(&self, _turn: &MutexGuard<'_, ()>, lists_from: Option<PagePlace>) -> Result<()> {
        let state = &self.checkpoints;
        state.running.store(true, Ordering::Relaxed);
        // This checkpoint has everything that was written before the request.
        state.requested.store(false, Ordering::Relaxed);
        let taken = self.take_checkpoint(lists_from);
        state.running.store(false, Ordering::Relaxed);
        taken?;
        state.taken.fetch_add(1, Ordering::Relaxed);
        state.last_unix_s.store(UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs()), Ordering::Relaxed);
        Ok(())
    }

    fn take_checkpoint(&self, lists_from: Option<PagePlace>) -> Result<()> {
        let moment = || {
            self.logged.store(0, Ordering::Relaxed);
            let sequence = self.sequence.load(Ordering::Relaxed);
            let keys = self.keys.load(Ordering::Relaxed);
            let (epoch, catalog) = (self.log.epoch(), self.catalog);
            let counts = self.lock_reserved().bytes();
            CheckpointMoment { sequence, keys, epoch, catalog, counts }
        };
        let mut kept_from = 0;
        let ready = |moment: &mut CheckpointMoment| {
            moment.epoch = self.make_log_durable(moment.epoch)?;
            kept_from = moment.epoch;
            Ok(())
        };
        self.buffer.checkpoint(moment, ready, lists_from)?;
        if self.options.durability != Durability::None {
            self.log.release_before(kept_from)?;
        }
        Ok(())
    }

    /// Makes the log durable up to `epoch`. Returns the epoch for the header: the first one of the
    /// log that may have writes which the file lacks. The log always has this epoch, because later
    /// records have greater epochs.
    ///
    /// A log without room stays behind at its last durable epoch, and the file is ahead of it. The
    /// records in between are of writes that the file has, so replay skips them, whether they reach
    /// the log later or never.
    fn make_log_durable(&self, epoch: u64) -> Result<u64> {
        match self.log.wait_durable(epoch) {
            Ok(()) => Ok(epoch),
            Err(LogError::NoRoom { .. }) => Ok(self.log.durable_epoch()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes checkpoints on request until the thread is stopped.
    pub(super) fn take_checkpoints(&self, signal: &ThreadSignal) {
        while signal.wait() {
            // Nothing is lost, because the log has the writes that the file lacks. The store
            // continues.
            if let Err(error) = self.checkpoint_if_requested() {
                tracing::warn!(%error, "a checkpoint was not taken");
            }
        }
    }

    /// Takes a checkpoint, unless another one has begun since the request.
    fn checkpoint_if_requested(&self) -> Result<()> {
        let turn = lock(&self.checkpoints.one_at_a_time);
        let is_requested = self.checkpoints.requested.load(Ordering::Relaxed);
        if is_requested { self.checkpoint_in_turn(&turn, None) } else { Ok(()) }
    }
}
