//! A server that is still loading its data: it listens already, and reports its progress.
//!
//! ```text
//!   Server::bind ─► BoundServer ─ answer_loading ─► loading thread (`worker::loading`): LOADING
//!                     │                             metrics (`metrics::pages`): "loading"
//!                     │                             meanwhile the caller opens the store
//!                     └─── serve(store) ─► Server: takes over the thread's ports and connections
//! ```
//!
//! Connections that were accepted meanwhile stay open. Their user, protocol, unprocessed requests
//! and unsent replies are handed over to a worker.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use skein_data::{OpenProgress, OpenProgressSeen};

use crate::ServerOptions;
use crate::acl::Acl;
use crate::clients::warnings::WarningLimiter;
use crate::request::databases::Databases;

/// The state of a server that has no data yet.
#[derive(Debug)]
pub(crate) struct Loading {
    pub options: ServerOptions,
    pub acl: Arc<Acl>,
    pub databases: Arc<Databases>,
    pub address: SocketAddr,
    /// Identifies this run of the server (see `ServerShared`).
    pub run_id: String,
    pub progress: Arc<OpenProgress>,
    started: Instant,
    pub started_unix_s: u64,
    next_client: AtomicU64,
    /// Connections that were accepted, and those that were refused.
    pub accepted: AtomicU64,
    pub refused: AtomicU64,
    /// Limits the warnings that strangers can cause.
    pub warnings: WarningLimiter,
    ended: AtomicBool,
}

impl Loading {
    pub(crate) fn new(
        options: ServerOptions,
        acl: Arc<Acl>,
        address: SocketAddr,
        run_id: String,
        progress: Arc<OpenProgress>,
    ) -> Self {
        Self {
            databases: Arc::new(Databases::new(options.databases)),
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
        // Relaxed, like the counts: each number is used once and ordered with nothing.
        self.next_client.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number of the first client that a worker will accept.
    pub(crate) fn first_client_of_workers(&self) -> u64 {
        self.next_client.load(Ordering::Relaxed)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ends the loading: the data is loaded, or will not be.
    pub(crate) fn end(&self) {
        // Release: pairs with the Acquire in `has_ended`.
        self.ended.store(true, Ordering::Release);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Returns the progress in words: `43% done, about 5 s left`.
    pub(crate) fn progress_text(&self) -> String {
        let seen = self.progress.seen();
        if seen.bytes_total == 0 {
            return "looking at the data folder".to_owned();
        }
        let left = left(&seen, self.elapsed()).map(|left| format!(", about {left} s left"));
        format!("{}% done{}", seen.percent(), left.unwrap_or_default())
    }

    /// Returns an estimate of the seconds left, once some data was read.
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
    fn time_left_follows_from_the_pace() {
        let mut seen = OpenProgressSeen::default();
        assert_eq!(left(&seen, Duration::from_secs(9)), None, "nothing was read");
        (seen.bytes, seen.bytes_total) = (25, 100);
        assert_eq!(left(&seen, Duration::from_secs(9)), Some(27));
        seen.bytes = 100;
        assert_eq!(left(&seen, Duration::MAX), Some(0));
    }
}
