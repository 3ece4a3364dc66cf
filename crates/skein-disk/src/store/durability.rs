//! What is durable: for servers, which acknowledge a write later and do not wait for it.

use skein_log::{Durability, Ticket};

use super::DiskStore;
use crate::{DiskError, Result};

impl DiskStore {
    /// What an acknowledged write promises.
    pub fn durability(&self) -> Durability {
        self.shared.log.durability()
    }

    /// Everything up to this epoch is durable.
    pub fn durable_epoch(&self) -> u64 {
        self.shared.log.durable_epoch()
    }

    /// Waits until the ticket's writes are durable (the caller may do the commit itself). At [`Durability::None`] it returns at once.
    ///
    /// # Errors
    /// Writes are stopped, or the store was closed before.
    ///
    /// # Panics
    /// If the ticket is of another store, and of an epoch that this one has not begun.
    pub fn wait_durable(&self, ticket: Ticket) -> Result<()> {
        if ticket.epoch > 0 {
            self.shared.log.wait_durable(ticket.epoch)?;
        }
        Ok(())
    }

    /// Asks for the ticket's writes to be made durable soon, without waiting; see [`on_durable`](Self::on_durable).
    pub fn request_durable(&self, ticket: Ticket) {
        if ticket.epoch > 0 {
            self.shared.log.request_durable(ticket.epoch);
        }
    }

    /// `callback` is called, from any thread and briefly, whenever the durable epoch has advanced or writes have stopped. It may ask for
    /// [`durable_epoch`](Self::durable_epoch) and nothing else of the store.
    pub fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        self.shared.log.on_durable(callback);
    }

    /// Why writes are stopped, if they are: by a failure of the log or of the page file, or for want of room on either's disk.
    pub fn writes_stopped(&self) -> Option<DiskError> {
        self.log_stopped().or_else(|| self.shared.buffer.writes_stopped())
    }

    /// Why nothing becomes durable in the log any more, if so. It still does if the page file alone has failed.
    pub fn log_stopped(&self) -> Option<DiskError> {
        self.shared.log.poisoned().map(DiskError::from)
    }

    /// Makes all that was written before durable. At [`Durability::None`] there is no log: then only a [`checkpoint`](Self::checkpoint) does.
    ///
    /// # Errors
    /// The log is stopped by a failure.
    pub fn sync(&self) -> Result<()> {
        self.shared.log.commit()?;
        Ok(())
    }
}
