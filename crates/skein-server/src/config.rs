//! Options of a server: where it listens, and a bound on everything that a client can make grow.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skein_sync::threads;
use tracing::level_filters::LevelFilter;

use crate::transport::Transport;
use crate::unix_socket::{MODE_MAX, PATH_BYTES_MAX};
use crate::{StartError, Tls, TlsClients, UnixSocket};

/// The clock cannot be asked for just any time to come, and nobody waits longer than that.
const STOP_TIMEOUT_MAX: Duration = Duration::from_hours(24);

/// Sets how much the program logs, for CONFIG SET loglevel.
pub trait LogControl: std::fmt::Debug + Send + Sync {
    /// Logs events of this level and those that are graver, from now on.
    fn set_level(&self, level: LevelFilter);
}

/// The file with options that the program was started with, for CONFIG REWRITE.
pub trait OptionsFile: std::fmt::Debug + Send + Sync {
    /// Has these options in the file, and leaves the rest of it as it is. Waits for the disk. Names and values are those of `skein serve`.
    ///
    /// # Errors
    /// Why it cannot, for the client; the file is then as it was.
    fn rewrite(&self, options: &[(&'static str, OptionValue)]) -> Result<(), String>;
}

/// What an option of an [`OptionsFile`] is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A text, or something with a unit.
    Text(String),
    /// A plain number.
    Number(u64),
    /// Whether it is given at all.
    Switch(bool),
}

/// The least and the greatest of times that are set in seconds, Redis's.
pub(crate) const SECONDS: (usize, usize) = (0, i32::MAX as usize);

/// Bounds of options, which CONFIG SET has, too: the least and the greatest value.
pub(crate) mod bounds {
    pub(crate) const ACL_LOG: (usize, usize) = (0, 1 << 16);
    pub(crate) const CLIENTS: (usize, usize) = (1, 1 << 20);
    pub(crate) const REQUEST_BYTES: (usize, usize) = (1 << 10, 2 << 30);
    pub(crate) const ARGS: (usize, usize) = (16, 1 << 24);
    pub(crate) const PIPELINE: (usize, usize) = (1, 1 << 20);
    pub(crate) const OUTPUT_BYTES: (usize, usize) = (1 << 10, 1 << 40);
    pub(crate) const REPLY_BYTES: (usize, usize) = (1 << 10, 1 << 40);
    pub(crate) const SCAN_CURSORS: (usize, usize) = (16, 1 << 24);
    pub(crate) const SLOWLOG_LEN: (usize, usize) = (0, 100_000);
}

/// When a client that does not take its replies is disconnected: Redis's `client-output-buffer-limit` of normal clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputLimit {
    /// Bytes of waiting replies above which it is, at once; 0 for never.
    pub hard_bytes: usize,
    /// Bytes of waiting replies above which it is, after `soft_time` without a pause; 0 for never.
    pub soft_bytes: usize,
    /// See `soft_bytes`; whole seconds.
    pub soft_time: Duration,
}

/// How a server runs; `ServerOptions::default()` serves most users.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where it listens; 127.0.0.1:6380 by default. Port 0 takes a free one. An address that is not of this
    /// machine alone needs a password.
    pub listen: SocketAddr,
    /// A Unix socket to listen on as well; none by default.
    pub unix_socket: Option<UnixSocket>,
    /// A port that speaks TLS to listen on as well; none by default. An address that is not of this machine alone needs a password, or certificates of clients.
    pub tls: Option<Tls>,
    /// The password that clients give with AUTH or HELLO; none by default.
    pub password: Option<Vec<u8>>,
    /// A file with the users, in Redis's format; none by default. It has to be there, and may be empty. What it says of the
    /// default user goes before `password`.
    pub acl_file: Option<PathBuf>,
    /// Entries of ACL LOG; 128 by default, at most 65,536. The oldest goes first.
    pub acl_log_max: usize,
    /// Worker threads, each with an event loop and a log of its own; by default one per core.
    pub workers: usize,
    /// Connections at a time; 10,000 by default. One more is told so and closed.
    pub clients_max: usize,
    /// Bytes of one request on the wire; 1 GiB by default, at most 2 GiB. A longer one is refused and its client disconnected.
    pub request_bytes_max: usize,
    /// Bytes of one argument, hence of a key or a value as far as the server is concerned (the store has its own
    /// limits on them); 512 MiB by default.
    pub arg_bytes_max: usize,
    /// Arguments of one request; 1,048,576 by default.
    pub args_max: usize,
    /// Requests of one connection that are parsed ahead and run as one batch; 1,024 by default. More may be
    /// sent: they wait in the socket.
    pub pipeline_max: usize,
    /// Bytes of replies that wait for a client; 1 MiB by default. Above, nothing more of it is read or run
    /// until it has taken them. One reply may be longer than this: see `reply_bytes_max`.
    pub output_bytes_max: usize,
    /// Bytes of one reply that holds many keys (`MGET`, `SK.RANGE`, ...); 1 GiB by default. A longer one becomes an error.
    pub reply_bytes_max: usize,
    /// Positions of SCAN that are kept for all clients together; 16,384 by default. The oldest goes first.
    pub scan_cursors_max: usize,
    /// Where it answers Prometheus by HTTP, at `/metrics`; nowhere by default. Whoever reaches the address can read the numbers, without a
    /// password. Port 0 takes a free one.
    pub metrics: Option<SocketAddr>,
    /// A request that runs so long goes into the slow log; 10 ms by default. Whole microseconds count; 0 for every request, [`Duration::MAX`] for none.
    pub slowlog_slower_than: Duration,
    /// Requests in the slow log, at most; 128 by default, up to 100,000, of up to 5 KiB each. The oldest goes first.
    pub slowlog_len: usize,
    /// What keeps clients waiting so long is an event, for LATENCY; 0, the default, for never. Whole milliseconds count.
    pub latency_threshold: Duration,
    /// Whether there are histograms of how long commands take; true by default.
    pub latency_tracking: bool,
    /// What CONFIG SET loglevel changes; nothing by default, and then it is an error.
    pub log: Option<Arc<dyn LogControl>>,
    /// What CONFIG REWRITE writes; nothing by default, and then it is an error.
    pub options_file: Option<Arc<dyn OptionsFile>>,
    /// How long a client may say nothing and take nothing before it is disconnected; whole seconds, at most 2^31 - 1 of them. 0, the
    /// default, is for ever.
    pub idle_timeout: Duration,
    /// How long a client of TLS may take to agree with us on who we are, before it is disconnected; whole seconds, at most 2^31 - 1 of them; 10
    /// by default, 0 for ever.
    pub tls_handshake_timeout: Duration,
    /// How long a TCP connection is silent before the system asks whether its client is still there; whole seconds, at most 2^31 - 1 of
    /// them; 300 by default, 0 for never. A client that does not answer is disconnected after about twice as long.
    pub keepalive: Duration,
    /// When a client that does not take its replies is disconnected; never by default, it is only not served any more (see
    /// `output_bytes_max`).
    pub output_limit: OutputLimit,
    /// Whether clients may use DEBUG, which can make workers wait; false by default.
    pub debug_command: bool,
    /// How long a stop waits for clients to take their replies; 5 s by default, at most a day.
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
            acl_log_max: 128,
            workers: threads::cores(),
            clients_max: 10_000,
            request_bytes_max: 1 << 30,
            arg_bytes_max: 512 << 20,
            args_max: 1 << 20,
            pipeline_max: 1 << 10,
            output_bytes_max: 1 << 20,
            reply_bytes_max: 1 << 30,
            scan_cursors_max: 1 << 14,
            metrics: None,
            slowlog_slower_than: Duration::from_millis(10),
            slowlog_len: 128,
            latency_threshold: Duration::ZERO,
            latency_tracking: true,
            log: None,
            options_file: None,
            idle_timeout: Duration::ZERO,
            tls_handshake_timeout: Duration::from_secs(10),
            keepalive: Duration::from_mins(5),
            output_limit: OutputLimit::default(),
            debug_command: false,
            stop_timeout: Duration::from_secs(5),
        }
    }
}

