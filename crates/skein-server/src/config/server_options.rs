//! The options of a server, and the rows of those that are options of `skein serve` as well.
//!
//! To add an option, add a field with its row here. Flag, file, CONFIG and documents follow.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_data::DATABASES_MAX;
use skein_sync::threads;

use super::options_struct::options_struct;
use super::parameter::{ConfigKind, Parameter, TimeUnit, ValueKind, number, option, parameter, size, time};
use super::value::words;
use super::{LogControl, OptionsFile, OutputLimit, SECONDS_MAX, STOP_SECONDS_MAX};
use crate::commands::configuration::{check_clients, clients, observing, users};
use crate::{ClientMemoryLimit, DefaultChannels, Tls, UnixSocket};

const CLIENT_LIMITS: &str = "client-output-buffer-limit";

/// Returns the row of a limit on waiting replies, which is a part of `client-output-buffer-limit`.
const fn output_size(
    name: &'static str,
    value: fn(&crate::config::settings::LiveSettings) -> u64,
) -> Parameter {
    size(name).config(&[], ConfigKind::Part { of: CLIENT_LIMITS, value }).written_with(CLIENT_LIMITS)
}

options_struct! {
    /// The options of a server. `ServerOptions::default()` suits most users.
    pub struct ServerOptions, SERVER_ROWS, Server {
        General {
            /// The TCP address. Port 0 selects a free port. An address that other machines can
            /// reach requires a password.
            listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 6380));
            /// An additional Unix socket.
            unix_socket: Option<UnixSocket> = None;
            /// An additional port for TLS. An address that other machines can reach requires a
            /// password or client certificates.
            tls: Option<Tls> = None;
            /// The password that clients give with AUTH or HELLO.
            password: Option<Vec<u8>> = None;
            /// Receives the level of CONFIG SET loglevel; without it the command is an error.
            log: Option<Arc<dyn LogControl>> = None;
            /// The folder of the data, which `CONFIG GET dir` shows.
            data_folder: Option<PathBuf> = None => [
                parameter(&["dir"], ConfigKind::Fixed(|shared| {
                    let folder = shared.options.data_folder.as_deref();
                    folder.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
                })),
            ];
            /// Receives the options of CONFIG REWRITE; without it the command is an error.
            options_file: Option<Arc<dyn OptionsFile>> = None;
            /// The number of worker threads, each with its own log.
            workers: usize = threads::cores() => [
                option("workers", ValueKind::NumberBetween(1, threads::MOST as u16), "N")
                    .between(1, threads::MOST as u64)
                    .default_text("one per core")
                    .fixed(&["io-threads"], |shared| shared.workers.mailboxes.len().to_string()),
            ];
            /// A file with the users, in the format of Redis's ACL files. It must exist, and may be
            /// empty; ACL SAVE writes it.
            acl_file: Option<PathBuf> = None => [
                option("acl-file", ValueKind::Path, "FILE")
                    .fixed(&["aclfile"], |shared| {
                        let file = shared.acl.file.as_ref();
                        file.map_or_else(String::new, |path| path.to_string_lossy().into_owned())
                    })
                    .docs("a file with the users, in the format of Redis's ACL files. It must exist, and may be empty \
                           ([security.md](security.md))"),
            ];
            /// The channels that new users may use until a rule names others.
            default_channels: DefaultChannels = DefaultChannels::None => [
                option("acl-pubsub-default", ValueKind::Words(words::<DefaultChannels>), "RULE")
                    .config(&["acl-pubsub-default"], ConfigKind::Other {
                        value: users::channels,
                        change: users::change_channels,
                    }),
            ];
            /// Let clients use DEBUG SLEEP, which makes a worker wait. For tests.
            debug_command: bool = false => [
                option("enable-debug-command", ValueKind::Switch, "")
                    .fixed(&["enable-debug-command"], |shared| {
                        if shared.options.debug_command { "yes" } else { "no" }.to_owned()
                    }),
            ];
        }
        Limits {
            /// The longest request.
            request_bytes_max: usize = 1 << 30 => [
                size("max-request").between(1 << 10, 2 << 30)
                    .live(&["client-query-buffer-limit"], |all| &all.request_bytes_max)
                    .docs("a request on the wire, and the requests that wait for an `EXEC`: `Protocol error`, which names \
                           the limit, and the client is disconnected"),
            ];
            /// The longest argument of a request, and so the longest value that can be sent.
            arg_bytes_max: usize = 512 << 20 => [
                size("max-argument").between(1 << 10, 2 << 30)
                    .at_most(|options| options.request_bytes_max as u64)
                    .default_text("512m, or --max-request if that is less")
                    .bounds_text("1k to 1g")
                    .live(&["proto-max-bulk-len"], |all| &all.arg_bytes_max)
                    .docs("an argument of a request, at most `max-request`: `Protocol error: invalid bulk length`, and \
                           disconnected, as in Redis"),
            ];
            /// The most arguments of a request.
            args_max: usize = 1 << 20 => [
                number("max-arguments", 16, 1 << 24)
                    .live(&["max-arguments"], |all| &all.args_max)
                    .docs("arguments of a request: `Protocol error: invalid multibulk length`, and disconnected, as in Redis"),
            ];
            /// Databases that clients can select.
            databases: u32 = 16 => [
                number("databases", 1, DATABASES_MAX as u64)
                    .fixed(&["databases"], |shared| shared.data.databases.count().to_string()),
            ];
            /// Requests of one connection that are read ahead and run as one batch; further ones
            /// wait.
            pipeline_max: usize = 1 << 10 => [
                number("max-pipeline", 1, 1 << 20)
                    .live(&["max-pipeline"], |all| &all.pipeline_max),
            ];
            /// Bytes of replies that may wait for a slow client before the server stops reading its
            /// requests.
            output_bytes_max: usize = 1 << 20 => [
                size("max-output").between(1 << 10, 1 << 40)
                    .live(&["max-output"], |all| &all.output_bytes_max)
                    .docs("replies that wait for a client: no further request of it is read or run until it has read them"),
            ];
            /// The longest reply with many keys.
            reply_bytes_max: usize = 1 << 30 => [
                size("max-reply").between(1 << 10, 1 << 40)
                    .live(&["max-reply"], |all| &all.reply_bytes_max)
                    .docs("a longer reply of many keys, or [of a script](commands.md#scripts), is an error that names the limit"),
            ];
            /// Positions of SCAN that are kept for all clients together; the oldest is dropped
            /// first.
            scan_cursors_max: usize = 1 << 14 => [
                number("max-scan-cursors", 16, 1 << 24)
                    .fixed(&["max-scan-cursors"], |shared| shared.options.scan_cursors_max.to_string())
                    .docs("positions of `SCAN` kept for all clients together: the oldest is dropped, and its cursor is then \
                           an error"),
            ];
            /// The memory of a worker's scripts (EVAL). A script that needs more ends with an
            /// error.
            script_memory_max: usize = 64 << 20 => [
                size("max-script-memory").between(1 << 20, 1 << 40)
                    .docs("memory of a worker's scripts, and of its functions: one that needs more ends with an error that \
                           names the limit, and has 2 GiB more once it has written"),
            ];
            /// How long a script may run, while no other request does; 0 for ever. A script that
            /// takes longer ends with an error, and its writes stay.
            script_time_max: Duration = Duration::ZERO => [
                time("max-script-time").between(0, SECONDS_MAX),
            ];
            /// How long a script may run before other clients receive BUSY, and may stop it with
            /// SCRIPT KILL; 0 for ever.
            busy_reply_threshold: Duration = Duration::from_secs(5) => [
                time("busy-reply-threshold").between(0, SECONDS_MAX)
                    .live_time(&["busy-reply-threshold", "lua-time-limit"], TimeUnit::Millis, |all| {
                        &all.busy_reply_threshold
                    }),
            ];
            /// Entries of ACL LOG; the oldest is dropped first.
            acl_log_max: usize = 128 => [
                number("max-acl-log", 0, 1 << 16)
                    .live(&["acllog-max-len"], |all| &all.acl_log_max)
                    .then(|shared| shared.acl.log.shorten(shared.settings.acl_log_max.get())),
            ];
        }
        Clients {
            /// The greatest number of connections at a time.
            clients_max: usize = 10_000 => [
                number("max-clients", 1, 1 << 20)
                    .live(&["maxclients"], |all| &all.clients_max)
                    .check(check_clients)
                    .docs("connections at a time: `ERR max number of clients reached`, and closed"),
            ];
            /// Disconnect a client that has neither sent nor received anything for this time; whole
            /// seconds, 0 for never.
            idle_timeout: Duration = Duration::ZERO => [
                time("idle-timeout").between(0, SECONDS_MAX)
                    .live_time(&["timeout"], TimeUnit::Seconds, |all| &all.idle_timeout)
                    .then(|shared| shared.workers.wake()),
            ];
            /// Disconnect a client of --tls-listen that has not finished its handshake within this
            /// time; whole seconds, 0 for never.
            tls_handshake_timeout: Duration = Duration::from_secs(10) => [
                time("tls-handshake-timeout").between(0, SECONDS_MAX)
                    .live_time(&["tls-handshake-timeout"], TimeUnit::Seconds, |all| &all.tls_handshake_timeout)
                    .then(|shared| shared.workers.wake()),
            ];
            /// Probe a client that has been silent for this time, and disconnect it if it does not
            /// respond; whole seconds, 0 for never.
            keepalive: Duration = Duration::from_secs(300) => [
                time("tcp-keepalive").between(0, SECONDS_MAX)
                    .live_time(&["tcp-keepalive"], TimeUnit::Seconds, |all| &all.keepalive)
                    .docs("a TCP connection that is silent for this long is probed three times, over as long again; whole \
                           seconds, 0 for never"),
            ];
            /// When a client that does not read its replies is disconnected. (Long before, its
            /// requests are no longer run; see `output_bytes_max`.)
            output_limit: OutputLimit = OutputLimit::default() => [
                output_size("output-hard-limit", |all| all.output_limit.hard.get() as u64)
                    .server(|options| &mut options.output_limit.hard_bytes)
                    .help("Disconnect a client immediately if more bytes of replies than this wait for it; 0 for never. \
                           (Long before, the server stops reading its requests: see --max-output.)"),
                output_size("output-soft-limit", |all| all.output_limit.soft.get() as u64)
                    .server(|options| &mut options.output_limit.soft_bytes)
                    .help("Disconnect a client if more bytes of replies than this have waited for it for \
                           --output-soft-time; 0 for never."),
                time("output-soft-time").between(0, SECONDS_MAX)
                    .field("output_limit.soft_time")
                    .config(&[], ConfigKind::Part { of: CLIENT_LIMITS, value: |all| all.output_limit.soft_time.seconds() })
                    .written_with(CLIENT_LIMITS)
                    .server(|options| &mut options.output_limit.soft_time)
                    .help("How long --output-soft-limit may be exceeded; whole seconds."),
            ];
            /// The same for clients with subscriptions, to which messages are sent whether they
            /// read or not.
            subscriber_limit: OutputLimit = OutputLimit::SUBSCRIBER => [
                output_size("subscriber-hard-limit", |all| all.subscriber_limit.hard.get() as u64)
                    .server(|options| &mut options.subscriber_limit.hard_bytes)
                    .help("Disconnect a client with subscriptions immediately if more bytes than this wait for it; 0 \
                           for never.")
                    .docs("the same for a client with subscriptions, to which messages are sent whether it reads or not; 0 \
                           for never"),
                output_size("subscriber-soft-limit", |all| all.subscriber_limit.soft.get() as u64)
                    .server(|options| &mut options.subscriber_limit.soft_bytes)
                    .help("Disconnect a client with subscriptions if more bytes than this have waited for it for \
                           --subscriber-soft-time; 0 for never."),
                time("subscriber-soft-time").between(0, SECONDS_MAX)
                    .field("subscriber_limit.soft_time")
                    .config(&[], ConfigKind::Part { of: CLIENT_LIMITS, value: |all| all.subscriber_limit.soft_time.seconds() })
                    .written_with(CLIENT_LIMITS)
                    .server(|options| &mut options.subscriber_limit.soft_time)
                    .help("How long --subscriber-soft-limit may be exceeded; whole seconds."),
            ];
            /// The memory of all clients together, or a part of --max-memory in percent, as in 5%.
            /// Above it the largest clients are disconnected; 0 for never, otherwise 128k at least.
            client_memory_max: ClientMemoryLimit = ClientMemoryLimit::Unlimited => [
                option("max-client-memory", ValueKind::ClientMemory, "SIZE")
                    .config(&["maxmemory-clients"], ConfigKind::Other {
                        value: clients::limit,
                        change: clients::change_limit,
                    })
                    .docs("the memory of all clients together, at least 128k, or 1% to 100% of `max-memory`: above it the \
                           largest clients are disconnected; 0 for never"),
            ];
            /// How long a stop waits for clients to receive their replies, and then for the
            /// checkpoint of --checkpoint-on-stop.
            stop_timeout: Duration = Duration::from_secs(5) => [
                time("stop-timeout").between(0, STOP_SECONDS_MAX)
                    .docs("how long a stop waits for clients to read their replies; they are then disconnected. The time \
                           that is left is for the checkpoint of `checkpoint-on-stop`"),
            ];
        }
        Monitoring {
            /// The address where Prometheus reads metrics by HTTP, at `/metrics`. Anybody who can
            /// reach it can read the metrics without a password. Port 0 selects a free port.
            metrics: Option<SocketAddr> = None;
            /// Record requests that take this long in the slow log; 0 for all, never for none.
            slowlog_slower_than: Duration = Duration::from_millis(10) => [
                option("slowlog-slower-than", ValueKind::TimeOrNever, "TIME")
                    .live_time(&["slowlog-log-slower-than"], TimeUnit::Micros, |all| &all.slowlog_slower_than),
            ];
            /// The greatest number of requests in the slow log; 0 for none.
            slowlog_len: usize = 128 => [
                number("slowlog-max-len", 0, 100_000)
                    .live(&["slowlog-max-len"], |all| &all.slowlog_len),
            ];
            /// Record events that delay clients this long, for LATENCY; 0 for never.
            latency_threshold: Duration = Duration::ZERO => [
                time("latency-threshold")
                    .live_time(&["latency-monitor-threshold"], TimeUnit::Millis, |all| &all.latency_threshold),
            ];
            /// Whether histograms record the time of commands.
            latency_tracking: bool = true => [
                option("no-latency-tracking", ValueKind::SwitchOff, "")
                    .config(&["latency-tracking"], ConfigKind::Switch(|all| &all.latency_tracking))
                    .help("Do not keep histograms of the commands' durations."),
            ];
            /// Publish the changes of keys, as events of these classes: Redis's letters, for
            /// example KEA.
            keyspace_events: String = String::new() => [
                option("notify-keyspace-events", ValueKind::Text, "LETTERS")
                    .config(&["notify-keyspace-events"], ConfigKind::Other {
                        value: observing::events,
                        change: observing::change_events,
                    })
                    .docs("publishes the changes of keys, as events of these classes \
                           ([commands.md](commands.md#keyspace-notifications))"),
            ];
            /// The greatest number of keys that are remembered for CLIENT TRACKING; 0 for no limit.
            tracking_keys_max: usize = 1_000_000 => [
                number("tracking-table-max-keys", 0, i64::MAX as u64)
                    .live(&["tracking-table-max-keys"], |all| &all.tracking_keys_max)
                    .then(|shared| {
                        shared.notices.key_observer.tracking.keep_at_most(shared.settings.tracking_keys_max.get());
                    })
                    .docs("keys that are remembered for `CLIENT TRACKING`: a client is told that one has changed, and it is \
                           dropped; 0 for no limit"),
            ];
        }
    }
}
