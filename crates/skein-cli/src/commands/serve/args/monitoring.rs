//! Options of the slow log, the latency monitor, the metrics, and of what clients hear of keys.

use std::time::Duration;

use skein_server::ServerOptions;

use super::listen::METRICS;
use crate::exit::Failure;
use crate::units::parse_duration;

/// Monitoring.
#[derive(clap::Args)]
#[command(next_help_heading = "Monitoring")]
pub struct MonitoringArgs {
    /// Serve Prometheus metrics at this address, under /metrics, by HTTP and without a password
    /// [default: nowhere].
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// Record requests that take this long in the slow log; 0 for all, never for none.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_or_never)]
    slowlog_slower_than: Duration,
    /// The greatest number of requests in the slow log; 0 for none.
    #[arg(long, value_name = "N", default_value = "128")]
    slowlog_max_len: usize,
    /// Record events that delay clients this long, for LATENCY; 0 for never.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    latency_threshold: Duration,
    /// Do not keep histograms of the commands' durations.
    #[arg(long)]
    no_latency_tracking: bool,
    /// Publish the changes of keys, as events of these classes: Redis's letters, for example KEA.
    #[arg(long, value_name = "LETTERS", default_value = "", hide_default_value = true)]
    notify_keyspace_events: String,
    /// The greatest number of keys that are remembered for CLIENT TRACKING; 0 for no limit.
    #[arg(long, value_name = "N", default_value = "1000000")]
    tracking_table_max_keys: usize,
}

impl MonitoringArgs {
    /// Sets these values in the server's options.
    pub fn apply(&self, options: ServerOptions) -> Result<ServerOptions, Failure> {
        Ok(ServerOptions {
            metrics: self.metrics.as_deref().map(|listen| METRICS.resolve(listen)).transpose()?,
            slowlog_slower_than: self.slowlog_slower_than,
            slowlog_len: self.slowlog_max_len,
            latency_threshold: self.latency_threshold,
            latency_tracking: !self.no_latency_tracking,
            keyspace_events: self.notify_keyspace_events.clone(),
            tracking_keys_max: self.tracking_table_max_keys,
            ..options
        })
    }
}

/// Parses a time, or `never`: a time that no request reaches.
fn parse_or_never(text: &str) -> Result<Duration, String> {
    if text == "never" {
        return Ok(Duration::MAX);
    }
    parse_duration(text).map_err(|why| format!("{why}, or never"))
}
