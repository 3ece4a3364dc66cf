//! The settings of observation that can change while the server runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use skein_sync::locks::lock;

use super::LiveSetting;
use crate::ServerOptions;

/// The default percentiles of INFO latencystats.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

/// The settings, in Redis's units.
#[derive(Debug)]
pub(crate) struct ObserveSettings {
    /// `slowlog-log-slower-than`, in microseconds; negative for never.
    slower_than: AtomicI64,
    /// `slowlog-max-len`
    pub slowlog_len: LiveSetting,
    /// `latency-monitor-threshold`, in milliseconds; 0 for never.
    pub event_ms: LiveSetting,
    /// `latency-tracking`
    tracking: AtomicBool,
    /// `latency-tracking-info-percentiles`
    percentiles: Mutex<Vec<f64>>,
}

impl ObserveSettings {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        let millis = |time: Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
        // A time that does not fit means never.
        let slower_than = i64::try_from(options.slowlog_slower_than.as_micros()).unwrap_or(-1);
        Self {
            slower_than: AtomicI64::new(slower_than),
            slowlog_len: LiveSetting::new(options.slowlog_len),
            event_ms: LiveSetting::new(millis(options.latency_threshold)),
            tracking: AtomicBool::new(options.latency_tracking),
            percentiles: Mutex::new(PERCENTILES.to_vec()),
        }
    }

    /// Returns the microseconds from which a request is slow; negative for never.
    pub(crate) fn slower_than(&self) -> i64 {
        // Relaxed, like all here: each value is independent of the others.
        self.slower_than.load(Ordering::Relaxed)
    }

    pub(crate) fn set_slower_than(&self, micros: i64) {
        self.slower_than.store(micros, Ordering::Relaxed);
    }

    /// Returns the nanoseconds from which a request is slow.
    pub(crate) fn slow_nanos(&self) -> u64 {
        u64::try_from(self.slower_than()).map_or(u64::MAX, |micros| micros.saturating_mul(1000))
    }

    /// Returns the nanoseconds from which an operation is an event.
    pub(crate) fn event_nanos(&self) -> u64 {
        match self.event_ms.get() as u64 {
            0 => u64::MAX,
            millis => millis.saturating_mul(1_000_000),
        }
    }

    pub(crate) fn tracking(&self) -> bool {
        self.tracking.load(Ordering::Relaxed)
    }

    pub(crate) fn set_tracking(&self, on: bool) {
        self.tracking.store(on, Ordering::Relaxed);
    }

    pub(crate) fn percentiles(&self) -> Vec<f64> {
        lock(&self.percentiles).clone()
    }

    pub(crate) fn set_percentiles(&self, percentiles: Vec<f64>) {
        *lock(&self.percentiles) = percentiles;
    }
}
