//! Requests of a command to a server, or to a cluster.

use skeindb::client::Reply;

use crate::exit::Failure;

/// A part of the error for a reply over the server's limit.
pub const TOO_LONG: &str = "the reply would be longer than the limit";

/// A server, or a cluster, in which each node answers for its own keys.
pub trait CommandPeer {
    /// Returns the address, as the command line names it.
    fn address(&self) -> &str;

    /// Returns the prefix of the access options.
    fn prefix(&self) -> &'static str;

    /// Selects a database.
    fn select(&mut self, database: u32) -> Result<(), Failure>;

    /// Returns the reply to a command, even if it is an error.
    fn call(&mut self, command: &[&[u8]]) -> Result<Reply, Failure>;

    /// Returns the reply to a command that does not have its key as the second word.
    fn call_of_key(&mut self, _key: &[u8], command: &[&[u8]]) -> Result<Reply, Failure> {
        self.call(command)
    }

    /// Returns the replies to a pipeline, errors included.
    fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Failure>;

    /// Returns the number of the connection that answered the last call. A cursor of `HSCAN` is
    /// valid for one connection.
    fn connection(&self) -> u64 {
        0
    }

    /// Returns whether a command may run twice, because it is sent again if its connection broke.
    fn repeats(&self) -> bool {
        false
    }

    /// Returns the reply to a command. An error is a failure.
    fn one(&mut self, command: &[&[u8]]) -> Result<Reply, Failure> {
        let reply = self.call(command)?;
        self.checked(reply)
    }

    /// Returns the replies to a pipeline. One error makes the whole call fail, because callers
    /// expect no errors.
    fn ask<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Failure> {
        let replies = self.pipeline(commands)?;
        replies.into_iter().map(|reply| self.checked(reply)).collect()
    }

    /// Runs one step of SCAN or a relative. Returns the next cursor, and the step's items.
    fn scan(&mut self, command: &[&[u8]]) -> Result<(Vec<u8>, Vec<Vec<u8>>), Failure> {
        let reply = self.one(command)?;
        self.page(reply)
    }

    /// Parses a reply to SCAN or a relative.
    fn page(&self, reply: Reply) -> Result<(Vec<u8>, Vec<Vec<u8>>), Failure> {
        self.checked(reply)?.into_page().map_err(|reply| self.unexpected(&reply))
    }

    /// Returns a reply that is not an error. An error is a failure.
    fn checked(&self, reply: Reply) -> Result<Reply, Failure> {
        match reply {
            Reply::Error(text) => Err(self.refused(&text)),
            reply => Ok(reply),
        }
    }

    /// Returns the failure for a server that answered an error.
    fn refused(&self, text: &str) -> Failure {
        let (address, way_out) = (self.address(), way_out(text, self.prefix()));
        Failure::new(format!("{address} answered: {text}{way_out}"))
    }

    /// Returns the failure for a reply of an unexpected form.
    fn unexpected(&self, reply: &Reply) -> Failure {
        Failure::new(format!("{} sent an unexpected reply: {reply}", self.address()))
    }
}

/// Returns whether an error concerns every write, not only one key.
pub fn stops_all(error: &str) -> bool {
    ["MISCONF", "NOAUTH", "READONLY", "LOADING"].iter().any(|code| error.starts_with(code))
}

/// Returns advice for a user that a server rejected.
pub(super) fn way_out(text: &str, prefix: &str) -> String {
    if text.contains("NOPERM") {
        format!("; grant the user that right (ACL SETUSER), or log in as another user with --{prefix}user")
    } else {
        String::new()
    }
}

/// A server for tests, which has no connection that could fail.
#[cfg(test)]
pub trait FakeServer {
    /// Whether a command may run twice.
    const REPEATS: bool = false;

    /// Returns the reply to a command.
    fn answer(&mut self, command: &[&[u8]]) -> Reply;

    /// Returns the number of the connection that answered last.
    fn answered_by(&self) -> u64 {
        0
    }
}

#[cfg(test)]
impl<S: FakeServer> CommandPeer for S {
    fn address(&self) -> &'static str {
        "fake"
    }

    fn prefix(&self) -> &'static str {
        ""
    }

    fn select(&mut self, database: u32) -> Result<(), Failure> {
        panic!("SELECT {database} is not expected")
    }

    fn call(&mut self, command: &[&[u8]]) -> Result<Reply, Failure> {
        Ok(self.answer(command))
    }

    fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, _: &[C]) -> Result<Vec<Reply>, Failure> {
        Ok(Vec::new())
    }

    fn connection(&self) -> u64 {
        self.answered_by()
    }

    fn repeats(&self) -> bool {
        S::REPEATS
    }
}