impl ServerOptions {
    /// An address that others than this machine reach, and that asks for no certificate: there the default user must have a password.
    pub(crate) fn first_public_address(&self) -> Option<SocketAddr> {
        let tls = self.tls.as_ref().filter(|tls| tls.clients != TlsClients::Required);
        let listens = [Some(self.listen), tls.map(|tls| tls.listen)];
        listens.into_iter().flatten().find(|listen| !listen.ip().is_loopback())
    }

    /// Whether a client may be of the default user without a password, if that needs none: one of
    /// this machine, or with a certificate. At an address that others reach the server starts with
    /// a password alone; this holds when it is taken away later.
    pub(crate) fn trusts(&self, stream: &Transport) -> bool {
        let certified = matches!(stream, Transport::Tls(_))
            && self.tls.as_ref().is_some_and(|tls| tls.clients == TlsClients::Required);
        self.first_public_address().is_none() || certified || stream.is_local()
    }

    /// Says what cannot work; [`Server::start`](crate::Server::start) asks before it begins.
    ///
    /// # Errors
    /// An option out of range, an address for all to reach without a password, files of TLS that cannot be used.
    pub fn check(&self) -> Result<(), StartError> {
        let has_secret = self.password.is_some() || self.acl_file.is_some();
        if let Some(listen) = self.first_public_address().filter(|_| !has_secret) {
            return Err(StartError::NoPassword { listen });
        }
        if let Some(tls) = &self.tls {
            tls.config()?;
        }
        if self.password.as_ref().is_some_and(Vec::is_empty) {
            return Err(bad("password", "is empty", "give one, or none at all"));
        }
        self.unix_socket.as_ref().map_or(Ok(()), check_socket)?;
        let arg_bytes = (bounds::REQUEST_BYTES.0, self.request_bytes_max);
        for (name, value, (min, max)) in [
            ("workers", self.workers, (1, threads::MOST)),
            ("acl_log_max", self.acl_log_max, bounds::ACL_LOG),
            ("clients_max", self.clients_max, bounds::CLIENTS),
            ("request_bytes_max", self.request_bytes_max, bounds::REQUEST_BYTES),
            ("arg_bytes_max", self.arg_bytes_max, arg_bytes),
            ("args_max", self.args_max, bounds::ARGS),
            ("pipeline_max", self.pipeline_max, bounds::PIPELINE),
            ("output_bytes_max", self.output_bytes_max, bounds::OUTPUT_BYTES),
            ("reply_bytes_max", self.reply_bytes_max, bounds::REPLY_BYTES),
            ("scan_cursors_max", self.scan_cursors_max, bounds::SCAN_CURSORS),
            ("slowlog_len", self.slowlog_len, bounds::SLOWLOG_LEN),
        ] {
            if value < min || value > max {
                return Err(bad(name, &format!("is {value}"), &format!("choose {min} to {max}")));
            }
        }
        let most = Duration::from_secs(SECONDS.1 as u64);
        for (name, time, most) in [
            ("stop_timeout", self.stop_timeout, STOP_TIMEOUT_MAX),
            ("idle_timeout", self.idle_timeout, most),
            ("tls_handshake_timeout", self.tls_handshake_timeout, most),
            ("keepalive", self.keepalive, most),
            ("output_limit.soft_time", self.output_limit.soft_time, most),
        ] {
            if time > most {
                let (is, most) = (time.as_secs(), most.as_secs());
                return Err(bad(name, &format!("is {is} s"), &format!("choose up to {most} s")));
            }
        }
        // Less than a second would be 0 seconds, which is for ever.
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
        let way_out = format!("choose a path of 1 to {PATH_BYTES_MAX}");
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
    fn an_open_address_needs_a_password() {
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
    fn the_message_names_the_option_the_value_and_the_way_out() {
        let wrong = |change: fn(&mut ServerOptions)| {
            let mut options = ServerOptions::default();
            change(&mut options);
            options.check().expect_err("an option out of range").to_string()
        };
        for (change, message) in [
            ((|options| options.workers = 0) as fn(&mut ServerOptions), "workers is 0; choose 1 to 1024"),
            (|options| options.workers = 1025, "workers is 1025; choose 1 to 1024"),
            (|options| options.clients_max = 0, "clients_max is 0; choose 1 to 1048576"),
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
            // It was taken, and the workers that added it to the present time at a stop panicked.
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
                "unix_socket.path has 0 bytes; choose a path of 1 to 107",
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
