//! The counts and times of the server's work, for INFO, LATENCY, SLOWLOG and `--metrics`.
//!
//! ```text
//!   worker ─► WorkerObserver: calls, time, failures, histogram per kind ─┐
//!   worker ─► WorkerObserver                                             ├─► CommandTotals: the sum
//!   worker ─► ...                                                        ┘   since the last reset
//!   any thread ─► slowlog, latency_events ─► readers
//! ```
//!
//! Counts are plain stores of the worker that owns them, so counting needs no atomic
//! read-modify-write. A reset stores the current sum, which readers subtract: no thread writes
//! another thread's counts.
//!
//! Read in this order: `command_kinds`, `histogram`, `mod`, `latency_events`, `slowlog`, `rates`.
//!
//! `recent_entries` is the list of SLOWLOG and ACL LOG, and `worker_counters` has the plain counts of a
//! worker. The room `report` tells the numbers.

pub(crate) mod command_kinds;
pub(crate) mod histogram;
pub(crate) mod latency_events;
pub(crate) mod rates;
pub(crate) mod recent_entries;
pub(crate) mod slowlog;
pub(crate) mod worker_counters;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use skein_sync::locks::lock;

use command_kinds::{CommandKind, KINDS};
use histogram::{LatencyDistribution, LatencyHistogram};
use latency_events::LatencyEvents;
use rates::RateSampler;
use slowlog::Slowlog;
use worker_counters::WorkerCounters;

/// The most error codes that each worker counts separately.
const ERROR_CODES_MAX: usize = 128;
/// The counter of all other codes.
const OTHER_CODES: &str = "OTHER";
/// The most bytes of a code.
const CODE_BYTES_MAX: usize = 32;

/// The parts that all threads share.
#[derive(Debug, Default)]
pub(crate) struct ServerObserver {
    pub slowlog: Slowlog,
    pub events: LatencyEvents,
    pub sampler: RateSampler,
}

/// The counts of one worker. Only the worker writes them.
#[derive(Debug)]
pub(crate) struct WorkerObserver {
    kinds: Box<[KindCounters]>,
    errors: Mutex<BTreeMap<Box<str>, u64>>,
}

/// The counts of one worker for one kind.
#[derive(Debug, Default)]
struct KindCounters {
    calls: AtomicU64,
    nanos: AtomicU64,
    rejected: AtomicU64,
    failed: AtomicU64,
    /// Created by the first call.
    latency: OnceLock<LatencyHistogram>,
}

impl Default for WorkerObserver {
    fn default() -> Self {
        Self { kinds: (0..KINDS).map(|_| KindCounters::default()).collect(), errors: Mutex::default() }
    }
}

impl WorkerObserver {
    /// Counts `count` requests that took `nanos_each`.
    #[inline]
    pub(crate) fn done(&self, kind: CommandKind, count: u64, nanos_each: u64, tracking: bool) {
        let counts = &self.kinds[kind.index()];
        WorkerCounters::add(&counts.calls, count);
        WorkerCounters::add(&counts.nanos, count * nanos_each);
        if tracking {
            counts.latency.get_or_init(LatencyHistogram::default).add(nanos_each, count);
        }
    }

    /// Counts a request that was done and answered with this error (as sent, with the `-`).
    #[cold]
    pub(crate) fn failed(&self, kind: CommandKind, error: &[u8]) {
        WorkerCounters::add(&self.kinds[kind.index()].failed, 1);
        self.error(error);
    }

    /// Counts a script that ended with an error of one of its commands, which is counted already.
    #[cold]
    pub(crate) fn failed_again(&self, kind: CommandKind) {
        WorkerCounters::add(&self.kinds[kind.index()].failed, 1);
    }

    /// Counts a request that was refused with this error and not done.
    #[cold]
    pub(crate) fn rejected(&self, kind: Option<CommandKind>, error: &[u8]) {
        if let Some(kind) = kind {
            WorkerCounters::add(&self.kinds[kind.index()].rejected, 1);
        }
        self.error(error);
    }

    fn error(&self, error: &[u8]) {
        let code = code_of(error.strip_prefix(b"-").unwrap_or(error));
        let mut errors = lock(&self.errors);
        let full = errors.len() >= ERROR_CODES_MAX && !errors.contains_key(code);
        *errors.entry(if full { OTHER_CODES } else { code }.into()).or_default() += 1;
    }
}

/// Returns the code of an error: as in Redis, the text before its first space.
fn code_of(error: &[u8]) -> &str {
    let code = error.iter().take(CODE_BYTES_MAX).position(|byte| *byte == b' ').map(|end| &error[..end]);
    match code {
        None => "ERR",
        Some(code) if code.is_ascii() && !code.iter().any(u8::is_ascii_control) => {
            std::str::from_utf8(code).unwrap_or(OTHER_CODES)
        }
        Some(_) => OTHER_CODES,
    }
}

