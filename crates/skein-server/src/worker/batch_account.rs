//! The account of a batch: statistics, slow log and monitors get its requests from here.

use crate::clients::client_registry::ClientRecord;
use crate::commands::monitor::feed;
use crate::notice::monitors::{Monitors, RequestSource};
use crate::observe::command_kinds::CommandKind;
use crate::observe::slowlog::ClippedRequest;
use crate::resp::Args;

use super::connection::Connection;
use super::request_timer::RequestTimer;

/// Counts the requests of a batch, consecutive ones of one kind together, and shows them to the slow
/// log and to monitors.
pub(super) struct BatchAccount<'t> {
    timer: &'t RequestTimer<'t>,
    monitors: Option<&'t Monitors>,
    kind: CommandKind,
    count: u64,
    nanos_each: u64,
    is_slow: bool,
}

impl<'t> BatchAccount<'t> {
    /// Begins the account of a batch with requests that took so long each.
    pub(super) fn new(nanos_each: u64, monitors: Option<&'t Monitors>, timer: &'t RequestTimer<'t>) -> Self {
        let is_slow = timer.is_slow(nanos_each);
        Self { timer, monitors, kind: CommandKind::plain(0), count: 0, nanos_each, is_slow }
    }

    /// Adds a request of a connection, at a position of its queue.
    #[inline]
    pub(super) fn add(&mut self, kind: CommandKind, connection: &Connection, at: usize) {
        if kind != self.kind {
            self.record();
            self.kind = kind;
        }
        self.count += 1;
        if self.is_slow | self.monitors.is_some() {
            self.show(kind, &connection.input.args(at), &connection.client.record);
        }
    }

    #[cold]
    fn show(&self, kind: CommandKind, args: &Args, record: &ClientRecord) {
        if self.is_slow {
            self.timer.slow(kind, self.nanos_each, ClippedRequest::of(args), record);
        }
        if let Some(monitors) = self.monitors {
            feed(monitors, kind.command(), RequestSource::Client(record), args);
        }
    }

    /// Ends the account.
    pub(super) fn end(mut self) {
        self.record();
    }

    #[inline]
    fn record(&mut self) {
        if self.count > 0 {
            self.timer.done(self.kind, self.count, self.nanos_each);
            self.count = 0;
        }
    }
}
