//! A server whose data is still being read back: it listens already, and says how far it has come.
//!
//! ```text
//!   Server::bind ─► Bound ─ answer_loading ─► doorman (worker/loading): LOADING to most requests     open the store meanwhile
//!                     │                       metrics (metrics/pages): "loading" on every page
//!                     └─── serve(store) ─► Server: the doorman hands over its ports and connections
//! ```
//!
//! A connection that was made meanwhile stays: its user, its protocol, what it sent and what it has
//! not taken yet go to a worker.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use skein_store::{OpenProgress, OpenProgressSeen};

use crate::ServerOptions;
use crate::acl::Acl;
use crate::warnings::WarningLimiter;

/// What is known of a server before it has data.
#[derive(Debug)]
pub(crate) struct Loading {
    pub options: ServerOptions,
    pub acl: Arc<Acl>,
    pub address: SocketAddr,
    /// Tells this run of the server from all others (see `Shared`).
    pub run_id: String,
    pub progress: Arc<OpenProgress>,
    started: Instant,
    pub started_unix_s: u64,
    next_client: AtomicU64,
    /// Connections that were let in, and those that were not.
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    /// Those that strangers can cause.
    pub warnings: WarningLimiter,
    ended: AtomicBool,
}

impl Loading {
    pub(crate) fn new(
        options: ServerOptions,
        acl: Arc<Acl>,
        (address, run_id): (SocketAddr, String),
        progress: Arc<OpenProgress>,
    ) -> Self {
        Self {
            options,
            acl,
            address,
            run_id,
            progress,
            started: Instant::now(),
            started_unix_s: UNIX_EPOCH.elapsed().unwrap_or_default().as_secs(),
            next_client: AtomicU64::new(1),
            accepted: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            warnings: WarningLimiter::default(),
            ended: AtomicBool::new(false),
        }
    }

    pub(crate) fn next_client(&self) -> u64 {
        // Relaxed, like the counts: a number that is used once, ordered with nothing.
        self.next_client.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next client will get.
    pub(crate) fn clients_begin(&self) -> u64 {
        self.next_client.load(Ordering::Relaxed)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// There is nothing to wait for any more: the data is there, or will not come.
    pub(crate) fn end(&self) {
        // Release: pairs with the Acquire in `has_ended`.
        self.ended.store(true, Ordering::Release);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// How far it has come, in words: `43% done, about 5 s left`.
    pub(crate) fn words(&self) -> String {
        let seen = self.progress.seen();
        if seen.bytes_total == 0 {
            return "looking at what is there".to_owned();
        }
        let left = left(&seen, self.elapsed()).map(|left| format!(", about {left} s left"));
        format!("{}% done{}", seen.percent(), left.unwrap_or_default())
    }

    /// Seconds that are probably left, once something was read.
    pub(crate) fn left(&self) -> Option<u64> {
        left(&self.progress.seen(), self.elapsed())
    }
}

fn left(seen: &OpenProgressSeen, took: Duration) -> Option<u64> {
    let to_come = u128::from(seen.bytes_total.saturating_sub(seen.bytes));
    let millis = (took.as_millis() * to_come).checked_div(seen.bytes.into())?;
    u64::try_from(millis.div_ceil(1000)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_pace() {
        let mut seen = OpenProgressSeen::default();
        assert_eq!(left(&seen, Duration::from_secs(9)), None, "nothing was read");
        (seen.bytes, seen.bytes_total) = (25, 100);
        assert_eq!(left(&seen, Duration::from_secs(9)), Some(27));
        seen.bytes = 100;
        assert_eq!(left(&seen, Duration::MAX), Some(0));
    }
}
