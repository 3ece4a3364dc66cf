//! Options of a server: where it listens, and a bound on everything that a client can make grow.

use std::net::SocketAddr;
use std::time::Duration;

use skein_sync::threads;

use crate::StartError;

/// The clock cannot be asked for just any time to come, and nobody waits longer than that.
const STOP_TIMEOUT_MAX: Duration = Duration::from_hours(24);

/// How a server runs; `ServerOptions::default()` serves most users.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where it listens; 127.0.0.1:6380 by default. Port 0 takes a free one. An address that is not of this
    /// machine alone needs a password.
    pub listen: SocketAddr,
    /// The password that clients give with AUTH or HELLO; none by default.
    pub password: Option<Vec<u8>>,
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
    /// How long a stop waits for clients to take their replies; 5 s by default, at most a day.
    pub stop_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 6380)),
            password: None,
            workers: threads::cores(),
            clients_max: 10_000,
            request_bytes_max: 1 << 30,
            arg_bytes_max: 512 << 20,
            args_max: 1 << 20,
            pipeline_max: 1 << 10,
            output_bytes_max: 1 << 20,
            reply_bytes_max: 1 << 30,
            scan_cursors_max: 1 << 14,
            stop_timeout: Duration::from_secs(5),
        }
    }
}

impl ServerOptions {
    /// Says what cannot work; [`Server::start`](crate::Server::start) asks before it begins.
    ///
    /// # Errors
    /// An option out of range, or an address for all to reach without a password.
    pub fn check(&self) -> Result<(), StartError> {
        if !self.listen.ip().is_loopback() && self.password.is_none() {
            return Err(StartError::NoPassword { listen: self.listen });
        }
        if self.password.as_ref().is_some_and(Vec::is_empty) {
            return Err(bad("password", "is empty", "give one, or none at all"));
        }
        for (name, value, min, max) in [
            ("workers", self.workers, 1, threads::MOST),
            ("clients_max", self.clients_max, 1, 1 << 20),
            ("request_bytes_max", self.request_bytes_max, 1 << 10, 2 << 30),
            ("arg_bytes_max", self.arg_bytes_max, 1 << 10, self.request_bytes_max),
            ("args_max", self.args_max, 16, 1 << 24),
            ("pipeline_max", self.pipeline_max, 1, 1 << 20),
            ("output_bytes_max", self.output_bytes_max, 1 << 10, 1 << 40),
            ("reply_bytes_max", self.reply_bytes_max, 1 << 10, 1 << 40),
            ("scan_cursors_max", self.scan_cursors_max, 16, 1 << 24),
        ] {
            if value < min || value > max {
                return Err(bad(name, &format!("is {value}"), &format!("choose {min} to {max}")));
            }
        }
        if self.stop_timeout > STOP_TIMEOUT_MAX {
            let (is, most) = (self.stop_timeout.as_secs(), STOP_TIMEOUT_MAX.as_secs());
            return Err(bad("stop_timeout", &format!("is {is} s"), &format!("choose up to {most} s")));
        }
        Ok(())
    }
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
        ] {
            assert_eq!(wrong(change), format!("option {message}"));
        }
    }
}
