//! A server to work with: its address, the access options, and messages if access fails.
//!
//! ```text
//!   --from, --to             address ─┐
//!   --user, --tls-ca, ...    args ────┼─► ServerTarget ─ connect: open, AUTH, PING ─► ServerPeer
//!   files of certificates    tls ─────┘         requests ─► replies, or a Failure ◄──────┘
//! ```
//!
//! A cluster is a `ClusterTarget`, with the same options, and becomes a `ClusterPeer`. The trait
//! `CommandPeer` sends requests to either. Read `address`, `args` and `password` first, then this
//! file, then `peer`. Over a peer, `databases` finds the databases with keys, and `field_times` the
//! hashes with expiring fields. `lists` and `streams` read and write values too large for one
//! reply.

use std::io::{self, ErrorKind};
use std::path::Path;

use skeindb::client::{Client, Receiver, Reply, Sender};

use crate::exit::Failure;
use crate::target::DEFAULT_ADDRESS;

mod address;
mod args;
mod cluster;
mod databases;
mod field_times;
mod lists;
mod password;
mod peer;
mod streams;
mod tls;

pub use args::{AccessOptions, FromArgs, ServerArgs, ToArgs};
pub use cluster::{ClusterPeer, ClusterTarget, cluster_failure};
pub use databases::{databases_with_keys, note_other_databases};
pub use field_times::{FIELDS_EXPIRE, FieldTimes, fields_of};
pub use lists::{ListAppend, ListPiece, ListRead};
pub use password::read_password;
pub use peer::{CommandPeer, TOO_LONG, stops_all};
pub use streams::{StreamPiece, StreamRead, is_changed, stream_commands, write_stream_part};

use address::{ServerAddress, ServerEndpoint};
use password::Credentials;

/// A part of the error for a database that a server does not have.
const NO_SUCH_DATABASE: &str = "index is out of range";

/// A server, as the command line names it.
#[derive(Clone, Copy)]
pub struct ServerTarget<'a> {
    /// Host and port, or a URL.
    pub address: &'a str,
    /// How to access it.
    pub access: AccessOptions<'a>,
}

/// A server to which the client is logged in.
pub struct ServerPeer {
    client: Client,
    /// The address, as the command line names it.
    pub address: String,
    /// The number of the selected database.
    pub database: u32,
    prefix: &'static str,
}

