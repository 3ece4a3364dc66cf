//! Disconnects clients that are idle for too long, that do not read their replies for too long, or
//! that do not finish the TLS handshake.
//!
//! ```text
//!   every 100 ms     slots  0 1 2 │3 4 5│ 6 7 8 ...      a tenth of the slots, so each is checked
//!                                  └ hand                 about once a second
//! ```
//!
//! Requests do not pay for this: a connection has no timer, only the second of its last activity.
//! If no limit is set and there is no TLS, nothing is checked, and an idle worker sleeps.

use std::time::Duration;

use crate::shared::ServerShared;

use super::connection::Connection;
use super::connections::WorkerConnections;
use crate::config::settings::LiveSettings;

/// How often a part of the connections is checked.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// The number of ticks in which all connections are checked.
const ROUND: usize = 10;

/// The progress of the sweep over the slots.
#[derive(Debug, Default)]
pub(super) struct TimeoutSweep {
    /// The time of the next tick, measured from the server's start.
    next: Duration,
    /// The next slot to check.
    hand: usize,
}

/// Returns whether any timeout can apply.
pub(super) fn is_wanted(shared: &ServerShared) -> bool {
    let settings = &shared.settings;
    has_timeouts(settings, shared.identity.tls.is_some())
        || settings.output_limit.is_limited()
        || (shared.notices.sends_unasked() && settings.subscriber_limit.is_limited())
}

/// Returns whether any timeout can apply, except the one for unread replies.
pub(super) fn has_timeouts(settings: &LiveSettings, tls: bool) -> bool {
    settings.idle_timeout.seconds() > 0 || (tls && settings.tls_handshake_timeout.seconds() > 0)
}

/// Returns the reason to disconnect a client that has been idle for too long. Only time in which
/// the server `waited` for the client counts.
pub(super) fn idle_reason(
    settings: &LiveSettings,
    connection: &Connection,
    waited: bool,
    now: Duration,
) -> Option<&'static str> {
    let (age, idle) = connection.client.record.age_and_idle(now);
    let handshake_max = settings.tls_handshake_timeout.seconds();
    if handshake_max > 0 && age >= handshake_max && connection.stream.is_handshaking() {
        return Some("its TLS handshake took longer than the limit");
    }
    let idle_max = settings.idle_timeout.seconds();
    (idle_max > 0 && waited && idle > idle_max).then_some("it was idle for longer than the timeout")
}

impl WorkerConnections {
    /// Checks the next connections if a tick is due.
    pub(super) fn sweep(&mut self) {
        if !is_wanted(&self.shared) {
            return;
        }
        let now = self.shared.identity.started.elapsed();
        if now < self.sweep.next {
            return;
        }
        self.sweep.next = now + TICK;
        self.limits = self.shared.settings.limits();
        let slots = self.slots.len();
        for _ in 0..slots.div_ceil(ROUND) {
            let slot = self.sweep.hand % slots;
            self.sweep.hand = slot + 1;
            if let Some(why) = self.disconnect_reason(slot, now) {
                self.disconnect(slot, why);
            }
        }
    }

    /// Returns the reason to disconnect a client, if there is one.
    fn disconnect_reason(&mut self, slot: usize, now: Duration) -> Option<&'static str> {
        let settings = &self.shared.settings;
        let (connection, output) = self.slots.get(slot)?;
        let subscribes = connection.client.record.hears();
        let bounds = self.limits.output_of(subscribes);
        // While the request of a client runs, or waits for the disk, the server does not wait for
        // the client. A subscriber has nothing to say.
        let waited = connection.task.is_none()
            && !connection.waits
            && connection.blocked.is_none()
            && connection.paused.is_none()
            && !connection.held
            && !connection.lingers
            && !subscribes;
        let silent = idle_reason(settings, connection, waited, now);
        if silent.is_some() {
            return silent;
        }
        if output.pending() > bounds.hard {
            return Some(super::OVER_HARD_LIMIT);
        }
        if output.pending() <= bounds.soft {
            connection.over_soft_limit = None;
            return None;
        }
        let since = *connection.over_soft_limit.get_or_insert(now);
        let limit = if subscribes { &settings.subscriber_limit } else { &settings.output_limit };
        let longer = now.saturating_sub(since).as_secs() > limit.soft_time.seconds();
        longer.then_some("its waiting replies exceeded the soft limit for too long")
    }
}
