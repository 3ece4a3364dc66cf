//! What is noted of the requests, and who may ask.

use std::time::Duration;

use skein_server::ServerOptions;

use super::listen::METRICS;
use crate::exit::Failure;
use crate::units::parse_duration;

/// Seeing what happens.
#[derive(clap::Args)]
#[command(next_help_heading = "Monitoring")]
pub struct MonitoringArgs {
    /// Answer Prometheus here, at /metrics, by HTTP and without a password [default: nowhere].
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// Note requests that run so long in the slow log; 0 for all, never for none.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_or_never)]
    slowlog_slower_than: Duration,
    /// Requests in the slow log, at most; 0 for none.
    #[arg(long, value_name = "N", default_value = "128")]
    slowlog_max_len: usize,
    /// Note what keeps clients waiting so long, for LATENCY; 0 for never.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    latency_threshold: Duration,
    /// Do not count in histograms how long commands take.
    #[arg(long)]
    no_latency_tracking: bool,
}

impl MonitoringArgs {
    /// Puts them into the server's options.
    pub fn apply(&self, options: ServerOptions) -> Result<ServerOptions, Failure> {
        Ok(ServerOptions {
            metrics: self.metrics.as_deref().map(|listen| METRICS.resolve(listen)).transpose()?,
            slowlog_slower_than: self.slowlog_slower_than,
            slowlog_len: self.slowlog_max_len,
            latency_threshold: self.latency_threshold,
            latency_tracking: !self.no_latency_tracking,
            ..options
        })
    }
}

/// A time, or one that nothing takes.
fn parse_or_never(text: &str) -> Result<Duration, String> {
    if text == "never" {
        return Ok(Duration::MAX);
    }
    parse_duration(text).map_err(|why| format!("{why}, or never"))
}
