//! Requests that a pause holds back (see `pause`): they stay first in the queues of their connections.
//!
//! During a pause nothing runs in batches, so that each request is looked at by itself. A command that writes in slices stands still between two of them.

use std::time::Duration;

use crate::client::Client;
use crate::commands::{Handler, Resolved, is};
use crate::pause::Held;
use crate::resp::Args;

use super::Worker;
use super::alone::may_write;

/// Whether a pause holds this request back; never what ends the pause, nor the login before it.
pub(super) fn is_held(held: Held, tag: u16, args: &Args<'_>, client: &Client) -> bool {
    let Resolved::Command(command) = Resolved::of(tag) else { return held == Held::All };
    match (held, command.handler) {
        (Held::All, _) => {
            let ends_it = command.name == "client" && args.len() == 2 && is(args.get(1), "UNPAUSE");
            !ends_it && !command.has_flag("no_auth")
        }
        (Held::Writes, Handler::Exec) => {
            client.multi.as_ref().is_some_and(|multi| multi.queue.tags().any(may_write))
        }
        (Held::Writes, _) => may_write(tag),
    }
}

impl Worker {
    /// For how long the worker may sleep at most: until the pause ends that holds some of its connections.
    pub(super) fn left_of_pause(&self) -> Option<Duration> {
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
