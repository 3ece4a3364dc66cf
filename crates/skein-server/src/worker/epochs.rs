//! Replies that wait until an epoch is durable: those to writes at durability `sync`, and to WAITAOF.
//!
//! ```text
//!   writes ─► ticket ─► output.hold ─► store.request_durable       … the worker serves others …
//!                                           store.on_durable ─► waker ─► output.sendable ─► socket
//! ```

use crate::commands::CommandError;
use crate::resp::Reply;
use skein_data::Durability;

use super::connections::WorkerConnections;

impl WorkerConnections {
    /// Returns whether a change of the durable epoch must be handled now. If not, makes sure that
    /// this worker is woken when the epoch advances.
    pub(super) fn poll_epoch(&mut self) -> bool {
        if self.held.is_empty() {
            return false;
        }
        self.mailbox().wait_for_epoch();
        self.shared.data.store.durable_epoch() > self.durable
            || self.shared.data.store.log_stopped().is_some()
    }

    /// Lists the connections with replies that need not wait any longer. If the log has stopped,
    /// their replies will never be durable: those connections receive an error and are closed.
    pub(super) fn release_durable_replies(&mut self) {
        if self.held.is_empty() {
            // At other levels only WAITAOF holds replies.
            if self.shared.data.durability == Durability::Sync {
                self.durable = self.shared.data.store.durable_epoch();
            }
            return;
        }
        let durable = self.shared.data.store.durable_epoch();
        let advanced = durable > self.durable;
        self.durable = durable;
        let stopped = if advanced { None } else { self.shared.data.store.log_stopped() };
        for slot in std::mem::take(&mut self.held) {
            let Some((connection, output)) = self.slots.get(slot) else { continue };
            connection.held = false;
            if let Some(error) = &stopped
                && output.is_held(durable)
            {
                output.drop_held(durable);
                CommandError::from(error.clone())
                    .write(&mut Reply::new(&mut output.buffer, connection.client.protocol));
                connection.closing = true;
            }
            self.list(slot);
        }
    }
}
