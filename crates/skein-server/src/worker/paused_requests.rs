//! Requests that a pause holds back (see `pause`): they stay first in the queues of their connections.
//!
//! During a pause nothing runs in batches, so that each request is looked at by itself. A command that writes in slices stands still between two of them.

use std::time::Duration;

use crate::client::ClientState;
use crate::commands::{Handler, ResolvedTag, is};
use crate::pause::PausedRequests;
use crate::resp::RequestArgs;

use super::Worker;
use super::exclusive::may_write;

/// Whether a pause holds this request back; never what ends the pause, nor the login before it.
pub(super) fn is_held(held: PausedRequests, tag: u16, args: &RequestArgs<'_>, client: &ClientState) -> bool {
    let ResolvedTag::Command(command) = ResolvedTag::of(tag) else { return held == PausedRequests::All };
    match (held, command.handler) {
        (PausedRequests::All, _) => {
            let ends_it = command.name == "client" && args.len() == 2 && is(args.get(1), "UNPAUSE");
            !ends_it && !command.has_flag("no_auth")
        }
        (PausedRequests::Writes, Handler::Exec) => {
            client.multi.as_ref().is_some_and(|multi| multi.queue.tags().any(may_write))
        }
        (PausedRequests::Writes, _) => may_write(tag),
    }
}

impl Worker {
    /// For how long the worker may sleep at most: until the pause ends that holds some of its connections.
    pub(super) fn pause_time_left(&self) -> Option<Duration> {
        if !self.holds {
            return None;
        }
        // Up to the next millisecond: the event loop counts in those.
        Some(self.shared.pause.now().map_or(Duration::ZERO, |(_, left)| left + Duration::from_millis(1)))
    }

    /// Lets go on what a pause held back: all of it is looked at again.
    pub(super) fn release_held(&mut self) {
        if !std::mem::take(&mut self.holds) {
            return;
        }
        for slot in self.slots.all() {
            if let Some((connection, _)) = self.slots.get(slot)
                && std::mem::take(&mut connection.paused)
            {
                self.list(slot);
            }
        }
    }
}
