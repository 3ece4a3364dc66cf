//! A server to work with: where it is, how to get in, and what to say if that fails.
//!
//! ```text
//!   --from, --to            address ─┐
//!   --user, --tls-ca, ...   args ────┼─► ServerTarget ─ connect: open, AUTH, PING ─► Peer ─ ask ─► replies, or a Failure
//!   files of certificates   tls ─────┘
//! ```

use std::io::{self, ErrorKind};
use std::path::Path;

use skeindb::client::{Client, Receiver, Reply, Sender};

use crate::exit::Failure;

mod address;
mod args;
mod password;
mod tls;

pub use args::{Access, FromArgs, ServerArgs, ToArgs};
pub use password::read_password;

use address::{Address, Place};
use password::Login;

/// A server, as the command line names it.
pub struct ServerTarget<'a> {
    /// Host and port, or a URL.
    pub address: &'a str,
    /// How to get in.
    pub access: Access<'a>,
}

/// A server that has let us in.
pub struct Peer {
    client: Client,
    /// As the command line names it.
    pub address: String,
    prefix: &'static str,
}

impl ServerTarget<'_> {
    /// Connects and presents user and password.
    pub fn connect(&self) -> Result<Peer, Failure> {
        let address = Address::parse(self.address).map_err(Failure::usage)?;
        self.access.check(&address)?;
        let login = self.access.login(address.user)?;
        let client = self.open(&address)?;
        let mut peer = Peer { client, address: self.address.to_owned(), prefix: self.access.prefix };
        if let Some(login) = login {
            self.log_in(&mut peer.client, &login)?;
        }
        self.greet(&mut peer.client)?;
        Ok(peer)
    }

    fn open(&self, address: &Address<'_>) -> Result<Client, Failure> {
        let opened = match address.place {
            Place::Unix(path) => Client::connect_unix(Path::new(path)),
            Place::Tcp(place) if self.access.wants_tls(address) => {
                let (name, config) = (self.access.server_name(place)?, self.access.config(self.address)?);
                Client::connect_tls(place, name, config)
            }
            Place::Tcp(place) => Client::connect(place),
        };
        opened.map_err(|error| {
            let named = self.address;
            if let Some(failure) = self.access.explain(named, &error) {
                return failure;
            }
            let question = match error.kind() {
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => "is that its port for TLS?",
                _ => "is `skein serve` running there?",
            };
            Failure::new(format!("cannot connect to {named}: {error}; {question}"))
        })
    }

    fn log_in(&self, client: &mut Client, login: &Login) -> Result<(), Failure> {
        let Reply::Error(text) = client.call(&login.command()).map_err(|error| self.at_once(&error))? else {
            return Ok(());
        };
        let (address, source) = (self.address, &login.source);
        let whom = login.user.as_ref().map_or_else(String::new, |user| format!("the user {user:?} with "));
        let way_out = if text.contains("without any password configured") {
            "; it asks for none: leave it out"
        } else {
            ""
        };
        Err(Failure::new(format!("{address} refused {whom}the password in {source}: {text}{way_out}")))
    }

    /// Makes sure that it answers.
    fn greet(&self, client: &mut Client) -> Result<(), Failure> {
        let address = self.address;
        match client.call(&[b"PING"]).map_err(|error| self.at_once(&error))? {
            Reply::Error(text) if text.starts_with("NOAUTH") => Err(Failure::new(format!(
                "{address} asks for a password; name its file with --{}password-file, or put it into {}",
                self.access.prefix, self.access.variables[0]
            ))),
            // Who may not even PING may do what was given to it.
            Reply::Error(text) if text.starts_with("NOPERM") => Ok(()),
            Reply::Error(text) => Err(Failure::new(format!("{address} refuses commands: {text}"))),
            _ => Ok(()),
        }
    }

    /// The connection broke at the first request: most likely the two speak different things.
    fn at_once(&self, error: &io::Error) -> Failure {
        let (address, prefix) = (self.address, self.access.prefix);
        if let Some(failure) = self.access.explain(address, error) {
            return failure;
        }
        match error.kind() {
            ErrorKind::Unsupported => Failure::new(format!(
                "{address} speaks TLS; say --{prefix}tls, and name its authority's certificate with --{prefix}tls-ca"
            )),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                Failure::new(format!(
                    "lost the connection to {address} at the first request: {error}; if it speaks TLS, say --{prefix}tls, and \
                     if it asks for a certificate, name yours with --{prefix}tls-cert and --{prefix}tls-key"
                ))
            }
            _ => lost(address, error),
        }
    }
}

impl Peer {
    /// The two directions, for two threads.
    pub fn split(self) -> (Sender, Receiver) {
        self.client.split()
    }

    /// The reply to a command, also if it is an error.
    pub fn call(&mut self, command: &[&[u8]]) -> Result<Reply, Failure> {
        self.client.call(command).map_err(|error| lost(&self.address, &error))
    }

    /// The reply to a command; an error is a failure.
    pub fn one(&mut self, command: &[&[u8]]) -> Result<Reply, Failure> {
        let reply = self.call(command)?;
        self.checked(reply)
    }

    /// The replies to a pipeline, errors among them.
    pub fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Failure> {
        self.client.pipeline(commands).map_err(|error| lost(&self.address, &error))
    }

    /// The replies to a pipeline. An error among them is a failure of all, because none is expected.
    pub fn ask<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Failure> {
        let replies = self.pipeline(commands)?;
        replies.into_iter().map(|reply| self.checked(reply)).collect()
    }

    /// One step of SCAN and its like: the cursor to go on with, and what was found.
    pub fn scan(&mut self, command: &[&[u8]]) -> Result<(Vec<u8>, Vec<Vec<u8>>), Failure> {
        let reply = self.one(command)?;
        self.page(reply)
    }

    /// A reply to SCAN and its like.
    pub fn page(&self, reply: Reply) -> Result<(Vec<u8>, Vec<Vec<u8>>), Failure> {
        self.checked(reply)?.into_page().map_err(|reply| self.unexpected(&reply))
    }

    /// A reply that is no error.
    pub fn checked(&self, reply: Reply) -> Result<Reply, Failure> {
        match reply {
            Reply::Error(text) => Err(self.refused(&text)),
            reply => Ok(reply),
        }
    }

    /// The server answered an error.
    pub fn refused(&self, text: &str) -> Failure {
        let (address, prefix) = (&self.address, self.prefix);
        let way_out = if text.starts_with("NOPERM") {
            format!("; give the user that right (ACL SETUSER), or be another one by --{prefix}user")
        } else {
            String::new()
        };
        Failure::new(format!("{address} answered: {text}{way_out}"))
    }

    /// The server answered something else than was asked for.
    pub fn unexpected(&self, reply: &Reply) -> Failure {
        Failure::new(format!("{} answered something that was not asked for: {reply}", self.address))
    }
}

/// The connection to a server broke.
pub fn lost(address: &str, error: &io::Error) -> Failure {
    Failure::during(format_args!("lost the connection to {address}"), error)
}
