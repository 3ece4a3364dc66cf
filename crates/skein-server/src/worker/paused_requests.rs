//! Requests that a pause holds back (see `pause`). They stay at the front of their connections'
//! queues.
//!
//! During a pause nothing runs in batches, so that each request is checked by itself. A command
//! that writes in slices stops between two slices.

use std::time::Duration;

use crate::clients::client::ClientState;
use crate::clients::pause::PausedRequests;
use crate::command_table::{Command, Flag};
use crate::commands::ResolvedTag;
use crate::commands::scripts::ScriptCall;
use crate::resp::Args;
use crate::shared::ServerShared;

use super::connections::WorkerConnections;
/// Returns whether a pause holds back this request. Requests that end the pause, and the login
/// before them, are never held back.
pub(super) fn is_held(
    held: PausedRequests,
    shared: &ServerShared,
    tag: u16,
    args: &Args,
    client: &ClientState,
) -> bool {
    let ResolvedTag::Command(command) = ResolvedTag::of(tag) else { return held == PausedRequests::All };
    match (held, &client.multi) {
        (PausedRequests::All, _) => {
            !command.flags_of(args).has(Flag::EndsPause) && !command.has(Flag::NoAuth)
        }
        (PausedRequests::Writes, Some(multi)) if command.plan.is_exec() => {
            multi.requests().any(|(command, args)| has_effects(shared, command, &args))
        }
        (PausedRequests::Writes, _) => has_effects(shared, command, args),
    }
}

/// Returns whether a request may write, publish, or run a script that may.
pub(super) fn has_effects(shared: &ServerShared, command: &Command, args: &Args) -> bool {
    match command.plan.script() {
        Some(kind) => ScriptCall::would_write(kind, shared, args),
        None => command.may_write_by(args) || command.has(Flag::OtherEffects),
    }
}

impl WorkerConnections {
    /// Returns the longest time that the worker may sleep if nothing else wakes it: until the end
    /// of a pause that holds back some of its connections.
    pub(super) fn pause_time_left(&self) -> Option<Duration> {
        // The end of a busy script wakes the worker.
        if !self.holds || self.shared.workers.gate.is_busy() {
            return None;
        }
        match self.shared.clients.pause.now() {
            // The time is rounded up, because the event loop counts in milliseconds.
            Some((_, left)) => Some(left + Duration::from_millis(1)),
            // The end of a migration wakes the worker, too, if this worker has no migration to end.
            None if self.migrated.is_empty() && self.shared.data.migrations.moving.any() => None,
            None => Some(Duration::ZERO),
        }
    }

    /// Returns whether nothing holds requests back any more.
    pub(super) fn pause_is_over(&self) -> bool {
        !self.shared.workers.gate.is_busy()
            && self.shared.clients.pause.now().is_none()
            && !self.shared.data.migrations.moving.any()
    }

    /// Lists all connections that were held back, so that their requests are checked again.
    pub(super) fn release_held(&mut self) {
        if !std::mem::take(&mut self.holds) {
            return;
        }
        for slot in self.slots.all() {
            if let Some((connection, _)) = self.slots.get(slot)
                && connection.paused.take().is_some()
            {
                self.list(slot);
            }
        }
    }
}
