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
pub(crate) struct Setting(AtomicUsize);

impl Setting {
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
pub(crate) struct Settings {
    pub clients_max: Setting,
    pub acl_log_max: Setting,
    pub request_bytes_max: Setting,
    pub arg_bytes_max: Setting,
    pub args_max: Setting,
    pub pipeline_max: Setting,
    pub output_bytes_max: Setting,
    pub reply_bytes_max: Setting,
    /// 0 for never.
    pub idle_timeout_s: Setting,
    /// 0 for never.
    pub tls_handshake_s: Setting,
    /// 0 for none.
    pub keepalive_s: Setting,
    /// What waits for a client before it is disconnected: at once, and after a time. 0 for never.
    pub output_hard: Setting,
    pub output_soft: Setting,
    pub output_soft_s: Setting,
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

impl Settings {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        let seconds = |time: std::time::Duration| usize::try_from(time.as_secs()).unwrap_or(usize::MAX);
        let output = options.output_limit;
        Self {
            clients_max: Setting::new(options.clients_max),
            acl_log_max: Setting::new(options.acl_log_max),
            request_bytes_max: Setting::new(options.request_bytes_max),
            arg_bytes_max: Setting::new(options.arg_bytes_max),
            args_max: Setting::new(options.args_max),
            pipeline_max: Setting::new(options.pipeline_max),
            output_bytes_max: Setting::new(options.output_bytes_max),
            reply_bytes_max: Setting::new(options.reply_bytes_max),
            idle_timeout_s: Setting::new(seconds(options.idle_timeout)),
            tls_handshake_s: Setting::new(seconds(options.tls_handshake_timeout)),
            keepalive_s: Setting::new(seconds(options.keepalive)),
            output_hard: Setting::new(output.hard_bytes),
            output_soft: Setting::new(output.soft_bytes),
            output_soft_s: Setting::new(seconds(output.soft_time)),
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
