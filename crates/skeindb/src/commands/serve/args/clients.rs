//! How many clients there may be, and when one is disconnected.

use std::time::Duration;

use skein_server::{OutputLimit, ServerOptions};

use super::limits::saturate;
use crate::units::{parse_duration, parse_size};

/// Clients that come, stay and go.
#[derive(clap::Args)]
#[command(next_help_heading = "Clients")]
pub struct ClientArgs {
    /// Connections at a time.
    #[arg(long, value_name = "N", default_value = "10000")]
    max_clients: usize,
    /// Disconnect a client that has said and taken nothing for so long; whole seconds, 0 for never.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    idle_timeout: Duration,
    /// Disconnect a client of --tls-listen that has not finished its handshake for so long; whole seconds, 0 for never.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    tls_handshake_timeout: Duration,
    /// Ask whether a client that is silent for so long is still there, and disconnect it if nothing comes back; whole
    /// seconds, 0 for never.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    tcp_keepalive: Duration,
    /// Disconnect a client for which more replies than this wait, at once; 0 for never. (Long before, nothing more of it
    /// is read: see --max-output.)
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = parse_size)]
    output_hard_limit: u64,
    /// Disconnect a client for which more replies than this have waited for --output-soft-time; 0 for never.
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = parse_size)]
    output_soft_limit: u64,
    /// How long --output-soft-limit may be exceeded; whole seconds.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    output_soft_time: Duration,
    /// How long a stop waits for clients to take their replies, and may then go on with the checkpoint of --checkpoint-on-stop.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    stop_timeout: Duration,
}

impl ClientArgs {
    /// How long a stop may take, with all that can be left out.
    pub fn stop_timeout(&self) -> Duration {
        self.stop_timeout
    }

    /// Puts them into the server's options.
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
            stop_timeout: self.stop_timeout,
            ..options
        }
    }
}
