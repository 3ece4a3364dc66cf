//! The settings that can change while the server runs: atomic numbers, initialized from
//! [`ServerOptions`] and changed by CONFIG SET.
//!
//! ```text
//!   ServerOptions ──start──► LiveSettings ◄── CONFIG SET (any worker)
//!                               └──► acceptor (per connection), workers (once per group)
//! ```
//!
//! A worker copies the settings that it needs for each request once per group
//! ([`LiveSettings::limits`]). So a change applies from its next group on.

mod encodings;
mod observe;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::resp::RequestLimits;
use crate::{OutputLimit, ServerOptions};
pub(crate) use encodings::{EncodingLimits, EncodingSettings};
pub(crate) use observe::ObserveSettings;

/// A number that any thread may read and set.
#[derive(Debug)]
pub(crate) struct LiveSetting(AtomicUsize);

impl LiveSetting {
    pub(crate) fn new(value: usize) -> Self {
        Self(AtomicUsize::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> usize {
        // Relaxed, like below: a setting is independent of others and ordered with nothing.
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: usize) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Redis's default.
const REPLICA_LIMIT: OutputLimit =
    OutputLimit { hard_bytes: 256 << 20, soft_bytes: 64 << 20, soft_time: Duration::from_secs(60) };

/// The settings, in the units of [`ServerOptions`]; times are in seconds.
#[derive(Debug)]
pub(crate) struct LiveSettings {
    pub clients_max: LiveSetting,
    pub acl_log_max: LiveSetting,
    pub request_bytes_max: LiveSetting,
    pub arg_bytes_max: LiveSetting,
    pub args_max: LiveSetting,
    pub pipeline_max: LiveSetting,
    pub output_bytes_max: LiveSetting,
    pub reply_bytes_max: LiveSetting,
    /// 0 for never.
    pub idle_timeout_s: LiveSetting,
    /// 0 for never.
    pub tls_handshake_s: LiveSetting,
    /// 0 for no probes.
    pub keepalive_s: LiveSetting,
    /// Keys that are remembered for CLIENT TRACKING; 0 for any number.
    pub tracking_keys_max: LiveSetting,
    /// When a client that does not read its replies is disconnected.
    pub output: OutputSettings,
    /// The same for a client with subscriptions.
    pub subscriber_output: OutputSettings,
    /// The same for replicas. Kept for CONFIG GET: this server has no replicas.
    pub replica_output: OutputSettings,
    /// The milliseconds after which a script lets other clients receive BUSY; 0 for never.
    pub busy_reply_ms: LiveSetting,
    /// Not 0: scripts may call DEBUG, for tests.
    pub debug_in_scripts: LiveSetting,
    /// The sizes that decide the answer of OBJECT ENCODING.
    pub encodings: EncodingSettings,
    /// The settings of observation.
    pub observing: ObserveSettings,
    /// The values of parameters without effect that CONFIG SET has kept, by name.
    pub kept: Mutex<BTreeMap<String, String>>,
    /// The parameters that CONFIG SET has changed, for CONFIG REWRITE.
    pub set_by_clients: Mutex<BTreeSet<&'static str>>,
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
/// at once (`hard`), or after `soft_s` seconds. 0 for never.
#[derive(Debug)]
pub(crate) struct OutputSettings {
    pub hard: LiveSetting,
    pub soft: LiveSetting,
    pub soft_s: LiveSetting,
}

impl OutputSettings {
    fn new(limit: OutputLimit) -> Self {
        Self {
            hard: LiveSetting::new(limit.hard_bytes),
            soft: LiveSetting::new(limit.soft_bytes),
            soft_s: LiveSetting::new(usize::try_from(limit.soft_time.as_secs()).unwrap_or(usize::MAX)),
        }
    }

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
        let seconds = |time: Duration| usize::try_from(time.as_secs()).unwrap_or(usize::MAX);
        let millis = |time: Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
        Self {
            clients_max: LiveSetting::new(options.clients_max),
            acl_log_max: LiveSetting::new(options.acl_log_max),
            request_bytes_max: LiveSetting::new(options.request_bytes_max),
            arg_bytes_max: LiveSetting::new(options.arg_bytes_max),
            args_max: LiveSetting::new(options.args_max),
            pipeline_max: LiveSetting::new(options.pipeline_max),
            output_bytes_max: LiveSetting::new(options.output_bytes_max),
            reply_bytes_max: LiveSetting::new(options.reply_bytes_max),
            idle_timeout_s: LiveSetting::new(seconds(options.idle_timeout)),
            tls_handshake_s: LiveSetting::new(seconds(options.tls_handshake_timeout)),
            keepalive_s: LiveSetting::new(seconds(options.keepalive)),
            tracking_keys_max: LiveSetting::new(options.tracking_keys_max),
            output: OutputSettings::new(options.output_limit),
            subscriber_output: OutputSettings::new(options.subscriber_limit),
            replica_output: OutputSettings::new(REPLICA_LIMIT),
            busy_reply_ms: LiveSetting::new(millis(options.busy_reply_threshold)),
            debug_in_scripts: LiveSetting::new(0),
            encodings: EncodingSettings::new(),
            observing: ObserveSettings::new(options),
            kept: Mutex::default(),
            set_by_clients: Mutex::default(),
        }
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
            normal: self.output.bounds(),
            subscriber: self.subscriber_output.bounds(),
        }
    }
}
