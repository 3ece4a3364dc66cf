//! The options of a server: its addresses, and a limit on everything that a client can make grow.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_sync::threads;
use tracing::level_filters::LevelFilter;

use skein_data::DATABASES_MAX;

use crate::key_events::EventClasses;
use crate::transport::Transport;
use crate::unix_socket::{MODE_MAX, PATH_BYTES_MAX};
use crate::{ClientMemoryLimit, DefaultChannels, StartError, Tls, TlsClients, UnixSocket};

/// Waiting longer makes no sense, and a much longer time would overflow the clock.
const STOP_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Sets the log level of the program, for CONFIG SET loglevel.
pub trait LogControl: std::fmt::Debug + Send + Sync {
    /// Logs only events of this level and more severe ones from now on.
    fn set_level(&self, level: LevelFilter);
}

/// The file of options that the program was started with, for CONFIG REWRITE.
pub trait OptionsFile: std::fmt::Debug + Send + Sync {
    /// Writes these options into the file and leaves the rest of it unchanged. Waits for the disk.
    /// Names and values are those of `skein serve`.
    ///
    /// # Errors
    /// The reason as a text for the client, if the file cannot be written. The file is then
    /// unchanged.
    fn rewrite(&self, options: &[(&'static str, OptionValue)]) -> Result<(), String>;
}

/// The new value of an option in an [`OptionsFile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A text, or a number with a unit.
    Text(String),
    /// A plain number.
    Number(u64),
    /// Whether the option is given at all.
    Switch(bool),
    /// The file must not have the option.
    Absent,
}

/// The smallest and the largest time that is set in seconds, as in Redis.
pub(crate) const SECONDS: (usize, usize) = (0, i32::MAX as usize);

/// The smallest and the largest value of options, which CONFIG SET uses too.
pub(crate) mod bounds {
    pub(crate) const ACL_LOG: (usize, usize) = (0, 1 << 16);
    pub(crate) const CLIENTS: (usize, usize) = (1, 1 << 20);
    pub(crate) const REQUEST_BYTES: (usize, usize) = (1 << 10, 2 << 30);
    pub(crate) const ARGS: (usize, usize) = (16, 1 << 24);
    pub(crate) const PIPELINE: (usize, usize) = (1, 1 << 20);
    pub(crate) const OUTPUT_BYTES: (usize, usize) = (1 << 10, 1 << 40);
    pub(crate) const REPLY_BYTES: (usize, usize) = (1 << 10, 1 << 40);
    pub(crate) const SCAN_CURSORS: (usize, usize) = (16, 1 << 24);
    pub(crate) const SCRIPT_MEMORY: (usize, usize) = (1 << 20, 1 << 40);
    pub(crate) const TRACKING_KEYS: (usize, usize) = (0, i64::MAX as usize);
    pub(crate) const SLOWLOG_LEN: (usize, usize) = (0, 100_000);
}

/// When a client that does not read its replies is disconnected: a class of Redis's
/// `client-output-buffer-limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputLimit {
    /// Bytes of waiting replies above which a client is disconnected immediately; 0 for never.
    pub hard_bytes: usize,
    /// Bytes of waiting replies above which a client is disconnected after `soft_time` without a
    /// pause; 0 for never.
    pub soft_bytes: usize,
    /// See `soft_bytes`. Must be whole seconds.
    pub soft_time: Duration,
}

/// The options of a server. `ServerOptions::default()` suits most users.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The TCP address; 127.0.0.1:6380 by default. Port 0 selects a free port. An address that
    /// other machines can reach requires a password.
    pub listen: SocketAddr,
    /// An additional Unix socket; none by default.
    pub unix_socket: Option<UnixSocket>,
    /// An additional port for TLS; none by default. An address that other machines can reach
    /// requires a password or client certificates.
    pub tls: Option<Tls>,
    /// The password that clients give with AUTH or HELLO; none by default.
    pub password: Option<Vec<u8>>,
    /// A file with the users, in Redis's format; none by default. The file must exist and may be
    /// empty. If it defines the default user, `password` is ignored.
    pub acl_file: Option<PathBuf>,
    /// The channels of new users, also of those in `acl_file`, until a rule names others; none by
    /// default.
    pub default_channels: DefaultChannels,
    /// The most entries of ACL LOG; 128 by default, at most 65,536. The oldest entry is removed
    /// first.
    pub acl_log_max: usize,
    /// Worker threads, each with its own event loop and log; one per core by default.
    pub workers: usize,
    /// The most connections at a time; 10,000 by default. Further connections receive an error and
    /// are closed.
    pub clients_max: usize,
    /// The number of databases that clients can select; 16 by default, at most 1,024. With a larger
    /// number before, those above it keep their keys.
    pub databases: u32,
    /// The most bytes of one request on the wire; 1 GiB by default, at most 2 GiB. If a request is
    /// longer, its client is disconnected with an error.
    pub request_bytes_max: usize,
    /// The most bytes of one argument, hence of a key or a value as far as the server is concerned
    /// (the store has its own limits); 512 MiB by default.
    pub arg_bytes_max: usize,
    /// The most arguments of one request; 1,048,576 by default.
    pub args_max: usize,
    /// The most requests of one connection that are parsed ahead and run as one batch; 1,024 by
    /// default. A client may send more: they wait in the socket.
    pub pipeline_max: usize,
    /// Bytes of replies that may wait for a client; 1 MiB by default. Above this limit, no more of
    /// its requests are read or run until it has read replies. A single reply may be longer; see
    /// `reply_bytes_max`.
    pub output_bytes_max: usize,
    /// The most bytes of one reply that contains many keys (`MGET`, `SK.RANGE`, ...); 1 GiB by
    /// default. A longer reply is replaced by an error.
    pub reply_bytes_max: usize,
    /// The most positions of SCAN that are kept, for all clients together; 16,384 by default. The
    /// oldest position is removed first.
    pub scan_cursors_max: usize,
    /// The most memory of the Lua state of each worker, hence of one script; 64 MiB by default, at
    /// least 1 MiB. A script that needs more ends with an error.
    pub script_memory_max: usize,
    /// How long a script may run; for ever by default, which is 0. No other request runs meanwhile.
    /// A script that takes longer ends with an error, and what it has written stays.
    pub script_time_max: Duration,
    /// How long a script may run before other clients receive BUSY, and may stop it; 5 s by default.
    /// Whole milliseconds count; 0 means never.
    pub busy_reply_threshold: Duration,
    /// The address where Prometheus reads metrics by HTTP, at `/metrics`; none by default. Anybody
    /// who can reach it can read the metrics without a password. Port 0 selects a free port.
    pub metrics: Option<SocketAddr>,
    /// Requests that run at least this long are added to the slow log; 10 ms by default. Whole
    /// microseconds count; 0 means every request, [`Duration::MAX`] means none.
    pub slowlog_slower_than: Duration,
    /// The most requests in the slow log; 128 by default, at most 100,000, of up to 5 KiB each. The
    /// oldest request is removed first.
    pub slowlog_len: usize,
    /// Operations that keep clients waiting at least this long are events for LATENCY; 0, the
    /// default, means never. Whole milliseconds count.
    pub latency_threshold: Duration,
    /// Whether histograms record the time of commands; true by default.
    pub latency_tracking: bool,
    /// Receives the level of CONFIG SET loglevel; none by default, and then the command is an
    /// error.
    pub log: Option<Arc<dyn LogControl>>,
    /// The folder of the data, which `CONFIG GET dir` shows.
    pub data_folder: Option<PathBuf>,
    /// Receives the options of CONFIG REWRITE; none by default, and then the command is an error.
    pub options_file: Option<Arc<dyn OptionsFile>>,
    /// How long a client may be idle before it is disconnected; whole seconds, at most 2^31 - 1. 0,
    /// the default, means for ever.
    pub idle_timeout: Duration,
    /// How long the TLS handshake of a client may take before the client is disconnected; whole
    /// seconds, at most 2^31 - 1; 10 by default, 0 means for ever.
    pub tls_handshake_timeout: Duration,
    /// How long a TCP connection is silent before the system probes its client; whole seconds, at
    /// most 2^31 - 1; 300 by default, 0 means never. A client that does not answer is disconnected
    /// after about twice this time.
    pub keepalive: Duration,
    /// When a client that does not read its replies is disconnected; never by default. (Its
    /// requests are no longer run in any case; see `output_bytes_max`.)
    pub output_limit: OutputLimit,
    /// The same for clients with subscriptions, to which messages are sent whether they read or
    /// not. By default the limits are 32 MiB, and 8 MiB for 60 s, as in Redis.
    pub subscriber_limit: OutputLimit,
    /// The memory that all clients may take together; no limit by default. Above it, the largest ones
    /// are disconnected.
    pub client_memory_max: ClientMemoryLimit,
    /// The classes of keyspace notifications, in Redis's letters; none by default.
    pub keyspace_events: String,
    /// The most keys that are remembered for CLIENT TRACKING, for all clients together; 1,000,000
    /// by default, 0 for any number. Beyond it, clients are told that a key has changed although
    /// it has not.
    pub tracking_keys_max: usize,
    /// Whether clients may use DEBUG, which can make workers wait; false by default.
    pub debug_command: bool,
    /// How long a stop waits for clients to read their replies; 5 s by default, at most a day.
    pub stop_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 6380)),
            unix_socket: None,
            tls: None,
            password: None,
            acl_file: None,
            default_channels: DefaultChannels::None,
            acl_log_max: 128,
            workers: threads::cores(),
            clients_max: 10_000,
            databases: 16,
            request_bytes_max: 1 << 30,
            arg_bytes_max: 512 << 20,
            args_max: 1 << 20,
            pipeline_max: 1 << 10,
            output_bytes_max: 1 << 20,
            reply_bytes_max: 1 << 30,
            scan_cursors_max: 1 << 14,
            metrics: None,
            script_memory_max: 64 << 20,
            script_time_max: Duration::ZERO,
            busy_reply_threshold: Duration::from_secs(5),
            slowlog_slower_than: Duration::from_millis(10),
            slowlog_len: 128,
            latency_threshold: Duration::ZERO,
            latency_tracking: true,
            log: None,
            data_folder: None,
            options_file: None,
            idle_timeout: Duration::ZERO,
            tls_handshake_timeout: Duration::from_secs(10),
            keepalive: Duration::from_secs(300),
            output_limit: OutputLimit::default(),
            subscriber_limit: OutputLimit {
                hard_bytes: 32 << 20,
                soft_bytes: 8 << 20,
                soft_time: Duration::from_secs(60),
            },
            client_memory_max: ClientMemoryLimit::default(),
            keyspace_events: String::new(),
            tracking_keys_max: 1_000_000,
            debug_command: false,
            stop_timeout: Duration::from_secs(5),
        }
    }
}

