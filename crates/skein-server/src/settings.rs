//! What can change while the server runs: each an atomic number, made from [`ServerOptions`], changed by CONFIG SET.
//!
//! ```text
//!   ServerOptions ──start──► Settings ◄── CONFIG SET (any worker)
//!                               └──► read by acceptor and workers: per connection, or once for a group of them
//! ```
//!
//! What a worker needs for each request it copies once per group ([`Settings::limits`]); so a change holds from its next group on.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ServerOptions;
use crate::observe::settings::ObserveSettings;
use crate::resp::RequestLimits;

/// A number that any thread may read and set.
#[derive(Debug)]
pub(crate) struct LiveSetting(AtomicUsize);

impl LiveSetting {
    pub(crate) fn new(value: usize) -> Self {
        Self(AtomicUsize::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> usize {
        // Relaxed, like below: a setting stands for itself, and is ordered with nothing.
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
    /// 0 for none.
    pub keepalive_s: LiveSetting,
    /// What waits for a client before it is disconnected: at once, and after a time. 0 for never.
    pub output_hard: LiveSetting,
    pub output_soft: LiveSetting,
    pub output_soft_s: LiveSetting,
    /// What is noted of requests.
    pub observing: ObserveSettings,
    /// The parameters that CONFIG SET has set, for CONFIG REWRITE.
    pub set_by_clients: Mutex<BTreeSet<&'static str>>,
}

/// The settings that a worker looks at for each connection it serves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerLimits {
    pub requests: RequestLimits,
    /// Waiting bytes above which nothing more is read or run.
    pub output: usize,
    /// Waiting bytes above which a client is disconnected; `usize::MAX` for never.
    pub output_hard: usize,
    /// Waiting bytes above which it is after a time; `usize::MAX` for never.
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

    /// What a worker needs for its next group.
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
