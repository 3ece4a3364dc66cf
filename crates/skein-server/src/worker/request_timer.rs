//! The worker's watch: how long requests took, by few looks at the clock.
//!
//! ```text
//!   turn    ├ batch of reads ─┤ batch of writes ┤ general │ general ┤ …
//!   clock   ^                 ^                 ^         ^         ^      each lap ends where the next begins
//! ```
//!
//! A lap of several requests is shared out among them evenly: a clock read per request would cost more than some requests.

use std::time::{Duration, Instant};

use crate::client_registry::ClientRecord;
use crate::observe::command_kinds::CommandKind;
use crate::observe::latency_events::LatencyEvent;
use crate::observe::settings::ObserveSettings;
use crate::observe::slowlog::ClippedRequest;
use crate::observe::{ServerObserver, WorkerObserver};
use crate::resp::RequestArgs;

/// After so much time nothing more is begun for connections that had their part of a turn: one client may have sent a thousand requests that take long, none of them so
/// long that it is done in slices.
const TURN: Duration = Duration::from_millis(4);

/// While requests are run.
pub(super) struct RequestTimer<'w> {
    observing: &'w ServerObserver,
    settings: &'w ObserveSettings,
    observed: &'w WorkerObserver,
    /// Where the present lap began, and the first one.
    last: Instant,
    began: Instant,
    /// A request that took so many nanoseconds goes into the slow log.
    slow: u64,
    /// What took so many nanoseconds is an event.
    event: u64,
    tracking: bool,
}

fn nanos(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}

/// The part of each of so many requests.
#[inline]
pub(super) fn share(nanos: u64, count: usize) -> u64 {
    nanos / count.max(1) as u64
}

impl<'w> RequestTimer<'w> {
    pub(super) fn new(
        observing: &'w ServerObserver,
        settings: &'w ObserveSettings,
        observed: &'w WorkerObserver,
        now: Instant,
    ) -> Self {
        Self {
            observing,
            settings,
            observed,
            last: now,
            began: now,
            slow: settings.slow_nanos(),
            event: settings.event_nanos(),
            tracking: settings.tracking(),
        }
    }

    /// Whether so much time has passed, up to the last look at the clock, that others are to have a turn.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.last.saturating_duration_since(self.began) >= TURN
    }

    /// Where the first lap began.
    #[inline]
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// Where the present lap began.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// Ends the lap; how many nanoseconds passed since `began`, which is where it or an earlier one began.
    #[inline]
    pub(super) fn lap_since(&mut self, began: Instant) -> u64 {
        self.last = Instant::now();
        nanos(began, self.last)
    }

    /// Ends the lap; how many nanoseconds it took.
    #[inline]
    pub(super) fn lap(&mut self) -> u64 {
        self.lap_since(self.last)
    }

    /// Ends a lap in which a batch was run; how many nanoseconds it took.
    #[inline]
    pub(super) fn lap_of_batch(&mut self) -> u64 {
        let nanos = self.lap();
        if nanos >= self.event {
            self.observing.events.add(LatencyEvent::Batch, nanos);
        }
        nanos
    }

    /// So many requests were done, which took so long each.
    #[inline]
    pub(super) fn done(&self, kind: CommandKind, count: u64, nanos_each: u64) {
        self.observed.done(kind, count, nanos_each, self.tracking);
    }

    /// A request was done and answered with this error.
    pub(super) fn failed(&self, kind: CommandKind, error: &[u8]) {
        self.observed.failed(kind, error);
    }

    /// A request was done and answered so, maybe with an error.
    #[inline]
    pub(super) fn check(&self, kind: CommandKind, reply: &[u8]) {
        if reply.first() == Some(&b'-') {
            self.observed.failed(kind, reply);
        }
    }

    /// A request was answered with this error, and done or refused.
    #[cold]
    pub(super) fn error(&self, kind: Option<CommandKind>, error: &[u8], done: bool) {
        match kind {
            Some(kind) if done => self.observed.failed(kind, error),
            kind => self.observed.rejected(kind, error),
        }
    }

    /// Whether requests that took so long are to be told of.
    #[inline]
    pub(super) fn is_slow(&self, nanos: u64) -> bool {
        nanos >= self.slow
    }

    /// Whether every request is slow enough to be told of, or nearly.
    pub(super) fn is_strict(&self) -> bool {
        self.slow < 1_000_000
    }

    /// What ran by itself took so long: an event, if it is long enough.
    pub(super) fn event_of(&self, kind: CommandKind, nanos: u64) {
        if nanos >= self.event {
            let fast = kind.command().has_flag("fast");
            self.observing
                .events
                .add(if fast { LatencyEvent::FastCommand } else { LatencyEvent::Command }, nanos);
        }
    }

    /// A slow request goes into the slow log.
    #[cold]
    pub(super) fn slow(&self, kind: CommandKind, nanos: u64, args: &RequestArgs<'_>, card: &ClientRecord) {
        self.slow_clipped(kind, nanos, ClippedRequest::of(args), card);
    }

    pub(super) fn slow_clipped(
        &self,
        kind: CommandKind,
        nanos: u64,
        request: ClippedRequest,
        card: &ClientRecord,
    ) {
        if !kind.command().has_flag("skip_slowlog") {
            let name = card.attributes().name.clone();
            let client = (card.address.clone(), &*name);
            self.observing.slowlog.add(nanos, request, client, self.settings.slowlog_len.get());
        }
    }
}

/// A command that is done in slices: what is noted until its end.
#[derive(Debug)]
pub(super) struct SlicedCommandTime {
    pub kind: CommandKind,
    /// What the slices took so far.
    pub nanos: u64,
    pub request: ClippedRequest,
}

impl SlicedCommandTime {
    pub(super) fn new(kind: CommandKind, nanos: u64, args: &RequestArgs<'_>) -> Self {
        Self { kind, nanos, request: ClippedRequest::of(args) }
    }

    /// Its last slice is done.
    pub(super) fn end(self, watch: &RequestTimer<'_>, card: &ClientRecord) {
        watch.done(self.kind, 1, self.nanos);
        if watch.is_slow(self.nanos) {
            watch.slow_clipped(self.kind, self.nanos, self.request, card);
        }
    }
}

/// Requests of a batch that follow each other and are of one kind are counted together.
pub(super) struct KindTally {
    kind: CommandKind,
    count: u64,
    nanos_each: u64,
}

impl KindTally {
    pub(super) fn new(nanos_each: u64) -> Self {
        Self { kind: CommandKind::plain(0), count: 0, nanos_each }
    }

    /// One more.
    #[inline]
    pub(super) fn add(&mut self, kind: CommandKind, watch: &RequestTimer<'_>) {
        if kind != self.kind {
            self.end(watch);
            self.kind = kind;
        }
        self.count += 1;
    }

    /// Counts what was not counted yet.
    #[inline]
    pub(super) fn end(&mut self, watch: &RequestTimer<'_>) {
        if self.count > 0 {
            watch.done(self.kind, self.count, self.nanos_each);
            self.count = 0;
        }
    }
}
