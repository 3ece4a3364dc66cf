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

mod observe;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ServerOptions;
use crate::resp::RequestLimits;
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
    /// With more waiting bytes than this, a client is disconnected: at once (`output_hard`), or
    /// after `output_soft_s` seconds. 0 for never.
    pub output_hard: LiveSetting,
    pub output_soft: LiveSetting,
    pub output_soft_s: LiveSetting,
    /// The settings of observation.
    pub observing: ObserveSettings,
    /// The parameters that CONFIG SET has changed, for CONFIG REWRITE.
    pub set_by_clients: Mutex<BTreeSet<&'static str>>,
}

/// The settings that a worker checks for each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerLimits {
    pub requests: RequestLimits,
    /// Bytes of waiting replies above which no more requests are read or run.
    pub output: usize,
    /// Bytes of waiting replies above which a client is disconnected; `usize::MAX` for never.
    pub output_hard: usize,
    /// Bytes of waiting replies above which a client is disconnected after a time; `usize::MAX` for
    /// never.
    pub output_soft: usize,
}

impl LiveSettings {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        let seconds = |time: std::time::Duration| usize::try_from(time.as_secs()).unwrap_or(usize::MAX);
        let output = options.output_limit;
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
            output_hard: LiveSetting::new(output.hard_bytes),
            output_soft: LiveSetting::new(output.soft_bytes),
            output_soft_s: LiveSetting::new(seconds(output.soft_time)),
            observing: ObserveSettings::new(options),
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
        let or_never = |bytes| if bytes == 0 { usize::MAX } else { bytes };
        WorkerLimits {
            requests,
            output: self.output_bytes_max.get(),
            output_hard: or_never(self.output_hard.get()),
            output_soft: or_never(self.output_soft.get()),
        }
    }
}