/// The counts of all workers for one kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct KindTotals {
    pub calls: u64,
    /// The time of all calls.
    pub nanos: u64,
    /// Refused before they ran.
    pub rejected: u64,
    /// Run, and answered with an error.
    pub failed: u64,
    pub latency: LatencyDistribution,
}

/// The counts of all workers.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandTotals {
    /// By [`CommandKind::index`]; empty if there are no counts.
    kinds: Vec<KindTotals>,
    /// The number of error replies of each code.
    pub errors: BTreeMap<Box<str>, u64>,
}

impl CommandTotals {
    /// Adds up the counts of the workers. Reads some 200 kinds per worker, and 4 KiB for each kind
    /// that was used.
    pub(crate) fn of<'o>(workers: impl Iterator<Item = &'o WorkerObserver>) -> Self {
        let mut seen = Self { kinds: vec![KindTotals::default(); KINDS], errors: BTreeMap::new() };
        for observed in workers {
            for (sum, counts) in seen.kinds.iter_mut().zip(&observed.kinds) {
                sum.calls += counts.calls.load(Ordering::Relaxed);
                sum.nanos += counts.nanos.load(Ordering::Relaxed);
                sum.rejected += counts.rejected.load(Ordering::Relaxed);
                sum.failed += counts.failed.load(Ordering::Relaxed);
                if let Some(latency) = counts.latency.get() {
                    sum.latency.add(latency);
                }
            }
            for (code, count) in &*lock(&observed.errors) {
                *seen.errors.entry(code.clone()).or_default() += count;
            }
        }
        seen
    }

    /// Subtracts earlier counts.
    pub(crate) fn subtract(&mut self, before: &Self) {
        for (now, before) in self.kinds.iter_mut().zip(&before.kinds) {
            now.calls -= before.calls;
            now.nanos -= before.nanos;
            now.rejected -= before.rejected;
            now.failed -= before.failed;
            now.latency.subtract(&before.latency);
        }
        for (code, before) in &before.errors {
            if let Some(now) = self.errors.get_mut(code) {
                *now -= before;
            }
        }
        self.errors.retain(|_, count| *count > 0);
    }

    /// Returns the kinds that were called or refused, in order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (CommandKind, &KindTotals)> {
        CommandKind::all().zip(&self.kinds).filter(|(_, seen)| seen.calls + seen.rejected > 0)
    }

    /// Returns the number of error replies of all codes.
    pub(crate) fn error_replies(&self) -> u64 {
        self.errors.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_workers_and_subtract_a_reset() {
        let workers = [WorkerObserver::default(), WorkerObserver::default()];
        let get = CommandKind::plain(0);
        workers[0].done(get, 16, 100, true);
        workers[1].done(get, 1, 400, false);
        workers[1].failed(get, b"-WRONGTYPE Operation\r\n");
        let before = CommandTotals::of(workers.iter());
        workers[0].done(get, 1, 100, true);
        workers[0].rejected(None, b"-ERR unknown command\r\n");
        workers[1].rejected(Some(get), b"-NOAUTH Authentication required.\r\n");
        let mut seen = CommandTotals::of(workers.iter());
        assert_eq!(seen.error_replies(), 3);
        let of_get =
            |seen: &CommandTotals| seen.kinds().map(|(kind, of)| (kind, of.clone())).next().expect("GET");
        let (kind, all) = of_get(&seen);
        assert_eq!(
            (kind.name().as_ref(), all.calls, all.nanos, all.rejected, all.failed),
            ("get", 18, 2100, 1, 1)
        );
        assert_eq!(all.latency.total(), 17, "what is not tracked is in no histogram");
        seen.subtract(&before);
        let (_, since) = of_get(&seen);
        assert_eq!((since.calls, since.nanos, since.rejected, since.failed), (1, 100, 1, 0));
        assert_eq!(since.latency.total(), 1);
        let codes: Vec<_> = seen.errors.keys().map(AsRef::as_ref).collect();
        assert_eq!(codes, ["ERR", "NOAUTH"]);
    }

    #[test]
    fn number_of_error_codes_is_bounded() {
        let observed = WorkerObserver::default();
        for n in 0..1000 {
            observed.rejected(None, format!("-CODE{n} {n}\r\n").as_bytes());
        }
        observed.rejected(None, &[b'-'; 10_000]);
        observed.rejected(None, b"-\xff\xff");
        let seen = CommandTotals::of(std::iter::once(&observed));
        assert_eq!(seen.errors.len(), ERROR_CODES_MAX + 1);
        assert_eq!(seen.error_replies(), 1002);
        assert!(seen.errors.keys().all(|code| code.len() <= CODE_BYTES_MAX));
    }
}
