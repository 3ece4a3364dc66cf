//! Addresses to listen on: HOST:PORT, or a host alone if the option has a default port.
//!
//! A text that can never be an address is a usage error (exit code 2). A name that does not resolve
//! now may resolve later. So that is a failure (exit code 1), after which a service manager tries
//! again.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

use crate::exit::Failure;
use crate::target::{DEFAULT_ADDRESS, DEFAULT_PORT};

/// An option with an address to listen on.
#[derive(Debug, Clone, Copy)]
pub struct ListenOption {
    /// The option's name.
    pub flag: &'static str,
    /// The default port, for an address without one.
    pub port: Option<u16>,
}

/// `--listen`.
pub const LISTEN: ListenOption = ListenOption { flag: "--listen", port: Some(DEFAULT_PORT) };
/// `--tls-listen`.
pub const TLS_LISTEN: ListenOption = ListenOption { flag: "--tls-listen", port: None };
/// `--metrics`.
pub const METRICS: ListenOption = ListenOption { flag: "--metrics", port: None };

impl ListenOption {
    /// Resolves an address. If a name has several addresses, returns the first IPv4 address, or
    /// else the first.
    pub fn resolve(self, text: &str) -> Result<SocketAddr, Failure> {
        let (host, port) = self.split(text).map_err(|why| self.wrong(text, &why))?;
        if let Some(ip) = ip(host) {
            return Ok((ip, port).into());
        }
        check_name(host).map_err(|why| self.wrong(text, &why))?;
        let failed = |why: &str| Failure::new(format!("{} {text}: cannot resolve {host}: {why}", self.flag));
        let found: Vec<SocketAddr> =
            (host, port).to_socket_addrs().map_err(|error| failed(&error.to_string()))?.collect();
        let chosen = found.iter().find(|address| address.is_ipv4()).or(found.first());
        chosen.copied().ok_or_else(|| failed("the name has no address"))
    }

    /// Splits an address into its host, without brackets, and its port.
    fn split(self, text: &str) -> Result<(&str, u16), String> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => {
                (host, Some(rest.strip_prefix(':').ok_or("a colon and the port follow the bracket")?))
            }
            // More than one colon and no brackets: an IPv6 address without a port.
            None if text.matches(':').count() > 1 => (text, None),
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        if host.is_empty() {
            return Err("it names no host".to_owned());
        }
        let port = match port {
            Some(port) => {
                port.parse().map_err(|_| format!("the port {port:?} is not a number up to 65535"))?
            }
            None if host.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(format!(
                    "it names no host; to listen on this machine alone write 127.0.0.1:{host}"
                ));
            }
            None => self.port.ok_or_else(|| "it names no port".to_owned())?,
        };
        Ok((host, port))
    }

    fn wrong(self, text: &str, why: &str) -> Failure {
        Failure::usage(format!("{} {text:?}: {why}; write HOST:PORT, as in {DEFAULT_ADDRESS}", self.flag))
    }
}

/// The address of `--port`: this machine alone.
pub fn on_this_machine(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn ip(host: &str) -> Option<IpAddr> {
    host.parse().ok()
}

/// Rejects text that no resolver accepts as a host name.
fn check_name(host: &str) -> Result<(), String> {
    let of_a_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_');
    if host.chars().all(|letter| letter.is_ascii_digit() || letter == '.') {
        return Err(format!("{host} is not an address: IPv4 has four numbers up to 255"));
    }
    if host.contains(':') {
        // A zone, as in fe80::1%eth0, is left to the resolver.
        return if host.contains('%') { Ok(()) } else { Err(format!("{host} is not an IPv6 address")) };
    }
    if host.chars().all(of_a_name) { Ok(()) } else { Err(format!("{host:?} is not a host name")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn resolved(listening: ListenOption, text: &str) -> String {
        listening.resolve(text).unwrap_or_else(|failure| panic!("{text}: {failure:?}")).to_string()
    }

    /// Incident: `--listen localhost` was rejected, though every other server accepts it.
    /// Consequence: a newcomer's first attempt failed. Fix: names are resolved, and an address
    /// without a port gets the default one.
    #[test]
    fn names_and_addresses_resolve() {
        for (text, address) in [
            ("localhost", "127.0.0.1:6380"),
            ("localhost:7223", "127.0.0.1:7223"),
            ("127.0.0.1", "127.0.0.1:6380"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("0.0.0.0:7223", "0.0.0.0:7223"),
            ("::1", "[::1]:6380"),
            ("[::1]", "[::1]:6380"),
            ("[::1]:7223", "[::1]:7223"),
            ("[::]:7223", "[::]:7223"),
        ] {
            assert_eq!(resolved(LISTEN, text), address, "{text}");
        }
        assert_eq!(resolved(METRICS, "localhost:9121"), "127.0.0.1:9121");
    }

    /// Incident: these texts ended with exit code 1. Consequence: the unit file, which does not
    /// restart after code 2, started the server again and again. Fix: a text that can never be an
    /// address is a usage error.
    #[test]
    fn text_that_is_no_address_is_a_usage_error() {
        for (text, words) in [
            ("7223", "write 127.0.0.1:7223"),
            ("256.0.0.1:7223", "four numbers up to 255"),
            ("1.2.3:7223", "four numbers up to 255"),
            ("127.0.0.1:99999", "\"99999\" is not a number up to 65535"),
            ("localhost:", "\"\" is not a number up to 65535"),
            ("localhost:http", "\"http\" is not a number"),
            (":7223", "it names no host"),
            ("", "it names no host"),
            ("[]:7223", "it names no host"),
            ("[::1]7223", "write HOST:PORT"),
            ("::zz", "not an IPv6 address"),
            ("[::1", "not an IPv6 address"),
            ("http://localhost", "write HOST:PORT"),
            ("two words:7223", "not a host name"),
        ] {
            let failure = LISTEN.resolve(text).expect_err(text);
            assert_eq!(failure.exit, Exit::Usage, "{text}: {}", failure.message);
            assert!(
                failure.message.starts_with("--listen ") && failure.message.contains(words),
                "{failure:?}"
            );
        }
        for (listening, flag) in [(TLS_LISTEN, "--tls-listen"), (METRICS, "--metrics")] {
            let failure = listening.resolve("localhost").expect_err("it has no port");
            assert_eq!(failure.exit, Exit::Usage);
            assert!(
                failure.message.contains(flag) && failure.message.contains("names no port"),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn a_name_that_is_not_known_may_be_later() {
        let failure = LISTEN.resolve("no.such.host.invalid:1").expect_err("the name is reserved");
        assert_eq!(failure.exit, Exit::Failed, "{}", failure.message);
        assert!(failure.message.contains("cannot resolve no.such.host.invalid"), "{failure:?}");
    }
}
