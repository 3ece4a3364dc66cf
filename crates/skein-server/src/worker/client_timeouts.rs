//! Clients that are silent for too long, do not take their replies for too long, or do not come to an end with TLS's handshake, are disconnected.
//!
//! ```text
//!   every 100 ms     slots  0 1 2 │3 4 5│ 6 7 8 ...      a tenth of all; each is looked at about once a second
//!                                  └ hand
//! ```
//!
//! No request pays for it: a connection has no timer, only the second in which it was last heard of. Where no limit is set (and
//! there is no TLS) nothing is looked at, and an idle worker sleeps.

use std::time::Duration;

use crate::shared::ServerShared;

use super::Worker;
use super::connection::Connection;
use crate::settings::LiveSettings;

/// How often some of the connections are looked at.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// Ticks in which all are.
const ROUND: usize = 10;

/// Where the sweep stands.
#[derive(Debug, Default)]
pub(super) struct TimeoutSweep {
    /// When it goes on, since the server's start.
    next: Duration,
    /// The slot that comes next.
    hand: usize,
}

/// Whether there is anything to look for.
pub(super) fn is_wanted(shared: &ServerShared) -> bool {
    let settings = &shared.settings;
    has_timeouts(settings, shared.tls.is_some())
        || settings.output_hard.get() > 0
        || settings.output_soft.get() > 0
}

/// Whether there is anything to look for but output.
pub(super) fn has_timeouts(settings: &LiveSettings, tls: bool) -> bool {
    settings.idle_timeout_s.get() > 0 || (tls && settings.tls_handshake_s.get() > 0)
}

/// Why a client is to be disconnected that has done nothing, if it is. Of its silence only that counts in which it is `waited` for.
pub(super) fn silent_for_too_long(
    settings: &LiveSettings,
    connection: &Connection,
    waited: bool,
    now: Duration,
) -> Option<&'static str> {
    let (age, idle) = connection.client.card.age_and_idle(now);
    let handshake_max = settings.tls_handshake_s.get() as u64;
    if handshake_max > 0 && age >= handshake_max && connection.stream.is_handshaking() {
        return Some("its TLS handshake took longer than it may");
    }
    let idle_max = settings.idle_timeout_s.get() as u64;
    (idle_max > 0 && waited && idle > idle_max).then_some("it was silent for longer than the idle timeout")
}

impl Worker {
    /// Looks at the next connections, if it is time to.
    pub(super) fn sweep(&mut self) {
        if !is_wanted(&self.shared) {
            return;
        }
        let now = self.shared.started.elapsed();
        if now < self.sweep.next {
            return;
        }
        self.sweep.next = now + TICK;
        self.limits = self.shared.settings.limits();
        let slots = self.slots.len();
        for _ in 0..slots.div_ceil(ROUND) {
            let slot = self.sweep.hand % slots;
            self.sweep.hand = slot + 1;
            if let Some(why) = self.overdue(slot, now) {
                self.cut_off(slot, why);
            }
        }
    }

    /// Why a client is to be disconnected, if it is.
    fn overdue(&mut self, slot: usize, now: Duration) -> Option<&'static str> {
        let settings = &self.shared.settings;
        let (connection, output) = self.slots.get(slot)?;
        // A client whose request is being done, or will be when the disk is ready, is not the one that is waited for.
        let waited = connection.task.is_none()
            && !connection.waits
            && !connection.paused
            && !connection.held
            && !connection.lingers;
        let silent = silent_for_too_long(settings, connection, waited, now);
        if silent.is_some() {
            return silent;
        }
        if output.pending() > self.limits.output_hard {
            return Some(super::OVER_HARD_LIMIT);
        }
        if output.pending() <= self.limits.output_soft {
            connection.over_soft_limit = None;
            return None;
        }
        let since = *connection.over_soft_limit.get_or_insert(now);
        let longer = now.saturating_sub(since).as_secs() > settings.output_soft_s.get() as u64;
        longer.then_some("its waiting replies were over the soft limit for too long")
    }
}
