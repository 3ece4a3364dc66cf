//! The settings that can change while the server runs: atomic values, initialized from
//! [`ServerOptions`] and changed by CONFIG SET. The rows of the options make them
//! ([`LiveOptions`]).
//!
//! ```text
//!   ServerOptions ──start──► LiveSettings ◄── CONFIG SET (any worker)
//!                               └──► acceptor (per connection), workers (once per group)
//! ```
//!
//! A worker copies the settings that it needs for each request once per group
//! ([`LiveSettings::limits`]). So a change applies from its next group on. `cells` has the atomic
//! values, `encodings` the sizes that OBJECT ENCODING knows.

mod cells;
mod encodings;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Mutex;
use std::time::Duration;

use skein_sync::locks::lock;

use crate::config::LiveOptions;
use crate::resp::RequestLimits;
use crate::{OutputLimit, ServerOptions};
pub(crate) use cells::{Live, LiveNumber, LiveSwitch, LiveTime};
pub(crate) use encodings::{EncodingLimits, EncodingSettings};

/// The default percentiles of INFO latencystats.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// Redis's default.
const REPLICA_LIMIT: OutputLimit =
    OutputLimit { hard_bytes: 256 << 20, soft_bytes: 64 << 20, soft_time: Duration::from_secs(60) };

/// The settings: those of options, to which this dereferences, and those of CONFIG alone.
#[derive(Debug)]
pub(crate) struct LiveSettings {
    options: LiveOptions,
    /// Held while settings are changed: those that depend on each other are checked and changed together.
    pub changing: Mutex<()>,
    /// Held while the configuration is written to the file, which takes as long as the disk does.
    /// Acquired before `changing`.
    pub rewriting: Mutex<()>,
    /// When a replica that does not read is disconnected. Kept for CONFIG GET: this server has no
    /// replicas.
    pub replica_limit: OutputSettings,
    /// Scripts may call DEBUG, for tests.
    pub debug_in_scripts: LiveSwitch,
    /// The sizes that decide the answer of OBJECT ENCODING.
    pub encodings: EncodingSettings,
    /// `latency-tracking-info-percentiles`
    percentiles: Mutex<Vec<f64>>,
    /// The values of parameters without effect that CONFIG SET has kept, by name.
    pub kept: Mutex<BTreeMap<String, String>>,
    /// The parameters that CONFIG SET has changed, for CONFIG REWRITE.
    pub set_by_clients: Mutex<BTreeSet<&'static str>>,
}

impl Deref for LiveSettings {
    type Target = LiveOptions;

    fn deref(&self) -> &LiveOptions {
        &self.options
    }
}

/// The settings that a worker checks for each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerLimits {
    pub requests: RequestLimits,
    /// Bytes of waiting replies above which no more requests are read or run.
    pub output: usize,
    pub normal: OutputBounds,
    pub subscriber: OutputBounds,
}

impl WorkerLimits {
    /// Returns the bounds of a client that has subscriptions, or none.
    #[inline]
    pub(crate) fn output_of(&self, subscribes: bool) -> OutputBounds {
        if subscribes { self.subscriber } else { self.normal }
    }
}

/// Bytes of waiting replies above which a client is disconnected; `usize::MAX` for never.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputBounds {
    /// At once.
    pub hard: usize,
    /// After a time.
    pub soft: usize,
}

/// The limits of one class of clients. With more waiting bytes than this, a client is disconnected:
/// at once (`hard`), or after `soft_time`. 0 for never.
#[derive(Debug)]
pub(crate) struct OutputSettings {
    pub hard: LiveNumber,
    pub soft: LiveNumber,
    pub soft_time: LiveTime,
}

impl Live for OutputLimit {
    type Cell = OutputSettings;

    fn cell(&self) -> OutputSettings {
        OutputSettings {
            hard: self.hard_bytes.cell(),
            soft: self.soft_bytes.cell(),
            soft_time: self.soft_time.cell(),
        }
    }
}

impl OutputSettings {
    fn bounds(&self) -> OutputBounds {
        let or_never = |bytes| if bytes == 0 { usize::MAX } else { bytes };
        OutputBounds { hard: or_never(self.hard.get()), soft: or_never(self.soft.get()) }
    }

    /// Returns whether a client can reach a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.hard.get() > 0 || self.soft.get() > 0
    }
}

impl LiveSettings {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        Self {
            options: LiveOptions::new(options),
            changing: Mutex::default(),
            rewriting: Mutex::default(),
            replica_limit: REPLICA_LIMIT.cell(),
            debug_in_scripts: false.cell(),
            encodings: EncodingSettings::new(),
            percentiles: Mutex::new(PERCENTILES.to_vec()),
            kept: Mutex::default(),
            set_by_clients: Mutex::default(),
        }
    }

    /// Returns the least duration of an event for LATENCY, in nanoseconds.
    pub(crate) fn event_nanos(&self) -> u64 {
        match self.latency_threshold.millis() {
            0 => u64::MAX,
            millis => millis.saturating_mul(1_000_000),
        }
    }

    pub(crate) fn percentiles(&self) -> Vec<f64> {
        lock(&self.percentiles).clone()
    }

    pub(crate) fn set_percentiles(&self, percentiles: Vec<f64>) {
        *lock(&self.percentiles) = percentiles;
    }

    /// Returns the settings that a worker needs for its next group.
    #[inline]
    pub(crate) fn limits(&self) -> WorkerLimits {
        let requests = RequestLimits {
            request_bytes: self.request_bytes_max.get(),
            arg_bytes: self.arg_bytes_max.get(),
            args: self.args_max.get(),
            pipeline: self.pipeline_max.get(),
        };
        WorkerLimits {
            requests,
            output: self.output_bytes_max.get(),
            normal: self.output_limit.bounds(),
            subscriber: self.subscriber_limit.bounds(),
        }
    }
}
