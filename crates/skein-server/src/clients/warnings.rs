//! Warnings that strangers can cause. Each kind is logged at most once a minute, so that no client
//! can fill the log.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use skein_sync::locks::lock;

use crate::clients::client_registry::ClientRecord;

/// The time between two warnings of a kind.
const SILENCE: Duration = Duration::from_secs(60);

/// The time of the last warning of each kind.
#[derive(Debug, Default)]
pub(crate) struct WarningLimiter {
    cross_protocol: LimitedWarning,
    refused: LimitedWarning,
}

/// A warning with a limited rate.
#[derive(Debug, Default)]
struct LimitedWarning(Mutex<Option<Instant>>);

impl LimitedWarning {
    /// Returns whether the warning should be logged now.
    fn is_due(&self) -> bool {
        let (mut last, now) = (lock(&self.0), Instant::now());
        let due = last.is_none_or(|last| now.duration_since(last) >= SILENCE);
        if due {
            *last = Some(now);
        }
        due
    }
}

impl WarningLimiter {
    /// Warns that a client sent a line of HTTP.
    pub(crate) fn cross_protocol(&self, record: &ClientRecord) {
        if self.cross_protocol.is_due() {
            let address = record.address.as_ref().map(ToString::to_string);
            tracing::warn!(
                client = record.place.client,
                address,
                "possible SECURITY ATTACK: a client sent POST or Host:, like a web page that is made to send commands here; the client was disconnected"
            );
        }
    }

    /// Warns that the system has no file descriptor for a new connection.
    pub(crate) fn cannot_accept(&self, cause: &std::io::Error) {
        if self.refused.is_due() {
            tracing::warn!(%cause, "cannot accept connections; retrying");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warning_is_logged_once_a_minute() {
        let warning = LimitedWarning::default();
        assert!(warning.is_due() && !warning.is_due());
        let long_ago = Instant::now().checked_sub(SILENCE).expect("a machine that runs for longer");
        *lock(&warning.0) = Some(long_ago);
        assert!(warning.is_due());
    }
}
