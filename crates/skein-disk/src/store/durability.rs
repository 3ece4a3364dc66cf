//! Durability of writes, for servers that acknowledge a write later and do not block for it.

use skein_log::{Durability, Ticket};

use super::DiskStore;
use crate::{DiskError, Result};

impl DiskStore {
    /// Returns the guarantee of an acknowledged write.
    pub fn durability(&self) -> Durability {
        self.shared.log.durability()
    }

    /// Returns the last durable epoch.
    pub fn durable_epoch(&self) -> u64 {
        self.shared.log.durable_epoch()
    }

    /// Blocks until the ticket's writes are durable. The caller may perform the commit itself. At
    /// [`Durability::None`] it returns immediately.
    ///
    /// # Errors
    /// Writes are stopped, or the store is closed.
    ///
    /// # Panics
    /// If the ticket is of another store and of an epoch that this one has not begun.
    pub fn wait_durable(&self, ticket: Ticket) -> Result<()> {
        if ticket.epoch > 0 {
            self.shared.log.wait_durable(ticket.epoch)?;
        }
        Ok(())
    }

    /// Requests that the ticket's writes become durable soon, without blocking; see
    /// [`on_durable`](Self::on_durable).
    pub fn request_durable(&self, ticket: Ticket) {
        if ticket.epoch > 0 {
            self.shared.log.request_durable(ticket.epoch);
        }
    }

    /// Calls `callback` whenever the durable epoch has advanced or writes have stopped, from any
    /// thread. The callback must be short, and must use no method of the store except
    /// [`durable_epoch`](Self::durable_epoch).
    pub fn on_durable(&self, callback: impl Fn() + Send + Sync + 'static) {
        self.shared.log.on_durable(callback);
    }

    /// Returns the reason why writes are stopped: a failure of the log or the page file, or a full
    /// disk of either. Returns `None` if writes are accepted.
    pub fn writes_stopped(&self) -> Option<DiskError> {
        self.log_stopped().or_else(|| self.shared.buffer.writes_stopped())
    }

    /// Returns the reason why the log makes nothing durable any more. If only the page file has
    /// failed, returns `None`.
    pub fn log_stopped(&self) -> Option<DiskError> {
        self.shared.log.poisoned().map(DiskError::from)
    }

    /// Makes all earlier writes durable. At [`Durability::None`] there is no log, so only a
    /// [`checkpoint`](Self::checkpoint) does that.
    ///
    /// # Errors
    /// The log is stopped by a failure.
    pub fn sync(&self) -> Result<()> {
        self.shared.log.commit()?;
        Ok(())
    }
}
