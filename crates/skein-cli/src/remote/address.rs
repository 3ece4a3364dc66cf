//! A server's address: `HOST:PORT`, optionally with `USER@` in front; `redis://` and `rediss://` as
//! `redis-cli -u` accepts them, with the number of a database at the end; and `unix:PATH`.

use std::net::ToSocketAddrs;

/// A parsed address.
#[derive(Debug, PartialEq, Eq)]
pub struct ServerAddress<'a> {
    pub place: ServerEndpoint<'a>,
    /// Whether the scheme requires TLS.
    pub tls: bool,
    pub user: Option<&'a str>,
    /// The number of the database, if the address has one.
    pub database: Option<u32>,
}

/// The endpoint to connect to.
#[derive(Debug, PartialEq, Eq)]
pub enum ServerEndpoint<'a> {
    /// Host and port.
    Tcp(&'a str),
    /// The path of a Unix socket.
    Unix(&'a str),
}

/// The accepted forms, for error messages.
const FORMS: &str =
    "write [USER@]HOST:PORT, redis://[USER@]HOST:PORT[/DATABASE], rediss:// for TLS, or unix:PATH";

/// The message for a host without a port.
const NO_PORT: &str = "the server's address names no port; SkeinDB's is 6380 and Redis's 6379, unless they were told another: write HOST:PORT";

impl ServerAddress<'_> {
    /// Returns whether the address has the name of a host that no resolver knows. Asks again: the
    /// error of a connection does not tell.
    pub fn is_unknown_name(&self) -> bool {
        match self.place {
            ServerEndpoint::Tcp(place) => place.to_socket_addrs().is_err(),
            ServerEndpoint::Unix(_) => false,
        }
    }
}

impl<'a> ServerAddress<'a> {
    /// Parses an address. An error does not repeat the address: it may contain a password.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() {
                Err(format!("the server's address names no socket; {FORMS}"))
            } else {
                Ok(Self { place: ServerEndpoint::Unix(path), tls: false, user: None, database: None })
            };
        }
        let (scheme, rest) = match text.split_once("://") {
            Some(parts) => parts,
            // The part before the @ is not the host: it may be a password.
            None if text.contains('@') => ("redis", text),
            None if !text.contains(':') => return Err(NO_PORT.to_owned()),
            None => {
                return Ok(Self { place: ServerEndpoint::Tcp(text), tls: false, user: None, database: None });
            }
        };
        let tls = match scheme {
            "redis" => false,
            "rediss" => true,
            _ => return Err(format!("the server's address begins with an unknown scheme; {FORMS}")),
        };
        // Split from the end: the part in front may be a password of any bytes.
        let (user, rest) = rest.rsplit_once('@').map_or((None, rest), |(user, rest)| (Some(user), rest));
        if user.is_some_and(|user| user.contains(':')) {
            return Err(
                "a password in an address can be seen by everybody on this machine, and is not taken; \
                        name its file with --password-file, or put it into the environment (see --help)"
                    .to_owned(),
            );
        }
        if user.is_some_and(|user| user.contains(['%', '/'])) {
            return Err("a user name with % or / cannot be in an address; give it with --user".to_owned());
        }
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        let database = match database {
            "" => None,
            number => Some(number.parse().map_err(|_| {
                format!(
                    "the text after the / of the server's address is not the number of a database; {FORMS}"
                )
            })?),
        };
        if !place.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        {
            return Err(format!("the server's address names no port, or no host; {FORMS}"));
        }
        let user = user.filter(|user| !user.is_empty());
        Ok(Self { place: ServerEndpoint::Tcp(place), tls, user, database })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_taken_apart() {
        let of = |place, tls, user, database| Ok(ServerAddress { place, tls, user, database });
        let tcp = |place, tls, user| of(ServerEndpoint::Tcp(place), tls, user, None);
        let unix = |path| of(ServerEndpoint::Unix(path), false, None, None);
        assert_eq!(ServerAddress::parse("geese:6380"), tcp("geese:6380", false, None));
        assert_eq!(ServerAddress::parse("redis://geese:6380"), tcp("geese:6380", false, None));
        assert_eq!(ServerAddress::parse("rediss://ann@[::1]:6381/"), tcp("[::1]:6381", true, Some("ann")));
        for number in [0, 7] {
            let named = of(ServerEndpoint::Tcp("geese:6380"), false, Some("ann"), Some(number));
            assert_eq!(ServerAddress::parse(&format!("redis://ann@geese:6380/{number}")), named);
        }
        assert_eq!(ServerAddress::parse("ann@geese:6380"), tcp("geese:6380", false, Some("ann")));
        assert_eq!(ServerAddress::parse("redis://@geese:1/"), tcp("geese:1", false, None));
        assert_eq!(ServerAddress::parse("unix:/run/s"), unix("/run/s"));
        assert_eq!(ServerAddress::parse("unix:///run/s"), unix("/run/s"));
        assert_eq!(ServerAddress::parse("unix:s"), unix("s"));
    }

    #[test]
    fn errors_never_repeat_a_secret() {
        for (text, word) in [
            ("redis://ann:hunter2@geese:6380", "--password-file"),
            ("redis://:hunter2@geese:6380", "--password-file"),
            ("rediss://ann:hunter2@/@geese:6380", "--password-file"),
            // Incident: without a scheme the whole text was taken for a host, looked up and
            // printed.
            ("ann:hunter2@geese:6380", "--password-file"),
            (":hunter2@geese:6380", "--password-file"),
            ("ann:a@hunter2@geese", "--password-file"),
            ("redis://a%20hunter2@geese:1", "--user"),
            ("http://hunter2", "scheme"),
            ("redis://geese:6380/3x", "database"),
            ("redis://geese:6380/-1", "database"),
            ("redis://geese", "no port"),
            ("redis://:6380", "no host"),
            ("unix:", "no socket"),
            // Incident: the host was looked up together with the port, and the message spoke of an
            // "invalid socket address". Consequence: the user did not learn that the port was
            // missing. Fix: the message names the port, and the usual ones.
            ("127.0.0.1", "6380"),
            ("localhost", "6379"),
        ] {
            let error = ServerAddress::parse(text).expect_err(text);
            assert!(error.contains(word) && !error.contains("hunter2"), "{text}: {error}");
        }
    }
}
