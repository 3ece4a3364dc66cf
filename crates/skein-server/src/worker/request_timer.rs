//! Measures how long requests take, with few readings of the clock.
//!
//! ```text
//!   turn    ├ batch of reads ─┤ batch of writes ┤ general │ general ┤ …
//!   clock   ^                 ^                 ^         ^         ^   between two laps
//! ```
//!
//! The time of a lap is divided evenly among its requests. A clock reading per request would cost
//! more than some requests do.

use std::time::{Duration, Instant};

use crate::clients::client_registry::ClientRecord;
use crate::command_table::Flag;
use crate::config::settings::LiveSettings;
use crate::observe::command_kinds::CommandKind;
use crate::observe::latency_events::LatencyEvent;
use crate::observe::slowlog::ClippedRequest;
use crate::observe::{ServerObserver, WorkerObserver};
use crate::resp::Args;
use crate::resp::whole::are_whole_replies;

/// The length of a turn. After it, no request begins on a connection that had its part of the turn:
/// one client may have sent a thousand slow requests that are each too fast for slices.
const TURN: Duration = Duration::from_millis(4);

/// Measures requests while a worker runs them.
pub(super) struct RequestTimer<'w> {
    observing: &'w ServerObserver,
    settings: &'w LiveSettings,
    observed: &'w WorkerObserver,
    /// The start of the current lap (`last`), and of the first one (`began`).
    last: Instant,
    began: Instant,
    /// Laps of at least this many nanoseconds are latency events.
    event: u64,
    tracking: bool,
}

fn nanos(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}

/// Divides the time of a lap among `count` requests.
#[inline]
pub(super) fn share(nanos: u64, count: usize) -> u64 {
    nanos / count.max(1) as u64
}

impl<'w> RequestTimer<'w> {
    pub(super) fn new(
        observing: &'w ServerObserver,
        settings: &'w LiveSettings,
        observed: &'w WorkerObserver,
        now: Instant,
    ) -> Self {
        Self {
            observing,
            settings,
            observed,
            last: now,
            began: now,
            event: settings.event_nanos(),
            tracking: settings.latency_tracking.get(),
        }
    }

    /// Returns whether the turn is over, as of the last reading of the clock.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.last.saturating_duration_since(self.began) >= TURN
    }

    /// Returns the start of the first lap.
    #[inline]
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Returns the start of the current lap.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// Ends the lap. Returns the nanoseconds since `began`, the start of this lap or of an earlier
    /// one.
    #[inline]
    pub(super) fn lap_since(&mut self, began: Instant) -> u64 {
        self.last = Instant::now();
        nanos(began, self.last)
    }

    /// Ends the lap. Returns its nanoseconds.
    #[inline]
    pub(super) fn lap(&mut self) -> u64 {
        self.lap_since(self.last)
    }

    /// Ends the lap of a batch. Returns its nanoseconds.
    #[inline]
    pub(super) fn lap_of_batch(&mut self) -> u64 {
        let nanos = self.lap();
        if nanos >= self.event {
            self.observing.events.add(LatencyEvent::Batch, nanos);
        }
        nanos
    }

    /// Counts `count` requests that took `nanos_each`.
    #[inline]
    pub(super) fn done(&self, kind: CommandKind, count: u64, nanos_each: u64) {
        self.observed.done(kind, count, nanos_each, self.tracking);
    }

    /// Counts a request that took so long, and adds it to the slow log if it is slow.
    pub(super) fn account(
        &self,
        kind: CommandKind,
        nanos: u64,
        request: impl FnOnce() -> ClippedRequest,
        record: &ClientRecord,
    ) {
        self.done(kind, 1, nanos);
        if self.is_slow(nanos) {
            self.slow(kind, nanos, request(), record);
        }
    }

    /// Counts a request that was done and answered with this error.
    pub(super) fn failed(&self, kind: CommandKind, error: &[u8]) {
        self.observed.failed(kind, error);
    }

    /// Counts a script that ended with an error of one of its commands, which is counted already.
    #[cold]
    pub(super) fn failed_again(&self, kind: CommandKind) {
        self.observed.failed_again(kind);
    }

    /// Counts the error of a request that was done, if its reply is one. Returns whether it is.
    #[inline]
    pub(super) fn check(&self, kind: CommandKind, reply: &[u8]) -> bool {
        debug_assert!(are_whole_replies(reply), "{}", reply.escape_ascii());
        let failed = reply.first() == Some(&b'-');
        if failed {
            self.observed.failed(kind, reply);
        }
        failed
    }

    /// Counts an error reply. `done` tells whether the request was done or refused.
    #[cold]
    pub(super) fn error(&self, kind: Option<CommandKind>, error: &[u8], done: bool) {
        match kind {
            Some(kind) if done => self.observed.failed(kind, error),
            kind => self.observed.rejected(kind, error),
        }
    }

    /// Returns whether requests that took this long belong in the slow log. As in Redis, a CONFIG SET
    /// of the limit counts for itself.
    #[inline]
    pub(super) fn is_slow(&self, nanos: u64) -> bool {
        nanos >= self.settings.slowlog_slower_than.nanos()
    }

    /// Returns whether the limit of the slow log is so low that nearly every request must be timed
    /// alone.
    pub(super) fn is_strict(&self) -> bool {
        self.settings.slowlog_slower_than.nanos() < 1_000_000
    }

    /// Adds a latency event if a command that ran by itself took long enough.
    pub(super) fn event_of(&self, kind: CommandKind, nanos: u64) {
        if nanos >= self.event {
            let fast = kind.command().has(Flag::Fast);
            self.observing
                .events
                .add(if fast { LatencyEvent::FastCommand } else { LatencyEvent::Command }, nanos);
        }
    }

    /// Adds a request to the slow log.
    #[cold]
    pub(super) fn slow(&self, kind: CommandKind, nanos: u64, request: ClippedRequest, record: &ClientRecord) {
        if !kind.command().has(Flag::SkipSlowlog) {
            let name = record.attributes().name.clone();
            let most = self.settings.slowlog_len.get();
            self.observing.slowlog.add(nanos, request, record.address.clone(), &name, most);
        }
    }
}

/// The time and the arguments of a command that runs in slices, kept until its end.
#[derive(Debug)]
pub(super) struct SlicedCommandTime {
    pub kind: CommandKind,
    /// The time of its slices so far.
    pub nanos: u64,
    pub request: ClippedRequest,
}

impl SlicedCommandTime {
    pub(super) fn new(kind: CommandKind, nanos: u64, args: &Args) -> Self {
        Self { kind, nanos, request: ClippedRequest::of(args) }
    }

    /// Counts the command after its last slice.
    pub(super) fn end(self, timer: &RequestTimer<'_>, record: &ClientRecord) {
        timer.account(self.kind, self.nanos, || self.request, record);
    }
}