impl ServerTarget<'_> {
    /// Returns the number of the database that the address has, if any.
    pub fn named_database(&self) -> Result<Option<u32>, Failure> {
        ServerAddress::parse(self.address).map(|address| address.database).map_err(Failure::usage)
    }

    /// Connects and logs in.
    pub fn connect(&self) -> Result<ServerPeer, Failure> {
        self.connect_or_ask("is `skein serve` running there?")
    }

    /// Connects and logs in. If the connection fails, the message ends with `question`.
    pub(super) fn connect_or_ask(&self, question: &str) -> Result<ServerPeer, Failure> {
        let address = ServerAddress::parse(self.address).map_err(Failure::usage)?;
        self.access.check(&address)?;
        let login = self.access.login(address.user)?;
        let client = self.open(&address, question)?;
        let mut peer =
            ServerPeer { client, address: self.address.to_owned(), database: 0, prefix: self.access.prefix };
        if let Some(login) = login {
            self.log_in(&mut peer.client, &login)?;
        }
        self.greet(&mut peer.client)?;
        peer.select(address.database.unwrap_or(0))?;
        Ok(peer)
    }

    fn open(&self, address: &ServerAddress<'_>, expected: &str) -> Result<Client, Failure> {
        let opened = match address.place {
            ServerEndpoint::Unix(path) => Client::connect_unix(Path::new(path)),
            ServerEndpoint::Tcp(place) if self.access.wants_tls(address) => {
                let (name, config) = (self.access.server_name(place)?, self.access.config(self.address)?);
                Client::connect_tls(place, name, config)
            }
            ServerEndpoint::Tcp(place) => Client::connect(place),
        };
        opened.map_err(|error| {
            let named = self.address;
            if let Some(failure) = self.access.explain(named, &error) {
                return failure;
            }
            let question = match error.kind() {
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => "is that its port for TLS?",
                // The resolver's errors have no kind of their own.
                _ if address.is_unknown_name() => {
                    return Failure::new(format!(
                        "cannot connect to {named}: the name of the host is not known ({error}); write HOST:PORT, as in {DEFAULT_ADDRESS}"
                    ));
                }
                _ => expected,
            };
            Failure::new(format!("cannot connect to {named}: {error}; {question}"))
        })
    }

    fn log_in(&self, client: &mut Client, login: &Credentials) -> Result<(), Failure> {
        let Reply::Error(text) = client.call(&login.command()).map_err(|error| self.at_once(&error))? else {
            return Ok(());
        };
        let (address, source) = (self.address, &login.source);
        let whom = login.user.as_ref().map_or_else(String::new, |user| format!("the user {user:?} with "));
        let way_out = if text.contains("without any password configured") {
            "; the server requires no password: leave it out"
        } else {
            ""
        };
        Err(Failure::new(format!("{address} refused {whom}the password in {source}: {text}{way_out}")))
    }

    /// Checks that the server answers.
    fn greet(&self, client: &mut Client) -> Result<(), Failure> {
        let address = self.address;
        match client.call(&[b"PING"]).map_err(|error| self.at_once(&error))? {
            Reply::Error(text) if text.starts_with("NOAUTH") => Err(Failure::new(format!(
                "{address} requires a password; name a file with it by --{}password-file, or put it into {}",
                self.access.prefix, self.access.variables[0]
            ))),
            // A user without the right to PING may still run the commands it has rights to.
            Reply::Error(text) if text.starts_with("NOPERM") => Ok(()),
            Reply::Error(text) => Err(Failure::new(format!("{address} refuses commands: {text}"))),
            _ => Ok(()),
        }
    }

    /// Returns the failure if the connection broke at the first request: most likely the two sides
    /// speak different protocols.
    fn at_once(&self, error: &io::Error) -> Failure {
        let (address, prefix) = (self.address, self.access.prefix);
        if let Some(failure) = self.access.explain(address, error) {
            return failure;
        }
        match error.kind() {
            ErrorKind::Unsupported => Failure::new(format!(
                "{address} speaks TLS; add --{prefix}tls, and name its authority's certificate with --{prefix}tls-ca"
            )),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                Failure::new(format!(
                    "lost the connection to {address} at the first request: {error}; if it speaks TLS, add --{prefix}tls, and \
                     if it asks for a certificate, name yours with --{prefix}tls-cert and --{prefix}tls-key"
                ))
            }
            _ => lost(address, error),
        }
    }
}

impl ServerPeer {
    /// Splits the connection into its two directions, for two threads.
    pub fn split(self) -> (Sender, Receiver) {
        self.client.split()
    }
}

impl CommandPeer for ServerPeer {
    fn address(&self) -> &str {
        &self.address
    }

    fn prefix(&self) -> &'static str {
        self.prefix
    }

    fn select(&mut self, database: u32) -> Result<(), Failure> {
        if self.database == database {
            return Ok(());
        }
        if let Reply::Error(text) = self.call(&[b"SELECT", database.to_string().as_bytes()])? {
            let way_out = if text.contains(NO_SUCH_DATABASE) {
                "; give that server more databases (skein serve --databases N)"
            } else {
                ""
            };
            let mut failure = self.refused(&text);
            failure.message = format!("{} (SELECT {database}){way_out}", failure.message);
            return Err(failure);
        }
        self.database = database;
        Ok(())
    }

    fn call(&mut self, command: &[&[u8]]) -> Result<Reply, Failure> {
        self.client.call(command).map_err(|error| lost(&self.address, &error))
    }

    fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Failure> {
        self.client.pipeline(commands).map_err(|error| lost(&self.address, &error))
    }
}

/// Returns the failure of a connection that broke.
pub fn lost(address: &str, error: &io::Error) -> Failure {
    Failure::during(format_args!("lost the connection to {address}"), error)
}
