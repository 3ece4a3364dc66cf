//! Limits on the number of clients, and the conditions under which one is disconnected.

use std::time::Duration;

use skein_server::{ClientMemoryLimit, OutputLimit, ServerOptions};

use super::limits::saturate;
use crate::units::{parse_duration, parse_size};

/// Limits on connections.
#[derive(clap::Args)]
#[command(next_help_heading = "Clients")]
pub struct ClientArgs {
    /// The greatest number of connections at a time.
    #[arg(long, value_name = "N", default_value = "10000")]
    max_clients: usize,
    /// Disconnect a client that has neither sent nor received anything for this time; whole
    /// seconds, 0 for never.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    idle_timeout: Duration,
    /// Disconnect a client of --tls-listen that has not finished its handshake within this time;
    /// whole seconds, 0 for never.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    tls_handshake_timeout: Duration,
    /// Probe a client that has been silent for this time, and disconnect it if it does not respond;
    /// whole seconds, 0 for never.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    tcp_keepalive: Duration,
    /// Disconnect a client immediately if more bytes of replies than this wait for it; 0 for never.
    /// (Long before, the server stops reading its requests: see --max-output.)
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = parse_size)]
    output_hard_limit: u64,
    /// Disconnect a client if more bytes of replies than this have waited for it for
    /// --output-soft-time; 0 for never.
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = parse_size)]
    output_soft_limit: u64,
    /// How long --output-soft-limit may be exceeded; whole seconds.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    output_soft_time: Duration,
    /// Disconnect a client with subscriptions immediately if more bytes than this wait for it; 0
    /// for never.
    #[arg(long, value_name = "SIZE", default_value = "32m", value_parser = parse_size)]
    subscriber_hard_limit: u64,
    /// Disconnect a client with subscriptions if more bytes than this have waited for it for
    /// --subscriber-soft-time; 0 for never.
    #[arg(long, value_name = "SIZE", default_value = "8m", value_parser = parse_size)]
    subscriber_soft_limit: u64,
    /// How long --subscriber-soft-limit may be exceeded; whole seconds.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    subscriber_soft_time: Duration,
    /// The memory of all clients together, or a part of --max-memory in percent, as in 5%. Above it
    /// the largest clients are disconnected; 0 for never, otherwise 128k at least.
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = parse_client_memory)]
    max_client_memory: ClientMemoryLimit,
    /// How long a stop waits for clients to receive their replies, and then for the checkpoint of
    /// --checkpoint-on-stop.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    stop_timeout: Duration,
}

impl ClientArgs {
    /// Returns the time limit of a stop, optional work included.
    pub fn stop_timeout(&self) -> Duration {
        self.stop_timeout
    }

    /// Sets these values in the server's options.
    pub fn apply(&self, options: ServerOptions) -> ServerOptions {
        ServerOptions {
            clients_max: self.max_clients,
            idle_timeout: self.idle_timeout,
            tls_handshake_timeout: self.tls_handshake_timeout,
            keepalive: self.tcp_keepalive,
            output_limit: OutputLimit {
                hard_bytes: saturate(self.output_hard_limit),
                soft_bytes: saturate(self.output_soft_limit),
                soft_time: self.output_soft_time,
            },
            subscriber_limit: OutputLimit {
                hard_bytes: saturate(self.subscriber_hard_limit),
                soft_bytes: saturate(self.subscriber_soft_limit),
                soft_time: self.subscriber_soft_time,
            },
            client_memory_max: self.max_client_memory,
            stop_timeout: self.stop_timeout,
            ..options
        }
    }
}

/// Parses a size, or a number of percent.
fn parse_client_memory(text: &str) -> Result<ClientMemoryLimit, String> {
    let Some(percent) = text.strip_suffix('%') else {
        let size = parse_size(text)?;
        let limit = ClientMemoryLimit::Bytes(saturate(size));
        return Ok(if size == 0 { ClientMemoryLimit::Unlimited } else { limit });
    };
    match percent.parse::<u8>() {
        Ok(0) => Ok(ClientMemoryLimit::Unlimited),
        Ok(percent @ ..=100) => Ok(ClientMemoryLimit::Percent(percent)),
        _ => Err(format!("{text:?} is not a part of --max-memory; write 1% to 100%, or a size, as in 64m")),
    }
}
