//! The pages `/metrics`, `/-/healthy` and `/-/ready`, for Prometheus and for supervisors. They are
//! available before the data is loaded.
//!
//! ```text
//!                 loading                   serving                  stopping
//!   /-/healthy    200 loading               200 serving              200 stopping
//!   /-/ready      503 loading: 43% done     200 serving              503 stopping
//!   /metrics      200 skein_loading 1       200 all metrics          200 all metrics
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use prometheus_client::registry::Registry;

use super::collect;
use crate::shared::ServerShared;
use crate::shared::loading::Loading;

const OK: &str = "200 OK";
const TEXT: &str = "text/plain; charset=utf-8";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The answer to a GET.
pub(super) struct HttpPage {
    pub status: &'static str,
    pub kind: &'static str,
    pub body: String,
}

impl HttpPage {
    /// Creates a page of plain text.
    pub(super) fn words(status: &'static str, body: impl Into<String>) -> Self {
        Self { status, kind: TEXT, body: body.into() }
    }

    fn fine(body: impl Into<String>) -> Self {
        Self::words(OK, body)
    }

    fn unavailable(body: impl Into<String>) -> Self {
        Self::words("503 Service Unavailable", body)
    }
}

/// The text of an answer that lists the paths.
pub(super) const PATHS: &str = "the paths are /metrics, /-/healthy and /-/ready\n";

/// The state of the server that the pages report.
#[derive(Debug)]
pub(crate) struct MetricsPages {
    loading: Arc<Loading>,
    before: Registry,
    serving: OnceLock<(Arc<ServerShared>, Registry)>,
    given_up: AtomicBool,
}

impl MetricsPages {
    /// Creates the pages of a server that is loading.
    pub(crate) fn new(loading: Arc<Loading>) -> Self {
        Self {
            before: collect::loading_registry(&loading),
            loading,
            serving: OnceLock::new(),
            given_up: AtomicBool::new(false),
        }
    }

    /// Marks the server as serving.
    pub(crate) fn serve(&self, shared: &Arc<ServerShared>) {
        // Called once. After a second call, which would be a mistake, the first server stays.
        let _ = self.serving.set((Arc::clone(shared), collect::registry(shared)));
    }

    /// Marks the server as failed to start.
    pub(super) fn give_up(&self) {
        // Release: pairs with the Acquire in `are_over`.
        self.given_up.store(true, Ordering::Release);
    }

    /// Returns whether the thread must end, because the server is stopping or failed to start.
    pub(super) fn are_over(&self) -> bool {
        let stops = self.serving.get().is_some_and(|(shared, _)| shared.workers.stopping());
        stops || self.given_up.load(Ordering::Acquire)
    }

    /// Returns the page at this path, if there is one.
    pub(super) fn page(&self, path: &[u8]) -> Option<HttpPage> {
        match path {
            b"/metrics" => {
                let registry = self.serving.get().map_or(&self.before, |(_, registry)| registry);
                Some(HttpPage { status: OK, kind: METRICS, body: collect::text(registry) })
            }
            b"/-/healthy" => Some(HttpPage::fine(self.state())),
            b"/-/ready" => Some(self.ready()),
            _ => None,
        }
    }

    fn state(&self) -> &'static str {
        match self.serving.get() {
            None => "loading\n",
            Some((shared, _)) if shared.workers.stopping() => "stopping\n",
            Some(_) => "serving\n",
        }
    }

    fn ready(&self) -> HttpPage {
        match self.serving.get() {
            None => HttpPage::unavailable(format!("loading: {}\n", self.loading.progress_text())),
            Some((shared, _)) if shared.workers.stopping() => HttpPage::unavailable(self.state()),
            Some((shared, _)) => HttpPage::fine(match shared.data.store.stats().writes_stopped {
                // Reads still work. Taking the server out of service would end them too.
                Some(why) => format!("serving, but no writes: {why}\n"),
                None => self.state().to_owned(),
            }),
        }
    }
}