impl ServerOptions {
    /// Returns an address that other machines can reach and that requires no client certificate.
    /// With such an address the default user must have a password.
    pub(crate) fn first_public_address(&self) -> Option<SocketAddr> {
        let tls = self.tls.as_ref().filter(|tls| tls.clients != TlsClients::Required);
        let listens = [Some(self.listen), tls.map(|tls| tls.listen)];
        listens.into_iter().flatten().find(|listen| !listen.ip().is_loopback())
    }

    /// Returns whether a client may use the default user without logging in, if that user has no
    /// password: the client must be on this machine or have a certificate. A server starts with a
    /// public address only if there is a password; this also protects it if the password is removed
    /// later.
    pub(crate) fn trusts(&self, stream: &Transport) -> bool {
        let certified = matches!(stream, Transport::Tls(_))
            && self.tls.as_ref().is_some_and(|tls| tls.clients == TlsClients::Required);
        self.first_public_address().is_none() || certified || stream.is_local()
    }

    /// Checks the options. [`Server::start`](crate::Server::start) calls this first.
    ///
    /// # Errors
    /// If an option is out of range, a public address has no password, or a TLS file cannot be
    /// used.
    pub fn check(&self) -> Result<(), StartError> {
        let has_secret = self.password.is_some() || self.acl_file.is_some();
        if let Some(listen) = self.first_public_address().filter(|_| !has_secret) {
            return Err(StartError::NoPassword { listen });
        }
        if let Some(tls) = &self.tls {
            tls.config()?;
        }
        if self.password.as_ref().is_some_and(Vec::is_empty) {
            return Err(bad("password", "is empty", "set a password, or leave the option out"));
        }
        self.unix_socket.as_ref().map_or(Ok(()), check_socket)?;
        let arg_bytes = (bounds::REQUEST_BYTES.0, self.request_bytes_max);
        for (name, value, (min, max)) in [
            ("workers", self.workers, (1, threads::MOST)),
            ("acl_log_max", self.acl_log_max, bounds::ACL_LOG),
            ("clients_max", self.clients_max, bounds::CLIENTS),
            ("databases", self.databases as usize, (1, DATABASES_MAX as usize)),
            ("request_bytes_max", self.request_bytes_max, bounds::REQUEST_BYTES),
            ("arg_bytes_max", self.arg_bytes_max, arg_bytes),
            ("args_max", self.args_max, bounds::ARGS),
            ("pipeline_max", self.pipeline_max, bounds::PIPELINE),
            ("output_bytes_max", self.output_bytes_max, bounds::OUTPUT_BYTES),
            ("reply_bytes_max", self.reply_bytes_max, bounds::REPLY_BYTES),
            ("scan_cursors_max", self.scan_cursors_max, bounds::SCAN_CURSORS),
            ("script_memory_max", self.script_memory_max, bounds::SCRIPT_MEMORY),
            ("slowlog_len", self.slowlog_len, bounds::SLOWLOG_LEN),
            ("tracking_keys_max", self.tracking_keys_max, bounds::TRACKING_KEYS),
        ] {
            if value < min || value > max {
                return Err(bad(name, &format!("is {value}"), &format!("choose {min} to {max}")));
            }
        }
        if EventClasses::parse(self.keyspace_events.as_bytes()).is_none() {
            let is = format!("is {:?}", self.keyspace_events);
            return Err(bad("keyspace_events", &is, "choose letters of KEg$lshzxetdmnA"));
        }
        let most = Duration::from_secs(SECONDS.1 as u64);
        for (name, time, most) in [
            ("stop_timeout", self.stop_timeout, STOP_TIMEOUT_MAX),
            ("idle_timeout", self.idle_timeout, most),
            ("tls_handshake_timeout", self.tls_handshake_timeout, most),
            ("keepalive", self.keepalive, most),
            ("output_limit.soft_time", self.output_limit.soft_time, most),
            ("subscriber_limit.soft_time", self.subscriber_limit.soft_time, most),
            ("script_time_max", self.script_time_max, most),
            ("busy_reply_threshold", self.busy_reply_threshold, most),
        ] {
            if time > most {
                let (is, most) = (time.as_secs(), most.as_secs());
                return Err(bad(name, &format!("is {is} s"), &format!("choose up to {most} s")));
            }
        }
        // A time below one second would become 0 seconds, which means for ever.
        for (name, time) in [
            ("idle_timeout", self.idle_timeout),
            ("tls_handshake_timeout", self.tls_handshake_timeout),
            ("keepalive", self.keepalive),
        ] {
            if time.subsec_nanos() > 0 {
                return Err(bad(name, &format!("is {time:?}"), "choose whole seconds"));
            }
        }
        Ok(())
    }
}

