//! The options for access to a server, defined once for all commands. `skein copy` has them twice,
//! with a prefix for each side.

use std::path::{Path, PathBuf};

use super::address::{ServerAddress, ServerEndpoint};
use crate::exit::Failure;

/// How to access a server.
#[derive(Clone, Copy)]
pub struct AccessOptions<'a> {
    /// The prefix of the options' names.
    pub prefix: &'static str,
    /// The environment variables that may contain the password, at least one.
    pub variables: &'static [&'static str],
    pub user: Option<&'a str>,
    pub password_file: Option<&'a Path>,
    pub tls: bool,
    pub ca: Option<&'a Path>,
    pub cert: Option<&'a Path>,
    pub key: Option<&'a Path>,
    pub server_name: Option<&'a str>,
    pub insecure: bool,
}

/// Defines the options of one server.
macro_rules! server_args {
    ($(#[$doc:meta])* $name:ident, $heading:literal, $prefix:literal, $variables:expr, $password:literal) => {
        $(#[$doc])*
        #[derive(clap::Args)]
        pub struct $name {
            /// The user to log in as, also accepted as `USER@` before the host of a URL; without it
            /// the password is that of the default user.
            #[arg(help_heading = $heading, id = concat!($prefix, "user"), long = concat!($prefix, "user"), value_name = "NAME")]
            user: Option<String>,
            #[arg(
                help_heading = $heading,
                help = $password,
                id = concat!($prefix, "password-file"),
                long = concat!($prefix, "password-file"),
                value_name = "FILE",
            )]
            password_file: Option<PathBuf>,
            /// Use TLS, as a rediss:// address does.
            #[arg(help_heading = $heading, id = concat!($prefix, "tls"), long = concat!($prefix, "tls"))]
            tls: bool,
            /// The certificates of the authorities that may have signed the server's certificate: a
            /// PEM file [default: those that this machine knows].
            #[arg(help_heading = $heading, id = concat!($prefix, "tls-ca"), long = concat!($prefix, "tls-ca"), value_name = "FILE")]
            ca: Option<PathBuf>,
            /// Our own certificate, if the server asks for one, with its intermediate certificates:
            /// a PEM file.
            #[arg(
                help_heading = $heading,
                id = concat!($prefix, "tls-cert"),
                long = concat!($prefix, "tls-cert"),
                value_name = "FILE",
                requires = concat!($prefix, "tls-key"),
            )]
            cert: Option<PathBuf>,
            /// The private key of our certificate: a PEM file.
            #[arg(
                help_heading = $heading,
                id = concat!($prefix, "tls-key"),
                long = concat!($prefix, "tls-key"),
                value_name = "FILE",
                requires = concat!($prefix, "tls-cert"),
            )]
            key: Option<PathBuf>,
            /// The name that the server's certificate must be valid for [default: the host].
            #[arg(
                help_heading = $heading,
                id = concat!($prefix, "tls-server-name"),
                long = concat!($prefix, "tls-server-name"),
                value_name = "NAME",
            )]
            server_name: Option<String>,
            /// Use TLS without checking the certificate: an attacker on the network can read and
            /// change everything.
            #[arg(
                help_heading = $heading,
                id = concat!($prefix, "insecure"),
                long = concat!($prefix, "insecure"),
                conflicts_with_all = [concat!($prefix, "tls-ca"), concat!($prefix, "tls-server-name")],
            )]
            insecure: bool,
        }

        impl $name {
            /// Returns the options' values.
            pub fn access(&self) -> AccessOptions<'_> {
                AccessOptions {
                    prefix: $prefix,
                    variables: $variables,
                    user: self.user.as_deref(),
                    password_file: self.password_file.as_deref(),
                    tls: self.tls,
                    ca: self.ca.as_deref(),
                    cert: self.cert.as_deref(),
                    key: self.key.as_deref(),
                    server_name: self.server_name.as_deref(),
                    insecure: self.insecure,
                }
            }
        }
    };
}

server_args!(
    /// The options of the server that a command works with.
    ServerArgs, "Access to the server", "", &["SKEIN_PASSWORD", "REDISCLI_AUTH"],
    "A file with the password [default: the environment variable SKEIN_PASSWORD or REDISCLI_AUTH, if set]"
);
server_args!(
    /// The options of the server to read.
    FromArgs, "Access to the server to read", "from-", &["SKEIN_FROM_PASSWORD"],
    "A file with the password [default: the environment variable SKEIN_FROM_PASSWORD, if set]"
);
server_args!(
    /// The options of the server to write to.
    ToArgs, "Access to the server to write to", "to-", &["SKEIN_TO_PASSWORD"],
    "A file with the password [default: the environment variable SKEIN_TO_PASSWORD, if set]"
);

impl AccessOptions<'_> {
    /// Returns whether to use TLS.
    pub(super) fn wants_tls(&self, address: &ServerAddress<'_>) -> bool {
        self.tls || address.tls
    }

    /// Rejects options that would have no effect.
    pub(super) fn check(&self, address: &ServerAddress<'_>) -> Result<(), Failure> {
        let prefix = self.prefix;
        if self.wants_tls(address) {
            return match address.place {
                ServerEndpoint::Unix(_) => Err(Failure::usage(format!(
                    "--{prefix}tls: a Unix socket has no TLS; leave the option out"
                ))),
                ServerEndpoint::Tcp(_) => Ok(()),
            };
        }
        let given = [
            ("tls-ca", self.ca.is_some()),
            ("tls-cert", self.cert.is_some()),
            ("tls-server-name", self.server_name.is_some()),
            ("insecure", self.insecure),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => Err(Failure::usage(format!(
                "--{prefix}{name} works only with TLS; add --{prefix}tls, or name the server as rediss://HOST:PORT"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    /// Incident: `--insecure` beside an authority checked no certificate, and ignored the other
    /// option without a word.
    #[test]
    fn insecure_excludes_a_trusted_authority() {
        let takes = |line: &str| {
            let command = Command::new("skein").no_binary_name(true);
            let command = ToArgs::augment_args(ServerArgs::augment_args(command));
            command.try_get_matches_from(line.split(' ')).is_ok()
        };
        for prefix in ["", "to-"] {
            assert!(takes(&format!("--{prefix}tls --{prefix}insecure")), "{prefix}");
            assert!(takes(&format!("--{prefix}tls-ca a --{prefix}tls-server-name b")), "{prefix}");
            assert!(!takes(&format!("--{prefix}insecure --{prefix}tls-ca a")), "{prefix}");
            assert!(!takes(&format!("--{prefix}tls-server-name b --{prefix}insecure")), "{prefix}");
        }
        assert!(takes("--insecure --to-tls-ca a"), "each side is for itself");
    }
}