fn check_socket(socket: &UnixSocket) -> Result<(), StartError> {
    let (len, mode) = (socket.path.as_os_str().len(), socket.mode);
    if !(1..=PATH_BYTES_MAX).contains(&len) {
        let way_out = format!("choose a path of 1 to {PATH_BYTES_MAX} bytes");
        return Err(bad("unix_socket.path", &format!("has {len} bytes"), &way_out));
    }
    if mode > MODE_MAX {
        return Err(bad("unix_socket.mode", &format!("is {mode:o}"), &format!("choose 0 to {MODE_MAX:o}")));
    }
    Ok(())
}

fn bad(name: &'static str, what: &str, way_out: &str) -> StartError {
    StartError::BadOption { name, why: format!("{what}; {way_out}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_address_requires_a_password() {
        for (listen, password, fine) in [
            ("127.0.0.1:0", None, true),
            ("[::1]:0", None, true),
            ("0.0.0.0:0", None, false),
            ("192.168.0.1:6380", None, false),
            ("[::]:0", None, false),
            ("0.0.0.0:0", Some("secret"), true),
            ("127.0.0.1:0", Some(""), false),
        ] {
            let options = ServerOptions {
                listen: listen.parse().expect("an address"),
                password: password.map(|password| password.as_bytes().to_vec()),
                ..ServerOptions::default()
            };
            assert_eq!(options.check().is_ok(), fine, "{listen} {password:?}");
        }
    }

    #[test]
    fn message_names_option_value_and_valid_range() {
        let wrong = |change: fn(&mut ServerOptions)| {
            let mut options = ServerOptions::default();
            change(&mut options);
            options.check().expect_err("an option out of range").to_string()
        };
        for (change, message) in [
            ((|options| options.workers = 0) as fn(&mut ServerOptions), "workers is 0; choose 1 to 1024"),
            (|options| options.workers = 1025, "workers is 1025; choose 1 to 1024"),
            (|options| options.clients_max = 0, "clients_max is 0; choose 1 to 1048576"),
            (|options| options.databases = 1025, "databases is 1025; choose 1 to 1024"),
            (|options| options.request_bytes_max = 5, "request_bytes_max is 5; choose 1024 to 2147483648"),
            (|options| options.arg_bytes_max = 5, "arg_bytes_max is 5; choose 1024 to 1073741824"),
            (
                |options| options.request_bytes_max = options.arg_bytes_max - 1,
                "arg_bytes_max is 536870912; choose 1024 to 536870911",
            ),
            (|options| options.args_max = 15, "args_max is 15; choose 16 to 16777216"),
            (|options| options.pipeline_max = 0, "pipeline_max is 0; choose 1 to 1048576"),
            (|options| options.output_bytes_max = 1, "output_bytes_max is 1; choose 1024 to 1099511627776"),
            (|options| options.reply_bytes_max = 1, "reply_bytes_max is 1; choose 1024 to 1099511627776"),
            (|options| options.scan_cursors_max = 0, "scan_cursors_max is 0; choose 16 to 16777216"),
            // Incident: a time of centuries was accepted, and the workers panicked when they added
            // it to the current time at a stop.
            (
                |options| options.stop_timeout = Duration::MAX,
                "stop_timeout is 18446744073709551615 s; choose up to 86400 s",
            ),
            (
                |options| options.idle_timeout = Duration::from_secs(1 << 31),
                "idle_timeout is 2147483648 s; choose up to 2147483647 s",
            ),
            (
                |options| options.unix_socket = Some(UnixSocket { path: "".into(), mode: 0o700 }),
                "unix_socket.path has 0 bytes; choose a path of 1 to 107 bytes",
            ),
            (
                |options| options.unix_socket = Some(UnixSocket { path: "a".into(), mode: 0o1777 }),
                "unix_socket.mode is 1777; choose 0 to 777",
            ),
            (
                |options| options.idle_timeout = Duration::from_millis(100),
                "idle_timeout is 100ms; choose whole seconds",
            ),
            (
                |options| options.tls_handshake_timeout = Duration::from_millis(1500),
                "tls_handshake_timeout is 1.5s; choose whole seconds",
            ),
            (
                |options| options.keepalive = Duration::MAX,
                "keepalive is 18446744073709551615 s; choose up to 2147483647 s",
            ),
        ] {
            assert_eq!(wrong(change), format!("option {message}"));
        }
    }
}
